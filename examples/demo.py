"""Reads log segments of real Kafka brokers, 0.8.2 to 4.3, with PySpark: ``make demo``.

``data/<broker>/<topic>-<partition>/`` holds segments as the brokers left them, in every message format and with
every codec; ``data/expected.json`` what Kafka's own consumer read from them. The exit status is 0 if Spark reads
exactly that through kafkacomp.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"

# One line a record: offset, time, key and value. Magic 0 has no time, which Kafka's classes give as -1.
LINES = """
    SELECT broker, topic, offset, length(value) AS value_bytes, concat_ws(' ', offset,
        coalesce(unix_millis(timestamp), -1), coalesce(lower(hex(key)), 'null'), coalesce(lower(hex(value)), 'null')
    ) AS line FROM {table}
"""
SUMMARY = f"""
    SELECT broker, topic, count(*) AS records, coalesce(sum(value_bytes), 0) AS value_bytes, sha2(concat_ws('\\n',
        transform(array_sort(collect_list(struct(offset, line))), each -> each.line)), 256) AS sha256
    FROM ({LINES}) GROUP BY broker, topic
"""  # noqa: S608 - the table's name is one of two below

TOPICS = """
    SELECT broker, topic, concat_ws(' ', sort_array(collect_set(string(magic)))) AS formats,
        concat_ws(' ', sort_array(collect_set(compressionType))) AS compression, count(*) AS records,
        sum(length(value)) AS value_bytes, min(offset) AS first_offset, max(offset) AS last_offset
    FROM records GROUP BY broker, topic ORDER BY array_position(array({brokers}), broker), topic
"""
TOTALS = """
    SELECT compressionType, concat_ws(' ', sort_array(collect_set(string(magic)))) AS formats, count(*) AS records,
        sum(length(value)) AS value_bytes, count(DISTINCT broker, topic) AS topics, count(DISTINCT broker) AS brokers
    FROM records GROUP BY compressionType ORDER BY compressionType
"""
FORMATS = """
    SELECT magic, count(*) AS records, sum(length(value)) AS value_bytes, count(timestamp) AS with_timestamp
    FROM records GROUP BY magic ORDER BY magic
"""
ROWS = """
    SELECT broker, topic, offset, timestamp, string(key) AS key, substr(string(value), 1, 50) AS value
    FROM records
    WHERE offset = 1 AND topic IN ('sp-gzip', 'ct-lz4', 'lat01103-gzip', 'up-lz4', 'tz-zstd', 'sarama-zstd', 'txn-open')
    ORDER BY array_position(array({brokers}), broker), topic
"""


def session() -> SparkSession:
    """A small, quiet local session."""
    return (
        SparkSession.builder.master("local[2]")
        .appName("kafkacomp demo")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={(HERE / 'log4j2.properties').as_uri()}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


def read(spark: SparkSession, folders: list[Path], isolation_level: str = "read_uncommitted") -> DataFrame:
    """The segments of some folders, with the broker's name from the segment's path."""
    columns = "key,value,topic,offset,timestamp,magic,compressionType,segment"
    reader = spark.read.format("kafkacomp").option("columns", columns).option("isolationLevel", isolation_level)
    frame = reader.load([str(folder) for folder in folders])
    return frame.selectExpr("regexp_extract(segment, 'data/([^/]+)/', 1) AS broker", "*")


def check(spark: SparkSession, table: str, expected: dict[tuple[str, str], dict[str, Any]]) -> int:
    """Compare each topic with what Kafka's consumer read; the number of those that differ."""
    found = {(row.broker, row.topic): row for row in spark.sql(SUMMARY.format(table=table)).collect()}
    wrong = 0
    for broker, topic in sorted(expected.keys() | found.keys()):
        row, wanted = found.get((broker, topic)), expected.get((broker, topic))
        names = ("records", "value_bytes", "sha256")
        problems = [
            f"{name} {row[name] if row else 'nothing'}, Kafka read {wanted[name] if wanted else 'nothing'}"
            for name in names
            if row is None or wanted is None or row[name] != wanted[name]
        ]
        wrong += bool(problems)
        if problems:
            print(f"MISMATCH  {broker}/{topic}: {'; '.join(problems)}")
    records = sum(row.records for row in found.values())
    if not wrong:
        print(f"OK        {table}: {len(found)} topics, {records} records: counts, bytes and SHA-256 are Kafka's own")
    return wrong


def main() -> int:
    """Show the tables, then check; 1 if anything differs."""
    began = time.monotonic()
    expected = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    everything = {(broker, topic): about for broker, topics in expected.items() for topic, about in topics.items()}
    committed = {key: about["read_committed"] for key, about in everything.items() if "read_committed" in about}
    brokers = ", ".join(f"'{broker}'" for broker in expected)
    spark = session()
    print(f"Spark {spark.version}: spark.read.format('kafkacomp').load([{brokers}])\n", flush=True)
    read(spark, [DATA / broker for broker in expected]).cache().createOrReplaceTempView("records")
    folders = [DATA / broker / f"{topic}-0" for broker, topic in committed]
    read(spark, folders, "read_committed").createOrReplaceTempView("committed")

    queries = {"Topics": TOPICS, "By compression type": TOTALS, "By message format": FORMATS, "Some rows": ROWS}
    for title, query in queries.items():
        print(title, flush=True)
        spark.sql(query.format(brokers=brokers)).show(100, truncate=False)
    wrong = check(spark, "records", everything) + check(spark, "committed", committed)
    spark.stop()
    print(f"{'MISMATCH' if wrong else 'OK'}, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
