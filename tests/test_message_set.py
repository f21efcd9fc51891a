"""Message sets of Kafka 0.7 made by hand: damage, bombs, arguments, and the rules that golden files cannot show."""

from __future__ import annotations

import gzip
import itertools
import pickle
import struct
import threading
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from golden.expect import SMALL
from kafkacomp import message_set
from kafkacomp.message_set import MessageAndOffset, read_messages, valid_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)

# Small sets of every shape: each prefix and each single-bit flip of them is read.
DAMAGED = [
    "empty-wrapper-nested",
    "gzip-empty-member-middle",
    "gzip-two-members",
    "magic0-single",
    "magic1-single-gzip",
    "magic1-single-none",
    "magic1-single-snappy",
    "nested-four-deep",
    "snappy-raw-block",
    "snappy-small-blocks",
]


def entry(payload: bytes, attributes: int = 0, *, crc: int | None = None) -> bytes:
    """A message of magic 1 with its size."""
    crc = zlib.crc32(payload) if crc is None else crc
    return struct.pack(">ibBI", 6 + len(payload), 1, attributes, crc) + payload


def entry_v0(payload: bytes) -> bytes:
    """A message of magic 0 with its size."""
    return struct.pack(">ibI", 5 + len(payload), 0, zlib.crc32(payload)) + payload


def gzipped(inner: bytes) -> bytes:
    """A gzip wrapper."""
    return entry(gzip.compress(inner, mtime=0), 1)


def literal(content: bytes) -> bytes:
    """A raw snappy block of one literal."""
    length = len(content)
    preamble = bytearray()
    rest = length
    while rest >= 0x80:
        preamble.append(rest & 0x7F | 0x80)
        rest >>= 7
    preamble.append(rest)
    return bytes(preamble) + (b"\xf8" + struct.pack("<I", length - 1)[:3] + content if length else b"")


def snappied(inner: bytes) -> bytes:
    """A snappy wrapper of one block."""
    block = literal(inner)
    return entry(XERIAL + struct.pack(">i", len(block)) + block, 2)


def nested(levels: int, inner: bytes) -> bytes:
    """So many wrappers around a set, codecs in turn."""
    for level in range(levels):
        inner = gzipped(inner) if level % 2 else snappied(inner)
    return inner


def until_error(items: Iterator[MessageAndOffset]) -> tuple[list[tuple[bytes, int]], kc.KafkaCompError | None]:
    """Payloads and offsets, and what ended them."""
    found = []
    try:
        for message, offset in items:
            found.append((message.payload, offset))
    except kc.KafkaCompError as error:
        return found, error
    return found, None


# ------------------------------------------------------------------------------------------------- offsets


def test_offsets_are_where_to_fetch_next() -> None:
    """Plain messages: behind themselves. In a wrapper: its start, the last one behind it, whatever the depth."""
    plain, wrapper = entry(b"a"), gzipped(entry(b"b") + snappied(entry_v0(b"c") + entry(b"d")) + gzipped(b""))
    data = plain + wrapper + entry_v0(b"e")
    start, end = len(plain), len(plain) + len(wrapper)
    wanted = [(b"a", start), (b"b", start), (b"c", start), (b"d", end), (b"e", len(data))]
    assert until_error(read_messages(data)) == (wanted, None)
    shifted = [(payload, offset + 1000) for payload, offset in wanted]
    assert until_error(read_messages(data, initial_offset=1000)) == (shifted, None)
    shallow = [offset for _, offset in read_messages(data, deep=False, initial_offset=1000)]
    assert shallow == [1000 + start, 1000 + end, 1000 + len(data)]
    assert valid_bytes(data) == valid_bytes(data, 1000) == len(data)


def test_empty_wrappers_hand_nothing_out() -> None:
    data = gzipped(b"") + snappied(b"") + entry(b"x") + gzipped(gzipped(b"") + snappied(b""))
    found = until_error(read_messages(data))
    assert found == ([(b"x", len(gzipped(b"") + snappied(b"") + entry(b"x")))], None)
    assert valid_bytes(data) == len(data)


