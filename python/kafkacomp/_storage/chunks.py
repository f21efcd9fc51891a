"""Where the chunks of an object are: what a request of a store can fetch by itself."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Chunk", "ChunkIndex", "plain_chunks"]

#: What an object without chunks is read in.
_PLAIN_CHUNK = 1 << 20


class Chunk(NamedTuple):
    """A chunk: where it is in the object, and which bytes of the segment it has."""

    number: int
    stored_position: int
    stored_size: int
    position: int
    size: int


@dataclass(frozen=True)
class ChunkIndex:
    """Where the chunks of a segment are."""

    #: Bytes of the segment in each chunk but the last.
    chunk_size: int
    #: Bytes of the segment.
    file_size: int
    #: Bytes of each chunk in the object but the last, if they are all equal; otherwise ``None``.
    stored_size: int | None
    last_stored_size: int
    #: Where each chunk ends in the object, if sizes differ.
    ends: array[int] = field(default_factory=lambda: array("Q"), repr=False)

    @property
    def count(self) -> int:
        """The number of chunks."""
        return -(-self.file_size // self.chunk_size)

    @property
    def object_size(self) -> int:
        """Bytes of the object."""
        if self.count == 0:
            return 0
        if self.stored_size is None:
            return self.ends[-1]
        return self.stored_size * (self.count - 1) + self.last_stored_size

    def chunk(self, number: int) -> Chunk:
        """A chunk by its number."""
        position = number * self.chunk_size
        size = min(self.chunk_size, self.file_size - position)
        is_last = number == self.count - 1
        if self.stored_size is None:
            begin = self.ends[number - 1] if number else 0
            return Chunk(number, begin, self.ends[number] - begin, position, size)
        stored = self.last_stored_size if is_last else self.stored_size
        return Chunk(number, number * self.stored_size, stored, position, size)

    def at(self, position: int) -> int:
        """The number of the chunk that has this byte of the segment."""
        return position // self.chunk_size


def plain_chunks(size: int) -> ChunkIndex:
    """The chunks of an object that has none."""
    last = size - (max(-(-size // _PLAIN_CHUNK), 1) - 1) * _PLAIN_CHUNK
    return ChunkIndex(_PLAIN_CHUNK, size, _PLAIN_CHUNK, last)
