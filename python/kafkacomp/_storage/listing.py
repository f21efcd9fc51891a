"""List a path once: its partitions, the files of its logs by kind, and everything else.

:mod:`kafkacomp._storage.names` defines the meaning of names, :mod:`kafkacomp._storage.loader` which files of a
partition's folder are its log during a compaction. No segment is opened, except ``.swap`` files, whose end decides
what they replace.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._storage.checkpoints import OFFSET_CHECKPOINTS, OffsetCheckpoints, topic_id_in
from kafkacomp._storage.commit_state import STAGING
from kafkacomp._storage.containers import foreign_segment
from kafkacomp._storage.loader import Loaded, loaded
from kafkacomp._storage.loss_file import LOSS_FILE
from kafkacomp._storage.names import (
    INDEXES,
    MANIFEST,
    SIDE_FILES,
    SWAP,
    basename,
    given_partition_of,
    is_compressed_segment,
    is_like_a_segment,
    is_marked,
    is_segment,
    leading_offset,
    mark_of,
    may_be_truncated,
    parent_of,
    partition_of,
    segment_offset,
    side_file,
)
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp._storage.remote import remote_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.remote import RemoteFolder
    from kafkacomp._storage.stores import Entry
    from kafkacomp.exceptions import CorruptRecordError

_LOGGER = logging.getLogger("kafkacomp")
#: For files that are not part of a log; only the command line shows them.
_FOREIGN = logging.getLogger("kafkacomp.foreign")

#: Whether a topic and partition may be read; the names of folders are asked before their segments are looked at.
Allowed: TypeAlias = "Callable[[str, int], bool]"
#: Called with the path of a folder that cannot be listed, or of a manifest that cannot be read, and the error.
Failed: TypeAlias = "Callable[[str, OSError | CorruptRecordError], object] | None"

NOT_A_SEGMENT: Final = "the name of a segment has 20 digits, and is at most 2^63 - 1"
#: The depth of folders that are searched: keys of object stores may begin with a prefix of several names.
_MAX_DEPTH = 8
#: Suffixes of checkpoints and other metadata; and of files that a broker deletes, swaps in or keeps for itself.
METADATA_SUFFIXES: Final = ("-checkpoint", ".metadata", MANIFEST)
TRANSIENT_SUFFIXES: Final = (".deleted", ".swap", ".cleaned", ".lock", ".properties", ".tmp")
#: What brokers and kafkacomp keep next to logs besides.
_KNOWN = re.compile(r"\..*|kafkacomp-.*|_SUCCESS|remote-log-index-cache|.*\.checkpoint(\.deleted|\.part)?", re.DOTALL)

_SIDE_FILE = re.compile(r"[0-9]{20}(-[A-Za-z0-9_-]{22})?\.(index|timeindex|txnindex|snapshot)")
_SNAPSHOT_OF_METADATA = re.compile(r"([0-9]{20}-[0-9]{10}|bootstrap)\.checkpoint")
_EPOCHS_OF_SEGMENT = re.compile(r"[0-9]{20}-[A-Za-z0-9_-]{22}\.leader_epoch_checkpoint")
KIND_BY_SUFFIX: Final = {".log": "log", ".kafka": "message set"}
_KIND_BY_NAME: Final = {
    "leader-epoch-checkpoint": "leader-epoch-checkpoint",
    "partition.metadata": "partition.metadata",
    "quorum-state": "quorum-state",
    "meta.properties": "meta.properties",
    "bootstrap.checkpoint": "checkpoint",
}
#: What to do about a marked folder.
_MARKS: Final = {
    "delete": "a partition that the broker is deleting",
    "future": "an incomplete copy of a partition, from a move between log directories",
    "stray": "a partition that the broker does not recognize as its own, which may be the only copy",
}


@dataclass(frozen=True)
class OtherFile:
    """A file or folder that is listed and not read.

    Attributes:
        path: Its path.
        size: The bytes of the file, or of the files in the folder.
        reason: Why it is not read, and how to read it.
        is_error: Whether a verification reports an error: a log must not have such a file.
        is_foreign: Whether nothing shows that it ever belonged to a log.

    Example:
        >>> import kafkacomp as kc
        >>> for file in kc.LogDir(example).other_files:
        ...     print(file.path, file.size, file.reason)
    """

    path: str
    size: int
    reason: str
    is_error: bool = False
    is_foreign: bool = False


@dataclass(frozen=True)
class ListedFile:
    """A file of a log, and its kind as in :class:`kafkacomp._storage.files.SourceFile`."""

    filesystem: FileSystem
    entry: Entry
    kind: str


@dataclass
class Listing:
    """What a path contains."""

    partitions: list[Partition] = field(default_factory=list)
    #: The files of logs and log directories, in the order of the names of folders and files.
    files: list[ListedFile | RemoteFolder] = field(default_factory=list)
    others: list[OtherFile] = field(default_factory=list)
    #: What cannot be listed or opened, with the errors.
    failures: list[tuple[str, OSError | CorruptRecordError]] = field(default_factory=list)
    #: How a broker that starts decides about the files of a compaction.
    decisions: list[str] = field(default_factory=list)

    def add(self, other: Listing) -> None:
        """Add what another path contains."""
        self.partitions += other.partitions
        self.files += other.files
        self.others += other.others
        self.failures += other.failures
        self.decisions += other.decisions

    def warn(self) -> None:
        """Log the decisions about files, and what was left out: a warning if it belonged to a log, else as INFO."""
        for each in self.decisions:
            _LOGGER.warning("%s", each)
        for other in self.others:
            told = _FOREIGN.info if other.is_foreign else _LOGGER.warning
            told("%s: skipped: %s (%s bytes)", other.path, other.reason, f"{other.size:,}")


def last_snapshot(names: Iterable[str]) -> int | None:
    """The greatest offset in the names of producer snapshots."""
    offsets = (segment_offset(side_file(each, "log")) for each in names if each.endswith(".snapshot"))
    return max((each for each in offsets if each is not None), default=None)


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


def list_folder(
    filesystem: FileSystem, path: str, allowed: Allowed | None = None, *, may_vanish: bool = False
) -> Listing:
    """List a folder and the folders in it.

    Args:
        filesystem: The file system of the folder.
        path: Its path.
        allowed: Decides by the name of a folder whether its segments are listed; the partitions of others have none.
        may_vanish: Whether a folder that was deleted since it was listed is a failure in the listing, not an error.

    Raises:
        FileNotFoundError: a folder was deleted since it was listed.
        OSError: the folder itself cannot be listed.
    """
    search = _Search(filesystem, allowed, may_vanish=may_vanish)
    search.folder(path, filesystem.list(path), None, 0)
    return search.listing


class _Search:
    """The search of one folder and the folders in it."""

    def __init__(self, filesystem: FileSystem, allowed: Allowed | None, *, may_vanish: bool) -> None:
        self.listing = Listing()
        self._may_vanish = may_vanish
        self._filesystem = filesystem
        self._allowed = allowed
        self._searched = Searched()

    def folder(self, path: str, entries: list[Entry], checkpoints: OffsetCheckpoints | None, depth: int) -> bool:
        """Add what a folder contains, and return whether any of it belongs to a log."""
        known = given_partition_of(basename(path))
        names = [basename(each.path) for each in entries if not each.is_dir]
        is_local = any(is_segment(each.removesuffix(SWAP)) for each in names)
        if is_local and depth > 0 and known is not None and self._is_ruled_out(*known):
            self.listing.partitions.append(Partition(*known))
            return True
        # Next to segments of a broker, files with segment ids are copies from tiered storage.
        if not any(map(is_segment, names)) and (found := remote_folder(self._filesystem, path, entries)) is not None:
            return self._remote(found, entries, depth)
        return self._local(path, entries, checkpoints, depth)

    def _is_ruled_out(self, topic: str | None, partition: int | None) -> bool:
        if self._allowed is None or topic is None or partition is None:
            return False
        return not self._allowed(topic, partition)

    def _local(self, path: str, entries: list[Entry], checkpoints: OffsetCheckpoints | None, depth: int) -> bool:
        """Add a folder of a broker's files, or of other folders, as :meth:`folder` does."""
        known = given_partition_of(basename(path))
        files, state = log_files(self._filesystem, path, entries)
        own = segments_of(self._filesystem, files, state)
        if own and known is None and depth > 0:
            self._other(path, _size(entries), "the folder's name is not <topic>-<partition>")
            return True
        if not own and depth > _MAX_DEPTH:
            return False
        self.listing.decisions += [f"{path}: {each}" for each in state.warnings]
        is_log = self._files(files, state, is_partition=bool(own) or known is not None)
        if own:
            self._partition(path, own, known, checkpoints, files)
            self._inside(entries)
            return True
        if any(is_segment(basename(each.path).removesuffix(".deleted")) for each in entries if not each.is_dir):
            self._other(path, _size(entries), "its segments are marked as deleted (.log.deleted)")
            is_log = True
        if is_marked(basename(path)) or not self._searched.enter(self._filesystem, path, depth):
            return is_log
        return self._subfolders(path, entries, depth) or is_log

    def _partition(
        self,
        path: str,
        own: list[Segment],
        known: tuple[str, int] | None,
        checkpoints: OffsetCheckpoints | None,
        files: Iterable[str],
    ) -> None:
        own[-1].active = True
        topic, partition = known or (None, None)
        # The checkpoints of a log directory are about the folder that is part of the log.
        has_checkpoints = known is not None and not is_marked(basename(path))
        if has_checkpoints and checkpoints is None:
            checkpoints = OffsetCheckpoints(self._filesystem, parent_of(path))
        own_checkpoints = checkpoints if has_checkpoints else None
        found = Partition(
            topic,
            partition,
            own,
            checkpoints=own_checkpoints,
            has_loss_file=LOSS_FILE in files,
            snapshot=last_snapshot(files),
        )
        if may_be_truncated(basename(path)):
            found.topic_id = self._topic_id(path)
            which = f"; the topic's id is {found.topic_id}" if found.topic_id else ""
            self.listing.decisions.append(f"{path}: Kafka may have truncated the topic in this name{which}")
        self.listing.partitions.append(found)

    def _remote(self, found: RemoteFolder, entries: list[Entry], depth: int) -> bool:
        if found.topic is None and depth > 0 and not found.has_manifests:
            reason = "the folder's name is not that of a partition in tiered storage"
            self._other(found.path, _size(entries), reason)
            return True
        # The topic in the name of a folder may have a prefix; the manifest decides.
        if depth > 0 and not found.has_manifests and self._is_ruled_out(found.topic, found.partition):
            self.listing.partitions.append(Partition(found.topic, found.partition))
            return True
        self.listing.partitions.append(Partition(found.topic, found.partition, remote=found))
        self.listing.files.append(found)
        if not found.has_manifests:
            for entry in sorted(entries, key=lambda each: each.path):
                if not entry.is_dir and (kind := kind_of(basename(entry.path))) is not None:
                    self.listing.files.append(ListedFile(self._filesystem, entry, kind))
        self._inside(entries)
        return True

    def _subfolders(self, path: str, entries: list[Entry], depth: int) -> bool:
        is_log = False
        checkpoints = OffsetCheckpoints(self._filesystem, path)
        for entry in subfolders(entries):
            name = basename(entry.path)
            if is_marked(name):
                is_log |= self._marked(entry)
                continue
            try:
                inside = self._filesystem.list(entry.path)
            except OSError as error:
                if isinstance(error, FileNotFoundError) and not self._may_vanish:
                    raise
                self.listing.failures.append((entry.path, error))
                is_log = True
                continue
            others = len(self.listing.others)
            if self.folder(entry.path, inside, checkpoints, depth + 1):
                is_log = True
            elif partition_of(name) is None and not _KNOWN.fullmatch(name):
                found = self.listing.others[others:]
                size = _size(inside) + sum(
                    each.size for each in found if each.path.count("/") > entry.path.count("/") + 1
                )
                self.listing.others[others:] = [OtherFile(entry.path, size, "not part of a log", is_foreign=True)]
        return is_log

    def _marked(self, entry: Entry) -> bool:
        """Add a folder that is not part of a log, with how to read it."""
        name = basename(entry.path)
        if STAGING.fullmatch(name):
            return True
        try:
            size = _size(self._filesystem.list(entry.path))
        except OSError:
            size = 0
        known = given_partition_of(name)
        what = _MARKS[mark_of(name) or "delete"]
        whose = "" if known is None else f" ({known[0]}-{known[1]})"
        if may_be_truncated(name) and (topic_id := self._topic_id(entry.path)) is not None:
            whose = f" ({known[0]}...-{known[1]}, topic id {topic_id})" if known else whose
        self._other(entry.path, size, f"{what}{whose}: to read it, give the path of this folder")
        return True

    def _files(self, files: dict[str, Entry], state: Loaded, *, is_partition: bool) -> bool:
        """Add the files of a folder by their names, and return whether one is of a log."""
        is_log = False
        for name, entry in sorted(files.items()):
            kind = "log" if name in state.swapped else kind_of(name)
            if kind is not None:
                self.listing.files.append(ListedFile(self._filesystem, entry, kind))
                is_log = True
            segment = side_file(name, "log")
            if kind in INDEXES and not files.keys() & {segment, segment + SWAP}:
                self._other(entry.path, entry.size, without_segment(name), is_error=True)
            elif kind is None and name not in state.removed:
                is_log |= self._unknown(name, entry, is_partition=is_partition)
        return is_log

    def _unknown(self, name: str, entry: Entry, *, is_partition: bool) -> bool:
        """Add a file of no kind, and return whether it belonged to a log."""
        if is_like_a_segment(name) or (is_partition and name.endswith(tuple(KIND_BY_SUFFIX))):
            foreign = foreign_segment(name)
            self._other(entry.path, entry.size, foreign or NOT_A_SEGMENT, is_error=foreign is None)
            return True
        if is_compressed_segment(name):
            self._other(entry.path, entry.size, "a compressed segment: decompress it first")
            return True
        if (foreign := foreign_segment(name)) is not None:
            self._other(entry.path, entry.size, foreign)
            return False
        if (
            not _KNOWN.fullmatch(name)
            and not name.endswith((*METADATA_SUFFIXES, *TRANSIENT_SUFFIXES))
            and leading_offset(name) is None
        ):
            self.listing.others.append(OtherFile(entry.path, entry.size, "not part of a log", is_foreign=True))
        return False

    def _inside(self, entries: list[Entry]) -> None:
        """Add the folders in a partition's folder, in which a broker has none."""
        for entry in subfolders(entries):
            if not _KNOWN.fullmatch(basename(entry.path)):
                reason = "a folder in the folder of a partition"
                self.listing.others.append(OtherFile(entry.path, self._size_of(entry.path), reason, is_foreign=True))

    def _topic_id(self, folder: str) -> str | None:
        return topic_id_in(lambda name: self._filesystem.read(f"{folder.rstrip('/')}/{name}"))

    def _size_of(self, path: str) -> int:
        try:
            return _size(self._filesystem.list(path))
        except OSError:
            return 0

    def _other(self, path: str, size: int, reason: str, *, is_error: bool = False) -> None:
        self.listing.others.append(OtherFile(path, size, reason, is_error))


