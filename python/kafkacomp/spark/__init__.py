"""Kafka's formats in PySpark: functions on columns (3.5 and later), and segments as a data source (4.0 and later).

``spark.read.format("kafkacomp").load(path)`` works without registration if kafkacomp is installed on the driver and
the executors: Spark finds ``pyspark_kafkacomp.DefaultSource``. ``docs/spark.md`` lists the options and versions, and
says how to install the wheel on executors.

    >>> from kafkacomp import spark as kspark  # doctest: +SKIP
    >>> df.select(kspark.decompress("payload", "lz4"))  # doctest: +SKIP
    >>> spark.read.format("kafkacomp").load("/backup/kafka-logs")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp._extras import with_command

try:
    import pyspark
except ModuleNotFoundError as error:
    raise with_command(error) from None
from pyspark.errors import AnalysisException

from kafkacomp.spark._functions import (
    MAX_OUTPUT_SIZE,
    compress,
    decompress,
    parse_records,
    records,
    register_functions,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from pyspark.sql import SparkSession

    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.settings import Settings
    from kafkacomp.spark._advise import Advised
    from kafkacomp.spark._datasource import KafkaCompDataSource
    from kafkacomp.spark._export import Compression, Exported
    from kafkacomp.spark._export_commit import SaveMode
    from kafkacomp.spark._options import IsolationLevel

__all__ = ["KafkaCompDataSource", "advise", "compress", "decompress", "export", "parse_records", "records", "register"]

_HAS_DATA_SOURCES = int(pyspark.__version__.split(".")[0]) >= 4  # noqa: PLR2004 - where pyspark.sql.datasource begins


def __getattr__(name: str) -> object:
    if name != "KafkaCompDataSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _HAS_DATA_SOURCES:
        raise _too_old("the data source")
    from kafkacomp.spark._datasource import KafkaCompDataSource  # noqa: PLC0415 - see above

    return KafkaCompDataSource


def _too_old(what: str) -> ImportError:
    return ImportError(
        f"kafkacomp.spark: {what} needs PySpark 4.0 or later, and {pyspark.__version__} is installed; decompress(), "
        "compress(), parse_records() and records() work with it"
    )


def advise(
    spark: SparkSession,
    path: str | Iterable[str],
    settings: Settings | None = None,
    *,
    prices: str | os.PathLike[str] | Prices | None = None,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
    filesystem: object = None,
    storage_options: Mapping[str, object] | None = None,
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None,
) -> Advised:
    """Measure a sample of each topic on the executors and recommend compression, as ``kafkacomp advise`` does.

    Args:
        spark: The session.
        path: A path or URL of log directories, partitions or segments, or several; the driver and all executors must
            reach the same files by it.
        settings: Codecs, batch sizes, and the size and seed of the sample. The command draws the same sample from the
            same seed.
        prices: The path of a price file on the driver, or the result of :func:`kafkacomp.advice.prices.parse`.
        max_latency_ms: The most milliseconds that a larger batch may add, including the time to fill it if known.
        compression_type: The current ``compression.type`` of the topics.
        assume_rate: Bytes per second that producers send to each topic whose timestamps do not show the rate.
        filesystem: The file system of the paths, for the driver and the executors: one of ``pyarrow.fs`` or fsspec, or
            a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL; not together with ``filesystem``.
        encryption_keys: Private keys by id, for segments that Aiven's tiered storage plugin has encrypted; as in
            :func:`kafkacomp.scan`.

    Returns:
        ``options``, a DataFrame with a row for each topic, codec and batch size, and ``report``, the report that the
        command prints.

    Raises:
        ValueError: an argument is out of range, or the paths contain no batches.
        ImportError: PySpark 3.5.
    """
    if not _HAS_DATA_SOURCES:
        raise _too_old("advise")
    from kafkacomp.spark import _advise  # noqa: PLC0415 - who only reads loads nothing of it
    from kafkacomp.tiered.source import SourceOptions  # noqa: PLC0415

    return _advise.advise(
        spark,
        path,
        settings,
        prices=prices,
        max_latency_ms=max_latency_ms,
        compression_type=compression_type,
        assume_rate=assume_rate,
        opening=SourceOptions(filesystem=filesystem, storage_options=storage_options, encryption_keys=encryption_keys),
    )


def export(
    spark: SparkSession,
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    format: Literal["parquet"] = "parquet",  # noqa: A002 - Spark's word
    save_mode: SaveMode = "errorifexists",
    partition_by: str | Sequence[str] = (),
    columns: Iterable[str] | None = None,
    compression: Compression = "zstd",
    isolation_level: IsolationLevel = "read_uncommitted",
    options: Mapping[str, object] | None = None,
) -> Exported:
    """Write segments as Parquet files: executors read and write, and the driver commits all files or none.

    The rows are those of ``spark.read.format("kafkacomp")`` with the same options, but they do not pass through the
    JVM. Spark repeats a task that fails or whose executor is lost; the files of exactly one attempt are published. With
    Spark Connect the client plans and commits.

    Args:
        spark: The session, classic or Spark Connect.
        source: A path or URL as in ``load`` of the data source, or several.
        target: The folder for the Parquet files: a path that the driver and the executors share.
        format: The format of the files.
        save_mode: ``errorifexists`` refuses a target that has files, ``append`` keeps its files, ``overwrite`` replaces
            all of them. A folder that contains anything but Parquet files is refused.
        partition_by: Columns that become folders, as in ``DataFrameWriter.partitionBy``. Their types must be strings,
            integers or booleans.
        columns: The columns to read, as in the option ``columns``.
        compression: The compression of the Parquet pages.
        isolation_level: ``read_committed`` leaves out the records of aborted transactions, and all records from the
            first open transaction on.
        options: Further options of the data source by name, see ``docs/spark.md``: ``{"subscribe": "orders",
            "startingTimestamp": 1767261600000, "mode": "DROPMALFORMED"}``. Values are strings, numbers or booleans; or
            mappings, for options that are JSON.

    Returns:
        ``files``, ``bytes`` and ``rows`` that were written; ``skipped`` and ``missing``, the ranges of bytes and of
        offsets that were left out, as in :class:`kafkacomp.ScanReport`.

    Raises:
        ValueError: an argument or option is unknown, or its value is not allowed.
        FileNotFoundError: a path of the source does not exist, or contains no segments.
        FileExistsError: ``save_mode`` is ``errorifexists`` and the target has files.
        KafkaCompError, OSError: the source cannot be read while the tasks are planned, or the target cannot be written.
        PySparkException: a task failed; the message contains the error of the task.
        ImportError: PySpark 3.5.

    Example:
        >>> export(spark, "/backup/kafka-logs", "/lake/orders", partition_by=["topic"])  # doctest: +SKIP
        Exported(files=2, bytes=7319, rows=2400, skipped=(), missing=(), more_missing=0)
    """
    if not _HAS_DATA_SOURCES:
        raise _too_old("export")
    from kafkacomp.spark import _export  # noqa: PLC0415 - who only reads loads nothing of it

    return _export.export(
        spark,
        source,
        target,
        format=format,
        save_mode=save_mode,
        partition_by=partition_by,
        columns=columns,
        compression=compression,
        isolation_level=isolation_level,
        options=options,
    )


def register(spark: SparkSession, *, max_output_size: int = MAX_OUTPUT_SIZE) -> None:
    """Register the format ``kafkacomp`` with a session, and the functions with its SQL.

    | in SQL | as |
    |---|---|
    | ``kafka_decompress(data, compression_type [, magic])`` | :func:`decompress` |
    | ``kafka_compress(data, compression_type [, compression_level [, magic]])`` | :func:`compress` |
    | ``kafka_parse_records(data)`` | :func:`parse_records`, with the default columns |

    A function fails the query at a corrupt cell; its variant with the prefix ``try_`` makes the cell null. PySpark 3.5
    has no data sources in Python: only the functions are registered there.

    Args:
        spark: The session.
        max_output_size: The most bytes that one cell may decompress to, for all of these functions.

    Example:
        >>> register(spark)  # doctest: +SKIP
        >>> spark.sql("SELECT kafka_decompress(payload, 'lz4') FROM captured")  # doctest: +SKIP
    """
    register_functions(spark, max_output_size=max_output_size)
    if not _HAS_DATA_SOURCES:
        return
    from kafkacomp.spark._datasource import KafkaCompDataSource  # noqa: PLC0415 - absent in PySpark 3.5

    try:
        spark.dataSource.register(KafkaCompDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses to register a name that it already resolved to DefaultSource; later versions accept it.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
