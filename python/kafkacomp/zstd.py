"""Zstandard frames (RFC 8878, KIP-110), kept to the specification.

Read are frames with and without content size and checksum, several of them, and skippable frames. Windows reach to
128 MiB, as Kafka's reader takes them, and cost no memory of their own. Frames that need a dictionary are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._codec import checked_max_output_size
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["decompress", "decompress_into"]


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all frames of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        max_output_size: The most bytes to give; memory for more is never taken.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: there are more than ``max_output_size`` bytes in them.
    """
    return _kafkacomp.decompress(data, CompressionType.ZSTD, "standard", checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress all frames of ``data`` to the front of ``out``.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.

    Returns:
        The number of bytes written.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` cannot be written to.
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.ZSTD, "standard")
