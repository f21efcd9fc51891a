"""Committed offsets of a large `__consumer_offsets`, beside a scan of its keys and values.

    python benches/internal_topics.py [COMMITS]

Writes 50 partitions with so many commits (10 million by default) of 100,000 keys into a temporary folder, reads both
ways on one and two threads, and prints seconds, CPU seconds, rows and the greatest memory of each.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import kafkacomp as kc

PARTITIONS = 50
GROUPS, TOPIC_PARTITIONS = 1000, 100
FIRST = 1_700_000_000_000
TOPIC = "__consumer_offsets"
KEY = np.dtype([("type", ">i2"), ("a", ">i2"), ("group", "S10"), ("b", ">i2"), ("topic", "S6"), ("partition", ">i4")])
VALUE = np.dtype([("version", ">i2"), ("offset", ">i8"), ("epoch", ">i4"), ("metadata", ">i2"), ("time", ">i8")])


def column(rows: np.ndarray) -> pa.Array:
    """Structs of a fixed size as binary values."""
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(rows.dtype.itemsize), len(rows), [None, pa.py_buffer(rows.tobytes())]
    ).cast(pa.binary())


def write(folder: Path, commits: int) -> None:
    """Each group is in one partition, as in Kafka."""
    random = np.random.default_rng(55)
    per_partition = commits // PARTITIONS
    names = np.array([f"group-{number:04}" for number in range(GROUPS)], "S10")
    for partition in range(PARTITIONS):
        own = names[partition::PARTITIONS]
        keys, values = np.zeros(per_partition, KEY), np.zeros(per_partition, VALUE)
        keys["type"], keys["a"], keys["b"], keys["topic"] = 1, 10, 6, b"orders"
        keys["group"] = own[random.integers(0, len(own), per_partition)]
        keys["partition"] = random.integers(0, TOPIC_PARTITIONS, per_partition)
        times = FIRST + np.arange(per_partition)
        values["version"], values["epoch"], values["time"] = 3, -1, times
        values["offset"] = np.arange(per_partition)
        rows = pa.table({"key": column(keys), "value": column(values), "timestamp": times})
        kc.write(rows, folder, topic=TOPIC, partition=partition, compression_type="none")


def scanned(folder: str, threads: int) -> int:
    """A scan of the two columns."""
    reader = kc.scan(
        folder, columns=["key", "value"], options=kc.ScanOptions(binary_type="binary_view", threads=threads)
    )
    return sum(batch.num_rows for batch in reader)


def replayed(folder: str, threads: int) -> int:
    """The committed offsets."""
    return kc.internal.consumer_offsets(folder, threads=threads).read_all().num_rows


def measure(name: str, folder: str, threads: int) -> None:
    """Time one way, in a process of its own."""
    begin, before = time.perf_counter(), time.process_time()
    rows = {"scan": scanned, "offsets": replayed}[name](folder, threads)
    seconds, busy = time.perf_counter() - begin, time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{name:8} {threads} threads: {seconds:6.2f} s, {busy:6.2f} s of CPU, {rows:,} rows, {memory} MiB")


def main() -> None:
    """Write the topic and measure."""
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), commits)
        print(f"{commits:,} commits, {sum(each.stat().st_size for each in Path(folder).rglob('*.log')) >> 20} MiB")
        context = multiprocessing.get_context("spawn")
        for threads in (1, 2):
            for name in ("scan", "offsets"):
                process = context.Process(target=measure, args=(name, folder, threads))
                process.start()
                process.join()


if __name__ == "__main__":
    main()
