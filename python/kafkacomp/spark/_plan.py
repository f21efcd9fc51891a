"""Plan the tasks of a batch read: a split of a segment each.

Segments are first ruled out without being opened: by topic and partition, and by the offsets in their names. A task
skips its segment if the headers show only times before those of the filters. Of the other segments, the following are
opened:

- a segment larger than ``splitSize``, to find the split boundaries;
- all segments of a partition with ``read_committed``, because a transaction may end in any of them. Only headers and
  markers are read, once, and each task gets the aborted transactions that concern it;
- the last segment, if it may contain an offset of the options, to check that the log reaches it.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import InputPartition

from kafkacomp import _kafkacomp
from kafkacomp._storage.names import basename, is_segment
from kafkacomp._storage.partition import Partition, Segment, Split, SplitBoundaries, Transactions
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._bounds import EARLIEST, LATEST
from kafkacomp.spark._overlap import runs
from kafkacomp.spark._rediscovery import LOOKS, PAUSE
from kafkacomp.spark._select import name_of, select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.partition import AbortedRange
    from kafkacomp.spark._bounds import Bounds, Times
    from kafkacomp.spark._options import ReadOptions

_LOGGER = logging.getLogger("kafkacomp")


class Pruning(NamedTuple):
    """Bounds from the filters of a query; ``None`` is no bound. Records outside may be read, too."""

    topics: frozenset[object] | None = None
    partitions: frozenset[object] | None = None
    #: The first offset, and the one after the last.
    start_offset: int | None = None
    end_offset: int | None = None
    #: The first timestamp, and the one after the last, in milliseconds.
    start_timestamp: int | None = None
    end_timestamp: int | None = None


#: The most segments on each side of a task's own that it gets to judge the partition.
_MOST_BESIDE = 32
#: A position after the end of any file.
OPEN_END = (1 << 63) - 1

#: No limit at all.
EVERYTHING = Pruning()


@dataclass
class SegmentPartition(InputPartition):
    """A task: a segment, a split of one, or overlapping segments; and what the task must know of their partition."""

    partition: Partition
    start_offset: int | None
    end_offset: int | None
    start_timestamp: int | None = None
    end_timestamp: int | None = None

    def __post_init__(self) -> None:
        super().__init__(self.partition)


@dataclass(frozen=True)
class _Range:
    """Offsets of a partition: the first, and the one after the last; ``None`` is no bound."""

    start: int | None
    end: int | None


def plan(options: ReadOptions, pruning: Pruning = EVERYTHING) -> list[SegmentPartition]:
    """Find the tasks of a batch read.

    Raises:
        FileNotFoundError: a path does not exist, or contains no segments.
        ValueError: offsets or timestamps by partition do not name exactly the existing partitions, or are out of range.
        KafkaCompError, OSError: a segment that was opened cannot be read.
    """
    for _ in range(LOOKS - 1):
        found = select(options)
        try:
            return _plan(found, options, pruning)
        except (FileNotFoundError, _ReplacedError):  # a broker compacts the log, or deletes old segments
            time.sleep(PAUSE)
    return _plan(select(options), options, pruning)


class _ReplacedError(KafkaCompError):
    """A segment was replaced after it was listed."""


def _plan(found: list[Partition], options: ReadOptions, pruning: Pruning) -> list[SegmentPartition]:
    check_bounds(found, options)
    tasks: list[SegmentPartition] = []
    for partition in found:
        if _is_left(partition.topic, pruning.topics) and _is_left(partition.partition, pruning.partitions):
            tasks += _tasks(partition, options, pruning)
    return tasks


def _is_left(value: object, wanted: frozenset[object] | None) -> bool:
    return wanted is None or value in wanted


def _tasks(partition: Partition, options: ReadOptions, pruning: Pruning) -> Iterator[SegmentPartition]:
    offsets = _range(partition, options)
    if offsets is None:
        return
    # In logs of Kafka 0.7 the offset of a record is not the position at which its entry begins.
    if (pruning.start_offset, pruning.end_offset) != (None, None) and not _is_message_set(partition, options):
        start = max((each for each in (offsets.start, pruning.start_offset) if each is not None), default=None)
        end = min((each for each in (offsets.end, pruning.end_offset) if each is not None), default=None)
        offsets = _Range(start, end)
    # Names that are wrong do not show which offsets a task would read: one task has all of them.
    is_one_task = partition.is_misnamed
    selected = segments_within(partition, *((None, None) if is_one_task else (offsets.start, offsets.end)))
    if not selected:
        return
    known = transactions(partition, options) if options.is_committed else None
    aborted = _Aborted(known.aborted if known else [])
    parts = PartsOf(partition)
    times = (pruning.start_timestamp, pruning.end_timestamp)
    if is_one_task:
        together = parts.part([segment for segment, _ in selected], known)
        yield SegmentPartition(together, offsets.start, offsets.end, *times)
        return
    for run in runs(selected):
        segment, following = run.segments[0][0], run.next_base
        stable = known and known.last_stable_offset
        if stable is not None and (segment.first_offset or 0) >= stable:
            return  # no later offset is stable
        own = known and Transactions(stable, aborted.reaching_into(segment.first_offset, following))
        is_one = len(run.segments) == 1
        for segments in [[each] for each in split_segment(segment, options, following)] if is_one else [run.together()]:
            yield SegmentPartition(
                parts.part(segments, own),
                offsets.start,
                before_next(segments[-1], offsets.end),
                *times,
            )


class PartsOf:
    """Divides a partition into those of its tasks.

    The context of a task is the segments next to its own: the one before may reach beyond its end, and the batches on
    both sides of missing offsets show whether these are a known loss. A task that must judge the partition lists a
    broker's local folder; of other storage, its context has the nearest other segments.
    """

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        everything = (*partition.segments, *partition.context)
        self._is_local = all(isinstance(each.source, str) and is_segment(basename(each.source)) for each in everything)
        self._in_order = sorted(everything, key=_first_offset)

    def part(self, segments: list[Segment], transactions: Transactions | None) -> Partition:
        """The partition of a task."""
        most = 1 if self._is_local else _MOST_BESIDE
        before = bisect_left(self._in_order, _first_offset(segments[0]), key=_first_offset)
        after = bisect_right(self._in_order, _first_offset(segments[-1]), key=_first_offset)
        names = {each.name for each in segments}
        near = self._in_order[max(before - most, 0) : after + most]
        context = [each for each in near if each.name not in names]
        is_part = self._partition.is_part or after + most < len(self._in_order)
        return replace(self._partition, segments=segments, context=context, transactions=transactions, is_part=is_part)


def _first_offset(segment: Segment) -> int:
    return segment.first_offset or 0


def before_next(split: Segment, end: int | None) -> int | None:
    """The end offset of a task, which must not reach into the next split.

    Otherwise both tasks would deliver batches that are duplicated or out of order.
    """
    following = split.boundaries.end if split.boundaries else None
    first = following.first_offset if following else None
    return min((each for each in (end, first) if each is not None), default=None)


def split_segment(segment: Segment, options: ReadOptions, next_base: int | None = None) -> list[Segment]:
    """Divide a segment into splits of about ``splitSize``; a segment of up to one and a half times that is not opened.

    ``next_base`` is the base offset of the next segment, if there is one.
    """
    is_sized = segment.size > 0  # otherwise it is empty, or the storage does not list sizes
    if not is_sized and next_base is None:
        return [replace(segment, range=(0, OPEN_END))]
    if is_sized and segment.size // 2 + segment.size % 2 <= options.split_size - options.split_size // 4:
        splits = [Split(0, segment.size, None)]
    else:
        whole = replace(segment, boundaries=SplitBoundaries(None, None, segment.size, next_base))
        splits = _kafkacomp.split_segment(whole, options.split_size, options.log_format)
        length = splits[-1].stop
        if is_sized and next_base is not None and length != segment.size:
            raise _ReplacedError(f"{segment.name}: {segment.size} bytes when it was listed, {length} when opened")
        segment = replace(segment, size=segment.size or length)
    base = segment.base_offset
    stop = splits[-1].stop
    firsts = [split.boundary.first_offset for split in splits if split.boundary]
    if base is not None and any(first is not None and first <= base for first in firsts):
        splits = [Split(0, stop, None)]  # the name is wrong, so the offsets of splits are unknown
    # Only the last split can end in a batch that a broker is still writing.
    found = [
        replace(segment, range=(split.start, split.stop), active=segment.active and split.stop == stop)
        for split in splits
    ]
    if base is not None:
        for part, split, following in zip(found, splits, [*splits[1:], None], strict=True):
            end = following and following.boundary
            # Only a boundary shows that the split does not end with the segment.
            known_base = next_base if end or not following else None
            part.boundaries = SplitBoundaries(split.boundary, end, segment.size, known_base)
    return found


def transactions(partition: Partition, options: ReadOptions) -> Transactions:
    """Find what a committed reader sees of a partition, from the headers of all its segments."""
    found = _kafkacomp.find_transactions(partition, options.log_format, options.on_error == "skip")
    for warning in found.warnings:
        _LOGGER.warning("%s", warning)
    return found.transactions


class _Aborted:
    """Finds the aborted transactions of a range without visiting all of them.

    A tree over the transactions by their first offsets: each node has the greatest last offset below it.
    """

    def __init__(self, transactions: list[AbortedRange]) -> None:
        self._all = sorted(transactions, key=lambda each: each.first_offset)
        self._firsts = [each.first_offset for each in self._all]
        self._leaves = 1 << max(len(self._all) - 1, 0).bit_length()
        #: The children of node ``n`` are ``2 * n`` and ``2 * n + 1``; the leaves are the transactions.
        self._latest = (
            [-1] * self._leaves + [each.last_offset for each in self._all] + [-1] * (self._leaves - len(self._all))
        )
        for node in range(self._leaves - 1, 0, -1):
            self._latest[node] = max(self._latest[2 * node : 2 * node + 2])

    def reaching_into(self, start: int | None, end: int | None) -> list[AbortedRange]:
        """List those with offsets in ``start <= offset < end``, ordered by last offset; ``None`` is no bound."""
        least = 0 if start is None else start
        stop = len(self._all) if end is None else bisect_left(self._firsts, end)
        found, nodes = [], [(1, 0, self._leaves)]
        while nodes:
            node, begin, width = nodes.pop()
            if begin >= stop or self._latest[node] < least:
                continue
            if width == 1:
                found.append(self._all[begin])
            else:
                half = width // 2
                nodes += [(2 * node + 1, begin + half, half), (2 * node, begin, half)]
        return sorted(found, key=lambda each: each.last_offset)


def segments_within(partition: Partition, start: int | None, end: int | None) -> list[tuple[Segment, int | None]]:
    """The segments whose names allow offsets of a range, each with the base offset of the next one."""
    everything = (*partition.segments, *partition.context)
    bases = sorted(each.first_offset for each in everything if each.first_offset is not None)
    found = []
    for segment in partition.segments:
        base = segment.first_offset
        place = len(bases) if base is None else bisect_right(bases, base)
        next_base = bases[place] if place < len(bases) else None
        behind = end is not None and base is not None and base >= end
        before = start is not None and next_base is not None and next_base <= start
        if not behind and not before:
            found.append((segment, next_base))
    return found


def _is_message_set(partition: Partition, options: ReadOptions) -> bool:
    """Whether the first segment of a partition may be of Kafka 0.7."""
    if options.log_format != "auto":
        return options.log_format == "0.7"
    first = partition.segments[0]
    return first.name.endswith(".kafka") or _kafkacomp.is_message_set(first)


# ------------------------------------------------------------------------------------- bounds


def _range(partition: Partition, options: ReadOptions) -> _Range | None:
    """The offsets that the options select; ``None`` if they select none."""
    start = starting_offset(partition, options, "it has no rows instead")
    if start == LATEST:
        return None
    time = _of(options.ending_times, partition)
    if time is not None:
        end = _offset_for(partition, time, options)
    else:
        offset = _offset("endingOffsets", options.ending_offsets, partition, options)
        end = None if offset == LATEST else offset
    if end is not None and start > end:
        raise ValueError(f"{name_of(partition)}: the starting offset {start} is after the ending offset {end}")
    return _Range(None if start == EARLIEST else start, end)


def starting_offset(partition: Partition, options: ReadOptions, otherwise: str) -> int:
    """The first offset to read of a partition: EARLIEST, LATEST, or an offset of the options.

    Args:
        partition: The partition.
        options: The options of the read.
        otherwise: The effect of ``startingOffsetsByTimestampStrategy=latest``, for the error.
    """
    time = _of(options.starting_times, partition)
    if time is None:
        return _offset("startingOffsets", options.starting_offsets, partition, options)
    offset = _offset_for(partition, time, options)
    if offset is None and not options.latest_unmatched:
        raise ValueError(
            f"{name_of(partition)} has no record with the starting timestamp {time} or later;"
            f" with startingOffsetsByTimestampStrategy=latest {otherwise}"
        )
    return LATEST if offset is None else offset


def _offset_for(partition: Partition, time: int, options: ReadOptions) -> int | None:
    """The offset of a partition's first record with this timestamp, in milliseconds, or a later one."""
    return _kafkacomp.offset_for_time(
        partition, time, options.log_format, options.on_error == "skip", options.max_output_size
    )


