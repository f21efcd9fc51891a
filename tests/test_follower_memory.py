"""A follower of a growing log keeps neither the bytes of large batches nor transactions that it was told to forget."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="resident memory by /proc")

#: What the process has in memory beyond what it had before.
COMMON = """
import gc, pathlib, re, sys
import kafkacomp as kc
from kafkacomp import record
from kafkacomp._kafkacomp import LogFollower
from kafkacomp._storage.partition import Segment

path = pathlib.Path(sys.argv[1]) / "00000000000000000000.log"


def status(name):
    return int(re.search(name + r":\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) << 10


def source():
    return Segment(str(path), str(path), path.stat().st_size, base_offset=0, active=True)


def transactional(**options):
    return record.RecordBatchBuilder(
        compression_type="none", producer_id=1, producer_epoch=0, is_transactional=True, **options
    )
"""

LARGE_BATCHES = """
builder = transactional(base_sequence=0)
builder.append(bytes(64 << 20))
path.write_bytes(builder.build())
del builder
gc.collect()
followers = [LogFollower(True) for _ in range(10)]
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
for follower in followers:
    assert follower.follow(source(), True, False) == "end"
    assert (follower.end_offset, follower.first_open) == (1, 0)
print(status("VmHWM") - before)
"""

TRANSACTIONS = """
builder = transactional(base_sequence=0)
builder.append(b"v")
data = builder.build()
builder = transactional(is_control_batch=True)
builder.append_end_txn_marker(False)
marker = builder.build()

follower = LogFollower(True)
offset, count, before = 0, 20_000, 0
with path.open("ab") as file:
    for turn in range(20):
        made = bytearray()
        for offset in range(offset, offset + 2 * count, 2):
            made += offset.to_bytes(8, "big") + data[8:] + (offset + 1).to_bytes(8, "big") + marker[8:]
        offset += 2
        file.write(made)
        file.flush()
        del made
        assert follower.follow(source(), turn == 0, False) == "end"
        assert follower.end_offset == offset == 2 * count * (turn + 1)
        assert len(follower.aborted(offset - 200, offset)) == 100
        follower.forget(offset)
        if turn == 2:
            before = status("VmRSS")
print(status("VmRSS") - before)
"""


def grown(program: str, folder: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_large_batch_is_not_kept(tmp_path: Path) -> None:
    """Ten followers of a batch of 64 MiB each, which they read to verify its checksum."""
    assert grown(LARGE_BATCHES, tmp_path) < 24 << 20


def test_forgotten_transactions_are_not_kept(tmp_path: Path) -> None:
    """340,000 aborted transactions, of which the follower was told to forget all but the last few."""
    assert grown(TRANSACTIONS, tmp_path) < 4 << 20
