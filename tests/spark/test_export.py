"""``kafkacomp.spark.export``: the Parquet that Spark writes of the data source, without its rows in the JVM."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import broadcast

import kafkacomp as kc
from kafkacomp.spark import _export, export
from kafkacomp.spark._export_commit import begin
from kafkacomp.spark._plan import plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "modern"
CASES = ("txn-open", "aiokafka-lz4", "special-times", "compact", "java-not-idempotent")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log folder with several topics: transactions, headers, tombstones, compaction, times at the edges."""
    folder = tmp_path / "logs"
    for case in CASES:
        for each in (VECTORS / case).glob(f"{case}-[0-9]"):
            shutil.copytree(each, folder / each.name)
    return folder


def rows(frame: DataFrame) -> list[str]:
    """The rows, sorted; times as numbers, because those of Python end at the year 9999."""
    columns = [f"unix_micros({name})" if name == "timestamp" else name for name in sorted(frame.columns)]
    return sorted(map(str, frame.selectExpr(*columns).toArrow().to_pylist()))


def source(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("kafkacomp").options(**options).load(str(path))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, {}),
        ({"options": {"includeHeaders": True, "splitSize": "5k"}}, {"includeHeaders": "true"}),
        ({"isolation_level": "read_committed", "parquet_compression": "snappy"}, {"isolationLevel": "read_committed"}),
        ({"partition_by": ["topic", "partition"]}, {}),
        ({"partition_by": "compressionType", "columns": ["offset", "compressionType", "isControl", "segment"]}, {}),
    ],
)
def test_equals_what_spark_writes(
    spark: SparkSession, logs: Path, tmp_path: Path, arguments: dict[str, Any], options: dict[str, str]
) -> None:
    """Read by Spark, the rows and the types are those of ``df.write.parquet`` of the data source."""
    if "columns" in arguments:
        options = {**options, "columns": ",".join(arguments["columns"])}
    folders = arguments.get("partition_by", ())
    # Not INT96, the default: it does not have all times.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    writer = source(spark, logs, **options).write
    writer = writer.partitionBy(folders) if folders else writer
    writer.parquet(str(tmp_path / "spark"))
    done = export(spark, logs, tmp_path / "ours", **arguments)
    wanted, found = (spark.read.parquet(str(tmp_path / name)) for name in ("spark", "ours"))
    assert found.schema == wanted.schema
    expected = rows(wanted)
    assert rows(found) == expected
    assert len(expected) > 1000
    files = list((tmp_path / "ours").rglob("*.parquet"))
    assert (done.files, done.rows) == (len(files), len(expected))
    assert done.bytes == sum(path.stat().st_size for path in files)
    assert not done.skipped
    assert {each.reason for each in done.missing} <= {"compacted"}
    layouts = [
        {str(path.relative_to(tmp_path / name).parent) for path in (tmp_path / name).rglob("*.parquet")}
        for name in ("spark", "ours")
    ]
    assert layouts[0] == layouts[1]
    codec = {pq.ParquetFile(path).metadata.row_group(0).column(0).compression for path in files}
    assert codec == {arguments.get("parquet_compression", "zstd").upper()}
    # Others read it, too.
    assert ds.dataset(tmp_path / "ours", partitioning="hive").count_rows() == len(expected)


