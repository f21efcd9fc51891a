"""``spark.read.format("kafkacomp")``: what Spark shows is what Kafka's consumer read."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException

import kafkacomp as kc
from golden.expect import (
    Expected,
    from_base64,
    modern_batches,
    modern_records,
    read_json_lines,
    shorten,
)
from kafkacomp.spark import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODERN = [
    "aiokafka-lz4",
    "compact",
    "compact-txn",
    "java-not-idempotent",
    "kafkajs-snappy",
    "logappendtime-recompressed",
    "one-byte-values",
    "single-record-batches",
    "special-times",
    "topic-gzip-from-lz4",
    "txn-open",
]
LEGACY = [
    "broker-0.8.2.2/sp-gzip",
    "broker-0.8.2.2/sp-none",
    "broker-0.8.2.2/sp-snappy",
    "broker-0.9.0.1/sp-gzip",
    "broker-0.9.0.1/sp-snappy",
    "broker-0.10.0.1/ct-lz4",
    "broker-0.10.0.1/lat-none",
    "broker-0.10.0.1/v0lat-snappy",
    "broker-0.11.0.3/f0901103-lz4",
    "broker-0.11.0.3/ct01103-snappy",
    "upgrade/4-after-1.1.1/up-lz4",
]
NO_TIME = None
# Spark's timestamps are microseconds; a time beyond them is the last one there is.
LAST_MICROSECOND = 2**63 - 1


def load(spark: SparkSession, *paths: Path | str, **options: str) -> DataFrame:
    reader = spark.read.format("kafkacomp").options(**options)
    return reader.load([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))


def rows(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Rows by topic in the order of offsets, timestamps in microseconds."""
    table = frame.toArrow()
    index = table.schema.get_field_index("timestamp")
    table = table.set_column(index, "timestamp", table.column(index).cast(pa.int64()))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(table.to_pylist(), key=lambda each: each["offset"]):
        found.setdefault(row["topic"], []).append(row)
    return found


def expected_row(topic: str, record: Expected) -> dict[str, Any]:
    return {
        "key": record.key,
        "value": record.value,
        "topic": topic,
        "partition": 0,
        "offset": record.offset,
        "timestamp": max(-LAST_MICROSECOND - 1, min(record.timestamp * 1000, LAST_MICROSECOND)),
        "timestampType": record.timestamp_type,
        "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
    }


def test_rows_are_the_consumers(spark: SparkSession, small_vectors: Path) -> None:
    """Every codec, headers, tombstones, compaction, LogAppendTime, times at the edges."""
    folders = [small_vectors / "modern" / case / f"{case}-0" for case in MODERN]
    found = rows(load(spark, *folders, includeHeaders="true"))
    everything = []
    for case, folder in zip(MODERN, folders, strict=True):
        records = modern_records(folder.with_name(folder.name + ".expect") / "expected.jsonl.gz")
        for row in found[case]:
            row["value"] = shorten(row["value"])
        assert found[case] == [expected_row(case, record) for record in records], case
        everything += records
    assert any(record.headers for record in everything)
    assert any(record.value is None for record in everything)


def test_legacy_rows(spark: SparkSession, small_vectors: Path, tmp_path: Path) -> None:
    """Magic 0 and 1, and all three in one segment, from brokers 0.8.2 to 1.1."""
    for name in LEGACY:
        folder = tmp_path / f"{name.replace('/', '_')}-0"
        folder.mkdir()
        shutil.copyfile(small_vectors / "legacy" / f"{name}.log", folder / f"{'0' * 20}.log")
    found = rows(load(spark, tmp_path, columns="key,value,topic,offset,timestamp,timestampType,magic"))
    magics = set()
    for name in LEGACY:
        topic = name.replace("/", "_")
        lines = list(read_json_lines(small_vectors / "legacy" / f"{name}.expected.jsonl.gz"))
        wanted = [
            {
                "key": from_base64(line["key"]),
                "value": from_base64(line["value"]),
                "topic": topic,
                "offset": line["offset"],
                "timestamp": NO_TIME if line["timestamp"] == -1 else line["timestamp"] * 1000,
                "timestampType": {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}[line["timestampType"]],
                "magic": line["magic"],
            }
            for line in lines
        ]
        assert found[topic] == wanted, name
        magics |= {line["magic"] for line in lines}
    assert magics == {0, 1, 2}


