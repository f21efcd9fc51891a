"""Decide which files of a partition's folder are its log, as a broker does when it starts (Kafka's ``LogLoader``).

Compaction writes the remaining records of several segments to files with the suffix ``.cleaned``; a segment that is too
large is split in the same way. Complete files are renamed to ``.swap``, then the old files to ``.deleted``, and then
``.swap`` is removed from the new names. A broker that was killed in between finishes this or reverts it:

1. ``.deleted`` files are not part of the log.
2. ``.cleaned`` files are incomplete and not part of the log. ``.swap`` files whose offset is not less than the smallest
   offset of a ``.cleaned`` file belong to the same group, which is reverted as a whole.
3. The other ``.swap`` files replace the files in their range: those whose offset is at least the smallest offset of the
   ``.log.swap`` files and less than their greatest next offset.

Until then, a ``.swap`` file may be the only copy, or the old segments may still exist, several for one ``.swap`` file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkacomp._storage.names import SWAP, is_segment, leading_offset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_CLEANED = ".cleaned"


@dataclass(frozen=True)
class Loaded:
    """A broker's decisions about the files in a partition's folder."""

    #: Names of ``.log.swap`` files that become segments.
    swapped: frozenset[str] = frozenset()
    #: Names of files that are removed: replaced files, and reverted ``.swap`` files.
    removed: frozenset[str] = frozenset()
    #: The decisions about segments, with the names of the files.
    warnings: list[str] = field(default_factory=list)


def loaded(names: Iterable[str], end_offset: Callable[[str], int | None]) -> Loaded:
    """Decide which files are the log's.

    Args:
        names: The names of the files in a partition's folder.
        end_offset: Finds the offset after the last one in a ``.log.swap`` file; ``None`` if its end is corrupt.
    """
    offsets = {name: offset for name in names if (offset := leading_offset(name)) is not None}
    swaps = {name for name in offsets if name.endswith(SWAP)}
    if not swaps:
        return Loaded()
    cleaned = {name: offset for name, offset in offsets.items() if name.endswith(_CLEANED)}
    least_cleaned = min(cleaned.values(), default=None)
    given_up = {name for name in swaps if least_cleaned is not None and offsets[name] >= least_cleaned}
    segments = sorted(name for name in swaps - given_up if is_segment(name.removesuffix(SWAP)))
    warnings = []
    if refused := sorted(name for name in given_up if is_segment(name.removesuffix(SWAP))):
        beside = ", ".join(sorted(name for name in cleaned if name.removesuffix(_CLEANED).endswith(".log")) or cleaned)
        warnings.append(f"{', '.join(refused)}: not read: part of an unfinished compaction or split, with {beside}")
    replaced: set[str] = set()
    ends = {name: end_offset(name) for name in segments}
    corrupt = {name for name, end in ends.items() if end is None and name.removesuffix(SWAP) in offsets}
    if corrupt:
        # A broker would not start. The old segments are complete, so they are read.
        warnings.append(f"{', '.join(sorted(corrupt))}: not read: corrupt, and the segments that it replaces exist")
        given_up |= {name for name in swaps if offsets[name] in {offsets[each] for each in corrupt}}
        segments = [name for name in segments if name not in corrupt]
    if segments:
        least = min(offsets[name] for name in segments)
        end = max(max(ends[name] or 0, offsets[name]) for name in segments)
        replaced = {name for name, offset in offsets.items() if least <= offset < end and not name.endswith(SWAP)}
        replaced |= {name.removesuffix(SWAP) for name in swaps - given_up} & offsets.keys()
        old = sorted(name for name in replaced if is_segment(name))
        what = ", ".join(segments)
        warnings.append(
            f"{what}: read in place of {', '.join(old)}, which a broker removes when it starts"
            if old
            else f"{what}: read as a segment, as a broker does when it starts"
        )
    return Loaded(frozenset(segments), frozenset(given_up | replaced), warnings)
