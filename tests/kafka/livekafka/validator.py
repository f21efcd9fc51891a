"""What Kafka's LogValidator, of 3.9 and of 4.3, makes of random record sets."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from livekafka import maven, tools

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1] / "validator"
VERSIONS = ("3.9", "4.3")
# Damaged sizes make Kafka ask for gigabytes; with little memory it fails at once instead of clearing them.
MEMORY = "-Xmx300m"


class Stored(NamedTuple):
    """What becomes of a record set that is accepted."""

    log_append_time_ms: int
    max_timestamp_ms: int
    next_offset: int
    changed: bool
    temporary_memory_bytes: int
    num_records_converted: int
    #: Whether the digest is of the very bytes; else of what does not depend on the encoder.
    exact: bool
    digest: str


@dataclass(frozen=True)
class Answer:
    """Kafka's answer: what is stored, or the exception's class and the refused records."""

    stored: Stored | None
    error: str | None
    record_errors: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A record set, the configuration by the oracle's names, and the answers by version."""

    data: bytes
    cfg: dict[str, Any]
    answers: dict[str, Answer]


def cases(seed: int, count: int, folder: Path) -> Iterator[Case]:
    """Makes ``count`` cases and lets both versions answer them; the files stay in ``folder``."""
    _java("3.9", "generate", str(seed), str(count), str(folder))
    for version in VERSIONS:
        _java(version, "answer", str(folder), f"{version}.tsv")
    data = (folder / "cases.bin").read_bytes()
    at = 0
    with (
        (folder / "configs.tsv").open() as configs,
        (folder / "3.9.tsv").open() as old,
        (folder / "4.3.tsv").open() as new,
    ):
        for line, *answers in zip(configs, old, new, strict=True):
            length, *fields = line.rstrip("\n").split("\t")
            end = at + int(length)
            yield Case(data[at:end], _config(fields), dict(zip(VERSIONS, map(_answer, answers), strict=True)))
            at = end


def _java(version: str, *arguments: str) -> None:
    class_path = maven.class_path(PROJECT / f"kafka-{version}", "package")
    command = ["java", *tools.JAVA_OPTIONS, MEMORY, "-cp", class_path, "kafkacomp.validator.Main", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=1800)


def _config(fields: list[str]) -> dict[str, Any]:
    source, target, level, compacted, magic, append_time, before, after, epoch, origin, version, offset, now = fields
    return {
        "src": int(source),
        "tgt": int(target),
        "level": level,
        "compacted": int(compacted),
        "to_magic": int(magic),
        "tt": int(append_time),
        "before": int(before),
        "after": int(after),
        "ple": int(epoch),
        "origin": origin,
        "ibp": version,
        "offset": int(offset),
        "now": int(now),
    }


def _answer(line: str) -> Answer:
    verdict, *fields = line.rstrip("\n").split("\t")
    if verdict == "error":
        name, indexes = fields
        return Answer(None, name, tuple(map(int, indexes.split(","))) if indexes else ())
    *numbers, digest = fields
    time, most, following, changed, memory, converted, exact = map(int, numbers)
    return Answer(Stored(time, most, following, bool(changed), memory, converted, bool(exact), digest), None, ())
