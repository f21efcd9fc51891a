"""Boils down what kafkacomp reads from a record set to a digest that Kafka's outcome can be held against.

The text behind it is the one that ``tests/kafka/tools``' ``OutcomeDigest`` writes: fields followed by a blank, each
piece of bytes by its length and itself. A million of them are compared where whole outcomes would take hours.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGEST_LENGTH = 8


def digest(data: bytes) -> str:
    """The digest of all that is read from ``data``."""
    text = bytearray()
    batches = record.read_batches(data, verify_crc=False)
    error: kc.KafkaCompError | None = None
    try:
        for batch in batches:
            _add_batch(text, batch)
    except kc.KafkaCompError as raised:
        error = raised
    text += b"end %d %s" % (batches.position, _kind(error))
    return hashlib.sha256(text).digest()[:DIGEST_LENGTH].hex()


def _kind(error: kc.KafkaCompError | None) -> bytes:
    """The kind of an error, as the record layer tells them apart."""
    if error is None:
        return b"fine "
    if isinstance(error.__cause__, kc.DecompressionError):
        return b"codec "
    return b"%d " % error.error_code if error.error_code is not None else repr(error).encode()


def _add_batch(text: bytearray, batch: record.RecordBatch) -> None:
    try:
        base_offset = str(batch.base_offset)
    except kc.KafkaCompError:
        base_offset = "!"
    try:
        compression_type = str(int(batch.compression_type))
    except kc.UnknownServerError:
        compression_type = "!"
    count, horizon = batch.records_count, batch.delete_horizon_ms
    text += (
        f"batch {batch.position} {batch.size_in_bytes} {batch.magic} {base_offset} {batch.last_offset} {batch.crc} "
        f"{compression_type} {int(batch.timestamp_type)} {batch.max_timestamp} {batch.base_timestamp} "
        f"{'null' if count is None else count} {batch.partition_leader_epoch} {batch.producer_id} "
        f"{batch.producer_epoch} {batch.base_sequence} {batch.last_sequence} {batch.is_transactional:d} "
        f"{batch.is_control_batch:d} {'null' if horizon is None else horizon} {batch.is_valid:d} "
    ).encode()
    try:
        batch.ensure_valid()
    except kc.KafkaCompError as error:
        text += _kind(error)
    else:
        text += b"fine "
    records: Iterator[record.Record] = iter(batch)
    try:
        for item in records:
            _add_record(text, item)
    except kc.KafkaCompError as error:
        text += _kind(error)
    else:
        text += b"fine "


def _add_record(text: bytearray, item: record.Record) -> None:
    valid = item.is_valid
    text += (
        f"record {item.offset} {item.timestamp} {int(item.timestamp_type)} {item.sequence} "
        f"{'null' if valid is None else f'{valid:d}'} "
    ).encode()
    _add_bytes(text, item.key)
    _add_bytes(text, item.value)
    for name, value in item.headers:
        _add_bytes(text, name.encode())
        _add_bytes(text, value)


def _add_bytes(text: bytearray, value: bytes | None) -> None:
    if value is None:
        text += b"null "
    else:
        text += b"%d %s" % (len(value), value)
