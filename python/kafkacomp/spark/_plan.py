"""Which pieces of which segments a batch read takes: one task each.

What rules a segment out is looked at first, so that it need not be opened: topic and partition, offsets by the names of
segments, times by the time index. What is left is opened where that cannot be told otherwise:

- a segment over ``splitSize``, for the places to cut it at;
- all segments of a partition for ``read_committed``: a transaction's end may lie in any. Headers and markers alone are
  read, once, and each task is told of the aborted transactions that concern it;
- the last segment, if an offset asked for lies in it: whether the log goes so far;
- each segment that another one follows, at its end: whether it has offsets in common with the next one. Such segments
  are one task (:mod:`kafkacomp.spark._overlap`).
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import InputPartition

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import Partition, Segment, Split, SplitBoundaries, Transactions
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._bounds import EARLIEST, LATEST
from kafkacomp.spark._overlap import runs
from kafkacomp.spark._rediscovery import LOOKS, PAUSE
from kafkacomp.spark._select import name_of, select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.partition import AbortedRange
    from kafkacomp.spark._options import Bounds, ReadOptions, Times

__all__ = [
    "EVERYTHING",
    "Pruning",
    "SegmentPartition",
    "before_next",
    "check_names",
    "check_offset",
    "cut",
    "offset_for",
    "plan",
    "transactions",
]

_LOGGER = logging.getLogger("kafkacomp")


class Pruning(NamedTuple):
    """What a query's own filters leave; ``None`` is no limit. Records outside may be read, none inside is left out."""

    topics: frozenset[object] | None = None
    partitions: frozenset[object] | None = None
    #: First offset, and the one behind the last.
    start_offset: int | None = None
    end_offset: int | None = None
    #: First time, and the one behind the last; ms.
    start_timestamp: int | None = None
    end_timestamp: int | None = None


#: No limit at all.
EVERYTHING = Pruning()


class SegmentPartition(InputPartition):
    """A task: a segment, a piece of one, or segments that overlap, and what it must know of its partition."""

    def __init__(
        self,
        partition: Partition,
        start_offset: int | None,
        end_offset: int | None,
        start_timestamp: int | None = None,
        end_timestamp: int | None = None,
    ) -> None:
        super().__init__(partition)
        self.partition = partition
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.start_timestamp = start_timestamp
        self.end_timestamp = end_timestamp


@dataclass(frozen=True)
class _Range:
    """Offsets of a partition: the first, and the one behind the last; ``None`` is an open end."""

    start: int | None
    end: int | None


def plan(options: ReadOptions, pruning: Pruning = EVERYTHING) -> list[SegmentPartition]:
    """Find the tasks of a batch read.

    Raises:
        FileNotFoundError: a path that is not there, or without segments.
        ValueError: offsets or times that do not name exactly the partitions that were found, or that lie outside them.
        KafkaCompError, OSError: what was looked at cannot be read.
    """
    for _ in range(LOOKS - 1):
        found = select(options)
        try:
            return _plan(found, options, pruning)
        except (FileNotFoundError, _ReplacedError):  # a broker compacts the log, or deletes of it
            time.sleep(PAUSE)
    return _plan(select(options), options, pruning)


class _ReplacedError(KafkaCompError):
    """A segment is not what it was when it was listed."""


