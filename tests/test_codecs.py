"""Decompression: what other libraries compress is read; damage, caps and wrong arguments end as they should."""

from __future__ import annotations

import contextlib
import gzip as stdlib_gzip
import pickle
import random
import subprocess
import sys
import threading
from array import array
from typing import TYPE_CHECKING, Any, get_args

import lz4.block
import lz4.frame
import pytest
import snappy as python_snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from codec_peers import CODECS, PEERS, SIZES, gzip_member, payload, xerial, zstd_stream

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("peer", PEERS)
def test_peers(peer: str, size: int) -> None:
    codec, compress = PEERS[peer]
    data = payload(size)
    compressed = compress(data)
    assert CODECS[codec].decompress(compressed) == data
    assert kc.decompress(compressed, codec) == data
    out = bytearray(b"\xff" * (size + 3))
    assert CODECS[codec].decompress_into(compressed, out) == size
    assert out == data + b"\xff\xff\xff"


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=5000), times=st.integers(1, 40), peer=st.sampled_from(sorted(PEERS)))
def test_peers_random(data: bytes, times: int, peer: str) -> None:
    codec, compress = PEERS[peer]
    assert CODECS[codec].decompress(compress(data * times)) == data * times


@pytest.mark.parametrize("data", [bytes, bytearray, memoryview, lambda data: array("B", data)])
def test_bytes_likes(data: Callable[[bytes], Any]) -> None:
    plain = payload(3000)
    assert kc.lz4.decompress(data(lz4.frame.compress(plain))) == plain
    assert kc.decompress(data(plain), kc.CompressionType.NONE) == plain


@pytest.mark.parametrize("codec", CODECS)
def test_arguments(codec: str) -> None:
    module = CODECS[codec]
    with pytest.raises(TypeError):
        module.decompress("text")
    with pytest.raises(ValueError, match="max_output_size"):
        module.decompress(b"", max_output_size=0)
    with pytest.raises(ValueError, match="max_output_size"):
        module.decompress(b"", max_output_size=1 << 31)
    with pytest.raises(TypeError, match="writable"):
        module.decompress_into(b"", b"read only")
    with pytest.raises(TypeError):
        module.decompress_into(b"", memoryview(bytearray(8))[::2])
    if codec == "gzip":
        assert module.decompress(b"") == b""  # as in the standard library
        return
    with pytest.raises(kc.TruncatedError):
        module.decompress(b"")


def test_arguments_of_the_package() -> None:
    with pytest.raises(ValueError, match="magic"):
        kc.decompress(b"", "none", magic=3)
    with pytest.raises(ValueError, match="LZ4"):
        kc.decompress(b"", "LZ4")
    with pytest.raises(ValueError, match="5"):
        kc.decompress(b"", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="header_checksum"):
        kc.lz4.decompress(b"", header_checksum="any")  # type: ignore[arg-type]
    assert kc.decompress(b"as it is", "none") == b"as it is"
    with pytest.raises(kc.OutputLimitError) as caught:
        kc.decompress(b"as it is", "none", max_output_size=7)
    assert caught.value.limit == 7


@pytest.mark.parametrize("peer", PEERS)
def test_caps(peer: str) -> None:
    codec, compress = PEERS[peer]
    data = payload(5000)
    compressed = compress(data)
    for limit in (1, 100, 101, 4999):
        with pytest.raises(kc.OutputLimitError) as caught:
            CODECS[codec].decompress(compressed, max_output_size=limit)
        assert caught.value.limit == limit
        out = bytearray(limit)
        with pytest.raises(kc.OutputLimitError):
            CODECS[codec].decompress_into(compressed, out)
        assert out == bytes(limit)
    assert CODECS[codec].decompress(compressed, max_output_size=5000) == data


@pytest.mark.parametrize("peer", PEERS)
def test_prefixes(peer: str) -> None:
    codec, compress = PEERS[peer]
    data = payload(400)
    compressed = compress(data)
    positions = []
    for length in range(len(compressed)):
        try:
            content = CODECS[codec].decompress(compressed[:length])
        except kc.DecompressionError as error:
            positions.append(error.position)
        else:
            # Whole frames, blocks or members, or all but padding and skippable frames.
            assert data.startswith(content)
    assert all(position is not None and position <= len(compressed) for position in positions)


@pytest.mark.parametrize("peer", PEERS)
def test_bit_flips(peer: str) -> None:
    codec, compress = PEERS[peer]
    data = payload(150)
    compressed = compress(data)
    checked = codec == "gzip" or "checksum" in peer
    for bit in range(len(compressed) * 8):
        flipped = bytearray(compressed)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            content = CODECS[codec].decompress(flipped, max_output_size=1 << 20)
        except kc.DecompressionError:
            pass
        else:
            assert not checked or content == data
        with contextlib.suppress(kc.DecompressionError):
            kc.decompress(flipped, codec, max_output_size=1 << 20)


