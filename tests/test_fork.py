"""Readers in a process that was forked: a clear error, no hang; a new scan works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
import gc, os, signal, sys, threading, time, warnings
import pyarrow as pa
import kafkacomp as kc
from kafkacomp._kafkacomp import LogFollower
from faulty_files import Faulty, slow

warnings.simplefilter("ignore", DeprecationWarning)
data = kc.record.build_batches(
    pa.table({{"offset": pa.array(range(20000)), "value": [b"v" * 100] * 20000}}), compression_type="lz4"
)
url = Faulty.fill({{f"{{0:020}}": data}})
Faulty.fault = slow(0.002)


def fails(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, pa.ArrowInvalid) as error:
        assert f"belongs to process {{parent}}" in str(error), error
    else:
        raise AssertionError(call)


def in_child():
    fails(next, reader)
    fails(iter, reader)
    fails(reader.close)
    fails(lambda: reader.report)
    fails(lambda: reader.closed)
    fails(lambda: reader.error)
    fails(unread.__arrow_c_stream__)
    fails(stream.read_next_batch)
    fails(lambda: follower.position)
    fails(follower.aborted, 0, 1)
    for source in (url, data):
        for threads in (1, 4):
            assert pa.table(kc.scan(source, options=kc.ScanOptions(threads=threads))).num_rows == 20000
    Faulty.fault = slow(1, after=Faulty.reads + 2)
    global left
    left = kc.scan(url, options=kc.ScanOptions(threads=2))
    next(left)


def busy():
    while not stop:
        list(kc.scan(data, options=kc.ScanOptions(threads=2, batch_rows=5000)))
        list(kc.scan(url, options=kc.ScanOptions(threads=2, batch_rows=5000)))


parent, stop = os.getpid(), False
threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for turn in range({turns}):
    reader, unread = (kc.scan(url, options=kc.ScanOptions(threads=2, batch_rows=100)) for _ in range(2))
    stream = pa.RecordBatchReader.from_stream(kc.scan(url, options=kc.ScanOptions(threads=2, batch_rows=100)))
    follower = LogFollower(False)
    next(reader)
    stream.read_next_batch()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang ends it
        try:
            in_child()
            del reader, stream, unread
            gc.collect()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        if turn % 2:
            sys.exit(0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert pa.table(stream).num_rows > 0
    assert sum(batch.num_rows for batch in reader) > 0
stop = True
for thread in threads:
    thread.join()
print("alive")
"""


@pytest.mark.parametrize("turns", [6, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
def test_forks_in_the_middle_of_scans(turns: int) -> None:
    """With other threads that scan at the moment of the fork, and with ways to leave the child."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM.format(turns=turns)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + 20 * turns,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "alive"


HELD = """
import io, os, signal, sys, threading, time, warnings
import kafkacomp as kc
from kafkacomp import broker, record, zstd
from kafkacomp import _kafkacomp

warnings.simplefilter("ignore", DeprecationWarning)
DATA = os.urandom(1 << 20) * 48
CODED = zstd.compress(DATA, level=1)


class Compress:
    def __init__(self): self.made = zstd.ZstdCompressor(level=19)
    def use(self, data=DATA): self.made.compress(data)
    def again(self): self.made.compress(b"a")


class Decompress:
    def __init__(self): self.made = zstd.ZstdDecompressor()
    def use(self): self.made.decompress(CODED)
    def again(self): self.made.needs_input


class Build:
    def __init__(self):
        self.made = record.RecordBatchBuilder(compression_type="zstd", compression_level=19)
        self.made.append(DATA)
    def use(self): self.made.build()
    def again(self): self.made.next_offset


class Validate:
    def __init__(self):
        kinds = {"source_compression_type": "none", "target_compression_type": "zstd"}
        self.made = broker.LogValidator(broker.ValidatorConfig(**kinds, compression_level=19))
        builder = record.RecordBatchBuilder(compression_type="none")
        builder.append(b"value")
        self.small = builder.build()
        builder = record.RecordBatchBuilder(compression_type="none")
        builder.append(DATA)
        self.data = builder.build()
    def use(self): self.made.validate_messages_and_assign_offsets(self.data)
    def again(self): self.made.validate_messages_and_assign_offsets(self.small)


def attempt(held):
    "The status of a child that uses the object: 0 for the right error, 3 where it works."
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a hang ends it
        try:
            held.again()
        except RuntimeError as error:
            os._exit(0 if "was forked" in str(error) else 1)
        except BaseException:
            os._exit(2)
        os._exit(3)
    return os.waitpid(child, 0)[1]


case = globals()[sys.argv[1]]
assert attempt(case()) == 3 << 8, "an object that no thread uses works in the child"
for turn in range(50):
    held = case()
    worker = threading.Thread(target=held.use, daemon=True)
    worker.start()
    time.sleep(0.02 * (turn + 1))
    status = attempt(held)
    if status == 0:
        os._exit(0)
    assert status == 3 << 8, status  # too early or too late
    worker.join()
os._exit(4)
"""


@pytest.mark.parametrize("case", ["Compress", "Decompress", "Build", "Validate"])
def test_a_fork_while_another_thread_uses_an_object(case: str) -> None:
    done = subprocess.run([sys.executable, "-c", HELD, case], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
