"""How records are compressed for a measurement: as Java's clients would, to the byte if that can be.

Kafka's Java clients have zlib for gzip, and so has Python's standard library; kafkacomp's own gzip is another library,
which makes some percent fewer bytes at the same level. The other codecs are kafkacomp's.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import kafkacomp
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from kafkacomp.bench.spec import Codec

__all__ = ["GZIP_HEADER", "compress", "java_gzip"]

#: The bytes before the deflated data, of which one names the system that made them (RFC 1952).
GZIP_HEADER: Final = 10
_GZIP_WINDOW: Final = zlib.MAX_WBITS + 16


def compress(section: bytes, codec: Codec, magic: int) -> bytes:
    """Compress the records of a batch."""
    if codec.type is CompressionType.GZIP:
        return java_gzip(section, -1 if codec.level is None else codec.level)
    return kafkacomp.compress(section, codec.type, compression_level=codec.level, magic=magic)


def java_gzip(section: bytes, level: int) -> bytes:
    """Compress by zlib."""
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(section) + packer.flush()
