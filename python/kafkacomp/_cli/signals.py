"""Make SIGTERM end a command as Ctrl-C does, so that incomplete files are removed."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class TerminatedError(BaseException):
    """The process has received SIGTERM."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Raise :class:`TerminatedError` in the block when SIGTERM arrives, so that its ``finally`` clauses run."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # only the main thread may set handlers, and a handler of the caller is kept
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise TerminatedError
