"""File objects and callbacks that fail, stall, come short or answer nonsense: the right rows or the right exception."""

from __future__ import annotations

import errno
import signal
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from faulty_files import Faulty, Gate, raising, unreadable
from grouped import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 20_000
THREADS = [1, 4]


def batches(start: int, stop: int) -> bytes:
    """A segment of batches of 100 records of 40 bytes."""
    rows = {"offset": pa.array(range(start, stop)), "value": [b"v" * 40] * (stop - start)}
    return kc.record.build_batches(pa.table(rows), base_offset=start, batch_bytes=16_384, compression_type="none")


FIRST, SECOND = batches(0, ROWS // 2), batches(ROWS // 2, ROWS)


@pytest.fixture
def url() -> str:
    """Two segments of one partition."""
    return Faulty.fill({f"{0:020}": FIRST, f"{ROWS // 2:020}": SECOND})


class UnrelatedError(Exception):
    """An error of the caller's own."""


class Fatal(BaseException):
    """An exception that is no error."""


def is_it(raised: BaseException, error: BaseException) -> bool:
    """Whether this is the exception of the file, or one of its kind that it caused, with the path of the file."""
    if raised is error or not isinstance(error, OSError):
        return raised is error
    return raised.__cause__ is error and type(raised) is type(error) and "/t-0/" in str(raised)


ENDING: list[BaseException] = [
    UnrelatedError("mine"),
    Fatal("mine"),
    KeyboardInterrupt(),
    SystemExit(3),
    MemoryError(),
    PermissionError(errno.EACCES, "no"),
    TimeoutError("too late"),
    InterruptedError(errno.EINTR, "interrupted"),
    OSError("without a number"),
    GeneratorExit(),
]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("after", [0, 2, 4])
@pytest.mark.parametrize("error", ENDING, ids=lambda error: type(error).__name__)
def test_an_exception_of_a_file_ends_the_scan_as_it_is(
    url: str, error: BaseException, after: int, on_error: Any
) -> None:
    """Also one that strict reading would not call corruption: nothing is stepped over."""
    for threads in THREADS:
        Faulty.reads = 0
        Faulty.fault = raising(error, after)
        reader = kc.scan(url, on_error=on_error, options=kc.ScanOptions(threads=threads))
        with pytest.raises(type(error)) as raised:
            list(reader)
        assert is_it(raised.value, error)
        assert reader.error is raised.value


@pytest.mark.parametrize("place", ["at_size", "at_side"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), UnrelatedError("mine"), MemoryError()], ids=repr)
def test_an_exception_while_opening(url: str, error: BaseException, on_error: Any, place: str) -> None:
    """The size of a segment, or a side file of it, that the caller's code does not give."""

    def fail(_path: str) -> None:
        raise error

    setattr(Faulty, place, staticmethod(fail))
    for isolation_level, bounds in (("read_committed", {}), ("read_uncommitted", {"start_offset": 5_000})):
        with pytest.raises(type(error)) as raised:  # the log directory's checkpoints are read by scan itself
            list(kc.scan(url, on_error=on_error, isolation_level=isolation_level, **grouped(**bounds)))  # type: ignore[arg-type]
        assert raised.value is error


@pytest.mark.parametrize("threads", THREADS)
def test_stop_iteration_is_not_the_end(url: str, threads: int) -> None:
    """A for loop over the reader would take it for that."""
    Faulty.fault = raising(StopIteration("mine"))
    with pytest.raises(RuntimeError, match="a file object raised StopIteration") as raised:
        list(kc.scan(url, options=kc.ScanOptions(threads=threads)))
    assert isinstance(raised.value.__cause__, StopIteration)

    def progress(_done: int, _total: int) -> None:
        raise StopIteration

    Faulty.fault = None
    with pytest.raises(RuntimeError, match="progress raised StopIteration"):
        list(kc.scan(url, progress=progress, options=kc.ScanOptions(threads=threads)))


