"""The files in a log directory, by kind: what their names mean is in :mod:`kafkacomp._storage.names`.

Of a folder, these are the files that a broker has once it has started (:mod:`kafkacomp._storage.loader`), without
folders that are marked as not part of a log. The kind of a file that is named directly follows from its name.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp._storage.checkpoints import OFFSET_CHECKPOINTS
from kafkacomp._storage.discovery import log_files
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.names import (
    SWAP,
    basename,
    is_marked,
    is_tiered_segment,
    leading_offset,
    partition_of,
    segment_offset,
    tiered_partition_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["BATCHES", "SourceFile", "find"]

#: Kinds of files that hold record batches, or messages of Kafka 0.7.
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


@dataclass(frozen=True)
class SourceFile:
    """A file and what it is."""

    path: Path
    #: log, checkpoint or record set (batches); message set (a log file of Kafka 0.7); index, timeindex, txnindex,
    #: snapshot; leader-epoch-checkpoint, offset-checkpoint, partition.metadata, quorum-state, meta.properties.
    kind: str

    @property
    def base_offset(self) -> int | None:
        """The offset that the name begins with."""
        return leading_offset(self.path.name)

    @property
    def owner(self) -> str:
        """The topic by the folder's name, else the folder."""
        folder = self.path.absolute().parent
        is_tiered = is_tiered_segment(self.path.name.partition(".")[0] + ".log")
        known = None if is_tiered else partition_of(folder.name)
        topic, _ = known or tiered_partition_of(str(folder)) or (folder.name, None)
        return topic


def find(paths: Iterable[Path]) -> list[SourceFile]:
    """The files that ``paths`` name, those of folders in the order of their names; each once.

    Raises:
        FileNotFoundError: a path that is not there, or a folder without any of Kafka's files.
    """
    found: dict[Path, SourceFile] = {}
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            kind = _kind(path.name.removesuffix(SWAP)) or _BY_SUFFIX.get(path.suffix, "record set")
            found.setdefault(path, SourceFile(path, kind))
            continue
        inside = list(_walk(path, set()))
        if not inside:
            raise FileNotFoundError(errno.ENOENT, "no files of a Kafka log in this folder", str(path))
        for file in inside:
            found.setdefault(file.path, file)
    return list(found.values())


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[SourceFile]:
    """The files in a folder and those below it; each folder once, whatever leads to it."""
    status = folder.stat()
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    filesystem, path = open_filesystem(str(folder))
    entries = filesystem.list(path)
    files, state = log_files(filesystem, path, entries)
    for name in sorted(files):
        kind = "log" if name in state.swapped else _kind(name)
        if kind is not None:
            yield SourceFile(folder / name, kind)
    for name in sorted((basename(entry.path) for entry in entries if entry.is_dir), key=_natural):
        if not is_marked(name):
            yield from _walk(folder / name, seen)


def _kind(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in OFFSET_CHECKPOINTS:
        return "offset-checkpoint"
    if segment_offset(name) is not None:
        return _BY_SUFFIX[f".{name.rpartition('.')[2]}"]
    side_file = _SIDE_FILE.fullmatch(name)
    if side_file is not None:
        return side_file[2] if leading_offset(name) is not None else None
    return "checkpoint" if _SNAPSHOT_OF_METADATA.fullmatch(name) else None


def _natural(name: str) -> tuple[str, int]:
    """Partition 10 comes after partition 9."""
    return partition_of(name) or (name, -1)