@pytest.mark.parametrize("option", ["isolationLevel", "kafka.isolation.level"])
def test_read_committed(spark: SparkSession, small_vectors: Path, option: str) -> None:
    """An open transaction, aborted ones that lie in two segments, markers of a later epoch: two tasks, one answer."""
    cases = ["txn-open", "compact-txn"]
    folders = [small_vectors / "modern" / case / f"{case}-0" for case in cases]
    frame = load(spark, *folders, includeHeaders="true", **{option: "read_committed"})
    found = rows(frame)
    for case, folder in zip(cases, folders, strict=True):
        path = folder.with_name(folder.name + ".expect") / "expected_read_committed.jsonl.gz"
        assert found[case] == [expected_row(case, record) for record in modern_records(path)]
    assert frame.rdd.getNumPartitions() > len(cases)


def test_columns_of_the_kafka_source(spark: SparkSession, small_vectors: Path) -> None:
    frame = load(spark, small_vectors / "modern" / "kafkajs-snappy")
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    with_headers = load(spark, small_vectors / "modern" / "kafkajs-snappy", includeHeaders="true")
    assert with_headers.dtypes[7:] == [("headers", "array<struct<key:string,value:binary>>")]


def test_every_column(spark: SparkSession, small_vectors: Path) -> None:
    """All columns that a scan has come through Spark as they are."""
    from kafkacomp.arrow import COLUMNS  # noqa: PLC0415 - its only use

    folder = small_vectors / "modern" / "txn-open"
    table = load(spark, folder, columns=",".join(COLUMNS)).orderBy("offset").toArrow()
    wanted = pa.table(kc.scan(folder, columns=COLUMNS, options=kc.ScanOptions(timestamp_unit="us")))
    assert table.to_pylist() == wanted.to_pylist()


def test_schema_chooses_columns(spark: SparkSession, small_vectors: Path) -> None:
    reader = spark.read.format("kafkacomp").schema("value binary, offset bigint")
    frame = reader.load(str(small_vectors / "modern" / "kafkajs-snappy"))
    assert frame.columns == ["value", "offset"]
    assert frame.selectExpr("sum(offset) AS s").collect()[0]["s"] == sum(range(500))
    with pytest.raises(PySparkException, match="the schema has an unknown column 'valeu': expected key, value,"):
        spark.read.format("kafkacomp").schema("valeu binary").load(str(small_vectors / "modern")).count()


def test_offsets(spark: SparkSession, small_vectors: Path) -> None:
    folder = small_vectors / "modern" / "txn-open"
    start, end = (json.dumps({"txn-open": {"0": offset}}) for offset in (700, 800))
    frame = load(spark, folder, columns="offset", startingOffsets=start, endingOffsets=end)
    records = modern_records(folder / "txn-open-0.expect" / "expected.jsonl.gz")
    wanted = [record.offset for record in records if 700 <= record.offset < 800]
    assert [row.offset for row in frame.orderBy("offset").collect()] == wanted
    beyond = {"startingOffsets": json.dumps({"txn-open": {"0": 5000}}), "failOnDataLoss": "false"}
    assert load(spark, folder, columns="offset", **beyond).count() == 0


def test_topic_and_partition_of_a_lone_segment(spark: SparkSession, small_vectors: Path, tmp_path: Path) -> None:
    lone = tmp_path / "captured.log"
    folder = small_vectors / "modern" / "kafkajs-snappy" / "kafkajs-snappy-0"
    shutil.copyfile(folder / f"{'0' * 20}.log", lone)
    frame = load(spark, lone, columns="topic,partition", topic="orders", partition="7").distinct()
    assert [tuple(row) for row in frame.collect()] == [("orders", 7)]


def test_unknown_option(spark: SparkSession, small_vectors: Path) -> None:
    with pytest.raises(AnalysisException, match=r"unknown option 'startoffset': expected path, .*maxOutputSize"):
        load(spark, small_vectors / "modern" / "kafkajs-snappy", startoffset="5")


def test_missing_path(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"No such file or directory: '.*nowhere'"):
        load(spark, tmp_path / "nowhere").count()
    with pytest.raises(PySparkException, match="no Kafka log segments in this folder"):
        load(spark, tmp_path).count()


