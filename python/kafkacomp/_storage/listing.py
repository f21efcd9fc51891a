"""What a path contains: its partitions, the files of its logs by kind, and everything else.

The core lists it (``kafkacomp_log::listing``), through the file systems of this package; here its answer becomes the
objects that readers and tools use.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._storage.checkpoints import OffsetCheckpoints
from kafkacomp._storage.names import basename, partition_of
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp._storage.remote import RemoteFolder
from kafkacomp._storage.stores import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp.exceptions import CorruptRecordError

_LOGGER = logging.getLogger("kafkacomp")
#: For files that are not part of a log; only the command line shows them.
_FOREIGN = logging.getLogger("kafkacomp.foreign")

#: Whether a topic and partition may be read; the names of folders are asked before their segments are looked at.
Allowed: TypeAlias = "Callable[[str, int], bool]"
#: Called with the path of a folder that cannot be listed, or of a manifest that cannot be read, and the error.
Failed: TypeAlias = "Callable[[str, OSError | CorruptRecordError], object] | None"

#: The end of the name of a manifest in tiered storage.
MANIFEST: Final = ".rsm-manifest"


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
    #: How a broker that starts decides about the files of a compaction, and similar decisions.
    decisions: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, filesystem: FileSystem, listed: Any) -> Listing:  # noqa: ANN401 - a tuple of the core
        """The listing that the core has made of a file or folder of a file system."""
        partitions, remotes, files, others, failures, decisions = listed
        folders = [RemoteFolder.of(filesystem, each) for each in remotes]
        checkpoints: dict[str, OffsetCheckpoints] = {}
        return cls(
            [_partition(filesystem, each, folders, checkpoints) for each in partitions],
            [folders[each] if isinstance(each, int) else _file(filesystem, *each) for each in files],
            [OtherFile(*each) for each in others],
            failures,
            decisions,
        )

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


def _file(filesystem: FileSystem, path: str, size: int, kind: str) -> ListedFile:
    return ListedFile(filesystem, Entry(path, is_dir=False, size=size), kind)


def _partition(
    filesystem: FileSystem,
    listed: Any,  # noqa: ANN401 - a tuple of the core
    folders: list[RemoteFolder],
    checkpoints: dict[str, OffsetCheckpoints],
) -> Partition:
    topic, partition, segments, remote, log_dir, has_loss_file, snapshot, topic_id, is_part = listed
    if log_dir is not None and log_dir not in checkpoints:
        checkpoints[log_dir] = OffsetCheckpoints(filesystem, log_dir)
    return Partition(
        topic,
        partition,
        [
            Segment(path, filesystem.segment(path), size, base_offset=base_offset, active=active)
            for path, size, base_offset, active in segments
        ],
        checkpoints=None if log_dir is None else checkpoints[log_dir],
        remote=None if remote is None else folders[remote],
        topic_id=topic_id,
        has_loss_file=has_loss_file,
        snapshot=snapshot,
        is_part=is_part,
    )


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
    return Listing.of(filesystem, _kafkacomp.list_folder(filesystem, path, allowed, may_vanish))


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
