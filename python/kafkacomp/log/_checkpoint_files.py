"""The text files of a log directory: checkpoints and ``partition.metadata``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp.log._side_files import content_of

if TYPE_CHECKING:
    from kafkacomp.log._side_files import PathOrBytes

__all__ = [
    "LeaderEpochEntry",
    "OffsetCheckpointEntry",
    "PartitionMetadata",
    "read_leader_epoch_checkpoint",
    "read_offset_checkpoint",
    "read_partition_metadata",
]


class LeaderEpochEntry(NamedTuple):
    """An entry of ``leader-epoch-checkpoint``."""

    epoch: int
    #: The first offset that was appended in it.
    start_offset: int


class OffsetCheckpointEntry(NamedTuple):
    """An entry of an offset checkpoint of a log folder."""

    topic: str
    partition: int
    #: What the file's name says: recovery point, high watermark, log start, cleaned up to.
    offset: int


class PartitionMetadata(NamedTuple):
    """The content of ``partition.metadata``."""

    version: int
    #: As Kafka writes it: URL-safe base64, 22 characters.
    topic_id: str


def read_leader_epoch_checkpoint(source: PathOrBytes) -> list[LeaderEpochEntry]:
    """Read a partition's ``leader-epoch-checkpoint``.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.
    """
    return [LeaderEpochEntry(*entry) for entry in _kafkacomp.read_leader_epoch_checkpoint(*content_of(source))]


def read_offset_checkpoint(source: PathOrBytes) -> list[OffsetCheckpointEntry]:
    """Read an offset checkpoint of a log folder, such as ``recovery-point-offset-checkpoint``.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.
    """
    return [OffsetCheckpointEntry(*entry) for entry in _kafkacomp.read_offset_checkpoint(*content_of(source))]


def read_partition_metadata(source: PathOrBytes) -> PartitionMetadata:
    """Read ``partition.metadata``.

    Raises:
        CorruptRecordError: a malformed line, or no topic id.
    """
    return PartitionMetadata(*_kafkacomp.read_partition_metadata(*content_of(source)))
