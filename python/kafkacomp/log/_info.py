"""Summarize the content of a log directory from the headers of its batches."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._extras import require
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._storage.names import INTERNAL_TOPICS
from kafkacomp.arrow import MissingRange, scan
from kafkacomp.log._check import check_partition
from kafkacomp.log._verify import CodecCounts, FileOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkacomp._kafkacomp import ScanReader
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.partition import Partition
    from kafkacomp.log._verify import PartitionReport

__all__ = [
    "BatchCounts",
    "LogDirInfo",
    "OpenTransaction",
    "PartitionInfo",
    "SegmentInfo",
    "SegmentSummary",
    "Summaries",
    "TopicInfo",
    "describe",
    "describe_partition",
]

#: The name of the message format of Kafka 0.7; others are the magic.
_MESSAGE_SET = "0.7"


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
        counts = _added(counts for part in self._parts for counts in part.counts)
        known = [each.records_bytes for each in counts if each.records_bytes is not None]
        stored = sum(each.stored_bytes for each in counts)
        return sum(known) / stored if stored and len(known) == len(counts) else None


class _Sums(_Segments):
    """Sums over several partitions."""

    @property
    def counts(self) -> tuple[BatchCounts, ...]:
        """Batches and records by message format and compression type."""
        return tuple(_added(counts for each in self._parts for counts in each.counts))

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


def describe(
    partitions: Iterable[Partition],
    *,
    deep: bool = False,
    threads: int = 1,
    log_format: LogFormat = "auto",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> LogDirInfo:
    """Summarize partitions; ``progress`` is called with the bytes since its last call, from any thread."""

    def one(partition: Partition) -> PartitionInfo:
        return describe_partition(
            partition, deep=deep, log_format=log_format, max_output_size=max_output_size, progress=progress
        )

    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(one, partitions)
        try:
            return LogDirInfo(tuple(found))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def describe_partition(
    partition: Partition,
    *,
    deep: bool = False,
    log_format: LogFormat = "auto",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> PartitionInfo:
    """Summarize one partition."""
    advance = progress or (lambda _: None)
    found, transactions = _kafkacomp.summarize_partition(partition, log_format, None if deep else advance)
    segments = tuple(
        SegmentInfo(each.name, each.base_offset, each.size, summary)
        if isinstance(summary, SegmentSummary)
        else SegmentInfo(each.name, each.base_offset, each.size, None, str(summary))
        for each, summary in zip(partition.segments, found, strict=True)
    )
    summaries = [each.summary for each in segments if each.summary is not None]
    counts = _added(counts for each in summaries for counts in each.counts)
    missing, more = _missing(partition, segments)
    described = PartitionInfo(
        partition.topic or "",
        partition.partition or 0,
        segments,
        tuple(counts),
        sum(each.records for each in counts),
        all(each.is_exact for each in summaries) and len(summaries) == len(segments),
        next((each.first_offset for each in summaries if each.first_offset is not None), None),
        max((each.last_offset for each in summaries if each.last_offset is not None), default=None),
        missing,
        more,
        sum(each.corrupt_bytes for each in summaries),
        tuple(transactions),
        partition.high_watermark,
        partition.log_start_offset,
    )
    if not deep or len(summaries) < len(segments):
        return described
    report = check_partition(partition, log_format=log_format, max_output_size=max_output_size, progress=progress)
    return _verified(described, partition, report, log_format, max_output_size)


def _verified(
    described: PartitionInfo, partition: Partition, report: PartitionReport, log_format: LogFormat, max_output_size: int
) -> PartitionInfo:
    """Replace the counts by those of the intact batches."""
    verified: dict[str, CodecCounts] = {}
    for segment in report.segments.values():
        for codec, found in segment.by_compression_type.items():
            known = verified.get(codec, CodecCounts(0, 0, 0, 0))
            verified[codec] = CodecCounts(*(one + other for one, other in zip(known, found, strict=True)))
    reader = scan(
        _Resolved(partition),
        columns=["magic", "compressionType"],
        on_error="skip",
        log_format=log_format,
        max_output_size=max_output_size,
    )
    records = _records_by_format(reader, described.counts)
    return replace(
        described,
        counts=tuple(_intact(each, described.counts, verified, records) for each in described.counts),
        records=reader.report.records,
        is_exact=True,
        missing=report.missing,
        more_missing=report.more_missing,
        corrupt_bytes=sum(each.unreadable_bytes for each in report.segments.values()),
        report=report,
    )


def _records_by_format(reader: ScanReader, counts: Sequence[BatchCounts]) -> Counter[tuple[str, str]]:
    """Count records by message format and compression type."""
    pa = require("pyarrow")
    is_old = any(each.message_format == _MESSAGE_SET for each in counts)
    found: Counter[tuple[str, str]] = Counter()
    for batch in reader:
        groups = pa.Table.from_batches([batch]).group_by(["magic", "compressionType"], use_threads=False)
        for row in groups.aggregate([([], "count_all")]).to_pylist():
            message_format = _MESSAGE_SET if is_old else str(row["magic"])
            found[message_format, row["compressionType"]] += row["count_all"]
    return found


def _intact(
    counts: BatchCounts,
    all_counts: Sequence[BatchCounts],
    verified: dict[str, CodecCounts],
    records: Counter[tuple[str, str]],
) -> BatchCounts:
    """Replace counts by those of the intact batches.

    Several message formats of a compression type share their bytes, and if not all of their batches are intact their
    batches, as the headers do: a check counts by compression type.
    """
    codec = counts.compression_type
    same = [each for each in all_counts if each.compression_type == codec]
    total = verified.get(codec, CodecCounts(0, 0, 0, 0))
    stored = sum(each.stored_bytes for each in same)
    share = counts.stored_bytes / stored if stored else 0
    are_all = sum(each.batches for each in same) == total.batches
    return counts._replace(
        batches=counts.batches if are_all else round(total.batches * share),
        records=records[counts.message_format, codec],
        stored_bytes=round(total.stored_bytes * share),
        records_bytes=round(total.records_bytes * share),
    )


@dataclass(frozen=True)
class _Resolved:
    """A partition as a source of a scan."""

    partition: Partition

    def _resolved(self) -> list[Partition]:
        return [self.partition]


def _added(counts: Iterable[BatchCounts]) -> list[BatchCounts]:
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


def _missing(partition: Partition, segments: tuple[SegmentInfo, ...]) -> tuple[tuple[MissingRange, ...], int]:
    """The offsets that no segment has, including those that compaction explains; none in Kafka 0.7."""
    files = list(_files(partition, segments))
    if not files:
        return (), 0
    together = _kafkacomp.partition_offsets([offsets for _, offsets in files], partition.cleaned_to)
    owner = (partition.topic, partition.partition)
    missing = (
        MissingRange(*owner, each.first_offset, each.last_offset, files[each.file][0], each.reason)
        for each in together.missing
    )
    more = sum(each.summary.more_missing for each in segments if each.summary is not None)
    return tuple(missing), together.more_missing + more


def _files(partition: Partition, segments: tuple[SegmentInfo, ...]) -> Iterator[tuple[str, FileOffsets]]:
    for found, each in zip(partition.segments, segments, strict=True):
        summary = each.summary
        if found.base_offset is None or summary is None:
            continue
        if any(counts.message_format == _MESSAGE_SET for counts in summary.counts):
            continue
        base = found.base_offset if found.offsets is None else max(found.base_offset, found.offsets[0])
        yield (
            each.path,
            FileOffsets(base, summary.first_offset, summary.last_offset, summary.missing, summary.is_compacted),
        )
