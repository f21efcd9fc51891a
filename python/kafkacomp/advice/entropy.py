"""Determine whether keys and values are compressible at all, by the entropy of their bytes and by their first bytes."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

import kafkacomp

if TYPE_CHECKING:
    import pyarrow as pa

#: The most bytes of a window to examine.
_MOST: Final = 256 << 10

#: The first bytes of compressed content.
_MAGICS: Final = {
    b"\x1f\x8b\x08": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x82SNAPPY\x00": "snappy",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x89PNG\r\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"PAR1": "Parquet",
}
_HEX: Final = re.compile(rb"\"?[0-9a-fA-F{}\-:]+\"?")
_BASE64: Final = re.compile(rb"\"?[A-Za-z0-9+/_\-]+={0,2}\"?")
#: Bits per byte of 16 and of 64 equally frequent letters, minus a margin for dashes and padding.
_HEX_BITS: Final = 3.6
_BASE64_BITS: Final = 5.5


@dataclass
class Payload:
    """Statistics of the keys and values of a sample, summed over its windows."""

    #: The frequency of each byte.
    histogram: Counter[int] = field(default_factory=Counter)
    #: The examined bytes, and their size when zstd compresses them as one block at level 3.
    size: int = 0
    packed: int = 0
    #: The number of values in each compressed format.
    compressed: Counter[str] = field(default_factory=Counter)
    #: The number of values, and of those that consist of hexadecimal or base64 text.
    values: int = 0
    hexadecimal: int = 0
    base64: int = 0

    def add(self, other: Payload) -> None:
        """Add the statistics of another window."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def bits_per_byte(self) -> float:
        """The entropy of single bytes, 0 to 8 bits."""
        total = sum(self.histogram.values())
        shares = [count / total for count in self.histogram.values()]
        return math.fsum(-share * math.log2(share) for share in shares)

    @property
    def repeated(self) -> float:
        """The share of the bytes that repetition saves, beyond the frequencies of single bytes."""
        expected = self.size * self.bits_per_byte / 8
        return max(0.0, 1 - self.packed / expected) if expected else 0.0

    @property
    def compressed_as(self) -> str | None:
        """The format in which most values are compressed already; None if they are not."""
        for name, count in self.compressed.most_common(1):
            if count * 2 > self.values:
                return name
        return None

    @property
    def text_of(self) -> str | None:
        """``hexadecimal`` or ``base64`` if the values are random bytes in this encoding."""
        if self.values and self.hexadecimal > self.values * 0.95 and self.bits_per_byte > _HEX_BITS:
            return "hexadecimal"
        if self.values and self.base64 > self.values * 0.95 and self.bits_per_byte > _BASE64_BITS:
            return "base64"
        return None


def look(rows: pa.RecordBatch) -> Payload:
    """Examine the first keys and values of a window."""
    found = Payload()
    keys = rows.column("key") if "key" in rows.schema.names else None
    pieces = []
    for at, scalar in enumerate(rows.column("value")):
        key = None if keys is None else keys[at].as_py()
        value = scalar.as_py()
        for piece in (key, value):
            if piece:
                pieces.append(piece if isinstance(piece, bytes) else piece.encode())
                found.size += len(pieces[-1])
        if value:
            _classify(pieces[-1], found)
        if found.size >= _MOST:
            break
    data = b"".join(pieces)
    found.histogram.update(data)
    found.packed = len(kafkacomp.compress(data, "zstd", compression_level=3))
    return found


def _classify(value: bytes, found: Payload) -> None:
    found.values += 1
    for magic, name in _MAGICS.items():
        if value.startswith(magic):
            found.compressed[name] += 1
            return
    if _HEX.fullmatch(value):
        found.hexadecimal += 1
    if _BASE64.fullmatch(value):
        found.base64 += 1
