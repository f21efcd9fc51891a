"""All of kafkacomp.spark through Spark Connect; run by ``test_connect.py`` with a folder, prints JSON.

A Python process has either a classic session or one of Spark Connect, so this is a program of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

import kafkacomp as kc
from kafkacomp.spark import advise, compress, decompress, export, parse_records, records, register

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "modern"


def functions(spark: SparkSession, _: Path) -> Any:
    """Each function on columns, with constants, with columns and from SQL."""
    register(spark)
    builder = kc.record.RecordBatchBuilder(compression_type="zstd")
    builder.append(b"value")
    cells = [(bytearray(kc.compress(b"value", "lz4")), "lz4", bytearray(builder.build()))]
    frame = spark.createDataFrame(cells, "payload binary, codec string, fetched binary")
    row = frame.select(
        decompress("payload", "lz4").alias("constant"),
        decompress("payload", F.col("codec")).alias("column"),
        decompress(compress("payload", "gzip", 9), "gzip").alias("both"),
        parse_records("fetched", columns=["offset", "value"]).alias("parsed"),
        F.expr("kafka_decompress(payload, 'lz4')").alias("sql"),
    ).collect()[0]
    found = records(frame, "fetched", keep=["codec"], columns=["value"]).collect()
    return {
        "cells": [row.constant.decode(), row.column.decode(), row.sql.decode()],
        "both": row.both == cells[0][0],
        "parsed": [[each.offset, each.value.decode()] for each in row.parsed],
        "records": [[each.codec, each.value.decode()] for each in found],
    }


def batch(spark: SparkSession, _: Path) -> Any:
    """A batch read with options, and its errors."""
    reader = spark.read.format("kafkacomp").options(isolationLevel="read_committed", splitSize="5k", columns="offset")
    try:
        spark.read.format("kafkacomp").option("bogus", "1").load(str(VECTORS / "txn-open")).count()
        error = ""
    except PySparkException as raised:
        error = str(raised)
    return {"offsets": sorted(r.offset for r in reader.load(str(VECTORS / "txn-open")).collect()), "error": error}


def write(spark: SparkSession, folder: Path) -> Any:
    """A batch write, then a stream that reads its logs and writes others."""
    frame = spark.range(0, 100, 1, 4).selectExpr("cast(id as string) as value")
    frame.write.format("kafkacomp").mode("append").option("topic", "t").save(str(folder / "logs"))
    stream = spark.readStream.format("kafkacomp").option("startingOffsets", "earliest").load(str(folder / "logs"))
    writer = stream.select("value").writeStream.format("kafkacomp").option("topic", "copy")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "copies"))
    query.awaitTermination(200)
    return query.exception() and str(query.exception())


def advice(spark: SparkSession, _: Path) -> Any:
    """Advice on a topic."""
    found = advise(spark, str(VECTORS / "txn-open"))
    return {"options": found.options.count(), "topics": [each.figures.name for each in found.report.topics]}


def exporting(spark: SparkSession, folder: Path) -> Any:
    """An export, and one whose task fails."""
    done = export(spark, VECTORS / "txn-open", folder / "parquet", partition_by="topic", options={"splitSize": "5k"})
    try:
        export(spark, VECTORS / "damaged-restarts-flipped-body", folder / "failed")
        error = ""
    except PySparkException as raised:
        error = str(raised)
    rows = spark.read.parquet(str(folder / "parquet")).count()
    return {"files": done.files, "rows": [done.rows, rows], "error": error}


JOBS: dict[str, Callable[[SparkSession, Path], Any]] = {
    "functions": functions,
    "batch": batch,
    "write": write,
    "advice": advice,
    "exporting": exporting,
}


def main(folder: Path) -> None:
    """Run all of them in one session."""
    spark = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    answers = {"session": type(spark).__module__, **{name: job(spark, folder) for name, job in JOBS.items()}}
    spark.stop()
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
