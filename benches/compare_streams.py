"""File objects of the four codecs against those of Python's other libraries: flights, in pieces of 64 KB, in turn.

All read what kafkacomp has written (but snappy's peer its own, for it has Google's framing instead of xerial's). All
write with the same settings: gzip 6, zstd 3, LZ4's fast compressor with 64 KB independent blocks. isal has no such
level: its `size`, the bytes written by ours, says how much it gives away. All must read the same bytes, and what each
writes must be read back. A ratio is the peer's median time by ours, round by round: above 1 ours is faster.

Run: python benches/compare_streams.py [--megabytes 8] [--rounds 7]
"""

from __future__ import annotations

import argparse
import gzip
import io
import statistics
import time
from typing import TYPE_CHECKING, Any

import flights
import lz4.frame
import make_segments
import snappy
import zstandard
from compare_java import machine
from isal import igzip
from reports import save

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE = 64 << 10


class SnappyFile:
    """python-snappy's stream objects as a file."""

    def __init__(self, file: io.BytesIO, mode: str) -> None:
        self._file = file
        self._stream = snappy.StreamCompressor() if mode == "wb" else snappy.StreamDecompressor()

    def write(self, data: bytes) -> None:
        """Compress a piece."""
        self._file.write(self._stream.add_chunk(data))

    def read(self, size: int) -> bytes:
        """What so many compressed bytes give, at least something before the end."""
        while data := self._file.read(size):
            if out := self._stream.decompress(data):
                return bytes(out)
        return b""

    def close(self) -> None:
        """Nothing is left behind."""


def _zstandard(file: io.BytesIO, mode: str) -> Any:  # noqa: ANN401 - reads or writes
    if mode == "wb":
        return zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False)
    return zstandard.ZstdDecompressor().stream_reader(file, closefd=False)


def _lz4(file: io.BytesIO, mode: str) -> Any:  # noqa: ANN401 - reads or writes
    size = lz4.frame.BLOCKSIZE_MAX64KB
    return lz4.frame.LZ4FrameFile(file, mode, compression_level=0, block_size=size, block_linked=False)


# codec: the sides, ours first; each opens a file in memory.
SIDES: dict[str, dict[str, Callable[[io.BytesIO, str], Any]]] = {
    "gzip": {
        "kafkacomp": lambda file, mode: kc.gzip.open(file, mode, **({"level": 6} if mode == "wb" else {})),
        "gzip": lambda file, mode: gzip.GzipFile(fileobj=file, mode=mode, compresslevel=6),
        "isal": lambda file, mode: igzip.IGzipFile(fileobj=file, mode=mode, compresslevel=2),
    },
    "snappy": {"kafkacomp": kc.snappy.open, "python-snappy": SnappyFile},
    "lz4": {"kafkacomp": kc.lz4.open, "lz4": _lz4},
    "zstd": {"kafkacomp": kc.zstd.open, "zstandard": _zstandard},
}


def write(opened: Callable[[io.BytesIO, str], Any], data: bytes) -> bytes:
    """The data compressed, written in pieces."""
    out = io.BytesIO()
    file = opened(out, "wb")
    for at in range(0, len(data), PIECE):
        file.write(data[at : at + PIECE])
    file.close()
    return out.getvalue()


def read(opened: Callable[[io.BytesIO, str], Any], packed: bytes) -> bytes:
    """The data again, read in pieces."""
    file = opened(io.BytesIO(packed), "rb")
    pieces = []
    while piece := file.read(PIECE):
        pieces.append(piece)
    return b"".join(pieces)


def compare(codec: str, data: bytes, rounds: int) -> list[dict[str, Any]]:
    """Reading and writing of one codec by all sides."""
    sides = SIDES[codec]
    written = {name: write(opened, data) for name, opened in sides.items()}
    packed = dict.fromkeys(sides, written["kafkacomp"]) if codec != "snappy" else written
    for name, opened in sides.items():
        if read(opened, written[name]) != data:
            raise RuntimeError(f"{name}: does not read what it has written")
        if read(opened, packed[name]) != data:
            raise RuntimeError(f"{name}: does not read what kafkacomp has written")
    seconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name, opened in sides.items():
            start = time.perf_counter()
            read(opened, packed[name])
            between = time.perf_counter()
            write(opened, data)
            seconds.setdefault((name, "read"), []).append(between - start)
            seconds.setdefault((name, "write"), []).append(time.perf_counter() - between)
    found = []
    for way in ("read", "write"):
        ours = seconds["kafkacomp", way]
        for name in sides:
            taken = seconds[name, way]
            ratio = statistics.median(theirs / mine for theirs, mine in zip(taken, ours, strict=True))
            rate = len(data) / statistics.median(taken) / 1e6
            size = len(written[name]) / len(written["kafkacomp"])
            found.append({"codec": codec, "way": way, "by": name, "mb_per_s": rate, "ratio": ratio, "size": size})
    return found


def main() -> None:
    """Compares all and writes benches/results/compare-streams.json."""
    parser = argparse.ArgumentParser(description="kafkacomp's file objects against others")
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with flights.payload(make_segments.BUILD).open("rb") as rows:
        data = rows.read(arguments.megabytes << 20)
    results = []
    for codec in SIDES:
        for result in compare(codec, data, arguments.rounds):
            results.append(result)
            print("{codec:6} {way:5} {by:13} {mb_per_s:8.0f} MB/s  x{ratio:.2f}  size {size:.3f}".format(**result))
    save("compare-streams", {"machine": machine(), "rounds": arguments.rounds, "results": results})


if __name__ == "__main__":
    main()
