"""Batches and records as rows: a dict each, under the names of kafka-dump-log."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import log
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchReader, BatchStream
from kafkacomp._storage.discovery import Segment
from kafkacomp._storage.filesystem import open_local
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError
from kafkacomp.record import TimestampType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.files import SourceFile
    from kafkacomp.record import Record, RecordBatch

__all__ = ["TIMESTAMP_NAMES", "Damage", "batch_row", "batches", "bytes_fields", "record_row"]

#: How much of a file is read at once; a larger batch is read whole.
CHUNK = 8 << 20

_SIZE_OFFSET, _LOG_OVERHEAD = 8, 12
TIMESTAMP_NAMES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


class Damage(NamedTuple):
    """What ends a file's batches, or is wrong with one."""

    position: int
    message: str


def batches(
    file: SourceFile, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE, *, may_be_cut: bool = False
) -> Iterator[RecordBatch | Damage]:
    """Iterate over a file's batches, some megabytes at a time; damage to the framing comes last and ends it."""
    if file.stored is None:
        yield from _local_batches(file.name, max_output_size, may_be_cut=may_be_cut)
        return
    segment = Segment(file.name, file.source, file.size, base_offset=file.base_offset)
    try:
        with BatchStream(segment, max_output_size, verify_crc=False, may_be_truncated=may_be_cut) as found:
            yield from found
    except KafkaCompError as error:
        yield Damage(error.position or 0, str(error))


def _local_batches(path: str, max_output_size: int, *, may_be_cut: bool) -> Iterator[RecordBatch | Damage]:
    with open_local(path) as file:
        origin, wanted, in_zeros = 0, CHUNK, False
        while True:
            file.seek(origin)
            data = file.read(wanted)
            at_end = len(data) < wanted
            reader = BatchReader(
                data, max_output_size, verify_crc=False, origin=origin
            )  # callers report wrong checksums
            try:
                yield from reader
            except KafkaCompError as error:
                yield Damage(origin if error.position is None else error.position, str(error))
                return
            if at_end:
                rest = data[reader.position - origin :]
                if reader.partial_bytes and not may_be_cut and not (in_zeros and not any(rest)):
                    yield Damage(reader.position, _cut(rest, reader.position))
                return
            if reader.zero_bytes and reader.position == origin:
                # Zeros as far as was read: skip them, they are all there is in a preallocated file.
                origin, wanted, in_zeros = origin + len(data), CHUNK, True
                continue
            # The batch that the chunk cut is read again, whole if it is larger than a chunk.
            rest = data[reader.position - origin :]
            head = rest[_SIZE_OFFSET:_LOG_OVERHEAD]
            size = int.from_bytes(head, "big", signed=True) + _LOG_OVERHEAD if len(head) == 4 else 0  # noqa: PLR2004
            origin = reader.position
            left = os.fstat(file.fileno()).st_size - origin
            wanted = max(CHUNK, min(size, left) + 1, _LOG_OVERHEAD + 1)


def _cut(rest: bytes, position: int) -> str:
    if len(rest) < _LOG_OVERHEAD:
        return f"incomplete batch at byte {position}: {len(rest)} bytes are there"
    size = int.from_bytes(rest[_SIZE_OFFSET:_LOG_OVERHEAD], "big", signed=True) + _LOG_OVERHEAD
    return f"incomplete batch at byte {position}: {len(rest)} of {size} bytes are there"


def batch_row(batch: RecordBatch) -> dict[str, Any]:
    """A batch's header. ``count`` is null in magic 0 and 1, which do not declare one."""
    try:
        codec = str(batch.compression_type)
    except KafkaCompError:
        codec = f"unknown({batch.attributes & 7})"
    row: dict[str, Any] = {}
    if batch.magic >= 2:  # noqa: PLR2004 - the format with a header of its own
        row = {
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "count": batch.records_count,
            "baseSequence": batch.base_sequence,
            "lastSequence": batch.last_sequence,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "partitionLeaderEpoch": batch.partition_leader_epoch,
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control_batch,
            "deleteHorizonMs": batch.delete_horizon_ms,
        }
    else:
        row = {"offset": batch.last_offset}
    return row | {
        "position": batch.position,
        "timestampType": TIMESTAMP_NAMES[batch.timestamp_type],
        "timestamp": batch.max_timestamp,
        "size": batch.size_in_bytes,
        "magic": batch.magic,
        "compresscodec": codec,
        "crc": batch.crc,
        "isvalid": batch.is_valid,
    }


def record_row(record: Record, batch: RecordBatch, *, payload: bool = True) -> dict[str, Any]:
    """A record. Bytes that are no UTF-8 stand as base64 under ``keyBase64``, ``payloadBase64``, ``valueBase64``.

    Raises:
        CorruptRecordError: a control record that does not follow its schema.
    """
    key, value = record.key, record.value
    row: dict[str, Any] = {
        "offset": record.offset,
        "timestampType": TIMESTAMP_NAMES[record.timestamp_type],
        "timestamp": record.timestamp,
        "keySize": -1 if key is None else len(key),
        "valueSize": -1 if value is None else len(value),
    }
    if batch.magic >= 2:  # noqa: PLR2004
        headers = record.headers
        row["sequence"] = record.sequence
        row["headerKeys"] = [name for name, _ in headers]
        if payload and headers:
            row["headers"] = [{"key": name} | bytes_fields("value", content) for name, content in headers]
    else:
        row["isvalid"] = record.is_valid
    if batch.is_control_batch:
        try:
            control = log.parse_control_record(key, value)
        except KafkaCompError as error:
            raise CorruptRecordError(f"control record at offset {record.offset}: {error}") from error
        row["controlType"] = control.type
        row["control"] = control.fields
    elif payload:
        row |= bytes_fields("key", key) | bytes_fields("payload", value)
    return row


def bytes_fields(name: str, content: bytes | None) -> dict[str, Any]:
    """Bytes as text, or as base64 under a name that says so."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(content).decode("ascii")}
