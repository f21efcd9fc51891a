"""A scan's memory follows its threads and batch sizes, not the segments: 1 GiB is read within 300 MiB.

The segments are a small one of Kafka's own builder, repeated: the base offset of a v2 batch lies outside its CRC, so a
copy with another base offset is as valid as the first.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.java]

MAKE_SEGMENTS = Path(__file__).resolve().parents[2] / "benches" / "make_segments.py"
TOTAL = 1 << 30
LIMIT = 300 << 20
THREADS = 2
SEED_BYTES = 24 << 20  # of records in the segment that is repeated
TIMEOUT = 300

LOG_OVERHEAD = 12  # base offset and length
LAST_OFFSET_DELTA_OFFSET = 23

# Runs in a process of its own, whose peak the kernel keeps as VmHWM: of the bare interpreter first, then of all.
SCAN = """
import json, pathlib, re, sys

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) << 10

interpreter = peak()
import pyarrow.compute
import kafkacomp
imported = peak()
records = value_bytes = 0
options = kafkacomp.ScanOptions(threads=int(sys.argv[2]))
for batch in pyarrow.RecordBatchReader.from_stream(kafkacomp.scan(sys.argv[1], options=options)):
    records += batch.num_rows
    values = batch.column("value")
    value_bytes += pyarrow.compute.sum(pyarrow.compute.binary_length(values)).as_py()
print(json.dumps({"interpreter": interpreter, "imported": imported, "peak": peak(), "records": records,
                  "value_bytes": value_bytes}))
"""


class Shape(NamedTuple):
    """What the records are and how they lie: value bytes (0 is a flight of 265 B), batches, segments."""

    value_bytes: int
    batch: tuple[str, str]
    segments: int


SHAPES = {
    "265B-one-segment": Shape(0, ("--batch-bytes", "16384"), 1),
    "265B-eight-segments": Shape(0, ("--batch-bytes", "16384"), 8),
    "1MB-one-segment": Shape(1_000_000, ("--batch-records", "1"), 1),
    "1MB-by-four-eight-segments": Shape(1_000_000, ("--batch-records", "4"), 8),
}


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_peak_stays_under_the_limit(tmp_path: Path, shape: Shape, codec: str) -> None:
    folder = tmp_path / "memory-0"
    folder.mkdir()
    seed = tmp_path / "seed.log"
    records = SEED_BYTES // (shape.value_bytes or 265)
    arguments = (str(seed), codec, str(records), *shape.batch, "--value-bytes", str(shape.value_bytes))
    subprocess.run([sys.executable, MAKE_SEGMENTS, *arguments], stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=True)
    expected = repeat(seed, folder, shape.segments)
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCAN, str(folder), str(THREADS)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["records"] == expected
    peak, imports = (seen[name] - seen["interpreter"] for name in ("peak", "imported"))
    # Shown by -s and -rP, for the curious.
    sys.stdout.write(f"{peak >> 20} MiB above the interpreter, {imports >> 20} of them before the scan\n")
    if shape.value_bytes:
        assert seen["value_bytes"] == expected * shape.value_bytes
    assert peak < LIMIT


def repeat(seed: Path, folder: Path, segments: int) -> int:
    """Copies of the seed, one after the other, in that many segments of 1 GiB together; returns the records."""
    copy = bytearray(seed.read_bytes())
    starts, records = batches(copy)
    offset = 0
    for _ in range(segments):
        written = 0
        with (folder / f"{offset:020}.log").open("wb") as out:
            while written < TOTAL // segments:
                for position, first in starts:
                    struct.pack_into(">q", copy, position, offset + first)
                written += out.write(copy)
                offset += records
    return offset


def batches(data: bytearray) -> tuple[list[tuple[int, int]], int]:
    """Position and first offset of each batch, and how many offsets there are."""
    starts = list(_batches(data))
    position, first = starts[-1]
    (last_delta,) = struct.unpack_from(">i", data, position + LAST_OFFSET_DELTA_OFFSET)
    return starts, first + last_delta + 1


def _batches(data: bytearray) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(data):
        first, length = struct.unpack_from(">qi", data, position)
        yield position, first
        position += LOG_OVERHEAD + length
