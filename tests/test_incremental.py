"""The incremental classes. The standard library's tests of bz2 and lzma, and PEP 784's of zstd, are the checklist."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import snappy as python_snappy
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from codec_peers import payload
from kafkacomp import _kafkacomp

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class Codec(NamedTuple):
    """What is tested of a codec."""

    module: ModuleType
    compressor: Callable[..., _kafkacomp.Compressor]
    decompressor: Callable[..., _kafkacomp.Decompressor]
    #: Whether a frame says where it ends; xerial streams do not.
    ends: bool


CODECS = {
    "gzip": Codec(kc.gzip, kc.gzip.GzipCompressor, kc.gzip.GzipDecompressor, ends=True),
    "snappy": Codec(kc.snappy, kc.snappy.SnappyCompressor, kc.snappy.SnappyDecompressor, ends=False),
    "lz4": Codec(kc.lz4, kc.lz4.LZ4Compressor, kc.lz4.LZ4Decompressor, ends=True),
    "zstd": Codec(kc.zstd, kc.zstd.ZstdCompressor, kc.zstd.ZstdDecompressor, ends=True),
}
ENDING = [name for name, codec in CODECS.items() if codec.ends]
SKIPPABLE = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"ignored"
TRAIL = b"12345678abcdefg!@#$%^&*()_+|"
TEXT = payload(300_000)


@pytest.fixture(params=CODECS)
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each codec."""
    return CODECS[request.param]


@pytest.fixture(params=ENDING)
def ending(request: pytest.FixtureRequest) -> Codec:
    """Each codec whose frames say where they end."""
    return CODECS[request.param]


# ------------------------------------------------------------------------------------------------ compressors
def test_compress(codec: Codec) -> None:
    compressor = codec.compressor()
    assert codec.module.decompress(compressor.compress(TEXT) + compressor.flush()) == TEXT


def test_compress_empty(codec: Codec) -> None:
    compressor = codec.compressor()
    assert compressor.compress(b"") == b""
    assert compressor.flush(compressor.FLUSH_BLOCK) == b""
    frame = compressor.compress(b"", compressor.FLUSH_FRAME)
    assert frame
    assert codec.module.decompress(frame) == b""
    assert codec.module.decompress(compressor.flush()) == b""


@pytest.mark.parametrize("size", [1, 10, 32 << 10, 64 << 10, 100_001])
def test_compress_chunks(codec: Codec, size: int) -> None:
    compressor, data = codec.compressor(), TEXT[: size * 3000]
    # No bytes now and then change nothing.
    pieces = [compressor.compress(piece) for at in range(0, len(data), size) for piece in (data[at : at + size], b"")]
    assert codec.module.decompress(b"".join([*pieces, compressor.flush()])) == data


def test_flush_block(codec: Codec) -> None:
    compressor, decompressor = codec.compressor(), codec.decompressor()
    for at in range(0, len(TEXT), 70_000):
        piece = TEXT[at : at + 70_000]
        # All that went in comes out, though the frame is open.
        assert decompressor.decompress(compressor.compress(piece, compressor.FLUSH_BLOCK)) == piece
        assert not decompressor.eof
    decompressor.decompress(compressor.flush())
    assert decompressor.eof == codec.ends


def test_flush_frame(codec: Codec) -> None:
    compressor = codec.compressor()
    frames = [compressor.compress(TEXT[:n], compressor.FLUSH_FRAME) for n in (100, 0, 100_000)]
    assert [codec.module.decompress(frame) for frame in frames] == [TEXT[:100], b"", TEXT[:100_000]]
    assert codec.module.decompress(b"".join(frames)) == TEXT[:100] + TEXT[:100_000]
    # A second flush makes an empty frame.
    assert codec.module.decompress(compressor.flush()) == b""


def test_modes(codec: Codec) -> None:
    compressor = codec.compressor()
    assert (compressor.CONTINUE, compressor.FLUSH_BLOCK, compressor.FLUSH_FRAME) == (0, 1, 2)
    assert compressor.last_mode == compressor.FLUSH_FRAME
    for mode in (0, 1, 0, 2):
        compressor.compress(b"some", mode)
        assert compressor.last_mode == mode
    assert compressor.flush(1) is not None
    assert compressor.last_mode == 1
    for mode in (-1, 3):
        with pytest.raises(ValueError, match="mode"):
            compressor.compress(b"", mode)
    for mode in (0, 3, -1):
        with pytest.raises(ValueError, match="mode"):
            compressor.flush(mode)


