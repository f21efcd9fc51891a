"""Cells decompressed in Spark: our function beside UDFs over the usual Python packages, and beside the transfer alone.

For each codec and cell size, the same DataFrame of cells is run through:

- ``kafkacomp``: ``kafkacomp.spark.decompress``
- ``pandas_udf``: a pandas UDF that calls the package's decompressor on each cell
- ``udf``: a plain Python UDF that does so
- ``identity``: an Arrow UDF that gives back what it gets; here it is fed the content, so that as much comes back

The packages are zlib for gzip, zstandard for zstd, and cramjam for all (snappy as a raw block, LZ4 as a frame, which
is what it reads). What is measured is ``sum(length(f(data)))`` over cached rows, so that the content crosses from the
worker to the JVM and no further; the figure is the best of several rounds, which go round all ways in turn. Ratios of
one run are what counts. ``spark.sql.execution.arrow.maxRecordsPerBatch`` is set for about 4 MB of content a batch, for
all ways alike.

Usage: python benches/compare_cells.py [--rounds N] [--mb N] [--codecs gzip ...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cramjam
import pandas as pd
import pyarrow as pa
import pyspark
import zstandard
from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

import kafkacomp as kc
from kafkacomp.spark import decompress

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

RESULTS = Path(__file__).resolve().parent / "results"
SIZES = {"100 B": 100, "10 KB": 10_000, "1 MB": 1_000_000}
BATCH_BYTES = 4_000_000


def gunzip(cell: bytes) -> bytes:
    """With the standard library."""
    return zlib.decompress(cell, wbits=31)


def unzstd(cell: bytes) -> bytes:
    """By python-zstandard's stream object: the one-shot wants a content size, which Kafka's frames do not have."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(cell)


#: Codec -> package -> what a user writes.
PEERS: dict[str, dict[str, Callable[[bytes], Any]]] = {
    "gzip": {"zlib": gunzip, "cramjam": lambda cell: bytes(cramjam.gzip.decompress(cell))},
    "snappy": {"cramjam": lambda cell: bytes(cramjam.snappy.decompress_raw(cell))},
    "lz4": {"cramjam": lambda cell: bytes(cramjam.lz4.decompress(cell))},
    "zstd": {"zstandard": unzstd, "cramjam": lambda cell: bytes(cramjam.zstd.decompress(cell))},
}


def ways(kind: str) -> dict[str, Callable[[], Column]]:
    """Every way to decompress the column ``data``."""

    def plain(function: Callable[[bytes], Any]) -> Callable[[], Column]:
        return lambda: F.udf(function, "binary")("data")

    def pandas(function: Callable[[bytes], Any]) -> Callable[[], Column]:
        def cells(data: pd.Series) -> pd.Series:
            return data.map(function)

        cells.__annotations__ = {"data": pd.Series, "return": pd.Series}
        return lambda: F.pandas_udf(cells, "binary")("data")

    found: dict[str, Callable[[], Column]] = {"kafkacomp": lambda: decompress("data", kind)}
    for package, function in PEERS[kind].items():
        found[f"pandas_udf {package}"] = pandas(function)
        found[f"udf {package}"] = plain(function)
    if hasattr(F, "arrow_udf"):

        def same(content: pa.Array) -> pa.Array:
            return content

        same.__annotations__ = {"content": pa.Array, "return": pa.Array}
        found["identity"] = lambda: F.arrow_udf(same, "binary")("content")
    return found


def content(size: int, seed: int) -> bytes:
    """Text of numbers and names, as events are; it compresses about fourfold."""
    rng = random.Random(seed)
    parts, length = [], 0
    while length < size:
        part = b'{"id":%d,"name":"user-%d","amount":%d.%02d,"state":"%s"}' % (
            rng.randrange(10**9),
            rng.randrange(5000),
            rng.randrange(1000),
            rng.randrange(100),
            rng.choice((b"open", b"paid", b"shipped", b"cancelled")),
        )
        parts.append(part)
        length += len(part)
    return b"".join(parts)[:size]


