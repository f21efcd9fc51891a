"""A Spark session delivers of a folder what a scan delivers: batches with three split sizes, and a stream."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from corruption.inject import inject
from corruption.logs import Log, built
from doors.answers import COLUMNS, Row, Source, row_of
from doors.compare import may_grow
from doors.readers import LENIENT, READERS, scanned
from doors.test_doors import CASES, copied, name_of
from golden.expect import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

#: Those that are not slow.
FEW = ["restarts", "txn-open"]
FOLDERS = [
    pytest.param(path, id=name_of(path), marks=[] if path.parent.name in FEW else [pytest.mark.slow])
    for path in sorted({path.parent for path in (SMALL / "modern").rglob("*.log")})
]
DAMAGED = random.Random("doors in a session").sample(CASES, 20)
TIMEOUT = 120


def in_session(spark: SparkSession, source: Source, **options: str) -> list[Row]:
    """The rows of a batch read."""
    frame = spark.read.format("kafkacomp").options(columns=",".join(COLUMNS), **LENIENT, **options)
    return sorted(row_of(*(plain(row[name]) for name in COLUMNS)) for row in frame.load(str(source.path)).collect())


def plain(value: Any) -> Any:
    """Bytes are a bytearray in a row of Spark."""
    return bytes(value) if isinstance(value, bytearray) else value


def streamed_in_session(spark: SparkSession, source: Source) -> list[Row]:
    """The rows of a stream that reads all that is there."""
    reading = spark.readStream.format("kafkacomp").options(
        columns=",".join(COLUMNS), startingOffsets="earliest", **LENIENT
    )
    target = source.work / "streamed"
    writing = reading.load(str(source.path)).writeStream.format("parquet").option("path", str(target))
    query = writing.option("checkpointLocation", str(source.work / "checkpoint")).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(TIMEOUT), "the query goes on"
    finally:
        query.stop()
    rows = spark.read.schema(reading.load(str(source.path)).schema).parquet(str(target)).collect()
    return sorted(row_of(*(plain(row[name]) for name in COLUMNS)) for row in rows)


def check(spark: SparkSession, source: Source, split_sizes: int = 3) -> None:
    """A batch, with so many split sizes, and a stream. Spark has no order of rows."""
    wanted = sorted(READERS["scan, skip"](source).rows or [])
    size = sum(path.stat().st_size for path in source.path.glob("*.log"))
    for split_size in (size // 8 + 1, size // 3 + 1, size + 1)[:split_sizes]:
        assert in_session(spark, source, splitSize=str(split_size)) == wanted
    found = streamed_in_session(spark, source)
    assert found == (wanted[: len(found)] if may_grow(source, scanned(source).error) else wanted)


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_of_brokers(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    check(spark, copied(folder, tmp_path))


def test_damage(spark: SparkSession, tmp_path: Path) -> None:
    injected = inject(built(2, "lz4"), "flipped bit: payload", random.Random("doors in a session"))
    check(spark, Source(injected.write(tmp_path), tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "log"), DAMAGED, ids=name_of)
def test_more_damage(spark: SparkSession, kind: str, log: Log, tmp_path: Path) -> None:
    injected = inject(log, kind, random.Random(f"doors in a session {kind} {log.name}"))
    check(spark, Source(injected.write(tmp_path), tmp_path))
