"""Kafka's formats in PySpark: functions on columns (3.5 and later), and segments as a data source (4.0 and later).

``spark.read.format("kafkacomp").load(path)`` works where kafkacomp is installed: Spark finds the format by itself
(``pyspark_kafkacomp.DefaultSource``). The functions are those listed here. Options, versions and how to ship the wheel
are in ``docs/spark.md``.
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
        f"{what} of kafkacomp.spark needs PySpark 4.0 or later, this is {pyspark.__version__}; the functions on "
        "columns and records() work here"
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
    """Measure a sample of topics on the executors and advise on their compression, as ``kafkacomp advise`` does.

    Args:
        spark: The session.
        path: Log folders, partitions, segments or URLs that mean the same on all executors; or several.
        settings: Codecs, batch sizes, size and seed of the sample; the command takes the same sample by the same seed.
        prices: A price file's path on the driver, or what :func:`kafkacomp.advice.prices.parse` made of one.
        max_latency_ms: The most that a batch may take longer, filling it included where that is known.
        compression_type: The topics' ``compression.type`` today.
        assume_rate: Bytes a second that producers send to each topic whose timestamps do not show it.
        filesystem: The file system that the paths are on, for driver and executors: one of
            ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: What fsspec opens the file systems of URLs with; not with ``filesystem``.
        encryption_keys: For segments that Aiven's tiered storage plugin has encrypted: private keys by id, as in
            :func:`kafkacomp.scan`.

    Returns:
        ``options``, a data frame with a row for each topic, codec and batch size, and ``report``, the command's.

    Raises:
        ValueError: an argument is out of range; no batches at all, although everything was read.
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
    """Write segments as Parquet files: executors read and write, the driver commits all files or none.

    The rows are those of ``spark.read.format("kafkacomp")`` with the same options, but none of them passes through the
    JVM. A task that fails or whose executor is lost is repeated as Spark repeats tasks; of several attempts the files
    of one are published. With Spark Connect the client plans and commits.

    Args:
        spark: The session, classic or Spark Connect.
        source: A path that the data source takes, or several.
        target: The folder of Parquet files: a path that driver and executors share.
        format: The format of the files.
        save_mode: What happens if the target has files: ``errorifexists`` refuses it, ``append`` keeps them,
            ``overwrite`` replaces all of them. A folder with anything but Parquet files is refused.
        partition_by: Columns that become folders, as ``DataFrameWriter.partitionBy`` has them: strings, integers and
            booleans.
        columns: The columns to read, as the option ``columns``.
        compression: Compression of the Parquet pages.
        isolation_level: ``read_committed`` leaves out aborted transactions and all from the first open one on.
        options: Further options of the data source, by their names in ``docs/spark.md``: ``{"subscribe": "orders",
            "startingTimestamp": 1767261600000, "mode": "DROPMALFORMED"}``. Values are strings, numbers, booleans, or
            mappings where the option is JSON.

    Returns:
        ``files``, ``bytes`` and ``rows`` written; ``skipped`` and ``missing``, the ranges of bytes and offsets that
        were left out, as :class:`kafkacomp.ScanReport` has them.

    Raises:
        ValueError: an argument or option that is unknown or wrong.
        FileNotFoundError: a path of the source does not exist, or has no segments.
        FileExistsError: the target has files, with ``errorifexists``.
        KafkaCompError, OSError: the source cannot be planned, or the target cannot be written.
        PySparkException: a task failed; the message has the task's own error.
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
    """Make the format ``kafkacomp`` known to a session, and the functions to its SQL.

    | in SQL | as |
    |---|---|
    | ``kafka_decompress(data, compression_type [, magic])`` | :func:`decompress` |
    | ``kafka_compress(data, compression_type [, compression_level [, magic]])`` | :func:`compress` |
    | ``kafka_parse_records(data)`` | :func:`parse_records`, with the default columns |

    They end the query at a bad cell. The same with ``try_`` in front make it null. In PySpark 3.5, which has no data
    sources in Python, only the functions are registered.

    Args:
        spark: The session.
        max_output_size: The most bytes that one cell may give, for all of these functions.
    """
    register_functions(spark, max_output_size=max_output_size)
    if not _HAS_DATA_SOURCES:
        return
    from kafkacomp.spark._datasource import KafkaCompDataSource  # noqa: PLC0415 - PySpark 3.5 does not have what it needs

    try:
        spark.dataSource.register(KafkaCompDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses a name that it found by itself, which later versions take again.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
