"""Compress and decompress gzip (RFC 1952), as strictly as its specification.

Members are written as the JDK's ``GZIPOutputStream``, and therefore Kafka, writes them: without a name or a time.

Several members, all header fields and zero padding after the last member are read. The CRC, the size and the header's
own CRC are verified; any other byte after the last member is an error. :func:`kafkacomp.decompress` accepts whatever
Kafka accepts, which is more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import bytes_view, checked_max_output_size, optional_max_output_size
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

_MAGIC: Final = 2  # any: only LZ4 depends on it


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
    """Decompress all members of ``data`` into the beginning of ``out``, and return the number of bytes written.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` is read-only or not contiguous.

    Example:
        >>> from kafkacomp import gzip
        >>> out = bytearray(1024)
        >>> bytes(out[:gzip.decompress_into(gzip.compress(b"content"), out)])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.GZIP, "standard")


class GzipCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

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
    """Decompress one member incrementally, with the interface of PEP 784; may be used from several threads.

    Args:
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: ``max_output_size`` is not positive.

    Example:
        >>> from kafkacomp import gzip
        >>> data = gzip.compress(b"content")
        >>> decompressor = gzip.GzipDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:]), decompressor.eof
        (b'content', True)
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        cap = optional_max_output_size(max_output_size)
        return super().__new__(cls, CompressionType.GZIP, "standard", None, cap, frames=False)


class GzipFile(CompressedFile):
    """A gzip file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all members is read as one stream, as strictly as by :func:`decompress`; one member is
    written. Seeking backwards decompresses from the start. May be used from several threads.

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
        >>> with gzip.GzipFile(target, "wb", level=9) as file:  # target is a path, such as "orders.gz"
        ...     file.write(b"content")
        7
        >>> with gzip.GzipFile(target) as file:
        ...     file.read()
        b'content'
    """

    @overload
    def __init__(self, file: FileArgument, mode: of.ReadMode = "r", **options: Unpack[of.ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: of.WriteMode, **options: Unpack[of.WriteOptions]) -> None: ...
    def __init__(
        self, file: FileArgument, mode: str = "r", *, level: int | None = None, max_output_size: int | None = None
    ) -> None:
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=partial(GzipCompressor, level),
            make_decompressor=lambda: _kafkacomp.Decompressor(CompressionType.GZIP, "standard", None, cap, frames=True),
            only_reading={"max_output_size": max_output_size},
            only_writing={"level": level},
            may_be_empty=True,
        )


@overload
def open(file: FileArgument, mode: of.ReadMode = "rb", **options: Unpack[of.ReadOptions]) -> GzipFile: ...
@overload
def open(file: FileArgument, mode: of.WriteMode, **options: Unpack[of.WriteOptions]) -> GzipFile: ...
@overload
def open(file: FileArgument, mode: of.ReadTextMode, **options: Unpack[of.ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: of.WriteTextMode, **options: Unpack[of.WriteTextOptions]) -> io.TextIOWrapper: ...
def open(file: FileArgument, mode: str = "rb", **options: Any) -> GzipFile | io.TextIOWrapper:
    """Open a gzip file, in binary or text mode.

    Args:
        file: As for :class:`GzipFile`.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        **options: As for :class:`GzipFile`; in text modes also ``encoding``, ``errors`` and ``newline``, as in the
            built-in :func:`open`.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import gzip
        >>> with gzip.open(target, "wt", encoding="utf-8") as file:  # target is a path, such as "orders.gz"
        ...     file.write("text")
        4
        >>> with gzip.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']
    """
    return open_file(partial(GzipFile, file), mode, options)