def _plan(found: list[Partition], options: ReadOptions, pruning: Pruning) -> list[SegmentPartition]:
    for name, bounds in (
        ("startingOffsets", options.starting_offsets),
        ("endingOffsets", options.ending_offsets),
        ("startingOffsetsByTimestamp", options.starting_times),
        ("endingOffsetsByTimestamp", options.ending_times),
    ):
        if isinstance(bounds, dict):
            check_names(name, bounds, found)
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
    # In logs of 0.7 a record's offset is not where its entry begins.
    if (pruning.start_offset, pruning.end_offset) != (None, None) and not _is_message_set(partition, options):
        start = max((each for each in (offsets.start, pruning.start_offset) if each is not None), default=None)
        end = min((each for each in (offsets.end, pruning.end_offset) if each is not None), default=None)
        offsets = _Range(start, end)
    pieces = _segments(partition, offsets)
    if not pieces:
        return
    known = transactions(partition, options) if options.is_committed else None
    aborted = _Aborted(known.aborted if known else [])
    for run in runs(pieces, options.log_format):
        segment, following = run.pieces[0][0], run.next_base
        stable = known and known.last_stable_offset
        if stable is not None and (segment.first_offset or 0) >= stable:
            return  # nothing is stable from here on
        own = known and Transactions(stable, aborted.reaching_into(segment.first_offset, following))
        start = max((each for each in (offsets.start, run.start) if each is not None), default=None)
        is_one = len(run.pieces) == 1
        for segments in [[each] for each in cut(segment, options, following)] if is_one else [run.together()]:
            yield SegmentPartition(
                replace(partition, segments=segments, context=[], transactions=own),
                start,
                before_next(segments[-1], offsets.end),
                pruning.start_timestamp,
                pruning.end_timestamp,
            )


def before_next(piece: Segment, end: int | None) -> int | None:
    """The end offset of a task, which must not reach into the next piece.

    Batches that are there twice or in a wrong order would otherwise be delivered by both.
    """
    following = piece.boundaries.end if piece.boundaries else None
    first = following.first_offset if following else None
    return min((each for each in (end, first) if each is not None), default=None)


def cut(segment: Segment, options: ReadOptions, next_base: int | None = None) -> list[Segment]:
    """Cut a segment into pieces of about ``splitSize``: without opening it, if it is no larger than one and a half.

    ``next_base`` is where the next segment begins, if this one's end is not known otherwise.
    """
    if segment.size == 0:
        return [segment]  # empty, or the file system does not tell
    if segment.size // 2 + segment.size % 2 <= options.split_size - options.split_size // 4:
        splits = [Split(0, segment.size, None)]
    else:
        splits = _kafkacomp.cut_segment(segment, options.split_size, options.log_format)
        length = splits[-1].stop
        if next_base is not None and length != segment.size:
            raise _ReplacedError(f"{segment.name}: had {segment.size} bytes when it was listed, then {length}")
    base = segment.base_offset
    stop = splits[-1].stop
    firsts = [split.boundary.first_offset for split in splits if split.boundary]
    if base is not None and any(first is not None and first <= base for first in firsts):
        splits = [Split(0, stop, None)]  # its name is wrong, and says nothing about the offsets of its splits
    # Only the last split can end in a batch that a broker is just writing.
    found = [
        replace(segment, range=(split.start, split.stop), active=segment.active and split.stop == stop)
        for split in splits
    ]
    if base is not None:
        for piece, split, following in zip(found, splits, [*splits[1:], None], strict=True):
            end = following and following.boundary
            piece.boundaries = SplitBoundaries(split.boundary, end, segment.size, None if following else next_base)
    return found


def transactions(partition: Partition, options: ReadOptions) -> Transactions:
    """What a committed reader sees of a partition, by the headers of all its segments."""
    found = _kafkacomp.find_transactions(partition, options.log_format, options.on_error == "skip")
    for warning in found.warnings:
        _LOGGER.warning("%s", warning)
    return found.transactions


class _Aborted:
    """Aborted transactions; those of a range are found without a look at all.

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
        """Those that have offsets in ``start <= offset < end``, by their last offsets; ``None`` is no bound."""
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


def _segments(partition: Partition, offsets: _Range) -> list[tuple[Segment, int | None]]:
    """The segments that can hold offsets of a range, going by their names, each with where the next one begins."""
    everything = (*partition.segments, *partition.context)
    bases = sorted(each.first_offset for each in everything if each.first_offset is not None)
    found = []
    for segment in partition.segments:
        base = segment.first_offset
        place = len(bases) if base is None else bisect_right(bases, base)
        next_base = bases[place] if place < len(bases) else None
        behind = offsets.end is not None and base is not None and base >= offsets.end
        before = offsets.start is not None and next_base is not None and next_base <= offsets.start
        if not behind and not before:
            found.append((segment, next_base))
    return found


def _is_message_set(partition: Partition, options: ReadOptions) -> bool:
    """Whether a partition's log may be of Kafka 0.7, judged by its first segment."""
    if options.log_format != "auto":
        return options.log_format == "0.7"
    first = partition.segments[0]
    return first.name.endswith(".kafka") or _kafkacomp.is_message_set(first)


