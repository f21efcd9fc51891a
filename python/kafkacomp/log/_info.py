"""Summarize the content of a log directory from the headers of its batches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp._storage.names import INTERNAL_TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkacomp.arrow import MissingRange
    from kafkacomp.log._verify import PartitionReport


class BatchCounts(NamedTuple):
    """The batches of one message format and compression type."""

    #: The magic ``0``, ``1`` or ``2``; ``0.7`` for message sets.
    message_format: str
    #: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``; ``unknown(N)`` for an id that Kafka does not have.
    compression_type: str
    batches: int
    #: Records without control records.
    records: int
    #: Bytes as stored, with headers.
    stored_bytes: int
    #: Bytes that the records decompress to; ``None`` unless the batches were decompressed: headers do not state it.
    records_bytes: int | None = None

    @property
    def ratio(self) -> float | None:
        """Bytes of the records for each byte stored; ``None`` if the bytes of the records are unknown."""
        return self.records_bytes / self.stored_bytes if self.records_bytes is not None and self.stored_bytes else None


class OpenTransaction(NamedTuple):
    """A transaction without an end marker."""

    producer_id: int
    producer_epoch: int
    #: The offset of its first record.
    first_offset: int
    #: The offset of its last record so far.
    last_offset: int
    #: The timestamp of its first record in milliseconds; ``None`` if it has none.
    first_timestamp: int | None
    #: Its records so far.
    records: int


@dataclass(frozen=True)
class SegmentSummary:
    """A summary of the headers in a segment."""

    #: The segment's length in bytes.
    length: int
    #: The number of bytes that were read of the segment.
    bytes_read: int
    counts: list[BatchCounts]
    #: Control records: end markers of transactions, and those of KRaft.
    control_records: int
    #: Whether the records were counted; otherwise they are estimated from the offsets.
    is_exact: bool
    #: The first offset of a batch; ``None`` without batches.
    first_offset: int | None
    #: The last one.
    last_offset: int | None
    #: The least timestamp in the headers, in milliseconds.
    first_timestamp: int | None
    #: The greatest timestamp, in milliseconds.
    last_timestamp: int | None
    #: Offsets between the batches, and before the first one, that no batch has.
    missing: list[MissingRange]
    #: Further ranges.
    more_missing: int
    #: Whether compaction has removed records from batches.
    is_compacted: bool
    #: Batches whose offsets are below those of the batch before.
    repeated_batches: int
    #: The number of byte ranges without an intact batch.
    corrupt_ranges: int
    #: Their bytes.
    corrupt_bytes: int
    #: Whether the last batch is truncated.
    is_truncated: bool
    #: Zero bytes after the last batch.
    zero_tail_bytes: int


#: For each segment its summary, or the error that prevents reading it; and the transactions that are open at the end.
Summaries: TypeAlias = "tuple[list[SegmentSummary | OSError | ValueError], list[OpenTransaction]]"


@dataclass(frozen=True)
class SegmentInfo:
    """A segment with its summary."""

    #: The path of the file.
    path: str
    #: The offset in its name.
    base_offset: int | None
    #: Length in bytes when it was listed.
    size: int
    #: The summary of its headers; ``None`` if it cannot be read.
    summary: SegmentSummary | None
    #: The error that prevents reading it.
    error: str | None = None


class _Segments:
    """The sums of partitions, topics and log directories that follow from their segments."""

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        raise NotImplementedError

    @property
    def segments_count(self) -> int:
        """The number of segments."""
        return sum(len(each.segments) for each in self._parts)

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for each in self._parts for segment in each.segments)

    @property
    def bytes_read(self) -> int:
        """Bytes that were read of the segments, without those for :attr:`PartitionInfo.report`."""
        return sum(each.bytes_read for part in self._parts for each in part._summaries)  # noqa: SLF001 - ours

    @property
    def control_records(self) -> int:
        """Control records."""
        return sum(each.control_records for part in self._parts for each in part._summaries)  # noqa: SLF001 - ours

    @property
    def first_timestamp(self) -> int | None:
        """The least timestamp in the headers, in milliseconds; ``None`` without timestamps."""
        found = (each.first_timestamp for part in self._parts for each in part._summaries)  # noqa: SLF001 - ours
        return min((time for time in found if time is not None), default=None)

    @property
    def last_timestamp(self) -> int | None:
        """The greatest timestamp, in milliseconds."""
        found = (each.last_timestamp for part in self._parts for each in part._summaries)  # noqa: SLF001 - ours
        return max((time for time in found if time is not None), default=None)

    @property
    def gaps(self) -> int:
        """The number of missing ranges of offsets that compaction does not explain."""
        return sum(each.reason != "compacted" for part in self._parts for each in part.missing)

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
        """Bytes of the records for each byte stored.

        ``None`` where batches are compressed and were not decompressed: no header states the size of the records.
        """
        counts = added(counts for part in self._parts for counts in part.counts)
        known = [each.records_bytes for each in counts if each.records_bytes is not None]
        stored = sum(each.stored_bytes for each in counts)
        return sum(known) / stored if stored and len(known) == len(counts) else None


class _Sums(_Segments):
    """Sums over several partitions."""

    @property
    def counts(self) -> tuple[BatchCounts, ...]:
        """Batches and records by message format and compression type."""
        return tuple(added(counts for each in self._parts for counts in each.counts))

    @property
    def records(self) -> int:
        """Records, without control records."""
        return sum(each.records for each in self._parts)

    @property
    def is_exact(self) -> bool:
        """Whether the records were counted; otherwise they are an estimate."""
        return all(each.is_exact for each in self._parts)

    @property
    def corrupt_bytes(self) -> int:
        """Bytes without an intact batch."""
        return sum(each.corrupt_bytes for each in self._parts)


@dataclass(frozen=True)
class PartitionInfo(_Segments):
    """A summary of a partition."""

    topic: str
    partition: int
    segments: tuple[SegmentInfo, ...]
    #: Batches and records by message format and compression type: those that headers state, or with ``deep`` those that
    #: are intact.
    counts: tuple[BatchCounts, ...]
    #: Records, without control records.
    records: int
    #: Whether the records were counted; otherwise they are an estimate.
    is_exact: bool
    #: The first offset of a batch; ``None`` without batches.
    first_offset: int | None
    #: The last one.
    last_offset: int | None
    #: Offsets that no segment has, in order; at most 10,000 ranges.
    missing: tuple[MissingRange, ...]
    #: Further ranges.
    more_missing: int
    #: Bytes without an intact batch.
    corrupt_bytes: int
    #: Transactions without an end marker, by their first offsets.
    open_transactions: tuple[OpenTransaction, ...]
    #: The high watermark in ``replication-offset-checkpoint``: consumers read only lower offsets.
    high_watermark: int | None
    #: The log start offset in ``log-start-offset-checkpoint``: consumers read no lower offsets.
    log_start_offset: int | None
    #: The report of the verification; ``None`` without ``deep``.
    report: PartitionReport | None = None

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        return (self,)

    @property
    def _summaries(self) -> list[SegmentSummary]:
        return [each.summary for each in self.segments if each.summary is not None]


@dataclass(frozen=True)
class TopicInfo(_Sums):
    """A summary of a topic."""

    topic: str
    partitions: tuple[PartitionInfo, ...]

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        return self.partitions

    @property
    def is_internal(self) -> bool:
        """Whether it is one of Kafka's own topics, such as ``__consumer_offsets``."""
        return self.topic in INTERNAL_TOPICS


@dataclass(frozen=True)
class LogDirInfo(_Sums):
    """A summary of a log directory; see :meth:`kafkacomp.LogDir.info`."""

    partitions: tuple[PartitionInfo, ...]

    @property
    def _parts(self) -> tuple[PartitionInfo, ...]:
        return self.partitions

    @property
    def topics(self) -> tuple[TopicInfo, ...]:
        """By topic."""
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
