"""The findings of a verification of segments and partitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._losses import LossIndex, unlisted
from kafkacomp._storage.checkpoints import COPY_CLEANED
from kafkacomp._storage.losses import compacted_to
from kafkacomp._storage.losses import known_losses as find_known_losses
from kafkacomp._storage.names import side_file
from kafkacomp._text import count_text
from kafkacomp.arrow._report import MissingRange
from kafkacomp.log._detect import log_format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp._entries import LeaderEpochEntry
    from kafkacomp._kafkacomp import Overlap
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.loss_file import KnownLoss, LossFile
    from kafkacomp._storage.partition import Partition
    from kafkacomp.log._info import BatchCounts, OpenTransaction


class CodecCounts(NamedTuple):
    """Counts of the intact batches of one compression type.

    Attributes:
        batches: The number of batches.
        records: The number of records in them.
        stored_bytes: The size of the batches as stored, with their headers.
        records_bytes: The size of the records after decompression.
    """

    batches: int
    records: int
    stored_bytes: int
    records_bytes: int


class Finding(NamedTuple):
    """An error or warning about a segment or an index next to it.

    Attributes:
        file: ``log``, ``index``, ``timeindex`` or ``txnindex``; in the report of a partition the path of the file.
        position: The byte of the file.
        is_error: Whether it is an error; anomalies that Kafka accepts are warnings.
        message: The error or warning in words.
        first_offset: The first offset that is missing because of it; ``None`` if the adjacent batches do not determine
            it, and for several gaps.
        last_offset: The last offset that is missing because of it, inclusive.
        is_gap: Whether these offsets are missing although nothing is corrupt.

    Example:
        >>> import kafkacomp as kc
        >>> batch = kc.record.RecordBatchBuilder()
        >>> batch.append(b"value")
        >>> (finding,) = kc.log.verify_segment(batch.build()[:-1] + b"?").findings
        >>> finding.is_error, finding.position, finding.message
        (True, 0, 'record batch at byte 0 is corrupt (stored crc = ...')
    """

    file: str
    position: int
    is_error: bool
    message: str
    first_offset: int | None = None
    last_offset: int | None = None
    is_gap: bool = False


@dataclass(frozen=True)
class SegmentToVerify:
    """A segment to verify, with its index files and its place in the partition."""

    #: The source for the core: a local path, bytes, or an object with ``open_segment`` and ``name``.
    source: object
    #: Its name in reports.
    name: str
    topic: str | None
    partition: int | None
    #: The offset in its name; ``None`` for a captured record set.
    base_offset: int | None
    #: The base offset of the next segment; ``None`` for the last one.
    next_base_offset: int | None
    #: The offset in the cleaner's checkpoint.
    cleaned_to: int | None
    #: Whether its end may be truncated.
    may_be_truncated: bool
    #: ``0.7`` or ``0.8+``.
    log_format: LogFormat
    #: The partition's leader epoch checkpoint.
    leader_epochs: list[LeaderEpochEntry] = field(default_factory=list)
    #: The content of ``.index``.
    offset_index: bytes | None = None
    #: The content of ``.timeindex``.
    time_index: bytes | None = None
    #: The content of ``.txnindex``.
    transaction_index: bytes | None = None
    #: The offsets of the records to count, the first one and the one after the last; ``None`` for all.
    counted: tuple[int, int] | None = None


class SegmentTransactions(NamedTuple):
    """The transactions of a segment, for the comparison of ``.txnindex`` with the segments before."""

    #: Producers with records in a transaction that is open at the end.
    open: list[int]
    #: Producers with a marker in the segment.
    ended: list[int]
    #: Whether batches are missing in the segment.
    is_interrupted: bool
    #: Abort markers without an entry and without batches of the transaction before them: offset and producer.
    unlisted: list[tuple[int, int]]


@dataclass(frozen=True)
class SegmentReport:
    """The result of :func:`kafkacomp.log.verify_segment`.

    Attributes:
        by_compression_type: Counts by the name of the compression type; control records are records, too.
        counts: Counts of the intact batches by message format and compression type, without control records. With
            ``LogDir.info(deep=True)``, offsets that an earlier segment has are not counted again.
        control_records: The number of control records: markers of transactions, and control records of KRaft.
        is_exact: Whether every intact batch is in its place, so that every reader delivers the records that were
            counted.
        length: The segment's length in bytes.
        corrupt_batches: The number of corrupt batches; a range without a recognizable batch counts as one.
        repeated_batches: The number of repeated batches.
        unreadable_bytes: The number of bytes in batches with a wrong checksum, and of those without a recognizable
            batch.
        is_truncated: Whether the last batch is truncated.
        zero_tail_bytes: The number of zero bytes after the last batch, as in a preallocated file.
        first_offset: The first offset of an intact batch; ``None`` without intact batches.
        last_offset: The last offset of an intact batch; ``None`` without intact batches.
        first_timestamp: The least timestamp of the records, in milliseconds; ``None`` without timestamps. Control
            records and records without a timestamp (-1) do not count.
        last_timestamp: The greatest of these timestamps.
        missing: Offsets that the segment should have and does not, in order; adjacent ranges are merged. At most
            10,000 ranges that compaction explains, 10,000 gaps and 10,000 others.
        more_missing: The number of further ranges.
        is_compacted: Whether compaction has removed records from batches, which explains gaps.
        first_leader_epoch: The leader epoch of the first batch that has one.
        last_leader_epoch: The leader epoch of the last batch that has one.
        findings: The findings, ordered by file and position; the first 10,000, and the first error.
        more_findings: The number of further findings.
        errors: The number of errors among all findings.
        warnings: The number of warnings among all findings.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.LogDir(example)["orders", 3].segments[0].verify()
        >>> report.errors, report.by_compression_type["none"].records
        (0, 5)
    """

    by_compression_type: dict[str, CodecCounts]
    counts: list[BatchCounts]
    control_records: int
    is_exact: bool
    length: int
    corrupt_batches: int
    repeated_batches: int
    unreadable_bytes: int
    is_truncated: bool
    zero_tail_bytes: int
    first_offset: int | None
    last_offset: int | None
    first_timestamp: int | None
    last_timestamp: int | None
    missing: tuple[MissingRange, ...]
    more_missing: int
    is_compacted: bool
    first_leader_epoch: int | None
    last_leader_epoch: int | None
    findings: tuple[Finding, ...]
    more_findings: int
    errors: int
    warnings: int
    _transactions: SegmentTransactions = field(repr=False, compare=False)
    #: The transactions that are open after its batches, and the producers of those that end in it.
    _open_transactions: list[OpenTransaction] = field(repr=False, compare=False)
    _ended_transactions: list[int] = field(repr=False, compare=False)
    #: The offset of the last message in a log of Kafka 0.7.
    _last_message: int | None = field(repr=False, compare=False)

    @property
    def is_intact(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.is_error for finding in self.findings)


@dataclass(frozen=True)
class PartitionReport:
    """The result of :func:`kafkacomp.log.verify_partition`.

    Attributes:
        topic: The topic; ``None`` if the folder is not named ``<topic>-<partition>``.
        partition: The partition; ``None`` as for ``topic``.
        segments: The report of each segment, by its path.
        findings: The findings in all files of the log, in the order of the segments.
        missing: Offsets that no segment has, in order; adjacent ranges are merged. At most 10,000
            ranges.
        more_missing: The number of further ranges.
        known_losses: Those of the missing offsets that a loss file makes known; they are no error.
        covered_offsets_count: The number of offsets that at least one segment has.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.LogDir(example)["orders", 3].verify()
        >>> report.is_intact, [(each.file, each.message) for each in report.findings]
        (True, [])
    """

    topic: str | None
    partition: int | None
    segments: dict[str, SegmentReport]
    findings: tuple[Finding, ...]
    missing: tuple[MissingRange, ...]
    more_missing: int
    known_losses: tuple[KnownLoss, ...]
    covered_offsets_count: int

    @property
    def is_intact(self) -> bool:
        """Whether there is no error: no corruption, and no missing offset that is neither known nor compacted."""
        return not any(finding.is_error for finding in self.findings)

    @property
    def is_corrupt(self) -> bool:
        """Whether there is an error other than offsets that are missing where nothing is corrupt."""
        return any(finding.is_error and not finding.is_gap for finding in self.findings)

    @property
    def missing_offsets_count(self) -> int:
        """The number of offsets in ``missing`` that compaction does not explain."""
        return sum(each.offsets_count for each in self.missing if each.reason != "compacted")

    @property
    def compacted_offsets_count(self) -> int:
        """The number of offsets in ``missing`` that compaction removed."""
        return sum(each.offsets_count for each in self.missing if each.reason == "compacted")


class FileOffsets(NamedTuple):
    """The offsets of a segment file."""

    base_offset: int
    #: The first offset of an intact batch.
    first_offset: int | None
    #: The last one.
    last_offset: int | None
    #: Offsets that it should have and does not.
    missing: list[MissingRange]
    #: Whether compaction has removed records from its batches.
    is_compacted: bool


class CheckedSegment(NamedTuple):
    """A segment with its report."""

    name: str
    base_offset: int | None
    report: SegmentReport
    #: The source for the core.
    source: object
    #: Its valid offsets, if known: the first, and the one after the last.
    valid: tuple[int, int] | None = None
    #: The offset in its name, if it begins at another one.
    named_offset: int | None = None

    @property
    def base(self) -> int | None:
        """The first offset that it should have."""
        if self.base_offset is None or self.valid is None:
            return self.base_offset
        return max(self.base_offset, self.valid[0])

    @property
    def first_offset(self) -> int | None:
        """The first valid offset of an intact batch."""
        first = self.report.first_offset
        return first if first is None or self.valid is None else max(first, self.valid[0])

    @property
    def last_offset(self) -> int | None:
        """The last valid offset of an intact batch."""
        last = self.report.last_offset
        return last if last is None or self.valid is None else min(last, self.valid[1] - 1)

    def offsets(self) -> FileOffsets:
        """Its valid offsets."""
        first, end = self.valid or (0, 2**63 - 1)
        found = (
            each._replace(first_offset=max(each.first_offset, first), last_offset=min(each.last_offset, end - 1))
            for each in self.report.missing
        )
        missing = [each for each in found if each.first_offset <= each.last_offset]
        return FileOffsets(self.base or 0, self.first_offset, self.last_offset, missing, self.report.is_compacted)


def verified_partition(
    partition: Partition,
    segments: Sequence[CheckedSegment],
    max_output_size: int,
    known_losses: Sequence[LossFile],
) -> PartitionReport:
    """Combine the reports of a partition's segments, which must be in order.

    Gaps in the reports of segments remain an error, one for the partition, only if no other segment fills them,
    compaction does not explain them, and no loss file makes them known.
    """
    owner = partition.topic, partition.partition
    cleaned_to = partition.cleaned_to
    if cleaned_to is None:
        cleaned_to = compacted_to(partition, known_losses)
    findings: list[Finding] = []
    gaps: dict[tuple[str, int], int] = {}
    reported: dict[str, list[tuple[int, int]]] = {}
    for path, base, report, *_ in segments:
        for each in report.findings:
            if each.is_gap and base is not None and each.first_offset is not None:
                gaps[path, each.first_offset] = each.position
                continue
            file = path if each.file == "log" else side_file(path, each.file)
            if each.first_offset is not None and each.last_offset is not None:
                reported.setdefault(path, []).append((each.first_offset, each.last_offset))
            findings.append(each._replace(file=file))
    logs = {each.name for each in segments}
    ordered = [each for each in segments if each.base_offset is not None]
    apart = [each.offsets() for each in segments if each.base_offset is None]
    together = _kafkacomp.partition_offsets([each.offsets() for each in ordered], partition.topic, cleaned_to)
    lacking = [
        MissingRange(*owner, each.first_offset, each.last_offset, ordered[each.file].name, each.reason)
        for each in together.missing
    ]
    known = find_known_losses([partition], lacking, known_losses)
    lengths = {each.name: each.report.length for each in ordered}
    losses = LossIndex(known)
    missing: list[MissingRange] = []
    unexplained: list[Finding] = []
    for whole in lacking:
        path, first, last = whole.segment, whole.first_offset, whole.last_offset
        # In a truncated segment, compaction does not explain missing offsets, and there is a finding for them.
        is_reported = any(begin <= first and last <= end for begin, end in reported.get(path, ()))
        position = gaps.get((path, first), lengths[path])
        for part, is_known in losses.parts(whole):
            is_gap = part.reason == "compacted" and (is_reported or is_known)
            _append(missing, part._replace(reason="gap") if is_gap else part)
            if part.reason == "gap" and not is_reported and not is_known:
                begin, end = part.first_offset, part.last_offset
                gap = error_at(path, position, _gap(begin, end, position), begin, end)
                unexplained.append(gap._replace(is_gap=True))
    more_missing = together.more_missing + sum(each.report.more_missing for each in ordered)
    findings += _one_error(unexplained, unlisted(missing, more_missing), partition, ordered)
    findings += _unlisted_aborts(ordered)
    findings += _overlaps(ordered, together.overlaps, max_output_size)
    findings += _epochs(ordered)
    findings += _names(ordered)
    # Group findings by segment, those of the log first.
    places = {path: index for index, (path, *_) in enumerate(segments)}
    for index, (path, *_) in enumerate(segments):
        places |= dict.fromkeys((side_file(path, suffix) for suffix in ("index", "timeindex", "txnindex")), index)
    findings.sort(key=lambda each: (places[each.file], each.file not in logs, len(each.file), each.position))
    return PartitionReport(
        *owner,
        {each.name: each.report for each in segments},
        tuple(findings),
        tuple(missing),
        more_missing,
        known,
        together.covered + sum(_kafkacomp.partition_offsets([each], None, None).covered for each in apart),
    )


def _gap(first: int, last: int, position: int) -> str:
    what = f"offset {first} is" if first == last else f"offsets {first} to {last} are"
    return f"{what} missing before byte {position}, where nothing is corrupt"


def _one_error(
    gaps: Sequence[Finding], further: int, partition: Partition, segments: Sequence[CheckedSegment]
) -> list[Finding]:
    """Combine the errors for the gaps of a partition into one, which says what would show that they are no loss.

    ``further`` is the number of ranges that are not among them because the reports do not list them.
    """
    if not gaps and not further:
        return []
    if not gaps:
        path = next((each.name for each in segments if each.report.more_missing), segments[-1].name)
        message = f"{count_text(further, 'range')} of offsets are missing that the report does not list"
        return [error_at(path, 0, message)._replace(is_gap=True)]
    found = gaps[0]
    if len(gaps) > 1 or further:
        offsets = sum((each.last_offset or 0) - (each.first_offset or 0) + 1 for each in gaps)
        at_least = "at least " if further else ""
        message = f"{found.message}, and {len(gaps) - 1 + further:,} more ranges, {at_least}{offsets:,} offsets in all"
        found = found._replace(message=message, first_offset=None, last_offset=None)
    is_tiered = partition.topic_id is not None
    source, name = segments[0].source, segments[0].name
    if partition.cleaned_to is None and not is_tiered and log_format_of(source, name, "auto") != "0.7":
        found = found._replace(message=f"{found.message}. {COPY_CLEANED}")
    return [found]


def _unlisted_aborts(segments: Sequence[CheckedSegment]) -> list[Finding]:
    """Check that transactions which begin in one segment and are aborted in another have an entry in ``.txnindex``."""
    listed = [
        (each.base_offset or 0, each.report.first_offset, each.report.last_offset, each.report._transactions)  # noqa: SLF001
        for each in segments
    ]
    return [
        Finding(side_file(segments[at].name, "txnindex"), 0, is_error=False, message=message)
        for at, message in _kafkacomp.unlisted_aborts(listed)
    ]


def _append(missing: list[MissingRange], part: MissingRange) -> None:
    """Append missing offsets, or extend the range that they continue."""
    last = missing[-1] if missing else None
    if last is not None and last[4:] == part[4:] and last.last_offset + 1 == part.first_offset:
        missing[-1] = last._replace(last_offset=part.last_offset)
    else:
        missing.append(part)


def error_at(
    file: str, position: int, message: str, first_offset: int | None = None, last_offset: int | None = None
) -> Finding:
    return Finding(file, position, True, message, first_offset, last_offset)  # noqa: FBT003 - is_error


def _overlaps(segments: Sequence[CheckedSegment], overlaps: Sequence[Overlap], max_output_size: int) -> list[Finding]:
    """Check that segments whose offsets overlap have the same records there."""
    found = []
    files = _kafkacomp.ComparedFiles()
    for overlap in overlaps:
        earlier, later = segments[overlap.earlier], segments[overlap.later]
        one, other, first, last = earlier.name, later.name, overlap.first_offset, overlap.last_offset
        is_old = log_format_of(earlier.source, one, "auto") == "0.7"
        positions = (earlier.base_offset or 0, later.base_offset or 0) if is_old else None
        both = (overlap.earlier, earlier.source), (overlap.later, later.source)
        offset = files.disagreement(*both, (first, last), max_output_size, positions)
        if offset is None and is_old:
            message = f"positions {first} to {last} are also in {one}: a broker of Kafka 0.7 does not start"
            found.append(error_at(other, 0, message))
        elif offset is None:
            message = f"offsets {first} to {last} are also in {one}, with the same records"
            found.append(Finding(other, 0, is_error=False, message=message))
        else:
            message = f"{one} has different records at offset {offset}"
            found.append(error_at(other, 0, message))
    return found


def _names(segments: Sequence[CheckedSegment]) -> list[Finding]:
    """Check that segments begin at the offsets in their names, and after the segments before."""
    found = []
    end = 0
    for each in segments:
        path, base, first = each.name, each.base, each.first_offset
        if each.named_offset is not None:
            message = f"the segment begins at offset {base}, but its name is {each.named_offset}"
            found.append(error_at(path, 0, message))
        elif base is not None and first is not None and base < end <= first:
            before = f"the segments before it end at offset {end - 1}"
            message = f"the segment begins at offset {first}, but its name is {base}, and {before}"
            found.append(error_at(path, 0, message))
        if each.last_offset is not None:
            end = max(end, each.last_offset + 1)
    return found


def _epochs(segments: Sequence[CheckedSegment]) -> list[Finding]:
    """Check that leader epochs do not decrease from segment to segment."""
    found = []
    greatest: int | None = None
    end: int | None = None
    for each in segments:
        path, base, report = each.name, each.base, each.report
        first = report.first_leader_epoch
        follows = base is not None and end is not None and base >= end
        if follows and first is not None and greatest is not None and first < greatest:
            message = f"leader epoch {first} follows leader epoch {greatest} of the segment before"
            found.append(error_at(path, 0, message))
        greatest = report.last_leader_epoch if report.last_leader_epoch is not None else greatest
        if each.last_offset is not None:
            end = each.last_offset + 1
    return found
