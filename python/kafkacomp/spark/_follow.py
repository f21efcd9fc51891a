"""Follow the ends of growing partitions: the state that a stream's driver keeps between two polls.

A poll lists the folders, opens the last segment of each partition and reads the headers of new batches. Closed segments
are not opened, except once each with ``read_committed``, which must know all transactions from the start of the log.
The one before a new last segment is opened, to see whether it reaches beyond the start of that. If it does, or if the
offsets of what was read do not increase, all files show where the log ends.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import SplitBoundaries
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.spark._errors import tell_loss
from kafkacomp.spark._plan import OPEN_END, split_segment, transactions
from kafkacomp.spark._rediscovery import PAUSE
from kafkacomp.spark._select import name_of

if TYPE_CHECKING:
    from kafkacomp._storage.partition import AbortedRange, Partition, Segment, Transactions
    from kafkacomp.spark._options import ReadOptions

_LOGGER = logging.getLogger("kafkacomp")

#: The number of end offsets that are kept with their positions: a batch begins where one of the last few ended.
_MARKS = 8


class PartitionLog:
    """Follows one partition."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._is_known_format = options.log_format != "auto"
        self._reset()

    def _reset(self) -> None:
        self._follower = _kafkacomp.LogFollower(self._options.is_committed)
        self._segment: tuple[int, str] | None = None
        self._marks: dict[int, tuple[str, int]] = {}
        #: Whether the batches of all files decide.
        self._is_judged = False
        #: How far the last segment was read when they did.
        self._judged_to: tuple[str, int] | None = None
        #: The transactions then.
        self._transactions: Transactions | None = None
        #: The first offset, if a wrong name hides it.
        self.start: int | None = None
        #: The offset after the last complete batch.
        self.end = 0
        #: The first offset that is not visible yet at the stream's isolation level.
        self.stable = 0

    def look(self, partition: Partition) -> None:
        """Read what was appended since the last poll.

        Raises:
            FileNotFoundError: a segment was deleted since the listing.
            CorruptRecordError: a batch is corrupt, and the mode is not DROPMALFORMED.
            KafkaCompError: what was appended is below the end that an earlier poll has found, and ``failOnDataLoss`` is
                true.
            ValueError: a log of Kafka 0.7.
        """
        last, reached = partition.segments[-1], self.end
        self._check_format(partition)
        if self._segment is not None and _base(last) < self._segment[0]:
            self._reset()  # deleted and created again
        is_new = self._segment != (_base(last), last.name)
        for segment in self._todo(partition):
            if not self._follow(segment, is_last=segment is last):
                _LOGGER.warning("%s: truncated; it is read again from its beginning", last.name)
                self._reset()
                self.look(partition)
                return
        if self._follower.is_pending:
            time.sleep(PAUSE)
            self._follow(last, is_last=True)
        self._settle(partition, reached, is_new=is_new)
        seen = self._follower.end_offset
        self.end = max(_base(last) if seen is None else seen, _base(last))
        self._marks.pop(self.end, None)
        self._marks[self.end] = (last.name, self._follower.position)
        if len(self._marks) > _MARKS:
            del self._marks[next(iter(self._marks))]
        first_open = self._follower.first_open
        if self._transactions is not None:
            first_open = self._transactions.last_stable_offset
        self.stable = self.end if first_open is None else min(first_open, self.end)

    def _settle(self, partition: Partition, reached: int, *, is_new: bool) -> None:
        """Find the end by the batches of all files, if the last ones do not show it.

        Args:
            partition: The partition.
            reached: The end that the poll before has found.
            is_new: Whether the last segment is another one than at the poll before.
        """
        last = partition.segments[-1]
        disorder = self._follower.take_disorder()
        if disorder is not None and disorder[1] < reached:
            position, first, _ = disorder
            loss = (
                f"{name_of(partition)}: the batch at byte {position} of {last.name} begins at offset {first}, but the"
                f" stream has read up to offset {reached - 1}"
            )
            tell_loss([loss], self._options)
        if partition.is_misnamed or disorder is not None or (is_new and self._reaches_beyond(partition)):
            self._is_judged = True
        if not self._is_judged or self._judged_to == (last.name, self._follower.position):
            return
        span = _kafkacomp.judged_span(partition, self._options.log_format)
        if span is not None:
            self.start = span[0] if partition.is_misnamed else None
            self._follower.set_end_offset(span[1])
        if self._options.is_committed:
            self._transactions = transactions(partition, self._options)
        # What was appended before the files were read is not below the end.
        self._follow(last, is_last=True)
        self._follower.take_disorder()
        self._judged_to = (last.name, self._follower.position)

    def _reaches_beyond(self, partition: Partition) -> bool:
        """Whether the segment before the last one has offsets of it."""
        if len(partition.segments) < 2:  # noqa: PLR2004 - there is one before
            return False
        before, last = partition.segments[-2:]
        end = _kafkacomp.end_offset(before, self._options.log_format)
        return end is not None and end > _base(last)

    def _todo(self, partition: Partition) -> list[Segment]:
        if not self._options.is_committed:
            return partition.segments[-1:]
        known = -1 if self._segment is None else self._segment[0]
        return [each for each in partition.segments if _base(each) >= known]

    def _follow(self, segment: Segment, *, is_last: bool) -> bool:
        """Read what was appended to a segment; return False if it has become shorter."""
        here = (_base(segment), segment.name)
        is_new = here != self._segment
        skip = self._options.on_error == "skip"
        try:
            stop = self._follower.follow(segment, is_new, skip)
        except CorruptRecordError:
            if is_new or is_last:
                raise
            stop = "shrunk"
        if stop == "shrunk":
            if is_last:
                return False
            # Closed and replaced by a compacted segment.
            stop = self._follower.follow(segment, True, skip)  # noqa: FBT003 - a position of the core's
        self._segment = here
        if stop == "corrupt":
            _LOGGER.warning("%s: no batch at byte %d; waiting", segment.name, self._follower.position)
        return True

    def _check_format(self, partition: Partition) -> None:
        if self._is_known_format:
            return
        filled = [each for each in partition.segments if each.size > 0]
        if filled and _kafkacomp.is_message_set(filled[0]):
            raise ValueError(
                f"{name_of(partition)} is a log of Kafka 0.7, whose offsets are byte positions: readStream does not"
                " support it; use spark.read"
            )
        self._is_known_format = bool(filled)

    def aborted(self, start: int, end: int) -> list[AbortedRange]:
        """List the aborted transactions that have offsets in this range."""
        if self._transactions is not None:
            found = self._transactions.aborted
            return [each for each in found if each.first_offset < end and each.last_offset >= start]
        return self._follower.aborted(start, end)

    def forget(self, offset: int) -> None:
        """Drop the state that is not needed to read from this offset on."""
        self._follower.forget(offset)

    def splits(self, segment: Segment, start: int, end: int, next_base: int | None) -> list[Segment]:
        """Split these offsets of a segment into splits of about ``splitSize``.

        The last split knows where the next segment begins, so that it reports offsets missing in between.
        """
        first, last = self._place(segment, start) or 0, self._place(segment, end)
        stop = segment.size if last is None else last
        if stop - first <= self._options.split_size * 3 // 2:
            found = [replace(segment, range=(first, stop))]
        else:
            found = [
                _within(each, first, stop)
                for each in split_segment(segment, self._options)
                if _overlaps(each, first, stop)
            ]
        if last is None:  # the segment may have grown since it was listed
            found[-1] = replace(found[-1], range=((found[-1].range or (0, 0))[0], OPEN_END))
        if next_base is not None:
            known = found[-1].boundaries or SplitBoundaries(None, None, segment.size, None)
            found[-1] = replace(found[-1], boundaries=known._replace(next_base=next_base))
        return found

    def _place(self, segment: Segment, offset: int) -> int | None:
        """The position of an offset's batch, if it is known: earlier batches are not read again.

        Only for segments without an index: a log with indexes is a broker's, which may replace the
        segment by a compacted one of the same name. Where offsets do not increase, the batch at a position shows
        nothing.
        """
        name, position = self._marks.get(offset, ("", 0))
        if self._is_judged or name != segment.name or self._segment != (_base(segment), name):
            return None
        is_local = isinstance(segment.source, str)
        return None if is_local and os.path.exists(f"{os.path.splitext(segment.source)[0]}.index") else position  # noqa: PTH110, PTH122


def _overlaps(split: Segment, first: int, stop: int) -> bool:
    begin, end = split.range or (0, stop)
    return end > first and begin < stop


def _within(split: Segment, first: int, stop: int) -> Segment:
    """The part of a split between two positions, with the split boundaries that are still its own."""
    begin, end = split.range or (0, stop)
    known = split.boundaries
    boundaries = known and known._replace(
        begin=known.begin if begin >= first else None, end=known.end if end <= stop else None
    )
    return replace(split, range=(max(begin, first), min(end, stop)), boundaries=boundaries)


def _base(segment: Segment) -> int:
    return segment.base_offset or 0
