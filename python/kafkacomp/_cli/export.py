"""``kafkacomp export``: a scan into a file. The file appears whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp._cli.common import complain
from kafkacomp._cli.writers import PLACE, is_text, writer
from kafkacomp._extras import require
from kafkacomp._storage.new_file import new_file

if TYPE_CHECKING:
    from kafkacomp import ScanReport
    from kafkacomp.arrow import ScanReader

__all__ = ["RefusedError", "as_dict", "check_target", "columns_to_read", "export", "show_losses"]


class RefusedError(ValueError):
    """A target that must not be written."""


def check_target(target: Path, sources: list[str], *, force: bool) -> None:
    """Refuse a target that is there already, or that is one of the files to be read.

    Raises:
        RefusedError: with the reason.
    """
    if not target.exists():
        if not target.absolute().parent.is_dir():
            raise RefusedError(f"{target}: the folder {target.absolute().parent} is not there")
        return
    if target.is_dir():
        raise RefusedError(f"{target}: is a folder")
    if any(Path(source).exists() and target.samefile(source) for source in sources):
        raise RefusedError(f"{target}: is one of the files to be read")
    if not force:
        raise RefusedError(f"{target}: is there already; --force replaces it")


def columns_to_read(columns: list[str], kind: str, encoding: str) -> list[str]:
    """The columns of a scan that writes ``columns``: if bytes may not be UTF-8, also those that say where they are."""
    if not is_text(kind) or encoding != "utf8":
        return columns
    return [*columns, *(name for name in PLACE if name not in columns)]


def export(
    reader: ScanReader, target: Path, kind: str, *, columns: list[str], compression: str, encoding: str, force: bool
) -> ScanReport:
    """Write ``columns`` of what the scan gives to ``target``.

    Raises:
        RefusedError: the target has appeared meanwhile.
        KafkaCompError, OSError: the scan's.
        ValueError: bytes that are not UTF-8 in a text format.
    """
    schema = require("pyarrow").schema(reader)
    try:
        with (
            new_file(target, replace=force) as path,
            path.open("xb") as sink,
            writer(kind, sink, schema, columns=columns, compression=compression, encoding=encoding) as write,
        ):
            for batch in reader:
                write(batch)
    except FileExistsError:
        raise RefusedError(f"{target}: has appeared meanwhile; --force replaces it") from None
    return reader.report


def show_losses(report: ScanReport) -> None:
    """Print a summary of what was skipped and what is missing; each of it was logged as a warning before."""
    if report.skipped:
        complain(
            f"skipped: {len(report.skipped)} ranges of bytes, {sum(each.length for each in report.skipped):,} bytes"
        )
    lost = [each for each in report.missing if each.reason != "compacted"]
    if lost:
        offsets = sum(each.last_offset - each.first_offset + 1 for each in lost)
        complain(f"missing: {offsets:,} offsets in {len(lost)} ranges")
    if report.more_missing:
        complain(f"missing: {report.more_missing:,} more ranges of offsets")


def as_dict(report: ScanReport) -> dict[str, object]:
    """The report as JSON has it."""
    return {
        "records": report.records,
        "batches": report.batches,
        "recordsBelowLogStart": report.records_below_log_start,
        "recordsAboveHighWatermark": report.records_above_high_watermark,
        "skipped": [
            {
                "file": each.file,
                "position": each.position,
                "length": each.length,
                "reason": each.reason,
                "message": each.message,
                "firstOffset": each.first_offset,
                "lastOffset": each.last_offset,
            }
            for each in report.skipped
        ],
        "missing": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "firstOffset": each.first_offset,
                "lastOffset": each.last_offset,
                "segment": each.segment,
                "reason": each.reason,
            }
            for each in report.missing
        ],
        "moreMissing": report.more_missing,
        "warnings": list(report.warnings),
    }
