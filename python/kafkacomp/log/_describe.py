"""Summarize partitions by the headers of their batches, or by what can be read of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._storage.losses import known_losses
from kafkacomp._threads import map_on_threads
from kafkacomp.arrow import MissingRange
from kafkacomp.log._check import CheckOptions, check_partition
from kafkacomp.log._info import LogDirInfo, PartitionInfo, SegmentInfo, SegmentSummary, added
from kafkacomp.log._verify import FileOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.partition import Partition, Segment
    from kafkacomp.log._info import BatchCounts, OpenTransaction
    from kafkacomp.log._verify import PartitionReport, SegmentReport

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
    whole, partition = partition, _served(partition)
    failure: OSError | ValueError | None = None
    if deep:
        try:
            options = CheckOptions(log_format, max_output_size, log_start_offset=partition.begins)
            report = check_partition(whole, options, progress)
        except (OSError, ValueError) as error:
            failure, progress = error, None
        else:
            return _by_report(partition, report)
    described = _by_headers(partition, log_format, progress)
    if failure is not None and not described.errors:
        raise failure
    return described


def _by_headers(partition: Partition, log_format: LogFormat, progress: Callable[[int], object] | None) -> PartitionInfo:
    """Summarize the headers, and name the segments that cannot be read."""
    found, transactions, is_cut = _kafkacomp.summarize_partition(partition, log_format, progress)
    segments = tuple(
        SegmentInfo(each.name, each.base_offset, each.size, summary)
        if isinstance(summary, SegmentSummary)
        else SegmentInfo(each.name, each.base_offset, each.size, None, str(summary))
        for each, summary in zip(partition.segments, found, strict=True)
    )
    missing, more, are_apart = _missing(partition, segments)
    described = _described(partition, segments, are_apart=are_apart)
    # A batch after a gap may have a wrong offset, for which a reader leaves it out.
    has_gaps = any(each.reason == "gap" for each in missing)
    is_repeated = any(each.summary is not None and each.summary.repeated_batches for each in segments)
    is_corrupt = any(each.reason == "corrupt" for each in missing)
    is_odd = has_gaps or is_corrupt or is_repeated or is_cut or not are_apart or partition.is_misnamed
    is_judged = is_odd and not described.errors
    if is_judged and not _is_message_set(described.counts):
        judged = _kafkacomp.judged_offsets(partition)
        if judged is not None:
            first, last, ranges, more = judged
            described, missing = replace(described, first_offset=first, last_offset=last), tuple(ranges)
    return replace(
        described,
        is_exact=described.is_exact and not has_gaps,
        is_minimum=described.is_minimum and not has_gaps,
        missing=missing,
        more_missing=more,
        known_losses=known_losses([partition], [each for each in missing if each.reason != "compacted"]),
        open_transactions=tuple(transactions),
    )


def _described(partition: Partition, segments: tuple[SegmentInfo, ...], *, are_apart: bool) -> PartitionInfo:
    """Sum the summaries of the segments. ``are_apart`` says whether no offset is in two of them."""
    segments += tuple(SegmentInfo(path, None, 0, None, str(error)) for path, error in partition.failures)
    summaries = [each.summary for each in segments if each.summary is not None]
    counts = added(counts for each in summaries for counts in each.counts)
    is_complete = are_apart and len(summaries) == len(segments)
    return PartitionInfo(
        partition.topic or "",
        partition.partition or 0,
        segments,
        tuple(counts),
        sum(each.records for each in counts),
        is_complete and all(each.is_exact for each in summaries),
        is_complete and all(each.is_minimum for each in summaries),
        min((each.first_offset for each in summaries if each.first_offset is not None), default=None),
        max((each.last_offset for each in summaries if each.last_offset is not None), default=None),
        missing=(),
        more_missing=0,
        known_losses=(),
        corrupt_bytes=sum(each.corrupt_bytes for each in summaries),
        open_transactions=(),
        high_watermark=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
    )


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


def _by_report(partition: Partition, report: PartitionReport) -> PartitionInfo:
    """Summarize what a verification found in the intact batches."""
    segments = tuple(
        SegmentInfo(each.name, each.base_offset, each.size, _summary(report.segments[each.name], each))
        for each in partition.segments
    )
    return replace(
        _described(partition, segments, are_apart=_are_counted_once(partition, report)),
        missing=report.missing,
        more_missing=report.more_missing,
        known_losses=report.known_losses,
        open_transactions=tuple(_open_transactions(report.segments[each.name] for each in partition.segments)),
        report=report,
    )


def _summary(report: SegmentReport, segment: Segment) -> SegmentSummary:
    first, last = _valid_offsets(report, segment)
    return SegmentSummary(
        length=report.length,
        bytes_read=report.length,
        counts=report.counts,
        control_records=report.control_records,
        is_exact=report.is_exact,
        is_minimum=report.is_exact,
        first_offset=first,
        # In a log of Kafka 0.7, offsets are positions: the report has that of the last byte.
        last_offset=last if report._last_message is None else report._last_message,  # noqa: SLF001 - ours
        first_timestamp=report.first_timestamp,
        last_timestamp=report.last_timestamp,
        missing=list(report.missing),
        more_missing=report.more_missing,
        is_compacted=report.is_compacted,
        repeated_batches=report.repeated_batches,
        corrupt_bytes=report.unreadable_bytes,
        is_truncated=report.is_truncated,
        zero_tail_bytes=report.zero_tail_bytes,
    )


def _valid_offsets(report: SegmentReport, segment: Segment) -> tuple[int | None, int | None]:
    """The first and last offset of the intact batches that belong to the log."""
    first, last = report.first_offset, report.last_offset
    if segment.offsets is not None and first is not None and last is not None:
        return max(first, segment.offsets[0]), min(last, segment.offsets[1] - 1)
    return first, last


def _open_transactions(reports: Iterable[SegmentReport]) -> list[OpenTransaction]:
    """The transactions that are open after segments, by their first offsets."""
    found: dict[int, OpenTransaction] = {}
    for report in reports:
        for producer_id in report._ended_transactions:  # noqa: SLF001 - ours
            found.pop(producer_id, None)
        for each in report._open_transactions:  # noqa: SLF001 - ours
            begun = found.get(each.producer_id)
            if begun is not None:
                each = begun._replace(last_offset=each.last_offset, records=begun.records + each.records)  # noqa: PLW2901
            found[each.producer_id] = each
    return sorted(found.values(), key=lambda each: (each.first_offset, each.producer_id))


def _are_counted_once(partition: Partition, report: PartitionReport) -> bool:
    """Whether each reader takes the records of an offset from the segment in which they were counted.

    That is so if no segments overlap. If some do, they must be intact and have the same records.
    """
    end, overlap = None, False
    for each in partition.segments:
        first, last = _valid_offsets(report.segments[each.name], each)
        if each.base_offset is None or first is None or last is None:
            continue
        overlap |= end is not None and min(first, each.base_offset) <= end
        end = last if end is None else max(end, last)
    return not overlap or (report.is_intact and not any(each.missing for each in report.segments.values()))


def _missing(partition: Partition, segments: tuple[SegmentInfo, ...]) -> tuple[tuple[MissingRange, ...], int, bool]:
    """The offsets that no segment has, including those that compaction explains, and whether no offset is in two.

    In Kafka 0.7, where offsets are positions of bytes, they are missing between segments only.
    """
    files = list(_files(partition, segments))
    if not files:
        return (), 0, True
    last = max((offsets.last_offset for _, offsets in files if offsets.last_offset is not None), default=None)
    end = files[-1][1].base_offset if last is None else last + 1
    # In Kafka 0.7, no other file has offsets. A segment that cannot be read may be the last one.
    has_end = all(each.summary is not None and not _is_message_set(each.summary.counts) for each in segments)
    reached = _kafkacomp.reached_end(partition, end) if has_end else None
    together = _kafkacomp.partition_offsets(
        [offsets for _, offsets in files], partition.topic, partition.cleaned_to, reached
    )
    owner = (partition.topic, partition.partition)
    missing = (
        MissingRange(*owner, each.first_offset, each.last_offset, files[each.file][0], each.reason)
        for each in together.missing
    )
    more = sum(each.summary.more_missing for each in segments if each.summary is not None)
    return tuple(missing), together.more_missing + more, not together.overlaps


def _is_message_set(counts: Iterable[BatchCounts]) -> bool:
    return any(each.message_format == _MESSAGE_SET for each in counts)


def _files(partition: Partition, segments: tuple[SegmentInfo, ...]) -> Iterator[tuple[str, FileOffsets]]:
    for found, each in zip(partition.segments, segments, strict=True):
        summary = each.summary
        if found.base_offset is None or summary is None:
            continue
        if _is_message_set(summary.counts):
            # Offsets are positions in bytes.
            base = found.base_offset
            yield each.path, FileOffsets(base, base, base + summary.length - 1, [], is_compacted=False)
            continue
        base = found.base_offset if found.offsets is None else max(found.base_offset, found.offsets[0])
        yield (
            each.path,
            FileOffsets(base, summary.first_offset, summary.last_offset, summary.missing, summary.is_compacted),
        )
