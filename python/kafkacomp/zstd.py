"""Zstandard frames (RFC 8878, KIP-110), kept to the specification.

Frames are written as zstd-jni's stream, and therefore Kafka, writes them: without content size and checksum.

Frames with and without content size and checksum, several frames, and skippable frames are read. A window may have up
to 128 MiB, as for Kafka's reader, and takes no extra memory. Frames that need a dictionary are refused.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, overload

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
    from collections.abc import Mapping
    from typing import Self

    from typing_extensions import Buffer

_MAGIC = 2  # any: only LZ4 depends on it

__all__ = [
    "COMPRESSION_LEVEL_DEFAULT",
    "CompressionParameter",
    "FrameInfo",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdError",
    "ZstdFile",
    "compress",
    "decompress",
    "decompress_into",
    "get_frame_info",
    "open",
]

#: Kafka's default.
COMPRESSION_LEVEL_DEFAULT: Final = 3
#: The error of broken data, under the name that it has in modules of this shape (PEP 784).
ZstdError = DecompressionError


class CompressionParameter(enum.IntEnum):
    """What ``options`` can set (PEP 784): frames are otherwise as Kafka writes them."""

    compression_level = 100


_Options: TypeAlias = "Mapping[CompressionParameter, int] | Mapping[int, int]"


class FrameInfo(NamedTuple):
    """What the header of a frame declares."""

    #: The size of the content in bytes; ``None`` if the header does not declare it, as in Kafka's frames.
    decompressed_size: int | None
    #: The id of the dictionary that the frame needs; 0 for none. Frames with a dictionary are not decompressed here.
    dictionary_id: int


def get_frame_info(frame_buffer: Buffer) -> FrameInfo:
    """Read the header of the first frame of ``frame_buffer``.

    Args:
        frame_buffer: Bytes-like: a frame, or its first 18 bytes.

    Raises:
        DecompressionError: the data do not begin with a frame (``TruncatedError``: end inside the header).
    """
    return FrameInfo(*_kafkacomp.zstd_frame_info(frame_buffer))


def _level(level: int | None, options: _Options | None) -> int | None:
    """The level of the arguments ``level`` and ``options``, of which one can be given."""
    if options is None:
        return level
    if level is not None:
        raise TypeError("level and options cannot both be given: use CompressionParameter.compression_level in options")
    for parameter in options:
        if parameter != CompressionParameter.compression_level:
            raise ValueError(f"invalid parameter {parameter!r} in options: only compression_level can be set")
    return dict(options).get(CompressionParameter.compression_level)


def compress(data: Buffer, level: int | None = None, options: _Options | None = None) -> bytes:
    """Compress ``data`` to one frame.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        level: -131072 to 22; ``None`` is Kafka's default, 3.
        options: In place of ``level``: ``{CompressionParameter.compression_level: level}``.

    Raises:
        ValueError: the level is out of range, or the parameter is unknown.
        TypeError: both ``level`` and ``options`` are given.
    """
    return _kafkacomp.compress(data, CompressionType.ZSTD, _level(level, options), _MAGIC)


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


class ZstdCompressor(_kafkacomp.Compressor):
    """An incremental compressor in the shape of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` gives what is ready; ``FLUSH_BLOCK`` gives all so far, so that a reader gets
    it, ``FLUSH_FRAME`` ends the frame, and what follows begins a new one. ``flush(mode=FLUSH_FRAME)`` does so
    without data. ``last_mode`` is the mode of the last call.

    Args:
        level: As for :func:`compress`.
        options: As for :func:`compress`.

    Raises:
        ValueError: the level is out of range, or the parameter is unknown.
        TypeError: both ``level`` and ``options`` are given.
    """

    def __new__(cls, level: int | None = None, options: _Options | None = None) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.ZSTD, _level(level, options), _MAGIC)


class ZstdDecompressor(_kafkacomp.Decompressor):
    """An incremental decompressor of one frame, a skippable one included.

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
            cls, CompressionType.ZSTD, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class ZstdFile(CompressedFile):
    """A Zstandard file, in the shape of PEP 784's ``ZstdFile``: read, or written, like any binary file.

    All frames of the file are read as one content, and one is written. Reading keeps the specification, as
    :func:`decompress` does; going back decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
        level: As for :func:`compress`; None is the default. Not for reading.
        options: As for :func:`compress`. Not for reading.
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
        options: _Options | None = None,
    ) -> None: ...
    def __init__(
        self,
        file: FileArgument,
        mode: str = "r",
        *,
        level: int | None = None,
        options: _Options | None = None,
        max_output_size: int | None = None,
    ) -> None:
        """See the class."""
        refuse_options(mode, reading=True, level=level, options=options)
        refuse_options(mode, reading=False, max_output_size=max_output_size)
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=lambda: ZstdCompressor(level, options),
            make_decompressor=lambda: _kafkacomp.Decompressor(CompressionType.ZSTD, "standard", None, cap, frames=True),
        )


@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadMode = "rb",
    *,
    max_output_size: int | None = None,
) -> ZstdFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: WriteMode,
    *,
    level: int | None = None,
    options: _Options | None = None,
) -> ZstdFile: ...
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
    options: _Options | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
def open(  # noqa: A001 - the name of the standard library's
    file: FileArgument,
    mode: str = "rb",
    *,
    level: int | None = None,
    options: _Options | None = None,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> ZstdFile | io.TextIOWrapper:
    """Open a Zstandard file, in binary or text mode.

    Args:
        file: As for :class:`ZstdFile`, and so are the others.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        level: As for :func:`compress`.
        options: As for :func:`compress`.
        max_output_size: The most bytes of content to read.
        encoding: For text, and so are the next two: as :func:`open` of the standard library has them.
        errors: How bytes that are not text in ``encoding`` are handled, as in :func:`open`.
        newline: How lines end.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
    """

    def make_file(mode: str) -> ZstdFile:
        return ZstdFile(file, mode, level=level, options=options, max_output_size=max_output_size)  # type: ignore[call-overload,no-any-return,misc] # by mode

    return open_file(make_file, mode, encoding, errors, newline)