def failure_text(path: str, error: OSError | CorruptRecordError) -> str:
    """What is wrong with an object, without its path."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error).removeprefix(f"{path}: ")


def settle(
    failures: Iterable[tuple[str, OSError | CorruptRecordError]],
    allowed: Allowed | None = None,
    failed: Failed = None,
) -> None:
    """Report the folders that cannot be listed: to ``failed``, or as an error.

    A folder whose name is that of a partition that ``allowed`` rules out is only a warning.

    Raises:
        OSError: a folder cannot be listed.
    """
    for path, error in failures:
        known = partition_of(basename(path))
        if known is not None and allowed is not None and not allowed(*known):
            _LOGGER.warning("%s: skipped: %s", path, failure_text(path, error))
        elif failed is None:
            raise error
        else:
            failed(path, error)


def log_files(
    filesystem: FileSystem, folder: str, entries: list[Entry], attempts: int = 5
) -> tuple[dict[str, Entry], Loaded]:
    """The files of a folder after a broker has loaded it, by name, and the broker's decisions."""
    files = {basename(entry.path): entry for entry in entries if not entry.is_dir}

    def end_offset(name: str) -> int | None:
        return _kafkacomp.end_offset(segment_at(filesystem, files[name], leading_offset(name)), "0.8+")

    try:
        state = loaded(files, end_offset)
    except FileNotFoundError:
        if attempts == 1:
            raise
        # A running broker has completed the swap since the listing.
        return log_files(filesystem, folder, filesystem.list(folder), attempts - 1)
    return {name: entry for name, entry in files.items() if name not in state.removed}, state