def table(spark: SparkSession, kind: str, size: int, total: int) -> DataFrame:
    """Cached rows of ``content`` and ``data``: 64 different cells, again and again."""
    contents = [content(size, seed) for seed in range(64)]
    # Raw snappy blocks, because that is what the other packages read.
    pack = (
        (lambda raw: bytes(cramjam.snappy.compress_raw(raw)))
        if kind == "snappy"
        else lambda raw: kc.compress(raw, kind)
    )
    rows = [(n, raw, pack(raw)) for n, raw in enumerate(contents)]
    cells = spark.createDataFrame(rows, "n int, content binary, data binary")
    count = max(total // size, 64)
    frame = spark.range(count, numPartitions=2).selectExpr("cast(id % 64 as int) as n").join(F.broadcast(cells), "n")
    frame = frame.select("content", "data").persist(StorageLevel.MEMORY_ONLY)
    frame.count()
    return frame


def measure(frame: DataFrame, columns: dict[str, Callable[[], Column]], rounds: int) -> dict[str, float]:
    """The best seconds of each way; every way warms its workers up first."""
    best: dict[str, float] = {}
    total = frame.agg(F.sum(F.length("content"))).collect()[0][0]
    for turn in range(rounds + 1):
        for name, column in columns.items():
            begin = time.perf_counter()
            found = frame.agg(F.sum(F.length(column()))).collect()[0][0]
            seconds = time.perf_counter() - begin
            assert found == total, (name, found, total)
            if turn:
                best[name] = min(best.get(name, seconds), seconds)
    return best


def main() -> None:
    """Measure, print and write ``results/compare-cells.jsonl`` and ``.md``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mb", type=int, default=150, help="content per table")
    parser.add_argument("--codecs", nargs="+", choices=list(PEERS), default=list(PEERS))
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    # Neither the first codec nor the first way pays for the JVM's compiler.
    measure(table(spark, "lz4", 10_000, 20_000_000), ways("lz4"), 1)
    lines = []
    for kind in arguments.codecs:
        for label, size in SIZES.items():
            # Small cells cost by the cell: a quarter of the bytes is enough of them.
            total = arguments.mb * 1_000_000 // (4 if size < 1000 else 1)
            spark.conf.set(
                "spark.sql.execution.arrow.maxRecordsPerBatch", str(min(max(BATCH_BYTES // size, 1), 10_000))
            )
            frame = table(spark, kind, size, total)
            for way, seconds in measure(frame, ways(kind), arguments.rounds).items():
                line = {"codec": kind, "cell": label, "way": way, "seconds": round(seconds, 4)}
                line |= {"mb_per_second": round(total / seconds / 1e6, 1)}
                lines.append(line)
                print(json.dumps(line), flush=True)
            frame.unpersist(blocking=True)
    spark.stop()
    write(lines)


def write(lines: list[dict[str, Any]]) -> None:
    """The measurements as JSON lines, and as a table of ratios."""
    (RESULTS / "compare-cells.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = [
        "# Cells decompressed in Spark",
        "",
        f"`compare_cells.py`: PySpark {pyspark.__version__}, pyarrow {pa.__version__}, pandas {pd.__version__},",
        f"local[2] on {os.cpu_count()} cores.",
        "MB of content per second, best of some rounds. The last column is ours over the best other.",
        "`identity` is the transfer alone, the content there and back; it decompresses nothing and is no rival.",
        "",
        "| codec | cell | kafkacomp | best other | identity | kafkacomp / best |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for kind in dict.fromkeys(each["codec"] for each in lines):
        for label in SIZES:
            rates = {
                each["way"]: each["mb_per_second"] for each in lines if (each["codec"], each["cell"]) == (kind, label)
            }
            ours, identity = rates.pop("kafkacomp"), rates.pop("identity", None)
            name = max(rates, key=lambda way: rates[way])
            cells = [
                kind,
                label,
                f"{ours:.0f}",
                f"{rates[name]:.0f} ({name})",
                "-" if identity is None else f"{identity:.0f}",
            ]
            out.append(f"| {' | '.join(cells)} | {ours / rates[name]:.2f} |")
    (RESULTS / "compare-cells.md").write_text("\n".join(out) + "\n")
    print("\n".join(out))


if __name__ == "__main__":
    main()
