"""What Kafka's own compressing and decompressing streams make of bytes."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from livekafka import maven, tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kafkacomp import CompressionType

CASE = struct.Struct(">BbI")  # compression type id, magic, length: Decompress.java reads this


class Case(NamedTuple):
    """What a stream is given."""

    compression_type: int
    magic: int
    data: bytes


PLAIN_CASE = struct.Struct(">BbiI")  # compression type id, magic, level, length: Compress.java reads this
DEFAULT_LEVEL = -(2**31)


class PlainCase(NamedTuple):
    """What a compressing stream is given."""

    compression_type: CompressionType
    magic: int
    level: int | None
    data: bytes


class Outcome(NamedTuple):
    """What came of it."""

    ok: bool
    #: Bytes that were read, before the failure if there was one, and their CRC-32.
    length: int
    crc: int


def decompress(cases: Sequence[Case], folder: Path) -> list[Outcome]:
    """Run the cases through Kafka; its input and output stay in `folder` as cases.bin and outcomes.txt."""
    given, out = folder / "cases.bin", folder / "outcomes.txt"
    given.write_bytes(b"".join(CASE.pack(case[0], case[1], len(case.data)) + case.data for case in cases))
    _run("decompress", given, out)
    rows = [line.split() for line in out.read_text().splitlines()]
    return [Outcome(verdict == "ok", int(length), int(crc)) for verdict, length, crc in rows]


def compress(cases: Sequence[PlainCase], folder: Path) -> list[bytes]:
    """What Kafka writes; its input and output stay in `folder` as plain.bin and compressed.bin."""
    given, out = folder / "plain.bin", folder / "compressed.bin"
    with given.open("wb") as file:
        for kind, magic, level, data in cases:
            file.write(PLAIN_CASE.pack(kind, magic, DEFAULT_LEVEL if level is None else level, len(data)) + data)
    _run("compress", given, out)
    pieces: list[bytes] = []
    compressed, at = out.read_bytes(), 0
    while at < len(compressed):
        length = int.from_bytes(compressed[at : at + 4])
        pieces.append(compressed[at + 4 : at + 4 + length])
        at += 4 + length
    return pieces


def _run(tool: str, given: Path, out: Path) -> None:
    command = ["java", *tools.JAVA_OPTIONS, "-Xmx2g", "-cp", maven.class_path(tools.PROJECT, "package")]
    arguments = ["kafkacomp.tools.Main", tool, "--cases", str(given), "--out", str(out)]
    subprocess.run([*command, *arguments], check=True, stdin=subprocess.DEVNULL, timeout=600)
