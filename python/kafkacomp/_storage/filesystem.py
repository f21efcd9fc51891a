"""File systems: the local one by ``os``, any other by pyarrow.fs or, where pyarrow has none, by fsspec."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kafkacomp._extras import require
from kafkacomp._storage.names import parent_of, side_file
from kafkacomp._storage.ranges import AheadFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp._storage.ranges import File
    from kafkacomp._types import StrPath

__all__ = [
    "Entry",
    "FileSystem",
    "is_url",
    "local_folder",
    "open_companion",
    "open_filesystem",
    "open_local",
    "path_of_file_url",
    "read_local",
    "read_side_file",
]

#: The most bytes of an index, a snapshot or a checkpoint: as many entries as a segment of 2 GiB has batches. Kafka's
#: default of ``segment.index.bytes`` is 10 MiB.
MOST_BYTES = 256 << 20
_PIECE = 8 << 20

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True)
class Entry:
    """A file or folder."""

    path: str
    is_dir: bool
    size: int


class FileSystem(Protocol):
    """What finding and reading segments needs of a file system."""

    def info(self, path: str) -> Entry:
        """Look at one path; FileNotFoundError if it is not there."""

    def list(self, path: str) -> list[Entry]:
        """List a folder."""

    def read(self, path: str) -> bytes | None:
        """Read a small file whole; ``None`` if it is not there."""

    def open(self, path: str) -> File:
        """Open a file for reads at positions."""

    def segment(self, path: str) -> object:
        """Give what the core opens a segment by."""


def local_folder(path: StrPath) -> str:
    """The path of a folder to write to; ValueError for a URL, which would become a folder of that name."""
    folder = os.fspath(path)
    if _SCHEME.match(folder):
        raise ValueError(f"{folder} is a URL: logs are written to local folders only")
    return folder


def path_of_file_url(url: str) -> str:
    """The path that ``file:///x``, ``file://localhost/x`` or ``file:/x`` names; only the first two are unquoted.

    Raises:
        ValueError: it is on another host.
    """
    from urllib.parse import unquote  # noqa: PLC0415 - rare

    path = url.partition(":")[2]
    if not path.startswith("//"):
        return path  # Hadoop's way to write a path, which quotes nothing
    host, slash, path = path[2:].partition("/")
    if host.lower() not in {"", "localhost"}:
        raise ValueError(f"{url} is on the host {host}: only paths of this host are files here")
    return unquote(slash + path) or "/"


def open_filesystem(
    path: str, filesystem: object = None, storage_options: Mapping[str, object] | None = None
) -> tuple[FileSystem, str]:
    """Find the file system of a path or URL, and the path within it.

    Args:
        path: The path or URL.
        filesystem: One of pyarrow.fs or fsspec, or a store of obstore, that the path is on.
        storage_options: What fsspec opens the file system of a URL with: credentials, an endpoint.

    Raises:
        TypeError: ``filesystem`` is not of pyarrow, fsspec or obstore.
        ValueError: a URL whose scheme neither pyarrow nor fsspec knows, with what each said; a file of another host.
    """
    if filesystem is not None:
        if storage_options is not None:
            raise ValueError("filesystem and storage_options cannot both be given: the file system has its own")
        return _given(filesystem, path)
    scheme = _SCHEME.match(path)
    if storage_options is not None:
        if scheme is None or scheme[1].lower() == "file":
            raise ValueError(f"storage_options are for URLs of object stores, and {path} is a local path")
        return _open_fsspec(path, storage_options)
    if scheme is None:
        return _Local(), os.path.abspath(path)  # noqa: PTH100 - no symlink is to be resolved
    if scheme[1].lower() == "file":
        return _Local(), os.path.abspath(path_of_file_url(path))  # noqa: PTH100 - as above
    reasons = []
    for opener in (_open_pyarrow, _open_fsspec):
        try:
            return opener(path)
        except ImportError as error:
            reasons.append(f"{error}")
        except (ValueError, NotImplementedError) as error:
            reasons.append(f"{opener.__name__.removeprefix('_open_')}: {error}")
    message = f"{path}: no file system for {scheme[1]}:// ({'; '.join(reasons)})"
    raise ValueError(message)


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the URL of something that is not a local file."""
    scheme = _SCHEME.match(os.fspath(path))
    return scheme is not None and scheme[1].lower() != "file"