def test_corrupt_segment_failfast(spark: SparkSession, small_vectors: Path) -> None:
    """The driver's error begins with the file and the byte."""
    case = "damaged-restarts-flipped-body"
    folder = small_vectors / "modern" / case
    (lines, _) = modern_batches(folder / f"{case}-0" / f"{'0' * 20}.log")
    (position,) = (line["position"] for line in lines if not line["valid"])
    with pytest.raises(PySparkException) as caught:
        load(spark, folder).count()
    # Spark puts a line of its own in front, and 4.0 an empty one before that.
    first = " ".join(str(caught.value).strip().splitlines()[:2])
    assert re.search(rf"CorruptRecordError: /\S+/{'0' * 20}\.log: record batch at byte {position} is corrupt", first)


def test_corrupt_segment_dropmalformed(spark: SparkSession, small_vectors: Path) -> None:
    case = "damaged-restarts-flipped-body"
    folder = small_vectors / "modern" / case
    lines, _ = modern_batches(folder / f"{case}-0" / f"{'0' * 20}.log")
    (bad,) = (line for line in lines if not line["valid"])
    records = modern_records(small_vectors / "modern" / "restarts" / "restarts-0.expect" / "expected.jsonl.gz")
    wanted = [r.offset for r in records if not bad["baseOffset"] <= r.offset <= bad["lastOffset"]]
    frame = load(spark, folder, mode="DROPMALFORMED", columns="offset")
    assert [row.offset for row in frame.orderBy("offset").collect()] == wanted
    assert len(wanted) < len(records)


def test_output_limit(spark: SparkSession, small_vectors: Path) -> None:
    with pytest.raises(PySparkException, match=r"OutputLimitError: .*byte"):
        load(spark, small_vectors / "modern" / "aiokafka-lz4", maxOutputSize="1k").count()


def test_limit_stops_early(spark: SparkSession, small_vectors: Path) -> None:
    """A query that wants few rows closes the scan; the session goes on."""
    folder = small_vectors / "modern" / "single-record-batches"
    assert len(load(spark, folder).limit(3).collect()) == 3
    assert load(spark, folder, columns="offset").count() > 3


def test_register(spark: SparkSession, small_vectors: Path) -> None:
    register(spark)
    assert load(spark, small_vectors / "modern" / "kafkajs-snappy", columns="offset").count() == 500


