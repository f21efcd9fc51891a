"""Reads with kafkacomp into the shape of the expectation files, so that tests compare like with like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

import kafkacomp as kc
from grouped import grouped
from kafkacomp import record

from .expect import Expected, Headers, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CONTROL_TYPES = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}

DEFAULT_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
ON_DEMAND_COLUMNS = [
    "leaderEpoch",
    "magic",
    "compressionType",
    "baseOffset",
    "position",
    "segment",
    "producerId",
    "producerEpoch",
    "sequence",
    "isTransactional",
    "isControl",
]


def plain(value: Any) -> bytes | None:
    """A key or value as bytes, null as None."""
    return None if value is None else bytes(value)


def control_type(key: bytes | None) -> str:
    """The type in a control record's key (version:int16 type:int16)."""
    assert key is not None
    return CONTROL_TYPES[int.from_bytes(key[2:4], "big")]


def headers_of(pairs: Iterable[tuple[str, Any]]) -> Headers:
    """Headers as pairs of text and bytes."""
    return tuple((key, plain(value)) for key, value in pairs)


@dataclass(frozen=True)
class Shallow:
    """What a batch's header says, under the names of the modern expectation files."""

    position: int
    sizeInBytes: int  # noqa: N815 (the files' names)
    baseOffset: int  # noqa: N815
    lastOffset: int  # noqa: N815
    count: int
    magic: int
    compressionType: str  # noqa: N815
    crc: int
    valid: bool
    timestampType: int  # noqa: N815
    maxTimestamp: int  # noqa: N815
    producerId: int  # noqa: N815
    producerEpoch: int  # noqa: N815
    baseSequence: int  # noqa: N815
    lastSequence: int  # noqa: N815
    isTransactional: bool  # noqa: N815
    isControlBatch: bool  # noqa: N815
    partitionLeaderEpoch: int  # noqa: N815
    deleteHorizonMs: int | None  # noqa: N815


def shallow(batch: record.RecordBatch) -> Shallow:
    """The header fields of a batch of magic 2."""
    assert batch.records_count is not None
    assert batch.base_offset is not None
    return Shallow(
        batch.position,
        batch.size_in_bytes,
        batch.base_offset,
        batch.last_offset,
        batch.records_count,
        batch.magic,
        batch.compression_type.name.lower(),
        batch.crc,
        batch.is_valid,
        int(batch.timestamp_type),
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.last_sequence,
        batch.is_transactional,
        batch.is_control_batch,
        batch.partition_leader_epoch,
        batch.delete_horizon_ms,
    )


def deep(batch: record.RecordBatch) -> Iterator[Expected]:
    """The records of a batch, in the shape of an expectation file."""
    control = batch.is_control_batch
    epoch = batch.partition_leader_epoch
    for item in batch:
        key = plain(item.key)
        yield Expected(
            item.offset,
            item.timestamp,
            int(item.timestamp_type),
            epoch,
            key,
            shorten(plain(item.value)),
            headers_of(item.headers),
            control_type(key) if control else None,
        )


def table_rows(table: pa.Table) -> list[Expected]:
    """The rows of a scan that asked for the default columns, ``leaderEpoch`` and ``isControl``."""
    columns = {name: table.column(name) for name in table.column_names}
    headers = [
        () if row is None else tuple((header["key"], header["value"]) for header in row)
        for row in columns["headers"].to_pylist()
    ]
    keys = columns["key"].to_pylist()
    times = columns["timestamp"].cast(pa.int64()).to_pylist()
    assert -1 not in times, "a record without a timestamp has null"
    control = columns["isControl"].to_pylist()
    return [
        Expected(offset, timestamp, timestamp_type, epoch, key, shorten(value), pairs, kind)
        for offset, timestamp, timestamp_type, epoch, key, value, pairs, kind in zip(
            columns["offset"].to_pylist(),
            (-1 if time is None else time for time in times),
            columns["timestampType"].to_pylist(),
            columns["leaderEpoch"].to_pylist(),
            keys,
            columns["value"].to_pylist(),
            headers,
            (control_type(key) if is_control else None for key, is_control in zip(keys, control, strict=True)),
            strict=True,
        )
    ]


SCAN_COLUMNS = [*DEFAULT_COLUMNS, "leaderEpoch", "isControl"]


def scan_rows(source: Any, **options: Any) -> list[Expected]:
    """The rows that ``kc.scan`` gives."""
    return table_rows(pa.table(kc.scan(source, columns=SCAN_COLUMNS, **grouped(**options))))


class Partly(NamedTuple):
    """What came out of a scan before it failed, if it did."""

    rows: list[Expected]
    error: Exception | None


def scan_partly(source: Any, **options: Any) -> Partly:
    """The rows of a scan up to its error: what has been delivered stays delivered."""
    batches = []
    error: Exception | None = None
    reader = pa.RecordBatchReader.from_stream(kc.scan(source, columns=SCAN_COLUMNS, **grouped(**options)))
    try:
        batches.extend(reader)
    except (pa.ArrowException, OSError, kc.KafkaCompError) as raised:
        error = raised
    return Partly(table_rows(pa.Table.from_batches(batches, reader.schema)), error)


def first_difference(found: list[Any], expected: list[Any], where: Path | str) -> str:
    """Where two lists part, short enough to read (values can be megabytes)."""
    for index, (left, right) in enumerate(zip(found, expected, strict=False)):
        if left != right:
            return f"{where}: item {index}:\n found    {str(left)[:700]}\n expected {str(right)[:700]}"
    return f"{where}: {len(found)} found, {len(expected)} expected"


def assert_same(found: Iterable[Any], expected: Iterable[Any], where: Path | str) -> None:
    """Two lists are equal; if not, say where without printing megabytes."""
    found, expected = list(found), list(expected)
    if found != expected:
        raise AssertionError(first_difference(found, expected, where))
