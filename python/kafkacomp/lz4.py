"""LZ4 frames with either header checksum (KIP-57), kept to the specification.

Read are any block size, linked blocks, block checksums, content size, content checksum, several frames and skippable
frames; all checksums and sizes are verified, and bytes that belong to no frame are an error. Frames that need a
dictionary are refused.

Kafka 0.8.2 and 0.9, and every writer of message format 0 since, compute the header checksum over the magic bytes too:
``"broken"``. Everyone else, and message formats 1 and 2, follow the specification: ``"standard"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kafkacomp import _kafkacomp
from kafkacomp._codec import checked_max_output_size
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["FrameInfo", "HeaderChecksum", "HeaderChecksumRule", "decompress", "decompress_into", "frame_info"]

HeaderChecksum = Literal["standard", "broken", "either", "ignore"]
HeaderChecksumRule = Literal["standard", "broken", "both", "neither"]


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """What the header of an LZ4 frame says."""

    #: Where the frame begins: behind the skippable frames, if there are any.
    position: int
    #: The length of the header, with magic and header checksum.
    header_length: int
    #: The first descriptor byte.
    flg: int
    #: The second descriptor byte.
    bd: int
    #: The largest block in bytes: 64 KiB, 256 KiB, 1 MiB or 4 MiB.
    block_max_size: int
    #: The size of the content, or None if the header does not have it. Nothing vouches for it.
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
        ValueError: ``header_checksum`` is none of the four.
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
        ValueError: ``header_checksum`` is none of the four.
    """
    return _kafkacomp.decompress_into(data, out, CompressionType.LZ4, header_checksum)


def frame_info(data: Buffer) -> FrameInfo:
    """What the first frame's header says. The header checksum is reported, not demanded.

    Args:
        data: Bytes-like; the header is enough.

    Raises:
        DecompressionError: the data begin with no LZ4 frame, or with a version, bits or a block size that nobody
            defined (``TruncatedError``: they end inside the header).
    """
    return FrameInfo(*_kafkacomp.lz4_frame_info(data))
