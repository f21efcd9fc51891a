"""What is run while allocations fail: each operation returns its data, or raises what kafkacomp raises.

Run as ``python operations.py FOLDER NAME LEAST MOST AT_MOST``: every allocation of LEAST to MOST bytes is refused in
turn, and all from each on. The last line of the output is the number of refused allocations.

Run as ``python operations.py FOLDER NAME LEAST``: all allocations of one size are refused, of every size from LEAST
bytes to a mebibyte that the operation asks for, each in a process of its own. The last line is the number of sizes.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import re
import shutil
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import kafkacomp as kc
from kafkacomp import log, message_set, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The id of zstd, which formats before magic 2 do not have.
ZSTD = 4
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
#: The folder of a run that was killed, or could not remove it.
LEFT = re.compile(r"kafkacomp-2\.[0-9a-f]{32}-delete")
#: A record of more than a mebibyte, half of it random by a fixed rule.
VALUE = b"".join(hashlib.sha256(b"%d" % number).digest() + bytes(32) for number in range(22_000))
#: Levels whose contexts are of other sizes than those of the default.
LEVELS = {"gzip": (1, 9), "lz4": (1, 17), "zstd": (-5, 12, 22)}
MODULES = {name: getattr(kc, name) for name in CODECS[1:]}


def make_log(folder: Path) -> None:
    """Make a partition with batches of every codec, and the same data under each codec by itself."""
    batches, offset = [], 0
    for codec in CODECS:
        for values in ([VALUE], [b"a", VALUE[:700_000], VALUE[9:]]):
            builder = record.RecordBatchBuilder(compression_type=codec, base_offset=offset)
            for value in values:
                builder.append(value, key=b"k", timestamp=offset, headers=[("h", b"x")])
                offset += 1
            batches.append(builder.build())
    (folder / "t-0").mkdir(parents=True)
    (folder / "t-0" / f"{0:020}.log").write_bytes(b"".join(batches))


def _alternating(count: int) -> bytes:
    """Batches of one record each; every second one has neither key nor headers. Their columns have runs of one row."""
    kinds = []
    for key, headers in ((b"k", [("h", b"x")]), (None, [])):
        builder = record.RecordBatchBuilder(base_offset=0)
        builder.append(b"v", key=key, timestamp=0, headers=headers)
        kinds.append(builder.build()[8:])
    # No checksum covers the base offset.
    return b"".join(offset.to_bytes(8, "big") + kinds[offset % 2] for offset in range(count))


def _compressed(values: list[bytes]) -> bytes:
    """A batch of two records for each value, compressed."""
    batches = []
    for number, value in enumerate(values):
        builder = record.RecordBatchBuilder(compression_type=CODECS[1 + number % 4], base_offset=2 * number)
        for each in (value, value[::-1]):
            builder.append(each, timestamp=number)
        batches.append(builder.build())
    return b"".join(batches)


class Sink:
    """Takes what is written. ``io.BytesIO`` would be closed by an allocation that fails in it."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Take it."""
        self.taken.append(bytes(data))
        return len(data)


def _stream(module: Any) -> bytes:
    sink = Sink()
    with module.open(sink, "wb") as file:
        for start in range(0, len(VALUE), 300_000):
            file.write(VALUE[start : start + 300_000])
    return b"".join(sink.taken)


def _read_stream(module: Any, compressed: bytes) -> bytes:
    with module.open(io.BytesIO(compressed)) as file:
        return bytes(file.read())


