"""What a scan has done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ScanReport", "SkippedRange"]


@dataclass(frozen=True)
class SkippedRange:
    """Bytes that a scan with ``on_error="skip"`` left out."""

    #: The file, as the ``segment`` column has it.
    file: str
    #: The byte at which the range begins.
    position: int
    #: Its length in bytes; 0 for a file that could not be opened.
    length: int
    #: What a scan with ``on_error="raise"`` would have said.
    reason: str


@dataclass(frozen=True)
class ScanReport:
    """The counts of a scan up to now; complete once the reader is at its end.

    With ``read_committed`` a skipped range may hide the end of a transaction. Such a transaction counts as open:
    nothing from its first record on is read.
    """

    #: Kafka batches whose records were looked at.
    batches: int
    #: Rows given.
    records: int
    #: Bytes of segments read.
    bytes_in: int
    #: Bytes of column data given.
    bytes_out: int
    #: What was left out, in file order; also logged when the scan ends.
    skipped: tuple[SkippedRange, ...]
    #: What was odd but no reason to stop; also logged to the logger ``kafkacomp``.
    warnings: tuple[str, ...]

    @classmethod
    def _of(cls, counts: dict[str, Any]) -> ScanReport:
        """Take over the counts of the core."""
        skipped = tuple(SkippedRange(*entry) for entry in counts.pop("skipped"))
        return cls(skipped=skipped, warnings=tuple(counts.pop("warnings")), **counts)
