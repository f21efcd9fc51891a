"""File objects of the four codecs against those of Python's other libraries: flights, in pieces of 64 KB, in turn.

All read what kafkacomp has written (but snappy's peer its own, for it has Google's framing instead of xerial's). All
write with the same settings: gzip 6, zstd 3, LZ4's fast compressor with 64 KB independent blocks. isal has no such
level: its `size`, the bytes written by ours, says how much it gives away. All must read the same bytes, and what each
writes must be read back. A ratio is the peer's median time by ours, round by round: above 1 ours is faster.

`limit` is a loop in Rust over the library of the same codec (zlib-rs, snap, liblz4, libzstd), with the same pieces and
with the copies that no file object can leave out (`examples/stream_pass.rs`). Its ratio is the share of its speed that
ours reaches.

Run: python benches/compare_streams.py [--megabytes 8] [--rounds 7]
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flights
import lz4.frame
import make_segments
import snappy
import zstandard
from compare_java import machine
from isal import igzip
from java_baseline import Program
from reports import save

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PIECE = 64 << 10
LIMIT = "limit"
PROGRAM = ROOT / "target" / "release" / "examples" / "stream_pass"


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
    return b"".join(pieces(opened, packed))


def pieces(opened: Callable[[io.BytesIO, str], Any], packed: bytes) -> Iterator[bytes]:
    """The data in pieces, as the file gives them."""
    file = opened(io.BytesIO(packed), "rb")
    while piece := file.read(PIECE):
        yield piece


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
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        limits = {}
        for way, content in (("read", written["kafkacomp"]), ("write", data)):
            path = Path(folder) / way
            path.write_bytes(content)
            limits[way] = stack.enter_context(Program(str(PROGRAM), way, str(path), codec))
        for _ in range(rounds):
            for way, limit in limits.items():
                seconds.setdefault((LIMIT, way), []).append(limit.one_pass())
            _one_round(sides, packed, data, seconds)
        sizes = {name: len(content) for name, content in written.items()} | {LIMIT: limits["write"].last["bytes"]}
        if limits["read"].last["bytes"] != len(data):
            raise RuntimeError("the limit does not read what kafkacomp has written")
    found = []
    for way in ("read", "write"):
        ours = seconds["kafkacomp", way]
        for name, size in sizes.items():
            taken = seconds[name, way]
            ratio = statistics.median(theirs / mine for theirs, mine in zip(taken, ours, strict=True))
            rate = len(data) / statistics.median(taken) / 1e6
            by_ours = size / sizes["kafkacomp"]
            found.append({"codec": codec, "way": way, "by": name, "mb_per_s": rate, "ratio": ratio, "size": by_ours})
    return found


def _one_round(
    sides: dict[str, Callable[[io.BytesIO, str], Any]],
    packed: dict[str, bytes],
    data: bytes,
    seconds: dict[tuple[str, str], list[float]],
) -> None:
    for name, opened in sides.items():
        start = time.perf_counter()
        for _ in pieces(opened, packed[name]):
            pass  # dropped, so that the memory of all content is no part of the time
        between = time.perf_counter()
        write(opened, data)
        seconds.setdefault((name, "read"), []).append(between - start)
        seconds.setdefault((name, "write"), []).append(time.perf_counter() - between)


def main() -> None:
    """Compares all and writes benches/results/compare-streams.json."""
    parser = argparse.ArgumentParser(description="kafkacomp's file objects against others")
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    example = ["cargo", "build", "--release", "--locked", "-p", "kafkacomp-records", "--example", "stream_pass"]
    subprocess.run(example, cwd=ROOT, check=True)
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
