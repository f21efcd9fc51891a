"""A slow LZ4 frame decoder in plain Python, by the frame and block specifications alone.

Kafka's Java reader refuses linked blocks and stops at the first EndMark; kafkacomp means to read on. This
decoder, which shares no code with it, says what such frames hold. Like Kafka's reader it takes a block size
of 0 with the stored bit for an EndMark, verifies block checksums and ignores content size and checksum; the
header checksum is verified when asked for.

Specifications: lz4_Frame_format.md 1.6.4 and lz4_Block_format.md of the LZ4 project.
"""

from __future__ import annotations

from dataclasses import dataclass

MAGIC = 0x184D2204
SKIPPABLE = 0x184D2A50
SKIPPABLE_MASK = 0xFFFFFFF0
STORED = 0x80000000
MINIMUM_MATCH = 4
LONG_LENGTH = 15
HISTORY = 65536

PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
WORD = 0xFFFFFFFF


class FrameError(ValueError):
    """Not a frame by the specification, or cut; with the header there, what its whole blocks held and their kind."""

    def __init__(self, message: str, content: bytes | None = None, *, linked: bool = False) -> None:
        """Content is None where not even the header is there."""
        super().__init__(message)
        self.content = content
        self.linked = linked


class UndefinedContentError(Exception):
    """A match of distance 0: no format has it, liblz4 copies what the memory held before."""


@dataclass(frozen=True)
class Frame:
    """The content of one frame and where the next byte after it stands."""

    content: bytes
    end: int
    linked: bool
    skippable: bool = False
    #: Whether a compressed block without content ends it.
    ended_by_empty_block: bool = False


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & WORD


def xxh32(data: bytes) -> int:
    """xxHash, 32 bits, seed 0 (xxhash_spec.md)."""
    first, second, third, fourth, fifth = PRIMES
    at = 0
    if len(data) >= 16:
        lanes = [(first + second) & WORD, second, 0, -first & WORD]
        while at + 16 <= len(data):
            for lane in range(4):
                word = _word(data, at + 4 * lane)
                lanes[lane] = _rotate((lanes[lane] + word * second) & WORD, 13) * first & WORD
            at += 16
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        value = fifth
    value = (value + len(data)) & WORD
    while at + 4 <= len(data):
        value = _rotate((value + _word(data, at) * third) & WORD, 17) * fourth & WORD
        at += 4
    for byte in data[at:]:
        value = _rotate((value + byte * fifth) & WORD, 11) * first & WORD
    value = (value ^ value >> 15) * second & WORD
    value = (value ^ value >> 13) * third & WORD
    return value ^ value >> 16


def _take(data: bytes, at: int, length: int) -> bytes:
    piece = data[at : at + length]
    if len(piece) < length:
        message = f"cut at byte {len(data)}"
        raise FrameError(message)
    return piece


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(_take(data, at, 4), "little")


def _length(block: bytes, at: int, nibble: int) -> tuple[int, int]:
    """A literal or match length and the position behind it."""
    length = nibble
    if nibble == LONG_LENGTH:
        while True:
            more = _take(block, at, 1)[0]
            at += 1
            length += more
            if more != 255:
                break
    return length, at


def decode_block(block: bytes, history: bytes = b"") -> bytes:
    """The content of a block whose matches may reach into ``history``."""
    out = bytearray(history)
    at = 0
    while True:
        token = _take(block, at, 1)[0]
        length, at = _length(block, at + 1, token >> 4)
        out += _take(block, at, length)
        at += length
        if at == len(block):
            return bytes(out[len(history) :])
        distance = int.from_bytes(_take(block, at, 2), "little")
        length, at = _length(block, at + 2, token & 0x0F)
        start = len(out) - distance
        if distance == 0:
            raise UndefinedContentError
        if start < 0:
            message = f"a match reaches {distance} bytes back from byte {len(out) - len(history)}"
            raise FrameError(message)
        for index in range(start, start + length + MINIMUM_MATCH):
            out.append(out[index])


