"""Find the records of a segment that a broker has replaced since a task was planned.

A broker that compacts a log writes the remaining records of several segments to one file, which gets the name of the
first of them. It renames the old segments before it renames the new one, so for a moment neither exists. The records of
a task are then found by their offsets, which compaction does not change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from kafkacomp.spark._options import ReadOptions

#: How often a folder is listed, and the seconds in between, before a segment is considered deleted.
LOOKS, PAUSE = 5, 0.2


def is_gone(segment: Segment) -> bool:
    """Whether a segment's file does not exist; False if only opening it would show that."""
    return isinstance(segment.source, str) and not os.path.exists(segment.source)  # noqa: PTH110 - as it was listed


def own_offsets(segment: Segment) -> tuple[int | None, int | None] | None:
    """The first offset of a planned split, and the one after its last; ``None`` is no bound.

    Returns:
        ``None`` if the format does not show it: at a split boundary in compressed messages of magic 0 or 1.
    """
    if segment.boundaries is None:
        return None, None
    begin, end, _, next_base = segment.boundaries
    if (begin is not None and begin.first_offset is None) or (end is not None and end.first_offset is None):
        return None
    return begin.first_offset if begin else segment.base_offset, end.first_offset if end else next_base


def rediscover(partition: Partition, start: int | None, end: int | None, options: ReadOptions) -> Partition | None:
    """Find the segments that now contain the records of a task, if the log still has them.

    Args:
        partition: The partition of the task, with its segment.
        start: The first offset of the task.
        end: The offset after its last, or ``None`` for all records that came from its segment.
        options: The options of the read, for the log format.
    """
    (segment,) = partition.segments
    if start is None or not isinstance(segment.source, str) or segment.name.endswith(".kafka"):
        return None
    try:
        found = resolve(os.path.dirname(segment.source), partition.topic, partition.partition)  # noqa: PTH120 - as above
    except FileNotFoundError:
        return None
    everything = segments = [each for other in found for each in other.segments]
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
        partition.topic,
        partition.partition,
        segments,
        [each for each in everything if each not in segments],
        partition.transactions,
        checkpoints=partition.checkpoints,
        has_loss_file=partition.has_loss_file,
        snapshot=partition.snapshot,
    )


def _base(segment: Segment) -> int:
    return segment.base_offset or 0
