"""What the files of a broker's folder are, by their names.

A folder holds more than segments: files on their way out or in (``.deleted``, ``.swap``, ``.cleaned``), folders
that are no log any more or yet (``-delete``, ``-future``, ``-stray``), locks and marks. Those are passed over when
a folder is walked; a file that is named on the command line is read as what its name says.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp._checkpoints import OFFSET_CHECKPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["BATCHES", "SourceFile", "find"]

#: Kinds of files that hold record batches, or messages of Kafka 0.7.
BATCHES: Final = frozenset({"log", "checkpoint", "record set", "message set"})

_SEGMENT = re.compile(r"\d{20}(-[A-Za-z0-9_-]{22})?\.log")
_SEGMENT_OF_07 = re.compile(r"\d{20}\.kafka")
_INDEX = re.compile(r"(\d{20})(-[A-Za-z0-9_-]{22})?\.(index|timeindex|txnindex|snapshot)")
_SNAPSHOT_OF_METADATA = re.compile(r"(\d{20}-\d{10}|bootstrap)\.checkpoint")
_PASSING_FILE = re.compile(r".+\.(deleted|swap|cleaned)(\.\w+)?|.+\.tmp")
_PASSING_FOLDER = re.compile(r".+-\d+\.[0-9a-f]+-(delete|future|stray)")
_PARTITION = re.compile(r"(.+)-(\d{1,10})")
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
        digits = self.path.name[:20]
        return int(digits) if len(digits) == 20 and digits.isdigit() else None  # noqa: PLR2004 - as Kafka names them

    @property
    def owner(self) -> str:
        """The topic by the folder's name, else the folder."""
        folder = self.path.absolute().parent.name
        matched = _PARTITION.fullmatch(folder)
        return matched[1] if matched else folder


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
            kind = _kind(path.name) or _BY_SUFFIX.get(path.suffix, "record set")
            found.setdefault(path, SourceFile(path, kind))
            continue
        inside = list(_walk(path))
        if not inside:
            raise FileNotFoundError(errno.ENOENT, "no files of a Kafka log in this folder", str(path))
        for file in inside:
            found.setdefault(file.path, file)
    return list(found.values())


def _walk(folder: Path) -> Iterator[SourceFile]:
    folders = []
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            folders.append(path)
            continue
        kind = _kind(path.name)
        if kind is not None and _PASSING_FILE.fullmatch(path.name) is None:
            yield SourceFile(path, kind)
    for path in sorted(folders, key=_natural):
        if _PASSING_FOLDER.fullmatch(path.name) is None:
            yield from _walk(path)


def _kind(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in OFFSET_CHECKPOINTS:
        return "offset-checkpoint"
    if _SEGMENT.fullmatch(name):
        return "log"
    if _SEGMENT_OF_07.fullmatch(name):
        return "message set"
    index = _INDEX.fullmatch(name)
    if index:
        return index[3]
    return "checkpoint" if _SNAPSHOT_OF_METADATA.fullmatch(name) else None


def _natural(path: Path) -> tuple[str, int]:
    """Partition 10 comes after partition 9."""
    matched = _PARTITION.fullmatch(path.name)
    return (matched[1], int(matched[2])) if matched else (path.name, -1)