def _check_header(data: bytes, at: int, *, check: bool) -> tuple[int, int, int]:
    """Flags, block size limit, and where the blocks begin."""
    flags, descriptor = _take(data, at + 4, 2)
    version, reserved, dictionary = flags >> 6, flags & 2, flags & 1
    block_id = descriptor >> 4 & 7
    if version != 1 or reserved or dictionary or descriptor & 0x8F or block_id < 4:
        message = f"flags {flags:#x} {descriptor:#x} at byte {at}"
        raise FrameError(message)
    end = at + 6 + (8 if flags & 8 else 0)
    stored = _take(data, end, 1)[0]
    if check and stored != xxh32(data[at + 4 : end]) >> 8 & 0xFF:
        message = f"header checksum {stored:#x} at byte {end}"
        raise FrameError(message)
    return flags, 1 << (8 + 2 * block_id), end + 1


def decode_frame(data: bytes, at: int = 0, *, check_header: bool = False) -> Frame:
    """The frame that begins at ``at``; a skippable frame has no content."""
    magic = _word(data, at)
    if magic & SKIPPABLE_MASK == SKIPPABLE:
        size = _word(data, at + 4)
        _take(data, at + 8, size)
        return Frame(b"", at + 8 + size, linked=False, skippable=True)
    if magic != MAGIC:
        message = f"no frame at byte {at}"
        raise FrameError(message)
    flags, limit, at = _check_header(data, at, check=check_header)
    linked = not flags & 0x20
    content = bytearray()
    try:
        at, is_empty = _decode_blocks(data, at, flags, limit, content)
    except FrameError as error:
        raise FrameError(str(error), bytes(content), linked=linked) from error
    return Frame(bytes(content), at, linked, ended_by_empty_block=is_empty)


def _decode_blocks(data: bytes, at: int, flags: int, limit: int, content: bytearray) -> tuple[int, bool]:
    """Adds the blocks' content; gives the place behind the frame, and whether a block without content ended it."""
    linked = not flags & 0x20
    while (word := _word(data, at)) & ~STORED:
        at += 4
        stored, size = bool(word & STORED), word & ~STORED
        if size > limit:
            message = f"a block of {size} bytes at byte {at}"
            raise FrameError(message)
        block = _take(data, at, size)
        at += size
        if flags & 0x10:
            if _word(data, at) != xxh32(block):
                message = f"block checksum at byte {at}"
                raise FrameError(message)
            at += 4
        piece = block if stored else decode_block(block, bytes(content[-HISTORY:]) if linked else b"")
        if len(piece) > limit:
            message = f"a block that makes {len(piece)} bytes"
            raise FrameError(message)
        if not piece and not stored:
            # Kafka's streams take a read of no bytes for the end.
            return at, True
        content += piece
    at += 4
    if flags & 4:
        # Kafka steps over the content checksum without a look, but it has to be there.
        _take(data, at, 4)
        at += 4
    return at, False


def decode_leading_frames(data: bytes, *, check_header: bool = False) -> tuple[list[Frame], bytes]:
    """As many whole frames as the bytes begin with, and what follows the last."""
    frames: list[Frame] = []
    at = 0
    while at < len(data):
        try:
            frame = decode_frame(data, at, check_header=check_header)
        except FrameError:
            break
        frames.append(frame)
        at = frame.end
    return frames, data[at:]


def stored_frame(content: bytes, *, whole: bool) -> bytes:
    """A frame of stored, independent blocks; without an EndMark, and so cut, if it is not to be whole."""
    limit = 4 << 20
    descriptor = bytes([0x60, 0x70])
    frame = MAGIC.to_bytes(4, "little") + descriptor + bytes([xxh32(descriptor) >> 8 & 0xFF])
    for start in range(0, len(content), limit):
        block = content[start : start + limit]
        frame += (len(block) | STORED).to_bytes(4, "little") + block
    return frame + (bytes(4) if whole else b"")
