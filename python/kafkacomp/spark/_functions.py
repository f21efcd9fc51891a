"""Functions on columns of compressed bytes and of record sets: PySpark 3.5 and later, also by their names in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it
from pyspark.sql.types import ArrayType, BinaryType, StructField, StructType

from kafkacomp import _kafkacomp
from kafkacomp._arguments import check_names, checked_magic, checked_max_output_size, compression_type_of
from kafkacomp.arrow._cells import record_columns
from kafkacomp.spark._schema import struct_of
from kafkacomp.spark._udf import in_arrow, vectorized
from kafkacomp.spark._values import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from kafkacomp import CompressionType

Mode = Literal["FAILFAST", "PERMISSIVE"]
RecordsMode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]

#: The most bytes that one cell may decompress to: 256 MiB, because workers share memory with the JVM of the executor.
MAX_OUTPUT_SIZE = 256 << 20


def decompress(
    col: Column | str,
    compression_type: CompressionType | int | str | Column,
    *,
    magic: int | Column = 2,
    mode: Mode = "FAILFAST",
    max_output_size: int = MAX_OUTPUT_SIZE,
) -> Column:
    """Decompress the cells of a column as Kafka's reader does, like :func:`kafkacomp.decompress`.

    This is an Arrow UDF from PySpark 4.1 on, and a pandas UDF before. If an argument is null, so is the result.

    Args:
        col: A binary column or its name.
        compression_type: The compression type of all rows, by name ("lz4") or id (3); or a column of names or ids, such
            as ``F.col("codec")``. A string is always the name of a compression type, never that of a column.
        magic: The message format for all rows, or a column of integers. In 0, any LZ4 header checksum is accepted
            (KIP-57).
        mode: FAILFAST fails the query at a bad cell, PERMISSIVE makes it null. A cell is bad if it is corrupt,
            decompresses to more than ``max_output_size``, or has an unknown compression type or magic.
        max_output_size: The most bytes that one cell may decompress to. No memory is allocated beyond it. All cells of
            an Arrow batch share a buffer of up to 2 GiB - 1: for cells of more than 200 KB, lower
            ``spark.sql.execution.arrow.maxRecordsPerBatch`` (10,000 by default). About 4 MB for a batch is fastest.

    Raises:
        ValueError: an argument has an unknown value or is out of range.
        PythonException: when the query runs with ``FAILFAST``: a cell is bad. The message has the partition, the row of
            the Arrow batch and the byte.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> df.select(ks.decompress("payload", "lz4"))  # doctest: +SKIP
        >>> df.select(ks.decompress("payload", df.codec, mode="PERMISSIVE"))  # doctest: +SKIP
    """
    parameters, constants = _split(compression_type=compression_type, magic=magic)
    constants |= _checked(constants) | _options(mode, max_output_size)
    return vectorized("decompress", BinaryType(), tuple(parameters), constants)(col, *parameters.values())


def compress(
    col: Column | str,
    compression_type: CompressionType | int | str | Column,
    compression_level: int | Column | None = None,
    *,
    magic: int | Column = 2,
    mode: Mode = "FAILFAST",
) -> Column:
    """Compress the cells of a column as Kafka does, like :func:`kafkacomp.compress`.

    Args:
        col: A binary or string column or its name; strings are compressed as UTF-8.
        compression_type: As for :func:`decompress`.
        compression_level: The level for all rows, or a column of integers. ``None``, or a null, is Kafka's default: -1
            for gzip, 9 for lz4, 3 for zstd. none and snappy have no levels.
        magic: As for :func:`decompress`. For 0, the LZ4 header checksum is computed as in Kafka before 0.10 (KIP-57).
        mode: FAILFAST fails the query at a cell with an unknown compression type or magic or a level out of range,
            PERMISSIVE makes it null.

    Raises:
        ValueError: an argument has an unknown value or is out of range.
        PythonException: when the query runs with ``FAILFAST``: a cell cannot be compressed. The message has the row.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> df.select(ks.compress("text", "zstd", compression_level=3))  # doctest: +SKIP
    """
    parameters, constants = _split(compression_type=compression_type, compression_level=compression_level, magic=magic)
    constants |= _checked(constants)
    if "compression_level" in constants and "compression_type" in constants:
        # If both are constants, report a level that the type does not have before the query runs.
        _kafkacomp.compress(b"", compression_type_of(compression_type), constants["compression_level"], 2)  # type: ignore[arg-type]
    constants |= {"on_error": _ON_ERROR[_mode(mode)]}
    return vectorized("compress", BinaryType(), tuple(parameters), constants)(col, *parameters.values())


def parse_records(
    col: Column | str,
    *,
    columns: Iterable[str] | None = None,
    include_control: bool = False,
    verify_crc: bool = True,
    mode: Mode = "FAILFAST",
    max_output_size: int = MAX_OUTPUT_SIZE,
) -> Column:
    """Read the records of a column of record sets (batches of magic 0, 1 and 2) as array<struct>.

    ``explode`` converts the arrays to rows; :func:`records` returns rows without the arrays in between. A null becomes
    a null, an empty cell an empty array. A batch that the end of a cell truncates is left out, as in Kafka's consumer;
    the first batch must be complete.

    Args:
        col: A binary column or its name.
        columns: The fields to build, in this order: columns of the data source except topic, partition and segment.
            Default: key binary, value binary, offset bigint, timestamp timestamp, timestampType int, headers
            array<struct<key: string, value: binary>>. ``position`` is the byte of the cell.
        include_control: Whether control records are included.
        verify_crc: Whether checksums are verified.
        mode: FAILFAST fails the query at a cell that is corrupt or too large, PERMISSIVE makes it null.
        max_output_size: The most bytes that the records of one cell may decompress to, all batches together.

    Raises:
        ValueError: an argument has an unknown value or is out of range.
        PythonException: when the query runs with ``FAILFAST``: a cell is corrupt or too large. The message has the
            partition, the row of the Arrow batch and the byte of the cell.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> df.select(F.explode(ks.parse_records("fetched")))  # doctest: +SKIP
    """
    names = record_columns(columns)
    constants = _parsing(names, include_control, verify_crc) | _options(mode, max_output_size)
    return vectorized("parse_records", ArrayType(struct_of(names)), (), constants)(col)


def records(
    df: DataFrame,
    column: Column | str,
    *,
    keep: Iterable[str] | bool = (),
    columns: Iterable[str] | None = None,
    include_control: bool = False,
    verify_crc: bool = True,
    mode: RecordsMode = "FAILFAST",
    max_output_size: int = MAX_OUTPUT_SIZE,
) -> DataFrame:
    """Return a DataFrame with a row for each record of a column of record sets.

    A null or empty cell has no rows. The rows are made by ``mapInArrow``: a worker holds the records of one cell, or of
    256 KB of small cells, and returns Arrow batches of about 2 MB.

    Args:
        df: Any DataFrame.
        column: Its binary column of record sets, or the column's name.
        keep: Names of columns of ``df`` whose values are repeated in the rows of their cell, before the columns of the
            record; True for all except ``column``.
        columns: As for :func:`parse_records`.
        include_control: As for :func:`parse_records`.
        verify_crc: As for :func:`parse_records`.
        mode: FAILFAST fails the query at a cell that is corrupt or too large, PERMISSIVE returns a row for it in which
            all of ``columns`` are null, DROPMALFORMED leaves it out.
        max_output_size: As for :func:`parse_records`.

    Raises:
        ValueError: an argument has an unknown value or is out of range; a kept column has the name of a record column.
        TypeError: ``column`` is not binary.
        PythonException: when the query runs, as for :func:`parse_records`.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> ks.records(df, "fetched", keep=["captured_at"])  # doctest: +SKIP
    """
    chosen = one_of("mode", mode, "FAILFAST", "PERMISSIVE", "DROPMALFORMED")
    names = record_columns(columns)
    cells = F.col(column) if isinstance(column, str) else column
    cell = df.select(cells).schema.fields[0]
    if not isinstance(cell.dataType, BinaryType):
        raise TypeError(f"column {cell.name!r} is {cell.dataType.simpleString()}: it must be binary")
    kept = _kept(df, cell.name, keep, names)
    constants = _parsing(names, include_control, verify_crc)
    constants |= _options("FAILFAST" if chosen == "FAILFAST" else "PERMISSIVE", max_output_size)
    constants |= {"bad_rows": chosen == "PERMISSIVE", "kept": kept}
    # Spark's mapInArrow cannot take columns with dots or backticks in their names.
    plain = (F.col(_quoted(name)).alias(f"kept_{number}") for number, name in enumerate(kept))
    source = df.select(cells.alias("cells"), *plain)
    repeated = zip(kept, source.schema.fields[1:], strict=True)
    fields = [StructField(name, field.dataType, field.nullable, field.metadata) for name, field in repeated]
    schema = StructType([*fields, *struct_of(names).fields])
    return source.mapInArrow(in_arrow("parse_records", constants), schema)


def register_functions(spark: SparkSession, *, max_output_size: int = MAX_OUTPUT_SIZE) -> None:
    """Register the functions with SQL under the names that :func:`kafkacomp.spark.register` lists."""
    binary, parsed = BinaryType(), ArrayType(struct_of(record_columns(None)))
    parsing = _parsing(record_columns(None), include_control=False, verify_crc=True)
    for prefix, mode in (("", "FAILFAST"), ("try_", "PERMISSIVE")):
        options = _options(mode, max_output_size)
        decompressing = vectorized("decompress", binary, ("compression_type", "magic"), options)
        spark.udf.register(f"{prefix}kafka_decompress", decompressing)
        spark.udf.register(f"{prefix}kafka_parse_records", vectorized("parse_records", parsed, (), parsing | options))
        compressing = {"on_error": _ON_ERROR[mode]}
        arguments = ("compression_type", "compression_level", "magic")
        spark.udf.register(f"{prefix}kafka_compress", vectorized("compress", binary, arguments, compressing))


_ON_ERROR = {"FAILFAST": "raise", "PERMISSIVE": "null"}


def _mode(mode: str) -> str:
    return one_of("mode", mode, *_ON_ERROR)


def _options(mode: str, max_output_size: int) -> dict[str, object]:
    return {"on_error": _ON_ERROR[_mode(mode)], "max_output_size": checked_max_output_size(max_output_size)}


def _parsing(names: tuple[str, ...], include_control: bool, verify_crc: bool) -> dict[str, object]:
    # Spark's timestamps are microseconds.
    return {"columns": names, "include_control": include_control, "verify_crc": verify_crc, "timestamp_unit": "us"}


def _split(**arguments: object) -> tuple[dict[str, Column], dict[str, object]]:
    """Separate the arguments that are columns from the constants."""
    columns = {name: value for name, value in arguments.items() if isinstance(value, Column)}
    return columns, {name: value for name, value in arguments.items() if name not in columns}


def _checked(constants: dict[str, object]) -> dict[str, object]:
    """Check constants, and convert them to values that workers can unpickle."""
    checked: dict[str, object] = {}
    if "compression_type" in constants:
        try:
            checked["compression_type"] = str(compression_type_of(constants["compression_type"]))
        except ValueError as error:
            given = constants["compression_type"]
            column = f"; for the values of a column, use F.col({given!r})" if isinstance(given, str) else ""
            raise ValueError(f"{error}{column}") from None
    if "magic" in constants:
        checked["magic"] = checked_magic(constants["magic"])  # type: ignore[arg-type]
    return checked


def _kept(df: DataFrame, column: str, keep: Iterable[str] | bool, names: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of the columns to keep. By default, Spark treats names that differ only in case as equal."""
    if isinstance(keep, str):
        raise TypeError(f"keep must be a collection of names, or True, not the string {keep!r}")
    if isinstance(keep, bool):
        kept = tuple(name for name in df.columns if name.lower() != column.lower()) if keep else ()
    else:
        kept = tuple(keep)
    for name in kept:
        if not isinstance(name, str):
            raise TypeError(f"keep must be names, not a {type(name).__name__}")
    check_names("keep", kept, df.columns)
    taken = {name.lower(): name for name in names}
    for name in kept:
        if other := taken.get(name.lower()):
            advice = "rename it, or choose columns"
            raise ValueError(f"column {name!r} cannot be kept: a record has a column {other!r}; {advice}")
    return kept


def _quoted(name: str) -> str:
    """Quote a column's name for Spark."""
    return f"`{name.replace('`', '``')}`"
