"""The manifest of a segment that Aiven's plugin has uploaded: where its chunks and indexes are and how they are stored.

All values are checked when a manifest is read, so that impossible sizes cause no allocation and no request.

Sources: ``SegmentManifestV1``, ``FixedSizeChunkIndex``, ``VariableSizeChunkIndex``, ``ChunkSizesBinaryCodec`` of
Aiven-Open/tiered-storage-for-apache-kafka.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from kafkacomp import _kafkacomp
from kafkacomp._storage.chunks import ChunkIndex
from kafkacomp._storage.containers import HEAD_BYTES, refuse_container
from kafkacomp._storage.names import check_topic
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError
from kafkacomp.tiered.metadata import RemoteSegment

#: The largest chunk that is decoded; the plugin's default is 4 MiB.
MAX_CHUNK_SIZE = 256 << 20
#: The most chunks of different sizes that a segment may have: 8 KiB each in one of 2 GiB. Their positions are kept.
MAX_CHUNKS = 1 << 18
#: The most values of a manifest: far above what the plugin writes, and few enough to have as Python's objects.
_MAX_VALUES = 100_000
#: The most bytes of a segment, whose positions are 32-bit numbers.
_MAX_SEGMENT = 2**31 - 1
_ENCRYPTION_OVERHEAD = 28
_ZSTD = 4
#: Types of JSON, for messages.
_KINDS = {str: "a string", dict: "an object", bool: "a boolean"}
_Value = TypeVar("_Value", str, dict[str, Any], bool)
#: How Kafka shows the ids of topics and segments.
_ID = re.compile(r"[A-Za-z0-9_-]{22}")

#: The parts of ``.indexes``, and the suffixes of the corresponding files of a broker.
INDEXES = {
    "index": "offset",
    "timeindex": "timestamp",
    "snapshot": "producerSnapshot",
    "leader_epoch_checkpoint": "leaderEpoch",
    "txnindex": "transaction",
}


class IndexPart(NamedTuple):
    """The place of an index in ``.indexes``."""

    position: int
    size: int


class Encryption(NamedTuple):
    """How the chunks of a segment are encrypted."""

    #: The id of the key pair that the data key is encrypted with.
    key_id: str
    wrapped_key: bytes
    aad: bytes


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest."""

    chunks: ChunkIndex
    #: By suffix: index, timeindex, snapshot, leader_epoch_checkpoint, txnindex.
    indexes: dict[str, IndexPart]
    compressed: bool
    encryption: Encryption | None
    #: The segment; a manifest does not contain its state.
    segment: RemoteSegment

    @classmethod
    def parse(cls, content: bytes, name: str) -> Manifest:
        """Read a manifest; ``name`` is for messages.

        Raises:
            CorruptRecordError: it is not a manifest, or a value is impossible.
            ValueError: it is a manifest of the plugin's Iceberg mode, or an archive.
        """
        refuse_container(name, content[:HEAD_BYTES])
        try:
            return _parse(content)
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            OverflowError,
            KafkaCompError,
        ) as error:
            text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            failure = CorruptRecordError(f"{name}: not a valid segment manifest: {text}")
            failure.segment = name
            raise failure from None


