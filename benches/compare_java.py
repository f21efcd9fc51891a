"""Records per second of kafkacomp.scan and of Kafka's Java consumer path over the same segments, in one run, in turn.

Both sides check every CRC and deliver offset, timestamp, key, value and headers of every record. Ours puts them into
Arrow columns (all eight default columns). Java's records are delivered in three ways: `poll` as KafkaConsumer.poll
does, ConsumerRecords with byte arrays of key and value, 500 in a list; `copy` makes the byte arrays only; `touch` looks
at key and value in the batch's buffer and keeps nothing, which is less than we do and the least that can be done.
`views` is our scan with `binary_type="binary_view"`, whose columns refer to the values instead of copying them.
`memory` reads a segment that is in memory on both sides (bytes here, a heap ByteBuffer there), `file` the file (kc.scan
of its path, FileRecords). A ratio is Java's median time by our median time: above 1 ours is faster.

The machine is taken as it is, so compare ratios, not numbers; nothing is asserted about time. The same ratios by
processor time (of all threads of either process, Linux only) stand beside those by the clock: other programs on the
machine disturb them less.

Run: python benches/compare_java.py [--codecs none lz4] [--batches 16k 1m] [--modes memory file] [--rounds 7]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import functools
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import make_segments
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from java_baseline import OPTIONS, java
from reports import head, save, table
from turns import in_turn

import kafkacomp as kc
from grouped import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from make_segments import Segment

    from kafkacomp.typing import BinaryType

DELIVERIES = ("poll", "copy", "touch")
READERS = ("ours_1", "views_1", *(f"java_{deliver}" for deliver in DELIVERIES))
WARM_UP_MS = 2_500
#: The columns of the tables.
COLUMNS = {
    "ours": "`kafkacomp.scan`, one thread, into all eight default columns; values are copied into them",
    "views": 'the same with `binary_type="binary_view"`: the columns refer to the values where they were read',
    "poll": "Java makes what `KafkaConsumer.poll` returns: lists of 500 `ConsumerRecord`s with byte arrays",
    "copy": "Java copies key and value of each record to byte arrays, and keeps nothing",
    "touch": "Java looks at the first byte of key and value in the batch's buffer, and copies nothing",
    "ours / poll": "Java's median time by ours: above 1 ours is faster",
}


def main() -> None:
    """Compares what the arguments ask for and writes benches/results/NAME.json and .md."""
    parser = argparse.ArgumentParser(description="kafkacomp against Kafka's Java consumer path")
    parser.add_argument("--codecs", nargs="+", choices=make_segments.CODECS, default=make_segments.CODECS)
    parser.add_argument("--batches", nargs="+", choices=make_segments.BATCHES, default=list(make_segments.BATCHES))
    parser.add_argument("--modes", nargs="+", choices=("memory", "file"), default=("memory",))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--name", default="compare-java", help="of the result files")
    arguments = parser.parse_args()
    results = []
    for mode in arguments.modes:
        for codec in arguments.codecs:
            for batch in arguments.batches:
                result = compare(make_segments.make(codec, batch), mode, arguments.rounds)
                results.append(result)
                print(_line(result), flush=True)
    report = {"machine": machine(), "rounds": arguments.rounds, "results": results}
    save(arguments.name, report, page(report))


def compare(segment: Segment, mode: str, rounds: int) -> dict[str, Any]:
    """The median seconds of a pass of each reader over one segment."""
    source = segment.path.read_bytes() if mode == "memory" else segment.path
    with contextlib.ExitStack() as stack:
        readers: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {}
        options = ("--file", str(segment.path), "--mode", mode)
        javas = {each: java("ConsumerBench", WARM_UP_MS, *options, "--deliver", each) for each in DELIVERIES}
        for deliver, program in javas.items():
            readers[f"java_{deliver}"] = (stack.enter_context(program).one_pass, program.cpu_seconds)
        for threads in (1, 2):
            ours = functools.partial(_one_pass, source, segment.records, threads)
            readers[f"ours_{threads}"] = (ours, time.process_time)
            views = functools.partial(_one_pass, source, segment.records, threads, "binary_view")
            readers[f"views_{threads}"] = (views, time.process_time)
        # Ours once unmeasured: the first pass pays for the allocator's memory. Java has warmed up by itself.
        _one_pass(source, segment.records, 1)
        _one_pass(source, segment.records, 1, "binary_view")
        javas["poll"].one_pass()
        _check_same(source, javas["poll"].last)
        passes, cpu = in_turn(readers, rounds)
    seconds = {name: statistics.median(taken) for name, taken in passes.items()}
    cpu_seconds = {name: statistics.median(taken) for name, taken in cpu.items()}
    return {
        "mode": mode,
        "codec": segment.codec,
        "batch": segment.batch,
        "records": segment.records,
        "bytes": segment.path.stat().st_size,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "fastest": {name: min(taken) for name, taken in passes.items()},
        "passes": {name: len(taken) for name, taken in passes.items()},
        "ratios": {deliver: seconds[f"java_{deliver}"] / seconds["ours_1"] for deliver in DELIVERIES},
        "cpu_ratios": {deliver: cpu_seconds[f"java_{deliver}"] / cpu_seconds["ours_1"] for deliver in DELIVERIES},
        "views_ratios": {deliver: seconds[f"java_{deliver}"] / seconds["views_1"] for deliver in DELIVERIES},
        "views_cpu_ratios": {
            deliver: cpu_seconds[f"java_{deliver}"] / cpu_seconds["views_1"] for deliver in DELIVERIES
        },
        "two_threads": seconds["ours_1"] / seconds["ours_2"],
        "views_two_threads": seconds["views_1"] / seconds["views_2"],
    }


def _scan(source: bytes | Path, threads: int, binary_type: BinaryType = "binary") -> pa.RecordBatchReader:
    # A file has topic and partition from its folder; bytes get them by argument, so that all columns are filled.
    named: dict[str, Any] = {"topic": "flights", "partition": 0} if isinstance(source, bytes) else {}
    return pa.RecordBatchReader.from_stream(
        kc.scan(source, **grouped(threads=threads, binary_type=binary_type, **named))
    )


def _one_pass(source: bytes | Path, records: int, threads: int, binary_type: BinaryType = "binary") -> float:
    start = time.perf_counter()
    seen = sum(batch.num_rows for batch in _scan(source, threads, binary_type))
    seconds = time.perf_counter() - start
    if seen != records:
        raise RuntimeError(f"{seen} records of {records}")
    return seconds


def _check_same(source: bytes | Path, theirs: dict[str, Any]) -> None:
    """Both sides read the same: Java's digest, from our columns (keys are null, headers none)."""
    rows = _scan(source, 1).read_all()
    offsets, timestamps = (rows[name].cast(pa.int64()).to_numpy() for name in ("offset", "timestamp"))
    first_bytes = sum(sum(chunk) for chunk in pc.binary_slice(rows["value"], 0, 1).to_pylist())
    sizes = pc.sum(pc.binary_length(rows["value"])).as_py()
    digest = int(np.sum(offsets ^ timestamps)) - rows["key"].null_count + sizes + first_bytes
    if (digest, rows.num_rows) != (theirs["digest"], theirs["records"]):
        raise RuntimeError(f"Java read something else: {theirs['digest']} of {theirs['records']}, ours {digest}")


