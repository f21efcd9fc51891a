"""Iterating over one batch takes the memory of its bytes and a constant, however many records they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A batch of records of seven bytes each, counted by the peak that the kernel keeps.
ITERATE = """
import pathlib, re, struct, sys
from kafkacomp import record

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) << 10

codec, count = sys.argv[1], 2_000_000
builder = record.RecordBatchBuilder(compression_type=codec)
builder.append(b"")
template = bytearray(builder.build())
from kafkacomp import gzip, lz4, snappy, zstd
records = bytes([12, 0, 0, 0, 1, 0, 0]) * count
modules = {"gzip": gzip, "lz4": lz4, "snappy": snappy, "zstd": zstd}
body = modules[codec].compress(records) if codec in modules else records
data = bytes(template[:61])
data = data[:8] + struct.pack(">i", 49 + len(body)) + data[12:57] + struct.pack(">i", count) + body
del records, body
batch = next(iter(record.read_batches(data, verify_crc=False)))
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = peak()
seen = sum(1 for _ in batch)
assert seen == count, seen
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's own count of the peak")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_iterating_takes_the_bytes_of_the_batch(codec: str) -> None:
    done = subprocess.run([sys.executable, "-c", ITERATE, codec], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    decompressed = 0 if codec == "none" else 7 * 2_000_000
    assert int(done.stdout) < 2 * decompressed + (16 << 20)
