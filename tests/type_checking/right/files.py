"""Files of compressed data: what `open` returns depends on the mode."""

from io import TextIOWrapper
from pathlib import Path

import kafkacomp as kc
from kafkacomp import gzip, lz4, snappy, zstd
from kafkacomp.zstd import CompressionParameter


def copy(source: Path, target: Path) -> int:
    with gzip.open(source) as read, zstd.open(target, "wb", level=19) as written:
        for line in read:
            written.write(line)
        return read.tell()


def lines(path: str) -> list[str]:
    with kc.open(path, "lz4", "rt", encoding="utf-8") as text:
        return [line.rstrip("\n") for line in text]


def files(path: Path) -> None:
    read: gzip.GzipFile = gzip.open(path, max_output_size=1 << 20)
    size: int = len(read.read())
    written: zstd.ZstdFile = zstd.open(path, "xb", options={CompressionParameter.compression_level: size})
    written.write(b"")
    text: TextIOWrapper = snappy.open(path, "at", newline="\n")
    text.write("")
    lz4.LZ4File(path, "w", block_size=65536, content_checksum=True).close()
    lz4.LZ4File(path, header_checksum="either").close()


def one_shot(data: bytes) -> bytes:
    compressed = kc.compress(data, "zstd", compression_level=3) + zstd.compress(data)
    try:
        return kc.decompress(bytearray(compressed), kc.CompressionType.ZSTD, max_output_size=10)
    except zstd.ZstdError as error:
        position: int | None = error.position
        print(position)
        raise
