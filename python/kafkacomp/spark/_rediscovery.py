"""Where the records of a segment are that a broker has replaced since a task was planned.

A broker that compacts a log writes the records that stay of several segments into one file, which gets the name of the
first of them. It renames the old ones away before it gives the new one its name: for a moment there is neither. What a
task is to read is then found by its offsets, which stay what they were.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from kafkacomp.spark._options import ReadOptions

__all__ = ["LOOKS", "PAUSE", "is_gone", "moved", "own_offsets"]

#: How often, and after how many seconds again, folders are looked at before something counts as gone.
LOOKS, PAUSE = 5, 0.2


def is_gone(segment: Segment) -> bool:
    """Whether a segment's file is not there, if that can be told without opening it."""
    return isinstance(segment.source, str) and not os.path.exists(segment.source)  # noqa: PTH110 - as it was listed


def own_offsets(segment: Segment) -> tuple[int | None, int | None] | None:
    """The first offset that is a planned piece's own, and the one behind its last; an end may be open.

    Returns:
        ``None`` where the format does not tell: a cut at compressed messages of magic 0 or 1.
    """
    if segment.boundaries is None:
        return None, None
    begin, end, _, next_base = segment.boundaries
    if (begin is not None and begin.first_offset is None) or (end is not None and end.first_offset is None):
        return None
    return begin.first_offset if begin else segment.base_offset, end.first_offset if end else next_base


def moved(partition: Partition, start: int | None, end: int | None, options: ReadOptions) -> Partition | None:
    """The segments that now hold what a task with one segment was to read, if the log still reaches so far.

    Args:
        partition: The task's.
        start: Its first offset.
        end: The offset behind its last, or ``None``: all that came from its segment.
        options: Say which family of formats it is.
    """
    (segment,) = partition.segments
    if start is None or not isinstance(segment.source, str) or segment.name.endswith(".kafka"):
        return None
    try:
        found = resolve(os.path.dirname(segment.source), partition.topic, partition.partition)  # noqa: PTH120 - as above
    except FileNotFoundError:
        return None
    segments = [each for other in found for each in other.segments]
    before = [each for each in segments if _base(each) <= start]
    if not before:
        return None
    segments = segments[len(before) - 1 :]
    if end is None:
        segments = segments[:1]
    elif _base(segments[-1]) < end:
        known = _kafkacomp.end_offset(segments[-1], options.log_format)
        if known is not None and known < end:
            return None  # truncated
    segments = [each for each in segments if end is None or _base(each) < end]
    return Partition(
        partition.topic, partition.partition, segments, [], partition.transactions, checkpoints=partition.checkpoints
    )


def _base(segment: Segment) -> int:
    return segment.base_offset or 0
