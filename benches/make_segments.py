"""The segments that both sides of the comparison read, written by Kafka's own builder (java/.../MakeSegments.java).

One segment per codec and batch size, in a folder named as a broker names it, so that a scan has a topic and a partition
to deliver. Batch sizes are numbers of records, or bytes before compression. Made once and kept in build/bench.

Run: python benches/make_segments.py                      all of them
     python benches/make_segments.py OUT CODEC RECORDS OPTION...   one more; MakeSegments.java has the options
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
JAVA = ROOT / "benches" / "java"
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "tests" / "kafka")]

import flights  # noqa: E402  (found by the line above)

from livekafka import maven  # noqa: E402

CODECS = ("none", "lz4", "snappy", "zstd", "gzip")
# name: (option of MakeSegments, its number, records in the segment)
BATCHES = {
    "1": ("--batch-records", 1, 120_000),
    "10": ("--batch-records", 10, 240_000),
    "16k": ("--batch-bytes", 16 << 10, 240_000),
    "100k": ("--batch-bytes", 100 << 10, 240_000),
    "1m": ("--batch-bytes", 1 << 20, 240_000),
}
TIMEOUT = 600.0


class Segment(NamedTuple):
    """A segment file and what is in it."""

    codec: str
    batch: str
    records: int
    path: Path


def class_path() -> str:
    """The Java program's class path, built if need be."""
    return maven.class_path(JAVA, "package")


def make(codec: str, batch: str) -> Segment:
    """The segment of a codec and a batch size, written if it is not there."""
    option, size, records = BATCHES[batch]
    path = BUILD / f"flights-{codec}-{batch}-0" / f"{0:020}.log"
    if not path.exists():
        write(path, codec, records, option, str(size))
    return Segment(codec, batch, records, path)


def write(path: Path, codec: str, records: int, *options: str) -> None:
    """Runs MakeSegments for one file."""
    payload = flights.payload(BUILD)
    arguments = ("--payload", str(payload), "--out", str(path), "--codec", codec, "--records", str(records), *options)
    subprocess.run(
        ["java", "-Xmx2g", "-cp", class_path(), "kafkacomp.bench.MakeSegments", *arguments],
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT,
        check=True,
    )


def main(arguments: list[str]) -> None:
    """Makes the one that the arguments describe, or all of the comparison's."""
    if arguments:
        out, codec, records, *options = arguments
        write(Path(out), codec, int(records), *options)
        return
    for codec in CODECS:
        for batch in BATCHES:
            made = make(codec, batch)
            print(f"{made.path.parent.name}: {made.records} records, {made.path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
