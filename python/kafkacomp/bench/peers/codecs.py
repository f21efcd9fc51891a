"""Compression libraries, called as clients of Kafka call them: in Kafka's framing, with reused contexts if possible."""

from __future__ import annotations

import importlib.metadata
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkacomp import CompressionType
from kafkacomp.bench.peers.base import LENGTH, NotComparableError, Peer, blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.peers.base import Bytes

GZIP, SNAPPY, LZ4, ZSTD = CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD

#: The wbits of gzip's framing in the interface of zlib.
_GZIP_WBITS: Final = 31
_XERIAL_HEADER: Final = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"
_XERIAL_BLOCK: Final = 32 << 10
#: Kafka's default LZ4 level, which is the fast compressor (KIP-390).
_LZ4_FAST: Final = 9
#: The first and last level of the high compressor in liblz4's frame interface.
_LZ4_HIGH: Final = (3, 12)
_ISAL_LEVELS: Final = 3


class Zlib(Peer):
    """The zlib of the standard library."""

    name = "zlib"
    _module: Any = zlib

    @property
    def version(self) -> str:
        """The version of the zlib library."""
        return zlib.ZLIB_RUNTIME_VERSION

    def compressor(self, codec: Codec) -> Bytes:
        """Return the one-shot function."""
        _only(codec, GZIP)
        return partial(self._module.compress, level=_level(codec), wbits=_GZIP_WBITS)

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return a function with a buffer of sufficient size."""
        _only(codec, GZIP)
        return partial(self._module.decompress, wbits=_GZIP_WBITS, bufsize=largest)


class Isal(Zlib):
    """ISA-L's DEFLATE. Its levels 0 to 3 are not zlib's; it is measured at the levels with the same numbers."""

    name = "isal"
    version = Peer.version

    def __init__(self) -> None:
        from isal import isal_zlib

        self._module = isal_zlib

    def compressor(self, codec: Codec) -> Bytes:
        """Return the one-shot function."""
        _only(codec, GZIP)
        if not 0 <= _level(codec) <= _ISAL_LEVELS:
            raise NotComparableError(f"isal compresses at its own levels 0 to {_ISAL_LEVELS}, not at gzip's {codec}")
        return super().compressor(codec)


class Lz4(Peer):
    """python-lz4, over liblz4."""

    name = "lz4"

    def __init__(self) -> None:
        import lz4.frame

        self._frame = lz4.frame

    def compressor(self, codec: Codec) -> Bytes:
        """Return a function that writes Kafka's frames: independent blocks of 64 KiB, no checksums, no content size."""
        _only(codec, LZ4)
        frame = self._frame
        return partial(
            frame.compress, compression_level=kafka_lz4_level(codec), block_size=frame.BLOCKSIZE_MAX64KB,
            block_linked=False, store_size=False,
        )  # fmt: skip

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return the one-shot function."""
        del largest
        _only(codec, LZ4)
        return _given(self._frame.decompress)


class Cramjam(Peer):
    """cramjam: Rust crates and C libraries behind one interface."""

    name = "cramjam"

    def __init__(self) -> None:
        import cramjam

        self._module = cramjam

    def compressor(self, codec: Codec) -> Bytes:
        """Return the functions that aiokafka uses, and gzip's."""
        module = self._module
        if codec.type is GZIP:
            level = _level(codec)
            return lambda data: bytes(module.gzip.compress(data, level=6 if level < 0 else level))
        if codec.type is ZSTD:
            return lambda data: bytes(module.zstd.compress(data, level=codec.level))
        _only(codec, SNAPPY)
        return xerial_compressor(module.snappy.compress_raw)

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return a function that returns bytes; the size is not passed, because Kafka's formats do not contain it."""
        del largest
        module = self._module
        if codec.type is SNAPPY:
            return xerial_decompressor(module.snappy.decompress_raw)
        decompress = {GZIP: module.gzip, ZSTD: module.zstd, LZ4: module.lz4}.get(codec.type)
        if decompress is None:
            raise NotComparableError(f"does not decompress {codec}")
        return lambda data: bytes(decompress.decompress(data))


class Zstandard(Peer):
    """python-zstandard with reused contexts."""

    name = "zstandard"

    def __init__(self) -> None:
        import zstandard

        self._module = zstandard

    @property
    def version(self) -> str:
        """The version of the package and of libzstd."""
        return f"{importlib.metadata.version(self.name)} (zstd {'.'.join(map(str, self._module.ZSTD_VERSION))})"

    def compressor(self, codec: Codec) -> Bytes:
        """Return a function that writes frames without content size, as Kafka's streams do."""
        _only(codec, ZSTD)
        made = self._module.ZstdCompressor(level=codec.level or 0, write_content_size=False)
        return _given(made.compress)

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return a function with a buffer of sufficient size, which frames without content size require."""
        _only(codec, ZSTD)
        decompress = self._module.ZstdDecompressor().decompress
        return lambda data: bytes(decompress(data, max_output_size=largest))


def _only(codec: Codec, kind: CompressionType) -> None:
    if codec.type is not kind:
        raise NotComparableError(f"does not do {codec}")


def _level(codec: Codec) -> int:
    return -1 if codec.level is None else codec.level


def _given(function: Callable[[bytes], bytes]) -> Bytes:
    """Return the function with types, which the library does not have."""
    return function


def kafka_lz4_level(codec: Codec) -> int:
    """Return the level of liblz4's frame interface that corresponds to Kafka's."""
    level = _LZ4_FAST if codec.level is None else codec.level
    if level == _LZ4_FAST:
        return 0
    least, most = _LZ4_HIGH
    if level < least:
        raise NotComparableError(f"liblz4 uses the fast compressor at level {level}, Kafka the high one")
    return min(level, most)


def xerial_compressor(compress: Callable[[memoryview], bytes]) -> Bytes:
    """Return a function that compresses in Kafka's framing, from one for raw blocks."""

    def all_blocks(data: bytes) -> bytes:
        parts = [_XERIAL_HEADER]
        view = memoryview(data)
        for at in range(0, len(data), _XERIAL_BLOCK):
            block = bytes(compress(view[at : at + _XERIAL_BLOCK]))
            parts += (LENGTH.pack(len(block)), block)
        return b"".join(parts)

    return all_blocks


def xerial_decompressor(decompress: Callable[[memoryview], bytes]) -> Bytes:
    """Return a function that decompresses Kafka's framing, from one for raw blocks."""

    def all_blocks(data: bytes) -> bytes:
        return b"".join(bytes(decompress(block)) for block in blocks(memoryview(data)[len(_XERIAL_HEADER) :]))

    return all_blocks