@pytest.mark.parametrize("error", [UnrelatedError("mine"), Fatal("mine"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_an_exception_of_progress_ends_the_scan_as_it_is(url: str, error: BaseException) -> None:
    def progress(_done: int, _total: int) -> None:
        raise error

    reader = kc.scan(url, progress=progress)
    with pytest.raises(type(error)) as raised:
        list(reader)
    assert raised.value is error
    assert next(reader, None) is None


@pytest.mark.parametrize("threads", THREADS)
def test_short_reads(url: str, threads: int) -> None:
    """A read that brings less than was asked for is continued."""
    Faulty.fault = lambda _path, _start, _end, content: content[:1000]
    assert pa.table(kc.scan(url, options=kc.ScanOptions(threads=threads))).num_rows == ROWS


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_other_kinds(url: str, kind: Callable[[bytes], Any]) -> None:
    Faulty.fault = lambda _path, _start, _end, content: kind(content)
    assert pa.table(kc.scan(url)).num_rows == ROWS


@pytest.mark.parametrize("threads", THREADS)
def test_no_bytes_before_the_end(url: str, threads: int) -> None:
    """It is not the end."""
    Faulty.fault = lambda _path, start, _end, content: b"" if start > 100_000 else content
    with pytest.raises(OSError, match=r"read_at\(.*\) returned no bytes of a file of \d+ bytes") as raised:
        list(kc.scan(url, options=kc.ScanOptions(threads=threads)))
    assert raised.value.errno == errno.EIO


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_file_that_becomes_shorter(url: str, threads: int, on_error: Any) -> None:
    """Its size says so when a read brings nothing. The complete batches before its end are returned."""

    def fault(path: str, start: int, end: int, content: bytes) -> bytes:
        if path.endswith(f"{0:020}.log"):
            Faulty.files[path] = content = FIRST[:50_000]
            return content[start:end]
        return content

    Faulty.fault = fault
    whole = kc.record.open_batches(FIRST[:50_000], may_be_truncated=True)
    complete = sum(batch.records_count or 0 for batch in whole)
    scan = kc.scan(url, on_error=on_error, columns=["offset"], options=kc.ScanOptions(threads=threads))
    offsets: list[int] = []
    message = f"truncated during the scan at byte 50000, {len(FIRST)} bytes"
    if on_error == "raise":
        with pytest.raises(kc.CorruptRecordError, match=message):
            for batch in scan:
                offsets += batch["offset"].to_pylist()
        assert offsets == [*range(complete)]
        return
    for batch in scan:
        offsets += batch["offset"].to_pylist()
    assert offsets == [*range(complete), *range(ROWS // 2, ROWS)]
    (skipped,) = scan.report.skipped
    assert skipped.position == 50_000 - whole.partial_bytes
    assert skipped.position + skipped.length == len(FIRST)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda _content: "text", TypeError, "read_at must return bytes, not str"),
        (lambda _content: None, TypeError, "read_at must return bytes, not NoneType"),
        (lambda _content: [1, 2], TypeError, "read_at must return bytes, not list"),
        (lambda content: content + b"x", ValueError, r"read_at\(\d+, 0\) returned \d+ bytes"),
        (lambda content: content * 100, ValueError, r"read_at\(\d+, 0\) returned \d+ bytes"),
    ],
)
def test_wrong_answers(url: str, answer: Any, error: type[Exception], message: str, on_error: Any) -> None:
    Faulty.fault = lambda _path, _start, _end, content: answer(content)
    with pytest.raises(error, match=message):
        list(kc.scan(url, on_error=on_error))


@pytest.mark.parametrize(
    ("size", "error"), [(-1, ValueError), (2**64, ValueError), ("x", ValueError), (None, TypeError)]
)
def test_wrong_sizes(url: str, size: Any, error: type[Exception]) -> None:
    Faulty.at_size = staticmethod(lambda _path: size)
    with pytest.raises(error):
        list(kc.scan(url, on_error="skip"))


@pytest.mark.parametrize("threads", THREADS)
def test_an_unreadable_segment(url: str, threads: int) -> None:
    """EIO: strict reading raises it with the path; skip mode lists it and reads the other segment."""
    error = unreadable()

    def fault(path: str, _start: int, _end: int, content: bytes) -> bytes:
        if path.endswith(f"{0:020}.log"):
            raise error
        return content

    Faulty.fault = fault
    with pytest.raises(OSError, match="Input/output error") as raised:
        list(kc.scan(url, options=kc.ScanOptions(threads=threads)))
    assert is_it(raised.value, error)
    reader = kc.scan(url, on_error="skip", options=kc.ScanOptions(threads=threads, log_format="0.8+"))
    table = pa.table(reader)
    assert table.column("offset").to_pylist() == list(range(ROWS // 2, ROWS))
    assert {each.reason for each in reader.report.skipped} == {"unreadable"}


@pytest.mark.parametrize("threads", THREADS)
def test_an_unreadable_range(url: str, threads: int) -> None:
    """EIO where a disk has bad sectors: skip mode delivers every batch outside, and names the others' offsets."""
    begin, end = 200_000, 204_096

    def fault(path: str, start: int, stop: int, content: bytes) -> bytes:
        if path.endswith(f"{0:020}.log") and start < end and stop > begin:
            raise unreadable()
        return content

    Faulty.fault = fault
    with pytest.raises(OSError, match="Input/output error"):
        list(kc.scan(url, options=kc.ScanOptions(threads=threads, log_format="0.8+")))
    reader = kc.scan(url, on_error="skip", options=kc.ScanOptions(threads=threads, log_format="0.8+"))
    offsets = pa.table(reader).column("offset").to_pylist()
    touched = [
        each
        for each in kc.record.read_batches(FIRST)
        if each.position < end and each.position + each.size_in_bytes > begin
    ]
    lost = range(touched[0].base_offset, touched[-1].last_offset + 1)
    assert offsets == [each for each in range(ROWS) if each not in lost]
    (missing,) = reader.report.missing
    assert (missing.first_offset, missing.last_offset, missing.reason) == (lost[0], lost[-1], "unreadable")


@pytest.mark.parametrize("threads", THREADS)
def test_a_segment_that_vanished(url: str, threads: int) -> None:
    """FileNotFoundError: the same."""
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "mine")

    def size(path: str) -> int:
        if path.endswith(f"{0:020}.log"):
            raise error
        return len(SECOND)

    Faulty.at_size = staticmethod(size)
    with pytest.raises(FileNotFoundError) as raised:
        list(kc.scan(url, options=kc.ScanOptions(threads=threads)))
    assert raised.value is error
    reader = kc.scan(url, on_error="skip", options=kc.ScanOptions(threads=threads))
    assert pa.table(reader).column("offset").to_pylist() == list(range(ROWS // 2, ROWS))
    assert {each.reason for each in reader.report.skipped} == {"vanished"}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnrelatedError("mine"), "UnrelatedError: mine"),
        (KeyError("mine"), "KeyError: 'mine'"),
        (MemoryError(), "MemoryError"),
        (unreadable(), "Input/output error"),
        (SystemExit(3), "SystemExit: 3"),
    ],
    ids=repr,
)
def test_the_text_that_an_arrow_consumer_gets(url: str, error: BaseException, text: str) -> None:
    """A C stream carries a text, which must not be empty, and whether it lacks memory; the reader has the exception."""
    Faulty.fault = raising(error)
    reader = kc.scan(url)
    expected = next((each for each in (MemoryError, OSError) if isinstance(error, each)), pa.ArrowInvalid)
    with pytest.raises(expected, match=text):
        pa.table(reader)
    assert reader.error is not None
    assert is_it(reader.error, error)


def test_an_interrupt_in_an_arrow_consumer(url: str) -> None:
    """The consumer's error says what it was, and the reader has it to be raised again."""

    def progress(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    reader = kc.scan(url, progress=progress)
    with pytest.raises(pa.ArrowInvalid, match="KeyboardInterrupt"):
        pa.table(reader)
    assert isinstance(reader.error, KeyboardInterrupt)


@pytest.mark.parametrize("threads", THREADS)
def test_close_while_another_thread_reads(url: str, threads: int) -> None:
    """The reading thread is told so at once, although its read does not return."""
    gate = Gate()
    Faulty.fault = gate
    reader = kc.scan(url, options=kc.ScanOptions(threads=threads, log_format="0.8+"))
    raised: list[BaseException] = []

    def consume() -> None:
        try:
            list(reader)
        except ValueError as error:
            raised.append(error)

    thread = threading.Thread(target=consume)
    thread.start()
    assert gate.waiting.wait(60)
    assert not reader.closed
    with pytest.raises(ValueError, match="this scan is being read"):
        next(reader)
    reader.close()
    thread.join(60)
    gate.opened.set()
    assert not thread.is_alive()
    assert "closed" in str(raised[0])
    with pytest.raises(ValueError, match="closed"):
        next(reader)


def test_close_in_the_callback(url: str) -> None:
    """The batch that it was called for still comes; the scan is over."""
    calls = []

    def progress(done: int, _total: int) -> None:
        calls.append(done)
        assert not reader.closed
        reader.close()
        assert reader.closed

    reader = kc.scan(url, progress=progress, options=kc.ScanOptions(batch_rows=100))
    assert next(reader).num_rows == 100
    with pytest.raises(ValueError, match="closed"):
        next(reader)
    assert len(calls) == 1


def test_an_interrupt_during_a_slow_read(url: str) -> None:
    """Ctrl-C arrives although the read does not return."""
    import _thread  # noqa: PLC0415 - only here

    gate = Gate()
    Faulty.fault = gate

    def interrupt() -> None:
        gate.waiting.wait(60)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    reader = kc.scan(url, options=kc.ScanOptions(threads=2))
    # A shell starts what runs in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            next(reader)
        assert not gate.opened.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
        gate.opened.set()
        thread.join()


def test_a_generator_that_writes_to_the_same_batches(tmp_path: Any) -> None:
    """Rows are taken from the caller's reader without the lock, so that the reader may use it itself."""
    from kafkacomp._kafkacomp import StagedBatches  # noqa: PLC0415 - internal
    from kafkacomp.spark._write_options import parse  # noqa: PLC0415 - internal

    options = parse({"path": str(tmp_path), "topic": "t", "numPartitions": "1"})
    staged = StagedBatches(options.settings(), tmp_path / "x", "t", 1, {}, 0)
    rows = pa.table({"value": [b"a"] * 10})

    def generate() -> Any:
        for batch in rows.to_batches():
            staged.push(rows)
            yield batch

    staged.push(pa.RecordBatchReader.from_batches(rows.schema, generate()))
    assert sum(file.records for file in staged.finish()) == 20


def test_wrong_answers_of_every_reader_of_segments(url: str) -> None:
    """What is found before a scan (splits, bounds, transactions) has the same rules."""
    from kafkacomp import _kafkacomp  # noqa: PLC0415 - internal
    from kafkacomp.tiered.source import resolve  # noqa: PLC0415 - internal

    (partition,) = resolve(url)
    segment = partition.segments[0]
    skip, is_new = False, True
    for error in (KeyboardInterrupt(), UnrelatedError("mine"), unreadable()):
        calls: list[Callable[[], object]] = [
            lambda: _kafkacomp.split_segment(segment, 1000, "0.8+"),
            lambda: _kafkacomp.is_message_set(segment),
            lambda: _kafkacomp.end_offset(segment, "0.8+"),
            lambda: _kafkacomp.offset_for_time(partition, 0, "0.8+", skip, 1 << 30),
            lambda: _kafkacomp.find_transactions(partition, "0.8+", skip),
            lambda: _kafkacomp.LogFollower(skip).follow(segment, is_new, skip),
        ]
        for call in calls:
            Faulty.fault = raising(error)
            with pytest.raises(type(error)) as raised:
                call()
            assert is_it(raised.value, error)
