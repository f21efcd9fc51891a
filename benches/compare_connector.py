"""Spark reading a topic: kafkacomp from the broker's folder beside Spark's own Kafka connector from the broker.

One session on two cores, one run, both sides in turn, each warmed up by a run of its own. The payload is that of all
benchmarks, flights as JSON of about 265 bytes, in two topics of one partition each (a task each for the connector), in
batches of 16 KB before compression as a producer makes them. kafkacomp writes the logs and a real broker mounts them,
so that both sides read the same bytes; the broker runs all the time, on the same cores.

What is timed: `count()`, `sum(length(value))`, and writing all columns of the Kafka source as Parquet, compressed with
snappy as Spark does by default. Spark tells no Python source which columns a query needs, so for the first two ours is
timed with `columns` and without. Parquet is written by Spark from both sources, and by `kafkacomp.spark.export`; what
was written is read back by Spark and compared. A ratio is the connector's median time by our median time: above 1 ours
is faster.

With the first codec a third side takes turns: a Python data source that yields a few ready Arrow batches over and over,
as many rows and the same columns. It is the ceiling of any source written in Python: Spark's transfer from the worker
into the JVM, and what Spark does with the rows there.

Run: python benches/compare_connector.py [--codecs none lz4] [--bytes 1g] [--rounds 3]
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benches" / "results"
BUILD = ROOT / "build" / "bench"
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "tests" / "kafka")]

import flights  # noqa: E402  (found by the line above)
from compare_java import machine  # noqa: E402

import kafkacomp as kc  # noqa: E402
from kafkacomp.spark import export  # noqa: E402
from livekafka import mounting  # noqa: E402
from livekafka.broker import Broker  # noqa: E402
from livekafka.spark import jars, session  # noqa: E402
from livekafka.tools import Tools  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HALVES = ("first", "second")
CONNECTOR = "4.0.0"
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
ROWS = 10_000
#: More content than a Parquet file's dictionary holds, and less than the cache: the first of a scan's batches of 1 MB.
READY_BATCHES = 8


class Way(NamedTuple):
    """Something that is timed: what is done with a frame, and with which `columns` ours reads."""

    action: str
    columns: str | None


WAYS = (Way("count", "offset"), Way("count", None), Way("sum", "value"), Way("sum", None), Way("parquet", None))


class Ready(DataSource):
    """Rows of a few Arrow batches over and over, as many as asked for, in two tasks."""

    @classmethod
    def name(cls) -> str:
        """The format."""
        return "ready"

    def reader(self, schema: StructType) -> ReadyReader:  # noqa: ARG002 - Spark's signature
        """`rows` of the batches in the file `path`."""
        return ReadyReader(self.options["path"], int(self.options["rows"]))


class ReadyReader(DataSourceReader):
    """See `Ready`."""

    def __init__(self, path: str, rows: int) -> None:
        self.path = path
        self.rows = rows

    def partitions(self) -> list[InputPartition]:
        """How many rows each yields."""
        return [InputPartition(self.rows // 2), InputPartition(self.rows - self.rows // 2)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches, which are made no second time."""
        left = partition.value
        for batch in itertools.cycle(pa.ipc.open_file(self.path).read_all().to_batches()):
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return


def main() -> None:
    """Compares what the arguments ask for and writes benches/results/NAME.json and .md."""
    parser = argparse.ArgumentParser(description="kafkacomp in Spark against Spark's Kafka connector")
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=CODECS)
    parser.add_argument(
        "--bytes", type=size_of, default="1g", help="of values, of each codec; k, m and g are understood"
    )
    parser.add_argument("--actions", nargs="+", choices=ACTIONS, default=list(ACTIONS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--name", default="compare-connector", help="of the result files")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafkacomp-connector-"))
    results: list[dict[str, Any]] = []
    try:
        broker = Broker(folder / "broker")
        fill(broker, arguments.codecs, arguments.bytes, folder)
        with broker:
            spark = session(jars())
            for codec in arguments.codecs:
                ceiling = codec == arguments.codecs[0]
                ways = [way for way in WAYS if way.action in arguments.actions]
                for result in compare(spark, broker, codec, arguments.rounds, folder, ways=ways, ceiling=ceiling):
                    results.append(result)
                    print(_row(result), flush=True)
                    if "export" in result["seconds"]:
                        print("export", _export_row(result), flush=True)
            versions = {"spark": spark.version, "spark-sql-kafka-0-10": CONNECTOR}
            spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    about = {"bytes": arguments.bytes, "rounds": arguments.rounds}
    report = {"machine": machine() | versions, **about, "results": results}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{arguments.name}.json").write_text(json.dumps(report, indent=1) + "\n")
    (RESULTS / f"{arguments.name}.md").write_text(markdown(report))


