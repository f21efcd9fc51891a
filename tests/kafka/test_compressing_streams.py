"""What kafkacomp writes beside what Kafka's own streams write: the same structure, the same size or less."""

from __future__ import annotations

import json
import random
import struct
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from codec_peers import payload
from kafkacomp import _kafkacomp
from livekafka import streams

if TYPE_CHECKING:
    from pathlib import Path

LEVELS: dict[str, list[int | None]] = {
    "none": [None],
    "gzip": [None, -1, *range(1, 10)],
    "snappy": [None],
    "lz4": [None, *range(1, 18)],
    "zstd": [None, -131_072, -1000, -100, -5, -1, 0, *range(1, 20), 22],
}
#: How many times Kafka's bytes ours may be. Gzip may be smaller by more, the others not.
MORE = 1.02
SMALL_MORE = 1.06


def records(size: int, rng: random.Random) -> bytes:
    """JSON of events, some 250 bytes each, like the records that people send."""
    out = bytearray()
    while len(out) < size:
        row = {
            "year": 2013,
            "month": rng.randint(1, 12),
            "day": rng.randint(1, 28),
            "dep_time": rng.randrange(2400),
            "dep_delay": rng.randint(-9, 50),
            "arr_time": rng.randrange(2400),
            "arr_delay": rng.randint(-30, 60),
            "carrier": rng.choice(["UA", "AA", "B6", "DL"]),
            "flight": rng.randrange(3000),
            "tailnum": f"N{rng.randrange(99_999)}",
            "origin": rng.choice(["EWR", "JFK", "LGA"]),
            "dest": rng.choice(["IAH", "MIA", "BQN", "ATL", "ORD"]),
            "air_time": rng.randrange(400),
            "distance": rng.randrange(2500),
            "hour": rng.randrange(24),
            "minute": rng.randrange(60),
        }
        out += json.dumps(row, separators=(",", ":")).encode() + b"\n"
    return bytes(out[:size])


def cases(rng: random.Random) -> list[streams.PlainCase]:
    """Every type and level over contents of some kinds and sizes."""
    return [
        streams.PlainCase(kc.CompressionType.for_name(name), magic, level, data)
        for name, levels in LEVELS.items()
        for level in levels
        for magic, data in [
            (0, records(16_384, rng)),
            (2, records(16_384, rng)),
            (1, records(100_000, rng)),
            (2, records(265, rng)),
            (2, payload(70_000, rng.randrange(1000))),
            (2, rng.randbytes(70_000)),
            (2, bytes(70_000)),
            (2, b""),
        ]
        # Below this a level is a matter of seconds in Java, for each stream.
        if level != 22 or len(data) == 16_384
    ]


def test_sizes_and_content(tmp_path: Path) -> None:
    """Test that Kafka's size is kept within 2%, and that either reads the other."""
    seed = random.randrange(1 << 32)
    given = cases(random.Random(seed))
    theirs = streams.compress(given, tmp_path)
    ours = [
        kc.compress(case.data, case.compression_type, compression_level=case.level, magic=case.magic) for case in given
    ]
    outcomes = streams.decompress(
        [streams.Case(case[0], case[1], data) for case, data in zip(given, ours, strict=True)], tmp_path
    )
    streamed = [stream(case) for case in given]
    for case, their, our, one, outcome in zip(given, theirs, ours, streamed, outcomes, strict=True):
        about = f"seed {seed}: {case[:3]}, {len(case.data)} bytes: {len(our)} and {len(one)}, Kafka {len(their)}"
        assert outcome.ok, about
        assert outcome.length == len(case.data), about
        assert kc.decompress(their, case.compression_type, magic=case.magic) == case.data, about
        assert kc.decompress(one, case.compression_type, magic=case.magic) == case.data, about
        if len(case.data) >= 16_384:
            assert len(our) <= len(their) * MORE, about
            assert len(one) <= len(their) * MORE, about
        elif case.data:
            # Of one record a single match that the one finds and the other does not is more than 2%.
            assert len(our) <= len(their) * SMALL_MORE, about
        if case.compression_type != kc.CompressionType.GZIP and len(case.data) >= 16_384:
            # Other codecs are the same libraries; zstd's frame has an empty last block in Kafka.
            assert len(their) <= len(our) * MORE + 3, about


def stream(case: streams.PlainCase) -> bytes:
    """The same content through the incremental classes, in pieces."""
    compressor = _kafkacomp.Compressor(case.compression_type, case.level, case.magic)
    pieces = [compressor.compress(case.data[at : at + 1000]) for at in range(0, len(case.data), 1000)]
    return b"".join([*pieces, compressor.flush()])


def blocks(frame: bytes) -> list[tuple[int, bool]]:
    """The content's size and storedness of each block of an LZ4 frame as Kafka writes it, up to the EndMark."""
    found: list[tuple[int, bool]] = []
    at = 7
    while True:
        (word,) = struct.unpack_from("<I", frame, at)
        at += 4
        if word == 0:
            assert at == len(frame)
            return found
        size, stored = word & 0x7FFF_FFFF, word >= 1 << 31
        block = frame[:7] + frame[at - 4 : at + size] + bytes(4)
        found.append((len(kc.lz4.decompress(block, header_checksum="ignore")), stored))
        at += size


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_frames_have_the_same_structure(tmp_path: Path, magic: int) -> None:
    rng = random.Random(magic)
    contents = [b"", b"x", records(1000, rng), records(65_536, rng), records(65_537, rng), rng.randbytes(65_536)]
    contents += [records(131_072, rng) + rng.randbytes(70_000) + records(40_000, rng), rng.randbytes(200_001)]
    given = [
        streams.PlainCase(kc.CompressionType.LZ4, magic, level, data)
        for data in contents
        for level in (None, 1, 9, 12, 17)
    ]
    for case, their in zip(given, streams.compress(given, tmp_path), strict=True):
        for our in (kc.compress(case.data, "lz4", compression_level=case.level, magic=magic), stream(case)):
            # Magic, FLG, BD and HC; then block for block.
            assert our[:7] == their[:7]
            assert blocks(our) == blocks(their)
