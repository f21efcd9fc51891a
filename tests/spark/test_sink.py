"""``df.write.format("kafkacomp")``: what is written is what is read, all of it or nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

import kafkacomp as kc
from kafkacomp import log, record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "modern"
HEADERS = "array<struct<key: string, value: binary>>"


def save(frame: DataFrame, target: Path, mode: str = "append", **options: Any) -> None:
    named = {name.replace("_", "."): str(value) for name, value in options.items()}
    frame.write.format("kafkacomp").mode(mode).options(**named).save(str(target))


def orders(spark: SparkSession, rows: int, tasks: int = 4) -> DataFrame:
    """Rows with keys, every tenth without one, every seventh a tombstone, and headers."""
    return spark.range(0, rows, 1, tasks).selectExpr(
        "if(id % 10 = 0, null, concat('k', id % 50)) as key",
        "if(id % 7 = 0, null, encode(concat('value ', id), 'utf-8')) as value",
        "if(id % 3 = 0, 'orders', 'other.topic-1') as topic",
        "timestamp_millis(1700000000000 + id) as timestamp",
        "cast(if(id % 5 = 0, null, array(struct('id', cast(cast(id as string) as binary)), struct('id', null)))"
        f" as {HEADERS}) as headers",
    )


def table(target: Path) -> pa.Table:
    return pa.table(kc.scan(target))


def contiguous(target: Path) -> int:
    """The number of records, whose offsets count from 0 in every partition."""
    rows = 0
    for folder in target.glob("*-[0-9]*"):
        if not folder.name.endswith("-delete"):
            offsets = pa.table(kc.scan(folder, columns=("offset",)))["offset"].to_pylist()
            assert offsets == list(range(len(offsets)))
            rows += len(offsets)
    return rows


def names(target: Path) -> list[str]:
    return sorted(path.name for path in target.iterdir() if not path.name.startswith(".kafkacomp"))


def test_what_is_written_is_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    frame = orders(spark, 3000)
    save(frame, tmp_path, numPartitions=3, segment_bytes=8000, compression_type="none", batch_size=1000)
    assert contiguous(tmp_path) == 3000
    assert len(names(tmp_path)) == 6
    columns = ["topic", "timestamp", "key", "value", "headers"]
    reader = spark.read.format("kafkacomp").option("includeHeaders", "true")
    found = reader.load(str(tmp_path)).select(columns)
    expected = frame.withColumn("key", f.col("key").cast("binary")).select(columns)
    assert _sorted(found) == _sorted(expected)
    assert _sorted(spark.createDataFrame(table(tmp_path).select(columns))) == _sorted(expected)
    for path in tmp_path.glob("*/*.log"):
        assert path.stat().st_size <= 8000
        assert not log.verify_segment(path).findings
        for batch in record.read_batches(path.read_bytes()):
            assert batch.compression_type.name == "NONE"
            assert batch.partition_leader_epoch == 0
    assert len(list(tmp_path.glob("*/*.log"))) > 6


def _sorted(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.toArrow().to_pylist()))


def test_append_and_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    save(orders(spark, 300), tmp_path, numPartitions=3)
    before = {path: path.read_bytes() for path in tmp_path.glob("*/*") if "checkpoint" not in path.name}
    save(orders(spark, 300), tmp_path)  # as many partitions as the topics have
    assert contiguous(tmp_path) == 600
    assert len(names(tmp_path)) == 6
    assert {path: path.read_bytes() for path in before} == before
    save(orders(spark, 30).where("topic = 'orders'"), tmp_path, mode="overwrite", topic="new")
    assert names(tmp_path) == ["new-0"]
    assert contiguous(tmp_path) == 10
    save(orders(spark, 0), tmp_path)
    assert contiguous(tmp_path) == 10


def test_a_log_that_is_read_is_written_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    """Columns that are none of a record's are not looked at; ``partition`` says where a row goes."""
    sources = [VECTORS / name / f"{name}-0" for name in ("java-not-idempotent", "aiokafka-lz4")]
    reader = spark.read.format("kafkacomp").option("includeHeaders", "true")
    frame = reader.load([str(path) for path in sources])
    save(frame.withColumn("partition", f.lit(2)), tmp_path, numPartitions=3)
    assert names(tmp_path) == ["aiokafka-lz4-2", "java-not-idempotent-2"]
    for source in sources:
        wanted = pa.table(kc.scan(source, columns=("key", "value", "timestamp", "headers")))
        written = tmp_path / f"{source.name.removesuffix('-0')}-2"
        assert pa.table(kc.scan(written, columns=("key", "value", "timestamp", "headers"))).equals(wanted)


