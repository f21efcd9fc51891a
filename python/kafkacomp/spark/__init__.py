"""Kafka's segments in PySpark 4: ``spark.read.format("kafkacomp").load(path)``.

Where kafkacomp is installed, Spark finds the format by itself (``pyspark_kafkacomp.DefaultSource``);
:func:`register` is for sessions that were started before it was. The options are in ``docs/spark.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from kafkacomp.spark._datasource import KafkaCompDataSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from kafkacomp.advise.prices import Prices
    from kafkacomp.advise.settings import Settings
    from kafkacomp.spark._advise import Advised

__all__ = ["KafkaCompDataSource", "advise", "register"]


def advise(
    spark: SparkSession,
    path: str | Iterable[str],
    settings: Settings | None = None,
    prices: Prices | None = None,
    *,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
) -> Advised:
    """Measure a sample of topics on the executors and advise on their compression, as ``kafkacomp advise`` does.

    Args:
        spark: The session.
        path: Log folders, partitions, segments or URLs that mean the same on all executors; or several.
        settings: Codecs, batch sizes, size and seed of the sample; the command takes the same sample by the same seed.
        prices: What :func:`kafkacomp.advise.prices.parse` made of a price file.
        max_latency_ms: The most that a batch may take longer, filling it included where that is known.
        compression_type: The topics' ``compression.type`` today.

    Returns:
        ``options``, a data frame with a row for each topic, codec and batch size, and ``report``, the command's.

    Raises:
        ValueError: an argument that cannot be; no batches at all, although everything was read.
    """
    from kafkacomp.spark import _advise  # noqa: PLC0415 - who only reads loads nothing of it

    return _advise.advise(
        spark, path, settings, prices, max_latency_ms=max_latency_ms, compression_type=compression_type
    )


def register(spark: SparkSession) -> None:
    """Make the format ``kafkacomp`` known to a session."""
    try:
        spark.dataSource.register(KafkaCompDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses a name that it found by itself, which later versions take again.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
