"""Find segments in files, partition folders, log directories, tiered storage, other file systems and bytes.

:mod:`kafkacomp._storage.names` defines the meaning of names, :mod:`kafkacomp._storage.loader` which files of a
partition's folder are its log during a compaction.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._storage.checkpoints import OffsetCheckpoints
from kafkacomp._storage.commit_state import settled
from kafkacomp._storage.containers import (
    HEAD_BYTES,
    refuse_container,
    refuse_content,
    refuse_packed,
    refuse_packed_segment,
)
from kafkacomp._storage.file_object import open_file_object
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.loader import Loaded, loaded
from kafkacomp._storage.names import (
    INDEXES,
    MANIFEST,
    SIDE_FILES,
    SWAP,
    basename,
    is_compressed_segment,
    is_like_a_segment,
    is_marked,
    is_segment,
    is_tiered_segment,
    leading_offset,
    parent_of,
    partition_of,
    segment_offset,
    side_file,
)
from kafkacomp._storage.partition import LocalSegment, Partition, Segment
from kafkacomp._storage.remote import RemoteFolder, remote_folder, remote_folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.stores import Entry
    from kafkacomp.exceptions import CorruptRecordError

_LOGGER = logging.getLogger("kafkacomp")

_NOT_A_SEGMENT = "the name of a segment has 20 digits, and is at most 2^63 - 1"
#: The depth of folders that are searched: keys of object stores may begin with a prefix of several names.
_MAX_DEPTH = 8
_BESIDE = ("-checkpoint", ".metadata", MANIFEST)
_PASSING = (".deleted", ".swap", ".cleaned", ".lock", ".properties", ".tmp")

#: Finds the file system of a path, and the path in it, as :func:`kafkacomp._storage.filesystem.open_filesystem` does.
Opener: TypeAlias = "Callable[[str], tuple[FileSystem, str]]"

#: Called with the path of a folder that cannot be listed, or of a manifest that cannot be read, and the error.
Failed: TypeAlias = "Callable[[str, OSError | CorruptRecordError], object] | None"


def find_partitions(
    source: object,
    topic: str | None = None,
    partition: int | None = None,
    *,
    failed: Failed = None,
    opened: Opener = open_filesystem,
) -> list[Partition]:
    """Find the partitions of ``source``, which is as in :func:`kafkacomp.scan`.

    Segments in tiered storage are found, but not chosen from: :func:`kafkacomp.tiered.source.resolve` does that.

    ``topic`` and ``partition`` are for segments whose folder is not named by them. ``failed`` is called for each folder
    in a folder that cannot be read, which is then left out; without it, this is an error.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no segments.
        ValueError: a file is not a segment, by its name or content.
        TypeError: ``source`` is not bytes, a path, or a collection of these.
    """
    found = list(_resolve(source, failed, opened))
    for each in found:
        if each.topic is None and each.partition is None:
            each.topic, each.partition = topic, partition
    merged = _merge(found)
    for each in merged:
        for segment in each.segments:
            if isinstance(segment.source, str):
                refuse_packed_segment(segment.source)
        each.segments = well_named(each.segments)
    _warn_of_copies(merged)
    return merged


def _warn_of_copies(partitions: list[Partition]) -> None:
    """Warn of a partition in several folders, of which each is read. A broker has it in one, or does not start."""
    folders: dict[tuple[str, int], list[str]] = {}
    for each in partitions:
        if each.remote is None and each.topic is not None and each.partition is not None and each.segments:
            if any(segment.base_offset is None for segment in each.segments):
                continue
            folders.setdefault((each.topic, each.partition), []).append(parent_of(each.segments[0].name))
    for (topic, number), places in folders.items():
        if len(places) > 1:
            _LOGGER.warning(
                "%s-%d: in %d folders, and the records of each are read: %s",
                topic,
                number,
                len(places),
                ", ".join(places),
            )


def well_named(segments: list[Segment]) -> list[Segment]:
    """Order local segments by their first offsets, which their names may not show.

    For segments on other file systems the names count, because reading a header takes a request.
    """
    local = [
        LocalSegment(segment.source, segment.base_offset)
        for segment in segments
        if isinstance(segment.source, str) and segment.base_offset is not None
    ]
    if len(local) < len(segments):
        return segments
    misnamed = _kafkacomp.misnamed_segments(local)
    wrong = {each.index: each.first_offset for each in misnamed}
    if not wrong:
        return segments
    found = [
        replace(segment, base_offset=wrong[index], named_offset=segment.base_offset) if index in wrong else segment
        for index, segment in enumerate(segments)
    ]
    found.sort(key=lambda segment: (segment.base_offset, segment.name))
    is_active = any(segment.active for segment in found)
    return [replace(segment, active=is_active and segment is found[-1]) for segment in found]


def _merge(found: list[Partition]) -> list[Partition]:
    """Join the segments of one partition that were given one by one."""
    merged: dict[tuple[str, int, str], Partition] = {}
    result = []
    remote: dict[str, RemoteFolder] = {}
    for each in found:
        if each.remote is not None:
            known = remote.setdefault(each.remote.path, each.remote)
            if known is each.remote:
                result.append(each)
            else:
                known.segments.update(each.remote.segments)
                known.is_complete |= each.remote.is_complete
            continue
        named = all(segment.base_offset is not None for segment in each.segments)
        if each.topic is None or each.partition is None or not named:
            result.append(each)
            continue
        key = (each.topic, each.partition, parent_of(each.segments[0].name))
        if key not in merged:
            merged[key] = each
            result.append(each)
            continue
        names = {segment.name for segment in merged[key].segments}
        merged[key].segments += [segment for segment in each.segments if segment.name not in names]
        merged[key].segments.sort(key=lambda segment: segment.base_offset or 0)
    return result


def _resolve(source: object, failed: Failed, opened: Opener) -> Iterator[Partition]:
    if isinstance(source, Partition):
        yield source  # found before: the task of a Spark worker
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if not isinstance(path, str):
            path = os.fsdecode(path)
        filesystem, path = opened(path)
        yield from find_in(filesystem, path, failed)
    elif _is_bytes_like(source):
        view = memoryview(source)  # type: ignore[arg-type]  # just tested
        refuse_container(f"<{view.nbytes} bytes>", view.cast("B")[:HEAD_BYTES].tobytes() if view.c_contiguous else b"")
        yield Partition(None, None, [Segment(f"<{view.nbytes} bytes>", source, view.nbytes)])
    elif hasattr(source, "read"):
        yield _file_object(source)
    elif hasattr(source, "_resolved"):
        yield from source._resolved()  # noqa: SLF001 - of the log's model
    elif isinstance(source, Iterable):
        empty = True
        for each in source:
            empty = False
            yield from _resolve(each, failed, opened)
        if empty:
            raise ValueError("source is an empty collection: give at least one path or record set")
    else:
        message = (
            "source must be bytes-like, a path, a URL, a binary file object, a LogDir, LogPartition or LogSegment, "
            f"or a collection of these, not {type(source).__name__}"
        )
        raise TypeError(message)


def _file_object(file: Any) -> Partition:  # noqa: ANN401 - whatever can be read
    """Make a partition of a binary file object that contains a record set."""
    opened = open_file_object(file)
    name = opened.name
    size = opened.size()
    refuse_container(name, opened.read_at(min(size, HEAD_BYTES), 0))
    return Partition(None, None, [Segment(name, opened, size)])


def _is_bytes_like(source: object) -> bool:
    try:
        memoryview(source)  # type: ignore[arg-type]  # that is the test
    except TypeError:
        return False
    return True


def find_in(filesystem: FileSystem, path: str, failed: Failed = None) -> Iterator[Partition]:
    """Find the partitions at a path of a file system.

    Raises:
        FileNotFoundError: the path does not exist, or is a folder without segments.
        ValueError: it is a file that is not a segment, by its name or content.
    """
    entry = filesystem.info(path)
    if not entry.is_dir:
        yield _single_file(filesystem, entry)
        return
    errors: list[tuple[str, OSError | CorruptRecordError]] = []

    def find() -> list[Partition]:
        errors.clear()
        note: Failed = None if failed is None else lambda path, error: errors.append((path, error))
        return list(_folder(filesystem, path, filesystem.list(path), note, searched=Searched()))

    # Spark writes to local folders only.
    found = settled(path, find) if isinstance(filesystem.segment(path), str) else find()
    for where, error in errors:
        if failed is not None:
            failed(where, error)
    if not found:
        refuse_packed(filesystem, path)
        raise FileNotFoundError(errno.ENOENT, "no Kafka log segments in this folder", path)
    for each in found:
        if each.remote is not None:
            each.remote.root = path
    yield from found


class Searched:
    """The folders of folders that a search has entered: links may form loops."""

    def __init__(self) -> None:
        self._depths: dict[object, int] = {}

    def enter(self, filesystem: FileSystem, path: str, depth: int = 0) -> bool:
        """Whether a folder is to be searched: for the first time, or at a lower depth, from which more is reached."""
        identity = filesystem.identity(path)
        if identity is not None and self._depths.get(identity, depth + 1) <= depth:
            return False
        self._depths[identity] = depth
        return True


def _folder(
    filesystem: FileSystem,
    path: str,
    entries: list[Entry],
    failed: Failed,
    *,
    searched: Searched,
    checkpoints: OffsetCheckpoints | None = None,
    depth: int = 0,
) -> Iterator[Partition]:
    """Yield the partitions of a folder: the folder itself, or the folders in it."""
    # Next to segments of a broker, files with segment ids are copies from tiered storage.
    is_local = any(not e.is_dir and is_segment(basename(e.path)) for e in entries)
    if not is_local and (remote := remote_folder(filesystem, path, entries)) is not None:
        if remote.topic is None and depth > 0 and not remote.has_manifests:
            _LOGGER.warning("%s: skipped: the folder's name is not that of a partition in tiered storage", path)
            return
        yield Partition(remote.topic, remote.partition, remote=remote)
        return
    own = _segments(filesystem, path, entries)
    if own:
        known = partition_of(basename(path))
        if known is None and depth > 0:
            _LOGGER.warning("%s: skipped: the folder's name is not <topic>-<partition>", path)
            return
        own[-1].active = True
        topic, partition = known or (None, None)
        checkpoints = None if known is None else checkpoints or OffsetCheckpoints(filesystem, parent_of(path))
        yield Partition(topic, partition, own, checkpoints=checkpoints)
        return
    if depth > _MAX_DEPTH or is_marked(basename(path)) or not searched.enter(filesystem, path, depth):
        return
    checkpoints = OffsetCheckpoints(filesystem, path)
    for entry in subfolders(entries):
        try:
            inside = filesystem.list(entry.path)
        except OSError as error:
            if failed is None:
                raise
            failed(entry.path, error)
            continue
        yield from _folder(
            filesystem, entry.path, inside, failed, searched=searched, checkpoints=checkpoints, depth=depth + 1
        )


def _segments(filesystem: FileSystem, folder: str, entries: list[Entry]) -> list[Segment]:
    """The segments of a folder in offset order, as a broker would load them when it starts."""
    files, state = log_files(filesystem, folder, entries)
    found = []
    for name, entry in files.items():
        if name in state.swapped:
            found.append(_segment(filesystem, entry, leading_offset(name)))
        elif (base_offset := segment_offset(name)) is not None:
            found.append(_segment(filesystem, entry, base_offset))
        elif (segment := _missing_segment(name, files)) is not None:
            _LOGGER.warning("%s: skipped: its segment %s does not exist", entry.path, segment)
    found.sort(key=lambda segment: (segment.base_offset, segment.name))
    return found


def log_files(
    filesystem: FileSystem, folder: str, entries: list[Entry], attempts: int = 5
) -> tuple[dict[str, Entry], Loaded]:
    """The files of a folder after a broker has loaded it, by name, and the broker's decisions.

    The decisions are logged, and so are names that resemble those of segments.
    """
    files = {basename(entry.path): entry for entry in entries if not entry.is_dir}

    def end_offset(name: str) -> int | None:
        swap = _segment(filesystem, files[name], leading_offset(name))
        return _kafkacomp.end_offset(swap, "0.8+")

    try:
        state = loaded(files, end_offset)
    except FileNotFoundError:
        if attempts == 1:
            raise
        # A running broker has completed the swap since the listing.
        return log_files(filesystem, folder, filesystem.list(folder), attempts - 1)
    for warning in state.warnings:
        _LOGGER.warning("%s: %s", folder, warning)
    for name in filter(is_like_a_segment, files):
        _LOGGER.warning("%s: skipped: %s", files[name].path, _NOT_A_SEGMENT)
    for name in filter(is_compressed_segment, files):
        _LOGGER.warning("%s: skipped: a compressed segment: decompress it first", files[name].path)
    return {name: entry for name, entry in files.items() if name not in state.removed}, state


def _missing_segment(name: str, files: Collection[str]) -> str | None:
    """The name of the segment of an index file, if this segment is not among the files."""
    if name.rpartition(".")[2] not in INDEXES or leading_offset(name) is None:
        return None
    segment = side_file(name, "log")
    return None if segment in files or segment + SWAP in files else segment


def _segment(filesystem: FileSystem, entry: Entry, base_offset: int | None) -> Segment:
    return Segment(entry.path, filesystem.segment(entry.path), entry.size, base_offset=base_offset)


def _single_file(filesystem: FileSystem, entry: Entry) -> Partition:
    name, parent = basename(entry.path), parent_of(entry.path)
    suffix = name.rpartition(".")[2]
    if suffix in SIDE_FILES or name.endswith(_BESIDE):
        message = f"{entry.path}: this is an index file (.{suffix}), not a segment: give the .log file or the folder"
        raise ValueError(message)
    if is_like_a_segment(name):
        _LOGGER.warning("%s: read as a record set: %s", entry.path, _NOT_A_SEGMENT)
    if is_tiered_segment(name) and (remote := remote_folder_of(filesystem, entry.path)) is not None:
        return Partition(remote.topic, remote.partition, remote=remote)
    known = partition_of(basename(parent))
    topic, partition = known or (None, None)
    base_offset = segment_offset(name.removesuffix(SWAP))
    if base_offset is None:
        refuse_content(filesystem, entry, entry.path)
    checkpoints = None if known is None else OffsetCheckpoints(filesystem, parent_of(parent))
    return Partition(topic, partition, [_segment(filesystem, entry, base_offset)], checkpoints=checkpoints)


def is_not_a_segment(path: str) -> bool:
    """Whether a file is an index file, or a segment that is being deleted or swapped in."""
    name = basename(path)
    return name.rpartition(".")[2] in SIDE_FILES or name.startswith(".") or name.endswith((*_BESIDE, *_PASSING))


def subfolders(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The folders that may contain logs, in the order of their names: partition 10 comes after partition 9."""
    folders = [each for each in entries if each.is_dir]
    folders.sort(key=lambda each: partition_of(basename(each.path)) or (basename(each.path), -1))
    for folder in folders:
        if is_marked(basename(folder.path)):
            _LOGGER.info("%s: skipped: not part of a log", folder.path)
        else:
            yield folder
