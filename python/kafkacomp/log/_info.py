"""Summarize the content of a log directory from the headers of its batches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp._storage.names import INTERNAL_TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp.arrow import MissingRange
    from kafkacomp.log._verify import PartitionReport


class BatchCounts(NamedTuple):
    """Counts of the batches of one message format and compression type.

    A batch is left out if earlier batches or segments have all of its offsets. The records of the others are counted
    once for each offset.

    Attributes:
        message_format: The magic ``0``, ``1`` or ``2``; ``0.7`` for message sets.
        compression_type: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``; ``unknown(N)`` for an id that Kafka does
            not have.
        batches: The number of batches.
        records: The number of records, without control records.
        stored_bytes: The size of the batches as stored, with their headers.
        records_bytes: The size of the records after decompression; ``None`` unless the batches were decompressed,
            because headers do not have it.
    """

    message_format: str
    compression_type: str
    batches: int
    records: int
    stored_bytes: int
    records_bytes: int | None = None

    @property
    def ratio(self) -> float | None:
        """The size of the records divided by their stored size; ``None`` if the size of the records is unknown."""
        return self.records_bytes / self.stored_bytes if self.records_bytes is not None and self.stored_bytes else None


class OpenTransaction(NamedTuple):
    """A transaction without an end marker.

    Attributes:
        producer_id: The id of the producer.
        producer_epoch: Its epoch.
        first_offset: The offset of its first record.
        last_offset: The offset of its last record so far.
        first_timestamp: The timestamp of its first record in milliseconds; ``None`` if it has none.
        records: The number of its records so far.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    first_timestamp: int | None
    records: int


@dataclass(frozen=True)
class SegmentSummary:
    """A summary of the batch headers in a segment, or with ``deep`` of its intact batches.

    Attributes:
        length: The segment's length in bytes.
        bytes_read: The number of bytes of the segment that were read.
        counts: Batches and records by message format and compression type.
        control_records: The number of control records: markers of transactions, and control records of KRaft.
        is_exact: Whether the records were counted; see :attr:`PartitionInfo.is_exact`.
        is_minimum: Whether the segment has at least these records; see :attr:`PartitionInfo.is_minimum`.
        first_offset: The first offset of a batch; ``None`` without batches.
        last_offset: The last offset of a batch; ``None`` without batches.
        first_timestamp: The first time, as in :attr:`PartitionInfo.first_timestamp`.
        last_timestamp: The last time, as in :attr:`PartitionInfo.last_timestamp`.
        missing: Offsets that no batch has, before the first batch and between batches; at most 10,000 ranges of each
            kind, as in :class:`kafkacomp.log.SegmentReport`.
        more_missing: The number of further ranges.
        is_compacted: Whether compaction has removed records from batches.
        repeated_batches: The number of batches whose offsets are below those of the batch before them.
        corrupt_bytes: The number of bytes without an intact batch.
        is_truncated: Whether the last batch is truncated.
        zero_tail_bytes: The number of zero bytes after the last batch.
    """

    length: int
    bytes_read: int
    counts: list[BatchCounts]
    control_records: int
    is_exact: bool
    is_minimum: bool
    first_offset: int | None
    last_offset: int | None
    first_timestamp: int | None
    last_timestamp: int | None
    missing: list[MissingRange]
    more_missing: int
    is_compacted: bool
    repeated_batches: int
    corrupt_bytes: int
    is_truncated: bool
    zero_tail_bytes: int


#: For each segment its summary, or the error that prevents reading it; the transactions that are open at the end; and
#: whether the end of a segment is gone, as its offset index shows.
Summaries: TypeAlias = "tuple[list[SegmentSummary | OSError | ValueError], list[OpenTransaction], bool]"


@dataclass(frozen=True)
class SegmentInfo:
    """A segment with the summary of its batch headers.

    Attributes:
        path: The path of the file.
        base_offset: The offset in the name of the file.
        size: The length in bytes when the segment was listed.
        summary: The summary of the headers; ``None`` if the segment cannot be read.
        error: The message of the error if the segment cannot be read.
    """

    path: str
    base_offset: int | None
    size: int
    summary: SegmentSummary | None
    error: str | None = None


