"""Scans beside what bounds them, and two threads beside two processes, over the segments of all benchmarks, in one run.

All is done by one program, `rust/kafkacomp-arrow/benches/limits.rs`, without Python and in turn: `limit` verifies the
checksum of each batch and decompresses it with the codec's own library, always into the same memory; `limit + copy`
copies what came out once more; `kept` decompresses into three times 1 MiB in turn, as a scan must whose consumer has
one Arrow batch while the next ones are made: if it takes as long as `limit`, memory is not what scans lose.
`views` is a scan of all default columns with `binary_view`, which copies no value and is held against `limit`; `binary`
copies the values and is held against `limit + copy`. A share of 1 would mean that framing, records, columns and the
transfer between threads take no time. Two threads are one scan; two processes are two scans of one thread each that
begin together, each over its own copy of the data: what the machine has for two that share nothing. They scan the
segment once in memory, and once as a file in the system's cache. Two processes that begin together on one file help
each other, because what one has read is in the processor's cache when the other reads it: `one file`. Each scan has a
process of its own, and a new one in each round: two processes of the same scan may differ by a fifth for as long as
they live, probably because of where their memory lies. In a round, the sides that are compared with each other work in
short turns.

The batches of a segment are repeated as one log of about 250 MB of records; Kafka's segments have up to 1 GiB. Ratios
are medians of the ratios of each round.

Run: python benches/compare_limits.py [--codecs lz4 zstd] [--batches 16k 1m] [--rounds 7] [--repeat 4]
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import make_segments
from compare_java import machine
from reports import head, save

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 900.0
SHARES = ("views by limit", "binary by limit")
#: The scans of two threads, by where the segment is.
FROM_FILE = "From a file"
KINDS = {"In memory": ("views", "binary"), FROM_FILE: ("views_file", "binary_file")}


def main() -> None:
    """Compares what the arguments ask for and writes benches/results/NAME.json and .md."""
    parser = argparse.ArgumentParser(description="scans beside the bare codec; two threads beside two processes")
    parser.add_argument("--codecs", nargs="+", choices=make_segments.CODECS, default=make_segments.CODECS)
    parser.add_argument("--batches", nargs="+", choices=make_segments.BATCHES, default=["16k", "1m"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=4, help="how often a segment's batches are repeated")
    parser.add_argument("--name", default="compare-limits", help="of the result files")
    arguments = parser.parse_args()
    program = build()
    results = []
    for codec in arguments.codecs:
        for batch in arguments.batches:
            segment = make_segments.make(codec, batch)
            command = [program, str(arguments.rounds), str(arguments.repeat), str(segment.path)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT)
            result = json.loads(done.stdout) | {"batch": batch, "segment": segment.path.parent.name}
            results.append(result)
            print(f"{codec:6} {batch:>4}", result["ns"], result["ratios"], flush=True)
    report = {"machine": machine(), "rounds": arguments.rounds, "repeat": arguments.repeat, "results": results}
    save(arguments.name, report, page(report))


def build() -> str:
    """The program's path, built if need be."""
    command = ["cargo", "build", "--release", "--locked", "-p", "kafkacomp-arrow", "--bench", "limits"]
    done = subprocess.run(
        [*command, "--message-format", "json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT
    )
    messages = (json.loads(line) for line in done.stdout.splitlines())
    return next(str(each["executable"]) for each in messages if each.get("executable"))


def page(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines = head("Scans beside what bounds them", "compare_limits.py", report, "all sides")
    lines += ["", "## One thread", "", "ns a record, and which share of the limit's speed a scan reaches.", ""]
    lines += _table(
        ("codec", "batch", "limit", "views", "share", "kept", "share", "limit + copy", "binary", "share"),
        [
            (
                result["ns"]["limit"],
                result["ns"]["views_1"],
                result["ratios"]["views by limit"],
                result["ns"]["limit_kept"],
                result["ratios"]["views by kept"],
                result["ns"]["limit_copy"],
                result["ns"]["binary_1"],
                result["ratios"]["binary by limit"],
            )
            for result in report["results"]
        ],
        report,
    )
    lines += ["", "## Two cores", "", "Throughput by that of one thread.", ""]
    for place, kinds in KINDS.items():
        whats = {"two threads": "threads", "two processes": "processes", "threads / processes": "threads by processes"}
        if place == FROM_FILE:
            whats["threads / processes on one file"] = "threads by one file"
        columns = [f"{kind.removesuffix('_file')}: {what}" for kind in kinds for what in whats]
        ratios = [f"{kind} {ratio}" for kind in kinds for ratio in whats.values()]
        rows = [tuple(result["ratios"][name] for name in ratios) for result in report["results"]]
        lines += [f"{place}:", "", *_table(("codec", "batch", *columns), rows, report), ""]
    return lines[:-1]


def _table(columns: tuple[str, ...], rows: list[tuple[float, ...]], report: dict[str, Any]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for result, row in zip(report["results"], rows, strict=True):
        cells = [f"{each:.1f}" if each >= 10 else f"{each:.2f}" for each in row]
        lines.append(f"| {result['codec']} | {result['batch']} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