def _of(times: Times, partition: Partition) -> int | None:
    if isinstance(times, dict):
        return times[_key(partition)]
    return times


def _offset(name: str, bounds: Bounds, partition: Partition, options: ReadOptions) -> int:
    offset = bounds[_key(partition)] if isinstance(bounds, dict) else bounds
    if offset >= 0 and options.fail_on_data_loss:
        _check_offset(name, offset, partition, options)
    return offset


def _check_offset(name: str, offset: int, partition: Partition, options: ReadOptions) -> None:
    """Refuse an offset that the log does not have yet or does not have any more."""
    first, last = partition.segments[0].first_offset, partition.segments[-1]
    if first is None or last.base_offset is None:
        return  # captured record sets, whose offsets need not increase
    first = max(first, partition.begins or first)
    if offset < first:
        problem = f"the log begins at {first}"
    elif offset > last.base_offset:
        end = _kafkacomp.log_end(partition, options.log_format)
        if end is None or offset <= end:
            return
        problem = f"the log ends at {end}"
    else:
        return
    raise ValueError(
        f"{name}: offset {offset} of {name_of(partition)} is out of range: {problem}"
        " (failOnDataLoss=false reads the existing offsets)"
    )


def _key(partition: Partition) -> tuple[str, int]:
    """Topic and partition, which :func:`check_bounds` has checked to be known."""
    assert partition.topic is not None  # noqa: S101 - as above
    assert partition.partition is not None  # noqa: S101 - as above
    return partition.topic, partition.partition


