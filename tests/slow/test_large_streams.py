"""Content above 4 GiB in one frame: no counter of 32 bits runs over but gzip's own, which is to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE = bytes(16 << 20)
#: Pieces: 4 GiB and some.
COUNT = 260
CLASSES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "gzip": (kc.gzip.GzipCompressor, kc.gzip.GzipDecompressor),
    "snappy": (kc.snappy.SnappyCompressor, kc.snappy.SnappyDecompressor),
    "lz4": (kc.lz4.LZ4Compressor, kc.lz4.LZ4Decompressor),
    "lz4-checksums": (
        lambda: kc.lz4.LZ4Compressor(block_checksum=True, content_checksum=True),
        kc.lz4.LZ4Decompressor,
    ),
    "zstd": (kc.zstd.ZstdCompressor, kc.zstd.ZstdDecompressor),
}


@pytest.mark.parametrize("name", CLASSES)
def test_compress_and_decompress_4g(name: str) -> None:
    make_compressor, make_decompressor = CLASSES[name]
    compressor, decompressor = make_compressor(), make_decompressor(max_output_size=None)
    total = 0
    for number in range(COUNT + 1):
        data = compressor.compress(PIECE) if number < COUNT else compressor.flush()
        while data or not (decompressor.needs_input or decompressor.eof):
            content = decompressor.decompress(data, len(PIECE))
            assert not content.strip(b"\0")
            total += len(content)
            data = b""
    decompressor.finish()
    assert total == COUNT * len(PIECE) > 1 << 32


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd"])
def test_the_cap_holds_beyond_4g(name: str) -> None:
    """A cap above 32 bits is none of a record set, but of a stream it may be one."""
    make_compressor, make_decompressor = CLASSES[name]
    cap = (1 << 32) + 5
    compressor, decompressor = make_compressor(), make_decompressor(max_output_size=cap)
    total = 0
    with pytest.raises(kc.OutputLimitError) as caught:
        for _ in range(COUNT):
            data = compressor.compress(PIECE)
            while data or not (decompressor.needs_input or decompressor.eof):
                total += len(decompressor.decompress(data, len(PIECE)))
                data = b""
    assert caught.value.limit == cap
    assert cap - len(PIECE) <= total <= cap