def open_companion(path: str, storage_options: Mapping[str, object] | None = None) -> tuple[FileSystem, str]:
    """Open a path as :func:`open_filesystem`, which need not be where the log is: only a URL takes the options."""
    return open_filesystem(path, storage_options=storage_options if is_url(path) else None)


def _open_pyarrow(url: str) -> tuple[FileSystem, str]:
    fs = require("pyarrow.fs")

    try:
        filesystem, path = fs.FileSystem.from_uri(url)
    except OSError as error:  # it need not say of what
        raise OSError(f"{url}: {error}") from None
    return _Arrow(filesystem), path


def _open_fsspec(url: str, options: Mapping[str, object] | None = None) -> tuple[FileSystem, str]:
    url_to_fs = require("fsspec.core").url_to_fs

    filesystem, path = url_to_fs(url, **(options or {}))
    return _Fsspec(filesystem), path


def _given(filesystem: Any, path: str) -> tuple[FileSystem, str]:  # noqa: ANN401 - checked here
    """The file system of the caller's, and the path without a scheme."""
    inner = _SCHEME.sub("", path)
    if hasattr(filesystem, "cat_file") and hasattr(filesystem, "ls"):
        return _Fsspec(filesystem), inner
    if hasattr(filesystem, "get_file_info") and hasattr(filesystem, "open_input_file"):
        return _Arrow(filesystem), inner
    if hasattr(filesystem, "list_with_delimiter") and hasattr(filesystem, "get_range"):
        return _Obstore(filesystem), inner.strip("/")
    name = type(filesystem).__name__
    raise TypeError(f"filesystem must be one of pyarrow.fs or fsspec, or a store of obstore, not {name}")


def open_local(path: StrPath) -> BinaryIO:
    """Open a local file for reading.

    Raises:
        OSError: also for a FIFO, socket or device, which is not waited for.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - paths are strings; the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return file


def read_side_file(path: str | os.PathLike[str]) -> bytes:
    """Read a local index, snapshot or checkpoint.

    Raises:
        OSError: also for one of more than 256 MiB, which is sparse or something else; it is not read.
    """
    with open_local(path) as file:
        _check_size(os.fstat(file.fileno()).st_size, os.fspath(path))
        return file.read()


def read_local(path: str) -> bytes | None:
    """Read a local index, snapshot or checkpoint; ``None`` if it does not exist."""
    try:
        return read_side_file(path)
    except FileNotFoundError:
        return None


def _check_size(size: int, path: str) -> None:
    if size > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MiB, which no index or checkpoint has", path)


def _without_waiting(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno in {errno.ENXIO, errno.ENODEV}:
            raise OSError(errno.EINVAL, "not a regular file", path) from None
        raise


class _Local:
    def info(self, path: str) -> Entry:
        status = os.stat(path)  # noqa: PTH116 - paths stay strings on every file system
        return Entry(path, stat.S_ISDIR(status.st_mode), status.st_size)

    def list(self, path: str) -> list[Entry]:
        entries = []
        with os.scandir(path) as scan:
            for entry in scan:
                try:
                    entries.append(Entry(entry.path, entry.is_dir(), entry.stat().st_size))
                except FileNotFoundError:
                    continue  # deleted by the broker meanwhile
        return entries

    def read(self, path: str) -> bytes | None:
        return read_local(path)

    def open(self, path: str) -> File:
        return _LocalFile(path)

    def segment(self, path: str) -> object:
        return path


class _LocalFile:
    """A file of the local file system as the others have it."""

    def __init__(self, path: str) -> None:
        self._file = open_local(path)
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if (file := getattr(self, "_file", None)) is not None:
            file.close()

    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def read_at(self, nbytes: int, offset: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), nbytes, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(nbytes)


class _Remote:
    """A segment on a file system that Python speaks to; pickles with it."""

    def __init__(self, filesystem: Any, path: str) -> None:  # noqa: ANN401 - pyarrow's or fsspec's
        self.filesystem = filesystem
        self.path = path

    @property
    def name(self) -> str:
        """The path, for messages."""
        return self.path

    def open_segment(self) -> AheadFile:
        """Open the segment for reads at positions."""
        return AheadFile(self.filesystem.open(self.path), self.path)

    def side_file(self, suffix: str) -> bytes | None:
        """Read a file beside the segment."""
        content: bytes | None = self.filesystem.read(side_file(self.path, suffix))
        return content

    def neighbour(self, name: str) -> bytes | None:
        """Read another file of the segment's folder."""
        content: bytes | None = self.filesystem.read(f"{parent_of(self.path)}/{name}")
        return content


