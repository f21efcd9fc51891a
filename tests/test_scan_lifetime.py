"""What becomes of a scan that is let go: by the garbage collector, in the middle, from under a consumer."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading

import pyarrow as pa

import kafkacomp as kc
from golden.expect import SMALL

SEGMENT = SMALL / "modern" / "one-byte-values" / "one-byte-values-0" / "00000000000000000000.log"


def run(program: str) -> None:
    """Runs a program in an interpreter of its own: what is looked for would take this one down."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program), str(SEGMENT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("alive")


def test_a_failed_reader_collected_inside_a_call_of_ours() -> None:
    """Pyarrow lets go of a stream without the GIL, and may do so while Python collects garbage inside our code.

    The stream keeps the exception that ended it; dropping that needs the GIL, whatever pyo3's count says.
    """
    run("""
        import gc, pathlib, sys
        import pyarrow as pa
        import kafkacomp as kc
        from kafkacomp import record

        data = pathlib.Path(sys.argv[1]).read_bytes()
        damaged = data[:100] + bytes([data[100] ^ 1]) + data[101:]

        def fail():
            reader = pa.RecordBatchReader.from_stream(kc.scan(damaged, columns=["offset"]))
            try:
                reader.read_all()
            except pa.ArrowException as error:
                cycle = [error, reader]
                cycle.append(cycle)
            else:
                raise AssertionError

        batch = next(iter(record.read_batches(data)))
        for threshold in range(1, 40):
            gc.collect()
            gc.disable()
            fail()
            gc.set_threshold(threshold)
            gc.enable()
            kept = [r.headers for r in batch]
        print("alive")
    """)


def test_readers_left_in_the_middle() -> None:
    """Readers that nobody reads to the end, with callbacks and sources of Python's own, on several threads."""
    run("""
        import gc, pathlib, sys, threading
        import pyarrow as pa
        import kafkacomp as kc

        data = pathlib.Path(sys.argv[1]).read_bytes()

        def leave(count):
            for turn in range(count):
                calls = []
                source = [bytearray(data), data, sys.argv[1]][turn % 3]
                options = kc.ScanOptions(batch_rows=50, threads=2)
                scan = kc.scan(source, progress=lambda *done, calls=calls: calls.append(done), options=options)
                reader = pa.RecordBatchReader.from_stream(scan)
                for _ in range(turn % 4):
                    reader.read_next_batch()
                cycle = [reader, scan, calls]
                cycle.append(cycle)
            gc.collect()

        threads = [threading.Thread(target=leave, args=(40,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("alive")
    """)


def test_an_interpreter_that_ends_in_the_middle() -> None:
    """Leaving with a scan half read neither hangs nor crashes."""
    run("""
        import sys
        import pyarrow as pa
        import kafkacomp as kc

        options = kc.ScanOptions(batch_rows=10, threads=2)
        reader = pa.RecordBatchReader.from_stream(kc.scan(sys.argv[1], options=options))
        reader.read_next_batch()
        print("alive")
    """)


def test_scans_on_many_threads() -> None:
    """Scans side by side give the same as one alone."""
    alone = pa.table(kc.scan(SEGMENT))
    tables: list[pa.Table] = []

    def scan() -> None:
        tables.extend(
            pa.table(kc.scan(SEGMENT, options=kc.ScanOptions(threads=3, batch_rows=100))).combine_chunks()
            for _ in range(5)
        )

    threads = [threading.Thread(target=scan) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tables) == 30
    assert all(table == alone.combine_chunks() for table in tables)


def test_no_reference_is_kept_behind_a_scan() -> None:
    """Source, callback and exception are let go with the reader."""

    class Callback:
        def __call__(self, done: int, total: int) -> None:
            """Take no notice."""

    callback, data = Callback(), bytearray(SEGMENT.read_bytes())
    before = sys.getrefcount(callback), sys.getrefcount(data)
    for _ in range(20):
        pa.table(kc.scan(data, progress=callback))
        kc.scan(data, progress=callback)
    gc.collect()
    # What was let go without the GIL is counted down at the next call.
    pa.table(kc.scan(SEGMENT))
    gc.collect()
    assert (sys.getrefcount(callback), sys.getrefcount(data)) == before
