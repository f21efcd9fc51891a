"""How often each tool's answer to each kind of corruption is not the truth, with examples.

For instance, in the folder ``tests``: ``python -m corruption.survey --tool "scan, skip" --kind zeroed --times 5``.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from corruption.asking import faults_of
from corruption.inject import KINDS, applies
from corruption.logs import all_logs
from corruption.tools import SPARK, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corruption.logs import Log


def _injections(options: argparse.Namespace) -> Iterator[tuple[str, Log, object]]:
    """Kind, log and seed: each kind into each log, or at random."""
    cases = [
        (kind, log)
        for kind in KINDS
        if options.kind in kind
        for log in all_logs()
        if options.log in log.name and applies(kind, log)
    ]
    if options.random:
        rng = random.Random(options.seed)
        for number in range(options.random):
            yield *rng.choice(cases), f"{options.seed} {number}"
    else:
        for kind, log in cases:
            for seed in range(options.times):
                yield kind, log, f"{options.seed} {seed}" if options.seed else seed


def main() -> None:
    """Print a line for each kind and tool with faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", action="append", choices=TOOLS | SPARK, help="one or more; by default all")
    parser.add_argument("--kind", default="", help="only kinds that contain this")
    parser.add_argument("--log", default="", help="only logs whose name contains this")
    parser.add_argument("--times", type=int, default=1, help="injections of each kind into each log")
    parser.add_argument("--random", type=int, default=0, help="so many injections, of random kinds into random logs")
    parser.add_argument("--seed", default="", help="of the random choices")
    parser.add_argument("--examples", type=int, default=1, help="faults shown of each line")
    options = parser.parse_args()
    faults: dict[tuple[str, str], list[str]] = defaultdict(list)
    count = 0
    for kind, log, seed in _injections(options):
        count += 1
        for tool in options.tool or TOOLS | SPARK:
            with tempfile.TemporaryDirectory() as folder:
                found = faults_of(kind, log, seed, Path(folder), [tool])
            if found:
                faults[kind, tool].append("\n      ".join(found))
    for (kind, tool), lines in faults.items():
        print(f"{kind}, {tool}: {len(lines)}")  # noqa: T201 - a command
        for line in lines[: options.examples]:
            print(f"      {line}")  # noqa: T201 - a command
    print(f"{sum(map(len, faults.values()))} wrong answers to {count} injections")  # noqa: T201 - a command


if __name__ == "__main__":
    main()