def test_compressor_arguments(codec: Codec) -> None:
    compressor: Any = codec.compressor()
    for wrong in ("text", 1, None, [1]):
        with pytest.raises(TypeError):
            compressor.compress(wrong)
    for arguments in ((), (b"", b""), (b"", 0, 0)):
        with pytest.raises(TypeError):
            compressor.compress(*arguments)
    with pytest.raises(TypeError):
        compressor.flush(b"no mode")
    with pytest.raises(TypeError):
        codec.compressor([])
    for like in (bytearray(b"ab"), memoryview(b"xaxb")[1::2]):
        assert codec.module.decompress(codec.compressor().compress(like, 2)) == b"ab"


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("gzip", (0, 10, -2, 2**31, -(2**1000))),
        ("lz4", (0, 18, -1, 2**63)),
        ("zstd", (23, -131_073, 2**31 - 1, 2**1000, -(2**1000))),
    ],
)
def test_levels(name: str, levels: tuple[int, ...]) -> None:
    codec = CODECS[name]
    for level in levels:
        with pytest.raises(ValueError, match="compression levels"):
            codec.compressor(level)
        with pytest.raises(ValueError, match="compression levels"):
            codec.module.compress(b"", level)
    wrong: Any
    for wrong in (3.14, "3"):
        with pytest.raises(TypeError):
            codec.compressor(level=wrong)
    assert codec.module.compress(TEXT, None) == codec.module.compress(TEXT)


@pytest.mark.parametrize("block_size", [65536, 262144, 1048576, 4194304])
@pytest.mark.parametrize("header_checksum", ["standard", "broken"])
@pytest.mark.parametrize(("block_checksum", "content_checksum"), [(True, False), (False, True), (True, True)])
def test_lz4_options(
    block_size: int,
    header_checksum: kc.lz4.HeaderChecksumWritten,
    block_checksum: bool,
    content_checksum: bool,
) -> None:
    compressor = kc.lz4.LZ4Compressor(
        header_checksum=header_checksum,
        block_size=block_size,
        block_checksum=block_checksum,
        content_checksum=content_checksum,
    )
    frame = compressor.compress(TEXT * 5, 2)
    info = kc.lz4.get_frame_info(frame)
    assert (info.block_max_size, info.header_checksum_rule) == (block_size, header_checksum)
    assert (info.block_checksum, info.content_checksum) == (block_checksum, content_checksum)
    decompressor = kc.lz4.LZ4Decompressor(header_checksum=header_checksum)
    assert decompressor.decompress(frame) == TEXT * 5
    assert decompressor.eof
    other = kc.lz4.LZ4Decompressor(header_checksum="broken" if header_checksum == "standard" else "standard")
    with pytest.raises(kc.DecompressionError, match="header checksum"):
        other.decompress(frame)


# ---------------------------------------------------------------------------------------------- decompressors
def test_decompress(ending: Codec) -> None:
    decompressor = ending.decompressor()
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
    assert decompressor.decompress(b"") == b""
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
    assert decompressor.decompress(b"", 0) == b""
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, False, b"")
    assert decompressor.decompress(ending.module.compress(TEXT) + TRAIL) == TEXT
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (True, False, TRAIL)
    assert decompressor.unused_data == TRAIL
    for data in (b"", b"more"):
        with pytest.raises(EOFError):
            decompressor.decompress(data)
    assert decompressor.unused_data == TRAIL
    decompressor.finish()


def test_xerial_has_no_end() -> None:
    decompressor = kc.snappy.SnappyDecompressor()
    stream = kc.snappy.compress(TEXT)
    assert decompressor.decompress(stream) == TEXT
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
    decompressor.finish()
    assert decompressor.decompress(stream) == TEXT
    assert decompressor.decompress(stream[:17]) == b""
    with pytest.raises(kc.TruncatedError):
        decompressor.finish()


@pytest.mark.parametrize("size", [0, 1, 100, 200_000])
def test_a_raw_snappy_block_ends(size: int) -> None:
    block = python_snappy.compress(TEXT[:size])
    decompressor = kc.snappy.SnappyDecompressor()
    pieces = [decompressor.decompress(block[at : at + 1]) for at in range(len(block) - 1)]
    assert not any(pieces)
    assert decompressor.decompress(block[-1:] + TRAIL) == TEXT[:size]
    assert (decompressor.eof, decompressor.unused_data) == (True, TRAIL)


