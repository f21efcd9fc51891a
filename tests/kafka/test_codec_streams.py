"""kc.decompress beside Kafka's own streams, over whole and damaged data of every codec's every variant."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from codec_peers import damaged
from livekafka import streams

if TYPE_CHECKING:
    from pathlib import Path

#: How many bytes zstd-jni reads at once.
READ_LENGTH = 128 * 1024 + 3


def outcome(case: streams.Case) -> tuple[bool, bytes]:
    """Whether kafkacomp reads it, and what."""
    try:
        return True, kc.decompress(case.data, kc.CompressionType(case.compression_type), magic=case.magic)
    except kc.DecompressionError:
        return False, b""


@pytest.mark.parametrize("count", [1500, pytest.param(40_000, marks=pytest.mark.slow)])
def test_same_as_kafka(tmp_path: Path, count: int) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    differing: dict[str, list[int]] = {}
    for start in range(0, count, 5000):
        cases = []
        for _ in range(min(5000, count - start)):
            codec, data = damaged(rng)
            magic = rng.choice((0, 2)) if codec == "lz4" else 2
            cases.append(streams.Case(kc.CompressionType.for_name(codec), magic, data))
        for number, (case, theirs) in enumerate(zip(cases, streams.decompress(cases, tmp_path), strict=True), start):
            ok, content = outcome(case)
            if theirs.ok:
                assert ok, f"seed {seed}, case {number}: Kafka reads it"
                # A further LZ4 frame is read here only; what Kafka reads comes first.
                same = zlib.crc32(content[: theirs.length]) == theirs.crc and len(content) >= theirs.length
                same &= len(content) == theirs.length or case.compression_type == kc.CompressionType.LZ4
                assert same, f"seed {seed}, case {number}: other content"
            elif ok:
                differing.setdefault(kc.CompressionType(case.compression_type).name, []).append(number)
    # Linked blocks and skippable frames of LZ4 are all that is read beyond Kafka.
    assert set(differing) <= {"LZ4"}, f"seed {seed}: {differing}"


@pytest.mark.parametrize("read_length", [0, READ_LENGTH], ids=["first read", "second read"])
def test_truncated_skippable_frame(tmp_path: Path, read_length: int) -> None:
    """zstd-jni returns the number of bytes that the frame lacks as an int, of which some are error codes."""
    frame = kc.compress(random.randbytes(read_length), "zstd")
    sizes = (0, 1, 2**16, 2**31 - 1, 2**31, *range(2**32 - 124, 2**32 - 116), 2**32 - 2, 2**32 - 1)
    datas = [
        frame + b"\x57\x2a\x4d\x18" + min(size + present, 2**32 - 1).to_bytes(4, "little") + bytes(present)
        for size in sizes
        for present in (0, 1, 118, 119, 120, 1000, READ_LENGTH)
    ]
    cases = [streams.Case(kc.CompressionType.ZSTD, 2, data) for data in datas]
    read = [theirs.ok for theirs in streams.decompress(cases, tmp_path)]
    assert [outcome(case)[0] for case in cases] == read
    assert set(read) == {True, False}
