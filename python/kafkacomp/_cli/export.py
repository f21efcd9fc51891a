"""``kafkacomp export``: a scan into a file. The file appears whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkacomp._cli.common import complain
from kafkacomp._cli.render import csv_cell
from kafkacomp._extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from kafkacomp import ScanReport
    from kafkacomp.arrow import ScanReader

__all__ = [
    "BYTES",
    "FORMATS",
    "SUFFIXES",
    "RefusedError",
    "as_dict",
    "check_target",
    "export",
    "show_losses",
]

FORMATS = ("parquet", "arrow", "csv", "jsonl")
SUFFIXES = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".csv": "csv", ".jsonl": "jsonl"}
BYTES = ("utf8", "base64", "hex")


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


def export(reader: ScanReader, target: Path, kind: str, *, compression: str, encoding: str, force: bool) -> ScanReport:
    """Write what the scan gives to ``target``.

    Raises:
        RefusedError: the target has appeared meanwhile.
        KafkaCompError, OSError: the scan's.
        ValueError: bytes that are no UTF-8 where text is asked for.
    """
    pa = require("pyarrow")

    schema = pa.schema(reader)
    with _appearing(target, force=force) as path, _writer(kind, path, schema, compression, encoding) as write:
        for batch in reader:
            write(batch)
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


@contextmanager
def _appearing(target: Path, *, force: bool) -> Iterator[Path]:
    """A name beside the target that becomes the target at the end, and vanishes if anything fails."""
    hidden = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield hidden
        if force:
            hidden.replace(target)
            return
        try:
            # A link fails where a rename would replace; file systems without links have the test alone.
            os.link(hidden, target)
        except FileExistsError:
            raise RefusedError(f"{target}: has appeared meanwhile; --force replaces it") from None
        except OSError:
            check_target(target, [], force=False)
            hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def _writer(
    kind: str, path: Path, schema: pa.Schema, compression: str, encoding: str
) -> Iterator[Callable[[pa.RecordBatch], object]]:
    if kind == "parquet":
        parquet = require("pyarrow.parquet")

        with parquet.ParquetWriter(path, schema, compression=compression) as writer:
            yield writer.write_batch
    elif kind == "arrow":
        ipc = require("pyarrow.ipc")

        codec = compression if compression in {"lz4", "zstd"} else None
        with ipc.new_file(path, schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            yield writer.write_batch
    else:
        with path.open("x", encoding="utf-8", newline="") as out:
            if kind == "csv":
                out.write(",".join(schema.names) + "\r\n")
            yield lambda batch: out.writelines(_lines(kind, batch, encoding))


def _lines(kind: str, batch: pa.RecordBatch, encoding: str) -> Iterator[str]:
    pa = require("pyarrow")

    for index, column in enumerate(batch.schema):
        # As a number: Python's datetime ends at the year 9999, Kafka's timestamps do not.
        if pa.types.is_timestamp(column.type):
            batch = batch.set_column(index, column.name, batch.column(index).cast(pa.int64()))
    for row in batch.to_pylist():
        plain = {name: _plain(value, encoding, (name, row)) for name, value in row.items()}
        if kind == "csv":
            yield ",".join(csv_cell(value) for value in plain.values()) + "\r\n"
        else:
            yield json.dumps(plain, ensure_ascii=False) + "\n"


def _plain(value: object, encoding: str, where: tuple[str, dict[str, Any]]) -> object:
    if isinstance(value, list):
        return [_plain(each, encoding, where) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each, encoding, where) for name, each in value.items()}
    if not isinstance(value, bytes):
        return value
    if encoding == "base64":
        return base64.b64encode(value).decode("ascii")
    if encoding == "hex":
        return value.hex()
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        column, row = where
        place = ", ".join(f"{name} {row[name]}" for name in ("topic", "partition", "offset", "segment") if name in row)
        raise ValueError(
            f"the {column} is not UTF-8 ({place}): choose --bytes base64 or hex, or a binary format"
        ) from None