def fill(broker: Broker, codecs: list[str], size: int, folder: Path) -> None:
    """Two topics for each codec, written by kafkacomp in the place of the broker's own."""
    names = [f"{codec}-{half}" for codec in codecs for half in HALVES]
    with broker:
        Tools(broker.bootstrap, folder).create_topics([{"topic": name, "configs": {}} for name in names])
    ends = {}
    for name in names:

        def write(target: Path, topic: str = name) -> None:
            codec = topic.partition("-")[0]
            written = kc.write(values(size // len(HALVES)), folder, topic=topic, compression_type=codec)
            ends[topic] = written.log_end_offset
            Path(written.path).rename(target)

        mounting.mount(broker, name, write)
    mounting.trust(broker, ends)


def values(size: int) -> pa.RecordBatchReader:
    """Flights over and over, `size` bytes of them."""
    schema = pa.schema([("value", pa.binary()), ("timestamp", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        lines = flights.payload(BUILD).read_bytes().splitlines()
        endless, left, count = itertools.cycle(lines), size, 0
        while left > 0:
            taken = list(itertools.islice(endless, ROWS))
            times = pa.array(range(1_700_000_000_000 + count, 1_700_000_000_000 + count + len(taken)), pa.int64())
            yield pa.record_batch([pa.array(taken, pa.binary()), times], schema=schema)
            count += len(taken)
            left -= sum(map(len, taken))

    return pa.RecordBatchReader.from_batches(schema, batches())


def ready(spark: SparkSession, log: Path, rows: int, folder: Path, columns: str | None) -> DataFrameReader:
    """A reader of as many rows of the first batches that ours makes of a log; they are stored first."""
    spark.dataSource.register(Ready)
    schema = spark.read.format("kafkacomp").options(**_chosen(columns), path=str(log)).load().schema
    path = folder / f"ready-{columns}.arrow"
    scanned = kc.scan(
        log, columns=schema.names, options=kc.ScanOptions(threads=1, timestamp_unit="us", arrow_batch_bytes=2 << 20)
    )
    batches = pa.RecordBatchReader.from_stream(scanned)
    with pa.ipc.new_file(path, batches.schema) as out:
        for batch in itertools.islice(batches, READY_BATCHES):
            out.write_batch(batch)
    return spark.read.format("ready").schema(schema).options(path=str(path), rows=rows)


def _chosen(columns: str | None) -> dict[str, str]:
    return {} if columns is None else {"columns": columns}


def compare(
    spark: SparkSession, broker: Broker, codec: str, rounds: int, folder: Path, *, ways: list[Way], ceiling: bool
) -> Iterator[dict[str, Any]]:
    """The seconds of each way, all sides in turn; of the ceiling if it is asked for."""
    common = {"subscribe": ",".join(f"{codec}-{half}" for half in HALVES)}
    connector = spark.read.format("kafka").options(**common, **{"kafka.bootstrap.servers": broker.bootstrap})
    records = connector.load().count()
    for way in ways:
        ours = spark.read.format("kafkacomp").options(**common, **_chosen(way.columns), path=str(broker.log_dir))
        sides = {"connector": acting(way, connector, folder), "ours": acting(way, ours, folder)}
        if way.action == "parquet":
            sides["export"] = exporting(spark, broker.log_dir, common, folder)
        if ceiling:
            log = broker.log_dir / f"{codec}-{HALVES[0]}-0"
            sides["ready"] = acting(way, ready(spark, log, records, folder, way.columns), folder)
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        answers = {}
        for name, side in sides.items():
            answers[name] = side()
            if way.action == "parquet":
                answers[name] = content(spark, folder)
        if any(answers[name] != answers["connector"] for name in sides if name != "ready"):
            raise RuntimeError(f"{codec}, {way}: {answers}")
        for _ in range(rounds):
            for name, side in sides.items():
                start = time.perf_counter()
                side()
                seconds[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(taken) for name, taken in seconds.items()}
        yield {
            "codec": codec,
            **way._asdict(),
            "records": records,
            "seconds": seconds,
            "ratio": medians["connector"] / medians["ours"],
            **({"export_ratio": medians["connector"] / medians["export"]} if "export" in medians else {}),
        }


def acting(way: Way, reader: DataFrameReader, folder: Path) -> Callable[[], object]:
    """What is done with the frames of a reader."""
    act = ACTIONS[way.action]
    return lambda: act(reader.load(), folder)


def exporting(spark: SparkSession, log_dir: Path, options: dict[str, str], folder: Path) -> Callable[[], object]:
    """Parquet without the JVM, in the place where Spark's goes."""

    def run() -> None:
        target = folder / "parquet"
        shutil.rmtree(target)  # as Spark's overwrite does
        export(spark, log_dir, target, columns=COLUMNS, parquet_compression="snappy", options=options)

    return run


def content(spark: SparkSession, folder: Path) -> tuple[Any, ...]:
    """What Spark reads of the Parquet files that were written last: the number of rows, and a hash of their columns."""
    columns = ", ".join(COLUMNS)
    frame = spark.read.parquet(str(folder / "parquet"))
    found: tuple[Any, ...] = frame.selectExpr("count(*)", f"sum(cast(xxhash64({columns}) as decimal(38)))").collect()[0]
    return tuple(found)


def _count(frame: DataFrame, _: Path) -> int:
    return frame.count()


def _sum(frame: DataFrame, _: Path) -> int:
    found: int = frame.selectExpr("sum(length(value))").collect()[0][0]
    return found


def _parquet(frame: DataFrame, folder: Path) -> None:
    frame.write.mode("overwrite").parquet(str(folder / "parquet"))


ACTIONS: dict[str, Callable[[DataFrame, Path], object]] = {"count": _count, "sum": _sum, "parquet": _parquet}


def markdown(report: dict[str, Any]) -> str:
    """The report for people."""
    lines = ["# kafkacomp in Spark against Spark's Kafka connector", ""]
    lines += ["Made by `python benches/compare_connector.py`; its head says what is compared.", ""]
    lines += [f"- {name}: {value}" for name, value in report["machine"].items()]
    lines += [
        f"- {report['bytes']} bytes of values of each codec, {report['rounds']} rounds, both sides in turn",
        "",
        "Millions of records per second, and ours by the connector's.",
        "",
        "| codec | action | `columns` | connector | ours | ours / connector |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(result) for result in report["results"]]
    lines += [
        "",
        "The same Parquet by `kafkacomp.spark.export`, in the same run.",
        "",
        "| codec | connector | export | export / connector |",
        "|---|---|---|---|",
    ]
    lines += [_export_row(result) for result in report["results"] if "export" in result["seconds"]]
    lines += [
        "",
        "The ceiling: a Python data source that yields as many rows of Arrow batches that lie ready, in the same run.",
        "",
        "| codec | action | `columns` | ready batches | ready / connector | ours / ready |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_ceiling_row(result) for result in report["results"] if "ready" in result["seconds"]]
    return "\n".join(lines) + "\n"


def _ceiling_row(result: dict[str, Any]) -> str:
    taken = {side: statistics.median(seconds) for side, seconds in result["seconds"].items()}
    cells = [
        result["codec"],
        result["action"],
        result["columns"] or "",
        f"{result['records'] / taken['ready'] / 1e6:.2f}",
    ]
    cells += [f"{taken['connector'] / taken['ready']:.2f}", f"{taken['ready'] / taken['ours']:.2f}"]
    return f"| {' | '.join(cells)} |"


def _export_row(result: dict[str, Any]) -> str:
    speeds = [result["records"] / statistics.median(result["seconds"][side]) / 1e6 for side in ("connector", "export")]
    cells = [result["codec"], *(f"{each:.2f}" for each in (*speeds, result["export_ratio"]))]
    return f"| {' | '.join(cells)} |"


def _row(result: dict[str, Any]) -> str:
    speeds = [result["records"] / statistics.median(result["seconds"][side]) / 1e6 for side in ("connector", "ours")]
    cells = [result["codec"], result["action"], result["columns"] or "", *(f"{speed:.2f}" for speed in speeds)]
    return f"| {' | '.join([*cells, format(result['ratio'], '.2f')])} |"


def size_of(text: str) -> int:
    """Bytes, as the arguments have them."""
    matched = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    if matched is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 64m or 1g")
    return int(matched[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[matched[2]]


if __name__ == "__main__":
    main()