class _Segments:
    """The sums of partitions, topics and log directories that follow from their segments."""

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        raise NotImplementedError

    @property
    def _summaries(self) -> list[SegmentSummary]:
        segments = (segment for part in self._parts for segment in part.segments)
        return [each.summary for each in segments if each.summary is not None]

    @property
    def segments_count(self) -> int:
        """The number of segments."""
        return sum(len(each.segments) for each in self._parts)

    @property
    def size(self) -> int:
        """The size of all segments in bytes."""
        return sum(segment.size for each in self._parts for segment in each.segments)

    @property
    def bytes_read(self) -> int:
        """The number of bytes of the segments that were read."""
        return sum(each.bytes_read for each in self._summaries)

    @property
    def control_records(self) -> int:
        """The number of control records."""
        return sum(each.control_records for each in self._summaries)

    @property
    def first_timestamp(self) -> int | None:
        """The first time in milliseconds; ``None`` without timestamps.

        With ``deep`` the least timestamp of the records. Otherwise the least timestamp in the headers, which have that
        of the first record in a batch: others in the batch may be earlier. Control records and records without a
        timestamp (-1) do not count.
        """
        found = (each.first_timestamp for each in self._summaries)
        return min((time for time in found if time is not None), default=None)

    @property
    def last_timestamp(self) -> int | None:
        """The last time in milliseconds; ``None`` without timestamps.

        The greatest timestamp of the records with ``deep``, and of the headers otherwise. Control records do not count.
        """
        found = (each.last_timestamp for each in self._summaries)
        return max((time for time in found if time is not None), default=None)

    @property
    def is_verified(self) -> bool:
        """Whether every batch was verified, so that counts and times are those of the records, not of headers."""
        return all(part.report is not None for part in self._parts)

    @property
    def gaps(self) -> int:
        """The number of missing ranges of offsets that compaction does not explain."""
        return sum(each.reason != "compacted" for part in self._parts for each in part.missing)

    @property
    def is_corrupt(self) -> bool:
        """Whether something is corrupt or unreadable: as the verification finds it; without ``deep``, the headers."""
        is_wrong = any(each.report is not None and each.report.is_corrupt for each in self._parts)
        return is_wrong or any(each.corrupt_bytes for each in self._parts) or bool(self.errors)

    @property
    def transactions_count(self) -> int:
        """The number of open transactions."""
        return sum(len(each.open_transactions) for each in self._parts)

    @property
    def errors(self) -> list[tuple[str, str]]:
        """The paths of segments that cannot be read, with the errors."""
        return [(each.path, each.error) for part in self._parts for each in part.segments if each.error is not None]

    @property
    def ratio(self) -> float | None:
        """The size of the records divided by their stored size.

        ``None`` if there are compressed batches that were not decompressed, because headers do not have the size of the
        records.
        """
        counts = [counts for part in self._parts for counts in part.counts]
        known = [each.records_bytes for each in counts if each.records_bytes is not None]
        stored = sum(each.stored_bytes for each in counts)
        return sum(known) / stored if stored and len(known) == len(counts) else None


class _Sums(_Segments):
    """Sums over several partitions."""

    partitions: tuple[PartitionInfo, ...]

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        return self.partitions

    @property
    def counts(self) -> tuple[BatchCounts, ...]:
        """Batches and records by message format and compression type."""
        return tuple(added(counts for each in self._parts for counts in each.counts))

    @property
    def records(self) -> int:
        """The number of records, without control records."""
        return sum(each.records for each in self._parts)

    @property
    def is_exact(self) -> bool:
        """Whether the records of all partitions were counted; see :attr:`PartitionInfo.is_exact`."""
        return all(each.is_exact for each in self._parts)

    @property
    def is_minimum(self) -> bool:
        """Whether there are at least these records; see :attr:`PartitionInfo.is_minimum`."""
        return all(each.is_minimum for each in self._parts)

    @property
    def corrupt_bytes(self) -> int:
        """The number of bytes without an intact batch."""
        return sum(each.corrupt_bytes for each in self._parts)


