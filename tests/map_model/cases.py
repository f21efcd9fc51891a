"""Cases for the Rust map: damaged partitions as JSON lines, with the verdict of the model.

    {"cleaned_to": null, "files": [[name, is_truncated, valid, facts], ...], "verdict": {...}}

A fact is a number of corrupt units, a negative number of zero units, or a batch:
``[first, room, size, records]``, where
``records`` are pairs of delta and content one after another, or the content of the first record if each offset has a
record and the contents count up.

A verdict has a letter for each batch of each file, the offsets that were restored, and the missing ranges:

    {"uses": ["iid-", ...], "restored": [[file, index, first], ...], "missing": [[start, end, reason], ...]}
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from check import make
from damages import DAMAGES, every
from make_logs import KINDS, DiskFile, disk_of, segments_of, small
from model import Batch, Corrupt, Fact, Hints, LogMap, Segment, Use, map_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The letter of each use.
LETTERS = {Use.IN_PLACE: "i", Use.DISPLACED: "d", Use.ALTERED: "a", Use.REPEAT: "r", Use.OUT_OF_PLACE: "o"}
#: The damages by their names, as ``check.make`` takes them.
LABELS = ["none", *(each.__name__ for each in DAMAGES), "two"]
#: What is committed next to this file.
COMMITTED = Path(__file__).with_name("cases.jsonl")


def _fact(fact: Fact) -> Any:
    if not isinstance(fact, Batch):
        return fact.size if isinstance(fact, Corrupt) else -fact.size
    records = fact.records
    counts_up = [(delta, records[0][1] + delta) for delta in range(fact.room)] if records else []
    packed = records[0][1] if records and list(records) == counts_up else [each for pair in records for each in pair]
    return [fact.first, fact.room, fact.size, packed]


def verdict(segments: list[Segment], found: LogMap) -> dict[str, Any]:
    """What the Rust map must find; ``segments`` are in the order of their names."""
    uses = [
        "".join(
            LETTERS[found.uses[file, index]] if (file, index) in found.uses else "-"
            for index, fact in enumerate(segment.facts)
            if isinstance(fact, Batch)
        )
        for file, segment in enumerate(segments)
    ]
    restored = sorted(
        [each.file, each.index, each.first] for each in found.placed if found.uses[each.file, each.index] is Use.ALTERED
    )
    return {"uses": uses, "restored": restored, "missing": [[*hole, reason.value] for hole, reason in found.missing]}


def case(disk: list[DiskFile], hints: Hints) -> dict[str, Any]:
    """A damaged partition with its verdict."""
    segments = sorted(segments_of(disk), key=lambda each: each.name)
    files = [
        [each.name, each.is_truncated, each.valid and list(each.valid), [_fact(fact) for fact in each.facts]]
        for each in segments
    ]
    return {"cleaned_to": hints.cleaned_to, "files": files, "verdict": verdict(segments, map_of(segments, hints))}


def random_cases(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Logs of every kind with every damage, for ever."""
    number = seed * 1_000_000
    while True:
        for kind in KINDS:
            for label in LABELS:
                name = f"{kind.__name__} {label} {number}"
                log, disk = make(name)
                yield name, case(disk, log.hints)
        number += 1


def every_case(most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Small logs with every single damage of some kinds."""
    for number, log in enumerate(small(most)):
        for label, disk in every(disk_of(log)):
            yield f"{label} in log {number}", case(disk, log.hints)


def line(made: dict[str, Any]) -> str:
    """A case as it is written."""
    return json.dumps(made, separators=(",", ":"))


def committed() -> Iterable[str]:
    """A sample that has each damage of each kind of log once, and small logs; the shortest of some of each."""
    best: dict[str, str] = {}
    made = random_cases(0)
    for _ in range(6 * len(KINDS) * len(LABELS)):
        name, each = next(made)
        key = name.rsplit(" ", 1)[0]
        written = line(each)
        if any(set(uses) - {"i"} for uses in each["verdict"]["uses"]) or key not in best:
            best[key] = min(best.get(key, written), written, key=len)
    lines = sorted(best.values(), key=len)[: len(best) * 3 // 4]
    some = [line(each) for _, each in every_case(4)]
    return [*lines, *Random(0).sample(some, 350)]


def main() -> int:
    """Write the committed cases, or with ``--check`` compare them; 1 if they differ."""
    parser = ArgumentParser(description="Write the committed cases.")
    parser.add_argument("--check", action="store_true", help="only compare them with what would be written")
    text = "".join(f"{each}\n" for each in committed())
    if parser.parse_args().check:
        return 0 if COMMITTED.read_text() == text else 1
    COMMITTED.write_text(text)
    sys.stdout.write(f"{text.count(chr(10))} cases, {len(text)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
