"""The layout of remote storage: paths of segments in Kafka's LocalTieredStorage and of Aiven's plugin.

::

    <topic>-<partition>-<topic id>/<start>-<segment id>.{log,index,timeindex,txnindex,snapshot,leader_epoch_checkpoint}
    <prefix><topic>-<topic id>/<partition>/<start>-<segment id>.{log,indexes,rsm-manifest}

``start`` has 20 digits. Both ids are 22 characters of URL-safe base64, which may include dashes, so names are split
from the right. The prefix is any text, with or without a slash at its end; the manifest has the topic's name alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkacomp._storage.names import basename, parent_of, tiered_partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.stores import Entry

_FILE = re.compile(r"([0-9]{20})-([A-Za-z0-9_-]{22})\.(log|indexes|rsm-manifest)")
_MAX_OFFSET = 2**63 - 1


@dataclass
class StoredSegment:
    """The listed files of a segment."""

    id: str
    start_offset: int
    #: By suffix: log, indexes, rsm-manifest.
    files: dict[str, Entry] = field(default_factory=dict)


@dataclass
class RemoteFolder:
    """A folder with the remote segments of one partition."""

    filesystem: FileSystem
    path: str
    #: Topic, partition and topic id in the names of the folders; ``None`` if the names do not have them.
    topic: str | None
    topic_id: str | None
    partition: int | None
    #: The segments by id.
    segments: dict[str, StoredSegment]
    #: Whether these are all segments of the folder, and not only files that were given one by one.
    is_complete: bool = True
    #: The given path, to which keys of objects are relative.
    root: str | None = None
    #: Segments with the same id as another one.
    ambiguous: list[StoredSegment] = field(default_factory=list)

    @property
    def has_manifests(self) -> bool:
        """Whether Aiven's plugin wrote the folder."""
        return any("rsm-manifest" in each.files for each in self.segments.values())

    def stored(self, start_offset: int, segment_id: str) -> StoredSegment | None:
        """The listed files of a segment."""
        known = (self.segments.get(segment_id), *self.ambiguous)
        return next(
            (each for each in known if each and (each.id, each.start_offset) == (segment_id, start_offset)), None
        )

    def file(self, start_offset: int, segment_id: str, suffix: str) -> str:
        """The path of a segment's file."""
        return f"{self.path.rstrip('/')}/{start_offset:020}-{segment_id}.{suffix}"


def remote_folder(
    filesystem: FileSystem, path: str, entries: Iterable[Entry], *, is_complete: bool = True
) -> RemoteFolder | None:
    """The remote folder at a path, if it contains remote segments."""
    found: dict[str, StoredSegment] = {}
    ambiguous: dict[tuple[str, int], StoredSegment] = {}
    for entry in entries:
        matched = None if entry.is_dir else _FILE.fullmatch(basename(entry.path))
        if matched is None or int(matched[1]) > _MAX_OFFSET:
            continue
        start_offset, segment_id = int(matched[1]), matched[2]
        segment = found.setdefault(segment_id, StoredSegment(segment_id, start_offset))
        if segment.start_offset != start_offset:
            segment = ambiguous.setdefault((segment_id, start_offset), StoredSegment(segment_id, start_offset))
        segment.files[matched[3]] = entry
    if not found:
        return None
    topic, partition = tiered_partition_of(path) or (None, None)
    folder = RemoteFolder(filesystem, path, topic, _topic_id(path), partition, found, is_complete)
    folder.ambiguous += ambiguous.values()
    return folder


def remote_folder_of(filesystem: FileSystem, segment: str) -> RemoteFolder | None:
    """The remote folder of a segment that is given alone, with no files but its own."""
    parent, stem = parent_of(segment), basename(segment).removesuffix("log")
    files = [each for each in filesystem.list(parent) if basename(each.path).startswith(stem)]
    return remote_folder(filesystem, parent, files, is_complete=False)


def _topic_id(path: str) -> str | None:
    name = basename(path)
    if re.fullmatch(r"[0-9]{1,10}", name):
        name = basename(parent_of(path))
    matched = re.fullmatch(r".+-([A-Za-z0-9_-]{22})", name, re.DOTALL)
    return matched[1] if matched else None
