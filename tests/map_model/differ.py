"""Hold the Rust map against the model, case by case.

    python tests/map_model/differ.py --cases 100000 --seed 1
    python tests/map_model/differ.py --most 6      # every small log with every damage

The Rust side is ``cargo run --example map_cases``; another build of it can be given with ``--program``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import every_case, line, random_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
CARGO = ["cargo", "run", "--release", "--locked", "-q", "-p", "kafkacomp-log", "--example", "map_cases"]
#: The cases between two runs of the program: neither pipe fills up while the other is waited for.
BATCH = 2000


def verdicts(program: list[str], cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the Rust map finds."""
    text = "".join(f"{line(each)}\n" for each in cases)
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    return [json.loads(each) for each in done.stdout.splitlines()]


def differences(
    program: list[str], cases: Iterator[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[int, list[tuple[str, dict[str, Any], dict[str, Any]]]]]:
    """The number of cases so far, and those of them that differ."""
    total = 0
    while chunk := list(islice(cases, BATCH)):
        found = verdicts(program, [each for _, each in chunk])
        total += len(chunk)
        pairs = zip(chunk, found, strict=True)
        yield total, [(name, each, verdict) for (name, each), verdict in pairs if verdict != each["verdict"]]


def main() -> int:
    """The number of differences is not 0: 1."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, help="instead: every small log of up to so many batches")
    parser.add_argument("--program", nargs="+", default=CARGO)
    parser.add_argument("--show", type=int, default=3, help="differences to print")
    options = parser.parse_args()
    cases = every_case(options.most) if options.most else islice(random_cases(options.seed), options.cases)
    total = wrong = 0
    for total, found in differences(options.program, cases):
        for name, each, verdict in found[: max(0, options.show - wrong)]:
            sys.stdout.write(f"{name}\n  case  {line(each)}\n  found {line(verdict)}\n")
        wrong += len(found)
        sys.stderr.write(f"\r{total} cases, {wrong} differ")
    sys.stdout.write(f"\n{total} cases, {wrong} differ\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
