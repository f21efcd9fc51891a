"""Produced batches through LogValidator, ours and Kafka's, in one run, in turn.

The batches are flights as JSON of about 265 bytes, 16 KB before compression, written by Kafka's builder and given
base offset 0, as a producer sends them. One call a batch; buffers and codec contexts are kept, as a broker's request
thread keeps them; no checksum is checked, as the broker has done that before. In place only the header changes; else
the records are compressed anew at Kafka's default level, and `size` is our size by Java's. Ours is the core
(`examples/validate_pass.rs`). A ratio is Java's median time by ours: above 1 ours is faster; in brackets by processor
time.

Run: python benches/compare_validate.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
from typing import TYPE_CHECKING, Any

import make_segments
from compare_build import BUILD, ROOT, WARM_UP_MS
from compare_java import machine
from java_baseline import Program, java
from reports import head, save, table
from turns import in_turn

from kafkacomp import record

if TYPE_CHECKING:
    from pathlib import Path

BATCH = "16k"
BATCHES = 1_000  # as many are enough
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
IN_PLACE = tuple((codec, codec) for codec in CODECS)
ANEW = (
    ("none", "gzip"),
    ("none", "snappy"),
    ("none", "lz4"),
    ("none", "zstd"),
    ("gzip", "zstd"),
    ("snappy", "lz4"),
    ("lz4", "zstd"),
    ("zstd", "lz4"),
)
AIM_IN_PLACE, AIM_ANEW = 2, 1.4


def main() -> None:
    """Compares all pairs of codecs and writes benches/results/compare-validate.json and .md."""
    parser = argparse.ArgumentParser(description="kafkacomp against Kafka's LogValidator")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--name", default="compare-validate", help="of the result files")
    arguments = parser.parse_args()
    example = ["cargo", "build", "--release", "--locked", "-p", "kafkacomp-broker", "--example", "validate_pass"]
    subprocess.run(example, cwd=ROOT, check=True)
    results = []
    for source, target in IN_PLACE + ANEW:
        results.append(compare(source, target, arguments.rounds))
        print(_row(results[-1]), flush=True)
    report = {"machine": machine(), "rounds": arguments.rounds, "results": results}
    save(arguments.name, report, page(report))


def produced(codec: str) -> Path:
    """The first batches of the segment of a codec, each as a producer sends it."""
    path = BUILD / f"produced-{codec}-{BATCH}.bin"
    if not path.exists():
        segment = make_segments.make(codec, BATCH).path.read_bytes()
        pieces = []
        for batch in record.read_batches(segment):
            pieces.append(bytes(8) + segment[batch.position + 8 : batch.position + batch.size_in_bytes])
            if len(pieces) == BATCHES:
                break
        path.write_bytes(b"".join(pieces))
    return path


def compare(source: str, target: str, rounds: int) -> dict[str, Any]:
    """The median seconds of a pass of each validator."""
    path = produced(source)
    theirs = java("ValidateBench", WARM_UP_MS, "--file", str(path), "--source", source, "--target", target)
    ours = Program(str(ROOT / "target" / "release" / "examples" / "validate_pass"), str(path), source, target)
    with contextlib.ExitStack() as stack:
        sides = {"java": stack.enter_context(theirs), "ours": stack.enter_context(ours)}
        for side in sides.values():
            side.one_pass()
        same = ("records", "batches", "bytes") if source == target else ("records", "batches")
        for name in same:
            if theirs.last[name] != ours.last[name]:
                raise RuntimeError(f"{name}: Java {theirs.last[name]}, ours {ours.last[name]}")
        passes, cpu = in_turn({name: (side.one_pass, side.cpu_seconds) for name, side in sides.items()}, rounds)
    seconds = {name: statistics.median(taken) for name, taken in passes.items()}
    cpu_seconds = {name: statistics.median(taken) for name, taken in cpu.items()}
    return {
        "source": source,
        "target": target,
        "records": ours.last["records"],
        "batches": ours.last["batches"],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "ratio": seconds["java"] / seconds["ours"],
        "cpu_ratio": cpu_seconds["java"] / cpu_seconds["ours"],
        "size": ours.last["bytes"] / theirs.last["bytes"],
        "aim": AIM_IN_PLACE if source == target else AIM_ANEW,
    }


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    columns = ("codecs", "Java", "ours", "ours / Java", "aim", "size")
    lines = head(
        "Produced batches: kafkacomp's LogValidator against Kafka's", "compare_validate.py", report, "both sides"
    )
    return lines + table("Microseconds a batch", columns, map(_row, report["results"]))


def _row(result: dict[str, Any]) -> str:
    kept = result["source"] == result["target"]
    cells = [f"{result['source']} in place" if kept else f"{result['source']} to {result['target']}"]
    cells += [f"{result['seconds'][name] / result['batches'] * 1e6:.1f}" for name in ("java", "ours")]
    cells += [f"{result['ratio']:.2f} ({result['cpu_ratio']:.2f})", str(result["aim"]), f"{result['size']:.3f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
