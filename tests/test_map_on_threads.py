"""Calls on threads: results in order, errors after the running calls have ended, interrupts at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kafkacomp import log
from kafkacomp._threads import map_on_threads

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("threads", [1, 2, 40])
def test_results_are_in_the_order_of_the_items(threads: int) -> None:
    assert list(map_on_threads(lambda each: each * 2, range(20), threads)) == [each * 2 for each in range(20)]
    assert list(map_on_threads(str, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_waits_for_the_calls_that_run(threads: int) -> None:
    """And no further one is started. The error is that of the first item that has one."""
    before = threading.active_count()
    started = []

    def call(item: int) -> int:
        started.append(item)
        if item in {2, 3}:
            raise ValueError(item)
        threading.Event().wait(0.01)
        return item

    with pytest.raises(ValueError, match="2"):
        list(map_on_threads(call, range(1_000), threads))
    assert len(started) < 1_000
    assert threading.active_count() == before


def test_an_interrupt_does_not_wait_for_the_calls_that_run() -> None:
    started, released = [], threading.Event()

    def call(item: int) -> int:
        started.append(item)
        if item == 0:
            raise KeyboardInterrupt
        released.wait()
        return item

    with pytest.raises(KeyboardInterrupt):
        list(map_on_threads(call, range(100), 3))
    assert len(started) <= 5
    released.set()


def test_an_interrupt_ends_the_calls_of_the_core_that_run(tmp_path: Path) -> None:
    """Each would take hours: the file is a terabyte of zeros."""
    path = tmp_path / f"{0:020}.log"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    before, running, ended = set(threading.enumerate()), threading.Semaphore(0), []

    def call(item: int) -> None:
        if item == 0:
            running.acquire()
            running.acquire()
            raise KeyboardInterrupt
        running.release()
        try:
            log.verify_segment(path)
        except BaseException as error:
            ended.append(type(error))
            raise

    with pytest.raises(KeyboardInterrupt):
        list(map_on_threads(call, range(3), 3))
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert ended == [KeyboardInterrupt] * 2