def test_many_plain_messages_between_wrappers() -> None:
    """Messages are read in pieces; the borders of the pieces do not show."""
    parts = [entry(b"%d" % n) if n % 700 else gzipped(entry(b"%d" % n)) for n in range(3000)]
    ends = list(itertools.accumulate(map(len, parts)))
    assert until_error(read_messages(b"".join(parts))) == ([(b"%d" % n, end) for n, end in enumerate(ends)], None)


def test_good_messages_come_before_the_error() -> None:
    """Kafka's look-ahead would lose the last good one of each level."""
    bad = entry(b"bad", crc=1)
    for wrap in (gzipped, snappied):
        data = entry(b"first") + wrap(entry(b"a") + wrap(entry(b"b") + bad + entry(b"lost")) + entry(b"lost"))
        start = len(entry(b"first"))
        found, error = until_error(read_messages(data))
        assert found == [(b"first", start), (b"a", start), (b"b", start)]
        assert isinstance(error, kc.MessageSetError)
        assert (error.kind, error.position, error.error_code) == ("crc", start, 2)
        assert "2 levels inside" in str(error)


def test_an_error_is_the_end() -> None:
    messages = read_messages(entry(b"a") + entry(b"b", crc=0) + entry(b"c"))
    assert next(messages).message.payload == b"a"
    with pytest.raises(kc.MessageSetError, match=r"stored crc = 0, .* at byte 11"):
        next(messages)
    assert list(messages) == []


# -------------------------------------------------------------------------------------------------- snappy


def block(content: bytes) -> bytes:
    """A block with its size."""
    return struct.pack(">i", len(literal(content))) + literal(content)


INNER = entry(b"payload")


@pytest.mark.parametrize(
    "payload",
    [
        XERIAL + block(INNER),
        XERIAL + block(INNER[:9]) + block(b"") + block(INNER[9:]),
        XERIAL + block(INNER) + b"abc",
        b"\x82SNAPPY\0" + struct.pack(">ii", 7, -3) + block(INNER),
        literal(INNER),
    ],
    ids=["whole", "split", "three-bytes-behind", "other-versions", "raw-block"],
)
def test_snappy_as_0_7_takes_it(payload: bytes) -> None:
    data = entry(payload, 2)
    assert until_error(read_messages(data)) == ([(b"payload", len(data))], None)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        XERIAL + block(INNER) + XERIAL + block(INNER),
        XERIAL + block(INNER) + bytes(4),
        XERIAL + block(INNER)[:-1],
        XERIAL + block(INNER) + struct.pack(">i", -1) + b"xxxx",
        b"\x82SNAPPY\0" + struct.pack("<ii", -1, 1) + block(INNER),
        b"\x82SNAPPY\0" + struct.pack(">ii", 0, 1) + block(INNER),
        XERIAL[:12],
        b"\x82SNAPPZ\0" + XERIAL[8:] + block(INNER),
    ],
    ids=[
        "nothing",
        "second-header",
        "zero-block",
        "cut-block",
        "negative-block",
        "negative-version",
        "version-0",
        "cut-header",
        "other-magic",
    ],
)
def test_snappy_as_0_7_refuses_it(payload: bytes) -> None:
    found, error = until_error(read_messages(entry(b"a") + entry(payload, 2) + entry(b"b")))
    assert found == [(b"a", 11)]
    assert isinstance(error, kc.MessageSetError)
    assert (error.kind, error.position) == ("decompression", 11)
    assert isinstance(error.__cause__, kc.DecompressionError)


# --------------------------------------------------------------------------------------------------- bombs