def segments_of(filesystem: FileSystem, files: dict[str, Entry], state: Loaded) -> list[Segment]:
    """The segments among a folder's files in offset order, as a broker would load them when it starts."""
    found = []
    for name, entry in files.items():
        if name in state.swapped:
            found.append(segment_at(filesystem, entry, leading_offset(name)))
        elif (base_offset := segment_offset(name)) is not None:
            found.append(segment_at(filesystem, entry, base_offset))
    found.sort(key=lambda segment: (segment.base_offset, segment.name))
    return found


def segment_at(filesystem: FileSystem, entry: Entry, base_offset: int | None) -> Segment:
    """The segment in a file."""
    return Segment(entry.path, filesystem.segment(entry.path), entry.size, base_offset=base_offset)


def kind_of(name: str) -> str | None:
    """The kind of a file of a log or log directory, by its name; ``None`` for other files."""
    if name in _KIND_BY_NAME:
        return _KIND_BY_NAME[name]
    if name in OFFSET_CHECKPOINTS:
        return "offset-checkpoint"
    if segment_offset(name) is not None:
        return KIND_BY_SUFFIX[f".{name.rpartition('.')[2]}"]
    if _EPOCHS_OF_SEGMENT.fullmatch(name):
        return "leader-epoch-checkpoint"
    matched = _SIDE_FILE.fullmatch(name)
    if matched is not None:
        return matched[2] if leading_offset(name) is not None else None
    return "checkpoint" if _SNAPSHOT_OF_METADATA.fullmatch(name) else None


def is_not_a_segment(path: str) -> bool:
    """Whether a file is an index file, or a segment that is being deleted or swapped in."""
    name = basename(path)
    return (
        name.rpartition(".")[2] in SIDE_FILES
        or name.startswith(".")
        or name.endswith((*METADATA_SUFFIXES, *TRANSIENT_SUFFIXES))
    )


def subfolders(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The folders among entries in the order of their names: partition 10 comes after partition 9."""
    folders = [each for each in entries if each.is_dir]
    folders.sort(key=lambda each: partition_of(basename(each.path)) or (basename(each.path), -1))
    yield from folders


def without_segment(name: str) -> str:
    """The error of an index file whose segment does not exist."""
    return f"index without a segment: {side_file(name, 'log')} does not exist"


def _size(entries: list[Entry]) -> int:
    return sum(each.size for each in entries if not each.is_dir)
