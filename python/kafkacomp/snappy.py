"""Snappy as Kafka frames it: xerial's stream of blocks, or one raw block.

xerial streams are written as snappy-java, and therefore Kafka, writes them, in blocks of 32 KiB. Snappy has no levels.

Big-endian and little-endian (Redpanda) version words and several streams one after another are read, and data without
xerial's header as one raw block (librdkafka, franz-go, kafkajs). The format has no checksums: corruption that leaves it
well-formed is not detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

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
        ValueError: an argument has an unknown value.
        EOFError: by ``decompress`` after the end.
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.SNAPPY, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class SnappyFile(CompressedFile):
    """A snappy file, in the shape of PEP 784's ``ZstdFile``: read, or written, like any binary file.

    All frames of the file are read as one content, and one is written. Reading keeps the specification, as
    :func:`decompress` does; going back decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
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
    ) -> None: ...
    def __init__(
        self,
        file: FileArgument,
        mode: str = "r",
        *,
        max_output_size: int | None = None,
    ) -> None:
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
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadMode = "rb",
    *,
    max_output_size: int | None = None,
) -> SnappyFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: WriteMode,
) -> SnappyFile: ...
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
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
def open(  # noqa: A001 - the name of the standard library's
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
        file: As for :class:`SnappyFile`, and so are the others.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        max_output_size: The most bytes of content to read.
        encoding: For text, and so are the next two: as :func:`open` of the standard library has them.
        errors: How bytes that are not text in ``encoding`` are handled, as in :func:`open`.
        newline: How lines end.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
    """

    def make_file(mode: str) -> SnappyFile:
        return SnappyFile(file, mode, max_output_size=max_output_size)  # type: ignore[call-overload,no-any-return] # by mode

    return open_file(make_file, mode, encoding, errors, newline)
