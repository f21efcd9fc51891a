"""Binary file objects as segments."""

from __future__ import annotations

import io
import threading
from typing import Any


class FileObject:
    """A file object that the core reads at positions, with several threads."""

    #: A captured record set may end with a truncated batch.
    may_be_truncated = True

    def __init__(self, file: Any, name: str) -> None:  # noqa: ANN401 - whatever reads and seeks
        self.name = name
        self._file = file
        self._lock = threading.Lock()

    def open_segment(self) -> FileObject:
        """The file itself, which the caller closes."""
        return self

    def side_file(self, _suffix: str) -> None:
        """No side files: a file object has no folder."""
        return

    def size(self) -> int:
        """Length in bytes."""
        with self._lock:
            return int(self._file.seek(0, io.SEEK_END) or self._file.tell())

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read bytes at a position; the result is shorter only at the end of the file."""
        pieces = []
        with self._lock:
            self._file.seek(offset)
            while nbytes > 0:
                piece = self._file.read(nbytes)
                if not piece:
                    break
                pieces.append(piece)
                nbytes -= len(piece)
        return b"".join(pieces)


def open_file_object(file: Any) -> FileObject:  # noqa: ANN401 - whatever can be read
    """Make a segment of a binary file object. If it cannot seek, it is read into memory.

    Raises:
        TypeError: the file is opened in text mode or for writing.
        ValueError: the file is closed.
    """
    name = getattr(file, "name", None) or getattr(file, "path", None)
    name = name if isinstance(name, str) else f"<{type(file).__name__}>"
    if getattr(file, "closed", False):
        raise ValueError(f"{name}: the file object is closed: open it again")
    if hasattr(file, "readable") and not file.readable():
        raise TypeError(f"{name}: the file object is not open for reading: open it with mode 'rb'")
    if not isinstance(file.read(0), bytes):
        raise TypeError(f"{name}: the file object must be binary: open it with mode 'rb'")
    seekable = getattr(file, "seekable", None)
    if seekable is None or not seekable():
        return FileObject(io.BytesIO(file.read()), name)
    return FileObject(file, name)
