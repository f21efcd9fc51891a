"""``kafkacomp.spark``'s functions on columns, on every PySpark from 3.5 on."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it
from pyspark.sql.types import ArrayType, BinaryType, StructType

import kafkacomp as kc
import kafkacomp.spark
from kafkacomp.record import RecordBatchBuilder
from kafkacomp.spark import compress, decompress, parse_records, records, register

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

TYPES = [kind.name.lower() for kind in kc.CompressionType]
CONTENTS = [b"", b"a short one", b"longer " * 5000]


def record_set(count: int, *, kind: str = "lz4", magic: int = 2, base: int = 0) -> bytes:
    builder = RecordBatchBuilder(magic=magic, compression_type=kind, base_offset=base)
    for i in range(count):
        headers = [("h", b"v%d" % i)] if magic == 2 and i % 2 else ()
        builder.append(b"value %d" % i, key=None if i == 1 else b"k", timestamp=1_700_000_000_000 + i, headers=headers)
    return bytes(builder.build())


def broken(kind: str) -> bytes:
    return kc.compress(CONTENTS[2], kind)[:-9]


@pytest.fixture(scope="module")
def cells(spark: SparkSession) -> DataFrame:
    """Every codec and content, and rows with nulls; ``n`` is the content's place."""
    rows: list[tuple[Any, ...]] = [
        (n, kind, kc.CompressionType.for_name(kind).value, magic, kc.compress(content, kind, magic=magic))
        for kind in TYPES
        for n, content in enumerate(CONTENTS)
        for magic in ((0, 1, 2) if kind == "lz4" else (2,))
    ]
    rows += [(3, None, None, 2, b"x"), (3, "lz4", 3, 2, None), (3, "lz4", 3, None, kc.compress(b"", "lz4"))]
    return spark.createDataFrame(rows, "n int, codec string, id int, magic int, data binary").coalesce(1).cache()


def found(frame: DataFrame, column: Column) -> list[tuple[int, bytes | None]]:
    rows = frame.select("n", column.alias("found")).collect()
    return [(row.n, None if row.found is None else bytes(row.found)) for row in rows]


def wanted(n: int) -> bytes | None:
    return CONTENTS[n] if n < len(CONTENTS) else None


@pytest.mark.parametrize("types", ["codec", "id"])
def test_types_and_magics_from_columns(types: str, cells: DataFrame) -> None:
    rows = found(cells, decompress("data", F.col(types), magic=F.col("magic")))
    assert len(rows) == 24
    assert [content for _, content in rows] == [wanted(n) for n, _ in rows]
    packed = compress(decompress("data", F.col(types), magic=F.col("magic")), F.col(types), magic=F.col("magic"))
    sizes = cells.where("n < 3").select((F.length(packed) == F.length("data")).alias("same")).distinct().collect()
    assert [row.same for row in sizes] == [True]


@pytest.mark.parametrize("kind", TYPES)
def test_constants(kind: str, cells: DataFrame) -> None:
    mine = cells.where(f"codec = '{kind}' and magic = 2 and n < 3")
    by_name, by_id = decompress(F.col("data"), kind), decompress("data", kc.CompressionType.for_name(kind).value)
    rows = mine.select("n", by_name.alias("name"), by_id.alias("id")).collect()
    assert [bytes(row.name) for row in rows] == [bytes(row.id) for row in rows] == [wanted(row.n) for row in rows]


def test_levels(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("x" * 900, 1), ("x" * 900, None)], "text string, level int").coalesce(1)
    rows = frame.select(
        compress("text", "zstd", F.col("level")).alias("column"), compress("text", "zstd", 19).alias("constant")
    ).collect()
    content = b"x" * 900
    assert [bytes(row.column) for row in rows] == [
        kc.compress(content, "zstd", compression_level=1),
        kc.compress(content, "zstd"),
    ]
    assert [bytes(row.constant) for row in rows] == [kc.compress(content, "zstd", compression_level=19)] * 2