@pytest.mark.parametrize("size", [1, 10, 300, 65_537])
def test_decompress_chunks(codec: Codec, size: int) -> None:
    data = codec.module.compress(TEXT)
    decompressor = codec.decompressor()
    pieces = []
    for at in range(0, len(data), size):
        pieces.append(decompressor.decompress(data[at : at + size]))
        last = at + size >= len(data)
        assert decompressor.needs_input == (not (codec.ends and last))
        assert decompressor.eof == (codec.ends and last)
    assert b"".join(pieces) == TEXT


@pytest.mark.parametrize("max_length", [1, 100, 4096, 100_000])
def test_max_length(codec: Codec, max_length: int) -> None:
    plain = TEXT[: max_length * 2000]
    decompressor = codec.decompressor()
    pieces = [decompressor.decompress(codec.module.compress(plain), max_length)]
    while not (decompressor.eof or decompressor.needs_input):
        pieces.append(decompressor.decompress(b"", max_length))
    # All pieces are full but the last one or two.
    assert {len(piece) for piece in pieces[:-2]} <= {max_length}
    assert max(map(len, pieces)) <= max_length
    assert b"".join(pieces) == plain
    assert decompressor.eof == codec.ends


def test_max_length_of_all(ending: Codec) -> None:
    decompressor = ending.decompressor()
    assert decompressor.decompress(ending.module.compress(TEXT), len(TEXT)) == TEXT
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (True, False, b"")
    decompressor = ending.decompressor()
    data = ending.module.compress(TEXT) + TRAIL
    assert decompressor.decompress(data, 100) == TEXT[:100]
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, False, b"")
    assert decompressor.decompress(b"") == TEXT[100:]
    assert (decompressor.eof, decompressor.unused_data) == (True, TRAIL)


def test_input_is_kept(ending: Codec) -> None:
    """Test that input given while there is old input goes behind it."""
    data = ending.module.compress(TEXT)
    for at in (1, 20, len(data) // 2, len(data)):
        decompressor = ending.decompressor()
        pieces = [decompressor.decompress(data[:at], 10), decompressor.decompress(data[at:], 20)]
        pieces += [decompressor.decompress(TRAIL[:1], 30), decompressor.decompress(TRAIL[1:], 0)]
        pieces.append(decompressor.decompress(b""))
        assert b"".join(pieces) == TEXT
        assert decompressor.unused_data == TRAIL


@pytest.mark.parametrize("max_length", [-1, 0])
def test_many_calls_without_effect(codec: Codec, max_length: int) -> None:
    """Test that nothing wears out; zstd itself takes sixteen such calls for an error."""
    data = codec.module.compress(TEXT)
    decompressor = codec.decompressor()
    for _ in range(100):
        assert decompressor.decompress(b"", max_length) == b""
    first = decompressor.decompress(data, 1000)
    for _ in range(100):
        assert decompressor.decompress(b"", 0) == b""
    assert first + decompressor.decompress(b"") == TEXT


@pytest.mark.parametrize("codec_name", ["lz4", "zstd"])
@pytest.mark.parametrize("max_length", [-1, 0])
def test_skippable(codec_name: str, max_length: int) -> None:
    codec = CODECS[codec_name]
    for frame, trail in ((SKIPPABLE, b""), (SKIPPABLE, TRAIL), (SKIPPABLE[:4] + bytes(4), TRAIL)):
        decompressor = codec.decompressor()
        assert decompressor.decompress(frame + trail, max_length) == b""
        assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (True, False, trail)
    decompressor = codec.decompressor()
    assert decompressor.decompress(SKIPPABLE[:-1]) == b""
    assert (decompressor.eof, decompressor.needs_input) == (False, True)
    assert decompressor.decompress(SKIPPABLE[-1:] + b"z") == b""
    assert (decompressor.eof, decompressor.unused_data) == (True, b"z")


def test_cut(codec: Codec) -> None:
    data = codec.module.compress(TEXT[:1000])
    for cut in range(len(data)):
        decompressor = codec.decompressor()
        assert TEXT.startswith(decompressor.decompress(data[:cut]))
        assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
        if codec.ends or cut != 16:
            with pytest.raises(kc.TruncatedError):
                decompressor.finish()
    for cut in range(1, 8):
        decompressor = codec.decompressor()
        plain = decompressor.decompress(data[:-cut])
        assert plain + decompressor.decompress(data[-cut:]) == TEXT[:1000]


def test_bad_data(codec: Codec) -> None:
    decompressor = codec.decompressor()
    for _ in range(3):
        with pytest.raises(kc.DecompressionError):
            decompressor.decompress(b"\xff" * 300)
        assert (decompressor.eof, decompressor.unused_data) == (False, b"")


def test_what_comes_before_an_error(ending: Codec) -> None:
    """Test that with a length the content before the damage is given first, and the error then stays."""
    whole = ending.module.compress(TEXT)
    # Damaged deflate data may well look like a stream that goes on: the checksum, rather.
    good = len(whole) - 8 if ending.module is kc.gzip else len(whole) // 2
    data = whole[:good] + bytes(byte ^ 0xFF for byte in whole[good:])
    decompressor = ending.decompressor()
    read = decompressor.decompress(data, 10_000)
    with pytest.raises(kc.DecompressionError):
        while True:
            piece = decompressor.decompress(b"", 10_000)
            assert piece
            read += piece
    assert len(read) >= 65_536
    assert TEXT.startswith(read[:65_536])
    with pytest.raises(kc.DecompressionError):
        decompressor.decompress(b"", 10_000)
    with pytest.raises(kc.DecompressionError):
        ending.decompressor().decompress(data)


def test_cap(codec: Codec) -> None:
    data = codec.module.compress(TEXT)
    decompressor = codec.decompressor(max_output_size=len(TEXT))
    assert decompressor.decompress(data) == TEXT
    for cap in (1, 100, len(TEXT) - 1):
        with pytest.raises(kc.OutputLimitError) as caught:
            codec.decompressor(max_output_size=cap).decompress(data)
        assert caught.value.limit == cap
    assert codec.decompressor(max_output_size=None).decompress(data) == TEXT
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="max_output_size"):
            codec.decompressor(max_output_size=wrong)


