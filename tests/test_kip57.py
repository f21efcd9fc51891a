"""KIP-57's behaviour matrix: old and new clients and brokers, formats 0 to 2, right, broken and odd header checksums.

An old broker or client is one of Kafka 0.8.2 or 0.9: it knows format 0 only and demands the broken LZ4 header
checksum, the one that hashes the frame's magic bytes too. A new one, from 0.10 on, does not look at it in format 0 and
demands the right one in 1 and 2. Whatever a broker rewrites gets the checksum of the format that it is written in.
What real brokers did is in the produce matrix of the legacy vectors; what 0.10.2 and later answer -1 to is the KIP's
code 2 here.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

import kafkacomp as kc
from header_checksums import Checksum, checksum_of, frame_at, with_header_checksum
from kafkacomp import CompressionType, broker, lz4, record
from kafkacomp.record import RecordBatchBuilder

ROWS = [(10 + i, 1_700_000_000_000 + i, b"key" if i % 2 else None, b"value " * i) for i in range(20)]
CORRUPT = 2
HC = 6  # of a header without content size, the byte behind magic, FLG and BD


def sent(magic: int, checksum: Checksum) -> bytes:
    """What a client sends: offsets from 0, with this header checksum and a right CRC."""
    builder = RecordBatchBuilder(magic, "lz4")
    for _, timestamp, key, value in ROWS:
        builder.append(value, key=key, timestamp=timestamp)
    data = with_header_checksum(builder.build(), checksum)
    assert next(iter(record.read_batches(data))).is_valid
    return data


def read_old(data: bytes) -> bool:
    """Whether an old broker or client reads it."""
    (batch,) = record.read_batches(data)
    if batch.magic != 0:
        return False
    try:
        lz4.decompress(data[frame_at(data) :], header_checksum="broken")
    except kc.DecompressionError:
        return False
    return True


def read_new(data: bytes) -> bool:
    """Whether a new client reads it."""
    try:
        return [r.value for r in next(iter(record.read_batches(data)))] == [row[3] for row in ROWS]
    except kc.CorruptRecordError as error:
        # The codec's complaint, with the code that the KIP promises.
        if error.error_code != CORRUPT or not isinstance(error.__cause__, kc.DecompressionError):
            raise
        return False


def produce_new(data: bytes, topic_magic: int) -> bytes | None:
    """What a new broker stores for a topic of this format, None if it refuses with code 2."""
    config = broker.ValidatorConfig(
        source_compression_type=CompressionType.LZ4, target_compression_type=CompressionType.LZ4, to_magic=topic_magic
    )
    try:
        result = broker.LogValidator(config).validate_messages_and_assign_offsets(data, 10, 1_800_000_000_000)
    except kc.CorruptRecordError as error:
        if error.error_code != CORRUPT:
            raise
        return None
    return result.validated_records


class Case(NamedTuple):
    """A client's message, and what becomes of it."""

    client: str
    magic: int
    checksum: Checksum
    old_broker: bool  # takes it
    new_broker: bool  # takes it
    new_client: bool  # reads it as it is


MATRIX = [
    Case("old", 0, "broken", old_broker=True, new_broker=True, new_client=True),
    # The Java producer of 0.9 could not be told to write the right one; other libraries did (the KIP's reason).
    Case("other", 0, "right", old_broker=False, new_broker=True, new_client=True),
    Case("other", 0, "neither", old_broker=False, new_broker=True, new_client=True),
    Case("new", 1, "right", old_broker=False, new_broker=True, new_client=True),
    Case("other", 1, "broken", old_broker=False, new_broker=False, new_client=False),
    Case("other", 1, "neither", old_broker=False, new_broker=False, new_client=False),
    Case("new", 2, "right", old_broker=False, new_broker=True, new_client=True),
    Case("other", 2, "broken", old_broker=False, new_broker=False, new_client=False),
    Case("other", 2, "neither", old_broker=False, new_broker=False, new_client=False),
]
NAMES = [f"{case.client}-v{case.magic}-{case.checksum}" for case in MATRIX]
WRITTEN = {0: "broken", 1: "right", 2: "right"}
each = pytest.mark.parametrize("case", MATRIX, ids=NAMES)


@each
def test_produce_to_an_old_broker(case: Case) -> None:
    """It takes format 0 with the broken checksum only, and hands it out as it is: new consumers read that, too."""
    data = sent(case.magic, case.checksum)
    assert read_old(data) == case.old_broker
    assert read_new(data) == case.new_client
    if case.old_broker:
        assert read_new(data)


@each
@pytest.mark.parametrize("topic", [0, 1, 2], ids=["topic-v0", "topic-v1", "topic-v2"])
def test_produce_to_a_new_broker_and_consume(case: Case, topic: int) -> None:
    """What it rewrites has the checksum of the topic's format; an old consumer gets format 0 with the broken one."""
    data = sent(case.magic, case.checksum)
    stored = produce_new(data, topic)
    assert (stored is not None) == case.new_broker
    if stored is None:
        return
    (batch,) = record.read_batches(stored)
    assert batch.magic == topic
    assert checksum_of(stored) == WRITTEN[topic]
    assert read_new(stored)
    assert read_old(stored) == (topic == 0)
    fetched = record.convert(stored, 0)
    assert read_old(fetched)
    assert checksum_of(fetched) == "broken"
    assert [r.offset for r in next(iter(record.read_batches(fetched)))] == [row[0] for row in ROWS]


@each
@pytest.mark.parametrize("to_magic", [0, 1, 2])
def test_convert(case: Case, to_magic: int) -> None:
    """Down breaks the checksum, up rights it, and what stays is as it was, odd or not."""
    data = sent(case.magic, case.checksum)
    upgrade = to_magic > case.magic
    if to_magic == case.magic:
        assert record.convert(data, to_magic) == record.convert(data, to_magic, upgrade=True) == data
    elif case.new_client:
        converted = record.convert(data, to_magic, upgrade=upgrade)
        assert checksum_of(converted) == WRITTEN[to_magic]
        assert read_new(converted)
        assert read_old(converted) == (to_magic == 0)
    else:
        with pytest.raises(kc.CorruptRecordError):
            record.convert(data, to_magic, upgrade=upgrade)
    if upgrade:
        assert record.convert(data, to_magic) == data


def test_builder_and_codec_write_each_rule() -> None:
    """The builder by its magic; the codec as it is asked."""
    for magic, rule in WRITTEN.items():
        builder = RecordBatchBuilder(magic, "lz4")
        builder.append(b"x" * 100)
        assert checksum_of(builder.build()) == rule
    assert kc.compress(b"x", "lz4", magic=0)[HC] == lz4.compress(b"x", header_checksum="broken")[HC] == 0x1A
    assert kc.compress(b"x", "lz4")[HC] == lz4.compress(b"x")[HC] == 0x82
