"""The options of the data source, without starting Spark."""

from __future__ import annotations

import inspect
import pickle
import struct
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

import kafkacomp as kc
from kafkacomp.arrow import COLUMNS
from kafkacomp.spark import KafkaCompDataSource
from kafkacomp.spark._bounds import EARLIEST, LATEST
from kafkacomp.spark._options import OPTIONS, parse
from kafkacomp.spark._plan import SegmentPartition
from kafkacomp.spark._read import KafkaCompReader
from kafkacomp.spark._schema import TYPES, struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def tasks(path: Path | str, **options: str) -> list[SegmentPartition]:
    source = KafkaCompDataSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    assert isinstance(reader, KafkaCompReader)
    found = [each for each in reader.partitions() if isinstance(each, SegmentPartition)]
    assert len(found) == len(reader.partitions())
    return found


def test_schema_is_exactly_what_spark_makes_of_it(small_vectors: Path) -> None:
    """Spark 4.2 and later compare the schemas, older ones crash in the JVM when they differ."""
    assert tuple(TYPES) == COLUMNS
    # Before 4.1 the time zone is no argument, but UTC.
    utc: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    wanted = to_arrow_schema(struct_of(COLUMNS), **utc)
    found = next(
        kc.scan(small_vectors / "modern" / "txn-open", columns=COLUMNS, options=kc.ScanOptions(timestamp_unit="us"))
    ).schema
    assert found.equals(wanted)
    assert found.field("headers").type.field(0).equals(wanted.field("headers").type.field(0))
    assert found.field("timestamp").type == pa.timestamp("us", tz="UTC")


def test_import_of_kafkacomp_needs_no_pyspark() -> None:
    program = "import sys, kafkacomp; sys.exit(bool({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_options_in_any_case_and_defaults() -> None:
    options = parse({"PATH": "a", "STARTINGoffsets": "Earliest", "MODE": "dropMalformed", "MaxOutputSize": "64m"})
    assert options.on_error == "skip"
    assert options.max_output_size == 64 << 20
    options = parse({"path": "a", "paths": '["b", "file:/c"]'})
    assert options.paths == ("a", "b", "/c")
    assert options.columns == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    assert (options.on_error, options.isolation_level, options.max_output_size) == (
        "raise",
        "read_uncommitted",
        256 << 20,
    )
    assert parse({"path": "a", "includeHeaders": "true"}).columns == COLUMNS[:8]
    assert parse({"path": "a", "columns": "offset, value"}).columns == ("offset", "value")
    assert parse({"path": "a", "kafka.isolation.level": "read_committed"}).isolation_level == "read_committed"


def test_offsets_are_those_of_spark_kafka_source() -> None:
    text = '{"a": {"0": 23, "1": %d}}'
    options = parse({"path": "p", "startingOffsets": text % -2, "endingOffsets": text % -1})
    assert options.starting_offsets == {("a", 0): 23, ("a", 1): EARLIEST}
    assert options.ending_offsets == {("a", 0): 23, ("a", 1): LATEST}
    options = parse({"path": "p", "startingOffsets": "earliest", "endingOffsets": "Latest"})
    assert (options.starting_offsets, options.ending_offsets) == (EARLIEST, LATEST)


