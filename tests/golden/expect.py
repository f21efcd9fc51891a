"""Loads the expectation files that stand beside the golden vectors.

Three formats, each described where the vectors come from (``tests/vectors/MANIFEST.md``):

- modern: ``SEGMENT.batches.jsonl`` and ``expected.jsonl.gz`` from Kafka 4.3.1's reader and consumer,
- legacy: ``NAME.batches.jsonl`` and ``NAME.expected.jsonl.gz`` for files of Kafka 0.8.2 to 3.9,
- oracle: ``cases.bin`` and ``expected.jsonl.gz``, random and damaged inputs with Kafka's answers.

The vectors are looked for in two places: ``tests/vectors`` (small, part of the tree) and the full sets in
``../shared/vectors`` beside the tree, or wherever ``KAFKACOMP_VECTORS`` says. The full sets may be missing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = REPOSITORY / "tests" / "vectors"
FULL = Path(os.environ.get("KAFKACOMP_VECTORS", REPOSITORY.parent / "shared" / "vectors"))

TIMESTAMP_TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}

# Values longer than this are given as length and SHA-256 in the modern files.
MODERN_VALUE_LIMIT = 16384

Headers = tuple[tuple[str, bytes | None], ...]


def roots(name: str) -> list[Path]:
    """The folders that hold the vector set ``name``: the small one, then the full one where it is."""
    return [root / name for root in (SMALL, FULL) if (root / name).is_dir()]


def label(root: Path) -> str:
    """A short name of a root for test ids."""
    return "small" if root.is_relative_to(SMALL) else "full"


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl or .jsonl.gz file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def from_base64(text: str | None) -> bytes | None:
    """Bytes from base64, null stays null."""
    return None if text is None else base64.b64decode(text)


class Digest(NamedTuple):
    """A long value, given by length and SHA-256."""

    length: int
    sha256: str

    @classmethod
    def of(cls, value: bytes) -> Digest:
        """The digest of a value."""
        return cls(len(value), hashlib.sha256(value).hexdigest())


Value = bytes | Digest | None


def shorten(value: bytes | None) -> Value:
    """A value as the modern files give it: long ones by digest."""
    return value if value is None or len(value) <= MODERN_VALUE_LIMIT else Digest.of(value)


class Expected(NamedTuple):
    """A record as an expectation file gives it."""

    offset: int
    timestamp: int
    timestamp_type: int
    leader_epoch: int
    key: bytes | None
    value: Value
    headers: Headers
    control_type: str | None = None


# ---------------------------------------------------------------------------------------------------- modern


@dataclass(frozen=True, eq=False)
class ModernCase:
    """A folder of the modern set."""

    root: Path
    name: str
    damaged: bool
    live: bool
    about: dict[str, Any]

    @property
    def folder(self) -> Path:
        """The case's folder."""
        return self.root / self.name

    def partitions(self) -> list[Path]:
        """The partition folders (and the bootstrap folder) of the case."""
        return sorted(
            path for path in self.folder.iterdir() if path.is_dir() and path.with_name(path.name + ".expect").is_dir()
        )

    def __str__(self) -> str:
        """The test id."""
        return f"{label(self.root)}/{self.name}"


@lru_cache
def modern_cases() -> list[ModernCase]:
    """Every case of every root."""
    return [
        ModernCase(root, about["name"], about["damaged"], about["live"], about)
        for root in roots("modern")
        for about in json.loads((root / "cases.json").read_text(encoding="utf-8"))
        if (root / about["name"]).is_dir()
    ]


def expectations(partition: Path) -> Path:
    """The folder of expectation files beside a partition folder."""
    return partition.with_name(partition.name + ".expect")


def segments(partition: Path) -> list[Path]:
    """The files of a partition folder that hold batches, in order."""
    return sorted(path for path in partition.iterdir() if path.suffix in {".log", ".checkpoint"})


def segment_expectation(segment: Path, kind: str) -> Path:
    """The expectation file ``kind`` (``batches.jsonl``, ``records.jsonl.gz``) of a segment or checkpoint."""
    stem = segment.stem if segment.suffix == ".log" else segment.name
    return expectations(segment.parent) / f"{stem}.{kind}"


