"""The entries of the files next to segments, and the content of control records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class OffsetPosition(NamedTuple):
    """An entry of ``.index``.

    Attributes:
        offset: The last offset of a batch.
        position: The byte of the segment at which that batch begins.
    """

    offset: int
    position: int


class TimestampOffset(NamedTuple):
    """An entry of ``.timeindex``.

    Attributes:
        timestamp: The greatest timestamp up to the offset, in milliseconds.
        offset: The offset of the record with this timestamp.
    """

    timestamp: int
    offset: int


class AbortedTxn(NamedTuple):
    """An entry of ``.txnindex``: an aborted transaction.

    Attributes:
        version: The version of the entry.
        producer_id: The id of the producer.
        first_offset: The transaction's first offset.
        last_offset: The offset of its abort marker.
        last_stable_offset: The partition's last stable offset when the transaction was aborted.
    """

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(frozen=True)
class ProducerEntry:
    """The state of one producer in a producer ``.snapshot``.

    Attributes:
        producer_id: The id of the producer.
        producer_epoch: Its epoch.
        last_sequence: The last sequence number of the last batch; -1 if the producer has written nothing since its last
            transaction ended.
        last_offset: The last offset of the last batch; -1 as for ``last_sequence``.
        offset_delta: The last offset of the last batch minus its first offset.
        timestamp: The greatest timestamp of the last batch, in milliseconds.
        coordinator_epoch: The coordinator epoch of the last transaction marker; -1 without one.
        current_txn_first_offset: The first offset of the open transaction; ``None`` without one.
        first_sequence: The first sequence number of the last batch; -1 without one.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int | None
    first_sequence: int


class LeaderEpochEntry(NamedTuple):
    """An entry of ``leader-epoch-checkpoint``.

    Attributes:
        epoch: The leader epoch.
        start_offset: The first offset that was appended in this epoch.
    """

    epoch: int
    start_offset: int


class OffsetCheckpointEntry(NamedTuple):
    """An entry of an offset checkpoint of a log directory.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset whose meaning is given by the file's name: the recovery point, the high watermark, the log
            start offset, or the first offset that the log cleaner has not cleaned.
    """

    topic: str
    partition: int
    offset: int


class PartitionMetadata(NamedTuple):
    """The content of ``partition.metadata``.

    Attributes:
        version: The version of the file.
        topic_id: The topic's id in Kafka's text form: 22 characters of URL-safe base64.
    """

    version: int
    topic_id: str


@dataclass(frozen=True)
class ControlRecord:
    """The content of a control record.

    Attributes:
        type: ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS or UNKNOWN.
        type_id: The id in the key.
        fields: The fields of the value, by their names in Kafka's schemas; empty for UNKNOWN.
    """

    type: str
    type_id: int
    fields: dict[str, Any]