def _parse(content: bytes) -> Manifest:
    # Of JSON, three bytes become 60 in memory.
    if sum(map(content.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise ValueError(f"more than {_MAX_VALUES:,} values")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise TypeError("not an object")
    if found["version"] != "1":
        raise ValueError(f"version {found['version']!r}, not '1'")
    compressed = _typed(found, "compression", bool)
    encryption = _encryption(found.get("encryption"))
    chunks = _chunk_index(_typed(found, "chunkIndex", dict), compressed=compressed, encrypted=encryption is not None)
    indexes = {}
    for suffix, name in INDEXES.items():
        part = _typed(found, "segmentIndexes", dict).get(name)
        if part is not None:
            indexes[suffix] = IndexPart(
                _number(part, "position", 0, _MAX_SEGMENT), _number(part, "size", 0, MAX_CHUNK_SIZE)
            )
    return Manifest(
        chunks, indexes, compressed, encryption, _segment(_typed(found, "remoteLogSegmentMetadata", dict), chunks)
    )


def _number(of: dict[str, Any], name: str, least: int, most: int) -> int:
    value = of[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {str(value)[:40]}: expected {least} to {most}")
    return value


def _typed(of: dict[str, Any], name: str, kind: type[_Value]) -> _Value:
    value = of[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {_KINDS[kind]}")
    return value


def _id(of: dict[str, Any], name: str) -> str:
    value = _typed(of, name, str)
    if not _ID.fullmatch(value):
        raise ValueError(f"{name} is {value[:40]!r}: expected 22 characters of URL-safe base64")
    return value


def _segment(found: dict[str, Any], chunks: ChunkIndex) -> RemoteSegment:
    identity = _typed(found, "remoteLogSegmentId", dict)
    partition = _typed(identity, "topicIdPartition", dict)
    topic = _typed(partition, "topicPartition", dict)
    check_topic(_typed(topic, "topic", str))  # rewriting a log creates a folder of this name
    most = 2**63 - 1
    start = _number(found, "startOffset", 0, most)
    epochs = {
        int(epoch): _number({"epoch": at}, "epoch", 0, most)
        for epoch, at in _typed(found, "segmentLeaderEpochs", dict).items()
    }
    for name, greatest in (("maxTimestampMs", most), ("brokerId", 2**31 - 1), ("eventTimestampMs", most)):
        _number(found, name, -1, greatest)
    return RemoteSegment(
        _typed(topic, "topic", str),
        _id(partition, "topicId"),
        _number(topic, "partition", 0, 2**31 - 1),
        _id(identity, "id"),
        start,
        _number(found, "endOffset", start, most),
        epochs,
        chunks.file_size,
    )


def _encryption(found: dict[str, Any] | None) -> Encryption | None:
    if found is None:
        return None
    key_id, colon, wrapped = _typed(found, "dataKey", str).partition(":")
    if not colon:
        raise ValueError("encryption.dataKey must be <key id>:<base64>")
    return Encryption(key_id, _base64(wrapped), _base64(_typed(found, "aad", str)))


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None


def _chunk_index(found: dict[str, Any], *, compressed: bool, encrypted: bool) -> ChunkIndex:
    file_size = _number(found, "originalFileSize", 0, _MAX_SEGMENT)
    chunk_size = _number(found, "originalChunkSize", 1, _MAX_SEGMENT)
    if min(chunk_size, file_size) > MAX_CHUNK_SIZE:
        raise ValueError(f"chunks of {chunk_size} bytes: at most {MAX_CHUNK_SIZE} are read")
    count = -(-file_size // chunk_size)
    overhead = _ENCRYPTION_OVERHEAD if encrypted else 0
    last = file_size - (count - 1) * chunk_size
    if found["type"] == "fixed":
        if compressed:
            raise ValueError("compressed chunks need a variable chunk index, not a fixed one")
        index = ChunkIndex(
            chunk_size, file_size, _number(found, "transformedChunkSize", 0, 2 * _MAX_SEGMENT),
            _number(found, "finalTransformedChunkSize", 0, 2 * _MAX_SEGMENT),
        )  # fmt: skip
        if count and index.last_stored_size != last + overhead:
            raise ValueError(f"last chunk of {index.last_stored_size} bytes: expected {last + overhead}")
        if count > 1 and index.stored_size != chunk_size + overhead:
            raise ValueError(f"chunks of {index.stored_size} bytes: expected {chunk_size + overhead}")
        return index
    if found["type"] != "variable":
        raise ValueError(f"unknown type {str(found['type'])[:40]!r} of the chunk index: expected fixed or variable")
    if count > MAX_CHUNKS:
        raise ValueError(f"{count} chunks: at most {MAX_CHUNKS} are read")
    ends = array("Q", accumulate(_chunk_sizes(_base64(_typed(found, "transformedChunks", str)), count)))
    sizes_fit = compressed or (ends[-1] if ends else 0) == file_size + count * overhead
    if not sizes_fit:
        raise ValueError(f"chunks of {ends[-1]} bytes for a segment of {file_size}")
    return ChunkIndex(chunk_size, file_size, None, ends[-1] - (ends[-2] if count > 1 else 0) if count else 0, ends)


def _chunk_sizes(encoded: bytes, count: int) -> list[int]:
    """Decode the sizes of chunks; there must be ``count``."""
    data = _kafkacomp.decompress(encoded, _ZSTD, "standard", 16 + 4 * count)
    if int.from_bytes(data[:4], "big", signed=True) != count:
        raise ValueError(f"{int.from_bytes(data[:4], 'big', signed=True)} sizes for {count} chunks")
    if count <= 1:
        sizes, expected = [int.from_bytes(data[4:8], "big", signed=True)][:count], 4 + 4 * count
    else:
        base, width = int.from_bytes(data[4:8], "big", signed=True), data[8] if len(data) > 8 else 0  # noqa: PLR2004
        if not 1 <= width <= 4:  # noqa: PLR2004 - bytes of a 32-bit number
            raise ValueError(f"sizes of {width} bytes each: expected 1 to 4")
        last = 9 + (count - 1) * width
        sizes = [base + int.from_bytes(data[at : at + width], "big") for at in range(9, last, width)]
        sizes.append(int.from_bytes(data[last : last + 4], "big", signed=True))
        expected = last + 4
    if len(data) != expected:
        raise ValueError(f"{len(data)} bytes of sizes: expected {expected}")
    if any(not 0 < size <= 2 * MAX_CHUNK_SIZE for size in sizes):
        raise ValueError("impossible chunk size")
    return sizes