# ------------------------------------------------------------------------------------- bounds


def _range(partition: Partition, options: ReadOptions) -> _Range | None:
    """The offsets asked for; ``None``: nothing is."""
    start = _start(partition, options)
    if start == LATEST:
        return None
    end = _end(partition, options)
    if start is not None and end is not None and start > end:
        raise ValueError(f"{name_of(partition)}: the starting offset {start} is behind the ending offset {end}")
    return _Range(start, end)


def _start(partition: Partition, options: ReadOptions) -> int | None:
    time = _of(options.starting_times, partition)
    if time is None:
        return _offset("startingOffsets", options.starting_offsets, partition, options)
    offset = offset_for(partition, time, options)
    if offset is None and not options.latest_unmatched:
        raise ValueError(
            f"{name_of(partition)} has no record with the starting timestamp {time} or later;"
            " with startingOffsetsByTimestampStrategy=latest that is no error and gives nothing"
        )
    return LATEST if offset is None else offset


def _end(partition: Partition, options: ReadOptions) -> int | None:
    time = _of(options.ending_times, partition)
    if time is None:
        return _offset("endingOffsets", options.ending_offsets, partition, options)
    return offset_for(partition, time, options)


def offset_for(partition: Partition, time: int, options: ReadOptions) -> int | None:
    """The offset of a partition's first record with a time, ms, or later."""
    return _kafkacomp.offset_for_time(
        partition, time, options.log_format, options.on_error == "skip", options.max_output_size
    )


def _of(times: Times, partition: Partition) -> int | None:
    if isinstance(times, dict):
        return times[_key(partition)]
    return times


def _offset(name: str, bounds: Bounds, partition: Partition, options: ReadOptions) -> int | None:
    offset = bounds[_key(partition)] if isinstance(bounds, dict) else bounds
    if offset in {EARLIEST, LATEST}:
        return None
    if options.fail_on_data_loss:
        check_offset(name, offset, partition, options)
    return offset


def check_offset(name: str, offset: int, partition: Partition, options: ReadOptions) -> None:
    """Refuse an offset that the log does not reach, or no longer has."""
    first, last = partition.segments[0].first_offset, partition.segments[-1]
    if first is None or last.base_offset is None:
        return  # captured record sets: offsets need not rise
    first = max(first, partition.begins or first)
    if offset < first:
        problem = f"the log begins at {first}"
    elif offset > last.base_offset:
        end = _kafkacomp.end_offset(last, options.log_format)
        if end is None or offset <= end:
            return
        problem = f"the log ends at {end}"
    else:
        return
    raise ValueError(
        f"{name}: offset {offset} of {name_of(partition)} is out of range: {problem}"
        " (with failOnDataLoss=false what is there is read)"
    )


def _key(partition: Partition) -> tuple[str, int]:
    """Topic and partition, which :func:`check_names` has seen."""
    assert partition.topic is not None  # noqa: S101 - as above
    assert partition.partition is not None  # noqa: S101 - as above
    return partition.topic, partition.partition


def check_names(name: str, bounds: dict[tuple[str, int], int], found: list[Partition]) -> None:
    """Demand that offsets by partition name all partitions and no others, as Spark's Kafka source does."""
    there: set[tuple[str, int]] = set()
    for partition in found:
        if partition.topic is None or partition.partition is None:
            where = partition.segments[0].name
            raise ValueError(f"{name}: {where} belongs to no known partition; give the options topic and partition")
        there.add((partition.topic, partition.partition))
    for problem, partitions in (("has no", there - bounds.keys()), ("names", bounds.keys() - there)):
        if partitions:
            names = ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
            rest = "; every partition must be named (-2 is earliest, -1 latest)" if problem == "has no" else ""
            raise ValueError(f"{name} {problem} {names}{rest or ', which the source does not have'}")
