"""The findings of a verification of segments and partitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp._entries import LeaderEpochEntry
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp._storage.partition import ReachedOffsets, Segment
    from kafkacomp.arrow._report import MissingRange
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
class PartitionToVerify:
    """A partition to verify."""

    topic: str | None
    partition: int | None
    segments: Sequence[Segment]
    #: The base offsets of further segments, which only bound these.
    bounds: Sequence[int]
    #: ``0.7`` or ``0.8+``; ``None`` if the content or the names decide.
    log_format: LogFormat | None
    #: The offset in the cleaner's checkpoint.
    cleaned_to: int | None
    #: The partition's leader epoch checkpoint.
    leader_epochs: list[LeaderEpochEntry]
    #: The offsets that the log had reached.
    reached: ReachedOffsets
    #: The offset below which records are not counted, and not missing.
    log_start_offset: int | None
    max_output_size: int
    threads: int
    #: Whether segments in object stores that cannot be read are left out.
    leaves_out_unread: bool


@dataclass(frozen=True)
class SegmentReport:
    """The result of :func:`kafkacomp.log.verify_segment`.

    Attributes:
        by_compression_type: Counts of the intact batches that belong to the log, by the name of the compression type;
            control records are records, too.
        counts: The same counts by message format and compression type, without control records.
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
        first_offset: The first offset of the intact batches that belong to the log; ``None`` without any.
        last_offset: The last one.
        first_timestamp: The least timestamp of the records, in milliseconds; ``None`` without timestamps. Control
            records and records without a timestamp (-1) do not count.
        last_timestamp: The greatest of these timestamps.
        missing: Offsets that the segment should have and that no segment has, in order; adjacent ranges are merged. Of
            all segments of a partition at most 10,000 ranges.
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


def error_at(
    file: str, position: int, message: str, first_offset: int | None = None, last_offset: int | None = None
) -> Finding:
    return Finding(file, position, True, message, first_offset, last_offset)  # noqa: FBT003 - is_error
