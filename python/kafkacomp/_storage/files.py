"""The files in a log directory or a remote storage, by kind.

:mod:`kafkacomp._storage.names` defines the meaning of their names.

The files of a folder are those that a broker loads when it starts (``kafkacomp_log::listing``), without folders
that are marked as not part of a log. The kind of a file that is given directly follows from its name.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._storage.containers import refuse_content
from kafkacomp._storage.discovery import check, matches, nothing_matches
from kafkacomp._storage.filesystem import is_url, open_filesystem, read_local
from kafkacomp._storage.listing import MANIFEST, ListedFile, Listing, list_folder, settle
from kafkacomp._storage.names import (
    SWAP,
    basename,
    is_tiered_segment,
    leading_offset,
    owner_of,
    parent_of,
    segment_offset,
)
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp._storage.remote import RemoteFolder, remote_folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.listing import OtherFile
    from kafkacomp._storage.selection import Choice

#: Kinds of files that contain record batches, or messages of Kafka 0.7.
BATCHES: Final = frozenset({"log", "checkpoint", "record set", "message set"})


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


@dataclass
class Files:
    """The files at some paths, and what was listed and is not read."""

    #: Each file once; files of folders in the order of their names.
    files: list[SourceFile] = field(default_factory=list)
    #: The partitions of folders, whose segments are among the files.
    partitions: list[Partition] = field(default_factory=list)
    others: list[OtherFile] = field(default_factory=list)

    def warn(self) -> None:
        """Log what belonged to a log and is not read."""
        Listing(others=self.others).warn()


def find(
    sources: Iterable[str | Path], opened: Opener = open_filesystem, chunked: Chunked | None = None
) -> list[SourceFile]:
    """Find the files at paths and URLs, as :func:`list_files` does, and log what is not read."""
    found = list_files(sources, opened, chunked)
    found.warn()
    return found.files


def list_files(
    sources: Iterable[str | Path],
    opened: Opener = open_filesystem,
    chunked: Chunked | None = None,
    choice: Choice | None = None,
) -> Files:
    """List the files at paths and URLs by kind.

    Args:
        sources: Paths or URLs of files or folders.
        opened: Finds the file system of a URL.
        chunked: Yields the files of segments that are stored in chunks; without it they are left out.
        choice: Rules out folders by their names; their partitions have no segments in the result, and no files.

    Raises:
        FileNotFoundError: a path does not exist, or a folder contains no files of a Kafka log.
        ValueError: a file is an archive, a compressed file or a table.
    """
    found: dict[str, SourceFile] = {}
    result = Files()
    for place, is_match in _places(map(str, sources), opened):
        inside = list(_files(place, chunked, result, choice))
        if not inside and is_match:
            continue
        if not inside and not result.partitions:
            _kafkacomp.refuse_packed(place.filesystem, place.path)
            raise FileNotFoundError(errno.ENOENT, "no files of a Kafka log in this folder", place.given)
        for file in inside:
            found.setdefault(file.name, file)
    for partition in result.partitions:
        check(partition)
    result.files = list(found.values())
    listed = {segment.name for each in result.partitions for segment in each.segments}
    for file in result.files:
        # An object of tiered storage may be compressed; its manifest says so.
        is_checked = file.name in listed or is_tiered_segment(file.path.name)
        if file.is_local and file.kind in BATCHES and not is_checked:
            check(Partition(None, None, [Segment(file.name, file.name, file.size)]), keeps_open=False)
    return result


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

    def name(self, path: str) -> str:
        """The path of a file for messages: for a local file the path as given."""
        is_local = isinstance(self.filesystem.segment(path), str)
        return str(Path(self.given, os.path.relpath(path, self.path))) if is_local else path

    def file(self, path: str, kind: str, size: int) -> SourceFile:
        """The file at a path, which is that of the source or in it."""
        source, name = self.filesystem.segment(path), self.name(path)
        if isinstance(source, str):
            return SourceFile(Path(name), kind, name, size, partial(read_local, name), name)
        return SourceFile(PurePosixPath(path), kind, name, size, partial(self.filesystem.read, path), source)


def _places(sources: Iterable[str], opened: Opener) -> Iterator[tuple[_Place, bool]]:
    """The places of paths and URLs, and whether each is a match of wildcards.

    Raises:
        FileNotFoundError: nothing matches the wildcards of a path.
    """
    for source in sources:
        matched = matches(source, opened if is_url(source) else open_filesystem)
        if matched is None:
            yield _Place.of(source, opened), False
            continue
        filesystem, entries = matched
        if not entries:
            raise nothing_matches(source, entries)
        for each in entries:
            yield _Place(filesystem, each.path, each.path), True


def _files(place: _Place, chunked: Chunked | None, result: Files, choice: Choice | None) -> Iterator[SourceFile]:
    filesystem, path = place.filesystem, place.path
    entry = filesystem.info(path)
    if entry.is_dir:
        allowed = None if choice is None else choice.allows
        listing = list_folder(place.filesystem, place.path, allowed)
        settle(listing.failures, allowed)
        Listing(decisions=listing.decisions).warn()
        yield from _of_listing(place, listing, chunked, result)
        return
    name = basename(path)
    if chunked is not None and is_tiered_segment(name):
        remote = remote_folder_of(filesystem, path)
        if remote is not None and remote.has_manifests:
            yield from chunked(remote)
            return
    kind = _kafkacomp.kind_of_file(name) or "record set"
    file = place.file(path, kind, entry.size)
    if segment_offset(name.removesuffix(SWAP)) is None and kind in BATCHES and entry.size:
        refuse_content(filesystem, entry, file.name)
    yield file


def files_in(path: str, listing: Listing, opened: Opener, chunked: Chunked) -> Files:
    """The files of a path that was listed before, as :func:`list_files` finds them.

    Raises:
        OSError: a folder could not be listed.
    """
    # A manifest is a file of its own, and is reported as such.
    settle(failure for failure in listing.failures if not failure[0].endswith(MANIFEST))
    if matches(path, opened) is not None:
        return list_files([path], opened, chunked)
    place = _Place.of(path, opened)
    if not place.filesystem.info(place.path).is_dir:
        return list_files([path], opened, chunked)
    result = Files()
    result.files = list(_of_listing(place, listing, chunked, result))
    return result


def _of_listing(place: _Place, listing: Listing, chunked: Chunked | None, result: Files) -> Iterator[SourceFile]:
    """Yield the files of a listing by kind, and add its partitions and the others to the result."""
    result.others += [replace(each, path=place.name(each.path)) for each in listing.others]
    for partition in listing.partitions:
        if partition.remote is None:
            segments = [replace(each, name=place.name(each.name)) for each in partition.segments]
            for segment in segments:
                segment.source = segment.name if isinstance(segment.source, str) else segment.source
            result.partitions.append(replace(partition, segments=segments, failures=[]))
    for each in listing.files:
        if isinstance(each, ListedFile):
            yield place.file(each.entry.path, each.kind, each.entry.size)
        elif chunked is not None and each.has_manifests:
            yield from chunked(each)
