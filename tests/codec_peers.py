"""Compressed data made by other libraries, whole and damaged, for the tests of the codecs."""

from __future__ import annotations

import functools
import gzip as stdlib_gzip
import random
import zlib
from typing import TYPE_CHECKING

import cramjam
import lz4.frame
import snappy as python_snappy
import zstandard

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

CODECS: dict[str, ModuleType] = {"gzip": kc.gzip, "snappy": kc.snappy, "lz4": kc.lz4, "zstd": kc.zstd}
XERIAL = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2


def xerial(data: bytes, *, block: int = 32 << 10, header: bytes = XERIAL) -> bytes:
    """The stream that Java clients write, with python-snappy's blocks."""
    blocks = (python_snappy.compress(data[at : at + block]) for at in range(0, len(data), block))
    return header + b"".join(len(piece).to_bytes(4, "big") + piece for piece in blocks)


def gzip_member(data: bytes, *, flags: int = 0, level: int = 6) -> bytes:
    """A member with the header fields that ``flags`` names, its own CRC included."""
    header = bytes([0x1F, 0x8B, 8, flags, 1, 2, 3, 4, 0, 3])
    if flags & 4:
        header += (5).to_bytes(2, "little") + b"extra"
    if flags & 8:
        header += b"name\x00"
    if flags & 16:
        header += b"comment\x00"
    if flags & 2:
        header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    return header + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def zstd_stream(data: bytes, level: int = 3) -> bytes:
    """A frame without content size, as Java's stream writes it."""
    compressor = zstandard.ZstdCompressor(level=level, write_content_size=False).compressobj()
    return compressor.compress(data) + compressor.flush()


# Peer -> (codec, how it compresses).
PEERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "stdlib gzip": ("gzip", stdlib_gzip.compress),
    "stdlib gzip, stored": ("gzip", lambda data: stdlib_gzip.compress(data, 0)),
    "gzip, all fields": ("gzip", lambda data: gzip_member(data, flags=31)),
    "gzip, two members": ("gzip", lambda data: gzip_member(data[:100]) + gzip_member(data[100:], flags=8)),
    "gzip, zero padding": ("gzip", lambda data: stdlib_gzip.compress(data) + bytes(700)),
    "cramjam gzip": ("gzip", lambda data: bytes(cramjam.gzip.compress(data))),
    "xerial": ("snappy", xerial),
    "xerial, 1 KiB blocks": ("snappy", lambda data: xerial(data, block=1024)),
    "xerial, little-endian": ("snappy", lambda d: xerial(d, header=XERIAL[:8] + (1).to_bytes(4, "little") * 2)),
    "xerial, two streams": ("snappy", lambda data: xerial(data[:100]) + xerial(data[100:])),
    "raw snappy": ("snappy", python_snappy.compress),
    "cramjam raw snappy": ("snappy", lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4": ("lz4", lz4.frame.compress),
    "lz4, linked": ("lz4", lambda data: lz4.frame.compress(data, block_linked=True, block_size=4)),
    "lz4, independent": ("lz4", lambda data: lz4.frame.compress(data, block_linked=False, store_size=False)),
    "lz4, checksums": (
        "lz4",
        lambda data: lz4.frame.compress(data, content_checksum=True, block_checksum=True, compression_level=12),
    ),
    "lz4, 4 MiB blocks": ("lz4", lambda data: lz4.frame.compress(data, block_size=7)),
    "lz4, two frames": ("lz4", lambda data: lz4.frame.compress(data[:100]) + lz4.frame.compress(data[100:])),
    "lz4, skippable": ("lz4", lambda d: b"\x51\x2a\x4d\x18\x03\x00\x00\x00abc" + lz4.frame.compress(d)),
    "cramjam lz4": ("lz4", lambda data: bytes(cramjam.lz4.compress(data))),
    "zstandard": ("zstd", zstandard.compress),
    "zstandard, no content size": ("zstd", zstd_stream),
    "zstandard, level 22": ("zstd", lambda data: zstd_stream(data, 22)),
    "zstandard, checksum": ("zstd", zstandard.ZstdCompressor(write_checksum=True).compress),
    "zstandard, two frames": ("zstd", lambda data: zstandard.compress(data[:100]) + zstd_stream(data[100:])),
    "zstandard, skippable": ("zstd", lambda d: zstandard.compress(d) + b"\x5f\x2a\x4d\x18\x01\x00\x00\x00z"),
}
SIZES = (0, 1, 99, 1000, 65_535, 65_536, 65_537, 300_000)


def payload(size: int, seed: int = 0) -> bytes:
    """Half words, half noise."""
    rng = random.Random(size + seed)
    out = bytearray()
    while len(out) < size:
        out += b'{"origin": "EWR", "dest": "%d", ' % rng.randrange(500) if rng.random() < 0.9 else rng.randbytes(60)
    return bytes(out[:size])


@functools.cache
def compressed(peer: str, size: int) -> bytes:
    """A payload by a peer; made once, because the highest levels are slow."""
    return PEERS[peer][1](payload(size))


def damaged(rng: random.Random, sizes: tuple[int, ...] = SIZES) -> tuple[str, bytes]:
    """A codec and data of a random peer, whole or with up to three things done to them."""
    peer = rng.choice(sorted(PEERS))
    codec = PEERS[peer][0]
    data = bytearray(compressed(peer, rng.choice(sizes)))
    others = [other for other, (kind, _) in PEERS.items() if kind == codec]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        match rng.choice(
            ("bit", "bit", "bit", "header bit", "byte", "cut", "rubbish", "zeros", "more", "part of more")
        ):
            case "bit" if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case "header bit" if data:
                data[rng.randrange(min(len(data), 24))] ^= 1 << rng.randrange(8)
            case "byte" if data:
                data[rng.randrange(len(data))] = rng.choice((0, 255, rng.randrange(256)))
            case "cut":
                del data[rng.randrange(len(data) + 1) :]
            case "rubbish":
                data += rng.randbytes(rng.choice((1, 2, 3, 4, 5, 8, 17, 18, 19, 26, 27, 40, 300)))
            case "zeros":
                data += bytes(rng.choice((1, 2, 3, 4, 8, 20, 300)))
            case "more":
                data += compressed(rng.choice(others), rng.choice(sizes))
            case "part of more":
                more = compressed(rng.choice(others), rng.choice(sizes))
                data += more[: rng.choice((rng.randrange(len(more) + 1), rng.randrange(min(len(more), 30) + 1)))]
    return codec, bytes(data)
