"""Records per second into batches of magic 2, by kafkacomp and by Kafka's MemoryRecordsBuilder, in one run, in turn.

The payload is that of all benchmarks, flights as JSON of about 265 bytes; a batch is closed by the same rule on both
sides (hasRoomFor at 16 KB, or one record a batch), so that both make the same batches: their number, and without a
codec their checksums, are compared. Codecs run at Kafka's default levels; `size` is our compressed size by Java's.
Java appends byte arrays to one builder a batch, all in one reused buffer; ours is the core with one kept builder
(`examples/build_pass.rs`), and `arrow` is `record.build_batches` called from Python for 2,000 rows at a time of an
Arrow column. A ratio is Java's median time by our median time: above 1 ours is faster; in brackets by processor time.

`limit` is what no builder can leave out: the records of the same batches compressed by the codec's own library as
Kafka's format requires, at the same level and with a kept context, or copied without a codec, and the checksum of each
batch. The share is its time by ours, both in Rust: neither has a call from Python.

Run: python benches/compare_build.py [--codecs none lz4] [--batches 16k 1] [--rounds 7]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flights
import pyarrow as pa
from compare_java import machine
from java_baseline import Program, java
from reports import head, save, table
from turns import in_turn

from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "bench"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# The write limit in bytes, and how many flights are enough.
BATCHES = {"16k": (16384, 60_000), "1": (1, 10_000)}
WARM_UP_MS = 3_000
ARROW_ROWS = 2_000


def main() -> None:
    """Compares what the arguments ask for and writes benches/results/NAME.json and .md."""
    parser = argparse.ArgumentParser(description="kafkacomp against Kafka's MemoryRecordsBuilder")
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=CODECS)
    parser.add_argument("--batches", nargs="+", choices=list(BATCHES), default=list(BATCHES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--name", default="compare-build", help="of the result files")
    arguments = parser.parse_args()
    example = ["cargo", "build", "--release", "--locked", "-p", "kafkacomp-records", "--example", "build_pass"]
    subprocess.run(example, cwd=ROOT, check=True)
    results = []
    for batch, codec in itertools.product(arguments.batches, arguments.codecs):
        results.append(compare(codec, batch, arguments.rounds))
        print(_row(results[-1]), flush=True)
    report = {"machine": machine(), "rounds": arguments.rounds, "results": results}
    save(arguments.name, report, page(report))


def payload(count: int) -> Path:
    """The first flights, a line each."""
    path = BUILD / f"flights-{count}.jsonl"
    if not path.exists():
        with flights.payload(BUILD).open("rb") as lines:
            path.write_bytes(b"".join(itertools.islice(lines, count)))
    return path


def compare(codec: str, batch: str, rounds: int) -> dict[str, Any]:
    """The median seconds of a pass of each builder."""
    limit, count = BATCHES[batch]
    path = payload(count)
    options = ("--file", str(path), "--compression", codec, "--batch-bytes", str(limit))
    theirs = java("BuildBench", WARM_UP_MS, *options)
    program = (str(ROOT / "target" / "release" / "examples" / "build_pass"), str(path), codec, str(limit))
    ours, least = Program(*program, "ours"), Program(*program, "limit")
    with contextlib.ExitStack() as stack:
        stack.enter_context(theirs)
        stack.enter_context(ours)
        stack.enter_context(least)
        arrow = arrow_pass(path, codec, limit)
        sides: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
            "java": (theirs.one_pass, theirs.cpu_seconds),
            "ours": (ours.one_pass, ours.cpu_seconds),
            "arrow": (arrow, time.process_time),
            "limit": (least.one_pass, least.cpu_seconds),
        }
        for one_pass, _ in sides.values():
            one_pass()
        check_same(theirs.last, ours.last, codec)
        passes, cpu = in_turn(sides, rounds)
    seconds = {name: statistics.median(taken) for name, taken in passes.items()}
    cpu_seconds = {name: statistics.median(taken) for name, taken in cpu.items()}
    return {
        "codec": codec,
        "batch": batch,
        "records": count,
        "batches": ours.last["batches"],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "ratios": {name: seconds["java"] / seconds[name] for name in ("ours", "arrow")},
        "cpu_ratios": {name: cpu_seconds["java"] / cpu_seconds[name] for name in ("ours", "arrow")},
        "size": ours.last["bytes"] / theirs.last["bytes"],
        "share": seconds["limit"] / seconds["ours"],
        "cpu_share": cpu_seconds["limit"] / cpu_seconds["ours"],
    }


def check_same(java: dict[str, Any], ours: dict[str, Any], codec: str) -> None:
    """Both made the same batches."""
    same = ("records", "batches", "bytes", "digest") if codec == "none" else ("records", "batches")
    for name in same:
        if java[name] != ours[name]:
            raise RuntimeError(f"{name}: Java {java[name]}, ours {ours[name]}")


def arrow_pass(path: Path, codec: str, limit: int) -> Callable[[], float]:
    """A pass of build_batches over the lines of a file."""
    values = path.read_bytes().splitlines()
    rows = pa.table({"value": values, "timestamp": pa.array(range(len(values)), pa.int64())})
    pieces = [rows.slice(at, ARROW_ROWS).combine_chunks() for at in range(0, len(values), ARROW_ROWS)]

    def one_pass() -> float:
        start = time.perf_counter()
        for piece in pieces:
            record.build_batches(piece, compression_type=codec, batch_bytes=limit)
        return time.perf_counter() - start

    return one_pass


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    columns = ("batch", "codec", "Java", "ours", "arrow", "limit", "ours / Java", "arrow / Java", "share", "size")
    title = "Building batches: kafkacomp against Kafka's MemoryRecordsBuilder"
    lines = head(title, "compare_build.py", report, "all sides")
    return lines + table("Millions of records per second", columns, map(_row, report["results"]))


def _row(result: dict[str, Any]) -> str:
    cells = [result["batch"], result["codec"]]
    cells += [f"{result['records'] / result['seconds'][name] / 1e6:.2f}" for name in ("java", "ours", "arrow", "limit")]
    cells += [f"{result['ratios'][name]:.2f} ({result['cpu_ratios'][name]:.2f})" for name in ("ours", "arrow")]
    cells += [f"{result['share']:.2f} ({result['cpu_share']:.2f})", f"{result['size']:.3f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
