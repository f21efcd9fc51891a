"""Every file of the legacy set (Kafka 0.8.2 to 3.9, magic 0, 1 and 2) is read to exactly its expectation file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

from .expect import (
    TIMESTAMP_TYPES,
    LegacyFile,
    from_base64,
    legacy_files,
    legacy_lines,
    roots,
)
from .reading import assert_same, headers_of, plain

if TYPE_CHECKING:
    from pathlib import Path

FILES = legacy_files()
# In a closed segment a cut batch is an error; these are files as brokers left them, so none is cut.
SEGMENTS = [file for file in FILES if file.about["kind"] in {"segment", "fetch disk"}]


def by_file(files: list[LegacyFile]) -> pytest.MarkDecorator:
    """One test a file."""
    return pytest.mark.parametrize("file", files, ids=str)


COMMON = ["position", "size", "magic", "baseOffset", "lastOffset", "crc", "crc_ok", "codec", "timestampType", "count"]
BY_MAGIC: dict[int, list[str]] = {
    0: [],
    1: ["timestamp"],
    2: [
        "partitionLeaderEpoch",
        "lastOffsetDelta",
        "baseTimestamp",
        "maxTimestamp",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "recordCount",
        "transactional",
        "control",
        "deleteHorizon",
    ],
}


def fields(batch: record.RecordBatch) -> dict[str, Any]:
    """A batch under the names of batches.jsonl."""
    return {
        "position": batch.position,
        "size": batch.size_in_bytes,
        "magic": batch.magic,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "crc": f"{batch.crc:08x}",
        "crc_ok": batch.is_valid,
        "codec": batch.compression_type.name.lower(),
        "timestampType": int(batch.timestamp_type),
        "count": sum(1 for _ in batch),
        "timestamp": batch.max_timestamp,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "lastOffsetDelta": batch.last_offset - (batch.base_offset or 0),
        "baseTimestamp": batch.base_timestamp,
        "maxTimestamp": batch.max_timestamp,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "recordCount": batch.records_count,
        "transactional": batch.is_transactional,
        "control": batch.is_control_batch,
        "deleteHorizon": batch.delete_horizon_ms is not None,
    }


@by_file(FILES)
def test_batches(file: LegacyFile) -> None:
    """Every field of every shallow entry."""
    lines, _ = file.batches()
    found = [
        {name: value for name, value in fields(batch).items() if name in COMMON + BY_MAGIC[batch.magic]}
        for batch in record.read_batches(file.path.read_bytes())
    ]
    expected = [
        {name: line[name] for name in COMMON + BY_MAGIC[line["magic"]]}
        | {"timestampType": TIMESTAMP_TYPES[line["timestampType"]]}
        for line in lines
    ]
    assert_same(found, expected, file.path)


@by_file(FILES)
def test_records(file: LegacyFile) -> None:
    """Every deep message: offset, magic, timestamp and its type, key, value, headers, and where its batch begins."""
    found = [
        (
            item.offset,
            batch.magic,
            item.timestamp,
            int(item.timestamp_type),
            plain(item.key),
            plain(item.value),
            batch.position,
            headers_of(item.headers),
        )
        for batch in record.read_batches(file.path.read_bytes())
        for item in batch
    ]
    assert_same(found, map(expected_row, file.records()), file.path)


def expected_row(line: dict[str, Any]) -> tuple[Any, ...]:
    """A line of expected.jsonl.gz as a tuple."""
    return (
        line["offset"],
        line["magic"],
        line["timestamp"],
        TIMESTAMP_TYPES[line["timestampType"]],
        from_base64(line["key"]),
        from_base64(line["value"]),
        line["position"],
        tuple((key, from_base64(value)) for key, value in line.get("headers", [])),
    )


@by_file([file for file in FILES if "fetch" in file.about["kind"]])
def test_fetch_answers_end_quietly(file: LegacyFile) -> None:
    """A fetch answer is cut at any byte, or padded with the head of an impossible message: no error, no batch."""
    lines, tail = file.batches()
    data = file.path.read_bytes()
    batches = list(record.read_batches(data))
    assert len(batches) == len(lines)
    end = batches[-1].position + batches[-1].size_in_bytes if batches else 0
    assert end == (tail["position"] if tail else len(data))
    # And wherever else it is cut: the same batches as far as they are whole, and silence.
    for cut in {0, 1, 11, 12, 16, 17, 18, *(batch.position + 1 for batch in batches), len(data) - 1}:
        whole = [b for b in batches if b.position + b.size_in_bytes <= cut]
        assert [b.position for b in record.read_batches(data[:cut])] == [b.position for b in whole]


@by_file(SEGMENTS)
def test_scan(file: LegacyFile) -> None:
    """``kc.scan`` of a segment, control records included: rows, null where a record has no timestamp, null headers."""
    columns = ["offset", "magic", "timestamp", "timestampType", "key", "value", "position", "headers"]
    options = kc.ScanOptions(include_control=True)
    reader = kc.scan({("t", 7): file.path}, columns=[*columns, "topic", "partition"], options=options)
    table = pa.table(reader)
    # Nothing is missing from what brokers wrote but what compaction removed.
    assert {each.reason for each in reader.report.missing} <= {"compacted"}, reader.report.missing
    found = zip(
        *(
            table.column(name).cast(pa.int64()).to_pylist() if name == "timestamp" else table.column(name).to_pylist()
            for name in columns
        ),
        strict=True,
    )
    expected = []
    for row in map(expected_row, file.records()):
        offset, magic, timestamp, kind, key, value, position, headers = row
        pairs = [{"key": name, "value": content} for name, content in headers] or None
        expected.append((offset, magic, None if timestamp == -1 else timestamp, kind, key, value, position, pairs))
    assert_same(found, expected, file.path)
    assert set(table.column("topic").to_pylist()) <= {"t"}
    assert set(table.column("partition").to_pylist()) <= {7}
    assert_same(
        pa.table(kc.scan(file.path.read_bytes(), columns=["offset"], options=kc.ScanOptions(include_control=True)))
        .column("offset")
        .to_pylist(),
        [row[0] for row in expected],
        file.path,
    )


@by_file([file for file in FILES if file.about["kind"] == "fetch odd"])
def test_odd_fetch_answers_by_scan(file: LegacyFile) -> None:
    """A captured answer, scanned as bytes: its whole batches, and no complaint about the cut."""
    reader = kc.scan(file.path.read_bytes(), columns=["offset"], options=kc.ScanOptions(include_control=True))
    assert pa.table(reader).column("offset").to_pylist() == [line["offset"] for line in file.records()]


def same_as_lines() -> list[tuple[Path, dict[str, Any]]]:
    """Record sets whose bytes equal those of another file."""
    return [
        (root, line)
        for root in roots("legacy")
        for line in legacy_lines(root)
        if "same_as" in line and (root / line["same_as"]).is_file()
    ]


def test_files_without_bytes_of_their_own() -> None:
    """A line that says ``same_as`` counts what that file holds."""
    for root, line in same_as_lines():
        data = (root / line["same_as"]).read_bytes()
        batches = list(record.read_batches(data))
        assert len(batches) == line["batches"], line["file"]
        assert sum(1 for batch in batches for _ in batch) == line["messages"], line["file"]
        assert sorted({batch.magic for batch in batches}) == line["magics"], line["file"]
