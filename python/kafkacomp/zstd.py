"""Compress and decompress Zstandard (RFC 8878, KIP-110), as strictly as its specification.

Frames are written as zstd-jni's stream, and therefore Kafka, writes them: without content size and checksum.

Frames with and without content size and checksum, several frames, and skippable frames are read. A window may have up
to 128 MiB, as for Kafka's reader, and takes no extra memory. Frames that need a dictionary are refused.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypedDict, overload

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
#: The error of corrupt data, under the name that PEP 784 gives it.
ZstdError = DecompressionError


class CompressionParameter(enum.IntEnum):
    """The keys of ``options`` (PEP 784); everything else about a frame is as Kafka writes it.

    Example:
        >>> from kafkacomp import zstd
        >>> data = zstd.compress(b"content", options={zstd.CompressionParameter.compression_level: 9})
        >>> zstd.decompress(data)
        b'content'
    """

    compression_level = 100


_Options: TypeAlias = "Mapping[CompressionParameter, int] | Mapping[int, int]"


class FrameInfo(NamedTuple):
    """The fields of the header of a zstd frame.

    Attributes:
        decompressed_size: The size of the content in bytes; ``None`` if the header does not declare it, as in Kafka's
            frames.
        dictionary_id: The id of the dictionary that the frame needs; 0 without one. :func:`decompress` refuses frames
            that need a dictionary.

    Example:
        >>> from kafkacomp import zstd
        >>> zstd.get_frame_info(zstd.compress(b"content"))
        FrameInfo(decompressed_size=None, dictionary_id=0)
    """

    decompressed_size: int | None
    dictionary_id: int


def get_frame_info(frame_buffer: Buffer) -> FrameInfo:
    """Read the header of the first frame of ``frame_buffer``.

    Args:
        frame_buffer: Bytes-like: a frame, or its first 18 bytes.

    Raises:
        DecompressionError: the data do not begin with a frame (``TruncatedError`` if they end inside the header).

    Example:
        >>> from kafkacomp import zstd
        >>> zstd.get_frame_info(zstd.compress(b"content")).decompressed_size is None
        True
    """
    return _kafkacomp.zstd_frame_info(frame_buffer)


def _level(level: int | None, options: _Options | None) -> int | None:
    """The level of the arguments ``level`` and ``options``, of which one can be given."""
    if options is None:
        return level
    if level is not None:
        raise TypeError("level and options cannot both be given: use CompressionParameter.compression_level in options")
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping, or None, not {type(options).__name__}")
    for parameter in options:
        if parameter != CompressionParameter.compression_level:
            raise ValueError(f"invalid parameter {parameter!r} in options: only compression_level can be set")
    return dict(options).get(CompressionParameter.compression_level)


def compress(data: Buffer, level: int | None = None, options: _Options | None = None) -> bytes:
    """Compress ``data`` to one frame.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        level: -131072 to 22; ``None`` is Kafka's default, 3.
        options: In place of ``level``: ``{CompressionParameter.compression_level: level}``.

    Raises:
        ValueError: the level is out of range, or the parameter is unknown.
        TypeError: both ``level`` and ``options`` are given.

    Example:
        >>> from kafkacomp import zstd
        >>> zstd.decompress(zstd.compress(b"content", level=9))
        b'content'
    """
    return _kafkacomp.compress(data, CompressionType.ZSTD, _level(level, options), _MAGIC)


def decompress(data: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> bytes:
    """Decompress all frames of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        max_output_size: The most bytes to return. No memory is allocated beyond it.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: they decompress to more than ``max_output_size`` bytes.

    Example:
        >>> from kafkacomp import zstd
        >>> zstd.decompress(zstd.compress(b"content"), max_output_size=1024)
        b'content'
    """
    return _kafkacomp.decompress(data, CompressionType.ZSTD, "standard", checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer) -> int:
    """Decompress all frames of ``data`` into the beginning of ``out``.

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
        >>> from kafkacomp import zstd
        >>> out = bytearray(1024)
        >>> size = zstd.decompress_into(zstd.compress(b"content"), out)
        >>> bytes(out[:size])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.ZSTD, "standard")


class ZstdCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` returns the compressed bytes that are ready. ``FLUSH_BLOCK`` returns all bytes so
    far, so that a reader can decompress them; ``FLUSH_FRAME`` ends the frame, and later data begin a new one.
    ``flush(mode=FLUSH_FRAME)`` does the same without data. ``last_mode`` is the mode of the last call.

    Args:
        level: As for :func:`compress`.
        options: As for :func:`compress`.

    Raises:
        ValueError: the level is out of range, or the parameter is unknown.
        TypeError: both ``level`` and ``options`` are given.

    Example:
        >>> from kafkacomp import zstd
        >>> compressor = zstd.ZstdCompressor(level=9)
        >>> data = compressor.compress(b"con") + compressor.compress(b"tent") + compressor.flush()
        >>> zstd.decompress(data)
        b'content'
    """

    def __new__(cls, level: int | None = None, options: _Options | None = None) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.ZSTD, _level(level, options), _MAGIC)


class ZstdDecompressor(_kafkacomp.Decompressor):
    """Decompress one frame incrementally; it may be a skippable frame.

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
        >>> from kafkacomp import zstd
        >>> data = zstd.compress(b"content")
        >>> decompressor = zstd.ZstdDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:])
        b'content'
        >>> decompressor.eof
        True
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.ZSTD, "standard", None, optional_max_output_size(max_output_size), frames=False
        )


class _WriteOptions(TypedDict, total=False):
    level: int | None
    options: _Options | None


class _WriteTextOptions(_WriteOptions, TextOptions, total=False):
    pass


class ZstdFile(CompressedFile):
    """A Zstandard file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all frames is read as one stream; one frame is written. Reading is as strict as :func:`decompress`;
    seeking backwards decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
        level: As for :func:`compress`; None is the default. Only for writing.
        options: As for :func:`compress`. Only for writing.
        max_output_size: The most bytes of content to read (else OutputLimitError); None for no limit. Only for reading.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).

    Example:
        >>> from kafkacomp import zstd
        >>> with zstd.ZstdFile(target, "wb", level=9) as file:
        ...     file.write(b"content")
        7
        >>> with zstd.ZstdFile(target) as file:
        ...     file.read()
        b'content'

        ``target`` is a path, such as ``"orders.zst"``.
    """

    @overload
    def __init__(self, file: FileArgument, mode: ReadMode = "r", **options: Unpack[ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: WriteMode, **options: Unpack[_WriteOptions]) -> None: ...
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
def open(file: FileArgument, mode: ReadMode = "rb", **options: Unpack[ReadOptions]) -> ZstdFile: ...
@overload
def open(file: FileArgument, mode: WriteMode, **options: Unpack[_WriteOptions]) -> ZstdFile: ...
@overload
def open(file: FileArgument, mode: ReadTextMode, **options: Unpack[ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: WriteTextMode, **options: Unpack[_WriteTextOptions]) -> io.TextIOWrapper: ...
def open(
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
        file: As for :class:`ZstdFile`, like the other arguments.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        level: As for :func:`compress`.
        options: As for :func:`compress`.
        max_output_size: The most bytes of content to read.
        encoding: Only for text modes, like the next two arguments: as in the built-in :func:`open`.
        errors: How encoding errors are handled.
        newline: How line endings are translated.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import zstd
        >>> with zstd.open(target, "wt", encoding="utf-8") as file:
        ...     file.write("text")
        4
        >>> with zstd.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']

        ``target`` is a path, such as ``"orders.zst"``.
    """
    make_file = partial(ZstdFile, file, level=level, options=options, max_output_size=max_output_size)
    return open_file(make_file, mode, encoding, errors, newline)
