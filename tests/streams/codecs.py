"""The four codecs' modules behind one face, and content to compress."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: Text in lines of many lengths, larger than any block of any codec.
LINES = [b"line %d " % number + b"ab" * (number % 97) + b"\n" for number in range(4000)]
TEXT = b"".join(LINES)
#: What no codec makes smaller.
NOISE = random.Random(5).randbytes(150_000)


class Codec(NamedTuple):
    """A codec's module and its class of files."""

    module: ModuleType
    file: Callable[..., Any]
    #: A level that is not the default, or None.
    level: int | None

    def compress(self, data: bytes) -> bytes:
        """One frame."""
        frame: bytes = self.module.compress(data)
        return frame

    def decompress(self, data: bytes) -> bytes:
        """All frames."""
        content: bytes = self.module.decompress(data)
        return content


CODECS = {
    "gzip": Codec(kc.gzip, kc.gzip.GzipFile, 1),
    "snappy": Codec(kc.snappy, kc.snappy.SnappyFile, None),
    "lz4": Codec(kc.lz4, kc.lz4.LZ4File, 4),
    "zstd": Codec(kc.zstd, kc.zstd.ZstdFile, 9),
}


class Sink:
    """Takes a few bytes at a time, as a socket does."""

    def __init__(self, most: int = 7) -> None:
        self.taken = bytearray()
        self.most = most

    def write(self, data: bytes) -> int:
        """Takes the first bytes."""
        self.taken += data[: self.most]
        return min(len(data), self.most)


class Drip:
    """Gives a few bytes at a time, and nothing else that a file has."""

    def __init__(self, data: bytes, most: int = 5) -> None:
        self.data, self.most = data, most

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        size = self.most if size < 0 else min(size, self.most)
        data, self.data = self.data[:size], self.data[size:]
        return data