def hc_of(descriptor: bytes, *, broken: bool) -> int:
    """A frame's header checksum by either rule, out of what frame_info says of the frame."""
    info = kc.lz4.get_frame_info(b"\x04\x22\x4d\x18" + descriptor + b"\x00")
    return info.broken_header_checksum if broken else info.standard_header_checksum


def lz4_frame(data: bytes, checksum: int) -> bytes:
    """A frame as Kafka writes it, with any header checksum."""
    block = bytes(lz4.block.compress(data, store_size=False))
    return b"\x04\x22\x4d\x18\x60\x40" + bytes([checksum]) + len(block).to_bytes(4, "little") + block + bytes(4)


def test_header_checksums() -> None:
    assert hc_of(b"\x60\x40", broken=False) == 0x82  # as in every file of a real broker
    assert hc_of(b"\x60\x40", broken=True) == 0x1A
    data = payload(2000)
    takes = {0x82: ("standard", "either", "ignore"), 0x1A: ("broken", "either", "ignore"), 0x55: ("ignore",)}
    rules = {0x82: "standard", 0x1A: "broken", 0x55: "neither"}
    for checksum, taken in takes.items():
        frame = lz4_frame(data, checksum)
        assert kc.lz4.get_frame_info(frame).header_checksum_rule == rules[checksum]
        for policy in get_args(kc.lz4.HeaderChecksum):
            if policy in taken:
                assert kc.lz4.decompress(frame, header_checksum=policy) == data
            else:
                with pytest.raises(kc.DecompressionError, match="header checksum"):
                    kc.lz4.decompress(frame, header_checksum=policy)
        assert kc.decompress(frame, "lz4", magic=0) == data
        for magic in (1, 2):
            if checksum == 0x82:
                assert kc.decompress(frame, "lz4", magic=magic) == data
            else:
                with pytest.raises(kc.DecompressionError, match="header checksum"):
                    kc.decompress(frame, "lz4", magic=magic)


def test_frame_info() -> None:
    data = payload(300_000)
    frame = lz4.frame.compress(data, block_size=5, block_linked=True, content_checksum=True, block_checksum=True)
    info = kc.lz4.get_frame_info(b"\x50\x2a\x4d\x18\x02\x00\x00\x00ab" + frame)
    assert (info.position, info.header_length, info.version, info.block_max_size) == (10, 15, 1, 256 << 10)
    assert (info.content_size, info.dictionary_id, info.header_checksum_rule) == (300_000, None, "standard")
    assert (info.block_independence, info.block_checksum, info.content_checksum) == (False, True, True)
    assert pickle.loads(pickle.dumps(info)) == info  # noqa: S301 (our own bytes)
    with pytest.raises(kc.TruncatedError):
        kc.lz4.get_frame_info(frame[:10])
    with pytest.raises(kc.DecompressionError):
        kc.lz4.get_frame_info(b"no frame")


def test_dictionaries_are_refused() -> None:
    frame = b"\x04\x22\x4d\x18\x61\x40\x07\x00\x00\x00"
    frame += bytes([hc_of(frame[4:], broken=False)]) + bytes(4)
    assert kc.lz4.get_frame_info(frame).dictionary_id == 7
    trained = zstandard.train_dictionary(4096, [payload(300, seed) for seed in range(400)])
    with_id = zstandard.ZstdCompressor(dict_data=trained).compress(payload(900))
    for codec, data, message in (
        ("lz4", frame, "needs dictionary 7"),
        ("zstd", with_id, f"needs dictionary {trained.dict_id()}"),
    ):
        with pytest.raises(kc.DecompressionError, match=message):
            CODECS[codec].decompress(data)
        with pytest.raises(kc.DecompressionError, match=message):
            kc.decompress(data, codec)


