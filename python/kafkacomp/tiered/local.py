"""The local part of a tiered partition on its leader: epochs, log start offset and segments."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import path_text
from kafkacomp._storage.discovery import find_in
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.names import basename, partition_of

if TYPE_CHECKING:
    from kafkacomp._storage.checkpoints import OffsetCheckpoints
    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.partition import Segment
    from kafkacomp._types import StrPath


@dataclass
class LocalLog:
    """A partition's folder in the leader's log directory."""

    path: str
    topic_id: str | None
    #: Epochs with their first offsets; empty if there is no ``leader-epoch-checkpoint``.
    epochs: list[tuple[int, int]]
    log_start: int | None
    segments: list[Segment]
    checkpoints: OffsetCheckpoints | None

    @property
    def first_offset(self) -> int | None:
        """The first offset that is read locally."""
        return self.segments[0].base_offset if self.segments else None


class LocalLogs:
    """The partitions in a log directory, or the partition whose folder is given."""

    def __init__(self, path: StrPath, opened: Opener = open_filesystem) -> None:
        """Check the folder.

        Raises:
            FileNotFoundError: it does not exist.
            NotADirectoryError: it is not a folder.
        """
        self._filesystem, self._path = opened(path_text("local_log_dir", path))
        if not self._filesystem.info(self._path).is_dir:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self._path)
        self._own = partition_of(basename(self._path))
        self._known: dict[tuple[str, int], LocalLog | None] = {}

    @property
    def path(self) -> str:
        """The folder."""
        return self._path

    def log(self, topic: str, partition: int) -> LocalLog | None:
        """A partition's log; ``None`` if it does not exist locally."""
        key = (topic, partition)
        if key not in self._known:
            # The name of a log directory may look like that of a partition: broker-1.
            path = f"{self._path.rstrip('/')}/{topic}-{partition}"
            found = self._read(path, topic, partition)
            if found is None and self._own == key:
                found = self._read(self._path, topic, partition)
            self._known[key] = found
        return self._known[key]

    def _read(self, path: str, topic: str, partition: int) -> LocalLog | None:
        filesystem: FileSystem = self._filesystem
        try:
            is_dir = filesystem.info(path).is_dir
        except FileNotFoundError:
            return None
        if not is_dir:
            return None
        try:
            found = list(find_in(filesystem, path))
        except FileNotFoundError:  # no segment is left
            found = []
        segments = found[0].segments if found else []
        checkpoints = found[0].checkpoints if found else None
        metadata = filesystem.read(f"{path}/partition.metadata")
        epochs = filesystem.read(f"{path}/leader-epoch-checkpoint")
        topic_id = (
            _kafkacomp.read_partition_metadata(metadata, f"{path}/partition.metadata").topic_id if metadata else None
        )
        entries = _kafkacomp.read_leader_epoch_checkpoint(epochs, f"{path}/leader-epoch-checkpoint") if epochs else []
        by_epoch: list[tuple[int, int]] = [*entries]
        starts = [each.start_offset for each in entries[:1]]
        if checkpoints is not None and (start := checkpoints.offset("log-start-offset-checkpoint", topic, partition)):
            starts.append(start)
        return LocalLog(path, topic_id, by_epoch, max(starts, default=None), segments, checkpoints)
