"""Count records per partition with Spark where some partitions are corrupt, and list the ranges that were left out.

Run: python examples/spark_corruption.py LOG_DIRECTORY
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's documentation writes it so


def main(source: str) -> None:
    """Print both as tables."""
    spark = SparkSession.builder.appName("corrupt partitions").getOrCreate()
    rows = (
        spark.read.format("kafkacomp")
        .option("mode", "PERMISSIVE")  # a row for each corrupt range
        .option("failOnDataLoss", "false")  # missing offsets are a warning
        .option("columns", "topic,partition,offset,_corrupt_record")
        .load(source)
        .cache()
    )
    intact = F.col("_corrupt_record").isNull()
    rows.where(intact).groupBy("topic", "partition").agg(
        F.count("*").alias("records"), F.min("offset").alias("first"), F.max("offset").alias("last")
    ).orderBy("topic", "partition").show()
    corrupt = F.from_json("_corrupt_record", "segment string, position long, length long, reason string")
    rows.where(~intact).select(corrupt.alias("range")).select("range.*").orderBy("segment").show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
