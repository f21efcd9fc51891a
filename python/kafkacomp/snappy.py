"""Compress and decompress snappy in Kafka's framing: a xerial stream of blocks, or one raw block.

xerial streams are written as snappy-java, and therefore Kafka, writes them, in blocks of 32 KiB. Snappy has no levels.

Read are xerial streams with big-endian or little-endian (Redpanda) version words, several streams one after another,
and, if there is no xerial header, one raw block (librdkafka, franz-go, kafkajs). The format has no checksums:
corruption that leaves the data well-formed is not detected.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, optional_max_output_size
from kafkacomp._codecs.file import CompressedFile, open_file
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType
from kafkacomp.exceptions import DecompressionError

if TYPE_CHECKING:
    import io
    from typing import Self, Unpack

    from typing_extensions import Buffer

    from kafkacomp._codecs import options as of
    from kafkacomp._codecs.file import FileArgument

__all__ = [
    "SnappyCompressor",
    "SnappyDecompressor",
    "SnappyError",
    "SnappyFile",
    "compress",
    "decompress",
    "decompress_into",
    "open",
]

#: The error of corrupt data, under the name that PEP 784 gives it.
SnappyError = DecompressionError

_MAGIC: Final = 2  # any: only LZ4 depends on it


def compress(data: Buffer) -> bytes:
    """Compress ``data`` to one xerial stream.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.

    Example:
        >>> from kafkacomp import snappy
        >>> snappy.decompress(snappy.compress(b"content"))
        b'content'
    """
    return _kafkacomp.compress(data, CompressionType.SNAPPY, None, _MAGIC)


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all streams, or the raw block, of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        max_output_size: The most bytes to return. No memory is allocated beyond it.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: they decompress to more than ``max_output_size`` bytes.

    Example:
        >>> from kafkacomp import snappy
        >>> snappy.decompress(snappy.compress(b"content"), max_output_size=1024)
        b'content'
    """
    return _kafkacomp.decompress(data, CompressionType.SNAPPY, "standard", checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress ``data`` into the beginning of ``out``, and return the number of bytes written.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` is read-only or not contiguous.

    Example:
        >>> from kafkacomp import snappy
        >>> out = bytearray(1024)
        >>> bytes(out[:snappy.decompress_into(snappy.compress(b"content"), out)])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.SNAPPY, "standard")


class SnappyCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

    Example:
        >>> from kafkacomp import snappy
        >>> compressor = snappy.SnappyCompressor()
        >>> data = compressor.compress(b"con") + compressor.compress(b"tent") + compressor.flush()
        >>> snappy.decompress(data)
        b'content'
    """

    def __new__(cls) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.SNAPPY, None, _MAGIC)


class SnappyDecompressor(_kafkacomp.Decompressor):
    """Decompress one raw block, or xerial streams, incrementally; may be used from several threads.

    It has the interface of PEP 784. The format does not mark the end of a xerial stream: ``eof`` stays false, and
    further streams are decompressed too.

    Args:
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: ``max_output_size`` is not positive.

    Example:
        >>> from kafkacomp import snappy
        >>> data = snappy.compress(b"content")
        >>> decompressor = snappy.SnappyDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:]), decompressor.eof
        (b'content', False)
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        cap = optional_max_output_size(max_output_size)
        return super().__new__(cls, CompressionType.SNAPPY, "standard", None, cap, frames=False)


class SnappyFile(CompressedFile):
    """A snappy file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all xerial streams is read as one stream, as strictly as by :func:`decompress`; one xerial stream is
    written. Seeking backwards decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a xerial stream.
        max_output_size: The most bytes of content to read (else OutputLimitError); None for no limit. Only for reading.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).

    Example:
        >>> from kafkacomp import snappy
        >>> with snappy.SnappyFile(target, "wb") as file:  # target is a path, such as "orders.snappy"
        ...     file.write(b"content")
        7
        >>> with snappy.SnappyFile(target) as file:
        ...     file.read()
        b'content'
    """

    @overload
    def __init__(self, file: FileArgument, mode: of.ReadMode = "r", **options: Unpack[of.ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: of.WriteMode) -> None: ...
    def __init__(self, file: FileArgument, mode: str = "r", *, max_output_size: int | None = None) -> None:
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=SnappyCompressor,
            make_decompressor=lambda: _kafkacomp.Decompressor(
                CompressionType.SNAPPY, "standard", None, cap, frames=True
            ),
            only_reading={"max_output_size": max_output_size},
            only_writing={},
        )


@overload
def open(file: FileArgument, mode: of.ReadMode = "rb", **options: Unpack[of.ReadOptions]) -> SnappyFile: ...
@overload
def open(file: FileArgument, mode: of.WriteMode) -> SnappyFile: ...
@overload
def open(file: FileArgument, mode: of.ReadTextMode, **options: Unpack[of.ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: of.WriteTextMode, **options: Unpack[of.TextOptions]) -> io.TextIOWrapper: ...
def open(file: FileArgument, mode: str = "rb", **options: Any) -> SnappyFile | io.TextIOWrapper:
    """Open a snappy file, in binary or text mode.

    Args:
        file: As for :class:`SnappyFile`.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        **options: As for :class:`SnappyFile`; in text modes also ``encoding``, ``errors`` and ``newline``, as in the
            built-in :func:`open`.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import snappy
        >>> with snappy.open(target, "wt", encoding="utf-8") as file:  # target is a path, such as "orders.snappy"
        ...     file.write("text")
        4
        >>> with snappy.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']
    """
    return open_file(partial(SnappyFile, file), mode, options)