def test_a_log_of_a_broker_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(VECTORS / "restarts" / "restarts-0", tmp_path / "restarts-0")
    rows = table(tmp_path).num_rows
    save(spark.range(10).selectExpr("cast(id as string) as value"), tmp_path, topic="restarts")
    assert table(tmp_path).num_rows == rows + 10


def test_names_of_options_in_any_case(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(100).selectExpr("cast(id as string) as value", "cast(id as string) as key")
    save(frame, tmp_path, TOPIC="t", NUMPARTITIONS=2, Compression_Type="NONE")
    assert names(tmp_path) == ["t-0", "t-1"]


def test_a_url_of_this_file_system(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(3).selectExpr("cast(id as string) as value")
    for start in ("file:", "file://"):
        frame.write.format("kafkacomp").mode("append").option("topic", "t").save(f"{start}{tmp_path}/with space")
    assert contiguous(tmp_path / "with space") == 6


def test_a_failing_task_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    save(orders(spark, 100), tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    frame = spark.range(0, 4000, 1, 4).selectExpr(
        "if(id = 3990, raise_error('a bad row'), cast(id as string)) as value"
    )
    with pytest.raises(PySparkException, match="a bad row"):
        save(frame, tmp_path, topic="new", batch_size=100)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    # Rows are counted over Spark's Arrow batches.
    with pytest.raises(
        PySparkException, match="ValueError: partition 0 of the DataFrame: row 25007: the topic is null"
    ):
        save(spark.range(0, 25_010, 1, 1).selectExpr("'v' as value", "if(id = 25007, null, 't') as topic"), tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_target_that_cannot_be_continued(spark: SparkSession, tmp_path: Path) -> None:
    save(orders(spark, 100), tmp_path)
    segment = tmp_path / "orders-0" / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:-1])
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(PySparkException, match=segment.name):
        save(orders(spark, 100), tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bogus": 1}, "unknown option 'bogus' for writing: expected path, topic, numPartitions"),
        ({"startingOffsets": "earliest"}, "unknown option 'starting[oO]ffsets' for writing"),
        ({"compression.type": "lzma"}, "compression.type must be one of none, gzip, snappy, lz4, zstd, not 'lzma'"),
        ({"compression.level": "99"}, "compression.level: zstd has compression levels -131072 to 22, not 99"),
        ({"compression.level": "high"}, "compression.level must be a whole number"),
        ({"segment.bytes": "0"}, "segment.bytes must be a size like 268435456 or 256m, at most 2147483647, not '0'"),
        ({"batch.size": "-1"}, "batch.size must be a size"),
        ({"numPartitions": "0"}, "numPartitions must be a number from 1"),
        ({"topic": "a/b"}, "topic: invalid name 'a/b'"),
        ({"topicId": "x"}, "topicId requires the option topic"),
        ({"topic": "t", "topicId": "x"}, "topicId: 'x' is not a Kafka Uuid"),
        ({"topic": "t", "topicId": "A" * 22}, "topicId: 'A+' is not a Kafka Uuid"),
        ({"path": "s3://bucket/logs"}, "s3://bucket/logs is a URL: logs are written to a local path"),
        ({"path": "hdfs:/logs"}, "hdfs:/logs is a URL: logs are written to a local path"),
        ({"path": "file://host/logs"}, "file://host/logs names the host host"),
        ({"path": ""}, "no path: use .save"),
        ({"path": str(VECTORS / "restarts" / "restarts-0")}, "it is a partition's folder"),
        ({"path": __file__}, "Not a directory"),
    ],
)
def test_bad_options(spark: SparkSession, tmp_path: Path, options: dict[str, str], message: str) -> None:
    target = tmp_path / "new"
    writer = orders(spark, 10).write.format("kafkacomp").mode("append")
    with pytest.raises(PySparkException, match=message):
        writer.options(**{"path": str(target)} | options).save()
    assert not target.exists()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["1 as value", "'t' as topic"], "column 'value' must be string or binary, not int"),
        (["'k' as key", "'t' as topic"], "no column 'value'"),
        (["'v' as value"], "no topic: give the option topic or a column 'topic'"),
        (["'v' as value", "'t' as topic", "1L as partition"], "column 'partition' must be int, not bigint"),
        (["'v' as value", "'t' as topic", "1L as timestamp"], "column 'timestamp' must be timestamp, not bigint"),
        (["'v' as value", "'t' as topic", "array('x') as headers"], "column 'headers' must be array<struct<key:string"),
    ],
)
def test_bad_columns(spark: SparkSession, tmp_path: Path, columns: list[str], message: str) -> None:
    with pytest.raises(PySparkException, match=message):
        save(spark.range(1).selectExpr(*columns), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("mode", ["errorifexists", "ignore"])
def test_modes_that_spark_has_not_for_such_sources(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    with pytest.raises(PySparkException, match="Append"):
        save(orders(spark, 10), tmp_path, mode=mode)


class Query:
    """A stream of text files into logs, batch after batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.source, self.checkpoint, self.target = (folder / name for name in ("source", "checkpoint", "logs"))
        self.source.mkdir()

    def add(self, name: str, *lines: str) -> None:
        """Puts a file into the source."""
        (self.source / name).write_text("".join(f"{line}\n" for line in lines))

    def run(self) -> None:
        """Writes all that is there, each file a batch."""
        frame = self.spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(self.source))
        writer = (
            frame.writeStream.format("kafkacomp")
            .option("topic", "t")
            .option("checkpointLocation", str(self.checkpoint))
        )
        query = writer.trigger(availableNow=True).start(str(self.target))
        try:
            query.awaitTermination(120)
        finally:
            query.stop()

    def values(self) -> list[str]:
        """What was written; nothing of the jobs may be left."""
        assert not list(self.target.glob("*-delete"))
        contiguous(self.target)
        return [value.decode() for value in table(self.target)["value"].to_pylist()]


def test_a_stream_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    query.add("1", "a", "b")
    query.add("2", "c")
    query.run()
    assert sorted(query.values()) == ["a", "b", "c"]
    # Spark forgets that the last batch was committed, as when it dies right behind that: it does it once more.
    (query.checkpoint / "commits" / "1").unlink()
    (query.checkpoint / "commits" / ".1.crc").unlink()
    query.add("3", "d")
    query.run()
    assert sorted(query.values()) == ["a", "b", "c", "d"]
    # Another checkpoint is another query, whose batches are counted anew.
    shutil.rmtree(query.checkpoint)
    query.run()
    assert sorted(query.values()) == sorted([*"abcd", *"abcd"])


def test_a_stream_has_all_columns(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "logs"
    orders(spark, 50, 1).write.parquet(str(source))
    frame = spark.readStream.schema(orders(spark, 1).schema).parquet(str(source))
    writer = frame.writeStream.format("kafkacomp").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(target))
    query.awaitTermination(120)
    columns = ["topic", "timestamp", "key", "value", "headers"]
    wanted = orders(spark, 50).withColumn("key", f.col("key").cast("binary")).select(columns)
    assert _sorted(spark.createDataFrame(table(target).select(columns))) == _sorted(wanted)


def test_a_stream_fails_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    query.add("1", "a")
    query.run()
    partition = query.target / "t-0"
    partition.rename(tmp_path / "away")
    partition.touch()  # a file where the folder was
    query.add("2", "b")
    with pytest.raises(PySparkException, match=r"Not a directory.*t-0"):
        query.run()
    partition.unlink()
    (tmp_path / "away").rename(partition)
    query.run()
    assert query.values() == ["a", "b"]


def test_a_stream_needs_a_checkpoint_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "all"))
    try:
        frame = spark.readStream.format("text").load(str(tmp_path))
        query = frame.writeStream.format("kafkacomp").option("topic", "t").start(str(tmp_path / "logs"))
        with pytest.raises(PySparkException, match="no checkpointLocation: give the query this option"):
            (tmp_path / "1").write_text("a\n")
            query.awaitTermination(60)
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")


def test_state_is_readable(spark: SparkSession, tmp_path: Path) -> None:
    save(orders(spark, 10), tmp_path)
    state = json.loads((tmp_path / ".kafkacomp-commit").read_text())
    assert state == {"version": 1, "generation": 2, "pending": None, "batches": {}}
