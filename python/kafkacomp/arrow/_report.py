"""The report of a scan, with skipped and missing ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from kafkacomp._storage.loss_file import KnownLoss

#: Why bytes were left out: they are corrupt, exceed a limit of the caller, cannot be read from the storage (EIO), or
#: their file was deleted after it was listed.
SkipReason = Literal["corrupt", "limit", "unreadable", "vanished"]
#: Why offsets are missing: as :data:`SkipReason`; or the log has no bytes for them (``gap``); or log compaction has
#: removed their records (``compacted``).
MissingReason = Literal["corrupt", "gap", "compacted", "limit", "unreadable", "vanished"]


class MissingRange(NamedTuple):
    """A range of offsets that a log should have and that were not read.

    Attributes:
        topic: The topic, if known.
        partition: The partition, if known.
        first_offset: The first missing offset.
        last_offset: The last missing offset, inclusive.
        segment: The segment that should have them.
        reason: ``corrupt``, ``gap`` (the log has no bytes for them), ``compacted`` (log compaction has removed their
            records), ``limit`` (a batch exceeds a limit of the caller), ``unreadable`` (EIO), or ``vanished`` (the file
            was deleted after it was listed).

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"offset": [0, 1, 5], "value": ["a", "b", "c"]})
        >>> folder = kc.write(rows, target, topic="orders", partition=0, batch_bytes=1).path
        >>> [(each.first_offset, each.last_offset, each.reason) for each in kc.log.verify_partition(folder).missing]
        [(2, 4, 'gap')]
    """

    topic: str | None
    partition: int | None
    first_offset: int
    last_offset: int
    segment: str
    reason: MissingReason

    @property
    def offsets_count(self) -> int:
        """The number of offsets."""
        return self.last_offset - self.first_offset + 1


@dataclass(frozen=True)
class SkippedRange:
    """A range of bytes that a scan with ``on_error="skip"`` left out.

    Attributes:
        file: The file, as in the column ``segment``.
        position: The byte at which the range begins.
        length: Its length in bytes; 0 for a file that could not be opened.
        reason: ``corrupt``, ``limit`` (a batch exceeds a limit of the caller), ``unreadable`` (EIO), or ``vanished``
            (the file was deleted after it was listed).
        message: The message of the error that a scan with ``on_error="raise"`` raises.
        first_offset: The first offset that is missing because of it; ``None`` if the adjacent batches do not determine
            it.
        last_offset: The last offset that is missing because of it, inclusive.

    Example:
        >>> import kafkacomp as kc
        >>> batch = kc.record.RecordBatchBuilder()
        >>> batch.append(b"value")
        >>> intact = batch.build()
        >>> corrupt = intact[:-1] + b"?"
        >>> reader = kc.scan(corrupt + intact, on_error="skip")
        >>> rows = sum(batch.num_rows for batch in reader)
        >>> rows, [(each.position, each.length == len(corrupt), each.reason) for each in reader.report.skipped]
        (1, [(0, True, 'corrupt')])
    """

    file: str
    position: int
    length: int
    reason: SkipReason
    message: str
    first_offset: int | None = None
    last_offset: int | None = None


@dataclass(frozen=True)
class ScanReport:
    """The counts and findings of a scan so far; they are final when the reader has reached its end.

    With ``read_committed``, a skipped range may contain the end of a transaction. Such a transaction counts as open,
    and no records from its first one on are read.

    Attributes:
        batches: Kafka batches whose records were read.
        records: Rows returned.
        bytes_in: Bytes of segments read.
        bytes_out: Bytes of column data returned.
        skipped: The ranges that were left out, in file order; also logged when the scan ends.
        warnings: Anomalies that did not end the scan; also logged to the logger ``kafkacomp``.
        missing: Offsets within the bounds that the segments should have and that could not be read, in order; adjacent
            ranges of a segment with the same reason are merged. At most 10,000 ranges. The times of missing records are
            unknown: with a bound of time, all ranges between segments are listed, and those in the segments that were
            read.
        more_missing: The number of ranges beyond those in ``missing``.
        known_losses: Those of the missing offsets that a loss file makes known, as in
            :func:`kafkacomp.log.verify_partition`.
        records_below_log_start: Records within the bounds of the scan that consumers do not see because they are below
            the log start offset of ``log-start-offset-checkpoint``; ``visible_only`` leaves them out.
        records_above_high_watermark: Records that consumers do not see because they are at or above the high watermark
            of ``replication-offset-checkpoint``.
        clamped_timestamps: The number of timestamps out of the range of ``timestamp_unit``, which were replaced by the
            nearest one in it.

    Example:
        >>> import kafkacomp as kc
        >>> reader = kc.scan(example, end_offset=3)
        >>> rows = sum(batch.num_rows for batch in reader)
        >>> reader.report.records, reader.report.skipped, reader.report.missing
        (3, (), ())
    """

    batches: int
    records: int
    bytes_in: int
    bytes_out: int
    skipped: tuple[SkippedRange, ...]
    warnings: tuple[str, ...]
    missing: tuple[MissingRange, ...] = ()
    more_missing: int = 0
    records_below_log_start: int = 0
    records_above_high_watermark: int = 0
    clamped_timestamps: int = 0
    known_losses: tuple[KnownLoss, ...] = ()