def test_demo(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo's data are what Kafka read, and its check notices when they are not."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    demo = importlib.import_module("demo")

    expected = json.loads((demo.DATA / "expected.json").read_text(encoding="utf-8"))
    everything = {(broker, topic): about for broker, topics in expected.items() for topic, about in topics.items()}
    demo.read(spark, [demo.DATA / broker for broker in expected]).createOrReplaceTempView("demo_records")
    assert demo.check(spark, "demo_records", everything) == 0
    everything["kafka-4.3.1", "sarama-lz4"]["sha256"] = "0" * 64
    assert demo.check(spark, "demo_records", everything) == 1
    assert "MISMATCH  kafka-4.3.1/sarama-lz4: sha256" in capsys.readouterr().out


def test_pieces_in_spark(spark: SparkSession, small_vectors: Path) -> None:
    """A transaction that spans pieces; a piece is a task, and its records keep their order."""
    folder = small_vectors / "modern" / "txn-open"
    frame = load(spark, folder, isolationLevel="read_committed", splitSize="5k", includeHeaders="true")
    path = folder / "txn-open-0.expect" / "expected_read_committed.jsonl.gz"
    assert frame.rdd.getNumPartitions() > 5
    assert [row.offset for row in frame.select("offset").collect()] == [each.offset for each in modern_records(path)]
    assert rows(frame)["txn-open"] == [expected_row("txn-open", record) for record in modern_records(path)]


@pytest.mark.parametrize("name", ["_corrupt_record", "damage"])
def test_corrupt_segment_permissive(spark: SparkSession, small_vectors: Path, name: str) -> None:
    """Damage is a row that says where it is; without the column for it, it is left out."""
    case = "damaged-restarts-flipped-body"
    folder = small_vectors / "modern" / case
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": name}
    frame = load(spark, folder, **options)
    assert frame.columns[-1] == name
    (damaged,) = frame.where(f"{name} is not null").collect()
    text = json.loads(damaged[name])
    lines, _ = modern_batches(folder / f"{case}-0" / f"{'0' * 20}.log")
    (bad,) = (line for line in lines if not line["valid"])
    assert text["position"] == bad["position"]
    assert text["segment"].endswith(f"{case}-0/{'0' * 20}.log")
    assert text["reason"] == "corrupt"
    assert "is corrupt" in text["message"]
    assert (damaged.topic, damaged.partition, damaged.offset, damaged.value) == (case, 0, None, None)
    dropped = load(spark, folder, mode="DROPMALFORMED").count()
    assert frame.where(f"{name} is null").count() == dropped > 0
    assert load(spark, folder, columns="offset", **options).count() == dropped
    schema = f"{name} string, offset long"
    chosen = spark.read.format("kafkacomp").options(**options).schema(schema).load(str(folder))
    assert [row[0] for row in chosen.where("offset is null").collect()] == [damaged[name]]
    assert load(spark, folder, columns=name, **options).count() == dropped + 1


@pytest.mark.spark_since("4.1")
def test_filters_of_the_query(spark: SparkSession, small_vectors: Path, tmp_path: Path) -> None:
    """Rows are those that Spark's own evaluation leaves; files that a filter rules out are not opened."""
    folder = small_vectors / "modern" / "txn-open" / "txn-open-0"
    whole = pa.table(kc.scan(folder, options=kc.ScanOptions(timestamp_unit="us")))
    middle = whole["timestamp"][800].as_py()
    switch = "spark.sql.python.filterPushdown.enabled"
    with pytest.raises(PySparkException, match=switch):
        load(spark, folder, filterPushdown="true").where("offset > 5").count()
    spark.conf.set(switch, "true")
    try:
        frame = load(spark, folder, filterPushdown="true", columns="topic,partition,offset,timestamp")
        for condition, column in (
            ("offset >= 700 and offset < 800", "offset"),
            ("offset in (5, 900) and topic = 'txn-open'", "offset"),
            ("offset <=> 5 or offset = 7", "offset"),
            (f"timestamp > timestamp'{middle.isoformat()}'", "timestamp"),
            (f"timestamp <= timestamp'{middle.isoformat()}' and partition in (0, 3)", "timestamp"),
            ("topic = 'orders'", "topic"),
            ("partition = 1", "partition"),
        ):
            plain = load(spark, folder, columns="topic,partition,offset,timestamp").where(condition)
            assert frame.where(condition).collect() == plain.collect(), column
        copy = tmp_path / folder.name
        shutil.copytree(folder, copy)
        (copy / f"{'0' * 20}.log").write_bytes(b"no batch at all, which would be an error " * 10)
        frame = load(spark, tmp_path, filterPushdown="true", columns="offset")
        assert [row.offset for row in frame.where("offset >= 758").collect()] == [
            each for each in whole["offset"].to_pylist() if each >= 758
        ]
        with pytest.raises(PySparkException, match="CorruptRecordError"):
            frame.where("offset >= 757").collect()
    finally:
        spark.conf.unset(switch)


def test_errors_of_a_plan_are_the_drivers(spark: SparkSession, small_vectors: Path) -> None:
    """What is asked for and cannot be had is said before any task starts, with what and where."""
    folder = small_vectors / "modern" / "txn-open"
    for options, message in (
        (
            {"startingOffsets": '{"txn-open": {"0": 5000}}'},
            r"offset 5000 of txn-open-0 is out of range: the log ends at",
        ),
        ({"startingOffsets": '{"txn-open": {"0": 5000}'}, "startingOffsets must be earliest, latest or JSON like"),
        ({"subscribe": "orders"}, "subscribe: the source does not have orders: expected some of txn-open"),
        ({"startingTimestamp": "9000000000000"}, "txn-open-0 has no record with the starting timestamp 9000000000000"),
        ({"maxOffsetsPerTrigger": "5"}, r"maxOffsetsPerTrigger is an option of spark\.readStream, not of spark\.read"),
    ):
        with pytest.raises(PySparkException) as caught:
            load(spark, folder, columns="offset", **options).count()
        assert re.search(message, str(caught.value).splitlines()[0])
    with pytest.raises(PySparkException, match=r"nothing matches this path: '.*/modern/refunds-\*'"):
        load(spark, small_vectors / "modern" / "refunds-*").count()
