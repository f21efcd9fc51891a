"""Folders of remote storage with their segments; ``kafkacomp_log::listing::remote`` defines the layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._storage.stores import Entry

if TYPE_CHECKING:
    from kafkacomp._storage.filesystem import FileSystem


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
    #: Segments with the same id as another one.
    ambiguous: list[StoredSegment] = field(default_factory=list)
    #: The given path, to which keys of objects are relative.
    root: str | None = None

    @classmethod
    def of(cls, filesystem: FileSystem, listed: Any) -> RemoteFolder:  # noqa: ANN401 - a tuple of the core
        """The folder that the core has listed."""
        path, topic, topic_id, partition, segments, is_complete, ambiguous = listed
        by_id = {each.id: each for each in map(_stored, segments)}
        others = [_stored(each) for each in ambiguous]
        return cls(filesystem, path, topic, topic_id, partition, by_id, is_complete, others)

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


def _stored(listed: tuple[str, int, list[tuple[str, tuple[str, bool, int]]]]) -> StoredSegment:
    segment_id, start_offset, files = listed
    return StoredSegment(segment_id, start_offset, {suffix: Entry(*entry) for suffix, entry in files})


def remote_folder_of(filesystem: FileSystem, segment: str) -> RemoteFolder | None:
    """The remote folder of a segment that is given alone, with no files but its own."""
    listed = _kafkacomp.remote_folder_of(filesystem, segment)
    return None if listed is None else RemoteFolder.of(filesystem, listed)
