"""The positions of the chunks of an object, the smallest parts that can be decoded separately."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

#: The size of the reads of an object without chunks.
_PLAIN_CHUNK = 1 << 20


class Chunk(NamedTuple):
    """A chunk: its position in the object, and its range of bytes in the segment."""

    number: int
    stored_position: int
    stored_size: int
    position: int
    size: int


@dataclass(frozen=True)
class ChunkIndex:
    """The positions of the chunks of a segment."""

    #: Bytes of the segment in each chunk except the last.
    chunk_size: int
    #: Bytes of the segment.
    file_size: int
    #: Bytes of each chunk except the last in the object, if they are all equal; otherwise ``None``.
    stored_size: int | None
    last_stored_size: int
    #: The end position of each chunk in the object, if sizes differ.
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
        """The chunk with this number."""
        position = number * self.chunk_size
        size = min(self.chunk_size, self.file_size - position)
        is_last = number == self.count - 1
        if self.stored_size is None:
            begin = self.ends[number - 1] if number else 0
            return Chunk(number, begin, self.ends[number] - begin, position, size)
        stored = self.last_stored_size if is_last else self.stored_size
        return Chunk(number, number * self.stored_size, stored, position, size)

    def at(self, position: int) -> int:
        """The number of the chunk that contains this byte of the segment."""
        return position // self.chunk_size


def plain_chunks(size: int) -> ChunkIndex:
    """The chunk index for reading an object that is not stored in chunks."""
    last = size - (max(-(-size // _PLAIN_CHUNK), 1) - 1) * _PLAIN_CHUNK
    return ChunkIndex(_PLAIN_CHUNK, size, _PLAIN_CHUNK, last)
