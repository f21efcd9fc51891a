"""The interface of a library to measure."""

from __future__ import annotations

import importlib.metadata
import struct
from typing import TYPE_CHECKING, Final, TypeAlias

from kafkacomp.bench.stages import BUILD, COMPRESS, DECOMPRESS, ITERATE, Cell, Pass, in_threads, timed
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.batches import Row

#: Converts bytes, such as a compressor.
Bytes: TypeAlias = "Callable[[bytes], bytes]"
#: Offset, timestamp, key, value, headers of each record.
Read: TypeAlias = "Iterator[tuple[int, int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]]"

#: The length of a block in xerial's streams.
LENGTH: Final = struct.Struct(">i")


class MissingPeerError(ImportError):
    """A peer that was named is not available."""


class NotComparableError(Exception):
    """A peer does not have the codec, level or stage, or its result under that name is a different one."""


class WrongResultError(KafkaCompError):
    """A peer's result differs from ours."""


class Peer:
    """A library in this process. Unsupported operations raise ``NotComparableError``."""

    #: The name in reports, which is that of the package to install.
    name: str

    @property
    def version(self) -> str:
        """The version of the package."""
        return importlib.metadata.version(self.name)

    def compressor(self, codec: Codec) -> Bytes:
        """Return a function that compresses, with contexts of its own."""
        raise NotComparableError(f"does not compress {codec}")

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return a function that decompresses our blocks, which have at most ``largest`` bytes."""
        del largest
        raise NotComparableError(f"does not decompress {codec}")

    def builder(self, codec: Codec) -> Callable[[Sequence[Row], int], bytes]:
        """Return a function that builds a batch from rows and a base offset."""
        raise NotComparableError(f"does not build batches of {codec}")

    def iterate(self, log: bytes) -> None:
        """Read offset, timestamp, key, value and headers of every record; verify every checksum."""
        del log
        raise NotComparableError("does not read records")

    def records(self, cell: Cell) -> Read:
        """Read the records for the comparison with ours."""
        del cell
        raise NotComparableError("does not read records")

    def prepare(self, stage: str, cell: Cell) -> Pass:
        """Prepare the pass of a stage for timing."""
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
        """Compress all blocks."""
        return list(map(self.compressor(cell.codec), cell.plain))

    def decompress_all(self, cell: Cell) -> list[bytes]:
        """Decompress all blocks that kafkacomp compressed."""
        return list(map(self.decompressor(cell.codec, max(map(len, cell.plain))), cell.compressed))

    def build_all(self, cell: Cell) -> bytes:
        """Build all batches."""
        return b"".join(_build_all(self.builder(cell.codec), cell.rows))


def _build_all(build: Callable[[Sequence[Row], int], bytes], groups: Sequence[Sequence[Row]]) -> list[bytes]:
    offset = 0
    made = []
    for rows in groups:
        made.append(build(rows, offset))
        offset += len(rows)
    return made


def blocks(data: memoryview) -> Iterator[memoryview]:
    """Iterate over blocks, each of which follows its length."""
    end = 0
    while end < len(data):
        begin = end + LENGTH.size
        end = begin + LENGTH.unpack_from(data, end)[0]
        yield data[begin:end]
