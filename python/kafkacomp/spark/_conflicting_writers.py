"""Whether somebody else has written to a log between a commit that was cut and the job that is to finish it.

What is still to be moved into a partition would hide or replace what was appended there: nothing is moved then. The
decision of a write has, for each partition, the lengths of the segments that it brings and of the one in front of them.
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

__all__ = ["check_untouched", "lengths"]


def lengths(log: Path | None, new: Path) -> dict[str, int]:
    """Lengths by name of the last segment of a log, if it goes on, and of the new segments."""
    found = _segments(new)
    old = _segments(log) if log is not None else {}
    if old:
        last = max(old)
        # Without a record a log's segment has the name that the first new one gets, which then replaces it.
        found[last + REPLACED if last in found else last] = old[last]
    return found


def check_untouched(target: Path, pending: Pending) -> None:
    """Refuse to finish a write into logs that somebody else has written to since it was decided.

    Raises:
        OSError: EEXIST, with the segment, and what can be done about it.
    """
    staging = target / pending.staging
    for name, known in pending.lengths.items():
        if name in pending.removed and not os.path.lexists(staging / "old" / name):
            continue  # it goes as a whole
        left, there = _segments(staging / "out" / name), _segments(target / name)
        if not left:
            continue  # all has its place
        for segment, length in sorted(there.items()):
            if segment in left:
                is_touched = length != known.get(segment + REPLACED)
            else:
                is_touched = (segment > min(known) and segment not in known) or length != known.get(segment, length)
            if is_touched:
                reason = (
                    "somebody else wrote to it after a write from Spark was cut in its commit, and finishing that write"
                    " would lose records: move this partition's folder away and write again, which finishes it, or"
                    f" give up what is left of that write by deleting {target / NAME} and {staging}"
                )
                raise OSError(errno.EEXIST, reason, str(target / name / segment))


def _segments(folder: Path) -> dict[str, int]:
    if folder.is_symlink() or not folder.is_dir():
        return {}
    return {path.name: path.lstat().st_size for path in folder.iterdir() if is_segment(path.name)}
