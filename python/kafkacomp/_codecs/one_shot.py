"""Compress and decompress the bytes of one batch or message in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_magic, checked_max_output_size, compression_type_of
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkacomp._types import CompressionTypeLike

__all__ = ["compress", "decompress"]


def compress(
    data: Buffer, compression_type: CompressionTypeLike, *, compression_level: int | None = None, magic: int = 2
) -> bytes:
    """Compress ``data`` as Kafka's own stream does for a batch or message, framing included.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        compression_type: A :class:`CompressionType` or its name. "none" gives the data as they are.
        compression_level: gzip has 1 to 9 and -1, lz4 1 to 17, zstd -131072 to 22 (KIP-390); none and snappy have no
            levels. None is Kafka's default: -1, 9 and 3.
        magic: The message format that it is for. For 0 the LZ4 header checksum is the broken one (KIP-57). That
            batches with zstd are of magic 2 alone (KIP-110) is their builder's to know.

    Raises:
        ValueError: an argument is none of those named.
    """
    kind = compression_type_of(compression_type)
    return _kafkacomp.compress(data, kind, compression_level, checked_magic(magic))


def decompress(
    data: Buffer,
    compression_type: CompressionTypeLike,
    *,
    magic: int = 2,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> bytes:
    """Decompress what a batch or message of Kafka holds, wherever Kafka's own reader reads it.

    The codec modules (:mod:`kafkacomp.lz4` and its like) keep their specifications; this keeps to Kafka. It does
    not look at LZ4's content size and content checksum, and ignores what follows LZ4's last whole frame, and
    what follows a gzip member if it is no member.

    Args:
        data: Bytes-like: the compressed part alone, without the batch's header. ``bytes`` are read in place,
            anything else is copied once.
        compression_type: A :class:`CompressionType` or its name.
        magic: The message format that it comes from. 0 has any LZ4 header checksum (KIP-57), 1 and 2 have the
            specification's.
        max_output_size: The most bytes to give; memory for more is never taken.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: there are more than ``max_output_size`` bytes in them.
        ValueError: an argument is none of those named.
    """
    kind, cap = compression_type_of(compression_type), checked_max_output_size(max_output_size)
    return _kafkacomp.decompress_record_set(data, kind, checked_magic(magic), cap)