class _Arrow:
    """A file system of pyarrow."""

    def __init__(self, filesystem: Any) -> None:  # noqa: ANN401 - pyarrow is an extra
        self._fs = filesystem

    def _entry(self, info: Any) -> Entry:  # noqa: ANN401 - pyarrow is an extra
        kind = require("pyarrow.fs").FileType
        return Entry(info.path, info.type == kind.Directory, info.size or 0)

    def info(self, path: str) -> Entry:
        info = self._fs.get_file_info(path)
        if info.type == require("pyarrow.fs").FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._entry(info)

    def list(self, path: str) -> list[Entry]:
        selector = require("pyarrow.fs").FileSelector(path)
        return [self._entry(info) for info in self._fs.get_file_info(selector)]

    def read(self, path: str) -> bytes | None:
        try:
            with self._fs.open_input_stream(path) as stream:
                pieces: list[bytes] = []
                size = 0
                while piece := stream.read(_PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    _check_size(size, path)
        except FileNotFoundError:
            return None
        return b"".join(pieces)

    def open(self, path: str) -> File:
        return _ArrowFile(self._fs.open_input_file(path))

    def segment(self, path: str) -> object:
        return _Remote(self, path)


class _ArrowFile:
    def __init__(self, file: Any) -> None:  # noqa: ANN401 - pyarrow is an extra
        self._file = file

    def size(self) -> int:
        return int(self._file.size())

    def read_at(self, nbytes: int, offset: int) -> bytes:
        content: bytes = self._file.read_at(nbytes, offset)
        return content


class _Fsspec(_Arrow):
    """A file system of fsspec, by pyarrow's handler for these."""

    def __init__(self, filesystem: Any) -> None:  # noqa: ANN401 - fsspec is an extra
        fs = require("pyarrow.fs")
        super().__init__(fs.PyFileSystem(fs.FSSpecHandler(filesystem)))
        self._inner = filesystem

    def list(self, path: str) -> list[Entry]:
        self._inner.invalidate_cache(path)  # what was listed before may have grown
        return super().list(path)

    def open(self, path: str) -> File:
        # pyarrow would open a buffered file, which fetches up to 50 MB around every read.
        return _FsspecFile(self._inner, path)


class _FsspecFile:
    def __init__(self, filesystem: Any, path: str) -> None:  # noqa: ANN401 - fsspec is an extra
        self._fs = filesystem
        self._path = path

    def size(self) -> int:
        return int(self._fs.size(self._path))

    def read_at(self, nbytes: int, offset: int) -> bytes:
        content: bytes = self._fs.cat_file(self._path, start=offset, end=offset + nbytes)
        return content


class _Obstore:
    """A store of obstore: paths are keys, and folders what keys have in common up to a slash."""

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
        return _ObstoreFile(self._store, path)

    def segment(self, path: str) -> object:
        return _Remote(self, path)


class _ObstoreFile:
    def __init__(self, store: Any, path: str) -> None:  # noqa: ANN401 - obstore's
        self._store = store
        self._path = path

    def size(self) -> int:
        return int(self._store.head(self._path)["size"])

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return bytes(self._store.get_range(self._path, start=offset, length=nbytes))
