"""Gzip members (RFC 1952), kept to the specification.

Members are written as the JDK's ``GZIPOutputStream``, and therefore Kafka, writes them: without a name or a time.

Several members, all header fields and zero padding after the last member are read. The CRC, the size and the header's
own CRC are verified; any other byte after the last member is an error. :func:`kafkacomp.decompress` accepts whatever
Kafka accepts, which is more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, optional_max_output_size
from kafkacomp._codecs.file import (
    CompressedFile,
    FileArgument,
    ReadMode,
    ReadTextMode,
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
    from typing import Self

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
#: The error of broken data, under the name that it has in modules of this shape (PEP 784).
GzipError = DecompressionError


def compress(data: Buffer, level: int | None = -1) -> bytes:
    """Compress ``data`` to one member.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        level: 1 to 9, or -1 for zlib's own choice, 6. The compressed size is zlib's or smaller.

    Raises:
        ValueError: the level is out of range.
    """
    return _kafkacomp.compress(data, CompressionType.GZIP, level, _MAGIC)


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all members of ``data``; no members give no bytes, as in the standard library.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        max_output_size: The most bytes to give; memory for more is never taken.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: there are more than ``max_output_size`` bytes in them.
    """
    cap = checked_max_output_size(max_output_size)
    if not memoryview(data).nbytes:
        return b""
    return _kafkacomp.decompress(data, CompressionType.GZIP, "standard", cap)


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress all members of ``data`` to the front of ``out``.

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
    return _kafkacomp.decompress_into(data, out, CompressionType.GZIP, "standard")


class GzipCompressor(_kafkacomp.Compressor):
    """An incremental compressor in the shape of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` gives what is ready; ``FLUSH_BLOCK`` gives all so far, so that a reader gets
    it, ``FLUSH_FRAME`` ends the member, and what follows begins a new one. ``flush(mode=FLUSH_FRAME)`` does so
    without data. ``last_mode`` is the mode of the last call.

    Args:
        level: As for :func:`compress`.

    Raises:
        ValueError: the level is out of range.
    """

    def __new__(cls, level: int | None = -1) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.GZIP, level, _MAGIC)


class GzipDecompressor(_kafkacomp.Decompressor):
    """An incremental decompressor of one member.

    In the shape of PEP 784; may be used from several threads.

    ``decompress(data, max_length=-1)`` gives at most ``max_length`` bytes and keeps the input that it did not need;
    call it with ``b""`` for more while ``needs_input`` is false. At the end ``eof`` is true, and ``unused_data`` is
    what follows.

    Broken data raise DecompressionError; with ``max_length`` what comes before them is given first.

    Args:
        max_output_size: The most bytes to give in all (OutputLimitError); None for no cap but memory's, which
            the codec's blocks and window bound.

    Raises:
        ValueError: an argument has an unknown value.
        EOFError: by ``decompress`` after the end.
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.GZIP, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class GzipFile(CompressedFile):
    """A gzip file, in the shape of PEP 784's ``ZstdFile``: read, or written, like any binary file.

    All frames of the file are read as one content, and one is written. Reading keeps the specification, as
    :func:`decompress` does; going back decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
        level: As for :func:`compress`; None is the default. Not for reading.
        max_output_size: The most bytes of content to read (OutputLimitError); None for no cap but memory's, which the
            codec's blocks and window bound. Not for writing.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: by reading, the data are broken (``TruncatedError``, an EOFError: end too early).
    """

    @overload
    def __init__(
        self,
        file: FileArgument,
        mode: ReadMode = "r",
        *,
        max_output_size: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        file: FileArgument,
        mode: WriteMode,
        *,
        level: int | None = None,
    ) -> None: ...
    def __init__(
        self,
        file: FileArgument,
        mode: str = "r",
        *,
        level: int | None = None,
        max_output_size: int | None = None,
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
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadMode = "rb",
    *,
    max_output_size: int | None = None,
) -> GzipFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: WriteMode,
    *,
    level: int | None = None,
) -> GzipFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadTextMode,
    *,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: WriteTextMode,
    *,
    level: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
def open(  # noqa: A001 - the name of the standard library's
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
        file: As for :class:`GzipFile`, and so are the others.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        level: As for :func:`compress`.
        max_output_size: The most bytes of content to read.
        encoding: For text, and so are the next two: as :func:`open` of the standard library has them.
        errors: How bytes that are not text in ``encoding`` are handled, as in :func:`open`.
        newline: How lines end.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
    """

    def make_file(mode: str) -> GzipFile:
        return GzipFile(file, mode, level=level, max_output_size=max_output_size)  # type: ignore[call-overload,no-any-return] # by mode

    return open_file(make_file, mode, encoding, errors, newline)
