"""What Kafka's own MemoryRecords reads from record sets, and how it is held against kafkacomp's reading."""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import record_sets
from golden.digest import digest
from golden.expect import OracleCase
from golden.lz4_reference import stored_frame
from golden.oracle import LZ4, compare, leading_lz4_frames
from livekafka import maven, tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LENGTH = struct.Struct(">i")  # ReadRecords.java reads this
# Kafka takes the memory that a record claims. With a small heap it fails at once, and costs nothing.
JAVA_OPTIONS = (*tools.JAVA_OPTIONS, "-Xmx400m")
TIMEOUT = 3600.0
# What of a batch's outcome depends on what its codec makes of the payload.
DEEP = ("base_offset", "recs", "err")


def digests(cases: Sequence[bytes], folder: Path) -> list[str]:
    """The digest of each case's outcome; ``golden.digest`` has the same of kafkacomp's."""
    return _run(cases, folder, "digest")


def outcomes(cases: Sequence[bytes], folder: Path) -> list[dict[str, Any]]:
    """The whole outcome of each case, as the oracle's expectation files have it."""
    return [json.loads(line) for line in _run(cases, folder, "json")]


def _run(cases: Sequence[bytes], folder: Path, form: Literal["digest", "json"]) -> list[str]:
    given, out = folder / "cases.bin", folder / f"outcomes.{form}"
    with given.open("wb") as file:
        for case in cases:
            file.write(LENGTH.pack(len(case)) + case)
    class_path = maven.class_path(tools.PROJECT, "package")
    command = ["java", *JAVA_OPTIONS, "-cp", class_path, "kafkacomp.tools.Main", "read-records", "--form", form]
    subprocess.run(
        [*command, "--cases", str(given), "--out", str(out)], check=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT
    )
    return out.read_text(encoding="utf-8").splitlines()


@dataclass
class Comparison:
    """What came of many cases: how often a rule excused a difference, and the differences that no rule excuses."""

    cases: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    #: Number of the case and what differs.
    differences: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Adds the findings of other cases."""
        self.cases += other.cases
        self.rules += other.rules
        self.differences += other.differences


def compare_reading(seed: int, count: int, folder: Path) -> Comparison:
    """Has kafkacomp and Kafka read the first ``count`` record sets of a seed. Files go to ``folder``."""
    sets = record_sets.RecordSets(seed)
    cases = [sets.next() for _ in range(count)]
    comparison = Comparison(count)
    theirs = digests(cases, folder)
    numbers = [number for number, case in enumerate(cases) if digest(case) != theirs[number]]
    found = outcomes([cases[number] for number in numbers], folder)
    twins = [
        twin for number, outcome in zip(numbers, found, strict=True) for twin in _lz4_twins(cases[number], outcome)
    ]
    for twin, outcome in zip(twins, outcomes([twin.data for twin in twins], folder), strict=True):
        twin.batch.update({name: outcome["batches"][0][name] for name in DEEP}, rule=twin.rule)
    unexplained: list[int] = []
    for number, outcome in zip(numbers, found, strict=True):
        verdict = compare(OracleCase(folder, number, cases[number], (), outcome))
        comparison.rules += verdict.rules
        comparison.differences += [(number, difference) for difference in verdict.differences]
        if not verdict.differences and not verdict.rules:
            unexplained.append(number)
    # What a message claims may fit into Kafka's heap here and not there: by itself, such a case has the same digest.
    alone = digests([cases[number] for number in unexplained], folder)
    for number, theirs_alone in zip(unexplained, alone, strict=True):
        if digest(cases[number]) == theirs_alone:
            comparison.rules["claimed memory"] += 1
        else:
            comparison.differences.append((number, "the digests differ and nothing else"))
    return comparison


class Twin(NamedTuple):
    """A batch whose LZ4 frames Java does not read, with what they hold in a frame that it reads."""

    data: bytes
    rule: str
    #: The outcome of the batch itself, which the twin's is put into.
    batch: dict[str, Any]


def _lz4_twins(case: bytes, outcome: dict[str, Any]) -> list[Twin]:
    twins = []
    for batch in outcome["batches"]:
        if batch["ct"] != LZ4:
            continue
        entry = case[batch["pos"] : batch["pos"] + batch["size"]]
        payload = record_sets.payload_span(entry)
        leading = leading_lz4_frames(entry, payload)
        if payload is not None and leading is not None and leading.content is not None:
            frame = stored_frame(leading.content, whole=not leading.cut)
            twins.append(Twin(record_sets.with_payload(entry, payload, frame), leading.rule, batch))
    return twins
