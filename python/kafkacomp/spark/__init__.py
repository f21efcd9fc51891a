"""Kafka's segments in PySpark 4: ``spark.read.format("kafkacomp").load(path)``.

Where kafkacomp is installed, Spark finds the format by itself (``pyspark_kafkacomp.DefaultSource``);
:func:`register` is for sessions that were started before it was. The options are in ``docs/spark.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from kafkacomp.spark._datasource import KafkaCompDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["KafkaCompDataSource", "register"]


def register(spark: SparkSession) -> None:
    """Make the format ``kafkacomp`` known to a session."""
    try:
        spark.dataSource.register(KafkaCompDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses a name that it found by itself, which later versions take again.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