def machine() -> dict[str, str]:
    """Where and with what this ran."""
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    jvm = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True, timeout=60)
    describe = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, capture_output=True, text=True, check=False, timeout=60)
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "cpu": f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores",
        "load": f"{os.getloadavg()[0]:.1f} at the end: other programs disturb figures above one or two",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "kafkacomp": importlib.metadata.version("kafkacomp"),
        "pyarrow": pa.__version__,
        "java": jvm.stderr.splitlines()[1] + " " + " ".join(OPTIONS),
        "kafka-clients": "3.9.2",
    }


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    rates = ("ours", "views", "poll", "copy", "touch")
    columns = ("codec", "batch", *rates, "ours / poll", "ours / copy", "ours / touch", "views / copy", "views / touch")
    lines = head("kafkacomp.scan against Kafka's Java consumer path", "compare_java.py", report, "Java and ours")
    lines += ["", *(f"- `{name}`: {meaning}" for name, meaning in COLUMNS.items())]
    for mode in dict.fromkeys(result["mode"] for result in report["results"]):
        rows = [_row(result) for result in report["results"] if result["mode"] == mode]
        lines += ["", f"## {mode}", *table("Millions of records per second", (*columns, "2 threads / 1"), rows)]
    return lines


def _row(result: dict[str, Any]) -> str:
    cells = [result["codec"], result["batch"], *(f"{_rate(result, name):.2f}" for name in READERS)]
    cells += [f"{result['ratios'][deliver]:.2f} ({result['cpu_ratios'][deliver]:.2f})" for deliver in DELIVERIES]
    cells += [
        f"{result['views_ratios'][deliver]:.2f} ({result['views_cpu_ratios'][deliver]:.2f})"
        for deliver in ("copy", "touch")
    ]
    return f"| {' | '.join(cells)} | {result['two_threads']:.2f} |"


def _line(result: dict[str, Any]) -> str:
    rates = "  ".join(f"{name} {_rate(result, name):6.2f}" for name in READERS)
    ratios = "  ".join(
        f"ours/{deliver} {ratio:5.2f} ({result['cpu_ratios'][deliver]:.2f})"
        for deliver, ratio in result["ratios"].items()
    )
    views = result["views_ratios"]
    ratios += f"  views/copy {views['copy']:5.2f}  views/touch {views['touch']:5.2f}"
    head = f"{result['mode']:6} {result['codec']:6} {result['batch']:>4}"
    return f"{head}  M records/s: {rates}  {ratios}  two threads {result['two_threads']:4.2f}"


def _rate(result: dict[str, Any], name: str) -> float:
    return float(result["records"] / result["seconds"][name] / 1e6)


if __name__ == "__main__":
    main()
