"""Compress and decompress snappy in Kafka's framing: a xerial stream of blocks, or one raw block.

xerial streams are written as snappy-java, and therefore Kafka, writes them, in blocks of 32 KiB. Snappy has no levels.

Read are xerial streams with big-endian or little-endian (Redpanda) version words, several streams one after another,
and, if there is no xerial header, one raw block (librdkafka, franz-go, kafkajs). The format has no checksums:
corruption that leaves the data well-formed is not detected.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, optional_max_output_size
from kafkacomp._codecs.file import (
    CompressedFile,
    FileArgument,
    ReadMode,
    ReadOptions,
    ReadTextMode,
    ReadTextOptions,
    TextOptions,
    WriteMode,
    WriteTextMode,
    open_file,
    refuse_options,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType
from kafkacomp.exceptions import DecompressionError

if TYPE_CHECKING:
    import io
    from typing import Self, Unpack

    from typing_extensions import Buffer

_MAGIC = 2  # any: only LZ4 depends on it

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
    """Decompress all streams, or the raw block, of ``data`` into the beginning of ``out``.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.

    Returns:
        The number of bytes written.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` is read-only or not contiguous.

    Example:
        >>> from kafkacomp import snappy
        >>> out = bytearray(1024)
        >>> size = snappy.decompress_into(snappy.compress(b"content"), out)
        >>> bytes(out[:size])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.SNAPPY, "standard")


class SnappyCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` returns the compressed bytes that are ready. ``FLUSH_BLOCK`` returns all bytes so
    far, so that a reader can decompress them; ``FLUSH_FRAME`` ends the stream, and later data begin a new one.
    ``flush(mode=FLUSH_FRAME)`` does the same without data. ``last_mode`` is the mode of the last call.

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
    """Decompress one raw block, or xerial streams, incrementally.

    It has the interface of PEP 784, and may be used from several threads.

    ``decompress(data, max_length=-1)`` returns at most ``max_length`` bytes and keeps the rest of its input; while
    ``needs_input`` is false, call it with ``b""`` for more. At the end of a raw block ``eof`` is true, and
    ``unused_data`` contains the bytes after it. The format does not mark the end of a xerial stream: ``eof`` stays
    false, and further streams are decompressed too.

    Corrupt data raise DecompressionError; with ``max_length``, the content before them is returned first.

    Args:
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: an argument has an unknown value.
        EOFError: by ``decompress`` after the end.

    Example:
        >>> from kafkacomp import snappy
        >>> data = snappy.compress(b"content")
        >>> decompressor = snappy.SnappyDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:])
        b'content'
        >>> decompressor.eof
        False
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.SNAPPY, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class SnappyFile(CompressedFile):
    """A snappy file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all xerial streams is read as one stream; one xerial stream is written. Reading is as strict as
    :func:`decompress`; seeking backwards decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a xerial stream.
        max_output_size: The most bytes of content to read (else OutputLimitError); None for no limit. Only for reading.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).

    Example:
        >>> from kafkacomp import snappy
        >>> with snappy.SnappyFile(target, "wb") as file:
        ...     file.write(b"content")
        7
        >>> with snappy.SnappyFile(target) as file:
        ...     file.read()
        b'content'

        ``target`` is a path, such as ``"orders.snappy"``.
    """

    @overload
    def __init__(self, file: FileArgument, mode: ReadMode = "r", **options: Unpack[ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: WriteMode) -> None: ...
    def __init__(self, file: FileArgument, mode: str = "r", *, max_output_size: int | None = None) -> None:
        """See the class."""
        refuse_options(mode, reading=False, max_output_size=max_output_size)
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=SnappyCompressor,
            make_decompressor=lambda: _kafkacomp.Decompressor(
                CompressionType.SNAPPY, "standard", None, cap, frames=True
            ),
        )


@overload
def open(file: FileArgument, mode: ReadMode = "rb", **options: Unpack[ReadOptions]) -> SnappyFile: ...
@overload
def open(file: FileArgument, mode: WriteMode) -> SnappyFile: ...
@overload
def open(file: FileArgument, mode: ReadTextMode, **options: Unpack[ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: WriteTextMode, **options: Unpack[TextOptions]) -> io.TextIOWrapper: ...
def open(
    file: FileArgument,
    mode: str = "rb",
    *,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SnappyFile | io.TextIOWrapper:
    """Open a snappy file, in binary or text mode.

    Args:
        file: As for :class:`SnappyFile`, like the other arguments.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        max_output_size: The most bytes of content to read.
        encoding: Only for text modes, like the next two arguments: as in the built-in :func:`open`.
        errors: How encoding errors are handled.
        newline: How line endings are translated.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import snappy
        >>> with snappy.open(target, "wt", encoding="utf-8") as file:
        ...     file.write("text")
        4
        >>> with snappy.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']

        ``target`` is a path, such as ``"orders.snappy"``.
    """
    make_file = partial(SnappyFile, file, max_output_size=max_output_size)
    return open_file(make_file, mode, encoding, errors, newline)