def test_streams_have_options_of_their_own() -> None:
    options = parse({"path": "p", "startingOffsets": "latest", "maxOffsetsPerTrigger": "5"}, streaming=True)
    assert (options.starting_offsets, options.max_offsets_per_trigger) == (LATEST, 5)
    assert options.fail_on_data_loss
    with pytest.raises(ValueError, match=r"endingOffsets is an option of spark\.read, not of spark\.readStream"):
        parse({"path": "p", "endingOffsets": "latest"}, streaming=True)
    with pytest.raises(ValueError, match=r"maxOffsetsPerTrigger is an option of spark\.readStream, not of spark\.read"):
        parse({"path": "p", "maxOffsetsPerTrigger": "5"})
    # The schema of both is asked for in the same way.
    assert parse({"path": "p", "maxOffsetsPerTrigger": "5", "endingOffsets": "latest"}, streaming=None).columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bogus": "1"}, "unknown option 'bogus': expected path, "),
        ({"columns": "offset,valeu"}, "columns: unknown column 'valeu': expected some of key, "),
        ({"columns": "offset,offset"}, "column 'offset' is given twice"),
        ({"columns": ""}, "unknown column ''"),
        ({"topic": ""}, "topic must be the name of a topic"),
        ({"columns": "offset", "includeHeaders": "true"}, "columns and includeHeaders disagree"),
        ({"includeHeaders": "yes"}, "includeHeaders must be one of true, false, not 'yes'"),
        ({"startingOffsets": "latest"}, r"startingOffsets cannot be latest \(-1\)"),
        ({"endingOffsets": "earliest"}, r"endingOffsets cannot be earliest \(-2\)"),
        ({"startingOffsets": '{"a": {"0": -1}}'}, r"startingOffsets of a-0 cannot be latest \(-1\)"),
        ({"endingOffsets": '{"a": {"0": -2}}'}, r"endingOffsets of a-0 cannot be earliest \(-2\)"),
        ({"startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets must be"),
        ({"startingOffsets": '{"a": {"0": "1"}}'}, "startingOffsets must be"),
        ({"startingOffsets": '{"a": {"x": 1}}'}, "startingOffsets must be"),
        ({"startingOffsets": '{"a": 5}'}, "startingOffsets must be"),
        ({"endingOffsets": "[1]"}, "endingOffsets must be"),
        ({"endingOffsets": "5"}, "endingOffsets must be"),
        ({"endingOffsets": "tomorrow"}, "endingOffsets must be"),
        ({"isolationLevel": "serializable"}, "isolationLevel must be one of read_uncommitted, read_committed"),
        ({"isolationLevel": "read_committed", "kafka.isolation.level": "read_uncommitted"}, "disagree"),
        ({"mode": "LENIENT"}, "mode must be one of FAILFAST, DROPMALFORMED, PERMISSIVE, not 'LENIENT'"),
        ({"columnNameOfCorruptRecord": "value"}, "columnNameOfCorruptRecord: 'value' is the name of another column"),
        ({"splitSize": "0"}, "splitSize must be a size"),
        ({"splitSize": "1.5m"}, "splitSize must be a size"),
        ({"filterPushdown": "1"}, "filterPushdown must be one of true, false, not '1'"),
        ({"failOnDataLoss": ""}, "failOnDataLoss must be one of true, false"),
        ({"startingTimestamp": "-1"}, "startingTimestamp must be a number from 0"),
        ({"endingTimestamp": "2026-01-01"}, "endingTimestamp must be a number from 0"),
        ({"startingOffsetsByTimestamp": "5"}, "startingOffsetsByTimestamp must be JSON like"),
        ({"endingOffsetsByTimestamp": '{"a": {"0": -1}}'}, "endingOffsetsByTimestamp must be JSON like"),
        ({"startingOffsetsByTimestampStrategy": "none"}, "Strategy must be one of error, latest"),
        ({"subscribe": "a,"}, "subscribe must be names of topics separated by commas, not 'a,'"),
        ({"subscribe": "a", "assign": '{"a": [0]}'}, "subscribe and assign cannot be given together"),
        ({"topic": "a", "subscribePattern": "a"}, "topic and subscribePattern cannot be given together"),
        ({"subscribePattern": "("}, r"subscribePattern '\(' is not a regular expression: missing \)"),
        ({"assign": "{}"}, "assign must be JSON like"),
        ({"assign": '{"a": [true]}'}, "assign must be JSON like"),
        ({"assign": "[" * 100_000}, "assign must be JSON like"),
        ({"endingOffsets": '{"a": {"\u0663": 1}}'}, "endingOffsets must be"),
        ({"maxOutputSize": "0"}, "maxOutputSize must be a size"),
        ({"maxOutputSize": "4g"}, "maxOutputSize must be a size"),
        ({"maxOutputSize": "much"}, "maxOutputSize must be a size"),
        ({"partition": "-1"}, "partition must be a number"),
        ({"partition": "4294967296"}, "partition must be a number"),
        ({"paths": "a"}, "paths must be a JSON list"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse({"path": "p", **options})


def test_no_path() -> None:
    with pytest.raises(ValueError, match="no path"):
        parse({"topic": "t"})
    assert len(set(OPTIONS)) == len(OPTIONS)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (StructType([StructField("offzet", LongType())]), "the schema has an unknown column 'offzet'"),
        (StructType([StructField("value", StringType())]), "must declare column 'value' as binary, not string"),
        (StructType([StructField("offset", LongType(), nullable=False)]), "must declare column 'offset' as nullable"),
        (StructType([StructField("offset", LongType())] * 2), "the schema has column 'offset' twice"),
        (
            StructType(
                [StructField("headers", ArrayType(cast("ArrayType", TYPES["headers"]).elementType, containsNull=False))]
            ),
            "must declare all fields of column 'headers' as nullable",
        ),
        (StructType([]), "the schema is empty"),
    ],
)
def test_bad_schemas(schema: StructType, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KafkaCompDataSource({"path": "p"}).reader(schema)


def test_schema_and_columns_must_agree() -> None:
    source = KafkaCompDataSource({"path": "p", "columns": "offset"})
    with pytest.raises(ValueError, match="disagree"):
        source.reader(struct_of(["value"]))


def test_tasks_are_segments(small_vectors: Path) -> None:
    folder = small_vectors / "modern" / "txn-open"
    whole = tasks(folder)
    assert [each.partition.segments[0].base_offset for each in whole] == [0, 758]
    assert [[near.base_offset for near in each.partition.context] for each in whole] == [[758], [0]]
    assert [each.partition.segments[0].active for each in whole] == [False, True]
    committed = tasks(folder, isolationLevel="read_committed")
    assert all(each.partition.transactions for each in committed)
    late = tasks(folder, startingOffsets='{"txn-open": {"0": 758}}')
    assert [each.partition.segments[0].base_offset for each in late] == [758]
    early = tasks(folder, endingOffsets='{"txn-open": {"0": 758}}')
    assert [each.partition.segments[0].base_offset for each in early] == [0]
    assert tasks(folder, startingOffsets='{"txn-open": {"0": 0}}', endingOffsets='{"txn-open": {"0": 0}}') == []
    with pytest.raises(ValueError, match="txn-open-0: the starting offset 9 is after the ending offset 0"):
        tasks(folder, startingOffsets='{"txn-open": {"0": 9}}', endingOffsets='{"txn-open": {"0": 0}}')


def test_times_that_contradict_each_other(small_vectors: Path) -> None:
    with pytest.raises(ValueError, match="startingTimestamp 5 is after endingTimestamp 4"):
        tasks(small_vectors / "modern" / "txn-open", startingTimestamp="5", endingTimestamp="4")


def test_offsets_must_name_all_partitions(small_vectors: Path, tmp_path: Path) -> None:
    folder = small_vectors / "modern" / "txn-open"
    with pytest.raises(ValueError, match="startingOffsets has no txn-open-0; every partition"):
        tasks(folder, startingOffsets="{}")
    with pytest.raises(ValueError, match="endingOffsets names txn-open-1, which"):
        tasks(folder, endingOffsets='{"txn-open": {"0": 5, "1": 5}}')
    lone = tmp_path / "captured.log"
    lone.write_bytes((folder / "txn-open-0" / ("0" * 20 + ".log")).read_bytes())
    with pytest.raises(ValueError, match="give the options topic and partition"):
        tasks(lone, startingOffsets='{"t": {"0": 5}}')
    (task,) = tasks(lone, startingOffsets='{"t": {"0": 5}}', topic="t", partition="0")
    assert (task.partition.topic, task.partition.partition, task.start_offset) == ("t", 0, 5)


@pytest.mark.parametrize("scheme", ["", "file://", "file:", "local://"])
def test_tasks_pickle_and_read(scheme: str, small_vectors: Path) -> None:
    """What a task needs travels in it, for local files and for a file system that Python speaks to (fsspec)."""
    folder = small_vectors / "modern" / "kafkajs-snappy"
    source = KafkaCompDataSource({"path": f"{scheme}{folder}", "columns": "offset"})
    reader = pickle.loads(pickle.dumps(source.reader(source.schema())))  # noqa: S301 - our own
    (task,) = pickle.loads(pickle.dumps(reader.partitions()))  # noqa: S301 - our own
    assert sum(batch.num_rows for batch in reader.read(task)) == 500
    assert list(reader.read(InputPartition(None))) == []


def test_batches_are_small(small_vectors: Path) -> None:
    """A batch holds some 2 MB at most, whatever a segment holds."""
    for task in tasks(small_vectors / "modern" / "single-record-batches"):
        reader = KafkaCompDataSource({"path": "p"}).reader(struct_of(["value"]))
        sizes = [batch.nbytes for batch in reader.read(task) if isinstance(batch, pa.RecordBatch)]
        assert sizes
        assert max(sizes) <= 4 << 20


def test_format_of_the_logs(tmp_path: Path) -> None:
    """A log of Kafka 0.7 is found by its content; ``format`` is checked and reaches the scan."""
    folder = tmp_path / "old-0"
    folder.mkdir()
    message = struct.pack(">BBI", 1, 0, zlib.crc32(b"payload")) + b"payload"
    (folder / f"{0:020}.kafka").write_bytes(struct.pack(">i", len(message)) + message)
    source = KafkaCompDataSource({"path": str(folder), "columns": "value,offset"})
    for value in ("auto", "0.7"):
        reader = KafkaCompDataSource({"path": str(folder), "columns": "value,offset", "logFormat": value}).reader(
            source.schema()
        )
        (task,) = reader.partitions()
        rows = [row for batch in cast("Iterator[pa.RecordBatch]", reader.read(task)) for row in batch.to_pylist()]
        assert rows == [{"value": b"payload", "offset": len(message) + 4}]
    with pytest.raises(ValueError, match=r"logFormat.*0\.7"):
        parse({"path": str(folder), "logFormat": "0.6"})


def test_filters_need_a_spark_that_hands_them_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark 4.0 cannot; what it would ignore is an error there."""
    monkeypatch.delattr(DataSourceReader, "pushFilters", raising=False)
    source = KafkaCompDataSource({"path": "p", "filterPushdown": "true"})
    with pytest.raises(ValueError, match=r"filterPushdown needs PySpark 4\.1 or later, and .* is installed"):
        source.reader(source.schema())


@pytest.mark.parametrize("options", [{}, {"filterPushdown": "false"}])
def test_filters_are_not_asked_for_by_default(options: dict[str, str]) -> None:
    """Where Spark's own switch is off, a reader that overrides this makes every read fail."""
    source = KafkaCompDataSource({"path": "p", **options})
    assert type(source.reader(source.schema())) is KafkaCompReader
    assert "pushFilters" not in vars(KafkaCompReader)
