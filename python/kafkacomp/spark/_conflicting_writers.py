"""Detect writes by others to a log between an interrupted commit and the job that finishes it.

The files that remain to be moved would hide or replace records that were appended since; in this case none is moved.
The decision of a write has, for each partition, the lengths of the new segments and of the segment before them.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from kafkacomp._storage.commit_state import NAME, REPLACED
from kafkacomp._storage.names import is_segment

if TYPE_CHECKING:
    from pathlib import Path

    from kafkacomp._storage.commit_state import Pending


def lengths(log: Path | None, new: Path) -> dict[str, int]:
    """Lengths by name of the last segment of the existing log, if there is one, and of the new segments."""
    found = _segments(new)
    old = _segments(log) if log is not None else {}
    if old:
        last = max(old)
        # An empty last segment has the same name as the first new one, which replaces it.
        found[last + REPLACED if last in found else last] = old[last]
    return found


def check_untouched(target: Path, pending: Pending) -> None:
    """Refuse to finish a write into logs that another writer has changed since it was decided.

    Raises:
        OSError: EEXIST, with the path of the segment and the ways out.
    """
    staging = target / pending.staging
    for name, known in pending.lengths.items():
        if name in pending.removed and not os.path.lexists(staging / "old" / name):
            continue  # the whole log is replaced
        left, there = _segments(staging / "out" / name), _segments(target / name)
        if not left:
            continue  # all files were moved
        for segment, length in sorted(there.items()):
            if segment in left:
                is_touched = length != known.get(segment + REPLACED)
            else:
                is_touched = (segment > min(known) and segment not in known) or length != known.get(segment, length)
            if is_touched:
                reason = (
                    "it was changed after a commit from Spark was interrupted, and finishing that commit would lose"
                    " records: move this partition's folder away and write again, which finishes the commit, or abandon"
                    f" the rest of that commit by deleting {target / NAME} and {staging}"
                )
                raise OSError(errno.EEXIST, reason, str(target / name / segment))


def _segments(folder: Path) -> dict[str, int]:
    if folder.is_symlink() or not folder.is_dir():
        return {}
    return {path.name: path.lstat().st_size for path in folder.iterdir() if is_segment(path.name)}
