"""Compress and decompress Zstandard (RFC 8878, KIP-110), as strictly as its specification.

Frames are written as zstd-jni's stream, and therefore Kafka, writes them: without content size and checksum.

Frames with and without content size and checksum, several frames, and skippable frames are read. A window may have up
to 128 MiB, as for Kafka's reader, and takes no extra memory. Frames that need a dictionary are refused.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, optional_max_output_size
from kafkacomp._codecs.file import CompressedFile, open_file
from kafkacomp._codecs.options import TextOptions, WriteOptions
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

_MAGIC: Final = 2  # any: only LZ4 depends on it


class CompressionParameter(enum.IntEnum):
    """The keys of ``options`` (PEP 784); everything else about a frame is as Kafka writes it.

    Example:
        >>> from kafkacomp import zstd
        >>> data = zstd.compress(b"content", options={zstd.CompressionParameter.compression_level: 9})
        >>> zstd.decompress(data)
        b'content'
    """

    compression_level = 100


Options: TypeAlias = "Mapping[CompressionParameter, int] | Mapping[int, int]"


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


def _level(level: int | None, options: Options | None) -> int | None:
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


def compress(data: Buffer, level: int | None = None, options: Options | None = None) -> bytes:
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
    """Decompress all frames of ``data`` into the beginning of ``out``, and return the number of bytes written.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` is read-only or not contiguous.

    Example:
        >>> from kafkacomp import zstd
        >>> out = bytearray(1024)
        >>> bytes(out[:zstd.decompress_into(zstd.compress(b"content"), out)])
        b'content'
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.ZSTD, "standard")


class ZstdCompressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

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

    def __new__(cls, level: int | None = None, options: Options | None = None) -> Self:
        """See the class."""
        return super().__new__(cls, CompressionType.ZSTD, _level(level, options), _MAGIC)


class ZstdDecompressor(_kafkacomp.Decompressor):
    """Decompress one frame, which may be a skippable one, incrementally; may be used from several threads.

    It has the interface of PEP 784.

    Args:
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: ``max_output_size`` is not positive.

    Example:
        >>> from kafkacomp import zstd
        >>> data = zstd.compress(b"content")
        >>> decompressor = zstd.ZstdDecompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:]), decompressor.eof
        (b'content', True)
    """

    def __new__(cls, *, max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE) -> Self:
        """See the class."""
        cap = optional_max_output_size(max_output_size)
        return super().__new__(cls, CompressionType.ZSTD, "standard", None, cap, frames=False)


class _WriteOptions(WriteOptions, total=False):
    options: Options | None


class _WriteTextOptions(_WriteOptions, TextOptions, total=False):
    pass


class ZstdFile(CompressedFile):
    """A Zstandard file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all frames is read as one stream, as strictly as by :func:`decompress`; one frame is
    written. Seeking backwards decompresses from the start. May be used from several threads.

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
        >>> with zstd.ZstdFile(target, "wb", level=9) as file:  # target is a path, such as "orders.zst"
        ...     file.write(b"content")
        7
        >>> with zstd.ZstdFile(target) as file:
        ...     file.read()
        b'content'
    """

    @overload
    def __init__(self, file: FileArgument, mode: of.ReadMode = "r", **options: Unpack[of.ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: of.WriteMode, **options: Unpack[_WriteOptions]) -> None: ...
    def __init__(
        self,
        file: FileArgument,
        mode: str = "r",
        *,
        level: int | None = None,
        options: Options | None = None,
        max_output_size: int | None = None,
    ) -> None:
        cap = optional_max_output_size(max_output_size)
        super().__init__(
            file,
            mode,
            make_compressor=partial(ZstdCompressor, level, options),
            make_decompressor=lambda: _kafkacomp.Decompressor(CompressionType.ZSTD, "standard", None, cap, frames=True),
            only_reading={"max_output_size": max_output_size},
            only_writing={"level": level, "options": options},
        )


@overload
def open(file: FileArgument, mode: of.ReadMode = "rb", **options: Unpack[of.ReadOptions]) -> ZstdFile: ...
@overload
def open(file: FileArgument, mode: of.WriteMode, **options: Unpack[_WriteOptions]) -> ZstdFile: ...
@overload
def open(file: FileArgument, mode: of.ReadTextMode, **options: Unpack[of.ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: of.WriteTextMode, **options: Unpack[_WriteTextOptions]) -> io.TextIOWrapper: ...
def open(file: FileArgument, mode: str = "rb", **options: Any) -> ZstdFile | io.TextIOWrapper:
    """Open a Zstandard file, in binary or text mode.

    Args:
        file: As for :class:`ZstdFile`.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        **options: As for :class:`ZstdFile`; in text modes also ``encoding``, ``errors`` and ``newline``, as in the
            built-in :func:`open`.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import zstd
        >>> with zstd.open(target, "wt", encoding="utf-8") as file:  # target is a path, such as "orders.zst"
        ...     file.write("text")
        4
        >>> with zstd.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']
    """
    return open_file(partial(ZstdFile, file), mode, options)