@lru_cache(maxsize=64)
def modern_batches(segment: Path) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The batches of a segment, and the last line that says why Kafka's reader stopped, if there is one."""
    lines = list(read_json_lines(segment_expectation(segment, "batches.jsonl")))
    if lines and "baseOffset" not in lines[-1]:
        return lines[:-1], lines[-1]
    return lines, None


@lru_cache(maxsize=32)
def modern_records(path: Path) -> list[Expected]:
    """The records of an ``expected*.jsonl.gz`` or ``records.jsonl.gz`` file."""
    records = []
    for line in read_json_lines(path):
        value = Digest(line["valueLength"], line["valueSha256"]) if "valueSha256" in line else None
        records.append(
            Expected(
                line["offset"],
                line["timestamp"],
                TIMESTAMP_TYPES[line["timestampType"]],
                line["leaderEpoch"],
                from_base64(line["key"]),
                value or from_base64(line["value"]),
                tuple((key, from_base64(header)) for key, header in line["headers"]),
                line.get("controlType"),
            )
        )
    return records


# ---------------------------------------------------------------------------------------------------- legacy


@dataclass(frozen=True, eq=False)
class LegacyFile:
    """A record set of the legacy set that has a file of its own."""

    root: Path
    about: dict[str, Any]

    @property
    def path(self) -> Path:
        """The record set's file."""
        return self.root / str(self.about["file"])

    @property
    def stem(self) -> str:
        """The name that the expectation files share."""
        return self.path.name.removesuffix(self.path.suffix)

    def batches(self) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """The shallow entries, and the last line about bytes that are no whole entry."""
        lines = list(read_json_lines(self.path.with_name(f"{self.stem}.batches.jsonl")))
        if lines and "truncated" in lines[-1]:
            return lines[:-1], lines[-1]
        return lines, None

    def records(self) -> list[dict[str, Any]]:
        """The deep messages."""
        return list(read_json_lines(self.path.with_name(f"{self.stem}.expected.jsonl.gz")))

    def __str__(self) -> str:
        """The test id."""
        return f"{label(self.root)}/{self.about['file']}"


@lru_cache
def legacy_lines(root: Path) -> list[dict[str, Any]]:
    """The lines of ``files.jsonl``."""
    return list(read_json_lines(root / "files.jsonl"))


@lru_cache
def legacy_files() -> list[LegacyFile]:
    """Every record set with a file of its own, in every root."""
    return [
        LegacyFile(root, line)
        for root in roots("legacy")
        for line in legacy_lines(root)
        if "messages" in line and "same_as" not in line and (root / line["file"]).is_file()
    ]


# ---------------------------------------------------------------------------------------------------- oracle


@dataclass(frozen=True, eq=False)
class OracleCase:
    """One input with Kafka's answer."""

    root: Path
    number: int
    data: bytes
    what: tuple[str, ...]
    outcome: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The test id."""
        return f"{label(self.root)}-{self.number}"


@lru_cache
def oracle_cases(kind: str) -> list[OracleCase]:
    """Every case of the folder ``oracle/KIND`` of every root."""
    cases = []
    for root in roots("oracle"):
        folder = root / kind
        if not folder.is_dir():
            continue
        data = (folder / "cases.bin").read_bytes()
        for line in read_json_lines(folder / "expected.jsonl.gz"):
            piece = data[line["at"] : line["at"] + line["len"]]
            cases.append(
                OracleCase(root, line["n"], piece, tuple(map(str, line["what"])), line["out"], line.get("cfg", {}))
            )
    return cases


def same_bytes(expected: str | None, found: bytes | None) -> bool:
    """Whether ``found`` is what an oracle line gives: base64, null, or ``#length:first 16 digits of SHA-256``."""
    if expected is None or found is None:
        return expected is None and found is None
    if expected.startswith("#"):
        length, _, digest = expected[1:].partition(":")
        return len(found) == int(length) and hashlib.sha256(found).hexdigest().startswith(digest)
    return base64.b64decode(expected) == found
