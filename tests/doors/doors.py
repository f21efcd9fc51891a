"""Each way into a partition folder (a door), and its answer about the folder in one form: rows and missing ranges."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import kafkacomp as kc
from corruption.tools import command
from kafkacomp import log
from spark.growing import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["COPIES", "READERS", "REPORTERS", "Answer", "Row"]

#: Without timestamps: the doors have several units, and Python has no datetime for some of the values.
COLUMNS = ["offset", "timestampType", "key", "value"]
#: What a door may raise at corrupt or missing data.
ERRORS = (kc.KafkaCompError, OSError, ValueError)

#: The offset, and a digest of the other columns.
Row = tuple[int, bytes]


@dataclass
class Answer:
    """The answer of a door; ``None`` where it has no such part."""

    rows: list[Row] | None = None
    #: First offset, last offset, reason; adjacent ranges of one reason are one.
    missing: list[tuple[int, int, str]] | None = None
    error: Exception | None = None
    counts: dict[str, Any] = field(default_factory=dict)


def rows_of(batches: Iterable[Any]) -> list[Row]:
    """The rows of Arrow batches with :data:`COLUMNS`."""
    return [row_of(each) for batch in batches for each in batch.to_pylist()]


def row_of(row: dict[str, Any]) -> Row:
    """A row in the form of all doors."""
    text = repr((row["timestampType"], row["key"], row["value"]))
    return row["offset"], hashlib.md5(text.encode(), usedforsecurity=False).digest()


def ranges_of(missing: Iterable[Any]) -> list[tuple[int, int, str]]:
    """Missing ranges of a report, or of its JSON, with adjacent ones joined."""
    found: list[tuple[int, int, str]] = []
    for each in missing:
        if isinstance(each, dict):
            first, last, reason = each["firstOffset"], each["lastOffset"], each["reason"]
        else:
            first, last, reason = each.first_offset, each.last_offset, each.reason
        if found and found[-1][1] + 1 == first and found[-1][2] == reason:
            found[-1] = (found[-1][0], last, reason)
        else:
            found.append((first, last, reason))
    return found


# ------------------------------------------------------------------------------------------ doors that deliver rows
def scanned(folder: Path, **options: Any) -> Answer:
    """``kc.scan``, batch by batch; what was delivered before an error is kept."""
    reader = kc.scan(folder, columns=COLUMNS, **options)
    rows: list[Row] = []
    error: Exception | None = None
    try:
        for batch in reader:
            rows += rows_of([batch])
    except ERRORS as raised:
        error = raised
    return Answer(rows, ranges_of(reader.report.missing), error)


def polars(folder: Path, **options: Any) -> Answer:
    """``kc.polars.scan``, collected."""
    try:
        frame = kc.polars.scan(folder, **options).select(COLUMNS).collect()
    except Exception as error:  # noqa: BLE001 - polars raises its own exception
        return Answer(error=error)
    return Answer([row_of(each) for each in frame.to_dicts()])


def exported(folder: Path, *options: str) -> Answer:
    """``kafkacomp export`` to Parquet, with ``--json``."""
    target = folder.parent / "rows.parquet"
    status, out, err = command(
        "export", folder, "-o", target, "--json", "--columns", ",".join(COLUMNS), "--force", *options
    )
    if not target.exists():
        return Answer(error=kc.KafkaCompError(err), counts={"status": status})
    rows = rows_of(pq.ParquetFile(target).iter_batches())
    target.unlink()
    return Answer(rows, ranges_of(json.loads(out)["missing"]), counts={"status": status})


def spark(folder: Path, **options: str) -> Answer:
    """A batch read by Spark's data source, called as Spark calls it: planned, pickled, read."""
    from kafkacomp.spark import KafkaCompDataSource  # noqa: PLC0415 - takes a second

    rows: list[Row] = []
    try:
        source = KafkaCompDataSource({"path": str(folder), "columns": ",".join(COLUMNS), **options})
        reader = pickle.loads(pickle.dumps(source.reader(source.schema())))  # noqa: S301 - our own
        for task in pickle.loads(pickle.dumps(list(reader.partitions()))):  # noqa: S301 - our own
            rows += rows_of(reader.read(task))
    except ERRORS as error:
        return Answer(rows, error=error)
    return Answer(rows)


def streamed(folder: Path) -> Answer:
    """Spark's stream over all that is there; only offsets."""
    try:
        stream = Stream(folder, {"mode": "DROPMALFORMED", "failOnDataLoss": "false"})
        stream.run()
    except ERRORS as error:
        return Answer(error=error)
    return Answer([(offset, b"") for offset in stream.offsets()])


#: Doors that leave out what is corrupt: they deliver the same rows.
READERS: dict[str, Callable[[Path], Answer]] = {
    "scan, skip": lambda folder: scanned(folder, on_error="skip", threads=1),
    "scan, skip, 2 threads": lambda folder: scanned(folder, on_error="skip", threads=2, batch_rows=7),
    "polars, skip": lambda folder: polars(folder, on_error="skip"),
    "export, skip": lambda folder: exported(folder, "--on-error", "skip"),
    "Spark, splits of 300 bytes": lambda folder: lenient_spark(folder, 300),
    "Spark, splits of 4 KiB": lambda folder: lenient_spark(folder, 4096),
    "Spark, whole segments": lambda folder: lenient_spark(folder, 1 << 30),
}


def lenient_spark(folder: Path, split_size: int) -> Answer:
    """Spark's batch read that leaves out what is corrupt."""
    return spark(folder, mode="DROPMALFORMED", failOnDataLoss="false", splitSize=str(split_size))


# ------------------------------------------------------------------------------------------ doors that report
def verified(folder: Path) -> Answer:
    """``kafkacomp verify --json``."""
    status, out, err = command("verify", folder, "--json", "--threads", "1")
    if not out:
        return Answer(error=kc.KafkaCompError(err), counts={"status": status})
    found = json.loads(out)
    return Answer(missing=ranges_of(found["missing"]), counts={"status": status, "errors": len(found["errors"])})


def verified_log_dir(folder: Path) -> Answer:
    """``LogDir.verify``."""
    return Answer(
        missing=ranges_of(
            kc.LogDir(folder.parent)[folder.name.rpartition("-")[0], int(folder.name.rpartition("-")[2])]
            .verify()
            .missing
        )
    )


def verified_partition(folder: Path) -> Answer:
    """``kafkacomp.log.verify_partition``."""
    return Answer(missing=ranges_of(log.verify_partition(folder).missing))


#: Doors that name what is missing: the same ranges with the same reasons as a scan that leaves out what is corrupt.
REPORTERS: dict[str, Callable[[Path], Answer]] = {
    "verify": verified,
    "LogDir.verify": verified_log_dir,
    "verify_partition": verified_partition,
}


# ------------------------------------------------------------------------------------------ doors that write a copy
def _read_back(write: Callable[[Path, Path], Any], folder: Path, name: str) -> Answer:
    target = folder.parent / name
    try:
        report = write(folder, target)
    except ERRORS as error:
        return Answer(error=error)
    missing = ranges_of(report.missing)
    if not any(target.glob("**/*.log")):
        return Answer([], missing)
    again = scanned(target)
    return Answer(again.rows, missing, again.error)


#: Doors that write a copy: the copy has the rows of the strict or the lenient scan.
COPIES: dict[str, Callable[[Path], Answer]] = {
    "repair": lambda folder: _read_back(log.repair, folder, "repaired"),
    "recompress": lambda folder: _read_back(
        lambda source, target: log.recompress(source, target, compression_type="gzip", threads=1, allow_missing=True),
        folder,
        "recompressed",
    ),
}
