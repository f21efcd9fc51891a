"""Record sets of every format, codec and oddity, whole and damaged, from a seed: what the tests of reading are fed.

Nothing of kafkacomp is used to make them. Codecs' data come from the peers of ``codec_peers``, record sets of real
clients and brokers from the vectors in the tree; the rest is put together field by field here.
"""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiokafka.record.util import calc_crc32c

from codec_peers import PEERS, payload

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent

LOG_OVERHEAD: Final = 12
MAGIC_AT: Final = 16
ATTRIBUTES_AT: Final = 21
RECORD_BATCH_OVERHEAD: Final = 61
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
TIME: Final = 1_700_000_000_000

# A level-22 frame makes its reader take 128 MiB: tests of the codecs have it, a million record sets do without.
USABLE = {peer: about for peer, about in PEERS.items() if peer != "zstandard, level 22"}
BY_CODEC = {codec: [peer for peer, (kind, _) in USABLE.items() if kind == codec] for codec in CODECS}

LIMITS = (0, 1, -1, -2, 2, 63, 64, 127, 128, 255, 2**15, 2**31 - 1, -(2**31), 2**31 - 12, 2**30)


def varint(value: int, *, padding: int = 0) -> bytes:
    """A zig-zag varint, with ``padding`` groups of zeros behind it."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    for _ in range(padding):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


@dataclass(frozen=True)
class Span:
    """Where a batch stands in a record set."""

    start: int
    end: int


@lru_cache
def real_batches() -> list[bytes]:
    """Batches that real clients and brokers wrote, each once; large ones left out."""
    found: dict[bytes, None] = {}
    for folder in (HERE / "vectors", HERE.parent / "examples" / "data"):
        for path in sorted(folder.rglob("*.log")):
            data = path.read_bytes()
            at = 0
            while at + MAGIC_AT < len(data):
                size = int.from_bytes(data[at + 8 : at + 12], "big", signed=True) + LOG_OVERHEAD
                if size <= MAGIC_AT or at + size > len(data) or data[at + MAGIC_AT] > 2:
                    break
                if size < 6000:
                    found[data[at : at + size]] = None
                at += size
    return list(found)


class RecordSets:
    """Makes record sets, one after another, from a seed."""

    def __init__(self, seed: int) -> None:
        """Start at a seed: the same seed gives the same sets."""
        self._rng = random.Random(seed)
        self._text = payload(400_000)
        self._offset = 0

    def next(self) -> bytes:
        """One record set: whole (one in five) or with one to three things done to it."""
        rng = self._rng
        self._offset = rng.choice((0, 0, 1, 1000, rng.randrange(2**31), rng.randrange(2**62)))
        pieces = [self._entry() for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5)))]
        data = bytearray()
        spans = []
        for piece in pieces:
            spans.append(Span(len(data), len(data) + len(piece)))
            data += piece
        if rng.random() < 0.8:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                self._damage(data, spans)
        match rng.randrange(40):
            case 0:
                data += bytes(rng.randrange(1, 100))
            case 1:
                data += rng.randbytes(rng.randrange(1, 100))
            case 2:
                data += pieces[0][: rng.randrange(len(pieces[0]))]
            case _:
                pass
        return bytes(data)

    # ------------------------------------------------------------------------------------------- whole batches

    def _entry(self) -> bytes:
        match self._rng.randrange(10):
            case 0:
                return self._rng.choice(real_batches())
            case 1 | 2 | 3 | 4 | 5:
                return self._batch()
            case 6:
                return self._message(self._rng.randrange(2), self._offset)
            case _:
                return self._wrapper(self._rng.randrange(2))

    def _bytes(self) -> bytes | None:
        rng = self._rng
        if rng.random() < 0.1:
            return None
        size = rng.choice((0, 1, 5, 20, 100, 300, rng.randrange(2000), 5000 if rng.random() < 0.1 else 50))
        if rng.random() < 0.003:
            size = rng.choice((2048, 16_384, 40_000, 65_536, 70_000, 140_000))
        start = rng.randrange(len(self._text) - size)
        return self._text[start : start + size] if rng.random() < 0.7 else rng.randbytes(size)

    def _compress(self, codec: str, data: bytes) -> bytes:
        return data if codec == "none" else USABLE[self._rng.choice(BY_CODEC[codec])][1](data)

    def _batch(self) -> bytes:
        """A batch of magic 2."""
        rng = self._rng
        codec = rng.choice(CODECS)
        attributes = CODECS.index(codec)
        attributes |= (rng.random() < 0.2) << 3 | (rng.random() < 0.2) << 4
        attributes |= (rng.random() < 0.1) << 5 | (rng.random() < 0.1) << 6
        if rng.random() < 0.02:
            attributes |= rng.randrange(512) << 7
        control = bool(attributes & 0x20)
        count = rng.choice((0, 1, 1, 2, 3, 5, 8, 40 if rng.random() < 0.2 else 1))
        gaps = rng.random() < 0.2
        delta, records = 0, []
        for _ in range(count):
            records.append(self._record(delta, control=control))
            delta += rng.randrange(1, 40) if gaps else 1
        last = max(delta - 1, 0) + (rng.randrange(20) if gaps else 0)
        content = self._odd_content(b"".join(records))
        declared = count if rng.random() < 0.95 else count + rng.choice((-1, 1, -count - 1, 1000))
        if count == 0 and rng.random() < 0.8:
            attributes, content = attributes & ~7, b""  # what compaction leaves
            codec = "none"
        producer = rng.random() < 0.4
        head = struct.pack(
            ">hiqqqhii",
            attributes if attributes < 2**15 else attributes - 2**16,
            last,
            rng.choice((TIME, TIME, -1, 0)),
            rng.choice((TIME + 1000, TIME, -1)),
            rng.randrange(2**40) if producer else -1,
            rng.randrange(2**15) if producer else -1,
            rng.choice((0, 1000, 2**31 - 1, 2**31 - 3)) if producer else rng.choice((-1, -1, 0, -2)),
            declared,
        )
        return self._framed_batch(head + self._compress(codec, content), last)

    def _framed_batch(self, body: bytes, last: int) -> bytes:
        head = struct.pack(">qiibI", self._offset, len(body) + 9, self._rng.choice((-1, 0, 7)), 2, calc_crc32c(body))
        self._offset = min(self._offset + last + 1, 2**63 - 2**33)
        return head + body

    def _record(self, delta: int, *, control: bool) -> bytes:
        rng = self._rng
        number: Callable[[int], bytes] = varint
        if rng.random() < 0.02:
            number = self._odd_number
        key = struct.pack(">hh", 0, rng.choice((0, 1, 2, 3, 5))) if control and rng.random() < 0.8 else self._bytes()
        body = bytes([rng.choice((0, 0, 0, 255))]) + number(rng.choice((0, 0, 1, -5, 10**6, -(2**50), 2**62)))
        body += number(delta) + self._nullable(key, number) + self._nullable(self._bytes(), number)
        headers = 0 if rng.random() < 0.7 else rng.choice((1, 2, 5))
        body += number(headers)
        for _ in range(headers):
            name = rng.choice((b"", b"trace", "schlüssel-€".encode(), b"bad \xff\xed\xa0\x80 \xc3", b"k" * 200))
            body += number(len(name)) + name + self._nullable(self._bytes(), number)
        return number(len(body)) + body

    def _nullable(self, value: bytes | None, number: Callable[[int], bytes]) -> bytes:
        return number(-1) if value is None else number(len(value)) + value

    def _odd_number(self, value: int) -> bytes:
        """Now and then a number with padding, of another value, or one that no reader takes."""
        rng = self._rng
        match rng.randrange(12):
            case 0:
                return varint(value, padding=rng.randrange(1, 5))
            case 1:
                return varint(value + rng.choice((-1, 1, -2, 100)))
            case 2:
                return varint(rng.choice(LIMITS))
            case 3:
                return b"\xff" * rng.choice((4, 5, 9, 10)) + rng.choice((b"", b"\x01", b"\x7f"))
            case _:
                return varint(value)

    def _odd_content(self, content: bytes) -> bytes:
        """What a codec is given: mostly as it was, else damaged before it is compressed."""
        rng = self._rng
        if rng.random() < 0.85 or not content:
            return content
        data = bytearray(content)
        match rng.randrange(4):
            case 0:
                data[rng.randrange(min(len(data), 40))] ^= 1 << rng.randrange(8)
            case 1:
                data[rng.randrange(len(data))] = rng.randrange(256)
            case 2:
                del data[rng.randrange(len(data)) :]
            case _:
                data += rng.randbytes(rng.randrange(1, 30))
        return bytes(data)

    def _message(self, magic: int, offset: int, *, attributes: int = 0, value: bytes | None = None) -> bytes:
        rng = self._rng
        if magic == 1 and not attributes & 7 and rng.random() < 0.3:
            attributes |= 8
        if not attributes & 7:
            value = self._bytes()
        fields = struct.pack(">bb", magic, attributes)
        if magic > 0:
            fields += struct.pack(">q", rng.choice((TIME, TIME + 5, -1, 0)))
        for piece in (self._bytes() if rng.random() < 0.7 else None, value):
            fields += struct.pack(">i", -1) if piece is None else struct.pack(">i", len(piece)) + piece
        return struct.pack(">qiI", offset, len(fields) + 4, zlib.crc32(fields)) + fields

    def _wrapper(self, magic: int) -> bytes:
        """A compressed message of magic 0 or 1 and its inner messages."""
        rng = self._rng
        codec = rng.choice(CODECS[1:4] if rng.random() < 0.98 else CODECS[1:])
        count = rng.choice((0, 1, 1, 2, 3, 5, 10)) if rng.random() < 0.2 else rng.randrange(1, 6)
        gaps = rng.random() < 0.3
        inner, at = [], 0
        # Absolute in magic 0, relative in magic 1; old producers wrote zeros or counted where others did not.
        start = self._offset if (magic == 0) != (rng.random() < 0.1) else 0
        zeros = rng.random() < 0.1
        for _ in range(count):
            odd = rng.random() < 0.01
            inner.append(
                self._message(
                    1 - magic if rng.random() < 0.02 else magic,
                    0 if zeros else start + at,
                    attributes=rng.choice((1, 2, 3, 4, 5, 7)) if odd else 0,
                    value=b"x" if odd else None,
                )
            )
            at += rng.randrange(1, 20) if gaps else 1
        last = self._offset + max(at - 1, 0)
        offset = rng.choice((0, 1, at - 1, last + 5)) if rng.random() < 0.15 else last
        content = self._odd_content(b"".join(inner))
        attributes = CODECS.index(codec) | (8 if magic == 1 and rng.random() < 0.3 else 0)
        value = None if rng.random() < 0.01 else self._compress(codec, content)
        self._offset = min(last + 1, 2**63 - 2**33)
        return self._message(magic, offset, attributes=attributes, value=value)

    # --------------------------------------------------------------------------------------------------- damage

    def _damage(self, data: bytearray, spans: list[Span]) -> None:
        """Does one thing to a record set, and half the time makes the checksum of the batch right again."""
        rng = self._rng
        if not data:
            return
        span = rng.choice(spans)
        start, end = min(span.start, len(data) - 1), min(span.end, len(data))
        length = max(end - start, 1)
        at = start + rng.randrange(length)
        before = len(data)
        match rng.randrange(12):
            case 0 | 1 | 2 | 3:
                self._edit_byte(data, start, length)
            case 4 | 5 | 6:
                self._edit_field(data, start)
            case 7:
                # What is compressed loses or gains its end, and the batch's size knows it.
                self._resize(data, start, end, spans)
                before = len(data)
            case 8 | 9:
                del data[at:]
            case 10:
                source = rng.randrange(len(data))
                data[at:at] = data[source : source + rng.randrange(1, 200)]
            case _:
                del data[at : at + rng.choice((1, 2, 4, 12, rng.randrange(1, 200)))]
        if len(data) != before and rng.random() < 0.5:
            set_size(data, start, end)
        if len(data) != before or rng.random() < 0.6:
            fix_checksum(data, start)

    def _edit_byte(self, data: bytearray, start: int, length: int) -> None:
        """Changes one bit or byte anywhere in the batch, near its head, or where its payload begins."""
        rng = self._rng
        first_of_payload = rng.choice((RECORD_BATCH_OVERHEAD, 26, 34)) + rng.randrange(24)
        at = start + rng.choice((rng.randrange(length), rng.randrange(min(length, 80)), first_of_payload))
        if at >= len(data):
            return
        if rng.random() < 0.6:
            data[at] ^= 1 << rng.randrange(8)
        else:
            data[at] = rng.choice((0, 1, 255, 0x80, 0x7F, rng.randrange(256)))

    def _edit_field(self, data: bytearray, start: int) -> None:
        rng = self._rng
        if start + MAGIC_AT >= len(data):
            return
        fields = {0: LEGACY_FIELDS, 1: LEGACY_FIELDS}.get(data[start + MAGIC_AT], BATCH_FIELDS)
        place, form = rng.choice(fields)
        size = struct.calcsize(form)
        at = start + place
        if at + size > len(data):
            return
        (old,) = struct.unpack_from(form, data, at)
        new = rng.choice((old + 1, old - 1, old ^ (1 << rng.randrange(8 * size - 1)), rng.choice(LIMITS)))
        bits = 8 * size
        struct.pack_into(form, data, at, (new + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))

    def _resize(self, data: bytearray, start: int, end: int, spans: list[Span]) -> None:
        rng = self._rng
        if start + MAGIC_AT >= len(data):
            return
        change = rng.choice((1, 2, 3, 4, 8, 17, 30, rng.randrange(1, max(end - start, 2))))
        if rng.random() < 0.6:
            change = -min(change, max(end - start - 1, 0))
            del data[end + change : end]
        else:
            data[end:end] = rng.randbytes(change) if rng.random() < 0.6 else bytes(change)
        if data[start + MAGIC_AT : start + MAGIC_AT + 1] != b"\x02":
            set_value_size(data, start, change)
        set_size(data, start, end + change)
        for index, span in enumerate(spans):
            if span.start >= end:
                spans[index] = Span(span.start + change, span.end + change)
            elif span.end == end:
                spans[index] = Span(span.start, end + change)


# Places and forms of the fields of a batch of magic 2, and of a message.
BATCH_FIELDS = (
    (0, ">q"),
    (8, ">i"),
    (8, ">i"),
    (12, ">i"),
    (MAGIC_AT, ">b"),
    (17, ">i"),
    (ATTRIBUTES_AT, ">h"),
    (ATTRIBUTES_AT, ">h"),
    (23, ">i"),
    (27, ">q"),
    (35, ">q"),
    (43, ">q"),
    (51, ">h"),
    (53, ">i"),
    (57, ">i"),
    (57, ">i"),
)
LEGACY_FIELDS = (
    (0, ">q"),
    (8, ">i"),
    (8, ">i"),
    (12, ">i"),
    (MAGIC_AT, ">b"),
    (17, ">b"),
    (17, ">b"),
    (18, ">q"),
    (18, ">i"),
    (22, ">i"),
    (26, ">i"),
    (30, ">i"),
)


def set_size(data: bytearray, start: int, end: int) -> None:
    """Writes the size of the batch between two places."""
    if start + LOG_OVERHEAD <= len(data):
        struct.pack_into(">i", data, start + 8, max(end - start - LOG_OVERHEAD, 0))


def payload_span(entry: bytes) -> Span | None:
    """Where what a codec is given stands in a batch: all behind the header of magic 2, a message's value before."""
    if entry[MAGIC_AT] == 2:
        return Span(RECORD_BATCH_OVERHEAD, len(entry)) if len(entry) >= RECORD_BATCH_OVERHEAD else None
    at = 18 if entry[MAGIC_AT] == 0 else 26
    for last in (False, True):
        if at + 4 > len(entry):
            return None
        size = int.from_bytes(entry[at : at + 4], "big", signed=True)
        at += 4
        if max(size, 0) > len(entry) - at:
            return None
        if last:
            return None if size < 0 else Span(at, at + size)
        at += max(size, 0)
    return None


