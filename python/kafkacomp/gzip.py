"""Compress and decompress gzip (RFC 1952), as strictly as its specification.

Members are written as the JDK's ``GZIPOutputStream``, and therefore Kafka, writes them: without a name or a time.

Several members, all header fields and zero padding after the last member are read. The CRC, the size and the header's
own CRC are verified; any other byte after the last member is an error. :func:`kafkacomp.decompress` accepts whatever
Kafka accepts, which is more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import bytes_view, checked_max_output_size, optional_max_output_size
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
    "COMPRESSION_LEVEL_DEFAULT",
    "GzipCompressor",
    "GzipDecompressor",
    "GzipError",
    "GzipFile",
    "compress",
    "decompress",
    "decompress_into",
    "open",
]

#: Kafka's default.
COMPRESSION_LEVEL_DEFAULT: Final = -1
#: The error of corrupt data, under the name that PEP 784 gives it.
GzipError = DecompressionError


def compress(data: Buffer, level: int | None = -1) -> bytes:
    """Compress ``data`` to one member.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        level: 1 to 9, or -1 for zlib's default, 6. The result is as small as zlib's or smaller.

    Raises:
        ValueError: the level is out of range.

    Example:
        >>> from kafkacomp import gzip
        >>> gzip.decompress(gzip.compress(b"content", level=9))
        b'content'
    """
    return _kafkacomp.compress(data, CompressionType.GZIP, level, _MAGIC)


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all members of ``data``; empty input returns ``b""``, as in the standard library.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        max_output_size: The most bytes to return. No memory is allocated beyond it.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: they decompress to more than ``max_output_size`` bytes.

    Example:
        >>> from kafkacomp import gzip
        >>> gzip.decompress(gzip.compress(b"content"), max_output_size=1024)
        b'content'
    """
    cap = checked_max_output_size(max_output_size)
    if not bytes_view("data", data).nbytes:
        return b""
    return _kafkacomp.decompress(data, CompressionType.GZIP, "standard", cap)


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress all members of ``data`` into the beginning of ``out``.

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
        >>> from kafkacomp import gzip
        >>> out = bytearray(1024)
        >>> size = gzip.decompress_into(gzip.compress(b"content"), out)
        >>> bytes(out[:size])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.GZIP, "standard")


class GzipCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` returns the compressed bytes that are ready. ``FLUSH_BLOCK`` returns all bytes so
    far, so that a reader can decompress them; ``FLUSH_FRAME`` ends the member, and later data begin a new one.
    ``flush(mode=FLUSH_FRAME)`` does the same without data. ``last_mode`` is the mode of the last call.

    Args:
        level: As for :func:`compress`.

    Raises:
        ValueError: the level is out of range.

    Example:
        >>> from kafkacomp import gzip
        >>> compressor = gzip.GzipCompressor(level=9)
        >>> data = compressor.compress(b"con") + compressor.compress(b"tent") + compressor.flush()
        >>> gzip.decompress(data)
        b'content'
    """

    def __new__(cls, level: int | None = -1) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.GZIP, level, _MAGIC)


class GzipDecompressor(_kafkacomp.Decompressor):
    """Decompress one member incrementally.

    It has the interface of PEP 784, and may be used from several threads.

    ``decompress(data, max_length=-1)`` returns at most ``max_length`` bytes and keeps the rest of its input; while
    ``needs_input`` is false, call it with ``b""`` for more. At the end ``eof`` is true, and ``unused_data`` contains
    the bytes after it.

    Corrupt data raise DecompressionError; with ``max_length``, the content before them is returned first.

    Args:
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: an argument has an unknown value.
        EOFError: by ``decompress`` after the end.

    Example:
        >>> from kafkacomp import gzip
        >>> data = gzip.compress(b"content")
        >>> decompressor = gzip.GzipDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:])
        b'content'
        >>> decompressor.eof
        True
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.GZIP, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class _WriteOptions(TypedDict, total=False):
    level: int | None


class _WriteTextOptions(_WriteOptions, TextOptions, total=False):
    pass


class GzipFile(CompressedFile):
    """A gzip file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all members is read as one stream; one member is written. Reading is as strict as :func:`decompress`;
    seeking backwards decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a member.
        level: As for :func:`compress`; None is the default. Only for writing.
        max_output_size: The most bytes of content to read (else OutputLimitError); None for no limit. Only for reading.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).

    Example:
        >>> from kafkacomp import gzip
        >>> with gzip.GzipFile(target, "wb", level=9) as file:
        ...     file.write(b"content")
        7
        >>> with gzip.GzipFile(target) as file:
        ...     file.read()
        b'content'

        ``target`` is a path, such as ``"orders.gz"``.
    """

    @overload
    def __init__(self, file: FileArgument, mode: ReadMode = "r", **options: Unpack[ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: WriteMode, **options: Unpack[_WriteOptions]) -> None: ...
    def __init__(
        self, file: FileArgument, mode: str = "r", *, level: int | None = None, max_output_size: int | None = None
    ) -> None:
        """See the class."""
        refuse_options(mode, reading=True, level=level)
        refuse_options(mode, reading=False, max_output_size=max_output_size)
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=lambda: GzipCompressor(level),
            make_decompressor=lambda: _kafkacomp.Decompressor(CompressionType.GZIP, "standard", None, cap, frames=True),
            may_be_empty=True,
        )


@overload
def open(file: FileArgument, mode: ReadMode = "rb", **options: Unpack[ReadOptions]) -> GzipFile: ...
@overload
def open(file: FileArgument, mode: WriteMode, **options: Unpack[_WriteOptions]) -> GzipFile: ...
@overload
def open(file: FileArgument, mode: ReadTextMode, **options: Unpack[ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: WriteTextMode, **options: Unpack[_WriteTextOptions]) -> io.TextIOWrapper: ...
def open(
    file: FileArgument,
    mode: str = "rb",
    *,
    level: int | None = None,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> GzipFile | io.TextIOWrapper:
    """Open a gzip file, in binary or text mode.

    Args:
        file: As for :class:`GzipFile`, like the other arguments.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        level: As for :func:`compress`.
        max_output_size: The most bytes of content to read.
        encoding: Only for text modes, like the next two arguments: as in the built-in :func:`open`.
        errors: How encoding errors are handled.
        newline: How line endings are translated.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import gzip
        >>> with gzip.open(target, "wt", encoding="utf-8") as file:
        ...     file.write("text")
        4
        >>> with gzip.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']

        ``target`` is a path, such as ``"orders.gz"``.
    """
    make_file = partial(GzipFile, file, level=level, max_output_size=max_output_size)
    return open_file(make_file, mode, encoding, errors, newline)
