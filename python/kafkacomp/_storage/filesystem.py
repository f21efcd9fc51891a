"""File systems: the local one through ``os``, others through pyarrow.fs or, if it does not know the scheme, fsspec."""

from __future__ import annotations

import copy
import errno
import logging
import os
import re
import stat
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from kafkacomp._arguments import path_text
from kafkacomp._extras import fs, require
from kafkacomp._storage.gcs import check_credentials
from kafkacomp._storage.remote_files import Remote
from kafkacomp._storage.stores import ArrowStore, Entry, FsspecStore, ObstoreStore, Store, check_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp._storage.ranges import File
    from kafkacomp._types import StrPath

_LOGGER = logging.getLogger("kafkacomp")

#: How long a failing request to GCS is retried, such as one without credentials.
_RETRY_SECONDS: Final = 10
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class FileSystem(Store, Protocol):
    """The operations of a file system for finding and reading segments."""

    def segment(self, path: str) -> object:
        """The object by which the core opens a segment."""

    def identity(self, path: str) -> object | None:
        """What identifies a folder to which several links lead; ``None`` on file systems without links."""


def local_folder(path: StrPath) -> str:
    """The path of a folder to write to; ValueError for a URL, which would otherwise become the name of a folder."""
    folder = path_text("target", path)
    if _SCHEME.match(folder):
        raise ValueError(f"{folder} is a URL: logs can be written to local folders only")
    return folder


def path_of_file_url(url: str) -> str:
    """The path that ``file:///x``, ``file://localhost/x`` or ``file:/x`` names; only the first two are unquoted.

    Raises:
        ValueError: the URL names another host.
    """
    from urllib.parse import unquote  # noqa: PLC0415 - rare

    path = url.partition(":")[2]
    if not path.startswith("//"):
        return path  # Hadoop's notation, which is not quoted
    host, slash, path = path[2:].partition("/")
    if host.lower() not in {"", "localhost"}:
        raise ValueError(f"{url} names the host {host}: give a path of this host, or the URL of a remote file system")
    return unquote(slash + path) or "/"


def open_filesystem(
    path: str, store: object = None, storage_options: Mapping[str, object] | None = None
) -> tuple[FileSystem, str]:
    """Find the file system of a path or URL, and the path in it.

    Args:
        path: The path or URL.
        store: The file system of the path: one of pyarrow.fs or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL: credentials, an endpoint.

    Raises:
        TypeError: ``store`` is not of pyarrow, fsspec or obstore.
        ValueError: neither pyarrow nor fsspec knows the scheme of the URL; the message has the error of each. Or a
            file: URL names another host.
    """
    path_text("the path", path)
    if store is not None:
        if storage_options is not None:
            raise ValueError("store and storage_options cannot be given together: pass the options to the store")
        return _given(store, path)
    scheme = _SCHEME.match(path)
    if storage_options is not None:
        if scheme is None or scheme[1].lower() == "file":
            raise ValueError(f"storage_options are for URLs, and {path} is a local path: remove them")
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
    raise ValueError(f"{_without_user(path)}: no file system for {scheme[1]}:// ({'; '.join(reasons)})")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL of another file system than the local one."""
    scheme = _SCHEME.match(os.fspath(path))
    return scheme is not None and scheme[1].lower() != "file"


def open_companion(path: str, storage_options: Mapping[str, object] | None = None) -> tuple[FileSystem, str]:
    """Open a path that need not be on the file system of the log; the options apply only if it is a URL."""
    return open_filesystem(path, storage_options=storage_options if is_url(path) else None)


def _without_user(url: str) -> str:
    """A URL for messages, without user and password, which pyarrow uses as credentials."""
    return re.sub(r"//[^/@]*@", "//...@", url)


def _open_pyarrow(url: str) -> tuple[FileSystem, str]:
    if _is_gcs(url) and hasattr(fs, "GcsFileSystem"):
        check_credentials(url)
    try:
        filesystem, path = fs.FileSystem.from_uri(_with_retry_limit(url))
    except OSError as error:  # its message may lack the URL
        raise OSError(f"{_without_user(url)}: {error}") from None
    # One of a URL retries a request 10 times, and waits 3 seconds each time for a server that does not answer; one that
    # is made by its constructor, as copies are, 3 times.
    lookup = copy.copy(filesystem) if filesystem.type_name == "s3" else None
    return Remote(ArrowStore(filesystem, lookup)), path


def _is_gcs(url: str) -> bool:
    return url.lower().startswith(("gs://", "gcs://"))


def _with_retry_limit(url: str) -> str:
    """Limit the retries of a failing request to GCS, unless the URL does: the default is a quarter of an hour."""
    if not _is_gcs(url) or "retry_limit_seconds=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}retry_limit_seconds={_RETRY_SECONDS}"


def _open_fsspec(url: str, options: Mapping[str, object] | None = None) -> tuple[FileSystem, str]:
    url_to_fs = require("fsspec.core").url_to_fs

    filesystem, path = url_to_fs(url, **(options or {}))
    return Remote(FsspecStore(filesystem)), path


def _given(store: Any, path: str) -> tuple[FileSystem, str]:  # noqa: ANN401 - checked here
    """Wrap the caller's file system, and remove the scheme of the path."""
    inner = _SCHEME.sub("", path)
    if hasattr(store, "cat_file") and hasattr(store, "ls"):
        return Remote(FsspecStore(store)), inner
    if hasattr(store, "get_file_info") and hasattr(store, "open_input_file"):
        return Remote(ArrowStore(store)), inner
    if hasattr(store, "list_with_delimiter") and hasattr(store, "get_range"):
        return Remote(ObstoreStore(store)), inner.strip("/")
    name = type(store).__name__
    raise TypeError(f"store must be one of pyarrow.fs or fsspec, or a store of obstore, not {name}")


