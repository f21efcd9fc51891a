"""Find segments in files, partition folders, log directories, tiered storage, other file systems and bytes.

:mod:`kafkacomp._storage.listing` lists folders; here a source of any kind becomes partitions.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkacomp._arguments import path_text
from kafkacomp._storage.checkpoints import OffsetCheckpoints
from kafkacomp._storage.commit_state import settled
from kafkacomp._storage.containers import (
    HEAD_BYTES,
    HEADER_BYTES,
    head_of_segment,
    refuse_container,
    refuse_content,
    refuse_packed,
)
from kafkacomp._storage.file_object import open_file_object
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.listing import METADATA_SUFFIXES, NOT_A_SEGMENT, Listing, list_folder, segment_at, settle
from kafkacomp._storage.names import (
    SIDE_FILES,
    SWAP,
    basename,
    given_partition_of,
    is_like_a_segment,
    is_marked,
    is_tiered_segment,
    parent_of,
    segment_offset,
)
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp._storage.remote import RemoteFolder, remote_folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.listing import Allowed, Failed
    from kafkacomp._storage.stores import Entry

_LOGGER = logging.getLogger("kafkacomp")

#: Offset field, length, checksum or leader epoch, and magic.
_HEADER = struct.Struct(">qiIb")

#: The most files that an error names.
_SHOWN = 10

#: Finds the file system of a path, and the path in it, as :func:`kafkacomp._storage.filesystem.open_filesystem` does.
Opener: TypeAlias = "Callable[[str], tuple[FileSystem, str]]"


def find_partitions(
    source: object,
    topic: str | None = None,
    partition: int | None = None,
    *,
    choose: Callable[[list[Partition]], list[Partition]],
    allowed: Allowed | None = None,
    failed: Failed = None,
    opened: Opener = open_filesystem,
) -> list[Partition]:
    """Find the partitions of a source, and open the segments of those that are chosen.

    Args:
        source: The source, as in :func:`kafkacomp.scan`.
        topic: The topic of segments whose folder does not name one.
        partition: The partition of such segments.
        choose: Chooses from the partitions that were listed.
        allowed: As for :func:`list_sources`.
        failed: As for :func:`list_sources`.
        opened: Finds the file system of a path or URL.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no segments.
        ValueError: a file is not a segment, by its name or content; or from ``choose``.
        TypeError: ``source`` is not bytes, a path, or a collection of these.
    """
    alone = record_set(source)
    if alone is not None:
        alone.topic, alone.partition = topic, partition
        return choose([alone])
    listing = list_sources(source, allowed=allowed, failed=failed, opened=opened)
    listing.warn()
    chosen = choose(named(listing.partitions, topic, partition))
    for each in chosen:
        check(each)
    warn_of_copies(chosen)
    return chosen


def named(found: Iterable[Partition], topic: str | None, partition: int | None) -> list[Partition]:
    """Name the partitions whose folders do not name one, and join the segments that were given one by one."""
    listed = list(found)
    for each in listed:
        if each.topic is None and each.partition is None:
            each.topic, each.partition = topic, partition
    return _merge(listed)


def check(partition: Partition) -> None:
    """Open the local segments of a partition once: refuse what is packed, and see whether their names may be right.

    On other file systems the names count, because reading a header takes a request.

    Raises:
        ValueError: a segment is a compressed file.
    """
    if partition.is_checked:
        return
    local = [each for each in partition.segments if isinstance(each.source, str)]
    heads = [head_of_segment(each.source) for each in local]
    if len(local) == len(partition.segments):
        bases = [each.base_offset for each in local]
        partition.is_misnamed = any(
            head and base is not None and not _may_begin(head, base, following)
            for head, base, following in zip(heads, bases, [*bases[1:], None], strict=True)
        )
    partition.is_checked = True


def _may_begin(head: bytes, base: int, following: int | None) -> bool:
    """Whether a segment with these first bytes may have its name: its first batch has offsets from it to the next name.

    What is no header of a batch shows nothing. That of a compressed message has its last offset.
    """
    if len(head) < HEADER_BYTES:
        return True
    offset, size, _, magic = _HEADER.unpack(head)
    if size <= 0 or magic not in {0, 1, 2}:
        return True
    return bool(base <= offset and (following is None or offset < following or base == following))


def warn_of_copies(partitions: list[Partition]) -> None:
    """Warn of partitions that are in several folders."""
    for _, message in copies_in(partitions):
        _LOGGER.warning("%s", message)


def copies_in(partitions: list[Partition]) -> Iterator[tuple[str, str]]:
    """Yield for each partition in several folders, of which each is read, the first folder and a message.

    A broker has a partition in one folder, or does not start.
    """
    folders: dict[tuple[str, int], list[str]] = {}
    for each in partitions:
        if each.remote is None and each.topic is not None and each.partition is not None and each.segments:
            if any(segment.base_offset is None for segment in each.segments):
                continue
            folders.setdefault((each.topic, each.partition), []).append(parent_of(each.segments[0].name))
    for (topic, number), places in folders.items():
        if len(places) > 1:
            shown = ", ".join(places)
            yield places[0], f"{topic}-{number}: in {len(places)} folders, and the records of each are read: {shown}"


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
        has_bases = all(segment.base_offset is not None for segment in each.segments)
        if each.topic is None or each.partition is None or not has_bases or not each.segments:
            result.append(each)
            continue
        key = (each.topic, each.partition, parent_of(each.segments[0].name))
        if key not in merged:
            merged[key] = each
            result.append(each)
            continue
        names = {segment.name for segment in merged[key].segments}
        merged[key].is_checked &= each.is_checked
        merged[key].segments += [segment for segment in each.segments if segment.name not in names]
        merged[key].segments.sort(key=lambda segment: segment.base_offset or 0)
    return result


def list_sources(
    source: object, *, allowed: Allowed | None = None, failed: Failed = None, opened: Opener = open_filesystem
) -> Listing:
    """List ``source``, which is as in :func:`kafkacomp.scan`, without opening segments.

    Args:
        source: The source.
        allowed: Decides by the name of a folder whether its partition may be read.
        failed: Called for each folder that cannot be listed, which is then left out; without it, this is an error.
            A folder whose name is that of a partition that ``allowed`` rules out is only a warning.
        opened: Finds the file system of a path.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no segments.
        ValueError: a file is not a segment, by its name or content.
        TypeError: ``source`` is not bytes, a path, or a collection of these.
    """
    found = Listing()
    for each in _listings(source, allowed, opened, failed):
        found.add(each)
    settle(found.failures, allowed, failed)
    return found


def _listings(source: object, allowed: Allowed | None, opened: Opener, failed: Failed) -> Iterator[Listing]:
    if isinstance(source, Partition):
        yield Listing([source])  # found before: the task of a Spark worker
    elif isinstance(source, str | os.PathLike):
        filesystem, path = opened(path_text("source", source))
        yield list_path(filesystem, path, allowed, may_vanish=failed is not None)
    elif (alone := record_set(source)) is not None:
        yield Listing([alone])
    elif isinstance(source, SegmentSource):
        yield source._listed()  # noqa: SLF001 - of the log's model
    elif isinstance(source, Iterable):
        empty = True
        for place, each in _each_of(source):
            empty = False
            for listing in _listings(each, allowed, opened, failed):
                yield listing if place is None else _named(listing, place)
        if empty:
            raise ValueError("source is an empty collection: give at least one path or record set")
    else:
        message = (
            "source must be bytes-like, a path, a URL, a binary file object, a LogDir, LogPartition or LogSegment, "
            f"a collection of these, or a mapping of (topic, partition) to them, not {type(source).__name__}"
        )
        raise TypeError(message)


def _each_of(source: Iterable[object]) -> Iterator[tuple[tuple[str, int] | None, object]]:
    """Yield the sources of a collection, those of a mapping with the partitions that they belong to."""
    if isinstance(source, Mapping):
        yield from ((_place_of(key), each) for key, each in source.items())
    else:
        yield from ((None, each) for each in source)


def _place_of(key: object) -> tuple[str, int]:
    match key:
        case (str(topic), int(partition)) if topic and partition >= 0:
            return topic, partition
        case _:
            raise ValueError(f"the keys of source must be (topic, partition), such as ('orders', 0), not {key!r}")


def _named(found: Listing, place: tuple[str, int]) -> Listing:
    """Name partitions whose folders do not name one; ValueError if a folder names another one."""
    for each in found.partitions:
        if each.topic is None and each.partition is None:
            each.topic, each.partition = place
        elif (each.topic, each.partition) != place:
            there = f"{each.segments[0].name} is of {each.topic}-{each.partition}"
            raise ValueError(f"source has {place!r} for another partition: {there}; to choose partitions, use topics=")
    return found


def record_set(source: Any) -> Partition | None:  # noqa: ANN401 - any source
    """Make a partition of bytes or of a binary file object; ``None`` for other sources. Nothing needs to be listed.

    Raises:
        ValueError: the content is that of a container, not a record set.
    """
    try:
        view = memoryview(source)
    except TypeError:
        if isinstance(source, os.PathLike) or not hasattr(source, "read"):
            return None
        opened = open_file_object(source)
        name, size, segment_source = opened.name, opened.size(), opened
        head = opened.read_at(min(size, HEAD_BYTES), 0)
    else:
        name, size, segment_source = f"<{view.nbytes} bytes>", view.nbytes, source
        head = view.cast("B")[:HEAD_BYTES].tobytes() if view.c_contiguous else b""
    refuse_container(name, head)
    return Partition(None, None, [Segment(name, segment_source, size)], is_checked=True)


def list_path(
    filesystem: FileSystem, path: str, allowed: Allowed | None = None, *, may_vanish: bool = False
) -> Listing:
    """List a path of a file system.

    Raises:
        FileNotFoundError: the path does not exist, or is a folder without segments; or a folder in it was deleted since
            it was listed, unless ``may_vanish``.
        ValueError: it is a file that is not a segment, by its name or content.
    """
    entry = filesystem.info(path)
    if not entry.is_dir:
        return _single_file(filesystem, entry)

    def find() -> Listing:
        return list_folder(filesystem, path, allowed, may_vanish=may_vanish)

    # Spark writes to local folders only.
    found = settled(path, find) if isinstance(filesystem.segment(path), str) else find()
    if not found.partitions and not (found.failures and may_vanish):
        for _, error in found.failures:
            raise error
        refuse_packed(filesystem, path)
        raise FileNotFoundError(errno.ENOENT, _nothing(found), path)
    for each in found.partitions:
        if each.remote is not None:
            each.remote.root = path
    return found


def find_in(filesystem: FileSystem, path: str, allowed: Allowed | None = None) -> Iterator[Partition]:
    """Find the partitions at a path of a file system, as :func:`list_path` does, and log the warnings."""
    found = list_path(filesystem, path, allowed)
    settle(found.failures, allowed)
    found.warn()
    yield from found.partitions


def _nothing(found: Listing) -> str:
    """What to say of a folder without segments: what there is instead."""
    others = [f"{each.path}: {each.reason}" for each in found.others if not each.is_foreign]
    shown = "; ".join(others[:_SHOWN]) + ("; ..." if len(others) > _SHOWN else "")
    return "no Kafka log segments in this folder" + (f" ({shown})" if shown else "")


def _single_file(filesystem: FileSystem, entry: Entry) -> Listing:
    name, parent = basename(entry.path), parent_of(entry.path)
    suffix = name.rpartition(".")[2]
    if suffix in SIDE_FILES or name.endswith(METADATA_SUFFIXES):
        message = f"{entry.path}: this is an index file (.{suffix}), not a segment: give the .log file or the folder"
        raise ValueError(message)
    if is_like_a_segment(name):
        _LOGGER.warning("%s: read as a record set: %s", entry.path, NOT_A_SEGMENT)
    if is_tiered_segment(name) and (remote := remote_folder_of(filesystem, entry.path)) is not None:
        return Listing([Partition(remote.topic, remote.partition, remote=remote)])
    known = given_partition_of(basename(parent))
    topic, partition = known or (None, None)
    base_offset = segment_offset(name.removesuffix(SWAP))
    if base_offset is None:
        refuse_content(filesystem, entry, entry.path)
    has_checkpoints = known is not None and not is_marked(basename(parent))
    checkpoints = OffsetCheckpoints(filesystem, parent_of(parent)) if has_checkpoints else None
    segment = segment_at(filesystem, entry, base_offset)
    has_loss_file = base_offset is not None
    found = Partition(topic, partition, [segment], checkpoints=checkpoints, has_loss_file=has_loss_file, is_part=True)
    return Listing([found])
