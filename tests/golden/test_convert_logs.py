"""Logs of brokers of every era, lifted to magic 2 and taken down again: the records stay, but for what is lost."""

from __future__ import annotations

import pytest

import kafkacomp as kc
from kafkacomp import record
from kafkacomp.record import TimestampType

from .expect import LegacyFile, ModernCase, legacy_files, modern_cases, segments

FILES = legacy_files()
SOUND = [case for case in modern_cases() if not case.damaged and not case.live]

Row = tuple[int, int, TimestampType, bytes | None, bytes | None]


def rows(data: bytes, *, control: bool = True) -> list[Row]:
    """The records, whatever batches they are in."""
    return [
        (r.offset, r.timestamp, r.timestamp_type, r.key, r.value)
        for batch in record.read_batches(data)
        if control or not batch.is_control_batch
        for r in batch
    ]


def in_magic(row: Row, magic: int) -> Row:
    """What is left of a record in another format."""
    offset, timestamp, kind, key, value = row
    if magic == 0:
        return offset, -1, TimestampType.NO_TIMESTAMP_TYPE, key, value
    return offset, timestamp, max(kind, TimestampType.CREATE_TIME), key, value


def is_sound(data: bytes) -> bool:
    """Whether every checksum is right, and offsets increase as in a log (on the wire, old producers wrote 0s)."""
    last = -1
    try:
        for batch in record.read_batches(data):
            for r in batch:
                if r.is_valid is False or r.offset <= last:
                    return False
                last = r.offset
    except kc.KafkaCompError:
        return False
    return True


@pytest.mark.parametrize("file", FILES, ids=str)
def test_legacy_files_are_lifted(file: LegacyFile) -> None:
    """Every wrapper is one batch; offsets, gaps, times, keys and values stay; what is not sound is refused or stays."""
    data = file.path.read_bytes()
    try:
        lifted = record.convert(data, 2, upgrade=True)
    except (kc.KafkaCompError, ValueError):
        assert not is_sound(data)
        return
    batches = list(record.read_batches(lifted))
    assert {batch.magic for batch in batches} <= {2}
    assert all(batch.is_valid for batch in batches) or not is_sound(data)
    old = [batch for batch in record.read_batches(data) if batch.magic < 2]
    wrappers = sum(batch.compression_type != kc.CompressionType.NONE for batch in old)
    newer = sum(1 for _ in record.read_batches(data)) - len(old)
    plain = len(old) - wrappers
    assert wrappers + newer + min(plain, 1) <= len(batches) <= wrappers + newer + plain
    assert rows(lifted) == [in_magic(row, 2) for row in rows(data)]
    for magic in (1, 0):
        try:
            lowered = record.convert(lifted, magic)
        except kc.UnsupportedCompressionTypeError as error:
            assert error.error_code == 76  # noqa: PT017 - not every file has zstd
            assert kc.CompressionType.ZSTD in {b.compression_type for b in batches}
            continue
        kept = [in_magic(row, magic) for row in rows(lifted, control=False)]
        assert rows(lowered) == kept
        assert rows(record.convert(lowered, 2, upgrade=True)) == [in_magic(row, 2) for row in kept]


@pytest.mark.parametrize("case", SOUND, ids=str)
def test_modern_logs_are_taken_down(case: ModernCase) -> None:
    """Transactions, compaction, delete horizons, append times: what a consumer of old formats would get."""
    for partition in case.partitions():
        for segment in segments(partition):
            data = segment.read_bytes()
            batches = list(record.read_batches(data))
            assert record.convert(data, 2, upgrade=True) == data[: sum(batch.size_in_bytes for batch in batches)]
            zstd = any(b.compression_type == kc.CompressionType.ZSTD and not b.is_control_batch for b in batches)
            for magic in (1, 0):
                if zstd:
                    with pytest.raises(kc.UnsupportedCompressionTypeError):
                        record.convert(data, magic)
                    continue
                lowered = record.convert(data, magic)
                assert all(batch.is_valid and batch.magic == magic for batch in record.read_batches(lowered))
                assert rows(lowered) == [in_magic(row, magic) for row in rows(data, control=False)]
