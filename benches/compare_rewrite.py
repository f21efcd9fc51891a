"""Megabytes per second of log.recompress and log.convert, from file to file, beside Kafka's classes, in one run.

The source is a segment of flights in batches of 16 KB before compression. Kafka has no such command, so its side is
what one would write with its classes: each batch of FileRecords, record by record, into a MemoryRecordsBuilder of the
other compression type, at Kafka's default levels, or through downConvert; the result goes to a file and is forced to
the disk. Ours is `log.recompress` or `log.convert` as a user calls it, which makes the indexes and the other side files
as well; `ours 2` has two threads, the others one. Lifting to magic 2 has no counterpart in Java. Both sides write to
memory where the system has a file system there: the speed of a disk is not ours.

`in` counts bytes of the source segment, `content` those of the records in it. A ratio is Java's median time by ours:
above 1 ours is faster; in brackets by processor time, of all threads of either process.

Run: python benches/compare_rewrite.py [--codecs none lz4] [--rounds 5]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import shutil
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import make_segments
import pyarrow as pa
import pyarrow.compute as pc
from compare_build import BUILD, WARM_UP_MS
from compare_java import machine
from java_baseline import Program, java
from reports import head, save, table

import kafkacomp as kc
from kafkacomp import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDS = 60_000
OLD = 1  # the format that is converted to, and from
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system, not a name that others could guess
SCRATCH = Path(tempfile.mkdtemp(prefix="kafkacomp-rewrite-", dir=MEMORY if MEMORY.is_dir() else None))
MADE = SCRATCH / "made-0"


def source(codec: str, magic: int) -> Path:
    """A partition of one segment, written if it is not there."""
    folder = BUILD / f"rewrite-{codec}-v{magic}-0"
    if not folder.exists():
        if magic == OLD:
            log.convert(source(codec, 2), folder, OLD)
        else:
            path = folder / f"{0:020}.log"
            make_segments.write(path, codec, RECORDS, "--batch-bytes", str(16 << 10))
    return folder


def content(folder: Path) -> int:
    """Bytes of all values; the flights have no keys."""
    values = pa.table(kc.scan(folder, columns=["value"]))["value"]
    return int(pc.sum(pc.binary_length(values)).as_py())


def once(work: Callable[[Path], object]) -> float:
    """The seconds of one pass; what it made is removed outside of them."""
    shutil.rmtree(MADE, ignore_errors=True)
    start = time.perf_counter()
    work(MADE)
    return time.perf_counter() - start


def check_same(folder: Path) -> None:
    """What was made has the records of its source."""
    columns = ["offset", "timestamp", "key", "value", "headers"]
    if not pa.table(kc.scan(MADE, columns=columns)).equals(pa.table(kc.scan(folder, columns=columns))):
        raise RuntimeError(f"{folder}: the records are others")


def classes(folder: Path, *options: str) -> Program:
    """Kafka's classes."""
    (segment,) = folder.glob("*.log")
    files = ("--file", str(segment), "--out", str(SCRATCH / "java.log"))
    return java("RewriteBench", WARM_UP_MS, *files, *options)


def compare(
    what: str, folder: Path, ours: dict[str, Callable[[Path], object]], theirs: Program | None, rounds: int
) -> dict[str, Any]:
    """One kind of work: the median seconds of each side."""
    (segment,) = folder.glob("*.log")
    with contextlib.ExitStack() as stack:
        sides: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {}
        if theirs is not None:
            stack.enter_context(theirs)
            sides["java"] = (theirs.one_pass, theirs.cpu_seconds)
        for name, work in ours.items():
            sides[name] = (partial(once, work), time.process_time)
        passes: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(rounds + 1):
            for name, (one_pass, clock) in sides.items():
                before = clock()
                taken = one_pass()
                if turn:  # the first is not counted
                    passes[name].append(taken)
                    cpu[name].append(clock() - before)
        check_same(folder)
    seconds = {name: statistics.median(taken) for name, taken in passes.items()}
    cpu_seconds = {name: statistics.median(taken) for name, taken in cpu.items()}
    result: dict[str, Any] = {"what": what, "bytes_in": segment.stat().st_size, "content": content(folder)}
    result |= {"bytes_out": sum(path.stat().st_size for path in MADE.glob("*.log")), "seconds": seconds}
    if theirs is not None:
        result["size"] = result["bytes_out"] / theirs.last["bytes"]
        result["ratios"] = {name: seconds["java"] / seconds[name] for name in ours}
        result["cpu_ratios"] = {name: cpu_seconds["java"] / cpu_seconds[name] for name in ours}
    return result


def results(codecs: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    """All kinds of work."""
    for before, after in itertools.product(codecs, codecs):
        folder = source(before, 2)
        ours: dict[str, Callable[[Path], object]] = {
            f"ours {threads}": partial(log.recompress, folder, compression_type=after, threads=threads)
            for threads in (1, 2)
        }
        yield compare(f"recompress {before} to {after}", folder, ours, classes(folder, "--compression", after), rounds)
    for codec in (codec for codec in codecs if codec != "zstd"):
        for magic, to_magic in ((2, OLD), (OLD, 2)):
            folder = source(codec, magic)
            convert: dict[str, Callable[[Path], object]] = {"ours 1": partial(log.convert, folder, to_magic=to_magic)}
            theirs = classes(folder, "--to-magic", str(OLD)) if to_magic == OLD else None
            yield compare(f"convert {codec} {magic} to {to_magic}", folder, convert, theirs, rounds)


def main() -> None:
    """Compares what the arguments ask for and writes benches/results/compare-rewrite.json and .md."""
    parser = argparse.ArgumentParser(description="kafkacomp's recompress and convert beside Kafka's classes")
    parser.add_argument("--codecs", nargs="+", choices=make_segments.CODECS, default=make_segments.CODECS)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    found = []
    try:
        for result in results(list(arguments.codecs), arguments.rounds):
            found.append(result)
            print(_row(result), flush=True)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    report = {"machine": machine(), "rounds": arguments.rounds, "results": found}
    save("compare-rewrite", report, page(report))


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    columns = (
        "",
        "in",
        "content",
        "content, 2 threads",
        "Java, content",
        "ours 1 / Java",
        "ours 2 / Java",
        "size by Java's",
    )
    lines = head("Logs written anew: kafkacomp beside Kafka's classes", "compare_rewrite.py", report, "all sides")
    return lines + table("Megabytes per second", columns, map(_row, report["results"]))


def _row(result: dict[str, Any]) -> str:
    seconds = result["seconds"]

    def speed(of: str, side: str) -> str:
        return f"{result[of] / seconds[side] / 1e6:.0f}" if side in seconds else ""

    cells = [result["what"], speed("bytes_in", "ours 1"), speed("content", "ours 1")]
    cells += [speed("content", "ours 2"), speed("content", "java")]
    for side in ("ours 1", "ours 2"):
        ratio, cpu = result.get("ratios", {}).get(side), result.get("cpu_ratios", {}).get(side)
        cells.append("" if ratio is None else f"{ratio:.2f} ({cpu:.2f})")
    cells.append(f"{result['size']:.3f}" if "size" in result else "")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