def test_sixty_four_levels_and_no_more() -> None:
    data = nested(64, entry(b"deep"))
    assert until_error(read_messages(data)) == ([(b"deep", len(data))], None)
    found, error = until_error(read_messages(entry(b"a") + nested(65, entry(b"deep"))))
    assert found == [(b"a", 11)]
    assert isinstance(error, kc.MessageSetError)
    assert (error.kind, error.position) == ("decompression", 11)
    assert "more than 64 levels" in str(error)


def test_thousands_of_levels() -> None:
    """No stack overflows."""
    found, error = until_error(read_messages(nested(3000, entry(b"deep"))))
    assert found == []
    assert isinstance(error, kc.MessageSetError)


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_gzip_bomb_stays_under_the_cap(levels: int) -> None:
    """50 MB of zeros in 50 KB; also compressed again and again."""
    bomb = entry(bytes(50_000_000))
    for _ in range(levels):
        bomb = gzipped(bomb)
    begin = time.monotonic()
    found, error = until_error(read_messages(entry(b"a") + bomb, max_output_size=1 << 20))
    assert found == [(b"a", 11)]
    assert isinstance(error, kc.OutputLimitError)
    assert (error.limit, error.position) == (1 << 20, 11)
    assert time.monotonic() - begin < 5


def test_the_cap_counts_all_levels() -> None:
    """Many small wrappers in one, each far below the cap."""
    inner = gzipped(entry(bytes(100_000)))
    data = gzipped(inner * 20)
    found, error = until_error(read_messages(data, max_output_size=1_000_000))
    assert len(found) == 9
    assert isinstance(error, kc.OutputLimitError)
    assert error.limit == 1_000_000
    assert len(list(read_messages(data, max_output_size=2_100_000))) == 20
    # The next top-level message has the whole cap again.
    one = gzipped(entry(bytes(900_000)))
    assert len(list(read_messages(one * 10, max_output_size=1_000_000))) == 10


def test_the_cap_is_exact() -> None:
    for wrap in (gzipped, snappied):
        data = wrap(entry(bytes(990)))
        assert len(list(read_messages(data, max_output_size=1000))) == 1
        with pytest.raises(kc.OutputLimitError):
            list(read_messages(data, max_output_size=999))


def test_sizes_that_lie_take_no_memory() -> None:
    """A snappy block that claims 2 GB, and a size field of 2 GB."""
    claim = entry(b"\xff\xff\xff\xff\x07" + bytes(20), 2)
    tracemalloc.start()
    for data in (claim, gzipped(claim), struct.pack(">i", 2**31 - 1) + bytes(100)):
        assert isinstance(until_error(read_messages(data))[1], kc.MessageSetError)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


# -------------------------------------------------------------------------------------------------- damage


def originals(name: str) -> tuple[bytes, list[bytes]]:
    data = (SMALL / "v07" / "sets" / f"{name}.msgset").read_bytes()
    return data, [message.payload for message, _ in read_messages(data)]


@pytest.mark.parametrize("name", DAMAGED)
def test_every_prefix(name: str) -> None:
    """A prefix gives the messages of the entries that are whole, and then ends or names the size."""
    data, _ = originals(name)
    whole = [offset for _, offset in read_messages(data, deep=False)]
    deep = [(message.payload, offset) for message, offset in read_messages(data)]
    for length in range(len(data)):
        end = max((offset for offset in whole if offset <= length), default=0)
        found, error = until_error(read_messages(data[:length]))
        assert found == [item for item in deep if item[1] <= end][: len(found)]
        if end or length < 4:
            assert error is None
            assert valid_bytes(data[:length]) == end
        else:
            assert isinstance(error, kc.MessageSetError)
            assert (error.kind, error.position) == ("invalid_message_size", 0)


