"""Threads for calls of the core that Ctrl-C must end.

Python delivers signals to the main thread only, so a call of the core notices Ctrl-C there and nowhere else.
``concurrent.futures`` waits for the calls on its threads, also when the process ends: for hours, if one of them reads a
sparse file of a terabyte.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from kafkacomp._kafkacomp import StopFlag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_on_threads(call: Callable[[_Item], _Result], items: Iterable[_Item], threads: int) -> Iterator[_Result]:
    """Call a function with each item on threads; yield the results in the order of the items.

    A single item, or all items if there is one thread, are passed on the caller's thread, where the core notices
    Ctrl-C. No further call starts after an error or an interrupt. An error waits for the calls that are running. An
    interrupt does not: the core ends them when it reads on, and a blocked read runs on in a daemon thread.
    """
    pending = [(item, Future[_Result]()) for item in items]
    if threads == 1 or len(pending) <= 1:
        yield from (call(item) for item, _ in pending)
        return
    todo = iter(pending)
    lock, stopped, interrupted = threading.Lock(), threading.Event(), StopFlag()

    def work() -> None:
        interrupted.obey()
        while not stopped.is_set():
            with lock:
                task = next(todo, None)
            if task is None:
                return
            _settle(task[1], call, task[0])

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(pending)))]
    try:
        for worker in workers:
            worker.start()
        for _, future in pending:
            yield future.result()
    except Exception:
        stopped.set()
        for worker in workers:
            worker.join()
        raise
    except BaseException:
        interrupted.set()
        raise
    finally:
        stopped.set()


def _settle(future: Future[_Result], call: Callable[[_Item], _Result], item: _Item) -> None:
    try:
        future.set_result(call(item))
    except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
        future.set_exception(error)
