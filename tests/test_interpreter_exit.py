"""The interpreter ends while scans are unfinished whose files Python reads: no hang, no abort, the right status.

Each case is a program in an interpreter of its own, because what is looked for would take this one down.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

PREAMBLE = """
import os, sys, threading, time
import pyarrow as pa
import kafkacomp as kc
import faulty_files
from faulty_files import Faulty, slow

data = b"".join(kc.record.build_batches(
    pa.table({{"offset": pa.array(range(n, n + 1000)), "value": [b"v" * 100] * 1000}}), base_offset=n
) for n in range(0, 60_000, 1000))
url = Faulty.fill({{"00000000000000000000": data}})
Faulty.fault = {fault}
threads = {threads}


def scan():
    return kc.scan(url, options=kc.ScanOptions(threads=threads, batch_rows=500))


def generator():
    with scan() as reader:
        yield from reader
"""

#: How a scan is left unfinished.
USES = {
    "reader": "reader = scan(); next(reader)",
    "unread": "reader = scan()",
    "two readers": "first, second = scan(), scan(); next(first); next(second)",
    "loop": "for batch in scan(): break",
    "generator": "batches = generator(); next(batches)",
    "stream": "reader = pa.RecordBatchReader.from_stream(scan()); reader.read_next_batch()",
    "unread stream": "reader = pa.RecordBatchReader.from_stream(scan())",
    "with": "with scan() as reader: next(reader)",
    "cycle": "cycle = [scan()]; cycle.append(cycle); next(cycle[0]); del cycle",
    "daemon": """
reader = scan()
def consume():
    for batch in reader: pass
threading.Thread(target=consume, daemon=True).start()
time.sleep(0.02)
""",
    "daemon with a stream": """
threading.Thread(target=lambda: pa.table(scan()), daemon=True).start()
time.sleep(0.02)
""",
    "daemon in a callback": """
def progress(done, total): time.sleep(0.5)
def consume():
    for batch in kc.scan(url, progress=progress, options=kc.ScanOptions(threads=threads)): pass
threading.Thread(target=consume, daemon=True).start()
time.sleep(0.05)
""",
    "finalization that takes time": """
class Late:
    def __del__(self, sleep=time.sleep): sleep(4)
late = Late()
reader = scan()
threading.Thread(target=lambda: next(reader), daemon=True).start()
time.sleep(0.1)
""",
    "thread": """
reader = scan()
threading.Thread(target=lambda: next(reader)).start()
""",
    "at exit": """
import atexit
reader = scan()
atexit.register(lambda: next(reader))
""",
}

#: How the program ends, and its status.
ENDS = {
    "end": ("", 0),
    "exception": ("raise KeyError('ended')", 1),
    "exit": ("sys.exit(7)", 7),
    "os._exit": ("os._exit(9)", 9),
}
#: Without a run of several minutes.
QUICK = ("reader", "generator", "stream", "cycle", "daemon", "daemon with a stream", "daemon in a callback", "at exit")
FAULTS = {"quick": "None", "slow": "slow(0.1, after=2)"}


def check(use: str, end: str, threads: int, fault: str) -> None:
    ending, status = ENDS[end]
    program = PREAMBLE.format(fault=FAULTS.get(fault, fault), threads=threads)
    program += f"{USES[use]}\nprint('reached', flush=True)\n{ending}\n"
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == status, f"{use}, {end}: {done.returncode}\n{done.stderr}"
    assert done.stdout == "reached\n"
    # A daemon thread may still report that its scan was ended.
    if end != "exception" and "daemon=True" not in USES[use]:
        assert not done.stderr, done.stderr


@pytest.mark.parametrize(("use", "threads"), list(zip(QUICK, itertools.cycle([1, 4, 2]), strict=False)))
def test_a_program_that_leaves_a_scan_unfinished(use: str, threads: int) -> None:
    """The ways to leave a scan, in a program that just ends, with slow reads."""
    check(use, "end", threads, "slow")


@pytest.mark.parametrize("end", ["exception", "exit", "os._exit"])
def test_a_program_that_ends_otherwise(end: str) -> None:
    """Every way to end it."""
    check("reader", end, 2, "slow")


@pytest.mark.parametrize("threads", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_read_that_outlasts_the_exit(threads: int) -> None:
    """The exit waits only so long; a thread that wants the GIL during finalization must not abort the process."""
    check("finalization that takes time", "exit", threads, "slow(7, after=1)")


@pytest.mark.parametrize("use", ["reader", "with", "stream", "daemon"])
@pytest.mark.parametrize("threads", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_read_that_never_returns(use: str, threads: int) -> None:
    """The exit waits for it only so long."""
    check(use, "exit", threads, "lambda *given: given[-1] if Faulty.reads < 5 else threading.Event().wait()")


#: Threads that are ended wherever they are once the interpreter ends: in pyarrow, in a callback, in a handler of logs.
DAEMONS = """
import logging, sys, threading, time
import pyarrow as pa
import kafkacomp as kc
from kafkacomp import message_set