@dataclass(frozen=True)
class PartitionInfo(_Segments):
    """A summary of a partition.

    Attributes:
        topic: The topic.
        partition: The partition.
        segments: The segments with their summaries, in offset order.
        counts: Batches and records by message format and compression type: as the headers declare them, or with
            ``deep`` those of the intact batches.
        records: The number of records, without control records.
        is_exact: Whether ``records`` is a count, not an estimate. With ``deep``: a scan with ``on_error="skip"``
            returns that many rows; the count is an estimate if batches are out of place, or if corrupt or different
            segments overlap. Without ``deep``: the headers declare the number of records of every batch, and no offset
            is in two batches; then it is the number of records unless the content of a batch is corrupt, which headers
            do not show. It is an estimate if there are compressed messages of magic 0 or 1 or of Kafka 0.7, if segments
            overlap, if headers contradict one another, or if offsets are missing that compaction does not explain.
        is_minimum: Whether the partition has at least ``records``: they were counted, or the only estimate is that a
            compressed message of Kafka 0.7 counts as one record, the least that it can contain.
        first_offset: The first offset of a batch; ``None`` without batches.
        last_offset: The last offset of a batch; ``None`` without batches.
        missing: Offsets that no segment has, in order; at most 10,000 ranges.
        more_missing: The number of further ranges.
        known_losses: Those of the missing offsets that the loss file in the partition's folder makes known.
        corrupt_bytes: The number of bytes without an intact batch.
        open_transactions: Transactions without an end marker, ordered by their first offsets.
        high_watermark: The high watermark in ``replication-offset-checkpoint``: consumers read only lower offsets.
        log_start_offset: The log start offset in ``log-start-offset-checkpoint``: consumers read no lower offsets.
        report: The report of the verification; ``None`` without ``deep``.
    """

    topic: str
    partition: int
    segments: tuple[SegmentInfo, ...]
    counts: tuple[BatchCounts, ...]
    records: int
    is_exact: bool
    is_minimum: bool
    first_offset: int | None
    last_offset: int | None
    missing: tuple[MissingRange, ...]
    more_missing: int
    known_losses: tuple[KnownLoss, ...]
    corrupt_bytes: int
    open_transactions: tuple[OpenTransaction, ...]
    high_watermark: int | None
    log_start_offset: int | None
    report: PartitionReport | None = None

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        return (self,)


@dataclass(frozen=True)
class TopicInfo(_Sums):
    """A summary of a topic: the sum of its partitions.

    Attributes:
        topic: The topic.
        partitions: Its partitions.
    """

    topic: str
    partitions: tuple[PartitionInfo, ...]

    @property
    def is_internal(self) -> bool:
        """Whether it is one of Kafka's own topics, such as ``__consumer_offsets``."""
        return self.topic in INTERNAL_TOPICS


@dataclass(frozen=True)
class LogDirInfo(_Sums):
    """A summary of a log directory; see :meth:`kafkacomp.LogDir.info`.

    Attributes:
        partitions: The partitions of all topics.

    Example:
        >>> import kafkacomp as kc
        >>> found = kc.LogDir(example).info()
        >>> found.records, found.size, found.gaps, found.corrupt_bytes
        (5, 181, 0, 0)
        >>> [(each.topic, len(each.partitions)) for each in found.topics]
        [('orders', 1)]
    """

    partitions: tuple[PartitionInfo, ...]

    @property
    def topics(self) -> tuple[TopicInfo, ...]:
        """The summary of each topic, by name."""
        ordered = sorted(self.partitions, key=lambda each: (each.topic, each.partition))
        return tuple(TopicInfo(name, tuple(group)) for name, group in groupby(ordered, key=lambda each: each.topic))


def added(counts: Iterable[BatchCounts]) -> list[BatchCounts]:
    """Sum by message format and compression type, in their order."""
    sums: dict[tuple[str, str], BatchCounts] = {}
    for each in counts:
        key = (each.message_format, each.compression_type)
        known = sums.get(key)
        if known is None:
            sums[key] = each
            continue
        plain = None
        if known.records_bytes is not None and each.records_bytes is not None:
            plain = known.records_bytes + each.records_bytes
        sums[key] = BatchCounts(
            *key,
            known.batches + each.batches,
            known.records + each.records,
            known.stored_bytes + each.stored_bytes,
            plain,
        )
    return [sums[key] for key in sorted(sums)]