@contextmanager
def suppress_no_memory() -> Iterator[None]:
    """Ignore that the system has no memory."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise


class Operations:
    """The operations by name, over the data in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.partition = str(folder / "t-0")
        self.segment = folder / "t-0" / f"{0:020}.log"
        self.data = self.segment.read_bytes()
        self.target = folder / "out-0"
        self.compressed = {name: module.compress(VALUE) for name, module in MODULES.items()}
        self.set = message_set.write_messages([VALUE, b"a", VALUE], compression_type="gzip")
        # More entries than an allocation that always succeeds has room for.
        numbers = range(1, 150_000)
        self.index = b"".join(n.to_bytes(4, "big") * 2 for n in numbers)
        self.epochs = b"0\n%d\n" % len(numbers) + b"".join(b"%d %d\n" % (n, n) for n in numbers)
        self.table = pa.table({"value": pa.array([VALUE] * 4, pa.binary()), "key": pa.array([b"k"] * 4, pa.binary())})

        self.alternating = _alternating(150_000)
        # The last batch always needs storage of its own; whether others do depends on when the rows before are taken.
        self.values = [*(VALUE[number : number + 90_000] for number in range(40)), VALUE]
        self.views = _compressed(self.values)

    def named(self) -> dict[str, Callable[[], Any]]:
        """All of them."""
        found: dict[str, Callable[[], Any]] = {
            name.removeprefix("_do_"): getattr(self, name) for name in dir(self) if name.startswith("_do_")
        }
        for codec, module in MODULES.items():
            compressed = self.compressed[codec]
            found[f"compress_{codec}"] = partial(module.compress, VALUE)
            for level in LEVELS.get(codec, ()):
                found[f"compress_{codec}_{level}"] = partial(module.compress, VALUE, level=level)
            found[f"decompress_{codec}"] = partial(module.decompress, compressed)
            found[f"stream_{codec}"] = partial(_stream, module)
            found[f"read_stream_{codec}"] = partial(_read_stream, module, compressed)
        return found

    def _scanned(self, threads: int = 1, **arguments: Any) -> list[Any]:
        reader = kc.scan(self.partition, options=kc.ScanOptions(threads=threads), **arguments)
        found = [pa.record_batch(batch) for batch in reader]
        assert not reader.report.skipped, reader.report
        return found

    def _do_scan(self) -> list[Any]:
        return self._scanned(threads=1)

    def _do_scan_skip(self) -> list[Any]:
        return self._scanned(threads=1, on_error="skip")

    def _do_scan_skip_threads(self) -> list[Any]:
        return self._scanned(threads=2, on_error="skip", columns=kc.arrow.COLUMNS)

    def _do_scan_alternating(self) -> list[Any]:
        columns = ["key", "headers", "baseOffset"]
        reader = kc.scan(self.alternating, columns=columns, options=kc.ScanOptions(threads=1, batch_rows=1 << 20))
        return [pa.record_batch(batch) for batch in reader]

    def _do_scan_views(self) -> list[bytes]:
        """Rows are views of the batches before, which must stay when there is no storage for the next one."""
        reader = kc.scan(self.views, columns=["value"], options=kc.ScanOptions(threads=1, binary_type="binary_view"))
        expected = [each for value in self.values for each in (value, value[::-1])]
        found: list[bytes] = []
        try:
            for batch in reader:
                found += pa.record_batch(batch)["value"].to_pylist()
        except MemoryError:
            assert found == expected[: len(found)], "other rows before the error"
            raise
        assert found == expected, "other rows"
        return found

    def _do_verify(self) -> object:
        report = log.verify_segment(str(self.segment))
        assert report.corrupt_batches == 0, report
        return (report.last_offset, report.corrupt_batches)

    def _made(self, make: Callable[[], object]) -> bytes:
        shutil.rmtree(self.target, ignore_errors=True)
        try:
            make()
        except BaseException:
            # Without memory, a folder cannot be listed to be removed. What is left is no data; the next run removes it.
            # Nor can this one be listed here, with one of the sizes: `check_afterwards` does.
            with suppress_no_memory():
                found = {path.name for path in self.folder.iterdir() if not LEFT.fullmatch(path.name)}
                assert found == {"t-0"}, "a partial target"
            raise
        with suppress_no_memory():
            data = b"".join(path.read_bytes() for path in sorted(self.target.rglob("*.log")))
            shutil.rmtree(self.target)
            return data
        raise MemoryError("the target cannot be listed here")

    def _do_repair(self) -> bytes:
        def repaired() -> None:
            report = log.repair(self.partition, str(self.target))
            assert not report.repairs, report

        return self._made(repaired)

    def _do_recompress(self) -> bytes:
        return self._made(lambda: log.recompress(self.partition, str(self.target), compression_type="zstd", threads=2))

    def _do_merge(self) -> bytes:
        def merged() -> None:
            log.recompress(self.partition, str(self.target), compression_type="lz4", batch_bytes=4 << 20)

        return self._made(merged)

    def _do_convert(self) -> bytes:
        no_zstd = b"".join(
            bytes(batch) for batch in record.read_batches(self.data) if batch.compression_type.value != 4
        )
        return record.convert(no_zstd, 1)

    def _do_write(self) -> bytes:
        return self._made(lambda: kc.write(self.table, str(self.folder), topic="out", compression_type="gzip"))

    def _do_records(self) -> list[Any]:
        return [(r.offset, r.key, r.value, r.headers) for batch in record.read_batches(self.data) for r in batch]

    def _do_build_batches(self) -> bytes:
        return record.build_batches(self.table, compression_type="lz4")

    def _do_decompress_cells(self) -> Any:
        cells = pa.array([self.compressed["zstd"], b"bad", self.compressed["zstd"]], pa.binary())
        return pa.array(kc.arrow.decompress_cells(cells, "zstd", on_error="null"))

    def _do_compress_cells(self) -> Any:
        return pa.array(kc.arrow.compress_cells(pa.array([VALUE, b"x"], pa.binary()), "gzip", on_error="null"))

    def _do_parse_cells(self) -> Any:
        return pa.array(kc.arrow.parse_cells(pa.array([self.data, None], pa.binary()), on_error="null"))

    def _do_messages(self) -> list[Any]:
        return [(offset, message.payload) for message, offset in message_set.read_messages(self.set)]

    def _do_committed(self) -> list[Any]:
        return self._scanned(threads=2, on_error="skip", isolation_level="read_committed")

    def _do_side_files(self) -> list[Any]:
        return [log.read_offset_index(self.index, 0), log.read_leader_epoch_checkpoint(self.epochs)]

    def _do_write_messages(self) -> bytes:
        return message_set.write_messages([VALUE, VALUE], compression_type="snappy")


