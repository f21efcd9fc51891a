"""Sources and sinks of codec streams that fail, stall or come short: the right data or the right exception."""

from __future__ import annotations

import contextlib
import errno
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES = {name: getattr(kc, name) for name in ("gzip", "snappy", "lz4", "zstd")}
LINES = [b"%d %s\n" % (number, random.Random(number).randbytes(40).hex().encode()) for number in range(6_000)]
PLAIN = b"".join(LINES)


class Mine(Exception):  # noqa: N818 - a caller's
    """An error of the caller's."""


#: Made anew for each use: an exception that was raised has a traceback.
ERRORS: dict[str, Callable[[], BaseException]] = {
    "EIO": lambda: OSError(errno.EIO, "Input/output error"),
    "interrupt": KeyboardInterrupt,
    "exit": SystemExit,
    "memory": MemoryError,
    "mine": lambda: Mine("mine"),
    "end of file": lambda: EOFError("the connection was closed"),
}


class Source:
    """Bytes, as many at once as ``take`` says; the read with the number ``fails`` raises."""

    def __init__(
        self, data: bytes, take: Callable[[int], int], fails: int = -1, error: Callable[[], BaseException] = Mine
    ) -> None:
        self.data, self.take, self.fails, self.error = data, take, fails, error
        self.at = self.reads = 0

    def read(self, size: int = -1) -> bytes:
        """Give bytes."""
        self.reads += 1
        if self.reads == self.fails:
            raise self.error()
        size = len(self.data) if size < 0 else size
        given = self.data[self.at : self.at + max(1, self.take(size))]
        self.at += len(given)
        return given


def whole(size: int) -> int:
    return size


def one(_: int) -> int:
    return 1


def some(size: int) -> int:
    return random.randint(1, size)


def slowly(size: int) -> int:
    time.sleep(0.002)
    return min(size, 4096)


@pytest.mark.parametrize("take", [whole, one, some, slowly], ids=lambda take: take.__name__)
@pytest.mark.parametrize("codec", MODULES)
def test_short_and_slow_reads(codec: str, take: Callable[[int], int]) -> None:
    plain = PLAIN[:50_000] if take is one else PLAIN
    source = Source(MODULES[codec].compress(plain), take)
    with MODULES[codec].open(source) as file:
        assert file.read() == plain
    source = Source(MODULES[codec].compress(plain), take)
    with MODULES[codec].open(source) as file:
        assert b"".join(file) == plain


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("codec", MODULES)
def test_a_read_that_fails(codec: str, name: str) -> None:
    """Whichever it is: what came before is right, the exception is the caller's own, and the next read goes on."""
    compressed = MODULES[codec].compress(PLAIN)
    error = type(ERRORS[name]())
    for fails in range(1, 200):
        source = Source(compressed, lambda size: min(size, 3000), fails, ERRORS[name])
        file = MODULES[codec].open(source)
        found = b""
        failed = 0
        while True:
            try:
                piece = file.read1(10_000)
            except error:
                failed += 1
                continue
            if not piece:
                break
            found += piece
        assert found == PLAIN
        assert failed == (fails <= source.reads)
        if not failed:
            break


@pytest.mark.parametrize("codec", MODULES)
def test_stop_iteration_is_not_the_end(codec: str) -> None:
    """It would end the loop over a file as if there were no more lines."""
    compressed = MODULES[codec].compress(PLAIN)
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(MODULES[codec].open(Source(compressed, lambda size: min(size, 3000), 3, StopIteration)))


@pytest.mark.parametrize("answer", ["text", 5, [1, 2], object(), memoryview(b"abcd").cast("H")], ids=repr)
@pytest.mark.parametrize("codec", MODULES)
def test_wrong_answers(codec: str, answer: Any) -> None:
    class Wrong:
        def read(self, _size: int = -1) -> Any:
            return answer

    with pytest.raises((TypeError, ValueError, OSError, EOFError, kc.KafkaCompError)):
        MODULES[codec].open(Wrong()).read()


class Sink:
    """Takes what is written, as much at once as ``take`` says; the write with the number ``fails`` raises."""

    def __init__(self, take: Callable[[int], int], fails: int = -1, error: Callable[[], BaseException] = Mine) -> None:
        self.take, self.fails, self.error = take, fails, error
        self.writes = 0
        self.taken = bytearray()

    def write(self, data: bytes) -> int:
        """Take bytes."""
        self.writes += 1
        if self.writes == self.fails:
            raise self.error()
        taken = bytes(data)[: max(1, self.take(len(data)))]
        self.taken += taken
        return len(taken)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("codec", MODULES)
def test_a_write_that_fails(codec: str, name: str) -> None:
    """The exception is the caller's, and closing writes nothing that was not written."""
    error = type(ERRORS[name]())
    for fails in range(1, 50):
        sink = Sink(whole, fails, ERRORS[name])
        failed = False
        try:
            with MODULES[codec].open(sink, "wb") as file:
                for start in range(0, len(PLAIN), 50_000):
                    file.write(PLAIN[start : start + 50_000])
        except error:
            failed = True
        assert failed == (fails <= sink.writes)
        if not failed:
            assert MODULES[codec].decompress(bytes(sink.taken)) == PLAIN
            break
        # What was written up to the failure, or a stream without its end.
        with contextlib.suppress(kc.KafkaCompError):
            assert PLAIN.startswith(MODULES[codec].decompress(bytes(sink.taken)))


@pytest.mark.parametrize("take", [some, one], ids=lambda take: take.__name__)
@pytest.mark.parametrize("codec", MODULES)
def test_short_writes(codec: str, take: Callable[[int], int]) -> None:
    """A sink that takes less than it is given."""
    plain = PLAIN[:20_000]
    sink = Sink(take)
    try:
        with MODULES[codec].open(sink, "wb") as file:
            file.write(plain)
    except OSError:
        return
    assert MODULES[codec].decompress(bytes(sink.taken)) == plain
