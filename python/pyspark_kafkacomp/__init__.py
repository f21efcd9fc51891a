"""Where Spark 4 looks for data sources: ``DefaultSource`` of every package whose name begins with ``pyspark_``."""

from __future__ import annotations

from kafkacomp.spark import KafkaCompDataSource as DefaultSource

__all__ = ["DefaultSource"]
