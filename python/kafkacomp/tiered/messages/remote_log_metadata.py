"""Records of ``__remote_log_metadata``, the topic of tiered storage.

Made by tools/make_messages.py from the message schemas of
org.apache.kafka:kafka-storage:4.3.1, SHA-256 of the jar
97e3facddd2914a58f28ec91ef35f8da69963eab3651196e97f487924f6dac98.

Apache Kafka, Copyright The Apache Software Foundation: licensed under the Apache License 2.0; see
tools/kafka-messages/NOTICE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from kafkacomp.tiered.messages.reader import Reader


@dataclass(frozen=True)
class TopicIdPartitionEntry:
    """Represents unique topic partition."""

    #: Topic name.
    name: str
    #: Unique identifier of the topic.
    id: str
    #: Partition number.
    partition: int

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        found = cls(source.string(), source.uuid(), source.int32())
        source.skip_tagged_fields()
        return found


@dataclass(frozen=True)
class RemoteLogSegmentIdEntry:
    """Unique representation of the remote log segment."""

    #: Represents unique topic partition.
    topic_id_partition: TopicIdPartitionEntry
    #: Unique identifier of the remote log segment.
    id: str

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        found = cls(TopicIdPartitionEntry.read(source, version), source.uuid())
        source.skip_tagged_fields()
        return found


@dataclass(frozen=True)
class SegmentLeaderEpochEntry:
    """Leader epoch to start-offset mappings for the records with in this segment."""

    #: Leader epoch.
    leader_epoch: int
    #: Start offset for the leader epoch.
    offset: int

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        found = cls(source.int32(), source.int64())
        source.skip_tagged_fields()
        return found


@dataclass(frozen=True)
class RemoteLogSegmentMetadataRecord:
    """Kafka's ``RemoteLogSegmentMetadataRecord``, version 0."""

    API_KEY: ClassVar = 0
    VERSIONS: ClassVar = range(0, 1)
    #: Unique representation of the remote log segment.
    remote_log_segment_id: RemoteLogSegmentIdEntry
    #: Start offset of the segment.
    start_offset: int
    #: End offset of the segment.
    end_offset: int
    #: Broker id from which this event is generated.
    broker_id: int
    #: Maximum timestamp in milliseconds with in this segment.
    max_timestamp_ms: int
    #: Epoch time in milliseconds at which this event is generated.
    event_timestamp_ms: int
    #: Leader epoch to start-offset mappings for the records with in this segment.
    segment_leader_epochs: tuple[SegmentLeaderEpochEntry, ...]
    #: Segment size in bytes.
    segment_size_in_bytes: int
    #: Custom metadata.
    custom_metadata: bytes | None
    #: State identifier of the remote log segment, which is RemoteLogSegmentState.id().
    remote_log_segment_state: int
    #: Flag to indicate if the transaction index is empty.
    txn_index_empty: bool

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        fields = (
            RemoteLogSegmentIdEntry.read(source, version),
            source.int64(),
            source.int64(),
            source.int32(),
            source.int64(),
            source.int64(),
            source.array(lambda source: SegmentLeaderEpochEntry.read(source, version)),
            source.int32(),
            source.nullable_octets(),
            source.int8(),
        )
        txn_index_empty = False
        for tag, data in source.tagged_fields():
            if tag == 0:
                txn_index_empty = data.boolean()
        return cls(*fields, txn_index_empty)


@dataclass(frozen=True)
class RemoteLogSegmentMetadataUpdateRecord:
    """Kafka's ``RemoteLogSegmentMetadataUpdateRecord``, version 0."""

    API_KEY: ClassVar = 1
    VERSIONS: ClassVar = range(0, 1)
    #: Unique representation of the remote log segment.
    remote_log_segment_id: RemoteLogSegmentIdEntry
    #: Broker id from which this event is generated.
    broker_id: int
    #: Epoch time in milliseconds at which this event is generated.
    event_timestamp_ms: int
    #: Custom metadata.
    custom_metadata: bytes | None
    #: State identifier of the remote log segment, which is RemoteLogSegmentState.id().
    remote_log_segment_state: int

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        found = cls(
            RemoteLogSegmentIdEntry.read(source, version),
            source.int32(),
            source.int64(),
            source.nullable_octets(),
            source.int8(),
        )
        source.skip_tagged_fields()
        return found


@dataclass(frozen=True)
class RemotePartitionDeleteMetadataRecord:
    """Kafka's ``RemotePartitionDeleteMetadataRecord``, version 0."""

    API_KEY: ClassVar = 2
    VERSIONS: ClassVar = range(0, 1)
    #: Represents unique topic partition.
    topic_id_partition: TopicIdPartitionEntry
    #: Broker (controller or leader) id from which this event is created. DELETE_PARTITION_MARKED is sent by the
    #: controller. DELETE_PARTITION_STARTED and DELETE_PARTITION_FINISHED are sent by remote log metadata topic
    #: partition leader.
    broker_id: int
    #: Epoch time in milliseconds at which this event is generated.
    event_timestamp_ms: int
    #: Deletion state identifier of the remote partition, which is RemotePartitionDeleteState.id().
    remote_partition_delete_state: int

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """Read one of this version."""
        found = cls(TopicIdPartitionEntry.read(source, version), source.int32(), source.int64(), source.int8())
        source.skip_tagged_fields()
        return found
