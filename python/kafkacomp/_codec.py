"""What the codec modules share: arguments checked once, and the way into the Rust core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "checked_magic",
    "checked_max_output_size",
    "compress",
    "compression_type_of",
    "decompress",
    "optional_max_output_size",
]

_MAGICS = (0, 1, 2)


def checked_max_output_size(max_output_size: int) -> int:
    """The cap itself; ValueError if it is not one."""
    if isinstance(max_output_size, bool) or not isinstance(max_output_size, int):
        raise TypeError(f"max_output_size must be an int, not a {type(max_output_size).__name__}")
    if not 0 < max_output_size <= DEFAULT_MAX_OUTPUT_SIZE:
        raise ValueError(f"max_output_size must be 1 to {DEFAULT_MAX_OUTPUT_SIZE}, not {max_output_size}")
    return max_output_size


def optional_max_output_size(max_output_size: int | None) -> int | None:
    """The cap itself, or None for none; ValueError if it is not one."""
    if max_output_size is not None and max_output_size < 1:
        raise ValueError(f"max_output_size must be at least 1, or None, not {max_output_size}")
    return max_output_size


def compression_type_of(compression_type: CompressionType | str) -> CompressionType:
    """The type that a caller names; ValueError if there is none."""
    if isinstance(compression_type, str):
        return CompressionType.for_name(compression_type)
    return CompressionType.for_id(compression_type)


def checked_magic(magic: int) -> int:
    """The message format itself; ValueError if it is not one."""
    if magic not in _MAGICS:
        raise ValueError(f"magic must be 0, 1 or 2, not {magic!r}")
    return magic


def compress(
    data: Buffer, compression_type: CompressionType | str, *, level: int | None = None, magic: int = 2
) -> bytes:
    """Compress ``data`` as Kafka's own stream does for a batch or message, framing included.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        compression_type: A :class:`CompressionType` or its name. "none" gives the data as they are.
        level: gzip has 1 to 9 and -1, lz4 1 to 17, zstd -131072 to 22 (KIP-390); none and snappy have no levels.
            None is Kafka's default: -1, 9 and 3.
        magic: The message format that it is for. For 0 the LZ4 header checksum is the broken one (KIP-57). That
            batches with zstd are of magic 2 alone (KIP-110) is their builder's to know.

    Raises:
        ValueError: an argument is none of those named.
    """
    kind = compression_type_of(compression_type)
    return _kafkacomp.compress(data, kind, level, checked_magic(magic))


def decompress(
    data: Buffer,
    compression_type: CompressionType | str,
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
