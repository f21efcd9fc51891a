"""Doors that deliver rows."""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import kafkacomp as kc
from corruption.tools import command
from doors.answers import COLUMNS, ERRORS, Answer, Row, Source, row_of, rows_of
from grouped import grouped
from missing_ranges import ranges_of
from spark.growing import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp import ScanReader

__all__ = ["COMMITTED", "READERS", "exported", "polars", "scanned", "spark", "streamed"]


def _read(reader: ScanReader) -> Answer:
    """What is read batch by batch; what was delivered before an error is kept."""
    rows: list[Row] = []
    error: Exception | None = None
    try:
        for batch in reader:
            rows += rows_of([batch])
    except ERRORS as raised:
        error = raised
    return Answer(
        rows,
        ranges_of(reader.report.missing),
        error,
        {"skipped": reader.report.skipped, "warnings": reader.report.warnings},
    )


def scanned(source: Source, **options: Any) -> Answer:
    """``kc.scan``."""
    return _read(kc.scan(source.path, columns=COLUMNS, **grouped(**source.known, **options)))


def scanned_log_dir(source: Source, **options: Any) -> Answer:
    """``LogDir.scan``."""
    return _read(kc.LogDir(source.path, **grouped(**source.known)).scan(columns=COLUMNS, **grouped(**options)))


def polars(source: Source, **options: Any) -> Answer:
    """``kc.polars.scan``, collected."""
    try:
        frame = kc.polars.scan(source.path, **grouped(**source.known, **options)).select(COLUMNS).collect()
    except Exception as error:  # noqa: BLE001 - polars raises its own exception
        return Answer(error=error)
    return Answer([row_of(*row) for row in frame.iter_rows()])


def exported(source: Source, *options: str) -> Answer:
    """``kafkacomp export`` to Parquet, with ``--json``."""
    target = source.work / "rows.parquet"
    status, out, err = command(
        "export", source.path, "-o", target, "--json", "--columns", ",".join(COLUMNS), *source.arguments, *options
    )
    if not target.exists():
        return Answer(error=kc.KafkaCompError(err), counts={"status": status})
    rows = rows_of(pq.ParquetFile(target).iter_batches())
    target.unlink()
    return Answer(rows, ranges_of(json.loads(out)["missing"]), counts={"status": status})


def spark(source: Source, **options: str) -> Answer:
    """A batch read by Spark's data source, called as Spark calls it: planned, pickled, read."""
    from kafkacomp.spark import KafkaCompDataSource  # noqa: PLC0415 - takes a second

    rows: list[Row] = []
    given = {"path": str(source.path), "columns": ",".join(COLUMNS), **source.options, **options}
    try:
        found = KafkaCompDataSource(given)
        reader = pickle.loads(pickle.dumps(found.reader(found.schema())))  # noqa: S301 - our own
        for task in pickle.loads(pickle.dumps(list(reader.partitions()))):  # noqa: S301 - our own
            rows += rows_of(reader.read(task))
    except ERRORS as error:
        return Answer(rows, error=error)
    return Answer(rows)


#: Spark's batch reads leave out what is corrupt.
LENIENT = {"mode": "DROPMALFORMED", "failOnDataLoss": "false"}


def streamed(source: Source, **options: str) -> Answer:
    """Spark's stream over all that is there; only offsets."""
    try:
        stream = Stream(source.path, LENIENT | options)
        stream.run()
    except ERRORS as error:
        return Answer(error=error)
    return Answer([(offset, 0, b"") for offset in stream.offsets()])


#: Doors that leave out what is corrupt: they deliver the same rows.
READERS: dict[str, Callable[[Source], Answer]] = {
    "scan, skip": partial(scanned, on_error="skip", threads=1),
    "scan, skip, 2 threads": partial(scanned, on_error="skip", threads=2, batch_rows=7),
    "LogDir.scan, skip": partial(scanned_log_dir, on_error="skip"),
    "polars, skip": partial(polars, on_error="skip"),
    "export, skip": lambda source: exported(source, "--on-error", "skip"),
    "Spark, splits of 300 bytes": lambda source: spark(source, splitSize="300", **LENIENT),
    "Spark, splits of 4 KiB": lambda source: spark(source, splitSize="4k", **LENIENT),
    "Spark, whole segments": lambda source: spark(source, splitSize="1g", **LENIENT),
}

#: Doors that leave out what is corrupt, and what was not committed: they deliver the same rows.
COMMITTED: dict[str, Callable[[Source], Answer]] = {
    "scan, committed": partial(scanned, on_error="skip", isolation_level="read_committed", threads=1),
    "scan, committed, 2 threads": partial(
        scanned, on_error="skip", isolation_level="read_committed", threads=2, batch_rows=7
    ),
    "polars, committed": partial(polars, on_error="skip", isolation_level="read_committed"),
    "export, committed": lambda source: exported(source, "--on-error", "skip", "--isolation-level", "read_committed"),
    "Spark, committed, splits of 4 KiB": lambda source: spark(
        source, splitSize="4k", isolationLevel="read_committed", **LENIENT
    ),
    "Spark, committed, whole segments": lambda source: spark(
        source, splitSize="1g", isolationLevel="read_committed", **LENIENT
    ),
}
