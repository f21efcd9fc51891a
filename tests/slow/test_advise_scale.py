"""``kafkacomp advise`` on a folder of 500 partitions: the memory that 100 MB of sample take; the time is printed."""

from __future__ import annotations

import itertools
import json
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import kafkacomp as kc

BENCHES = Path(__file__).resolve().parent.parent.parent / "benches"
PARTITIONS, TOPICS = 500, 5
#: Bytes of the sample.
SAMPLE = 100_000_000
MOST_MEMORY = 700 << 20

RUN = """
import json, sys
from pathlib import Path
from kafkacomp._cli import main
status = main(sys.argv[1:])
sys.stdout.flush()
# Not ru_maxrss, which begins with that of the process that started this one.
(peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({"status": status, "peak": int(peak) * 1024}))
"""


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    rows = list(itertools.islice(runpy.run_path(str(BENCHES / "flights.py"))["rows"](), 9000))
    for topic, codec in enumerate(("none", "none", "lz4", "zstd", "gzip")):
        # Each partition about as large on disk as those of the others.
        many = rows * {"none": 1, "lz4": 3, "zstd": 5, "gzip": 5}[codec]
        name = f"topic{topic}"
        kc.write(pa.table({"value": many}), folder, topic=name, partition=0, compression_type=codec)
        for partition in range(1, PARTITIONS // TOPICS):
            shutil.copytree(folder / f"{name}-0", folder / f"{name}-{partition}")
    return folder


def test_hundred_megabytes_of_many_partitions(folder: Path) -> None:
    """With the default codecs and batch sizes."""
    start = time.perf_counter()
    each = str(SAMPLE // TOPICS)
    arguments = ["advise", str(folder), "--sample-bytes", each, "--threads", "2", "--json"]
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True)
    took = time.perf_counter() - start
    report, end = (json.loads(line) for line in done.stdout.splitlines())
    assert end["status"] == 0
    read = sum(topic["sample"]["bytesRead"] for topic in report["topics"])
    assert sum(topic["partitions"] for topic in report["topics"]) == PARTITIONS
    sys.stdout.write(f"{read:,} bytes of sample in {took:.1f} s, {end['peak'] >> 20} MiB at the peak\n")
    assert read > 0.9 * SAMPLE
    assert end["peak"] < MOST_MEMORY