def test_bounds_and_topics(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    options: dict[str, object] = {
        "assign": {"txn-open": [0]},
        "startingOffsets": {"txn-open": {"0": 100}},
        "endingOffsets": '{"txn-open": {"0": 300}}',
    }
    export(spark, [logs / "txn-open-0"], tmp_path / "out", columns=["offset", "topic"], options=options)
    found = pq.read_table(tmp_path / "out")
    wanted = pa.table(kc.scan(logs / "txn-open-0", columns=["offset", "topic"], start_offset=100, end_offset=300))
    assert found.to_pylist() == wanted.to_pylist()


def test_save_modes(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    one, other = logs / "txn-open-0", logs / "compact-0"
    counts = [pa.table(kc.scan(path, columns=["offset"])).num_rows for path in (one, other)]
    export(spark, one, target, columns=["offset"])
    with pytest.raises(FileExistsError, match="save_mode append or overwrite"):
        export(spark, other, target, columns=["offset"])
    export(spark, other, target, columns=["offset"], save_mode="append")
    assert spark.read.parquet(str(target)).count() == sum(counts)
    export(spark, other, target, columns=["offset"], save_mode="overwrite")
    assert spark.read.parquet(str(target)).count() == counts[1]
    # Over what Spark wrote, which has checksums of its own next to the files.
    source(spark, one, columns="offset").write.mode("overwrite").parquet(str(target))
    export(spark, other, target, columns=["offset"], save_mode="overwrite")
    assert spark.read.parquet(str(target)).count() == counts[1]


def test_an_empty_source_has_the_columns(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "t-0"
    log.mkdir(parents=True)
    (log / f"{0:020}.log").touch()
    done = export(spark, log, tmp_path / "out", options={"includeHeaders": True, "mode": "PERMISSIVE"})
    assert (done.files, done.rows) == (1, 0)
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.schema == source(spark, log, includeHeaders="true", mode="PERMISSIVE").schema
    assert frame.count() == 0
    export(spark, log, tmp_path / "folders", partition_by="topic")
    assert sorted(path.name for path in (tmp_path / "folders").glob("[!.]*")) == ["_SUCCESS"]


def damaged(folder: Path) -> Path:
    """A log of three segments of which one has a byte flipped and one is gone."""
    table = pa.table({"value": [b"%d" % n * 50 for n in range(3000)]})
    log = Path(kc.write(table, folder, topic="t", compression_type="none", batch_bytes=2000, segment_bytes=50_000).path)
    segments = sorted(log.glob("*.log"))
    content = bytearray(segments[0].read_bytes())
    content[5000] ^= 1
    segments[0].write_bytes(content)
    for path in log.glob(f"{segments[2].stem}.*"):
        path.unlink()
    return log


def test_corrupt_logs(spark: SparkSession, tmp_path: Path) -> None:
    log, target = damaged(tmp_path / "logs"), tmp_path / "out"
    segments = sorted(log.glob("*.log"))
    with pytest.raises(PySparkException, match=rf"{segments[0].name}: record batch at byte "):
        export(spark, log, target, allow_missing=True)
    assert {path.name for path in target.iterdir()} == {".kafkacomp-lock"}
    # What is missing is an error once all files are there, and the error has the result.
    with pytest.raises(kc.DataLossError, match=r"skipped: .*missing: t-0: offsets .*\(gap\)") as caught:
        export(spark, log, target, options={"mode": "DROPMALFORMED"})
    done = caught.value.report
    (skipped,) = done.skipped
    assert (skipped.file, skipped.reason) == (str(segments[0]), "corrupt")
    lost = [(each.first_offset, each.last_offset) for each in done.missing if each.reason == "gap"]
    assert lost
    offsets = {row.offset for row in spark.read.parquet(str(target)).select("offset").collect()}
    gone = {n for first, last in lost for n in range(first, last + 1)}
    assert skipped.first_offset is not None
    assert skipped.last_offset is not None
    gone |= set(range(skipped.first_offset, skipped.last_offset + 1))
    assert offsets == set(range(3000)) - gone
    done = export(spark, log, target, save_mode="overwrite", allow_missing=True, options={"mode": "PERMISSIVE"})
    assert done.rows == len(offsets) + 1
    (row,) = spark.read.parquet(str(target)).where("_corrupt_record is not null").collect()
    assert json.loads(row._corrupt_record)["position"] == skipped.position
    # The loss file of a repaired log makes the same offsets known.
    kc.log.repair(log, tmp_path / "repaired" / "t-0")
    done = export(spark, tmp_path / "repaired", target, save_mode="overwrite")
    assert done.rows == len(offsets)
    assert {n for each in done.known_losses for n in range(each.first_offset, each.last_offset + 1)} == gone


def test_a_segment_that_vanishes_after_planning(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"value": [b"%d" % n for n in range(100)]})
    log = Path(kc.write(table, tmp_path / "logs", topic="t").path)

    def planned(*arguments: Any) -> Any:
        found = plan(*arguments)
        for path in log.iterdir():
            path.unlink()
        return found

    monkeypatch.setattr("kafkacomp.spark._export.plan", planned)
    done = export(spark, log, tmp_path / "out", allow_missing=True)
    assert [each.reason for each in done.skipped] == ["vanished"]
    assert done.rows == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"format": "csv"}, ValueError, "format must be"),
        ({"save_mode": "ignore"}, ValueError, "save_mode must be"),
        ({"parquet_compression": "lzo"}, ValueError, "parquet_compression must be"),
        ({"isolation_level": "serializable"}, ValueError, "isolationLevel must be one of"),
        ({"columns": "offset"}, TypeError, "columns must be a collection of names"),
        ({"columns": ["bogus"]}, ValueError, "unknown column 'bogus'"),
        (
            {"partition_by": ["headers"]},
            ValueError,
            "partition_by: unknown column 'headers': expected some of key, value",
        ),
        ({"partition_by": ["value"]}, ValueError, "column 'value' cannot become folders: expected some of topic, par"),
        ({"partition_by": ["topic", "topic"]}, ValueError, "partition_by: column 'topic' is given twice"),
        ({"partition_by": "topic", "columns": ["topic"]}, ValueError, "leave at least one for the files"),
        ({"options": {"bogus": 1}}, ValueError, "unknown option 'bogus'"),
        (
            {"options": {"columns": "offset"}},
            ValueError,
            "columns is not an option of export: use the argument columns",
        ),
        ({"options": {"Path": "x"}}, ValueError, "Path is not an option of export: use the argument source"),
        ({"options": {"failOnDataLoss": False}}, ValueError, "not an option of export: use the argument allow_missing"),
        ({"options": {"filterPushdown": True}}, ValueError, "filterPushdown is not an option of export"),
        ({"options": {"maxOffsetsPerTrigger": 5}}, ValueError, "is an option of spark.readStream"),
        ({"target": "s3://bucket/x"}, ValueError, "is a URL: exports are written to a local path"),
        ({"source": "missing"}, FileNotFoundError, "missing"),
        ({"target": __file__}, NotADirectoryError, "Not a directory"),
    ],
)
def test_bad_arguments(
    spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    target = tmp_path / "new"
    with pytest.raises(error, match=message):
        export(spark, **{"source": VECTORS / "txn-open" / "txn-open-0", "target": target} | arguments)
    assert not target.exists()


def test_a_target_in_a_log_is_refused(spark: SparkSession, logs: Path) -> None:
    before = sorted(logs.rglob("*"))
    for target in (logs, logs / "txn-open-0"):
        with pytest.raises(OSError, match=r"Parquet|partition"):
            export(spark, logs, target, save_mode="overwrite")
    assert sorted(logs.rglob("*")) == before


def test_no_row_becomes_a_row_of_the_jvm(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """Of the whole export Spark sees a row a task."""
    reading = _export._read_options(logs, None, "read_uncommitted", {"splitSize": "5k"})
    tasks = plan(reading)
    assert len(tasks) > len(CASES)
    job = _export._Job(reading, begin(tmp_path), (), "zstd")
    attempts = _export._run(spark, tasks, job)
    assert len(attempts) == len(tasks)
    assert sum(attempt.rows for attempt in attempts) == source(spark, logs, columns="offset").count()
    numbers = spark.range(0, 7, 1, 7).join(
        broadcast(spark.createDataFrame([(n,) for n in range(7)], "id bigint")), "id"
    )
    assert [len(rows) for rows in numbers.rdd.glom().collect()] == [1] * 7, "one split a task"
