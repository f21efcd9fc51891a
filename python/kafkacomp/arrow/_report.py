"""The report of a scan, with skipped and missing ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

#: Why bytes were left out: they are corrupt, exceed a limit of the caller, cannot be read from the storage (EIO), or
#: their file was deleted after it was listed.
SkipReason = Literal["corrupt", "limit", "unreadable", "vanished"]
#: Why offsets are missing: as :data:`SkipReason`; or the log has no bytes for them (``gap``); or log compaction has
#: removed their records (``compacted``).
MissingReason = Literal["corrupt", "gap", "compacted", "limit", "unreadable", "vanished"]


class MissingRange(NamedTuple):
    """Offsets that a log should have and that were not delivered."""

    #: The topic, if known.
    topic: str | None
    #: The partition, if known.
    partition: int | None
    #: The first missing offset.
    first_offset: int
    #: The last missing offset, inclusive.
    last_offset: int
    #: The segment that should have them.
    segment: str
    #: Why they are missing.
    reason: MissingReason


@dataclass(frozen=True)
class SkippedRange:
    """Bytes that a scan with ``on_error="skip"`` left out."""

    #: The file, as in the column ``segment``.
    file: str
    #: The byte at which the range begins.
    position: int
    #: Its length in bytes; 0 for a file that could not be opened.
    length: int
    #: Why it was left out.
    reason: SkipReason
    #: The message of the error that a scan with ``on_error="raise"`` raises.
    message: str
    #: The first offset that is missing because of it; ``None`` if the adjacent batches do not determine it.
    first_offset: int | None = None
    #: The last offset that is missing because of it, inclusive.
    last_offset: int | None = None


@dataclass(frozen=True)
class ScanReport:
    """The counts of a scan so far, which are final when the reader has reached its end.

    With ``read_committed``, a skipped range may contain the end of a transaction. Such a transaction counts as open,
    and no records from its first one on are read.
    """

    #: Kafka batches whose records were read.
    batches: int
    #: Rows returned.
    records: int
    #: Bytes of segments read.
    bytes_in: int
    #: Bytes of column data returned.
    bytes_out: int
    #: The ranges that were left out, in file order; also logged when the scan ends.
    skipped: tuple[SkippedRange, ...]
    #: Anomalies that did not end the scan; also logged to the logger ``kafkacomp``.
    warnings: tuple[str, ...]
    #: Offsets that the segments should have and that were not delivered, in order; adjacent ranges of a segment with
    #: the same reason are merged. At most 10,000 ranges.
    missing: tuple[MissingRange, ...] = ()
    #: The number of ranges beyond those in ``missing``.
    more_missing: int = 0
    #: Records within the bounds of the scan that consumers do not see because they are below the log start offset of
    #: ``log-start-offset-checkpoint``; ``visible_only`` leaves them out.
    records_below_log_start: int = 0
    #: Records that consumers do not see because they are at or above the high watermark of
    #: ``replication-offset-checkpoint``.
    records_above_high_watermark: int = 0

    #: The number of timestamps out of the range of ``timestamp_unit``, which were replaced by the nearest one in it.
    clamped_timestamps: int = 0
