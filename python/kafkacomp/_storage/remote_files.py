"""Read files of a store with errors that name the object and the operation.

The libraries raise different exceptions for a failed request: an OSError of pyarrow without a path, an exception of
aiohttp or botocore that is not an OSError, or one of obstore with several lines. Here each becomes an OSError whose
message begins with the path or whose ``filename`` is the path; the library's exception is its cause.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkacomp._storage.names import basename, is_tiered_segment, parent_of, side_file
from kafkacomp._storage.ranges import AheadFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.ranges import File
    from kafkacomp._storage.stores import Entry, Store

#: Packages whose exceptions are failures of a store, even if they are not OSErrors.
_LIBRARIES = frozenset(
    {"adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google", "obstore", "pyarrow", "requests"}
)
#: The point from which on the messages of obstore and of pyarrow's GCS list the fields of structs.
_DEBUG = re.compile(r"Debug source:| error_info=\{")


@contextmanager
def _naming(path: str, doing: str) -> Iterator[None]:
    """Name the object in errors of the store; errors that name a file, and errors of other code, are not changed."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or (path and path in str(error)):
            raise
        raise _named(error, path or "/", doing) from error
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__module__.partition(".")[0] not in _LIBRARIES:
            raise
        raise _named(error, path or "/", doing) from error


def _named(error: Exception, path: str, doing: str) -> OSError:
    """The corresponding exception of Python, with the path and the operation."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    text = " ".join(_DEBUG.split(text)[0].split())
    if number is not None:
        return OSError(number, f"{doing}: {text}", path)
    kinds = (each for each in type(error).__mro__ if each.__module__ == "builtins" and issubclass(each, OSError))
    return next(kinds, OSError)(f"{path}: {doing}: {text}")


class Remote:
    """A file system whose segments are read through Python; pickles with its store."""

    def __init__(self, store: Store) -> None:
        """Read the files of ``store``."""
        self.store = store

    def info(self, path: str) -> Entry:
        """Get the entry of a path; FileNotFoundError if it does not exist."""
        with _naming(path, "looking it up"):
            return self.store.info(path)

    def list(self, path: str) -> list[Entry]:
        """List a folder."""
        with _naming(path, "listing it"):
            return self.store.list(path)

    def read(self, path: str) -> bytes | None:
        """Read a small file; ``None`` if it does not exist."""
        with _naming(path, "reading it"):
            return self.store.read(path)

    def open(self, path: str) -> File:
        """Open a file for reads at positions."""
        with _naming(path, "opening it"):
            return _RemoteFile(self.store.open(path), path)

    def segment(self, path: str) -> RemoteSegmentFile:
        """The object by which the core opens a segment."""
        return RemoteSegmentFile(self, path)

    def identity(self, _path: str) -> None:
        """Stores have no links."""
        return


@dataclass(frozen=True)
class _RemoteFile:
    """A file of the store."""

    file: File
    path: str

    def size(self) -> int:
        with _naming(self.path, "asking for its size"):
            return self.file.size()

    def read_at(self, nbytes: int, offset: int) -> bytes:
        with _naming(self.path, f"reading {nbytes} bytes at byte {offset}"):
            return self.file.read_at(nbytes, offset)


@dataclass(frozen=True)
class RemoteSegmentFile:
    """A segment of a remote file system; pickles with it."""

    filesystem: Remote
    #: Its path there.
    name: str

    def open_segment(self) -> AheadFile:
        """Open the segment for reads at positions."""
        return AheadFile(self.filesystem.open(self.name), self.name)

    def side_file(self, suffix: str) -> bytes | None:
        """Read a side file of the segment. Its leader epochs are those of its folder, but for tiered storage."""
        if suffix == "leader_epoch_checkpoint" and not is_tiered_segment(basename(self.name)):
            return self.neighbour("leader-epoch-checkpoint")
        return self.filesystem.read(side_file(self.name, suffix))

    def neighbour(self, name: str) -> bytes | None:
        """Read another file of the segment's folder."""
        return self.filesystem.read(f"{parent_of(self.name)}/{name}")