def check_bounds(found: list[Partition], options: ReadOptions) -> None:
    """Check that offsets and timestamps by partition name exactly the existing partitions, as Spark's source does."""
    for name, bounds in (
        ("startingOffsets", options.starting_offsets),
        ("endingOffsets", options.ending_offsets),
        ("startingOffsetsByTimestamp", options.starting_times),
        ("endingOffsetsByTimestamp", options.ending_times),
    ):
        if isinstance(bounds, dict):
            _check_names(name, bounds, found)


def _check_names(name: str, bounds: dict[tuple[str, int], int], found: list[Partition]) -> None:
    """Check that offsets by partition name all partitions and no others, as Spark's Kafka source does."""
    there: set[tuple[str, int]] = set()
    for partition in found:
        if partition.topic is None or partition.partition is None:
            where = partition.segments[0].name
            raise ValueError(f"{name}: the partition of {where} is unknown: give the options topic and partition")
        there.add((partition.topic, partition.partition))
    for problem, partitions in (("has no", there - bounds.keys()), ("names", bounds.keys() - there)):
        if partitions:
            names = ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
            rest = "; every partition must be named (-2 is earliest, -1 latest)" if problem == "has no" else ""
            raise ValueError(f"{name} {problem} {names}{rest or ', which the source does not have'}")
