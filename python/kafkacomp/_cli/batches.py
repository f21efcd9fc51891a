"""Convert batches and records to rows: dicts with the field names of kafka-dump-log."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import log
from kafkacomp._batch_settings import NO_TIMESTAMP
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchStream
from kafkacomp._storage.partition import Segment
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError
from kafkacomp.record import TimestampType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.files import SourceFile
    from kafkacomp.record import Record, RecordBatch

TIMESTAMP_NAMES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


class Corruption(NamedTuple):
    """A corrupt batch, or corruption that ends a file's batches."""

    position: int
    message: str


def segment_of(file: SourceFile) -> Segment:
    """Convert the file to a segment for the core."""
    return Segment(file.name, file.source, file.size, base_offset=file.base_offset)


def batches(
    file: SourceFile, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE, *, may_be_truncated: bool = False
) -> Iterator[RecordBatch | Corruption]:
    """Iterate over a file's batches in chunks; corrupt framing is yielded last and ends the iteration."""
    options = {"verify_crc": False, "may_be_truncated": may_be_truncated}  # callers report wrong checksums
    try:
        with BatchStream(segment_of(file), max_output_size, **options) as found:
            yield from found
    except KafkaCompError as error:
        yield Corruption(error.position or 0, str(error))


def batch_row(batch: RecordBatch) -> dict[str, Any]:
    """Convert a batch's header. ``count`` is null in magic 0 and 1, whose headers do not have it."""
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


def time_of(record: Record) -> int | None:
    """The timestamp in milliseconds; ``None`` for a record without one, as in the columns of a scan."""
    has_none = record.timestamp == NO_TIMESTAMP or record.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE
    return None if has_none else record.timestamp


def record_row(record: Record, batch: RecordBatch, *, payload: bool = True) -> dict[str, Any]:
    """Convert a record. Bytes that are not UTF-8 become base64 in ``keyBase64``, ``payloadBase64``, ``valueBase64``.

    Raises:
        CorruptRecordError: a control record does not follow its schema.
    """
    key, value = record.key, record.value
    row: dict[str, Any] = {
        "offset": record.offset,
        "timestampType": TIMESTAMP_NAMES[record.timestamp_type],
        "timestamp": time_of(record),
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
    """Bytes as text, or as base64 in a field whose name ends in Base64."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(content).decode("ascii")}