def test_decompressor_arguments(codec: Codec) -> None:
    decompressor: Any = codec.decompressor()
    for arguments in ((), ("text",), (1,), (b"", "x"), (b"", 1, 2)):
        with pytest.raises(TypeError):
            decompressor.decompress(*arguments)
    with pytest.raises(TypeError):
        codec.decompressor(42)
    for name in ("eof", "needs_input", "unused_data"):
        with pytest.raises(AttributeError):
            setattr(decompressor, name, None)
    assert decompressor.decompress(data=codec.module.compress(b"ab"), max_length=-5) == b"ab"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_not_pickled(codec: Codec, protocol: int) -> None:
    for thing in (codec.compressor(), codec.decompressor()):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(thing, protocol=protocol)


# ------------------------------------------------------------------------------------------------- all of them
@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(sorted(CODECS)),
    plain=st.binary(max_size=3000),
    times=st.integers(1, 60),
    seed=st.integers(0, 1 << 32),
    largest=st.sampled_from([3, 100, 70_000]),
)
def test_random_pieces(name: str, plain: bytes, times: int, seed: int, largest: int) -> None:
    codec, rng, data = CODECS[name], random.Random(seed), plain * times
    if largest < 100:
        data = data[:2000]
    compressor, decompressor = codec.compressor(), codec.decompressor()
    compressed, at = [], 0
    while at < len(data):
        end = at + rng.randint(1, largest)
        compressed.append(compressor.compress(data[at:end], rng.choice((0, 0, 0, 1))))
        at = end
    stream = b"".join([*compressed, compressor.flush()])
    assert codec.module.decompress(stream) == data
    read, at = [], 0
    while not decompressor.eof:
        given = b""
        if decompressor.needs_input:
            if at >= len(stream):
                break
            end = at + rng.randint(1, largest)
            given, at = stream[at:end], end
        read.append(decompressor.decompress(given, rng.choice((-1, 0, 1, rng.randint(0, largest)))))
    assert b"".join(read) == data
    decompressor.finish()


