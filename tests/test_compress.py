"""One-shot compression: other libraries read it, it is framed as by Kafka, wrong arguments end as they should."""

from __future__ import annotations

import gzip as stdlib_gzip
import itertools
import random
import struct
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

import cramjam
import lz4.frame
import pytest
import snappy as python_snappy
import zstandard
from aiokafka import codec as aiokafka_codec
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from codec_peers import CODECS, SIZES, XERIAL, payload

if TYPE_CHECKING:
    from collections.abc import Callable

# Its stubs do not know the module.
kafka_python_codec: Any = import_module("kafka.codec")

LEVELS: dict[str, tuple[int | None, ...]] = {
    "none": (None,),
    "gzip": (None, -1, *range(1, 10)),
    "snappy": (None,),
    "lz4": (None, *range(1, 18)),
    "zstd": (None, -131_072, -100, -1, 0, 1, 3, 9, 12, 18, 19, 22),
}


def xerial_blocks(stream: bytes) -> list[bytes]:
    """The raw blocks of a xerial stream."""
    assert stream.startswith(XERIAL)
    blocks, at = [], len(XERIAL)
    while at < len(stream):
        (size,) = struct.unpack_from(">I", stream, at)
        blocks.append(stream[at + 4 : at + 4 + size])
        at += 4 + size
    assert at == len(stream)
    return blocks


def stdlib_member(data: bytes) -> bytes:
    """All members, by the standard library."""
    return stdlib_gzip.decompress(data)


READERS: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "gzip": {
        "stdlib": stdlib_member,
        "cramjam": lambda data: bytes(cramjam.gzip.decompress(data)),
        "aiokafka": aiokafka_codec.gzip_decode,
        "kafka-python": kafka_python_codec.gzip_decode,
    },
    "snappy": {
        "python-snappy": lambda data: b"".join(map(python_snappy.decompress, xerial_blocks(data))),
        "cramjam": lambda data: b"".join(bytes(cramjam.snappy.decompress_raw(part)) for part in xerial_blocks(data)),
        "aiokafka": aiokafka_codec.snappy_decode,
        "kafka-python": kafka_python_codec.snappy_decode,
    },
    "lz4": {
        "python-lz4": lz4.frame.decompress,
        "cramjam": lambda data: bytes(cramjam.lz4.decompress(data)),
        "aiokafka": aiokafka_codec.lz4_decode,
        "kafka-python": kafka_python_codec.lz4_decode,
    },
    "zstd": {
        "zstandard": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
        "cramjam": lambda data: bytes(cramjam.zstd.decompress(data)),
        "aiokafka": aiokafka_codec.zstd_decode,
        "kafka-python": kafka_python_codec.zstd_decode,
    },
}


@pytest.mark.parametrize(("codec", "reader"), [(codec, reader) for codec in READERS for reader in READERS[codec]])
def test_peers_read_it(codec: str, reader: str) -> None:
    # The two clients take a header without blocks for a raw block.
    least = int(codec == "snappy" and "kafka" in reader)
    for size, level in itertools.product((least, 1, 1000, 65_537), LEVELS[codec]):
        data = payload(size)
        read = READERS[codec][reader](kc.compress(data, codec, compression_level=level))
        assert (read or b"") == data, (size, level)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LEVELS)
def test_round_trip(name: str, size: int) -> None:
    data = payload(size)
    for level, magic in itertools.product(LEVELS[name], (0, 1, 2)):
        compressed = kc.compress(data, kc.CompressionType.for_name(name), compression_level=level, magic=magic)
        assert kc.decompress(compressed, name, magic=magic) == data
        if name != "none" and (name != "lz4" or magic > 0):
            assert CODECS[name].decompress(compressed) == data


@settings(max_examples=200, deadline=None)
@given(
    data=st.binary(max_size=5000),
    times=st.integers(1, 60),
    choice=st.sampled_from([(name, level) for name, levels in LEVELS.items() for level in levels]),
    magic=st.integers(0, 2),
)
def test_round_trip_random(data: bytes, times: int, choice: tuple[str, int | None], magic: int) -> None:
    name, level = choice
    assert (
        kc.decompress(kc.compress(data * times, name, compression_level=level, magic=magic), name, magic=magic)
        == data * times
    )


# ------------------------------------------------------------------------------------------- framed as by Kafka
def lz4_blocks(frame: bytes, header_length: int) -> list[tuple[int, bool]]:
    """Size and storedness of the blocks of a frame without checksums, which must end with the EndMark."""
    blocks: list[tuple[int, bool]] = []
    at = header_length
    while True:
        (word,) = struct.unpack_from("<I", frame, at)
        at += 4
        if word == 0:
            assert at == len(frame)
            return blocks
        blocks.append((word & 0x7FFF_FFFF, word >= 1 << 31))
        at += word & 0x7FFF_FFFF


@pytest.mark.parametrize(("magic", "checksum"), [(0, 0x1A), (1, 0x82), (2, 0x82)])
def test_lz4_structure(magic: int, checksum: int) -> None:
    header = bytes.fromhex("04224d186040") + bytes([checksum])
    assert kc.compress(b"", "lz4", magic=magic) == header + bytes(4)
    noise = random.Random(magic).randbytes(150_000)
    frame = kc.compress(noise, "lz4", magic=magic)
    assert frame.startswith(header)
    assert lz4_blocks(frame, 7) == [(65_536, True), (65_536, True), (150_000 - 131_072, True)]
    mixed = payload(65_536) + noise[:65_536] + payload(5000)
    sizes = lz4_blocks(kc.compress(mixed, "lz4", magic=magic), 7)
    assert [stored for _, stored in sizes] == [False, True, False]


