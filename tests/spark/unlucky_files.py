"""A file system of fsspec for executors: files of the local disk, a read of which fails as a test asks.

The folder that ``UNLUCKY`` names has the file ``fault``: what happens to a read, and whether to one only or to each.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec.implementations.local import LocalFileSystem
from pyspark import TaskContext

if TYPE_CHECKING:
    from collections.abc import Callable

#: From this size on, allocations are refused: what data determine the size of.
LARGE = 1 << 20


class UnluckyFileSystem(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """``unlucky:///path``."""

    protocol = "unlucky"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(LocalFileSystem._strip_protocol(path.removeprefix("unlucky://")))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: object) -> Any:
        """Read a part of a file, or what the test wants."""
        with open(self._strip_protocol(path), "rb") as file:  # noqa: PTH123 - as fsspec has it
            file.seek(start or 0)
            content = file.read() if end is None else file.read(end - (start or 0))
        return content if start is None or not _in_task() else self._misfortune(content)

    def _misfortune(self, content: bytes) -> bytes:
        folder = Path(os.environ["UNLUCKY"])
        kind, _, often = (folder / "fault").read_text().partition(" ")
        if kind == "none":
            return content
        try:
            (folder / f"met-{kind}").touch(exist_ok=often == "always")
        except FileExistsError:
            return content
        return FAULTS[kind](content)


def _kill(content: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return content


def _raising(error: Exception) -> Callable[[bytes], bytes]:
    def fault(_: bytes) -> bytes:
        raise error

    return fault


def _refuse_allocations(content: bytes) -> bytes:
    """By the shim of ``../faults``, until the process ends, as that of a task that failed does."""
    ctypes.CDLL(None).faults_arm(ctypes.c_size_t(LARGE), ctypes.c_size_t(1 << 62), 0, 1 << 30)
    return content


FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "kill": _kill,
    "memory": _raising(MemoryError()),
    "allocator": _refuse_allocations,
    "mine": _raising(KeyError("mine")),
    "eio": _raising(OSError(errno.EIO, "Input/output error")),
    "gone": _raising(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")),
    "short": lambda content: content[: max(1, len(content) // 2)],
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


def _in_task() -> bool:
    """Not in the process that plans the tasks, which has no second attempt."""
    return TaskContext.get() is not None
