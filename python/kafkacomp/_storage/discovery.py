"""Find segments in files, partition folders, log directories, tiered storage, other file systems and bytes.

:mod:`kafkacomp._storage.listing` lists folders; here a source of any kind becomes partitions.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._arguments import path_text
from kafkacomp._storage.commit_state import settled
from kafkacomp._storage.containers import HEAD_BYTES, refuse_container
from kafkacomp._storage.file_object import open_file_object
from kafkacomp._storage.filesystem import is_url, open_filesystem
from kafkacomp._storage.listing import Listing, list_folder, settle
from kafkacomp._storage.names import basename, parent_of
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp._storage.stores import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.listing import Allowed, Failed
    from kafkacomp._storage.remote import RemoteFolder

_LOGGER = logging.getLogger("kafkacomp")
_WILDCARD = re.compile(r"[*?\[{]")
#: The options of a file system at the end of a URL.
_QUERY = re.compile(r"\?[\w.]+=.*", re.DOTALL)
_SCHEME_ONLY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{0,2}")

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
        return choose(named([alone], topic, partition))
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


def check(partition: Partition, *, keeps_open: bool = True) -> None:
    """Open the local segments of a partition once: refuse what is packed, and see whether their names may be right.

    With ``keeps_open`` up to 256 files stay open for the reader that follows. On other file systems the names count,
    because reading a header takes a request.

    Raises:
        ValueError: a segment is a compressed file.
    """
    if partition.is_checked:
        return
    local = [each for each in partition.segments if isinstance(each.source, str)]
    inspected = _kafkacomp.inspect([each.source for each in local])
    for segment, found in zip(local, inspected, strict=True):
        if (container := found.container()) is not None:
            raise ValueError(f"{segment.source}: {container}")
        segment.inspected = found if keeps_open else None
    if len(local) == len(partition.segments):
        bases = [each.base_offset for each in local]
        partition.is_misnamed = _kafkacomp.are_misnamed(list(zip(bases, inspected, strict=True)))
    partition.is_checked = True


def warn_of_copies(partitions: list[Partition]) -> None:
    """Warn of partitions that are in several folders."""
    for _, message in copies_in(partitions):
        _LOGGER.warning("%s", message)


def copies_in(partitions: list[Partition]) -> Iterator[tuple[str, str]]:
    """Yield for each partition in several folders, of which each is read, the first folder and a message.

    A broker has a partition in one folder, or does not start.
    """
    found = [
        (each.topic, each.partition, parent_of(each.segments[0].name))
        for each in partitions
        if each.remote is None and each.topic is not None and each.partition is not None and each.segments
        if all(segment.base_offset is not None for segment in each.segments)
    ]
    for topic, number, places in _kafkacomp.copies(found):
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
        yield from _at_path(path_text("source", source), allowed, opened, may_vanish=failed is not None)
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


def _at_path(path: str, allowed: Allowed | None, opened: Opener, *, may_vanish: bool) -> Iterator[Listing]:
    """List a path, or all paths that its wildcards match.

    Matches that are index files or folders without segments are left out.
    """
    matched = matches(path, opened)
    if matched is None:
        yield list_path(*opened(path), allowed, may_vanish=may_vanish)
        return
    filesystem, entries = matched
    found = False
    for each in entries:
        if not each.is_dir and _kafkacomp.is_not_a_segment(basename(each.path)):
            continue
        try:
            listing = list_path(filesystem, each.path, allowed, may_vanish=may_vanish)
        except FileNotFoundError:
            if not each.is_dir:
                raise
            continue
        found = True
        yield listing
    if not found:
        raise nothing_matches(path, entries)


def matches(path: str, opened: Opener) -> tuple[FileSystem, list[Entry]] | None:
    """Find what the wildcards of a path or URL match; ``None`` if it has none, or exists under this very name.

    They are those of fsspec, and Hadoop's braces: ``*``, ``?``, ``[ab]``, ``[!a]``, ``{a,b}``, and ``**`` for any
    number of folders.
    """
    query = _QUERY.search(path) if is_url(path) else None
    path, options = (path, "") if query is None else (path[: query.start()], query[0])
    magic = None if "::" in path else _WILDCARD.search(path)
    if magic is None or _exists(path + options, opened):
        return None
    cut = path.rfind("/", 0, magic.start())
    base = path[:cut] if cut > 0 else "/" if cut == 0 else "."
    if (scheme := _SCHEME_ONLY.fullmatch(base)) is not None:
        base = f"{scheme[1]}:///"
    filesystem, folder = opened(base + options)
    return filesystem, [Entry(*each) for each in _kafkacomp.glob_matches(filesystem, folder, path[cut + 1 :])]


def nothing_matches(path: str, entries: list[Entry]) -> FileNotFoundError:
    """The error for wildcards that match nothing, or nothing of a log."""
    reason = "no Kafka log segments in the matches of this path" if entries else "nothing matches this path"
    return FileNotFoundError(errno.ENOENT, reason, path)


def _exists(path: str, opened: Opener) -> bool:
    """Whether a path that contains wildcard characters exists under this very name."""
    try:
        filesystem, inner = opened(path)
        filesystem.info(inner)
    except (OSError, ValueError):
        return False
    return True


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
        return Listing.of(filesystem, _kafkacomp.list_file(filesystem, entry.path, entry.size))

    def find() -> Listing:
        return list_folder(filesystem, path, allowed, may_vanish=may_vanish)

    # Spark writes to local folders only.
    found = settled(path, find) if isinstance(filesystem.segment(path), str) else find()
    if not found.partitions and not (found.failures and may_vanish):
        for _, error in found.failures:
            raise error
        _kafkacomp.refuse_packed(filesystem, path)
        raise FileNotFoundError(errno.ENOENT, _nothing(found), path)
    for each in found.partitions:
        if each.remote is not None:
            each.remote.root = path
    return found


def find_at(path: str, opened: Opener = open_filesystem, allowed: Allowed | None = None) -> list[Partition]:
    """Find the partitions at a path or URL, or at all paths that its wildcards match, and log the warnings.

    Raises:
        FileNotFoundError: the path does not exist, nothing matches it, or the matches contain no segments.
    """
    found = list_sources(path, allowed=allowed, opened=opened)
    found.warn()
    return found.partitions


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