def test_what_only_a_record_set_forgives() -> None:
    data = payload(800)
    member = stdlib_gzip.compress(data)
    frame = bytearray(lz4.frame.compress(data, store_size=True, content_checksum=True))
    wrong_sum = bytes(frame[:-1] + bytes([frame[-1] ^ 1]))
    sized = bytearray(frame)
    sized[6] ^= 1
    sized[14] = hc_of(bytes(sized[4:14]), broken=False)
    for codec, damaged in (
        ("gzip", member + b"rubbish after the member, longer than a header"),
        ("lz4", bytes(frame) + b"rubbish"),
        ("lz4", wrong_sum),
        ("lz4", bytes(sized)),
        ("snappy", xerial(data) + b"\x00\x01"),
    ):
        with pytest.raises(kc.DecompressionError):
            CODECS[codec].decompress(damaged)
        assert kc.decompress(damaged, codec) == data
    for codec, damaged in (
        ("gzip", member[:-4] + bytes(4)),
        ("gzip", gzip_member(data, flags=2)[:10] + b"\x00\x00" + gzip_member(data, flags=2)[12:]),
        ("lz4", bytes(frame[:-8])),  # no EndMark
        ("zstd", zstandard.compress(data) + b"rubbish"),
        ("zstd", zstandard.ZstdCompressor(write_checksum=True).compress(data)[:-1] + b"\x00"),
    ):
        with pytest.raises(kc.DecompressionError):
            CODECS[codec].decompress(damaged)
        with pytest.raises(kc.DecompressionError):
            kc.decompress(damaged, codec)


def test_windows() -> None:
    data = payload(2000)
    frame = bytearray(zstd_stream(data))
    assert frame[4] & 0x20 == 0  # a window, not a single segment
    frame[5] = 17 << 3  # 128 MiB
    assert kc.zstd.decompress(frame) == data
    frame[5] = 17 << 3 | 1
    for read in (kc.zstd.decompress, lambda data: kc.decompress(data, "zstd")):
        with pytest.raises(kc.DecompressionError, match="window"):
            read(frame)


def test_errors_pickle() -> None:
    with pytest.raises(kc.DecompressionError) as caught:
        kc.gzip.decompress(b"nothing of the kind")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own bytes)
    assert type(again) is kc.DecompressionError
    assert (again.args, again.position) == (caught.value.args, 0)


def test_threads() -> None:
    vectors = [
        (codec, compress(payload(90_000, n)), payload(90_000, n)) for n, (codec, compress) in enumerate(PEERS.values())
    ]
    failed: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(150):
            codec, compressed, data = rng.choice(vectors)
            if rng.random() < 0.2:
                compressed = compressed[: rng.randrange(len(compressed))]
                try:
                    kc.decompress(compressed, codec)
                except kc.DecompressionError:
                    continue
            elif CODECS[codec].decompress(compressed) != data:
                failed.append(codec)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# Run in a process of its own, so that its peak is this decompression's alone.
PEAK = """
import resource, sys
import kafkacomp as kc
kind, codec, cap = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = sys.stdin.buffer.read()
module = getattr(kc, codec)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for arguments in ((data,), (data, codec)):
    try:
        (kc if arguments[1:] else module).decompress(*arguments, max_output_size=cap)
    except kc.DecompressionError as error:
        assert kind == "broken" or type(error) is kc.OutputLimitError, error
    else:
        raise SystemExit("no error")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def zstd_claim() -> bytes:
    """A small frame whose header claims 1 GiB, with enough empty-looking blocks to make it plausible."""
    frame = bytearray(zstandard.compress(bytes(1 << 30)))
    return bytes(frame[: len(frame) // 2] + b"\xff" * (len(frame) // 2))


GIGABYTE = 1 << 30
BOMBS: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "zstd of 1 GiB": ("bomb", "zstd", lambda: zstandard.compress(bytes(GIGABYTE))),
    "zstd of 1 GiB, no size": ("bomb", "zstd", lambda: zstd_stream(bytes(GIGABYTE))),
    "zstd that claims 1 GiB": ("broken", "zstd", zstd_claim),
    "gzip of 1 GiB": ("bomb", "gzip", lambda: stdlib_gzip.compress(bytes(GIGABYTE))),
    "lz4 of 1 GiB": ("bomb", "lz4", lambda: lz4.frame.compress(bytes(GIGABYTE), block_size=7)),
    "snappy of 1 GiB": ("bomb", "snappy", lambda: python_snappy.compress(bytes(GIGABYTE))),
    "snappy that claims 2 GiB": ("broken", "snappy", lambda: b"\xff\xff\xff\xff\x07\x00\x00"),
    "gzip that claims 4 GiB": ("broken", "gzip", lambda: gzip_member(payload(90_000))[:-4] + b"\xff" * 4),
}


@pytest.mark.parametrize("cap", [1 << 20, 32 << 20])
@pytest.mark.parametrize("bomb", BOMBS)
def test_memory(bomb: str, cap: int) -> None:
    kind, codec, make = BOMBS[bomb]
    process = subprocess.run(
        [sys.executable, "-c", PEAK, kind, codec, str(cap)], input=make(), capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    assert int(process.stdout) * 1024 < cap + (8 << 20)


def test_content_above_the_pool_is_not_kept() -> None:
    data = bytes(40 << 20)
    assert kc.zstd.decompress(zstandard.compress(data)) == data
    assert kc.gzip.decompress(stdlib_gzip.compress(data, 1)) == data
