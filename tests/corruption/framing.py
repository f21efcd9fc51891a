"""Batches of intact logs, framed without the library's own reader.

Expectations must not depend on the code under test: offsets come from the headers, values from whoever built the
batches or from the expectation files of Kafka's own consumer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FIELDS", "PAYLOAD", "Batch", "Frame", "frames"]

#: Name -> first byte and the one after the last, of each message format's header.
FIELDS: Mapping[int, Mapping[str, tuple[int, int]]] = {
    0: {
        "offset": (0, 8),
        "length": (8, 12),
        "crc": (12, 16),
        "magic": (16, 17),
        "attributes": (17, 18),
        "key length": (18, 22),
    },
    1: {
        "offset": (0, 8),
        "length": (8, 12),
        "crc": (12, 16),
        "magic": (16, 17),
        "attributes": (17, 18),
        "timestamp": (18, 26),
        "key length": (26, 30),
    },
    2: {
        "base offset": (0, 8),
        "length": (8, 12),
        "leader epoch": (12, 16),
        "magic": (16, 17),
        "crc": (17, 21),
        "attributes": (21, 23),
        "last offset delta": (23, 27),
        "base timestamp": (27, 35),
        "max timestamp": (35, 43),
        "producer id": (43, 51),
        "producer epoch": (51, 53),
        "base sequence": (53, 57),
        "record count": (57, 61),
    },
}
#: Where what the header describes begins.
PAYLOAD: Mapping[int, int] = {0: 22, 1: 30, 2: 61}


@dataclass(frozen=True)
class Frame:
    """A batch, or a message of magic 0 or 1, by its header."""

    position: int
    size: int
    magic: int
    #: The offset field: the first offset of magic 2, the last one before.
    offset: int
    #: The last offset.
    last: int
    #: Records as the header declares them; ``None`` in magic 0 and 1.
    count: int | None
    is_compressed: bool


@dataclass(frozen=True)
class Batch:
    """A batch of an intact log and the records that it holds."""

    number: int
    data: bytes
    magic: int
    #: The offsets it covers; records may have been removed by compaction.
    first: int
    last: int
    #: Offset and value.
    records: tuple[tuple[int, bytes | None], ...]
    is_compressed: bool


def frames(data: bytes) -> Iterator[Frame]:
    """Frame an intact segment."""
    position = 0
    while position + 12 <= len(data):
        offset, length = struct.unpack_from(">qi", data, position)
        magic = data[position + 16]
        if magic == 2:
            attributes, delta = struct.unpack_from(">hi", data, position + 21)
            (count,) = struct.unpack_from(">i", data, position + 57)
            yield Frame(position, 12 + length, magic, offset, offset + delta, count, attributes & 7 != 0)
        else:
            yield Frame(position, 12 + length, magic, offset, offset, None, data[position + 17] & 7 != 0)
        position += 12 + length
