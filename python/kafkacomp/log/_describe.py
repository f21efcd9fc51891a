"""Summarize partitions by the headers of their batches, or by what can be read of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._extras import pa
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._threads import map_on_threads
from kafkacomp.arrow import MissingRange, scan
from kafkacomp.log._check import check_partition
from kafkacomp.log._info import LogDirInfo, PartitionInfo, SegmentInfo, SegmentSummary, added
from kafkacomp.log._verify import CodecCounts, FileOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.partition import Partition
    from kafkacomp.arrow._reader import ScanReader
    from kafkacomp.log._info import BatchCounts
    from kafkacomp.log._verify import PartitionReport

#: The name of the message format of Kafka 0.7; others are the magic.
_MESSAGE_SET = "0.7"


def describe(partitions: Iterable[Partition], threads: int, **options: Any) -> LogDirInfo:  # noqa: ANN401 - handed on
    """Summarize partitions; the options are those of :func:`describe_partition`."""
    return LogDirInfo(tuple(map_on_threads(partial(describe_partition, **options), partitions, threads)))


def describe_partition(
    partition: Partition,
    *,
    deep: bool = False,
    log_format: LogFormat = "auto",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> PartitionInfo:
    """Summarize one partition; ``progress`` is called with the bytes since its last call, from any thread."""
    advance = progress or (lambda _: None)
    partition = _served(partition)
    found, transactions = _kafkacomp.summarize_partition(partition, log_format, None if deep else advance)
    segments = tuple(
        SegmentInfo(each.name, each.base_offset, each.size, summary)
        if isinstance(summary, SegmentSummary)
        else SegmentInfo(each.name, each.base_offset, each.size, None, str(summary))
        for each, summary in zip(partition.segments, found, strict=True)
    )
    summaries = [each.summary for each in segments if each.summary is not None]
    counts = added(counts for each in summaries for counts in each.counts)
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


def _served(partition: Partition) -> Partition:
    """Leave out the offsets of remote segments that are below the log start."""
    begins = partition.begins
    if begins is None:
        return partition
    segments = [
        replace(each, offsets=(begins, max(begins, each.offsets[1])))
        if each.offsets is not None and each.offsets[0] < begins
        else each
        for each in partition.segments
    ]
    return replace(partition, segments=segments)


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
        partition,
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
