"""List a remote storage: every segment in the storage or in the remote log metadata."""

from __future__ import annotations

import errno
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kafkacomp._storage.discovery import find_in
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._text import camel_case
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.tiered.lineage import valid_ranges
from kafkacomp.tiered.metadata import SegmentState
from kafkacomp.tiered.objects import read_manifest

if TYPE_CHECKING:
    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.remote import RemoteFolder
    from kafkacomp.tiered.manifest import Manifest
    from kafkacomp.tiered.metadata import RemoteSegment
    from kafkacomp.tiered.resolve import TieredOptions


@dataclass
class SegmentInfo:
    """A segment in remote storage, with its state and metadata."""

    topic: str | None
    topic_id: str | None
    partition: int | None
    id: str
    start_offset: int
    #: Inclusive.
    end_offset: int | None = None
    #: First offsets by epoch.
    leader_epochs: dict[int, int] | None = None
    #: The state in the remote log metadata; UNKNOWN if it does not have the segment.
    state: str | None = None
    #: Bytes of the segment, and of its object.
    size: int | None = None
    stored_size: int | None = None
    #: Chunks and how they are stored: plain, zstd, encrypted, or zstd and encrypted; empty without a manifest.
    chunks: str | None = None
    key_id: str | None = None
    #: Ranges of first and last offsets that are read; ``None`` if unknown, empty if no offset is read.
    valid_offsets: list[tuple[int, int]] | None = None
    #: Why the manifest cannot be read.
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return camel_case(asdict(self))


def inspect(path: str, options: TieredOptions, opened: Opener = open_filesystem) -> list[SegmentInfo]:
    """List the segments at a path or URL.

    Raises:
        FileNotFoundError: the path does not exist, or contains no remote segments.
    """
    filesystem, inner = opened(path)
    folders = [each.remote for each in find_in(filesystem, inner) if each.remote is not None]
    if not folders:
        raise FileNotFoundError(errno.ENOENT, "no segments of tiered storage", path)
    found: list[SegmentInfo] = []
    for folder in folders:
        found += _segments(folder, options)
    return found


def _segments(folder: RemoteFolder, options: TieredOptions) -> list[SegmentInfo]:
    found: dict[str, SegmentInfo] = {}
    for each in folder.segments.values():
        info = SegmentInfo(folder.topic, folder.topic_id, folder.partition, each.id, each.start_offset)
        if "log" in each.files:
            info.stored_size = info.size = each.files["log"].size
        if "rsm-manifest" in each.files:
            try:
                _add_manifest(info, read_manifest(folder.filesystem, each.files["rsm-manifest"].path))
            except (KafkaCompError, OSError) as error:
                info.problem = str(error)
        found[each.id] = info
    for each in folder.ambiguous:
        other = f"{found[each.id].start_offset:020}-{each.id}"
        info = SegmentInfo(folder.topic, folder.topic_id, folder.partition, each.id, each.start_offset)
        info.problem = f"has the same id as {other}; ids must be unique"
        found[f"{each.start_offset}-{each.id}"] = info
    any_info = next(iter(found.values()))
    topic_id, partition = any_info.topic_id, any_info.partition
    if options.metadata is not None and topic_id is not None and partition is not None:
        known = options.metadata.segments(topic_id, partition)
        for segment in known:
            made = SegmentInfo(segment.topic, topic_id, partition, segment.id, segment.start_offset)
            _add_segment(found.setdefault(segment.id, made), segment)
            found[segment.id].state = segment.state.name
        for info in found.values():
            info.state = info.state or "UNKNOWN"
        _add_valid(found, known, options)
    return sorted(found.values(), key=lambda each: (each.start_offset, each.end_offset or 0, each.id))


def _add_manifest(info: SegmentInfo, manifest: Manifest) -> None:
    segment = manifest.segment
    info.topic, info.topic_id, info.partition = segment.topic, segment.topic_id, segment.partition
    _add_segment(info, segment)
    how = [name for name, used in (("zstd", manifest.compressed), ("encrypted", manifest.encryption)) if used]
    info.chunks = f"{manifest.chunks.count} {' and '.join(how) or 'plain'}"
    info.key_id = manifest.encryption.key_id if manifest.encryption else None


def _add_segment(info: SegmentInfo, segment: RemoteSegment) -> None:
    info.end_offset, info.leader_epochs, info.size = segment.end_offset, segment.leader_epochs, segment.size


def _add_valid(found: dict[str, SegmentInfo], known: list[RemoteSegment], options: TieredOptions) -> None:
    any_info = next(iter(found.values()))
    if options.local is None or any_info.topic is None or any_info.partition is None:
        return
    local = options.local.log(any_info.topic, any_info.partition)
    if local is None or not local.epochs or local.topic_id not in {None, any_info.topic_id}:
        return
    begins = max(local.log_start or 0, local.epochs[0][1])
    finished = [each for each in known if each.state == SegmentState.COPY_SEGMENT_FINISHED]
    for info in found.values():
        info.valid_offsets = []
    for each in valid_ranges(finished, local.epochs, begins, local.first_offset):
        valid = found[each.segment.id].valid_offsets
        if valid is not None:
            valid.append((max(each.first, begins), each.end - 1))