def test_threads(codec: Codec) -> None:
    """Test that calls from several threads do not mix within a call: FLUSH_FRAME makes each a whole frame."""
    compressor = codec.compressor()
    pieces = [payload(50_000 + 1000 * n) for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        frames = list(pool.map(lambda piece: compressor.compress(piece, compressor.FLUSH_FRAME), pieces * 4))
    assert [codec.module.decompress(frame) for frame in frames] == pieces * 4
    compressor, lock, order = codec.compressor(), threading.Lock(), list[bytes]()

    def work(letter: bytes) -> None:
        for _ in range(50):
            with lock:
                order.append(compressor.compress(letter * 1000, compressor.FLUSH_BLOCK))

    threads = [threading.Thread(target=work, args=(bytes([letter]),)) for letter in b"abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = codec.module.decompress(b"".join([*order, compressor.flush()]))
    assert sorted(whole[at : at + 1000] for at in range(0, len(whole), 1000)) == sorted(
        bytes([letter]) * 1000 for letter in b"abcd" for _ in range(50)
    )
    decompressor, data = codec.decompressor(), codec.module.compress(TEXT)
    taken = list[int]()

    def read() -> None:
        try:
            for _ in range(200):
                taken.append(len(decompressor.decompress(b"", 1000)))
        except EOFError:
            pass

    taken.append(len(decompressor.decompress(data, 1000)))
    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    for thread in readers:
        thread.join()
    assert sum(taken) == len(TEXT)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("name", [*CODECS, "none"])
def test_as_kafka_streams(name: str, magic: int) -> None:
    """The bases of kc.open: all frames, read as Kafka reads a record set of a magic."""
    kind = kc.CompressionType.for_name(name)
    data = kc.compress(TEXT, name, magic=magic)
    compressor = _kafkacomp.Compressor(kind, None, magic)
    stream = compressor.compress(TEXT[:1000]) + compressor.compress(TEXT[1000:]) + compressor.flush()
    assert kc.decompress(stream, name, magic=magic) == TEXT
    decompressor = _kafkacomp.Decompressor(kind, "standard", magic, None, frames=True)
    assert decompressor.decompress(data + data) == TEXT + TEXT
    decompressor.finish()
    if name in ("gzip", "lz4"):
        # What follows and is no frame is not looked at.
        decompressor = _kafkacomp.Decompressor(kind, "standard", magic, None, frames=True)
        assert decompressor.decompress(data + TRAIL) == TEXT
        assert decompressor.eof
    # A specification's reader refuses it.
    if name != "none":
        decompressor = _kafkacomp.Decompressor(kind, "either", None, None, frames=True)
        with pytest.raises(kc.DecompressionError):
            decompressor.finish() if decompressor.decompress(data + TRAIL) else None


@pytest.mark.parametrize("what", ["compress", "decompress", "compressor", "decompressor"])
def test_the_gil_is_free(what: str) -> None:
    """Test that Python goes on while Rust works."""
    data = random.Random(5).randbytes(3000) * 4000
    compressed = kc.gzip.compress(data * 4)
    work: Callable[[], object] = {
        "compress": lambda: kc.gzip.compress(TEXT * 60, 9),
        "decompress": lambda: [kc.gzip.decompress(compressed) for _ in range(8)],
        "compressor": lambda: kc.gzip.GzipCompressor(9).compress(TEXT * 60, 2),
        "decompressor": lambda: kc.gzip.GzipDecompressor().decompress(compressed),
    }[what]
    thread, steps = threading.Thread(target=work), 0
    thread.start()
    while thread.is_alive():
        steps += 1
    # With the GIL held there would be a few steps before and after.
    assert steps > 10_000


# Run in a process of its own: a quarter of a gigabyte goes in and out in pieces, and the peak is what the streams keep.
PEAK = """
import resource, sys
import kafkacomp as kc
from kafkacomp import _kafkacomp
kind = int(sys.argv[1])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
piece = (b'{"n":%d}' * 20000 % tuple(range(20000)))[:131072] + bytes(131072)
compressor = _kafkacomp.Compressor(kind, None, 2)
decompressor = _kafkacomp.Decompressor(kind, "standard", None, None, True)
before, total = peak(), 0
for n in range(1000):
    given = compressor.compress(piece) if n < 999 else compressor.flush()
    total += len(decompressor.decompress(given, 65536))
    while not (decompressor.eof or decompressor.needs_input):
        total += len(decompressor.decompress(b"", 65536))
decompressor.finish()
assert total == 999 * len(piece), total
print(peak() - before)
"""


@pytest.mark.parametrize("name", CODECS)
def test_memory(name: str) -> None:
    kind = str(int(kc.CompressionType.for_name(name)))
    process = subprocess.run([sys.executable, "-c", PEAK, kind], capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
    # zstd's windows and tables at level 3, on either side, and some pieces.
    assert int(process.stdout) < 24 << 10
