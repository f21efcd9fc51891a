"""What a broker stores about partitions as text: the offset checkpoints of a log directory, and topic ids."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from kafkacomp import _kafkacomp
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._storage.filesystem import FileSystem

_LOGGER = logging.getLogger("kafkacomp")

LOG_START: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK: Final = "replication-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
#: The names of all offset checkpoints.
OFFSET_CHECKPOINTS: Final = frozenset({LOG_START, HIGH_WATERMARK, CLEANED, RECOVERY_POINT})


#: How to show that gaps are no loss, for errors.
COPY_CLEANED: Final = (
    f"If the topic is compacted, copy the broker's {CLEANED} into the parent folder of the partition's folder: it shows"
    " which gaps compaction left."
)


def topic_id_in(read: Callable[[str], bytes | None]) -> str | None:
    """The topic's id in the ``partition.metadata`` of a folder, of which ``read`` reads a file; ``None`` if unknown."""
    name = "partition.metadata"
    try:
        content = read(name)
        return None if content is None else _kafkacomp.read_partition_metadata(content, name).topic_id
    except (OSError, KafkaCompError):
        return None


class OffsetCheckpoints:
    """The checkpoints of one log directory, each read once when it is first needed."""

    def __init__(self, filesystem: FileSystem, folder: str) -> None:
        self._filesystem = filesystem
        self._folder = folder
        self._known: dict[str, dict[tuple[str, int], int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the entries, which are for all partitions; each of many pickles is for one of them."""
        return self.__dict__ | {"_known": {}}

    def offset(self, name: str, topic: str, partition: int) -> int | None:
        """The partition's offset in the checkpoint ``name``; ``None`` without a file or an entry.

        If a checkpoint cannot be read, one warning is logged, and it counts as empty.
        """
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name].get((topic, partition))

    def _read(self, name: str) -> dict[tuple[str, int], int]:
        path = f"{self._folder.rstrip('/')}/{name}"
        try:
            content = self._filesystem.read(path)
            entries = _kafkacomp.read_offset_checkpoint(content or b"", path)
        except (OSError, ValueError, KafkaCompError) as error:
            text = str(error)
            _LOGGER.warning("ignored: %s", text if path in text else f"{path}: {text}")
            return {}
        return {(each.topic, each.partition): each.offset for each in entries if each.offset >= 0}
