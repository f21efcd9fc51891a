"""Snappy as Kafka frames it: xerial's stream of blocks, or one raw block.

Written are xerial streams as snappy-java, and so Kafka, makes them, in blocks of 32 KiB. Snappy has no levels.

Read are big-endian version words, little-endian ones (Redpanda), several streams one after another, and data
without xerial's header as one raw block (librdkafka, franz-go, kafkajs). The format has no checksums: damage that
leaves it well-formed goes unnoticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._codec import checked_max_output_size, optional_max_output_size
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer

_MAGIC = 2  # any: only LZ4 depends on it

__all__ = ["SnappyCompressor", "SnappyDecompressor", "compress", "decompress", "decompress_into"]


def compress(data: Buffer) -> bytes:
    """Compress ``data`` to one xerial stream.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
    """
    return _kafkacomp.compress(data, CompressionType.SNAPPY, None, _MAGIC)


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all streams, or the raw block, of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        max_output_size: The most bytes to give; memory for more is never taken.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: there are more than ``max_output_size`` bytes in them.
    """
    return _kafkacomp.decompress(data, CompressionType.SNAPPY, "standard", checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress all streams, or the raw block, of ``data`` to the front of ``out``.

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
    return _kafkacomp.decompress_into(data, out, CompressionType.SNAPPY, "standard")


class SnappyCompressor(_kafkacomp.Compressor):
    """An incremental compressor in the shape of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` gives what is ready; ``FLUSH_BLOCK`` gives all so far, so that a reader gets
    it, ``FLUSH_FRAME`` ends the stream, and what follows begins a new one with a header of its own.
    ``flush(mode=FLUSH_FRAME)`` does so without data. ``last_mode`` is the mode of the last call.
    """

    def __new__(cls) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.SNAPPY, None, _MAGIC)


class SnappyDecompressor(_kafkacomp.Decompressor):
    """An incremental decompressor of one raw block, or of xerial streams.

    In the shape of PEP 784; may be used from several threads.

    ``decompress(data, max_length=-1)`` gives at most ``max_length`` bytes and keeps the input that it did not need;
    call it with ``b""`` for more while ``needs_input`` is false. At the end of a raw block ``eof`` is true, and
    ``unused_data`` is what follows it. Nothing marks the end of a xerial stream: ``eof`` stays false, and further
    streams are read on.

    Broken data raise DecompressionError; with ``max_length`` what comes before them is given first.

    Args:
        max_output_size: The most bytes to give in all (OutputLimitError); None for no cap but memory's, which
            the codec's blocks and window bound.

    Raises:
        ValueError: an argument is none of those named.
        EOFError: by ``decompress`` after the end.
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.SNAPPY, "standard", None, optional_max_output_size(max_output_size), frames=False
        )
