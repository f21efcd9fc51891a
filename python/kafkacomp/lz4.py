"""LZ4 frames with either header checksum (KIP-57), kept to the specification.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, overload

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
#: The error of broken data, under the name that it has in modules of this shape (PEP 784).
LZ4Error = DecompressionError

HeaderChecksum = Literal["standard", "broken", "either", "ignore"]
HeaderChecksumWritten = Literal["standard", "broken"]
HeaderChecksumRule = Literal["standard", "broken", "both", "neither"]


class FrameOptions(NamedTuple):
    """How a frame is written."""

    header_checksum: str = "standard"
    #: The largest block in bytes.
    block_size: int = 65536
    block_checksum: bool = False
    content_checksum: bool = False
    content_size: bool = False


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """What the header of an LZ4 frame says."""

    #: The byte at which the frame begins, after any skippable frames.
    position: int
    #: The length of the header, with magic and header checksum.
    header_length: int
    #: The first descriptor byte.
    flg: int
    #: The second descriptor byte.
    bd: int
    #: The largest block in bytes: 64 KiB, 256 KiB, 1 MiB or 4 MiB.
    block_max_size: int
    #: The size of the content, or None if the header does not have it. It is not verified.
    content_size: int | None
    #: The id of the dictionary that the frame needs, or None.
    dictionary_id: int | None
    #: The header checksum as it is stored.
    header_checksum: int
    #: The header checksum that the specification asks for.
    standard_header_checksum: int
    #: The header checksum as Kafka 0.8.2 and 0.9 wrote it.
    broken_header_checksum: int
    #: Which of the two the stored one is; "both" if they happen to be the same byte.
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
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        level: 1 to 17. 9 is the FAST compressor, as in Kafka; any other level is the high-compression one, which
            goes up to 12: 13 to 17 are as 12.
        header_checksum: "standard", or "broken" for Kafka 0.8.2 and 0.9 and message format 0.
        block_size: The largest block in bytes: 65536, 262144, 1048576 or 4194304.
        block_checksum: Whether each block gets a checksum.
        content_checksum: Whether a checksum of the content follows the EndMark.
        content_size: Whether the header gets the content's size.

    Raises:
        ValueError: an argument has an unknown value.
    """
    options = FrameOptions(header_checksum, block_size, block_checksum, content_checksum, content_size)
    return _kafkacomp.lz4_compress(data, level, options)


