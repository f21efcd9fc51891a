"""Adapt object stores of pyarrow.fs, fsspec and obstore to one interface for finding and reading segments.

Exceptions of the libraries are not changed here; :mod:`kafkacomp._storage.remote_files` adds the object's name.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kafkacomp._extras import fs

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._storage.ranges import File

#: The most bytes of an index, a snapshot or a checkpoint: as many entries as a segment of 2 GiB has batches. Kafka's
#: default of ``segment.index.bytes`` is 10 MiB.
MOST_BYTES = 256 << 20
_PIECE = 8 << 20


@dataclass(frozen=True)
class Entry:
    """A file or folder."""

    path: str
    is_dir: bool
    size: int


class Store(Protocol):
    """The operations of a store; paths have no scheme."""

    def info(self, path: str) -> Entry:
        """Get the entry of a path; FileNotFoundError if it does not exist."""

    def list(self, path: str) -> list[Entry]:
        """List a folder."""

    def read(self, path: str) -> bytes | None:
        """Read a small file; ``None`` if it does not exist."""

    def open(self, path: str) -> File:
        """Open a file for reads at positions."""


def check_size(size: int, path: str) -> None:
    """Raise OSError for a file that is too large to be an index or a checkpoint."""
    if size > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MiB: too large to be an index or a checkpoint", path)


@dataclass(frozen=True)
class _OpenFile:
    """A file of a store, by the functions of its library."""

    get_size: Callable[[], int]
    get_range: Callable[[int, int], bytes]

    def size(self) -> int:
        return int(self.get_size())

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self.get_range(nbytes, offset)  # unchanged: the core refuses what is not bytes


class ArrowStore:
    """A file system of pyarrow.

    ``lookup`` is one that retries less, by which paths are looked up: a store that does not answer is noticed there.
    """

    def __init__(self, filesystem: Any, lookup: Any = None) -> None:  # noqa: ANN401 - pyarrow is an extra
        self._fs = filesystem
        self._lookup = filesystem if lookup is None else lookup

    def _entry(self, info: Any) -> Entry:  # noqa: ANN401 - pyarrow is an extra
        kind = fs.FileType
        return Entry(info.path, info.type == kind.Directory, info.size or 0)

    def info(self, path: str) -> Entry:
        info = self._lookup.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._entry(info)

    def list(self, path: str) -> list[Entry]:
        selector = fs.FileSelector(path)
        return [self._entry(info) for info in self._fs.get_file_info(selector)]

    def read(self, path: str) -> bytes | None:
        try:
            with self._fs.open_input_stream(path) as stream:
                pieces: list[bytes] = []
                size = 0
                while piece := stream.read(_PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    check_size(size, path)
        except FileNotFoundError:
            return None
        return b"".join(pieces)

    def open(self, path: str) -> File:
        file = self._fs.open_input_file(path)

        def read_at(nbytes: int, offset: int) -> bytes:
            try:
                content: bytes = file.read_at(nbytes, offset)
            except OSError as error:
                self._raise_if_deleted(path, error)
                raise
            return content

        return _OpenFile(file.size, read_at)

    def _raise_if_deleted(self, path: str, error: OSError) -> None:
        """FileNotFoundError for an object that was deleted since it was opened, which pyarrow does not raise."""
        try:
            self.info(path)
        except FileNotFoundError as gone:
            raise gone from error
        except OSError:
            return  # the first failure says more


class FsspecStore(ArrowStore):
    """A file system of fsspec, through pyarrow's FSSpecHandler."""

    def __init__(self, filesystem: Any) -> None:  # noqa: ANN401 - fsspec is an extra
        super().__init__(fs.PyFileSystem(fs.FSSpecHandler(filesystem)))
        self._inner = filesystem

    def list(self, path: str) -> list[Entry]:
        self._inner.invalidate_cache(path)  # files may have grown since the last listing
        return super().list(path)

    def read(self, path: str) -> bytes | None:
        try:
            check_size(self._inner.info(path).get("size") or 0, path)
            content: bytes = self._inner.cat_file(path)
        except FileNotFoundError:
            return None
        return content

    def open(self, path: str) -> File:
        # pyarrow would open a buffered file, which fetches up to 50 MB for every read.
        return _OpenFile(
            partial(self._inner.size, path),
            lambda nbytes, offset: self._inner.cat_file(path, start=offset, end=offset + nbytes),
        )


class ObstoreStore:
    """A store of obstore: paths are keys, and folders are common prefixes of keys up to a slash."""

    def __init__(self, store: Any) -> None:  # noqa: ANN401 - obstore's
        self._store = store

    def info(self, path: str) -> Entry:
        if path:
            try:
                return Entry(path, is_dir=False, size=int(self._store.head(path)["size"]))
            except FileNotFoundError:
                pass
        found = self._store.list_with_delimiter(path or None)
        if not found["common_prefixes"] and not found["objects"]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return Entry(path, is_dir=True, size=0)

    def list(self, path: str) -> list[Entry]:
        found = self._store.list_with_delimiter(path or None)
        folders = [Entry(each.rstrip("/"), is_dir=True, size=0) for each in found["common_prefixes"]]
        return folders + [Entry(each["path"], is_dir=False, size=int(each["size"])) for each in found["objects"]]

    def read(self, path: str) -> bytes | None:
        try:
            return bytes(self._store.get(path).bytes())
        except FileNotFoundError:
            return None

    def open(self, path: str) -> File:
        return _OpenFile(
            lambda: self._store.head(path)["size"],
            lambda nbytes, offset: bytes(self._store.get_range(path, start=offset, length=nbytes)),
        )
