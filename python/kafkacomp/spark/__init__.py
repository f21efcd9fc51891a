"""Kafka's formats in PySpark: functions on columns (3.5 and later), and segments as a data source (4.0 and later).

=============================================================== ========================================================
task                                                            start with
=============================================================== ========================================================
decompress a column; compress a column                          :func:`decompress`, :func:`compress`
read the records of a column of record sets                     :func:`records`, :func:`parse_records`
call these functions from SQL                                   :func:`register`
read, follow and write logs                                     :class:`KafkaCompDataSource`, the format ``kafkacomp``
write segments as Parquet files, without the JVM                :func:`export`
recommend compression for topics                                :func:`advise`
=============================================================== ========================================================

``spark.read.format("kafkacomp").load(path)`` works without registration if kafkacomp is installed on the driver and
the executors: Spark finds ``pyspark_kafkacomp.DefaultSource``. ``docs/spark.md`` describes the options, and how to
install the wheel on executors.

    >>> import kafkacomp.spark as ks  # doctest: +SKIP
    >>> df.select(ks.decompress("payload", "lz4"))  # doctest: +SKIP
    >>> spark.read.format("kafkacomp").load("/backup/kafka-logs")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kafkacomp._extras import with_command

try:
    import pyspark
except ModuleNotFoundError as error:
    raise with_command(error) from None
from pyspark.errors import AnalysisException

from kafkacomp.spark._functions import MAX_OUTPUT_SIZE, compress, decompress, parse_records, records, register_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkacomp.spark._advise import advise
    from kafkacomp.spark._datasource import KafkaCompDataSource
    from kafkacomp.spark._export import export

__all__ = ["KafkaCompDataSource", "advise", "compress", "decompress", "export", "parse_records", "records", "register"]

_HAS_DATA_SOURCES = int(pyspark.__version__.split(".")[0]) >= 4  # noqa: PLR2004 - where pyspark.sql.datasource begins
#: What needs data sources, and its module: who only calls functions loads nothing of it.
_LAZY = {"KafkaCompDataSource": "_datasource", "advise": "_advise", "export": "_export"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _HAS_DATA_SOURCES:
        raise ImportError(
            f"kafkacomp.spark: {'the data source' if name == 'KafkaCompDataSource' else name} needs PySpark 4.0 or "
            f"later, and {pyspark.__version__} is installed; decompress(), compress(), parse_records() and records() "
            "work with it"
        )
    return getattr(import_module(f"kafkacomp.spark.{_LAZY[name]}"), name)


def register(spark: SparkSession, *, max_output_size: int = MAX_OUTPUT_SIZE) -> None:
    """Register the format ``kafkacomp`` with a session, and the functions with its SQL.

    | in SQL | as |
    |---|---|
    | ``kafka_decompress(data, compression_type [, magic])`` | :func:`decompress` |
    | ``kafka_compress(data, compression_type [, compression_level [, magic]])`` | :func:`compress` |
    | ``kafka_parse_records(data)`` | :func:`parse_records`, with the default columns |

    At a corrupt cell a function fails the query; its variant with the prefix ``try_`` returns null. PySpark 3.5 has no
    data sources in Python: only the functions are registered there.

    Args:
        spark: The session.
        max_output_size: The most bytes that one cell may decompress to, for all of these functions.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> ks.register(spark)  # doctest: +SKIP
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