def test_bad_cells(spark: SparkSession) -> None:
    kinds = TYPES[1:]
    good = [(0, kind, kc.compress(CONTENTS[1], kind)) for kind in kinds]
    bad = [(1, kind, broken(kind)) for kind in kinds] + [(1, "lz5", b"x")]
    frame = spark.createDataFrame(good + bad, "n int, codec string, data binary").coalesce(1)
    rows = found(frame, decompress("data", F.col("codec"), mode="PERMISSIVE"))
    assert rows == [(0, CONTENTS[1])] * 4 + [(1, None)] * 5
    for _, kind, _ in bad:
        only = decompress("data", F.col("codec"), mode="FAILFAST")
        message = failure(frame.where(f"codec = '{kind}'").select(only).collect)
        what = f"invalid compression type '{kind}'" if kind == "lz5" else rf"{kind}: .* at byte \d+"
        row = 0 if kind == "lz5" else 1
        where = rf"kafkacomp\.spark\.decompress, in an Arrow batch of \d rows of partition 0: row {row}: {what}"
        assert_tells(message, where)


def failure(action: Callable[[], object]) -> str:
    with pytest.raises(PythonException) as caught:
        action()
    return str(caught.value)


def assert_tells(message: str, pattern: str) -> None:
    """The first line has it that is not Spark's own; PySpark 3.5 cannot be kept from putting a traceback in front."""
    lines = [line for line in message.splitlines() if line.strip() and "An exception was thrown" not in line]
    if pyspark.__version__.startswith("3."):
        lines = [line for line in lines if not line.startswith((" ", "Traceback"))]
        assert any(re.search(pattern, line) for line in lines), message
    else:
        assert re.search(pattern, lines[0]), message


def test_the_cap(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(0, kc.compress(bytes(5000), "zstd"))], "n int, data binary")
    assert found(frame, decompress("data", "zstd", max_output_size=4999, mode="PERMISSIVE")) == [(0, None)]
    message = failure(frame.select(decompress("data", "zstd", max_output_size=4999)).collect)
    assert_tells(message, "OutputLimitError: .* row 0: zstd: more than 4999 bytes of output")


BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: decompress("c", "lz5"), ValueError, r"invalid compression type 'lz5': .* use F.col\('lz5'\)"),
    (lambda: decompress("c", 9), ValueError, "invalid compression type id 9"),
    (lambda: decompress("c", "lz4", magic=3), ValueError, "magic must be 0, 1 or 2, not 3"),
    (lambda: decompress("c", "lz4", mode="IGNORE"), ValueError, "mode must be one of FAILFAST, PERMISSIVE"),  # type: ignore[arg-type]
    (lambda: decompress("c", "lz4", max_output_size=0), ValueError, "max_output_size must be 1"),
    (lambda: decompress("c", "lz4", max_output_size="1g"), TypeError, "max_output_size must be an int, not str"),  # type: ignore[arg-type]
    (lambda: decompress("c", "lz4", mode=None), ValueError, "mode must be one of FAILFAST, PERMISSIVE"),  # type: ignore[arg-type]
    (lambda: compress("c", "lz4", 18), ValueError, "lz4 has compression levels 1 to 17, not 18"),
    (lambda: compress("c", "none", 1), ValueError, "none has no compression levels"),
    (lambda: parse_records("c", columns=["topic"]), ValueError, "columns: unknown column 'topic': expected some of"),
    (lambda: parse_records("c", mode="DROPMALFORMED"), ValueError, "mode must be one of"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_are_errors_at_once(
    call: Callable[[], object], kind: type[Exception], message: str, spark: SparkSession
) -> None:
    assert spark is not None
    with pytest.raises(kind, match=message):
        call()


# ------------------------------------------------------------------------------------------------ record sets
RECORD = (
    "array<struct<key:binary,value:binary,offset:bigint,timestamp:timestamp,timestampType:int,"
    "headers:array<struct<key:string,value:binary>>>>"
)


def test_parse_records(spark: SparkSession, small_vectors: Path) -> None:
    """Two batches of two formats in one cell, an empty cell, a null, and times that no Python object holds."""
    (log,) = small_vectors.glob("modern/special-times/special-times-0/*.log")
    mixed = record_set(3) + record_set(2, kind="gzip", magic=0, base=3)
    rows = [(0, mixed), (1, b""), (2, None), (3, log.read_bytes())]
    frame = spark.createDataFrame(rows, "n int, data binary").coalesce(1)
    parsed = frame.select("n", parse_records("data").alias("records"))
    assert parsed.schema["records"].dataType.simpleString() == RECORD
    assert isinstance(parsed.schema["records"].dataType, ArrayType)
    sizes = parsed.select("n", F.when(F.col("records").isNull(), -9).otherwise(F.size("records")).alias("size"))
    assert [tuple(row) for row in sizes.collect()] == [(0, 5), (1, 0), (2, -9), (3, 300)]
    flat = parsed.select("n", F.explode("records").alias("r")).select("n", "r.*")
    flat = flat.withColumn("timestamp", F.expr("unix_micros(timestamp)"))
    first = [row.asDict(recursive=True) for row in flat.where("n = 0").collect()]
    assert [row["offset"] for row in first] == [0, 1, 2, 3, 4]
    assert [bytes(row["value"]) for row in first] == [b"value 0", b"value 1", b"value 2", b"value 0", b"value 1"]
    assert [row["key"] is None for row in first] == [False, True, False, False, True]
    assert [row["timestamp"] for row in first] == [1_700_000_000_000_000 + 1000 * i for i in range(3)] + [None] * 2
    assert [row["timestampType"] for row in first] == [0, 0, 0, -1, -1]
    assert [(row["headers"] or [{"key": None}])[0]["key"] for row in first] == [None, "h", None, None, None]
    batches = kc.scan(log.read_bytes(), columns=["timestamp"], options=kc.ScanOptions(timestamp_unit="us"))
    times = [value for batch in batches for value in batch.column(0).cast("int64").to_pylist()]
    assert [row.timestamp for row in flat.where("n = 3").orderBy("offset").collect()] == times


def test_parse_records_of_bad_cells(spark: SparkSession) -> None:
    late = record_set(3) + record_set(3, base=3)[:-1] + b"!"
    frame = spark.createDataFrame([(0, record_set(2)), (1, late), (2, record_set(2))], "n int, data binary").coalesce(1)
    parsed = parse_records("data", mode="PERMISSIVE", columns=["offset", "compressionType"])
    rows = frame.select("n", parsed.alias("r")).collect()
    assert [row.r if row.r is None else [tuple(each) for each in row.r] for row in rows] == [
        [(0, "lz4"), (1, "lz4")],
        None,
        [(0, "lz4"), (1, "lz4")],
    ]
    message = failure(frame.select(parse_records("data")).collect)
    place = len(record_set(3))
    assert_tells(
        message,
        rf"CorruptRecordError: .*batch of 3 rows of partition 0: row 1: record batch at byte {place} is corrupt",
    )


@pytest.mark.parametrize(("magic", "kind"), [(2, "zstd"), (2, "none"), (1, "gzip"), (0, "snappy")])
def test_cells_with_a_wrong_size_and_truncated_cells(magic: int, kind: str, spark: SparkSession) -> None:
    """A wrong size before intact batches is corruption; a value that the end truncates may have intact batches."""
    batches = [record_set(3, kind=kind, magic=magic, base=base) for base in (0, 3, 6)]
    backup = RecordBatchBuilder(magic=magic, compression_type="none", base_offset=9)
    backup.append(b"".join(record_set(3, kind=kind, magic=magic, base=base) for base in range(9, 60, 3)))
    last = bytes(backup.build())
    place = len(batches[0])
    rows = [(0, b"".join([*batches, last[: len(last) // 2]]))]
    for size in (0, 20, len(batches[1]) + 5, 1 << 20, 2**31 - 1, -1):
        wrong = batches[1][:8] + size.to_bytes(4, "big", signed=True) + batches[1][12:]
        rows.append((len(rows), b"".join([batches[0], wrong, batches[2]])))
    frame = spark.createDataFrame(rows, "n int, data binary").coalesce(1)
    intact = [(0, offset) for offset in range(9)]

    def offsets(mode: Any) -> list[tuple[int, int | None]]:
        out = records(frame, "data", keep=["n"], columns=["offset"], mode=mode)
        return [(row.n, row.offset) for row in out.collect()]

    assert offsets("DROPMALFORMED") == intact
    assert offsets("PERMISSIVE") == [*intact, *((n, None) for n, _ in rows[1:])]
    parsed = frame.select("n", parse_records("data", mode="PERMISSIVE", columns=["offset"]).alias("r")).collect()
    assert [row.r is None for row in parsed] == [False] + [True] * (len(rows) - 1)
    for n, _ in rows[1:]:
        message = failure(frame.where(f"n = {n}").select(parse_records("data")).collect)
        assert_tells(message, rf"(Corrupt|Invalid)RecordError: .*row 0: .* at byte {place}\b")
    frame = frame.where("n = 0")
    assert offsets("FAILFAST") == intact


def test_records(spark: SparkSession) -> None:
    """A row for each record behind the columns that are kept; none for an empty cell and for a null."""
    rows = [(0, "a", record_set(3)), (1, "b", None), (2, "c", b""), (3, "d", record_set(2, kind="zstd", base=9))]
    frame = spark.createDataFrame(rows, "n int, name string, data binary").coalesce(1)
    out = records(frame, "data", keep=["name", "n"], columns=["offset", "value"])
    assert out.schema.simpleString() == "struct<name:string,n:int,offset:bigint,value:binary>"
    assert [(row.name, row.n, row.offset, bytes(row.value)) for row in out.collect()] == [
        ("a", 0, 0, b"value 0"),
        ("a", 0, 1, b"value 1"),
        ("a", 0, 2, b"value 2"),
        ("d", 3, 9, b"value 0"),
        ("d", 3, 10, b"value 1"),
    ]
    assert records(frame, F.col("data")).columns == ["key", "value", "offset", "timestamp", "timestampType", "headers"]
    assert records(frame, "data", keep=True, columns=["offset"]).columns == ["n", "name", "offset"]
    assert records(frame, F.col("data"), keep=True, columns=["offset"]).columns == ["n", "name", "offset"]
    assert records(frame, "DATA", keep=True, columns=["offset"]).columns == ["n", "name", "offset"]
    assert [row[0] for row in records(frame, "data", columns=["offset"]).agg(F.sum("offset")).collect()] == [22]


def test_records_beside_names_of_all_kinds(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2, record_set(1))], "`a.b` int, `c ``d` int, `e.f` binary")
    out = records(frame, "`e.f`", keep=True, columns=["value"])
    assert out.columns == ["a.b", "c `d", "value"]
    assert [(*row[:2], bytes(row[2])) for row in out.collect()] == [(1, 2, b"value 0")]
    taken = spark.createDataFrame([(1, record_set(1))], "OFFSET int, data binary")
    with pytest.raises(ValueError, match="column 'OFFSET' cannot be kept: a record has a column 'offset'"):
        records(taken, "data", keep=["OFFSET"])


def test_records_of_many_cells(spark: SparkSession) -> None:
    """More than a worker reads at once, with values beside them: nothing is lost, doubled or shifted."""
    random.seed(3)
    cells = [record_set(random.randrange(60), kind=random.choice(TYPES), base=100 * n) for n in range(600)]
    big = RecordBatchBuilder(base_offset=60_000)
    for _ in range(5):
        big.append(random.randbytes(900_000))
    cells.append(bytes(big.build()))
    frame = spark.createDataFrame(
        [(n, cell, str(n) * 50) for n, cell in enumerate(cells)], "n int, d binary, beside string"
    )
    out = records(frame, "d", keep=["n", "beside"], columns=["offset", "value"])
    found = out.select("n", "offset", F.length("value"), (F.col("beside") == F.repeat(F.col("n").cast("string"), 50)))
    wanted = [
        (n, record.offset, len(record.value or b""), True)
        for n, cell in enumerate(cells)
        for batch in kc.record.read_batches(cell)
        for record in batch
    ]
    assert sorted(tuple(row) for row in found.collect()) == wanted


def test_records_of_bad_cells(spark: SparkSession) -> None:
    rows = [(0, record_set(2)), (1, b"no record set at all"), (2, None), (3, record_set(1))]
    frame = spark.createDataFrame(rows, "n int, data binary").coalesce(1)

    def offsets(mode: Any) -> list[tuple[int, int | None]]:
        out = records(frame, "data", keep=["n"], columns=["offset", "key"], mode=mode)
        return [(row.n, row.offset) for row in out.collect()]

    assert offsets("PERMISSIVE") == [(0, 0), (0, 1), (1, None), (3, 0)]
    assert offsets("dropmalformed") == [(0, 0), (0, 1), (3, 0)]
    message = failure(lambda: offsets("FAILFAST"))
    assert_tells(message, r"kafkacomp\.spark\.parse_records, in an Arrow batch of 4 rows of partition 0: row 1: ")


def test_bad_arguments_of_records(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("id", "id as offset", "cast('x' as binary) as data")
    bad: list[tuple[str, dict[str, Any], type[Exception], str]] = [
        ("id", {}, TypeError, "column 'id' is bigint: it must be binary"),
        ("data", {"keep": ["no"]}, ValueError, "keep: unknown column 'no': expected some of id, offset, data"),
        ("data", {"keep": "id"}, TypeError, "not the string 'id'"),
        ("data", {"keep": ["id", "id"]}, ValueError, "twice"),
        ("data", {"keep": True}, ValueError, "'offset' cannot be kept: a record has a column 'offset'"),
        ("DATA", {"keep": True}, ValueError, "'offset' cannot be kept: a record has"),
        ("data", {"keep": [F.col("id")]}, TypeError, "keep must be names, not a Column"),
        ("data", {"mode": "x"}, ValueError, "mode must be one of FAILFAST, PERMISSIVE, DROPMALFORMED"),
    ]
    for column, options, kind, message in bad:
        with pytest.raises(kind, match=message):
            records(frame, column, **options)


def test_what_the_version_lacks_is_told() -> None:
    """PySpark 3.5 has no data sources in Python."""
    if int(pyspark.__version__.split(".")[0]) >= 4:
        assert kafkacomp.spark.KafkaCompDataSource.name() == "kafkacomp"
        return
    told = f"needs PySpark 4.0 or later, and {re.escape(pyspark.__version__)} is installed; decompress"
    with pytest.raises(ImportError, match=f"the data source {told}"):
        _ = kafkacomp.spark.KafkaCompDataSource
    with pytest.raises(ImportError, match=f"advise {told}"):
        kafkacomp.spark.advise(None, "path")  # type: ignore[arg-type]
    with pytest.raises(ImportError, match=f"export {told}"):
        kafkacomp.spark.export(None, "path", "target")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ SQL
def test_sql(spark: SparkSession, cells: DataFrame) -> None:
    register(spark)
    register(spark)
    cells.createOrReplaceTempView("cells")
    rows = spark.sql("select n, kafka_decompress(data, codec, magic) as d from cells").collect()
    assert [None if row.d is None else bytes(row.d) for row in rows] == [wanted(row.n) for row in rows]
    (row,) = spark.sql("select kafka_decompress(kafka_compress('text', 4, 7, 2), 'zstd') as d").collect()
    assert bytes(row.d) == b"text"
    (row,) = spark.sql("select try_kafka_decompress(cast('x' as binary), 'lz4') as d").collect()
    assert row.d is None
    (row,) = spark.sql("select try_kafka_compress('x', 'lz4', 77) as d, try_kafka_parse_records(X'77') as r").collect()
    assert (row.d, row.r) == (None, None)
    spark.createDataFrame([(record_set(2),)], "data binary").createOrReplaceTempView("sets")
    rows = spark.sql("select r.offset, r.key from (select explode(kafka_parse_records(data)) as r from sets)").collect()
    assert [row.offset for row in rows] == [0, 1]
    assert isinstance(spark.table("sets").select(parse_records("data")).schema.fields[0].dataType, ArrayType)
    assert isinstance(spark.sql("select kafka_compress('x', 'none') as d").schema["d"].dataType, BinaryType)
    assert isinstance(spark.table("sets").schema, StructType)
    message = failure(spark.sql("select kafka_decompress(data, 'lz4') from sets").collect)
    assert_tells(message, r"kafkacomp\.spark\.decompress.* row 0: lz4: no frame begins with")
    for query, text in (
        ("kafka_decompress()", "decompress needs the argument data"),
        ("kafka_decompress(data)", "decompress needs the argument compression_type after data"),
        ("kafka_decompress(data, 'lz4', 2, 3)", "decompress takes data, compression_type, magic, not 4 arguments"),
        ("kafka_decompress(12, 'lz4')", "data cannot be an array of type Int32: it must hold binary"),
    ):
        assert_tells(failure(spark.sql(f"select {query} from sets").collect), f"TypeError: .*{text}")  # noqa: S608
