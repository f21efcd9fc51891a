"""Compress and decompress LZ4 frames with either header checksum (KIP-57), as strictly as the specification.

By default, frames are written as Kafka writes them: independent blocks of 64 KiB, incompressible blocks stored, no
content size, and no checksum except that of the header. Level 9, Kafka's default, is the fast compressor; every other
level is the high-compression one.

Frames with any block size, linked blocks, block checksums, content size and content checksum are read, and so are
several frames and skippable frames. All checksums and sizes are verified, and bytes that belong to no frame are an
error. Frames that need a dictionary are refused.

Kafka 0.8.2 and 0.9, and all later writers of message format 0, include the magic bytes in the header checksum:
``"broken"``. All others, and message formats 1 and 2, follow the specification: ``"standard"``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, one_of, optional_max_output_size
from kafkacomp._codecs.file import CompressedFile, open_file
from kafkacomp._codecs.options import HeaderChecksum, HeaderChecksumWritten
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
    "FrameInfo",
    "HeaderChecksum",
    "HeaderChecksumRule",
    "HeaderChecksumWritten",
    "LZ4Compressor",
    "LZ4Decompressor",
    "LZ4Error",
    "LZ4File",
    "compress",
    "decompress",
    "decompress_into",
    "get_frame_info",
    "open",
]

#: Kafka's default.
COMPRESSION_LEVEL_DEFAULT: Final = 9
#: The error of corrupt data, under the name that PEP 784 gives it.
LZ4Error = DecompressionError

HeaderChecksumRule: TypeAlias = Literal["standard", "broken", "both", "neither"]


class FrameOptions(NamedTuple):
    """The options of a frame to write."""

    header_checksum: str = "standard"
    #: The largest block in bytes.
    block_size: int = 65536
    block_checksum: bool = False
    content_checksum: bool = False
    content_size: bool = False


class FrameInfo(NamedTuple):
    """The fields of an LZ4 frame's header.

    Attributes:
        position: The byte at which the frame begins, after any skippable frames.
        header_length: The length of the header, with magic and header checksum.
        flg: The first descriptor byte.
        bd: The second descriptor byte.
        block_max_size: The largest block in bytes: 64 KiB, 256 KiB, 1 MiB or 4 MiB.
        content_size: The size of the content, or None if the header does not have it. It is not verified.
        dictionary_id: The id of the dictionary that the frame needs, or None.
        header_checksum: The header checksum as it is stored.
        standard_header_checksum: The header checksum by the specification.
        broken_header_checksum: The header checksum as Kafka 0.8.2 and 0.9 wrote it.
        header_checksum_rule: Which of the two checksums the stored one equals; "both" if they are the same byte.

    Example:
        >>> from kafkacomp import lz4
        >>> info = lz4.get_frame_info(lz4.compress(b"content", header_checksum="broken"))
        >>> info.version, info.block_independence, info.header_checksum_rule
        (1, True, 'broken')
    """

    position: int
    header_length: int
    flg: int
    bd: int
    block_max_size: int
    content_size: int | None
    dictionary_id: int | None
    header_checksum: int
    standard_header_checksum: int
    broken_header_checksum: int
    header_checksum_rule: HeaderChecksumRule

    @property
    def version(self) -> int:
        """The version of the frame format."""
        return self.flg >> 6

    @property
    def block_independence(self) -> bool:
        """Whether each block can be decoded without those before it; if not, the blocks are linked."""
        return bool(self.flg & 0x20)

    @property
    def block_checksum(self) -> bool:
        """Whether each block has a checksum."""
        return bool(self.flg & 0x10)

    @property
    def content_checksum(self) -> bool:
        """Whether a checksum of the content follows the EndMark."""
        return bool(self.flg & 0x04)


def compress(
    data: Buffer,
    level: int | None = 9,
    *,
    header_checksum: HeaderChecksumWritten = "standard",
    block_size: int = 65536,
    block_checksum: bool = False,
    content_checksum: bool = False,
    content_size: bool = False,
) -> bytes:
    """Compress ``data`` to one frame.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        level: 1 to 17. 9 is the fast compressor, as in Kafka; any other level is the high-compression one, which
            has levels up to 12: 13 to 17 equal 12.
        header_checksum: "standard", or "broken" for Kafka 0.8.2 and 0.9 and message format 0.
        block_size: The largest block in bytes: 65536, 262144, 1048576 or 4194304.
        block_checksum: Whether each block gets a checksum.
        content_checksum: Whether a checksum of the content follows the EndMark.
        content_size: Whether the header gets the content's size.

    Raises:
        ValueError: an argument has an unknown value.

    Example:
        >>> from kafkacomp import lz4
        >>> lz4.decompress(lz4.compress(b"content", level=12))
        b'content'
    """
    options = FrameOptions(header_checksum, block_size, block_checksum, content_checksum, content_size)
    return _kafkacomp.lz4_compress(data, level, options)


def decompress(
    data: Buffer, *, header_checksum: HeaderChecksum = "standard", max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
) -> bytes:
    """Decompress all frames of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        header_checksum: The header checksum that every frame must have: "standard", "broken", or "either" of the
            two; "ignore" does not check it.
        max_output_size: The most bytes to return. No memory is allocated beyond it.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: they decompress to more than ``max_output_size`` bytes.
        ValueError: unknown ``header_checksum``.

    Example:
        >>> from kafkacomp import lz4
        >>> lz4.decompress(lz4.compress(b"content"), max_output_size=1024)
        b'content'
    """
    _check(header_checksum)
    return _kafkacomp.decompress(data, CompressionType.LZ4, header_checksum, checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer, *, header_checksum: HeaderChecksum = "standard") -> int:
    """Decompress all frames of ``data`` into the beginning of ``out``, and return the number of bytes written.

    Args:
        data: Bytes-like; ``bytes`` are read without a copy, other objects are copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.
        header_checksum: As for :func:`decompress`.

    Raises:
        DecompressionError: the data are corrupt (``TruncatedError`` if they are truncated).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` is read-only or not contiguous.
        ValueError: unknown ``header_checksum``.

    Example:
        >>> from kafkacomp import lz4
        >>> out = bytearray(1024)
        >>> bytes(out[: lz4.decompress_into(lz4.compress(b"content"), out)])
        b'content'
    """
    _check(header_checksum)
    return _kafkacomp.decompress_into(data, out, CompressionType.LZ4, header_checksum)


def get_frame_info(data: Buffer) -> FrameInfo:
    """Read the header of the first frame. A wrong header checksum is reported, not refused.

    Args:
        data: Bytes-like; the header is enough.

    Raises:
        DecompressionError: the data do not begin with an LZ4 frame, or its version, flags or block size are undefined
            (``TruncatedError`` if the data end inside the header).

    Example:
        >>> from kafkacomp import lz4
        >>> info = lz4.get_frame_info(lz4.compress(b"content"))
        >>> info.block_max_size, info.header_checksum_rule
        (65536, 'standard')
    """
    return _kafkacomp.lz4_frame_info(data)


def _check(header_checksum: HeaderChecksum) -> None:
    one_of("header_checksum", header_checksum, get_args(HeaderChecksum))


class LZ4Compressor(_kafkacomp.Compressor):
    """Compress data incrementally, with the interface of PEP 784; may be used from several threads.

    Args:
        level: As for :func:`compress`, like the other arguments. The content size cannot be written, because it is
            unknown when the frame begins.
        header_checksum: "standard" or "broken".
        block_size: The largest block in bytes.
        block_checksum: Whether each block gets a checksum.
        content_checksum: Whether a checksum of the content follows the EndMark.

    Raises:
        ValueError: an argument has an unknown value.

    Example:
        >>> from kafkacomp import lz4
        >>> compressor = lz4.LZ4Compressor(level=12)
        >>> data = compressor.compress(b"con") + compressor.compress(b"tent") + compressor.flush()
        >>> lz4.decompress(data)
        b'content'
    """

    def __new__(
        cls,
        level: int | None = 9,
        *,
        header_checksum: HeaderChecksumWritten = "standard",
        block_size: int = 65536,
        block_checksum: bool = False,
        content_checksum: bool = False,
    ) -> Self:
        """See the class."""
        options = FrameOptions(header_checksum, block_size, block_checksum, content_checksum)
        return super().__new__(cls, CompressionType.LZ4, level, 2, options)


class LZ4Decompressor(_kafkacomp.Decompressor):
    """Decompress one frame, which may be a skippable one, incrementally; may be used from several threads.

    It has the interface of PEP 784.

    Args:
        header_checksum: As for :func:`decompress`.
        max_output_size: The most bytes to return in all (else OutputLimitError); None for no limit. The memory in use
            is bounded by the codec's blocks and window in any case.

    Raises:
        ValueError: unknown ``header_checksum``, or ``max_output_size`` is not positive.

    Example:
        >>> from kafkacomp import lz4
        >>> data = lz4.compress(b"content")
        >>> decompressor = lz4.LZ4Decompressor()
        >>> decompressor.decompress(data[:5]) + decompressor.decompress(data[5:]), decompressor.eof
        (b'content', True)
    """

    def __new__(
        cls, *, header_checksum: HeaderChecksum = "standard", max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE
    ) -> Self:
        """See the class."""
        _check(header_checksum)
        cap = optional_max_output_size(max_output_size)
        return super().__new__(cls, CompressionType.LZ4, header_checksum, None, cap, frames=False)


class LZ4File(CompressedFile):
    """An LZ4 file: a binary file with the interface of PEP 784's ``ZstdFile``.

    The content of all frames is read as one stream, as strictly as by :func:`decompress`; one frame is
    written. Seeking backwards decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
        level: As for :func:`compress`; None is the default. Only for writing, like the block size and the two
            checksums.
        header_checksum: For reading as for :func:`decompress`, for writing "standard" or "broken".
        block_size: The largest block in bytes; None is 65536.
        block_checksum: Whether each block gets a checksum; None is False.
        content_checksum: Whether a checksum of the content follows the EndMark; None is False.
        max_output_size: The most bytes of content to read (else OutputLimitError); None for no limit. Only for reading.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).

    Example:
        >>> from kafkacomp import lz4
        >>> with lz4.LZ4File(target, "wb", level=12) as file:  # target is a path, such as "orders.lz4"
        ...     file.write(b"content")
        7
        >>> with lz4.LZ4File(target) as file:
        ...     file.read()
        b'content'
    """

    @overload
    def __init__(self, file: FileArgument, mode: of.ReadMode = "r", **options: Unpack[of.LZ4ReadOptions]) -> None: ...
    @overload
    def __init__(self, file: FileArgument, mode: of.WriteMode, **options: Unpack[of.LZ4WriteOptions]) -> None: ...
    def __init__(
        self,
        file: FileArgument,
        mode: str = "r",
        *,
        level: int | None = None,
        header_checksum: HeaderChecksum = "standard",
        block_size: int | None = None,
        block_checksum: bool | None = None,
        content_checksum: bool | None = None,
        max_output_size: int | None = None,
    ) -> None:
        _check(header_checksum)
        cap = optional_max_output_size(max_output_size)
        options = FrameOptions(header_checksum, block_size or 65536, bool(block_checksum), bool(content_checksum))
        super().__init__(
            file,
            mode,
            make_compressor=lambda: _kafkacomp.Compressor(CompressionType.LZ4, level, 2, options),
            make_decompressor=lambda: _kafkacomp.Decompressor(
                CompressionType.LZ4, header_checksum, None, cap, frames=True
            ),
            only_reading={"max_output_size": max_output_size},
            only_writing={
                "level": level,
                "block_size": block_size,
                "block_checksum": block_checksum,
                "content_checksum": content_checksum,
            },
        )


@overload
def open(file: FileArgument, mode: of.ReadMode = "rb", **options: Unpack[of.LZ4ReadOptions]) -> LZ4File: ...
@overload
def open(file: FileArgument, mode: of.WriteMode, **options: Unpack[of.LZ4WriteOptions]) -> LZ4File: ...
@overload
def open(file: FileArgument, mode: of.ReadTextMode, **options: Unpack[of.LZ4ReadTextOptions]) -> io.TextIOWrapper: ...
@overload
def open(file: FileArgument, mode: of.WriteTextMode, **options: Unpack[of.LZ4WriteTextOptions]) -> io.TextIOWrapper: ...
def open(file: FileArgument, mode: str = "rb", **options: Any) -> LZ4File | io.TextIOWrapper:
    """Open an LZ4 file, in binary or text mode.

    Args:
        file: As for :class:`LZ4File`.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        **options: As for :class:`LZ4File`; in text modes also ``encoding``, ``errors`` and ``newline``, as in the
            built-in :func:`open`.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.

    Example:
        >>> from kafkacomp import lz4
        >>> with lz4.open(target, "wt", encoding="utf-8") as file:  # target is a path, such as "orders.lz4"
        ...     file.write("text")
        4
        >>> with lz4.open(target, "rt", encoding="utf-8") as file:
        ...     list(file)
        ['text']
    """
    return open_file(partial(LZ4File, file), mode, options)
