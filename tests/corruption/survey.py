"""How often each tool's answer to each kind of corruption is not the truth, with examples.

For instance, in the folder ``tests``: ``python -m corruption.survey --tool "scan, skip" --kind zeroed --times 5``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

from corruption.asking import faults_of
from corruption.inject import KINDS, applies
from corruption.logs import all_logs
from corruption.tools import SPARK, TOOLS


def main() -> None:
    """Print a line for each kind and tool with faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", action="append", choices=TOOLS | SPARK, help="one or more; default: all")
    parser.add_argument("--kind", default="", help="only kinds that contain this")
    parser.add_argument("--log", default="", help="only logs whose name contains this")
    parser.add_argument("--times", type=int, default=1, help="injections of each kind into each log")
    parser.add_argument("--examples", type=int, default=1, help="faults shown of each line")
    options = parser.parse_args()
    faults: dict[tuple[str, str], list[str]] = defaultdict(list)
    count = 0
    for kind in (each for each in KINDS if options.kind in each):
        for log in (each for each in all_logs() if options.log in each.name and applies(kind, each)):
            for seed in range(options.times):
                count += 1
                for tool in options.tool or TOOLS:
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