@pytest.mark.parametrize("name", DAMAGED)
def test_every_bit_flip(name: str) -> None:
    """A flipped bit is an error or leaves what is read a prefix; only what no checksum covers may change more."""
    data, payloads = originals(name)
    starts = [offset - message.size_in_bytes for message, offset in read_messages(data, deep=False)]
    # Size, magic and attributes are covered by nothing.
    uncovered = {byte for start in starts for byte in range(start - 4, start + 2)}
    for byte, bit in itertools.product(range(len(data)), range(8)):
        flipped = bytearray(data)
        flipped[byte] ^= 1 << bit
        found, error = until_error(read_messages(bytes(flipped), max_output_size=1 << 24))
        assert error is None or isinstance(error, (kc.MessageSetError, kc.OutputLimitError))
        if byte not in uncovered:
            assert [payload for payload, _ in found] == payloads[: len(found)]
            assert error is not None


# ----------------------------------------------------------------------------------------------- interface


def test_message() -> None:
    (plain, first), (old, _), (wrapper, last) = read_messages(
        entry(b"abc", 0xFC) + entry_v0(b"abc") + gzipped(b""), deep=False
    )
    assert (plain.magic, plain.attributes, plain.compression_type) == (1, 0xFC, kc.CompressionType.NONE)
    assert (old.magic, old.attributes, old.compression_type) == (0, None, kc.CompressionType.NONE)
    assert (wrapper.magic, wrapper.attributes, wrapper.compression_type) == (1, 1, kc.CompressionType.GZIP)
    assert plain.payload == old.payload == b"abc"
    assert plain.crc == old.crc == zlib.crc32(b"abc")
    assert plain.is_valid
    assert bytes(plain) == entry(b"abc", 0xFC)[4:]
    assert (plain.size_in_bytes, old.size_in_bytes) == (9, 8)
    assert gzip.decompress(wrapper.payload) == b""
    assert repr(plain) == "Message(magic=1, attributes=252, payload=b'abc')"
    assert first == 13
    assert last == 13 + 12 + len(gzipped(b""))


def test_codec_3() -> None:
    """Shallow it is handed out, and says that its codec is unknown; deep it is an error."""
    data = entry(b"a") + entry(b"b", 3)
    *_, (message, offset) = read_messages(data, deep=False)
    assert (message.payload, offset) == (b"b", 22)
    with pytest.raises(kc.MessageSetError) as caught:
        _ = message.compression_type
    assert (caught.value.kind, caught.value.position) == ("unknown_codec", 11)
    found, error = until_error(read_messages(data))
    assert found == [(b"a", 11)]
    assert isinstance(error, kc.MessageSetError)
    assert (error.kind, error.position) == ("unknown_codec", 11)


def test_errors_pickle() -> None:
    _, error = until_error(read_messages(entry(b"a", crc=7)))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (its own words)
    assert isinstance(again, kc.MessageSetError)
    assert (again.kind, again.position, str(again)) == ("crc", 0, str(error))


@pytest.mark.parametrize("offset", [-1, 2**63])
def test_initial_offset_must_be_an_offset(offset: int) -> None:
    with pytest.raises(ValueError, match="initial_offset"):
        read_messages(b"", initial_offset=offset)
    with pytest.raises(ValueError, match="initial_offset"):
        valid_bytes(b"", offset)


@pytest.mark.parametrize("limit", [0, -1, 2**31])
def test_max_output_size_must_be_a_cap(limit: int) -> None:
    with pytest.raises(ValueError, match="max_output_size"):
        read_messages(b"", max_output_size=limit)


def test_what_is_not_bytes() -> None:
    with pytest.raises(TypeError):
        read_messages("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        valid_bytes(None)  # type: ignore[arg-type]


def test_exported() -> None:
    assert kc.message_set is message_set
    assert MessageAndOffset._fields == ("message", "offset")


def test_threads() -> None:
    """Readers of their own do not meet."""
    data = b"".join(nested(n % 4, entry(b"%d" % n) * 50) for n in range(200))
    wanted = until_error(read_messages(data))
    results = []
    threads = [threading.Thread(target=lambda: results.append(until_error(read_messages(data)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 4
