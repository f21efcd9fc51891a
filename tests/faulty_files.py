"""An fsspec file system over one partition in memory whose reads fail, stall or come short, as a test asks."""

from __future__ import annotations

import errno
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import fsspec
from fsspec import AbstractFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROTOCOL = "faulty"


class Faulty(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files by path. ``fault(path, start, end, content)`` answers each ranged read."""

    protocol = PROTOCOL
    cachable = False
    files: ClassVar[dict[str, bytes]] = {}
    fault: ClassVar[Any] = None
    #: Called instead of giving the size, or the content of a side file.
    at_size: ClassVar[Any] = None
    at_side: ClassVar[Any] = None
    #: How many ranged reads there were, and how many listings.
    reads: ClassVar[int] = 0
    listings: ClassVar[int] = 0

    @classmethod
    def fill(cls, contents: Mapping[str, bytes], folder: str = "t-0") -> str:
        """Put segments there, by the digits of their names, and nothing else; returns the partition's URL."""
        cls.files = {f"/{folder}/{name}.log": content for name, content in contents.items()}
        cls.fault = cls.at_size = cls.at_side = None
        cls.reads = cls.listings = 0
        return f"{PROTOCOL}://{folder}"

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return "/" + path.removeprefix(f"{PROTOCOL}://").strip("/")

    def info(self, path: str, **_: object) -> dict[str, Any]:
        """Look at a path."""
        path = self._strip_protocol(path)
        if path in self.files:
            return {"name": path, "type": "file", "size": len(self.files[path])}
        if any(name.startswith(f"{path}/") for name in self.files):
            return {"name": path, "type": "directory", "size": 0}
        if type(self).at_side is not None:
            return {"name": path, "type": "file", "size": None}
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: object) -> list[Any]:  # noqa: FBT002 - fsspec's own
        """List a folder."""
        type(self).listings += 1
        path = self._strip_protocol(path)
        found = sorted(name for name in self.files if name.rpartition("/")[0] == path)
        return [self.info(name) for name in found] if detail else found

    def size(self, path: str) -> Any:
        """Give a file's size, or what the test wants."""
        if type(self).at_size is not None:
            return type(self).at_size(path)
        return len(self.files[self._strip_protocol(path)])

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: object) -> Any:
        """Read a file, or what the test wants."""
        path = self._strip_protocol(path)
        if start is None or end is None:
            if type(self).at_side is not None:
                return type(self).at_side(path)
            if path not in self.files:
                raise FileNotFoundError(path)
            return self.files[path]
        type(self).reads += 1
        content = self.files[path][start:end]
        return content if type(self).fault is None else type(self).fault(path, start, end, content)


fsspec.register_implementation(PROTOCOL, Faulty, clobber=True)


def raising(error: BaseException | type[BaseException], after: int = 0) -> Callable[..., Any]:
    """Fail from the read after ``after`` on."""

    def fault(_path: str, _start: int, _end: int, content: bytes) -> bytes:
        if Faulty.reads > after:
            raise error
        return content

    return fault


def unreadable() -> OSError:
    """What a storage says that does not return its bytes."""
    return OSError(errno.EIO, "Input/output error")


def slow(seconds: float, after: int = 0) -> Callable[..., Any]:
    """Take time for each read after the first ``after``."""

    def fault(_path: str, _start: int, _end: int, content: bytes) -> bytes:
        if Faulty.reads > after:
            time.sleep(seconds)
        return content

    return fault


class Gate:
    """Reads after the first ``after`` wait until it is opened."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.waiting = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _path: str, _start: int, _end: int, content: bytes) -> bytes:
        """Answer a ranged read."""
        if Faulty.reads > self.after:
            self.waiting.set()
            self.opened.wait(60)
        return content