logging.getLogger("kafkacomp").addHandler(logging.StreamHandler(open("/dev/null", "w")))
data = kc.record.build_batches(pa.table({{"offset": pa.array(range(3000)), "value": [b"v" * 20] * 3000}}))
corrupt = data + b"\7" * 100 + data
messages = message_set.write_messages([b"v"] * 1000)


def consume():
    while True:
        {use}


for _ in range(6):
    threading.Thread(target=consume, daemon=True).start()
time.sleep(0.3)
sys.exit(7)
"""
#: What the threads do again and again.
DAEMON_USES = {
    "batches": "for batch in kc.scan(data, options=kc.ScanOptions(threads=1, batch_rows=10)): pass",
    "progress": "for batch in kc.scan(data, progress=lambda *_: None, options=kc.ScanOptions(threads=1)): pass",
    "warnings": "for batch in kc.scan(corrupt, on_error='skip', options=kc.ScanOptions(threads=1)): pass",
    "report": "reader = kc.scan(data); list(reader); reader.report",
    "messages": "for message in message_set.read_messages(messages): pass",
    "records": "for batch in kc.record.read_batches(data): batch.compression_type",
}


@pytest.mark.parametrize("use", DAEMON_USES)
@pytest.mark.parametrize("turns", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_daemon_threads_in_every_call(use: str, turns: int) -> None:
    program = DAEMONS.format(use=DAEMON_USES[use])
    for _ in range(turns):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 7, f"{done.returncode}\n{done.stderr}"


#: A daemon thread is in code that is written in Python, which kafkacomp called, when the interpreter begins to end. The
#: end takes a second longer than the code, so that the thread wants the GIL meanwhile.
INSIDE = """
import enum, sys, threading, time
import pyarrow as pa
import kafkacomp as kc
from kafkacomp import message_set

data = kc.record.build_batches(pa.table({{"value": [b"v" * 20] * 30}}))
table = pa.table({{"value": [b"v"] * 10}})
builder = kc.record.RecordBatchBuilder()
batch = next(iter(kc.record.read_batches(data)))
made = enum.EnumMeta.__call__
entered = threading.Event()


def slowly(*arguments, **more):
    entered.set()
    time.sleep(0.3)
    return made(*arguments, **more)


def generator(item):
    for _ in range(1000):
        entered.set()
        time.sleep(0.3)
        yield item


class Iterable:
    def __iter__(self):
        return generator(b"v")


class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        entered.set()
        time.sleep(0.3)
        return table.__arrow_c_stream__(requested_schema)


class Cells:
    def __arrow_c_stream__(self, requested_schema=None):
        entered.set()
        time.sleep(0.3)
        return pa.chunked_array([[b"v"]]).__arrow_c_stream__(requested_schema)


#: A thread that is ended while it destroys a reader of pyarrow's, which enters Python for it, aborts the process.
kept = []


def rows():
    reader = pa.RecordBatchReader.from_batches(table.schema, generator(table.to_batches()[0]))
    kept.append(reader)
    return reader


def use():
    {use}


class Late:
    def __del__(self, sleep=time.sleep): sleep(1)


late = Late()
threading.Thread(target=use, daemon=True).start()
entered.wait(30)
time.sleep(0.05)
sys.exit(7)
"""
INSIDE_USES = {
    "enum": "enum.EnumMeta.__call__ = slowly; batch.compression_type",
    "messages": "message_set.write_messages(generator(b'v'))",
    "iter": "message_set.write_messages(Iterable())",
    "headers": "builder.append(b'v', headers=generator(('k', b'v')))",
    "rows": "kc.record.build_batches(rows())",
    "rows to a builder": "builder.append_arrow(rows())",
    "rows to a log": "import tempfile; kc.write(rows(), tempfile.mkdtemp(), topic='t')",
    "stream": "kc.record.build_batches(Stream())",
    "cells": "kc.arrow.compress_cells(Cells(), 'gzip')",
}


@pytest.mark.parametrize("use", INSIDE_USES)
def test_a_daemon_thread_inside_python_code(use: str) -> None:
    program = INSIDE.format(use=INSIDE_USES[use])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 7, f"{done.returncode}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_five_hundred_programs(threads: int, fault: str, end: str) -> None:
    """Every combination, some of them twice: 504 programs over the parameters of this test."""
    for use in itertools.islice(itertools.cycle(USES), 21):
        check(use, end, threads, fault)
