"""What a contestant does."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, TypeAlias

from kafkacomp.bench.stages import BUILD, COMPRESS, DECOMPRESS, ITERATE, Cell, Pass, in_threads, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkacomp.bench.batches import Row
    from kafkacomp.bench.spec import Codec

__all__ = ["Bytes", "MissingPeerError", "NotComparableError", "Peer", "Read", "WrongResultError"]

#: Makes something of bytes.
Bytes: TypeAlias = "Callable[[bytes], bytes]"
#: Offset, timestamp, key, value, headers of each record.
Read: TypeAlias = "Iterator[tuple[int, int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]]"


class MissingPeerError(Exception):
    """A peer that was asked for cannot take part."""


class NotComparableError(Exception):
    """A peer has no such codec, level or stage, or does something else under that name."""


class WrongResultError(Exception):
    """A peer's result is not ours."""


class Peer:
    """A library in this process. What it cannot do raises ``NotComparableError``."""

    #: As in reports; of a package, the name to install.
    name: str

    @property
    def version(self) -> str:
        """The package's version."""
        return importlib.metadata.version(self.name)

    def compressor(self, codec: Codec) -> Bytes:
        """A function that compresses; its contexts are its own."""
        raise NotComparableError(f"does not compress {codec}")

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """A function that decompresses what we compressed; no block has more than ``largest`` bytes."""
        del largest
        raise NotComparableError(f"does not decompress {codec}")

    def builder(self, codec: Codec) -> Callable[[Sequence[Row], int], bytes]:
        """A function that makes a batch of rows and a base offset."""
        raise NotComparableError(f"does not build batches of {codec}")

    def iterate(self, log: bytes) -> None:
        """Read every record's offset, timestamp, key, value and headers; check every checksum."""
        del log
        raise NotComparableError("does not read records")

    def records(self, cell: Cell) -> Read:
        """The records, to be held against ours."""
        del cell
        raise NotComparableError("does not read records")

    def prepare(self, stage: str, cell: Cell) -> Pass:
        """The pass of a stage, ready to be timed."""
        codec = cell.codec
        if stage == COMPRESS:
            return in_threads(lambda: self.compressor(codec), cell.plain, cell.threads)
        if stage == DECOMPRESS:
            largest = max(map(len, cell.plain))
            return in_threads(lambda: self.decompressor(codec, largest), cell.compressed, cell.threads)
        if stage == BUILD:
            build, rows = self.builder(codec), cell.rows
            return timed(lambda: _build_all(build, rows))
        if stage == ITERATE:
            return timed(lambda: self.iterate(cell.log))
        raise NotComparableError(f"has no stage {stage}")

    def compress_all(self, cell: Cell) -> list[bytes]:
        """The blocks as this peer compresses them."""
        return list(map(self.compressor(cell.codec), cell.plain))

    def decompress_all(self, cell: Cell) -> list[bytes]:
        """The blocks as this peer decompresses what we compressed."""
        return list(map(self.decompressor(cell.codec, max(map(len, cell.plain))), cell.compressed))

    def build_all(self, cell: Cell) -> bytes:
        """The batches as this peer builds them."""
        return b"".join(_build_all(self.builder(cell.codec), cell.rows))

    def close(self) -> None:
        """Let go of what the peer holds."""


def _build_all(build: Callable[[Sequence[Row], int], bytes], groups: Sequence[Sequence[Row]]) -> list[bytes]:
    offset = 0
    made = []
    for rows in groups:
        made.append(build(rows, offset))
        offset += len(rows)
    return made
