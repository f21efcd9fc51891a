"""What Kafka's own decompressing streams make of bytes."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from livekafka import maven, tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CASE = struct.Struct(">BbI")  # compression type id, magic, length: Decompress.java reads this


class Case(NamedTuple):
    """What a stream is given."""

    compression_type: int
    magic: int
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
    class_path = maven.class_path(tools.PROJECT, "package")
    command = ["java", *tools.JAVA_OPTIONS, "-Xmx2g", "-cp", class_path, "kafkacomp.tools.Main", "decompress"]
    subprocess.run(
        [*command, "--cases", str(given), "--out", str(out)], check=True, stdin=subprocess.DEVNULL, timeout=600
    )
    rows = [line.split() for line in out.read_text().splitlines()]
    return [Outcome(verdict == "ok", int(length), int(crc)) for verdict, length, crc in rows]
