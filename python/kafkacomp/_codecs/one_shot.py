"""Compress and decompress the bytes of one batch or message in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_magic, checked_max_output_size, compression_type_of, level_of
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkacomp._types import CompressionTypeLike


def compress(
    data: Buffer, compression_type: CompressionTypeLike, *, compression_level: int | None = None, magic: int = 2
) -> bytes:
    """Compress bytes as Kafka compresses the records of a batch or message, with the codec's framing.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        compression_type: A :class:`CompressionType` or its name: "none" (returns the data unchanged), "gzip", "snappy",
            "lz4" or "zstd".
        compression_level: -1 or 1 to 9 for gzip, 1 to 17 for lz4, -131072 to 22 for zstd (KIP-390); none and snappy
            have no levels. ``None`` is Kafka's default: -1, 9 and 3.
        magic: The message format that the result is for. For 0, the LZ4 header checksum is the broken one (KIP-57).
            zstd needs magic 2 (KIP-110); this function does not check it.

    Raises:
        ValueError: an argument has an unknown value.

    Example:
        >>> import kafkacomp as kc
        >>> kc.decompress(kc.compress(b"records", "zstd", compression_level=9), "zstd")
        b'records'
    """
    kind = compression_type_of(compression_type)
    return _kafkacomp.compress(data, kind, level_of(compression_level), checked_magic(magic))


def decompress(
    data: Buffer,
    compression_type: CompressionTypeLike,
    *,
    magic: int = 2,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> bytes:
    """Decompress the records of a batch or message, as leniently as Kafka does.

    The codec modules (:mod:`kafkacomp.gzip`, ``snappy``, ``lz4``, ``zstd``) are as strict as their specifications. This
    function accepts whatever Kafka accepts: it does not verify LZ4's content size and content checksum, and ignores
    bytes after the last complete LZ4 frame, and after a gzip member unless they are another member.

    Args:
        data: Bytes-like: the compressed part alone, without the batch's header. ``bytes`` are read in place,
            anything else is copied once.
        compression_type: A :class:`CompressionType` or its name: "none", "gzip", "snappy", "lz4" or "zstd".
        magic: The message format that the data come from. In 0, any LZ4 header checksum is accepted (KIP-57), in 1
            and 2 only the specification's.
        max_output_size: The most bytes to return. No memory is allocated beyond it.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: they decompress to more than ``max_output_size`` bytes.
        ValueError: an argument has an unknown value.

    Example:
        >>> import kafkacomp as kc
        >>> kc.decompress(kc.compress(b"records", "lz4"), "lz4", max_output_size=1024)
        b'records'
    """
    kind, cap = compression_type_of(compression_type), checked_max_output_size(max_output_size)
    return _kafkacomp.decompress_record_set(data, kind, checked_magic(magic), cap)