def one_size(shim: ctypes.CDLL, operation: Callable[[], Any], expected: Any, size: int) -> int:
    """Refuse all allocations of this size in a child; its exit status: 0 for the right data or ``MemoryError``."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 1
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            shim.faults_arm(size, size, 0, 1 << 30)
            try:
                found = pool.submit(operation).result()
            finally:
                shim.faults_disarm()
        assert found == expected, "other data"
        status = 0
    except MemoryError:
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it is wrong
        traceback.print_exc()
    os._exit(status)


def check_afterwards(folder: Path, operation: Callable[[], Any], expected: Any) -> None:
    """With memory again, the operation has the right data, and removes what runs without memory have left."""
    assert operation() == expected, "other data afterwards"
    assert [path.name for path in folder.iterdir()] == ["t-0"], "what a run left"


def refuse_sizes(shim: ctypes.CDLL, folder: Path, operation: Callable[[], Any], least: int) -> Any:
    """Refuse the sizes that the operation asks for, one after another; the right data."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        shim.faults_record(1)
        expected = pool.submit(operation).result()
        shim.faults_record(0)
    sizes = [size for size in range(least, 1 << 20) if shim.faults_recorded(size)]
    for size in sizes:
        # A run that ended after its commit has left its target, which cannot be removed without memory.
        shutil.rmtree(folder / "out-0", ignore_errors=True)
        status = one_size(shim, operation, expected, size)
        print(f"size {size}: {status}", flush=True)  # noqa: T201 - a program
    print(len(sizes))  # noqa: T201 - a program
    return expected


def main() -> None:
    """Refuse one allocation after another."""
    folder, name, least = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    shim = ctypes.CDLL(None)
    shim.faults_arm.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_long, ctypes.c_long]
    shim.faults_recorded.argtypes = [ctypes.c_size_t]
    operations = Operations(folder)
    operation = operations.named()[name]
    if len(sys.argv) == 4:
        check_afterwards(folder, operation, refuse_sizes(shim, folder, operation, least))
        return
    most, at_most = map(int, sys.argv[4:6])
    expected = operation()
    refused = 0
    # A thread's first use makes its contexts, which are kept: so each attempt has a thread of its own.
    for number in (1, 1 << 30):
        for after in range(at_most):
            with ThreadPoolExecutor(1) as pool:
                pool.submit(int).result()
                shim.faults_arm(least, most, after, number)
                try:
                    found = pool.submit(operation).result()
                    shim.faults_disarm()
                    assert found == expected, f"other data after {after} allocations"
                except MemoryError:
                    pass
                finally:
                    seen = shim.faults_disarm()
            refused += shim.faults_refused()
            print(f"after {after} of {seen}", flush=True)  # noqa: T201 - a program
            if after >= seen:
                break
    check_afterwards(folder, operation, expected)
    print(refused)  # noqa: T201 - a program


if __name__ == "__main__":
    main()
