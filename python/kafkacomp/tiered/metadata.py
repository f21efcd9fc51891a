"""The remote log metadata: the segments in the remote storage of a cluster, and their states.

``__remote_log_metadata`` has an event for each change of state. The first state of a segment is COPY_SEGMENT_STARTED,
and the last one counts: a broker reads only COPY_SEGMENT_FINISHED. Complete files may exist in any state.

Sources: ``RemoteLogMetadataSerde``, ``RemoteLogMetadataCache`` and ``RemotePartitionMetadataStore`` of Kafka 4.3.
"""

from __future__ import annotations

import enum
import errno
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchStream
from kafkacomp._storage.discovery import find_partitions
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp.exceptions import InvalidRecordError
from kafkacomp.tiered.messages.reader import Reader
from kafkacomp.tiered.messages.remote_log_metadata import (
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataUpdateRecord,
    RemotePartitionDeleteMetadataRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.partition import Partition

    Event: TypeAlias = (
        RemoteLogSegmentMetadataRecord | RemoteLogSegmentMetadataUpdateRecord | RemotePartitionDeleteMetadataRecord
    )

_LOGGER = logging.getLogger("kafkacomp")

#: The name of the topic.
TOPIC = "__remote_log_metadata"


class SegmentState(enum.IntEnum):
    """Kafka's ``RemoteLogSegmentState``."""

    COPY_SEGMENT_STARTED = 0
    COPY_SEGMENT_FINISHED = 1
    DELETE_SEGMENT_STARTED = 2
    DELETE_SEGMENT_FINISHED = 3


#: The events by API key. RemoteLogSegmentMetadataSnapshotRecord occurs in a file, not in the topic.
_EVENTS: dict[int, type[Event]] = {
    each.API_KEY: each
    for each in (
        RemoteLogSegmentMetadataRecord,
        RemoteLogSegmentMetadataUpdateRecord,
        RemotePartitionDeleteMetadataRecord,
    )
}
#: The states that may follow a state; each may also be repeated.
_NEXT = {
    SegmentState.COPY_SEGMENT_STARTED: {SegmentState.COPY_SEGMENT_FINISHED, SegmentState.DELETE_SEGMENT_STARTED},
    SegmentState.COPY_SEGMENT_FINISHED: {SegmentState.DELETE_SEGMENT_STARTED},
    SegmentState.DELETE_SEGMENT_STARTED: {SegmentState.DELETE_SEGMENT_FINISHED},
    SegmentState.DELETE_SEGMENT_FINISHED: set(),
}


@dataclass(frozen=True)
class RemoteSegment:
    """A segment in remote storage."""

    topic: str
    #: URL-safe base64 of 22 characters, as Kafka prints it.
    topic_id: str
    partition: int
    #: The segment's id.
    id: str
    start_offset: int
    #: Inclusive.
    end_offset: int
    #: The first offset of each leader epoch in it, by epoch.
    leader_epochs: dict[int, int] = field(default_factory=dict)
    size: int = 0
    state: SegmentState = SegmentState.COPY_SEGMENT_FINISHED
    custom_metadata: bytes | None = None
    #: The position of its last event among all events that were read.
    order: int = 0

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.start_offset:020}-{self.id}"

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Each leader epoch of which it has offsets, with the first of them and the end, which is exclusive."""
        end = self.end_offset + 1
        for epoch, first in sorted(self.leader_epochs.items(), reverse=True):
            if first < end:
                yield epoch, first, end
            end = min(end, first)


def _values(partition: Partition) -> Iterator[tuple[int, bytes]]:
    """The offset and value of each record of a partition, without tombstones."""
    end = 0
    for segment in partition.segments:
        with BatchStream(segment, DEFAULT_MAX_OUTPUT_SIZE, verify_crc=True, may_be_truncated=segment.active) as batches:
            for batch in batches:
                # A segment that a broker has rolled or merged since may repeat records.
                if batch.is_control_batch or batch.last_offset < end:
                    continue
                end = batch.last_offset + 1
                for record in batch:
                    if record.value is not None:
                        yield record.offset, record.value


def parse_event(value: bytes) -> Event:
    """Decode the value of a record of ``__remote_log_metadata``.

    Raises:
        InvalidRecordError: the message or version is unknown, or the bytes do not follow its schema.
    """
    source = Reader(value)
    frame, api_key, version = (source.unsigned_varint() for _ in range(3))
    if frame != 1:
        raise InvalidRecordError(f"unknown frame version {frame}: expected 1")
    message = _EVENTS.get(api_key)
    if message is None:
        raise InvalidRecordError(f"unknown API key {api_key}: expected 0, 1 or 2")
    if version not in message.VERSIONS:
        raise InvalidRecordError(f"unknown version {version} of {message.__name__}")
    event = message.read(source, version)
    if source.remaining:
        raise InvalidRecordError(f"{source.remaining} bytes after {message.__name__}")
    return event


class _Own:
    """Chooses the partitions of the topic, so that no segment of another one is opened."""

    @staticmethod
    def allows(topic: str, _partition: int) -> bool:
        return topic == TOPIC

    @staticmethod
    def select(found: list[Partition]) -> list[Partition]:
        return [each for each in found if each.topic == TOPIC]


class RemoteLogMetadata:
    """The states of all segments, after all events that were added."""

    def __init__(self) -> None:
        self._segments: dict[tuple[str, int], dict[str, RemoteSegment]] = {}
        self._events = 0

    @classmethod
    def read(cls, source: object, opened: Opener = open_filesystem) -> RemoteLogMetadata:
        """Read the topic's partitions.

        Args:
            source: The folder of a partition of ``__remote_log_metadata``, a folder with such folders (a broker's log
                directory), or a collection of these; paths or URLs.
            opened: Finds the file system of a path or URL.

        Raises:
            FileNotFoundError: there is no partition of the topic.
            InvalidRecordError: a record is not an event of this topic.
            KafkaCompError, OSError: a segment cannot be read.
        """
        found = find_partitions(source, opened=opened, choose=_Own().select, allowed=_Own().allows)
        if not found:
            raise FileNotFoundError(errno.ENOENT, f"no partition of {TOPIC} in this folder", str(source))
        metadata = cls()
        for partition in found:
            for offset, value in _values(partition):
                try:
                    metadata.add(parse_event(value))
                except (InvalidRecordError, ValueError) as error:
                    raise InvalidRecordError(f"{TOPIC}-{partition.partition}: offset {offset}: {error}") from None
        return metadata

    def add(self, event: Event) -> None:
        """Apply an event.

        As in Kafka's cache, an update of an unknown segment, or to a state that cannot follow, is ignored.
        """
        self._events += 1
        if isinstance(event, RemotePartitionDeleteMetadataRecord):
            self._segments.pop((event.topic_id_partition.id, event.topic_id_partition.partition), None)
            return
        identity = event.remote_log_segment_id
        name = identity.topic_id_partition
        state = SegmentState(event.remote_log_segment_state)
        segments = self._segments.setdefault((name.id, name.partition), {})
        known = segments.get(identity.id)
        if isinstance(event, RemoteLogSegmentMetadataRecord):
            epochs = {entry.leader_epoch: entry.offset for entry in event.segment_leader_epochs}
            segments[identity.id] = RemoteSegment(
                name.name, name.id, name.partition, identity.id, event.start_offset, event.end_offset, epochs,
                event.segment_size_in_bytes, state, event.custom_metadata, self._events,
            )  # fmt: skip
        elif known is None or (state != known.state and state not in _NEXT[known.state]):
            before = "no state" if known is None else known.state.name
            _LOGGER.info("%s: segment %s: %s after %s: ignored", TOPIC, identity.id, state.name, before)
        else:
            segments[identity.id] = replace(
                known, state=state, custom_metadata=event.custom_metadata, order=self._events
            )

    def segments(self, topic_id: str, partition: int) -> list[RemoteSegment]:
        """The segments of a partition in all states but DELETE_SEGMENT_FINISHED, by start offset."""
        found = self._segments.get((topic_id, partition), {}).values()
        left = (each for each in found if each.state != SegmentState.DELETE_SEGMENT_FINISHED)
        return sorted(left, key=lambda each: (each.start_offset, each.order))

    def finished(self, topic_id: str, partition: int) -> list[RemoteSegment]:
        """The segments that a broker reads, by start offset."""
        found = self.segments(topic_id, partition)
        return [each for each in found if each.state == SegmentState.COPY_SEGMENT_FINISHED]


@dataclass(frozen=True)
class CustomMetadata:
    """Fields that Aiven's plugin adds to a segment's metadata, by its setting ``custom.metadata.fields.include``."""

    #: Bytes of the three objects together.
    remote_size: int | None = None
    #: The prefix of the keys of the segment's objects, which replaces ``key.prefix``.
    object_prefix: str | None = None
    #: The rest of the key without its suffix.
    object_key: str | None = None

    @classmethod
    def parse(cls, data: bytes) -> CustomMetadata:
        """Decode a section of tagged fields; unknown tags are ignored.

        Raises:
            InvalidRecordError: it is not a valid section of tagged fields.
        """
        source = Reader(data)
        known: dict[int, int | str] = {}
        for tag, content in source.tagged_fields():
            if tag == 0:
                known[tag] = content.varlong()
            elif tag in {1, 2}:
                known[tag] = content.string()
        return cls(*(known.get(tag) for tag in range(3)))  # type: ignore[arg-type]  # as decoded above
