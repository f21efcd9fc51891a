"""``spark.readStream.format("kafkacomp")``: queries over logs that grow, across restarts from their checkpoint."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import kafkacomp as kc
from spark.growing import GrowingLog
from spark.test_plan import transactional
from spark.test_stream_reader import make, steps

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TIMEOUT = 120


class Query:
    """A query that writes what it reads to a folder, and goes on there when it is started again."""

    def __init__(self, spark: SparkSession, path: Path | str, folder: Path, **options: str) -> None:
        self.spark, self.path, self.folder = spark, path, folder
        self.options = {"columns": "topic,partition,offset", "startingOffsets": "earliest", **options}

    def start(self, **trigger: Any) -> StreamingQuery:
        """Go on where the checkpoint is."""
        frame = self.spark.readStream.format("kafkacomp").options(**self.options).load(str(self.path))
        writer = frame.writeStream.format("parquet").option("path", str(self.folder / "rows"))
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(**trigger).start()

    def drain(self) -> StreamingQuery:
        """Read all that is there, and stop."""
        query = self.start(availableNow=True)
        try:
            assert query.awaitTermination(TIMEOUT), "the query goes on"
        finally:
            query.stop()
        return query

    def rows(self) -> list[tuple[str, int, int]]:
        """What was written."""
        frame = self.spark.read.parquet(str(self.folder / "rows"))
        return sorted((row.topic, row.partition, row.offset) for row in frame.collect())


def test_a_query_follows_logs_through_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """Batches, torn ones too; segments that come and go; a partition that comes; stopped and started in between."""
    folders = [make(tmp_path / "finished", topic, count=600, seed=seed) for seed, topic in enumerate("abc")]
    logs = [GrowingLog(folder, tmp_path / "logs" / folder.name) for folder in folders]
    late = logs.pop()
    late.shown.rmdir()
    query = Query(spark, tmp_path / "logs", tmp_path / "query")
    deleted = 0
    for phase in range(3):
        running = query.start(processingTime="0 seconds")
        try:
            for step in range(2):
                part = (phase * 2 + step + 1) / 6
                for log in logs:
                    log.show(int(log.size * part))
                running.processAllAvailable()
                for log in logs:
                    while len(list(log.shown.glob("*.log"))) > 2:
                        log.delete_first()
                        deleted += 1
        finally:
            running.stop()
        if phase == 1:
            late.shown.mkdir()
            logs.append(late)
            late.show(late.size // 2)
    assert query.rows() == [(topic, 0, offset) for topic in "abc" for offset in range(600)]
    assert deleted > 3


def test_all_that_is_there_and_no_more(spark: SparkSession, tmp_path: Path) -> None:
    """Once and again; a query that has nothing to read ends too."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "logs" / "t-0")
    query = Query(spark, tmp_path / "logs", tmp_path / "query")
    random_ = random.Random(9)
    for size in steps(log.size, 1, seed=9):
        log.show(size)
        query.options["splitSize"] = str(random_.choice([2000, 1 << 27]))
        query.drain()
        assert query.rows() == [("t", 0, offset) for offset in log.offsets(size)]
    assert not any(each["numInputRows"] for each in query.drain().recentProgress)


@pytest.mark.spark_since("4.2")
def test_batches_of_limited_size_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "logs")
    make(tmp_path / "logs", "u", count=50)
    query = Query(spark, tmp_path / "logs", tmp_path / "query", maxOffsetsPerTrigger="100")
    progress = query.drain().recentProgress
    assert [each["numInputRows"] for each in progress if each["numInputRows"]] == [100, 100, 100, 50]
    assert json.loads(progress[-1]["sources"][0]["endOffset"]) == {"t": {"0": 300}, "u": {"0": 50}}
    assert query.rows() == [*(("t", 0, each) for each in range(300)), *(("u", 0, each) for each in range(50))]


def test_read_committed_waits_for_open_transactions(spark: SparkSession, tmp_path: Path) -> None:
    wanted = transactional(tmp_path / "finished", segments=3)
    log = GrowingLog(tmp_path / "finished", tmp_path / "logs" / "t-0")
    query = Query(spark, tmp_path / "logs", tmp_path / "query", isolationLevel="read_committed")
    for part in (0.3, 0.7, 1):
        log.show(int(log.size * part))
        query.drain()
        offsets = [offset for _, _, offset in query.rows()]
        assert offsets == wanted[: len(offsets) if part < 1 else None]
    assert wanted[-1] < log.offsets(log.size)[-1], "no transaction is open at the end"


def test_what_retention_took(spark: SparkSession, tmp_path: Path) -> None:
    """An error that says which offsets; the same query goes on when it is told to."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "logs" / "t-0")
    log.show(3000)
    query = Query(spark, tmp_path / "logs", tmp_path / "query")
    query.drain()
    read = len(query.rows())
    log.show(log.size)
    first = log.delete_first()
    assert 0 < read < first
    with pytest.raises(PySparkException, match=f"t-0: offsets {read} to {first - 1} are missing: the log begins at"):
        query.drain()
    query.options["failOnDataLoss"] = "false"
    query.drain()
    assert query.rows() == [("t", 0, each) for each in (*range(read), *range(first, 300))]


def test_what_a_stream_shows_is_what_a_batch_shows(spark: SparkSession, tmp_path: Path) -> None:
    """All columns, headers too, and the types of Spark's Kafka source."""
    headers = pa.array([[{"key": "h", "value": b"1"}], None, []])
    table = pa.table({"key": [b"k", None, b""], "value": [None, b"v", b""], "headers": headers})
    kc.write(table, tmp_path / "logs", topic="t")
    batch = spark.read.format("kafkacomp").option("includeHeaders", "true").load(str(tmp_path / "logs"))
    stream = (
        spark.readStream.format("kafkacomp")
        .options(includeHeaders="true", startingOffsets="earliest")
        .load(str(tmp_path / "logs"))
    )
    assert stream.schema == batch.schema
    query = stream.writeStream.format("memory").queryName("shown").trigger(availableNow=True).start()
    assert query.awaitTermination(TIMEOUT)
    assert spark.table("shown").orderBy("offset").collect() == batch.orderBy("offset").collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startoffset": "5"}, "unknown option 'startoffset': expected path, "),
        ({"endingOffsets": "latest"}, "endingOffsets is an option of spark.read, not of spark.readStream"),
        ({"mode": "PERMISSIVE"}, "mode PERMISSIVE is for spark.read"),
        ({"startingOffsets": '{"t": {"1": 0}}'}, "startingOffsets has no t-0"),
        ({"path": "/no/where"}, "No such file or directory: '/no/where'"),
    ],
)
def test_errors_are_the_drivers(spark: SparkSession, tmp_path: Path, options: dict[str, str], message: str) -> None:
    make(tmp_path / "logs", count=5)
    path = options.pop("path", tmp_path / "logs")
    with pytest.raises(PySparkException, match=message) as raised:
        Query(spark, path, tmp_path / "query", **options).drain()
    assert message in str(raised.value).splitlines()[0]


def test_a_limit_is_no_option_of_batches(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path, count=5)
    with pytest.raises(PySparkException, match=r"maxOffsetsPerTrigger is an option of spark\.readStream, not of"):
        spark.read.format("kafkacomp").option("maxOffsetsPerTrigger", "5").load(str(tmp_path)).count()
