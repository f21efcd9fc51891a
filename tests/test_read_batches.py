"""``record.read_batches`` verifies checksums, unless it is told not to."""

from __future__ import annotations

import re

import pytest

import kafkacomp as kc
from golden.expect import SMALL
from kafkacomp import message_set, record

DATA = (SMALL / "modern" / "restarts" / "restarts-0" / "00000000000000000000.log").read_bytes()
LEGACY = sorted((SMALL / "legacy").glob("broker-*/*.log"))
BATCHES = [(batch.position, batch.size_in_bytes) for batch in record.read_batches(DATA)]


def with_flipped_bit(data: bytes, at: int) -> bytes:
    """A copy that differs in one bit."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("options", [{}, {"verify_crc": True}], ids=["default", "true"])
def test_wrong_checksum_is_raised(options: dict[str, bool]) -> None:
    position, size = BATCHES[3]
    reader = record.read_batches(with_flipped_bit(DATA, position + size - 1), **options)
    assert [next(reader).position for _ in range(3)] == [at for at, _ in BATCHES[:3]]
    with pytest.raises(kc.CorruptRecordError) as raised:
        next(reader)
    assert raised.value.position == position
    assert reader.position == position
    assert next(reader, None) is None


def test_checksums_are_ignored_on_request() -> None:
    position, size = BATCHES[3]
    batches = list(record.read_batches(with_flipped_bit(DATA, position + size - 1), verify_crc=False))
    assert [(batch.position, batch.size_in_bytes) for batch in batches] == BATCHES
    assert [batch.is_valid for batch in batches] == [at != position for at, _ in BATCHES]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_too(magic: int) -> None:
    builder = record.RecordBatchBuilder(magic, "none")
    builder.append(b"value")
    data = builder.build()
    assert len(list(record.read_batches(data))) == 1
    flipped = with_flipped_bit(data, len(data) - 1)
    assert len(list(record.read_batches(flipped, verify_crc=False))) == 1
    with pytest.raises(kc.CorruptRecordError):
        list(record.read_batches(flipped))


def test_intact_sets_read_the_same() -> None:
    for path in LEGACY:
        data = path.read_bytes()
        strict, lenient = (
            [(batch.position, batch.size_in_bytes) for batch in record.read_batches(data, verify_crc=verify)]
            for verify in (True, False)
        )
        assert strict == lenient, path


def test_not_a_bool() -> None:
    with pytest.raises(TypeError, match=re.escape("verify_crc must be a bool, not str")):
        record.read_batches(DATA, verify_crc="no")  # type: ignore[arg-type]


def test_a_response_that_ends_within_its_first_header_contains_nothing() -> None:
    """Neither log format has anything to read in so few bytes, so that the format need not be known."""
    for data in (DATA, message_set.write_messages([b"a value of 0.7"])):
        for length in range(1, min(17, len(data))):
            reader = kc.scan(data[:length])
            assert reader.read_all().num_rows == 0
            (warning,) = reader.report.warnings
            assert "incomplete batch at byte 0" in warning
            batches = record.read_batches(data[:length])
            assert list(batches) == []
            assert batches.partial_bytes == length
