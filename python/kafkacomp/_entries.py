"""The entries of the files next to segments, and the content of control records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class OffsetPosition(NamedTuple):
    """An entry of ``.index``."""

    #: The last offset of a batch.
    offset: int
    #: The byte of the segment at which that batch begins.
    position: int


class TimestampOffset(NamedTuple):
    """An entry of ``.timeindex``."""

    #: The greatest timestamp up to the offset, ms.
    timestamp: int
    #: The offset that has it.
    offset: int


class AbortedTxn(NamedTuple):
    """An entry of ``.txnindex``: an aborted transaction."""

    version: int
    producer_id: int
    #: The transaction's first offset.
    first_offset: int
    #: The offset of its abort marker.
    last_offset: int
    #: The partition's last stable offset after it.
    last_stable_offset: int


@dataclass(frozen=True)
class ProducerEntry:
    """What a producer ``.snapshot`` knows of one producer."""

    producer_id: int
    producer_epoch: int
    #: -1 if the producer has written nothing since its last transaction ended.
    last_sequence: int
    #: -1 if the producer has written nothing since its last transaction ended.
    last_offset: int
    #: The last batch's last offset minus its first.
    offset_delta: int
    #: The greatest timestamp of the last batch, ms.
    timestamp: int
    #: That of the last marker; -1 without one.
    coordinator_epoch: int
    #: The first offset of the open transaction; ``None`` without one.
    current_txn_first_offset: int | None
    #: The first sequence of the last batch; -1 without one.
    first_sequence: int


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


@dataclass(frozen=True)
class ControlRecord:
    """A control record's content."""

    #: ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS or UNKNOWN.
    type: str
    #: The id in the key.
    type_id: int
    #: The value's fields, under the names of Kafka's schemas; none for UNKNOWN.
    fields: dict[str, Any]
