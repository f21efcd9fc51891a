"""Spark beside a broker, in a process of its own: the connector's jars must be there when the JVM starts.

The same topics are read by Spark's own Kafka connector from the broker and by kafkacomp from the broker's folder.

Run by `read_both`: python spark.py OUT, with the request as JSON on standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parent.parent / "connector"
TIMEOUT = 400.0
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
SIDES = ("connector", "kafkacomp")
LEVELS = ("read_uncommitted", "read_committed")


class Source(NamedTuple):
    """A running broker and the topics to read."""

    bootstrap: str
    log_dir: str
    topics: list[str]
    #: More reads, by name: options that both sides have, beside the two isolation levels.
    reads: dict[str, dict[str, str]]


class Both(NamedTuple):
    """The rows of both sides, in the order of topic, partition and offset."""

    connector: pa.Table
    kafkacomp: pa.Table


def with_nulls(connector: pa.Table) -> pa.Table:
    """The connector's rows as kafkacomp has them: a record without a timestamp has null, not -1 ms."""
    import pyarrow as pa  # noqa: PLC0415 - not in the process with Spark
    import pyarrow.compute as pc  # noqa: PLC0415

    at = connector.schema.get_field_index("timestamp")
    times = connector.column(at)
    is_none = pc.equal(times.cast(pa.int64()), -1000)
    return connector.set_column(at, connector.schema.field(at), pc.if_else(is_none, pa.scalar(None, times.type), times))


def jars() -> list[str]:
    """The connector's jars, fetched if need be."""
    from livekafka import maven  # noqa: PLC0415 - not in the process with Spark

    maven.class_path(PROJECT, "process-resources")
    return sorted(map(str, (PROJECT / "target" / "jars").glob("*.jar")))


def session(jars: list[str], **settings: str) -> SparkSession:
    """A local session on two cores with the connector."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only in the process with Spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("kafkacomp beside the connector")
    common = {
        "spark.jars": ",".join(jars),
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in (common | settings).items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def read_both(folder: Path, sources: list[Source]) -> list[dict[str, Both]]:
    """What both sides read of each source, by isolation level and by name. Files go to `folder`."""
    import pyarrow as pa  # noqa: PLC0415 - for those who compare

    request = {"jars": jars(), "sources": sources}
    subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), str(folder)],
        input=json.dumps(request),
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    return [
        {
            name: Both(*(pa.ipc.open_file(folder / f"{index}-{name}-{side}.arrow").read_all() for side in SIDES))
            for name in (*LEVELS, *source.reads)
        }
        for index, source in enumerate(sources)
    ]


def main(folder: Path) -> None:
    """Reads what is asked for."""
    import pyarrow as pa  # noqa: PLC0415 - only in the process with Spark

    request = json.load(sys.stdin)
    spark = session(request["jars"])
    for index, (bootstrap, log_dir, topics, reads) in enumerate(request["sources"]):
        # The first of them cut the logs into many small pieces.
        levels = {level: {"kafka.isolation.level": level} for level in LEVELS}
        for name, options in (levels | reads).items():
            common = {"subscribe": ",".join(topics), "includeHeaders": "true", **options}
            connector = spark.read.format("kafka").options(**common, **{"kafka.bootstrap.servers": bootstrap})
            ours = spark.read.format("kafkacomp").options(
                **common, splitSize="20k" if name in levels else "1g", path=log_dir
            )
            for side, reader in zip(SIDES, (connector, ours), strict=True):
                table = reader.load().select(*COLUMNS).orderBy("topic", "partition", "offset").toArrow()
                with pa.ipc.new_file(folder / f"{index}-{name}-{side}.arrow", table.schema) as out:
                    out.write_table(table)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
