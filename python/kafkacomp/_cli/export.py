"""``kafkacomp export``: write a scan to a file, which appears complete or not at all."""

from __future__ import annotations

import codecs
import io
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kafkacomp import _kafkacomp
from kafkacomp._cli.partitioned import KEYS, columns_of, partitioned
from kafkacomp._cli.writers import PLACE, RECORD, SUFFIXES, compressed, format_of, is_text, writer
from kafkacomp._extras import pa
from kafkacomp._storage.loss_file import known_loss_fields
from kafkacomp._storage.new_file import new_file
from kafkacomp._text import camel_case, escaped_lines, json_fields
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from typing import BinaryIO, TypeAlias

    from typing_extensions import Buffer

    from kafkacomp import ScanReport
    from kafkacomp._cli.writers import Write
    from kafkacomp._storage.partition import Partition
    from kafkacomp.arrow import FilteredReader, ScanReader
    from kafkacomp.arrow._filter import Conditions

    Rows: TypeAlias = ScanReader | FilteredReader


class RefusedError(ValueError):
    """The target must not be written."""


def check_target(target: Path, sources: list[Partition], *, force: bool) -> None:
    """Refuse a target that exists, or that is one of the files of the partitions to read.

    Raises:
        RefusedError: the message has the reason.
    """
    if not target.exists():
        if not target.absolute().parent.is_dir():
            raise RefusedError(f"{target}: the folder {target.absolute().parent} does not exist")
        return
    if target.is_dir():
        raise RefusedError(f"{target}: this is a folder: give a file, or --partition-by")
    if _is_read(target, sources):
        raise RefusedError(f"{target}: this is one of the files to read: choose another target")
    if not force:
        raise RefusedError(f"{target}: exists: use --force to replace it")


def _is_read(target: Path, sources: list[Partition]) -> bool:
    """Whether a file is a segment of the partitions, or a file of a log in one of their folders."""
    segments = [Path(each.source) for part in sources for each in part.segments if isinstance(each.source, str)]
    if any(each.exists() and target.samefile(each) for each in segments):
        return True
    folders = {each.parent for each in segments}
    return _kafkacomp.kind_of(target.name) is not None and any(target.parent.samefile(each) for each in folders)


def columns_to_read(
    columns: list[str],
    kind: str,
    encoding: str,
    conditions: Conditions | None = None,
    partition_by: list[str] | None = None,
) -> list[str]:
    """The columns of a scan that writes ``columns``.

    They include the columns of conditions and of --partition-by, and those that errors name.
    """
    needed = list(conditions.columns) if conditions is not None else []
    needed += [KEYS[key] for key in partition_by or ()]
    needed += PLACE if is_text(kind) and encoding == "utf8" else RECORD
    return list(dict.fromkeys([*columns, *needed]))


def export(
    reader: Rows,
    target: Path,
    kind: str,
    *,
    columns: list[str],
    compression: str,
    encoding: str,
    force: bool,
    partition_by: list[str] | None = None,
) -> int:
    """Write ``columns`` of the rows to ``target``, ``-`` for standard output, and return the number of rows.

    With ``partition_by`` the target is a new folder of files.

    Raises:
        RefusedError: the target was created since it was checked.
        KafkaCompError, OSError: as in :func:`kafkacomp.scan`.
        ValueError: bytes are not UTF-8, in a text format.
    """
    schema = pa.schema(reader)

    def write_to(file: BinaryIO, codec: str | None) -> int:
        with (
            compressed(file, codec) as sink,
            writer(kind, sink, schema, columns=columns, compression=compression, encoding=encoding) as write,
        ):
            return _write_rows(reader, write)

    if partition_by:
        suffix = "".join(each for each, name in SUFFIXES.items() if name == kind and each != ".feather")
        options = {"columns": columns_of(columns, partition_by), "compression": compression, "encoding": encoding}
        with partitioned(target, kind, partition_by, schema, suffix=suffix, **options) as write:
            return _write_rows(reader, write)
    if is_standard_output(target):
        out = _StandardOutput(is_escaped=is_text(kind) and sys.stdout.isatty())
        return write_to(cast("BinaryIO", out), None)
    try:
        with new_file(target, replace=force) as path, path.open("xb") as file:
            return write_to(file, format_of(target.name)[1])
    except FileExistsError:
        raise RefusedError(f"{target}: was created while this command ran: use --force to replace it") from None


def _write_rows(reader: Rows, write: Write) -> int:
    """Write all rows. An error that ends the scan gets a note that names the last record written."""
    rows, last = 0, None
    try:
        for batch in reader:
            write(batch)
            rows += batch.num_rows
            last = batch.slice(batch.num_rows - 1) if batch.num_rows else last
    except KafkaCompError as error:
        if last is not None:
            place = ", ".join(f"{name} {last.column(name)[0].as_py()}" for name in RECORD)
            error.add_note(f"the last record written is {place}")
        raise
    return rows


def is_standard_output(target: Path) -> bool:
    """Whether the target is ``-``."""
    return str(target) == "-"


class _StandardOutput(io.RawIOBase):
    """Standard output as a file that stays open when its writers close it.

    A terminal would execute the control sequences in payloads: with ``is_escaped`` the text has none.
    """

    def __init__(self, *, is_escaped: bool) -> None:
        self._out = sys.stdout.buffer
        # A write may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")() if is_escaped else None

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        text = bytes(data)
        self._out.write(text if self._decoder is None else escaped_lines(self._decoder.decode(text)).encode())
        return len(text)

    def flush(self) -> None:
        self._out.flush()


def as_dict(report: ScanReport) -> dict[str, object]:
    """Convert the report to the fields of its JSON."""
    return {
        **json_fields(report, "records", "batches", "records_below_log_start", "records_above_high_watermark"),
        "skipped": [camel_case(asdict(each)) for each in report.skipped],
        "missing": [camel_case(each._asdict()) for each in report.missing],
        "moreMissing": report.more_missing,
        "knownLosses": [known_loss_fields(each) for each in report.known_losses],
        "warnings": list(report.warnings),
    }
