"""The files in a log directory or a remote storage, by kind.

:mod:`kafkacomp._storage.names` defines the meaning of their names.

The files of a folder are those that a broker loads when it starts (:mod:`kafkacomp._storage.loader`), without folders
that are marked as not part of a log. The kind of a file that is given directly follows from its name.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkacomp._storage.checkpoints import OFFSET_CHECKPOINTS
from kafkacomp._storage.containers import refuse_content, refuse_packed, refuse_packed_segment
from kafkacomp._storage.discovery import Searched, log_files, subfolders
from kafkacomp._storage.filesystem import is_url, open_filesystem, read_local
from kafkacomp._storage.names import (
    SWAP,
    basename,
    is_tiered_segment,
    leading_offset,
    owner_of,
    parent_of,
    segment_offset,
)
from kafkacomp._storage.remote import RemoteFolder, remote_folder, remote_folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.filesystem import FileSystem

#: Kinds of files that contain record batches, or messages of Kafka 0.7.
BATCHES: Final = frozenset({"log", "checkpoint", "record set", "message set"})

_SIDE_FILE = re.compile(r"[0-9]{20}(-[A-Za-z0-9_-]{22})?\.(index|timeindex|txnindex|snapshot)")
_SNAPSHOT_OF_METADATA = re.compile(r"([0-9]{20}-[0-9]{10}|bootstrap)\.checkpoint")
_BY_SUFFIX = {".log": "log", ".kafka": "message set"}
_BY_NAME = {
    "leader-epoch-checkpoint": "leader-epoch-checkpoint",
    "partition.metadata": "partition.metadata",
    "quorum-state": "quorum-state",
    "meta.properties": "meta.properties",
    "bootstrap.checkpoint": "checkpoint",
}
_EPOCHS_OF_SEGMENT = re.compile(r"[0-9]{20}-[A-Za-z0-9_-]{22}\.leader_epoch_checkpoint")


@dataclass(frozen=True)
class SourceFile:
    """A file and its kind."""

    path: PurePath
    #: log, checkpoint or record set (batches); message set (a log file of Kafka 0.7); index, timeindex, txnindex,
    #: snapshot; leader-epoch-checkpoint, offset-checkpoint, partition.metadata, quorum-state, meta.properties;
    #: rsm-manifest (of a segment that Aiven's plugin has stored).
    kind: str
    #: The path for messages; for a local file the path as given.
    name: str
    #: Its bytes when it was listed.
    size: int
    #: Reads the whole file; ``None`` if it does not exist.
    reader: Callable[[], bytes | None] = field(compare=False, repr=False)
    #: The object by which the core opens it; the path of a local file.
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def base_offset(self) -> int | None:
        """The offset that the name begins with."""
        return leading_offset(self.path.name)

    @property
    def is_local(self) -> bool:
        """Whether it is a local file."""
        return isinstance(self.source, str)

    @property
    def folder(self) -> str:
        """The path of its folder."""
        return os.path.dirname(os.path.abspath(self.name)) if self.is_local else parent_of(self.name)  # noqa: PTH100, PTH120 - no symlink is to be resolved

    @property
    def owner(self) -> tuple[str, int] | tuple[None, None]:
        """The topic and partition that the folders name."""
        return owner_of(self.folder, self.path.name)

    def read(self) -> bytes:
        """Read the whole file.

        Raises:
            OSError: the file cannot be read.
        """
        content = self.reader()
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return content


#: Yields the files of a folder whose segments are stored in chunks.
Chunked: TypeAlias = "Callable[[RemoteFolder], Iterator[SourceFile]]"


def find(
    sources: Iterable[str | Path], opened: Opener = open_filesystem, chunked: Chunked | None = None
) -> list[SourceFile]:
    """Find the files at paths and URLs, each once; files of folders in the order of their names.

    Args:
        sources: Paths or URLs of files or folders.
        opened: Finds the file system of a URL.
        chunked: Yields the files of segments that are stored in chunks; without it they are left out.

    Raises:
        FileNotFoundError: a path does not exist, or a folder contains no files of a Kafka log.
        ValueError: a file is an archive, a compressed file or a table.
    """
    found: dict[str, SourceFile] = {}
    for source in sources:
        place = _Place.of(str(source), opened)
        inside = list(_files(place, chunked))
        if not inside:
            refuse_packed(place.filesystem, place.path)
            raise FileNotFoundError(errno.ENOENT, "no files of a Kafka log in this folder", str(source))
        for file in inside:
            # An object of tiered storage may be compressed; its manifest says so.
            if file.is_local and file.kind in BATCHES and not is_tiered_segment(file.path.name):
                refuse_packed_segment(str(file.path))
            found.setdefault(file.name, file)
    return list(found.values())


@dataclass(frozen=True)
class _Place:
    """A source: its file system, and its path there and as given."""

    filesystem: FileSystem
    path: str
    given: str

    @classmethod
    def of(cls, source: str, opened: Opener) -> _Place:
        filesystem, path = (opened if is_url(source) else open_filesystem)(source)
        return cls(filesystem, path, path if source.lower().startswith("file:") else source)

    def file(self, path: str, kind: str, size: int) -> SourceFile:
        """The file at a path, which is that of the source or in it."""
        source = self.filesystem.segment(path)
        if isinstance(source, str):
            local = Path(self.given, os.path.relpath(path, self.path))
            return SourceFile(local, kind, str(local), size, partial(read_local, str(local)), str(local))
        return SourceFile(PurePosixPath(path), kind, path, size, partial(self.filesystem.read, path), source)


def _files(place: _Place, chunked: Chunked | None) -> Iterator[SourceFile]:
    filesystem, path = place.filesystem, place.path
    entry = filesystem.info(path)
    if entry.is_dir:
        yield from _walk(place, path, chunked, Searched())
        return
    name = basename(path)
    if chunked is not None and is_tiered_segment(name):
        remote = remote_folder_of(filesystem, path)
        if remote is not None and remote.has_manifests:
            yield from chunked(remote)
            return
    kind = _kind(name.removesuffix(SWAP)) or _BY_SUFFIX.get(PurePosixPath(name).suffix, "record set")
    file = place.file(path, kind, entry.size)
    if kind == "record set" and entry.size:
        refuse_content(filesystem, entry, file.name)
    yield file


def _walk(place: _Place, folder: str, chunked: Chunked | None, searched: Searched) -> Iterator[SourceFile]:
    """Yield the files in a folder and its subfolders; each folder once, even if links lead to it."""
    filesystem = place.filesystem
    if not searched.enter(filesystem, folder):
        return
    entries = filesystem.list(folder)
    remote = None if chunked is None else remote_folder(filesystem, folder, entries)
    if chunked is not None and remote is not None and remote.has_manifests:
        yield from chunked(remote)
        entries = [entry for entry in entries if entry.is_dir]
    files, state = log_files(filesystem, folder, entries)
    for name in sorted(files):
        kind = "log" if name in state.swapped else _kind(name)
        if kind is not None:
            yield place.file(files[name].path, kind, files[name].size)
    for inner in subfolders(entries):
        yield from _walk(place, inner.path, chunked, searched)


def _kind(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in OFFSET_CHECKPOINTS:
        return "offset-checkpoint"
    if segment_offset(name) is not None:
        return _BY_SUFFIX[f".{name.rpartition('.')[2]}"]
    if _EPOCHS_OF_SEGMENT.fullmatch(name):
        return "leader-epoch-checkpoint"
    side_file = _SIDE_FILE.fullmatch(name)
    if side_file is not None:
        return side_file[2] if leading_offset(name) is not None else None
    return "checkpoint" if _SNAPSHOT_OF_METADATA.fullmatch(name) else None