def decompress(
    data: Buffer,
    *,
    header_checksum: HeaderChecksum = "standard",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> bytes:
    """Decompress all frames of ``data``.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        header_checksum: The header checksum that every frame must have: "standard", "broken", "either" of the
            two, or "ignore" it.
        max_output_size: The most bytes to give; memory for more is never taken.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: there are more than ``max_output_size`` bytes in them.
        ValueError: unknown ``header_checksum``.
    """
    return _kafkacomp.decompress(data, CompressionType.LZ4, header_checksum, checked_max_output_size(max_output_size))


def decompress_into(data: Buffer, out: Buffer, *, header_checksum: HeaderChecksum = "standard") -> int:
    """Decompress all frames of ``data`` to the front of ``out``.

    Args:
        data: Bytes-like; ``bytes`` are read in place, anything else is copied once.
        out: A writable, contiguous buffer. Nothing is written to it before all has been decompressed.
        header_checksum: As for :func:`decompress`.

    Returns:
        The number of bytes written.

    Raises:
        DecompressionError: the data are broken (``TruncatedError``: end too early).
        OutputLimitError: ``out`` is too small.
        TypeError: ``out`` cannot be written to.
        ValueError: unknown ``header_checksum``.
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.LZ4, header_checksum)


def get_frame_info(data: Buffer) -> FrameInfo:
    """What the first frame's header says. The header checksum is reported, not demanded.

    Args:
        data: Bytes-like; the header is enough.

    Raises:
        DecompressionError: the data begin with no LZ4 frame, or with a version, bits or a block size that nobody
            defined (``TruncatedError``: they end inside the header).
    """
    return _kafkacomp.lz4_frame_info(data)


class LZ4Compressor(_kafkacomp.Compressor):
    """An incremental compressor in the shape of PEP 784; may be used from several threads.

    ``compress(data, mode=CONTINUE)`` gives what is ready; ``FLUSH_BLOCK`` gives all so far, so that a reader gets
    it, ``FLUSH_FRAME`` ends the frame, and what follows begins a new one. ``flush(mode=FLUSH_FRAME)`` does so
    without data. ``last_mode`` is the mode of the last call.

    Args:
        level: As for :func:`compress`, and so are the others. The content's size cannot be written: it is not
            known when the frame begins.
        header_checksum: "standard" or "broken".
        block_size: The largest block in bytes.
        block_checksum: Whether each block gets a checksum.
        content_checksum: Whether a checksum of the content follows the EndMark.

    Raises:
        ValueError: an argument has an unknown value.
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
    """An incremental decompressor of one frame, a skippable one included.

    In the shape of PEP 784; may be used from several threads.

    ``decompress(data, max_length=-1)`` gives at most ``max_length`` bytes and keeps the input that it did not need;
    call it with ``b""`` for more while ``needs_input`` is false. At the end ``eof`` is true, and ``unused_data`` is
    what follows.

    Broken data raise DecompressionError; with ``max_length`` what comes before them is given first.

    Args:
        header_checksum: As for :func:`decompress`.
        max_output_size: The most bytes to give in all (OutputLimitError); None for no cap but memory's, which
            the codec's blocks and window bound.

    Raises:
        ValueError: an argument has an unknown value.
        EOFError: by ``decompress`` after the end.
    """

    def __new__(
        cls, *, header_checksum: HeaderChecksum = "standard", max_output_size: int | None = DEFAULT_MAX_OUTPUT_SIZE
    ) -> Self:
        """See the class."""
        return super().__new__(
            cls, CompressionType.LZ4, header_checksum, None, optional_max_output_size(max_output_size), frames=False
        )


class LZ4File(CompressedFile):
    """An LZ4 file, in the shape of PEP 784's ``ZstdFile``: read, or written, like any binary file.

    All frames of the file are read as one content, and one is written. Reading keeps the specification, as
    :func:`decompress` does; going back decompresses from the start. May be used from several threads.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when this file is closed.
        mode: "r", "w", "x" or "a", each with or without a b. Appending adds a frame.
        level: As for :func:`compress`; None is the default. Not for reading, and neither are the block size and the
            two checksums.
        header_checksum: For reading as for :func:`decompress`, for writing "standard" or "broken".
        block_size: The largest block in bytes; None is 65536.
        block_checksum: Whether each block gets a checksum; None is False.
        content_checksum: Whether a checksum of the content follows the EndMark; None is False.
        max_output_size: The most bytes of content to read (OutputLimitError); None for no cap but memory's, which the
            blocks bound. Not for writing.

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
        header_checksum: HeaderChecksum = "standard",
        max_output_size: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        file: FileArgument,
        mode: WriteMode,
        *,
        level: int | None = None,
        header_checksum: HeaderChecksumWritten = "standard",
        block_size: int | None = None,
        block_checksum: bool | None = None,
        content_checksum: bool | None = None,
    ) -> None: ...
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
        """See the class."""
        writing = {"block_size": block_size, "block_checksum": block_checksum, "content_checksum": content_checksum}
        refuse_options(mode, reading=True, level=level, **writing)
        refuse_options(mode, reading=False, max_output_size=max_output_size)
        cap = optional_max_output_size(max_output_size)
        options = FrameOptions(header_checksum, block_size or 65536, bool(block_checksum), bool(content_checksum))
        super().__init__(
            file,
            mode,
            make_compressor=lambda: _kafkacomp.Compressor(CompressionType.LZ4, level, 2, options),
            make_decompressor=lambda: _kafkacomp.Decompressor(
                CompressionType.LZ4, header_checksum, None, cap, frames=True
            ),
        )


@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadMode = "rb",
    *,
    header_checksum: HeaderChecksum = "standard",
    max_output_size: int | None = None,
) -> LZ4File: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: WriteMode,
    *,
    level: int | None = None,
    header_checksum: HeaderChecksumWritten = "standard",
    block_size: int | None = None,
    block_checksum: bool | None = None,
    content_checksum: bool | None = None,
) -> LZ4File: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    mode: ReadTextMode,
    *,
    header_checksum: HeaderChecksum = "standard",
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
    header_checksum: HeaderChecksumWritten = "standard",
    block_size: int | None = None,
    block_checksum: bool | None = None,
    content_checksum: bool | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
def open(  # noqa: A001 - the name of the standard library's
    file: FileArgument,
    mode: str = "rb",
    *,
    level: int | None = None,
    header_checksum: HeaderChecksum = "standard",
    block_size: int | None = None,
    block_checksum: bool | None = None,
    content_checksum: bool | None = None,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> LZ4File | io.TextIOWrapper:
    """Open an LZ4 file, in binary or text mode.

    Args:
        file: As for :class:`LZ4File`, and so are the others.
        mode: A binary mode, or "rt", "wt", "xt" or "at" for text.
        level: As for :func:`compress`.
        header_checksum: Which header checksum is written, or which are read.
        block_size: The largest block in bytes.
        block_checksum: Whether each block gets a checksum.
        content_checksum: Whether a checksum of the content follows the EndMark.
        max_output_size: The most bytes of content to read.
        encoding: For text, and so are the next two: as :func:`open` of the standard library has them.
        errors: How bytes that are not text in ``encoding`` are handled, as in :func:`open`.
        newline: How lines end.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
    """

    def make_file(mode: str) -> LZ4File:
        return LZ4File(  # type: ignore[call-overload,no-any-return,misc] # by mode
            file,
            mode,
            level=level,
            header_checksum=header_checksum,
            block_size=block_size,
            block_checksum=block_checksum,
            content_checksum=content_checksum,
            max_output_size=max_output_size,
        )

    return open_file(make_file, mode, encoding, errors, newline)