def open_local(path: StrPath) -> BinaryIO:
    """Open a local file for reading.

    Raises:
        OSError: also for a FIFO, socket or device, which could block.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - paths are strings; the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return file


def read_side_file(path: str | os.PathLike[str]) -> bytes:
    """Read a local index, snapshot or checkpoint.

    Raises:
        OSError: also for a file of more than 256 MiB, which is not an index file and is not read.
    """
    with open_local(path) as file:
        check_size(os.fstat(file.fileno()).st_size, os.fspath(path))
        return file.read()


def read_head(path: StrPath, nbytes: int) -> bytes:
    """Read the first bytes of a local file; OSError as :func:`open_local`."""
    with open_local(path) as file:
        # Past the buffer of the file, which would be filled: every segment of a log is asked.
        return os.read(file.fileno(), nbytes)


def read_local(path: str) -> bytes | None:
    """Read a local index, snapshot or checkpoint; ``None`` if it does not exist."""
    try:
        return read_side_file(path)
    except FileNotFoundError:
        return None


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
        try:
            with os.scandir(path) as scan:
                for entry in scan:
                    try:
                        entries.append(Entry(entry.path, entry.is_dir(), entry.stat().st_size))
                    except OSError as error:
                        if error.errno not in {errno.ENOENT, errno.ELOOP}:
                            raise
                        if entry.is_symlink():  # of a segment, it is an error when it is opened
                            _LOGGER.warning("%s: a link whose target does not exist", entry.path)
                            entries.append(Entry(entry.path, is_dir=False, size=0))
                        # Otherwise the broker has deleted it since.
        except OSError as error:
            if error.errno == errno.ENOMEM:
                raise MemoryError(f"out of memory: cannot list {path}") from None
            raise
        return entries

    def read(self, path: str) -> bytes | None:
        return read_local(path)

    def open(self, path: str) -> File:
        return _LocalFile(path)

    def segment(self, path: str) -> object:
        return path

    def identity(self, path: str) -> object | None:
        try:
            status = os.stat(path)  # noqa: PTH116 - as above
        except FileNotFoundError:
            return None  # deleted since it was listed
        return status.st_dev, status.st_ino


class _LocalFile:
    """A local file with the interface of the other file systems."""

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
