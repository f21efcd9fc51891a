"""Compress records for a measurement as Java's clients do, to the same bytes where possible.

Kafka's Java clients use zlib for gzip, as Python's standard library does; kafkacomp's gzip is another library, whose
result is some percent smaller at the same level. Java flushes its zstd stream before closing it, so that each frame
ends with an empty block: 3 bytes, which are 10% of a batch of one small record.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import kafkacomp
from kafkacomp import zstd
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from kafkacomp._codecs.levels import Codec

#: The bytes before the deflated data, one of which identifies the operating system (RFC 1952).
GZIP_HEADER: Final = 10
_GZIP_WINDOW: Final = zlib.MAX_WBITS + 16
#: The bytes of a block's header (RFC 8878).
_EMPTY_BLOCK: Final = 3


def compress(section: bytes, codec: Codec, magic: int) -> bytes:
    """Compress the records of a batch."""
    if codec.type is CompressionType.GZIP:
        return java_gzip(section, -1 if codec.level is None else codec.level)
    return kafkacomp.compress(section, codec.type, compression_level=codec.level, magic=magic)


def java_size(packed: bytes, codec: Codec) -> int:
    """Return the size of the Java clients' result for this result of :func:`compress`."""
    return len(packed) + (_EMPTY_BLOCK if codec.type is CompressionType.ZSTD else 0)


def java_zstd(section: bytes, level: int) -> bytes:
    """Compress to the bytes of a Java client; :func:`compress` reuses contexts and is used to measure time."""
    packer = zstd.ZstdCompressor(level=level)
    return packer.compress(section, packer.FLUSH_BLOCK) + packer.flush(packer.FLUSH_FRAME)


def java_gzip(section: bytes, level: int) -> bytes:
    """Compress to the bytes of a Java client, with zlib."""
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(section) + packer.flush()
