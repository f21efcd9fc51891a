"""Spark writing logs: `df.write.format("kafkacomp")` beside Spark's own Parquet writer, of the same rows in one run.

One session on two cores, all writers in turn, each warmed up by a run of its own. The payload is that of all
benchmarks, flights as JSON of about 265 bytes, in four Parquet files without compression: every writer reads them,
and one more, which writes nothing (`noop`), shows what that costs. Logs have two partitions, and are all there when
the call ends: the commit, which copies what the tasks have staged and brings it to the disk, is part of the time.
Parquet files are not brought to the disk. What the runs that warm up have written is read again and counted.

Run: python benches/compare_write.py [--bytes 200m] [--rounds 3]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "tests" / "kafka")]

from compare_connector import size_of, values  # noqa: E402  (found by the line above)
from compare_java import machine  # noqa: E402
from reports import head, save  # noqa: E402

from livekafka.spark import session  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
#: By name: the format, and its options.
WRITERS: dict[str, tuple[str, dict[str, str]]] = {
    "kafkacomp none": ("kafkacomp", {"compression.type": "none"}),
    "parquet none": ("parquet", {"compression": "uncompressed"}),
    "kafkacomp lz4": ("kafkacomp", {"compression.type": "lz4"}),
    "parquet lz4": ("parquet", {"compression": "lz4_raw"}),
    "noop": ("noop", {}),
}


def main() -> None:
    """Compares and writes benches/results/NAME.json and .md."""
    parser = argparse.ArgumentParser(description="Spark writing logs, beside its Parquet writer")
    parser.add_argument("--bytes", type=size_of, default="200m", help="of values, at least; k, m and g are understood")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--name", default="compare-write", help="of the result files")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafkacomp-write-"))
    try:
        records, size = fill(folder / "rows", arguments.bytes)
        spark = session([])
        facts = machine() | {"spark": spark.version}
        results = compare(spark, folder, records, arguments.rounds)
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report = {"machine": facts, "bytes": size, "rounds": arguments.rounds, "records": records, "results": results}
    lines = page(report)
    save(arguments.name, report, lines)
    print("\n".join(lines))


def fill(folder: Path, size: int) -> tuple[int, int]:
    """The rows as Parquet files of about the same size; how many there are, and the bytes of their values."""
    folder.mkdir()
    count = written = 0
    schema = pa.schema([("value", pa.binary()), ("timestamp", pa.timestamp("ms", "UTC"))])
    for number in range(FILES):
        with pq.ParquetWriter(folder / f"{number}.parquet", schema, compression="none", use_dictionary=False) as writer:
            for batch in values(size // FILES):
                writer.write_batch(batch.cast(schema))
                count += batch.num_rows
                written += pc.sum(pc.binary_length(batch["value"])).as_py()
    return count, written


def compare(spark: SparkSession, folder: Path, records: int, rounds: int) -> list[dict[str, Any]]:
    """What each writer takes and makes, all in turn."""
    frame = spark.read.parquet(str(folder / "rows"))
    target = folder / "out"
    sizes = {}
    for name, (kind, _) in WRITERS.items():
        _, sizes[name] = write(frame, name, target)
        found = records if kind == "noop" else spark.read.format(kind).load(str(target)).count()
        if found != records:
            raise RuntimeError(f"{name}: {found} records, not {records}")
    seconds: dict[str, list[float]] = {name: [] for name in WRITERS}
    for _ in range(rounds):
        for name, taken in seconds.items():
            taken.append(write(frame, name, target)[0])
    return [{"writer": name, "seconds": seconds[name], "written": sizes[name]} for name in WRITERS]


def write(frame: DataFrame, name: str, target: Path) -> tuple[float, int]:
    """Seconds that a writer takes, and the bytes that it makes."""
    kind, options = WRITERS[name]
    options = options | ({"topic": "flights", "numPartitions": "2"} if kind == "kafkacomp" else {})
    writer = frame.write.format(kind).options(**options)
    shutil.rmtree(target, ignore_errors=True)
    start = time.perf_counter()
    if kind == "noop":
        writer.mode("overwrite").save()
    else:
        writer.mode("append").save(str(target))
    taken = time.perf_counter() - start
    return taken, sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines = head("Spark writing logs, beside its Parquet writer", "compare_write.py", report, "all writers")
    lines += [
        f"- {report['records']} records with {report['bytes']} bytes of values",
        "",
        "| writer | millions of records per second | MB of values per second | MB written |",
        "|---|---|---|---|",
    ]
    for result in report["results"]:
        median = statistics.median(result["seconds"])
        speeds = f"{report['records'] / median / 1e6:.2f} | {report['bytes'] / median / 1e6:.0f}"
        lines.append(f"| {result['writer']} | {speeds} | {result['written'] / 1e6:.0f} |")
    return lines


if __name__ == "__main__":
    main()