def test_lz4_levels_choose_the_compressor() -> None:
    data = payload(60_000)
    size = {level: len(kc.lz4.compress(data, level)) for level in range(1, 18)}
    # 9 is the fast compressor, all others are not; above 12 nothing changes.
    assert size[9] > max(size[level] for level in size if level != 9)
    assert len({size[level] for level in range(12, 18)}) == 1
    assert size[12] <= size[1]
    assert kc.lz4.compress(data) == kc.lz4.compress(data, 9) == kc.compress(data, "lz4")


@pytest.mark.parametrize(
    "options", list(itertools.product(("standard", "broken"), (65536, 262144, 1048576, 4194304), *[(False, True)] * 3))
)
def test_lz4_options(options: tuple[Any, ...]) -> None:
    checksum, block_size, block_checksum, content_checksum, content_size = options
    data = payload(300_000)
    frame = kc.lz4.compress(
        data,
        header_checksum=checksum,
        block_size=block_size,
        block_checksum=block_checksum,
        content_checksum=content_checksum,
        content_size=content_size,
    )
    info = kc.lz4.get_frame_info(frame)
    assert (info.header_checksum_rule, info.block_max_size) == (checksum, block_size)
    assert (info.block_checksum, info.content_checksum) == (block_checksum, content_checksum)
    assert (info.content_size, info.block_independence) == (len(data) if content_size else None, True)
    assert kc.lz4.decompress(frame, header_checksum=checksum) == data
    if checksum == "standard":
        assert lz4.frame.decompress(frame) == data
    else:
        with pytest.raises(RuntimeError):
            lz4.frame.decompress(frame)


def test_headers() -> None:
    assert kc.gzip.compress(b"").startswith(bytes.fromhex("1f8b08000000000000ff"))
    assert kc.snappy.compress(b"") == XERIAL
    assert [len(python_snappy.decompress(part)) for part in xerial_blocks(kc.snappy.compress(payload(70_000)))] == [
        32_768,
        32_768,
        4464,
    ]
    frame = zstandard.get_frame_parameters(kc.zstd.compress(payload(1000)))
    # As a Java producer's: the window of the level, neither size nor checksum.
    assert (frame.content_size, frame.has_checksum, frame.dict_id) == (zstandard.CONTENTSIZE_UNKNOWN, False, 0)
    assert frame.window_size == 2 << 20


def test_none_is_the_data() -> None:
    assert kc.compress(b"as it is", kc.CompressionType.NONE) == b"as it is"


# ------------------------------------------------------------------------------------------------------ arguments
@pytest.mark.parametrize(
    ("name", "level"),
    [
        *[("none", level) for level in (-1, 0, 1)],
        *[("snappy", level) for level in (-1, 0, 1, 9)],
        *[("gzip", level) for level in (-2, 0, 10, 2**31, -(2**31) - 1)],
        *[("lz4", level) for level in (-1, 0, 18, 2**64)],
        *[("zstd", level) for level in (-131_073, 23, 2**1000)],
    ],
)
def test_levels_out_of_range(name: str, level: int) -> None:
    with pytest.raises(ValueError, match=f"{name} has (no )?compression levels"):
        kc.compress(b"data", name, compression_level=level)


def test_wrong_arguments() -> None:
    wrong: Any
    for wrong in ("LZ4", "brotli", "", 5, -1):
        with pytest.raises(ValueError, match="invalid compression type"):
            kc.compress(b"", wrong)
    for wrong in (-1, 3, "2", None):
        with pytest.raises(ValueError, match="magic"):
            kc.compress(b"", "lz4", magic=wrong)
    for wrong in ("text", 7, None, ["list"]):
        for name in LEVELS:
            with pytest.raises(TypeError):
                kc.compress(wrong, name)
    for wrong in ("3", 1.5, []):
        with pytest.raises(TypeError):
            kc.compress(b"", "zstd", compression_level=wrong)
    for wrong in ("either", "ignore", "Standard", ""):
        with pytest.raises(ValueError, match="header_checksum"):
            kc.lz4.compress(b"", header_checksum=wrong)
    for wrong in (0, 4, 65_535, 8 << 20):
        with pytest.raises(ValueError, match="block_size"):
            kc.lz4.compress(b"", block_size=wrong)
    snappy: Any = kc.snappy
    with pytest.raises(TypeError):
        snappy.compress(b"", 1)


@pytest.mark.parametrize("name", LEVELS)
def test_bytes_likes(name: str) -> None:
    data = payload(3000)
    expected = kc.compress(data, name)
    for like in (
        bytearray(data),
        memoryview(data),
        memoryview(bytes(itertools.chain(*zip(data, data, strict=True))))[::2],
    ):
        assert kc.compress(like, name) == expected


def test_threads() -> None:
    pieces = [payload(n * 1000) for n in range(40)]
    jobs = [(piece, name) for piece in pieces for name in LEVELS]
    expected = [kc.compress(*job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda job: kc.compress(*job), jobs)) == expected


def test_contexts_leave_no_trace() -> None:
    """Test that what was compressed before, at whatever level, does not show."""
    rng = random.Random(1)
    cases = [(name, level, payload(rng.randrange(100_000))) for name in LEVELS for level in LEVELS[name]]
    first = [kc.compress(data, name, compression_level=level) for name, level, data in cases]
    order = list(range(len(cases)))
    rng.shuffle(order)
    for index in order:
        name, level, data = cases[index]
        assert kc.compress(data, name, compression_level=level) == first[index], cases[index][:2]
