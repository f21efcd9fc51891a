"""Group the segments of a partition for tasks.

Each task reads the offsets of its own segment or split. If a batch does not continue the one before it, the task judges
all files of the partition, and reads from them what has its offsets. Only files with the same base offset, as in tiered
storage after a change of leader, are read by one task.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp._storage.partition import SplitBoundaries

if TYPE_CHECKING:
    from kafkacomp._storage.partition import Segment

#: Segments in order, each with the base offset of the next one.
SegmentsWithNext: TypeAlias = "list[tuple[Segment, int | None]]"


class Run(NamedTuple):
    """Segments that one task reads; usually a single one."""

    segments: SegmentsWithNext

    @property
    def base_offset(self) -> int | None:
        """The base offset of the first segment."""
        return self.segments[0][0].base_offset

    @property
    def next_base(self) -> int | None:
        """The base offset of the segment after the last one."""
        return self.segments[-1][1]

    def together(self) -> list[Segment]:
        """The segments for one task; the last one knows where the next segment begins."""
        last, next_base = self.segments[-1]
        return [
            *(segment for segment, _ in self.segments[:-1]),
            replace(last, boundaries=SplitBoundaries(None, None, last.size, next_base)),
        ]


def runs(segments: SegmentsWithNext) -> list[Run]:
    """Group the segments of a partition, which are in the order of their base offsets."""
    found: list[Run] = []
    for segment, next_base in segments:
        base = segment.base_offset
        if found and segment.offsets is None and base is not None and found[-1].base_offset == base:
            found[-1].segments.append((segment, next_base))
        else:
            found.append(Run([(segment, next_base)]))
    return found
