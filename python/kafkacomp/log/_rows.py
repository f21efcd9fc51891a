"""Convert the entries of side files to rows: dicts with Kafka's field names."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

from kafkacomp._storage.filesystem import read_side_file
from kafkacomp._text import camel_case, json_fields
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.log._checkpoint_files import (
    read_leader_epoch_checkpoint,
    read_offset_checkpoint,
    read_partition_metadata,
)
from kafkacomp.log._side_files import read_offset_index, read_producer_snapshot, read_time_index, read_transaction_index
from kafkacomp.tiered.manifest import Manifest

if TYPE_CHECKING:
    from kafkacomp._entries import ProducerEntry
    from kafkacomp._storage.files import SourceFile
    from kafkacomp.log._side_files import PathOrBytes

#: The most bytes of quorum-state and meta.properties, of which a broker writes some hundred.
_MOST_TEXT = 1 << 20
#: Of a FIFO or device, and of a link that leads to itself.
NOT_FILES = frozenset({errno.EINVAL, errno.ELOOP})


def entries(file: SourceFile) -> list[dict[str, Any]]:  # noqa: C901, PLR0911 - one for each kind
    """Read the entries of a side file.

    Raises:
        CorruptRecordError: the file is corrupt.
        OSError: the file cannot be read.
    """
    path: PathOrBytes = file.name if file.is_local else _content(file)
    match file.kind:
        case "index":
            return [entry._asdict() for entry in read_offset_index(path, file.base_offset)]
        case "timeindex":
            return [entry._asdict() for entry in read_time_index(path, file.base_offset)]
        case "txnindex":
            return [camel_case(entry._asdict()) for entry in read_transaction_index(path, file.base_offset)]
        case "snapshot":
            return [_producer(entry) for entry in read_producer_snapshot(path)]
        case "leader-epoch-checkpoint":
            return [camel_case(entry._asdict()) for entry in read_leader_epoch_checkpoint(path)]
        case "offset-checkpoint":
            return [entry._asdict() for entry in read_offset_checkpoint(path)]
        case "partition.metadata":
            return [camel_case(read_partition_metadata(path)._asdict())]
        case "quorum-state":
            return [_json(file)]
        case "meta.properties":
            return [_properties(file)]
        case "rsm-manifest":
            return [_manifest(Manifest.parse(_content(file), file.name))]
        case kind:
            raise ValueError(f"{file.name}: {kind} is not a kind of side file")


def content_of_file(file: SourceFile) -> bytes:
    """Read a side file.

    Raises:
        CorruptRecordError: something else is in the place of a remote file.
        OSError: the file cannot be read.
    """
    return read_side_file(file.name) if file.is_local else _content(file)


def _content(file: SourceFile) -> bytes:
    """What a file contains; a FIFO or a loop of links in its place is corruption, after which others are read."""
    try:
        return file.read()
    except OSError as error:
        if error.errno not in NOT_FILES:
            raise
        raise CorruptRecordError(f"{file.name}: {error.strerror}") from None


def _manifest(manifest: Manifest) -> dict[str, Any]:
    segment, encryption = manifest.segment, manifest.encryption
    return {
        "topic": segment.topic,
        "topicId": segment.topic_id,
        "partition": segment.partition,
        "segmentId": segment.id,
        "startOffset": segment.start_offset,
        "endOffset": segment.end_offset,
        "segmentLeaderEpochs": {str(epoch): start for epoch, start in segment.leader_epochs.items()},
        "size": manifest.chunks.file_size,
        "chunks": manifest.chunks.count,
        "chunkSize": manifest.chunks.chunk_size,
        "objectSize": manifest.chunks.object_size,
        "compression": manifest.compressed,
        "keyId": encryption.key_id if encryption else None,
    }


def _producer(entry: ProducerEntry) -> dict[str, Any]:
    row = json_fields(entry, "producer_id", "producer_epoch", "coordinator_epoch", "current_txn_first_offset")
    row["lastTimestamp"] = entry.timestamp
    if entry.last_offset >= 0:
        row |= json_fields(entry, "first_sequence", "last_sequence", "last_offset", "offset_delta", "timestamp")
    return row


def _json(file: SourceFile) -> dict[str, Any]:
    try:
        content = json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise CorruptRecordError(f"{file.name}: invalid JSON: {error}") from None
    if not isinstance(content, dict):
        raise CorruptRecordError(f"{file.name}: not a JSON object at byte 0")
    return content


def _properties(file: SourceFile) -> dict[str, Any]:
    row = {}
    for line in _text(file).splitlines():
        if line.strip() and not line.startswith(("#", "!")):
            name, _, value = line.partition("=")
            row[name.strip()] = value.strip()
    return row


def _text(file: SourceFile) -> str:
    """Read a file of a few lines, of which each byte may take thirty in memory when it is parsed."""
    if file.size > _MOST_TEXT:
        raise CorruptRecordError(f"{file.name}: {file.size:,} bytes: at most {_MOST_TEXT:,} are read")
    try:
        return file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptRecordError(f"{file.name}: not UTF-8 text at byte {error.start}") from None