def with_payload(entry: bytes, span: Span, payload: bytes) -> bytes:
    """The batch with another payload. Its checksum stays as it was."""
    data = bytearray(entry)
    data[span.start : span.end] = payload
    if data[MAGIC_AT] < 2:
        struct.pack_into(">i", data, span.start - 4, len(payload))
    set_size(data, 0, len(data))
    return bytes(data)


def set_value_size(data: bytearray, start: int, change: int) -> None:
    """Changes the length of a message's value, where it can be found."""
    if start + MAGIC_AT >= len(data):
        return
    at = start + (18 if data[start + MAGIC_AT] == 0 else 26)
    if at + 4 > len(data):
        return
    (key,) = struct.unpack_from(">i", data, at)
    at += 4 + max(key, 0)
    if at + 4 <= len(data):
        (value,) = struct.unpack_from(">i", data, at)
        if -(2**31) <= value + change < 2**31:
            struct.pack_into(">i", data, at, value + change)


def fix_checksum(data: bytearray, start: int) -> None:
    """Makes the checksum of the batch at ``start`` right, if the batch is all there."""
    if start + ATTRIBUTES_AT > len(data):
        return
    end = start + LOG_OVERHEAD + int.from_bytes(data[start + 8 : start + 12], "big", signed=True)
    if not start + ATTRIBUTES_AT <= end <= len(data):
        return
    if data[start + MAGIC_AT] == 2:
        struct.pack_into(">I", data, start + 17, calc_crc32c(bytes(data[start + ATTRIBUTES_AT : end])))
    else:
        struct.pack_into(">I", data, start + LOG_OVERHEAD, zlib.crc32(data[start + MAGIC_AT : end]))
