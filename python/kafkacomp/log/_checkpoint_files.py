"""The text files of a log directory: checkpoints and ``partition.metadata``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp.log._side_files import content_of

if TYPE_CHECKING:
    from kafkacomp._entries import LeaderEpochEntry, OffsetCheckpointEntry, PartitionMetadata
    from kafkacomp.log._side_files import PathOrBytes


def read_leader_epoch_checkpoint(source: PathOrBytes) -> list[LeaderEpochEntry]:
    r"""Read a partition's ``leader-epoch-checkpoint``: the first offset of each leader epoch.

    Args:
        source: The file or its content.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.

    Example:
        >>> from kafkacomp import log
        >>> log.read_leader_epoch_checkpoint(b"0\n1\n3 120\n")
        [LeaderEpochEntry(epoch=3, start_offset=120)]
    """
    return _kafkacomp.read_leader_epoch_checkpoint(*content_of(source))


def read_offset_checkpoint(source: PathOrBytes) -> list[OffsetCheckpointEntry]:
    r"""Read an offset checkpoint of a log directory, such as ``recovery-point-offset-checkpoint``.

    Args:
        source: The file or its content.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.

    Example:
        >>> from kafkacomp import log
        >>> log.read_offset_checkpoint(b"0\n1\norders 3 120\n")
        [OffsetCheckpointEntry(topic='orders', partition=3, offset=120)]
    """
    return _kafkacomp.read_offset_checkpoint(*content_of(source))


def read_partition_metadata(source: PathOrBytes) -> PartitionMetadata:
    r"""Read ``partition.metadata``, the file with the id of a partition's topic.

    Args:
        source: The file or its content.

    Raises:
        CorruptRecordError: a malformed line, or no topic id.

    Example:
        >>> from kafkacomp import log
        >>> log.read_partition_metadata(b"version: 0\ntopic_id: kOn_W5Y1QUyqZJ0xv1nFXg\n").topic_id
        'kOn_W5Y1QUyqZJ0xv1nFXg'
    """
    return _kafkacomp.read_partition_metadata(*content_of(source))
