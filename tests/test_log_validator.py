"""Kafka's LogValidatorTest as a checklist: each of its cases has one here by the same name, as Python spells it.

docs/design/log-validator-tests.md is the table. Inputs are small and made by hand; breadth is elsewhere: the oracle's
3,000 cases in tests/golden, and as many random ones as one likes against Kafka itself in tests/kafka.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

import kafkacomp as kc
from kafkacomp import broker, record
from kafkacomp.record import TimestampType

NOW = 1_700_000_000_000
ROWS = ((b"key", b"hello"), (None, b"there"), (b"", b"beautiful"))
NONE, GZIP, SNAPPY, LZ4, ZSTD = kc.CompressionType
LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
CODECS_OF = {0: (NONE, GZIP, SNAPPY, LZ4), 1: (NONE, GZIP, SNAPPY, LZ4), 2: tuple(kc.CompressionType)}


def records(
    magic: int,
    codec: kc.CompressionType = NONE,
    timestamps: tuple[int, ...] = (NOW, NOW, NOW),
    keys: tuple[bytes | None, ...] | None = None,
    offsets: tuple[int, ...] | None = None,
    **settings: Any,
) -> bytes:
    """Three records as a builder makes them."""
    builder = record.RecordBatchBuilder(magic, codec, **settings)
    for index, ((key, value), timestamp) in enumerate(zip(ROWS, timestamps, strict=True)):
        builder.append(
            value,
            key=key if keys is None else keys[index],
            timestamp=timestamp,
            offset=None if offsets is None else offsets[index],
        )
    return builder.build()


def validate(
    data: bytes,
    source: kc.CompressionType,
    target: kc.CompressionType,
    magic: int,
    offset: int = 0,
    **settings: Any,
) -> broker.ValidationResult:
    """Asks a validator."""
    config = broker.ValidatorConfig(
        source_compression_type=source, target_compression_type=target, to_magic=magic, **settings
    )
    return broker.LogValidator(config).validate_messages_and_assign_offsets(data, offset, NOW)


def rows(result: broker.ValidationResult) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """Offset, timestamp, key and value of what is stored."""
    return [
        (r.offset, r.timestamp, None if r.key is None else bytes(r.key), None if r.value is None else bytes(r.value))
        for batch in record.read_batches(result.validated_records)
        for r in batch
    ]


def check_stored(result: broker.ValidationResult, first: int, magic: int, timestamps: tuple[int, ...]) -> None:
    """The three records at consecutive offsets, in sound batches of this magic."""
    assert rows(result) == [(first + i, timestamps[i] if magic else -1, *row) for i, row in enumerate(ROWS)]
    for batch in record.read_batches(result.validated_records):
        batch.ensure_valid()
        assert batch.magic == magic
    assert result.next_offset == first + len(ROWS)


def patched(data: bytes, at: int, form: str, value: int) -> bytes:
    """One batch with another field, the checksum of magic 0 and 1 made right again."""
    changed = bytearray(data)
    struct.pack_into(form, changed, at, value)
    if changed[16] < 2:
        struct.pack_into(">I", changed, 12, zlib.crc32(changed[16:]))
    return bytes(changed)


def wrapper(magic: int, inner: bytes, offset: int, codec: kc.CompressionType = GZIP) -> bytes:
    """A compressed message around what stands in ``inner``."""
    value = kc.compress(inner, codec, magic=magic)
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", NOW) if magic else b"")
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


# ----------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("source", [NONE, GZIP])
@pytest.mark.parametrize("target", [NONE, GZIP])
def test_only_one_batch(magic: int, source: kc.CompressionType, target: kc.CompressionType) -> None:
    """A second batch is refused where there may be but one."""
    two = records(magic, source) + records(magic, source)
    if magic < 2 and source == NONE:
        assert len(rows(validate(two, source, target, magic))) == 6
        return
    with pytest.raises(kc.InvalidRecordError):
        validate(two, source, target, magic)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("target", [NONE, GZIP])
def test_allow_multi_batch(magic: int, target: kc.CompressionType) -> None:
    """Plain messages of magic 0 and 1 are batches, and may be many."""
    check_stored(validate(records(magic), NONE, target, magic, 10), 10, magic, (NOW, NOW, NOW))


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_validation_of_batches_with_non_sequential_inner_offsets(magic: int) -> None:
    """Magic 2 is strict; older ones are written anew."""
    data = records(magic, GZIP, offsets=(0, 2, 4))
    if magic == 2:
        with pytest.raises(kc.InvalidRecordError):
            validate(data, GZIP, GZIP, magic)
        return
    result = validate(data, GZIP, GZIP, magic)
    check_stored(result, 0, magic, (NOW, NOW, NOW))
    assert result.message_size_maybe_changed


@pytest.mark.parametrize(("batch_magic", "record_magic"), [(0, 1), (1, 0)])
def test_mismatch_magic(batch_magic: int, record_magic: int) -> None:
    """An inner message of another magic than its wrapper."""
    data = wrapper(batch_magic, records(record_magic), 2)
    with pytest.raises(kc.InvalidRecordError) as refused:
        validate(data, GZIP, GZIP, batch_magic)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1, 2]


@pytest.mark.parametrize("source", [NONE, GZIP])
@pytest.mark.parametrize("target", [NONE, GZIP])
def test_batch_without_records_not_allowed(source: kc.CompressionType, target: kc.CompressionType) -> None:
    """A batch of no records (testUncompressed-, testCompressed-, testRecompressedBatchWithoutRecordsNotAllowed)."""
    empty = patched(patched(records(2, source)[:61], 57, ">i", 0), 8, ">i", 49)
    with pytest.raises(kc.InvalidRecordError):
        validate(empty, source, target, 2)


def overridden(last_offset_delta: int, count: int) -> bytes:
    """Three records in a batch that says otherwise."""
    return patched(patched(records(2), 23, ">i", last_offset_delta), 57, ">i", count)


def test_record_batch_with_count_overrides() -> None:
    """What fits passes."""
    check_stored(validate(overridden(2, 3), NONE, NONE, 2), 0, 2, (NOW, NOW, NOW))


@pytest.mark.parametrize(("last_offset_delta", "count"), [(0, 3), (15, 3), (-3, 3)])
def test_inconsistent_count_and_offset(last_offset_delta: int, count: int) -> None:
    """An offset range that is empty or does not hold as many records (testInvalidOffsetRangeAndRecordCount)."""
    with pytest.raises(kc.InvalidRecordError):
        validate(overridden(last_offset_delta, count), NONE, NONE, 2)


@pytest.mark.parametrize(("last_offset_delta", "count"), [(5, 6), (1, 2), (2, -3), (2, 0)])
def test_unmatched_number_of_records(last_offset_delta: int, count: int) -> None:
    """Header in itself consistent, but not with the records."""
    with pytest.raises(kc.InvalidRecordError):
        validate(overridden(last_offset_delta, count), NONE, NONE, 2)


def test_non_increasing_offset_record_batch_has_metrics_logged() -> None:
    """Kafka counts it, here it is refused."""
    data = patched(records(2, offsets=(0, 2, 3)), 0, ">q", -1)
    with pytest.raises(kc.InvalidRecordError):
        validate(data, GZIP, GZIP, 0)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
def test_invalid_checksum(magic: int, codec: kc.CompressionType) -> None:
    """A wrong checksum inside a wrapper."""
    inner = bytearray(records(magic))
    inner[-1] ^= 1
    with pytest.raises(kc.CorruptRecordError) as refused:
        validate(wrapper(magic, bytes(inner), 2, codec), codec, codec, magic)
    assert refused.value.error_code == 2


@pytest.mark.parametrize("codec", tuple(kc.CompressionType))
def test_invalid_sequence(codec: kc.CompressionType) -> None:
    """A producer id without a sequence."""
    data = patched(records(2, codec, producer_id=12, producer_epoch=0, base_sequence=0), 53, ">i", -1)
    with pytest.raises(kc.InvalidRecordError):
        validate(data, codec, codec, 2)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP, LZ4])
def test_no_key_compacted_topic(magic: int, codec: kc.CompressionType) -> None:
    """Every record without a key is told, but for plain messages, which are batches of one."""
    data = records(magic, codec, keys=(b"k", None, None))
    with pytest.raises(kc.InvalidRecordError) as refused:
        validate(data, codec, codec, magic, compacted=True)
    alone = magic < 2 and codec == NONE
    assert [error.batch_index for error in refused.value.record_errors] == ([0] if alone else [1, 2])
    assert refused.value.error_code == 87


# ----------------------------------------------------------------------------------------- timestamps


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_log_append_time_non_compressed(magic: int) -> None:
    """Stamped in place; magic 0 has no time."""
    data = records(magic, timestamps=(0, 1, 2))
    result = validate(data, NONE, NONE, magic, 1234, timestamp_type=LOG_APPEND_TIME)
    check_stored(result, 1234, magic, (NOW, NOW, NOW))
    assert result.max_timestamp_ms == (NOW if magic else -1)
    assert not result.message_size_maybe_changed
    assert len(result.validated_records) == len(data)


@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_with_recompression(magic: int) -> None:
    """Another magic, so written anew."""
    result = validate(records(0, GZIP), GZIP, GZIP, magic, timestamp_type=LOG_APPEND_TIME)
    check_stored(result, 0, magic, (NOW, NOW, NOW))
    assert result.max_timestamp_ms == NOW
    assert result.message_size_maybe_changed
    assert result.record_validation_stats.num_records_converted == 3


@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_without_recompression(magic: int) -> None:
    """Stamped in place: the payload stays."""
    data = records(magic, GZIP, (0, 1, 2))
    result = validate(data, GZIP, GZIP, magic, timestamp_type=LOG_APPEND_TIME)
    check_stored(result, 0, magic, (NOW, NOW, NOW))
    payload = 61 if magic == 2 else 34
    assert result.validated_records[payload:] == data[payload:]
    assert not result.message_size_maybe_changed


@pytest.mark.parametrize("magic", [1, 2])
def test_non_compressed(magic: int) -> None:
    """Create times stay, the greatest is told."""
    times = (NOW - 1, NOW + 1, NOW)
    settings: dict[str, Any] = {"producer_id": 1324, "producer_epoch": 10, "base_sequence": 984} if magic == 2 else {}
    data = records(magic, timestamps=times, **settings)
    result = validate(data, NONE, NONE, magic, 5, timestamp_before_max_ms=1000, partition_leader_epoch=16)
    check_stored(result, 5, magic, times)
    assert result.max_timestamp_ms == NOW + 1
    if magic == 2:
        (batch,) = record.read_batches(result.validated_records)
        assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (1324, 10, 984)
        assert batch.partition_leader_epoch == 16


@pytest.mark.parametrize("magic", [1, 2])
def test_recompression(magic: int) -> None:
    """From nothing to gzip, all fields kept."""
    times = (NOW, NOW + 1, NOW - 1)
    result = validate(records(magic, timestamps=times), NONE, GZIP, magic, timestamp_after_max_ms=1000)
    check_stored(result, 0, magic, times)
    (batch,) = record.read_batches(result.validated_records)
    assert batch.compression_type == GZIP
    assert batch.max_timestamp == result.max_timestamp_ms == NOW + 1
    assert result.record_validation_stats.num_records_converted == 3


@pytest.mark.parametrize("magic", [1, 2])
def test_compressed(magic: int) -> None:
    """In place with create times."""
    times = (NOW, NOW + 1, NOW - 1)
    data = records(magic, GZIP, times)
    result = validate(data, GZIP, GZIP, magic, 7, timestamp_after_max_ms=1000)
    check_stored(result, 7, magic, times)
    assert not result.message_size_maybe_changed
    assert len(result.validated_records) == len(data)


@pytest.mark.parametrize("magic", [1, 2])
def test_create_time_up_conversion_from_v0(magic: int) -> None:
    """Magic 0 has no times: -1."""
    result = validate(records(0, GZIP), GZIP, GZIP, magic, timestamp_before_max_ms=1000)
    check_stored(result, 0, magic, (-1, -1, -1))
    assert result.max_timestamp_ms == -1


def test_create_time_up_conversion_v1_to_v2() -> None:
    """Times are kept."""
    result = validate(records(1, GZIP), GZIP, GZIP, 2, timestamp_before_max_ms=1000)
    check_stored(result, 0, 2, (NOW, NOW, NOW))
    assert result.max_timestamp_ms == NOW


@pytest.mark.parametrize(
    ("magic", "codec"),
    [
        pytest.param(1, NONE, id="test_invalid_create_time_non_compressed_v1"),
        pytest.param(1, GZIP, id="test_invalid_create_time_compressed_v1"),
        pytest.param(2, NONE, id="test_invalid_create_time_non_compressed_v2"),
        pytest.param(2, GZIP, id="test_invalid_create_time_compressed_v2"),
    ],
)
def test_invalid_create_time(magic: int, codec: kc.CompressionType) -> None:
    """A second too late."""
    with pytest.raises(kc.InvalidTimestampError) as refused:
        validate(records(magic, codec, (NOW - 1001,) * 3), codec, codec, magic, timestamp_before_max_ms=1000)
    assert refused.value.error_code == 32


@pytest.mark.parametrize("drift", [-24 * 3_600_000, 24 * 3_600_000])
def test_record_with_past_or_future_timestamp_is_rejected(drift: int) -> None:
    """Both bounds (testRecordWithPastTimestampIsRejected, testRecordWithFutureTimestampIsRejected)."""
    limits = {"timestamp_before_max_ms": 3_600_000, "timestamp_after_max_ms": 3_600_000}
    with pytest.raises(kc.InvalidTimestampError) as refused:
        validate(records(2, GZIP, (NOW + drift,) * 3), GZIP, GZIP, 2, **limits)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1, 2]
    assert str(NOW + drift) in refused.value.record_errors[0].message


def test_invalid_timestamp_exception_has_batch_index() -> None:
    """The last two of three."""
    data = records(2, GZIP, (NOW, NOW - 5000, NOW - 5000))
    with pytest.raises(kc.InvalidTimestampError) as refused:
        validate(data, GZIP, GZIP, 2, timestamp_before_max_ms=1000)
    assert [error.batch_index for error in refused.value.record_errors] == [1, 2]


def test_invalid_record_exception_has_batch_index() -> None:
    """Records without keys."""
    with pytest.raises(kc.InvalidRecordError) as refused:
        validate(records(2, GZIP, keys=(None, None, None)), GZIP, GZIP, 2, compacted=True)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1, 2]


def test_batch_with_invalid_records_and_invalid_timestamp() -> None:
    """One timestamp decides about the code of all."""
    data = records(2, GZIP, (NOW, NOW, NOW - 5000), keys=(None, b"k", b"k"))
    with pytest.raises(kc.InvalidTimestampError) as refused:
        validate(data, GZIP, GZIP, 2, compacted=True, timestamp_before_max_ms=1000)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 2]


# ----------------------------------------------------------------------------------------- offsets and conversion


@pytest.mark.parametrize(
    ("magic", "codec"),
    [
        pytest.param(0, NONE, id="test_absolute_offset_assignment_non_compressed"),
        pytest.param(0, GZIP, id="test_absolute_offset_assignment_compressed"),
        pytest.param(1, NONE, id="test_relative_offset_assignment_non_compressed_v1"),
        pytest.param(2, NONE, id="test_relative_offset_assignment_non_compressed_v2"),
        pytest.param(1, GZIP, id="test_relative_offset_assignment_compressed_v1"),
        pytest.param(2, GZIP, id="test_relative_offset_assignment_compressed_v2"),
    ],
)
def test_offset_assignment(magic: int, codec: kc.CompressionType) -> None:
    """The first record gets the offset that is told."""
    check_stored(validate(records(magic, codec), codec, codec, magic, 1234567), 1234567, magic, (NOW, NOW, NOW))


@pytest.mark.parametrize("codec", [NONE, GZIP], ids=["non_compressed", "compressed"])
@pytest.mark.parametrize(
    ("magic", "to_magic"),
    [
        pytest.param(0, 1, id="test_offset_assignment_after_up_conversion_v0_to_v1"),
        pytest.param(0, 2, id="test_offset_assignment_after_up_conversion_v0_to_v2"),
        pytest.param(1, 2, id="test_offset_assignment_after_up_conversion_v1_to_v2"),
        pytest.param(1, 0, id="test_offset_assignment_after_down_conversion_v1_to_v0"),
        pytest.param(2, 1, id="test_offset_assignment_after_down_conversion_v2_to_v1"),
        pytest.param(2, 0, id="test_offset_assignment_after_down_conversion_v2_to_v0"),
    ],
)
def test_offset_assignment_after_conversion(magic: int, to_magic: int, codec: kc.CompressionType) -> None:
    """The same after another format."""
    result = validate(records(magic, codec), codec, codec, to_magic, 1234567)
    times = (NOW, NOW, NOW) if magic else (-1, -1, -1)
    check_stored(result, 1234567, to_magic, times)
    assert result.message_size_maybe_changed
    assert result.record_validation_stats.num_records_converted == 3


@pytest.mark.parametrize("magic", [0, 1])
def test_down_conversion_of_transactional_records_not_permitted(magic: int) -> None:
    """43, compressed; uncompressed ones fail in the builder."""
    data = records(2, GZIP, producer_id=1, producer_epoch=1, base_sequence=0, is_transactional=True)
    with pytest.raises(kc.UnsupportedForMessageFormatError) as refused:
        validate(data, GZIP, GZIP, magic)
    assert refused.value.error_code == 43


@pytest.mark.parametrize("magic", [0, 1])
def test_down_conversion_of_idempotent_records_not_permitted(magic: int) -> None:
    """43."""
    with pytest.raises(kc.UnsupportedForMessageFormatError):
        validate(records(2, producer_id=1, producer_epoch=1, base_sequence=0), NONE, NONE, magic)


def marker() -> bytes:
    """A commit marker."""
    builder = record.RecordBatchBuilder(
        2, NONE, producer_id=1, producer_epoch=1, is_transactional=True, is_control_batch=True
    )
    builder.append_end_txn_marker(is_commit=True, timestamp=NOW)
    return builder.build()


def test_control_records_not_allowed_from_clients() -> None:
    """Only a coordinator writes them."""
    with pytest.raises(kc.InvalidRecordError):
        validate(marker(), NONE, NONE, 2)


def test_control_records_not_compressed() -> None:
    """Whatever the topic's codec, they stay as they came."""
    data = marker()
    result = validate(data, NONE, SNAPPY, 2, 9, origin=broker.AppendOrigin.COORDINATOR)
    assert result.validated_records[61:] == data[61:]
    (batch,) = record.read_batches(result.validated_records)
    assert (batch.is_control_batch, batch.base_offset, batch.compression_type) == (True, 9, NONE)


def test_zstd_compressed_with_unavailable_ibp_version() -> None:
    """76 below 2.1."""
    with pytest.raises(kc.UnsupportedCompressionTypeError) as refused:
        validate(records(2), NONE, ZSTD, 2, inter_broker_protocol_version="2.0")
    assert refused.value.error_code == 76
    check_stored(validate(records(2), NONE, ZSTD, 2, inter_broker_protocol_version="2.1-IV0"), 0, 2, (NOW,) * 3)


def test_different_level_does_not_cause_recompression() -> None:
    """The level is the encoder's business."""
    data = records(2, GZIP, compression_level=1)
    result = validate(data, GZIP, GZIP, 2, compression_level=9)
    assert not result.message_size_maybe_changed
    assert result.validated_records[61:] == data[61:]


def test_different_codec_causes_recompression() -> None:
    """Another codec is."""
    for source in CODECS_OF[2]:
        for target in CODECS_OF[2]:
            result = validate(records(2, source), source, target, 2)
            assert result.message_size_maybe_changed == (source != target)
            (batch,) = record.read_batches(result.validated_records)
            assert batch.compression_type == target


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP, LZ4])
def test_max_decompressed_message_bytes(magic: int, codec: kc.CompressionType) -> None:
    """Of Kafka 4.4: it limits the records of compressed batches, and no others; tests/kafka holds it against 4.4.0."""
    data = records(magic, codec)
    config: dict[str, Any] = {"source_compression_type": codec, "target_compression_type": codec, "to_magic": magic}
    limited = broker.LogValidator(broker.ValidatorConfig(**config, max_decompressed_message_bytes=8))
    if codec is NONE:
        limited.validate_messages_and_assign_offsets(data, 0, NOW)
    else:
        with pytest.raises(kc.InvalidRecordError, match=r"a record of \d+ bytes .* is over the limit of 8"):
            limited.validate_messages_and_assign_offsets(data, 0, NOW)
    broker.LogValidator(broker.ValidatorConfig(**config)).validate_messages_and_assign_offsets(data, 0, NOW)
    for wrong in (0, 2**31 - 8):
        with pytest.raises(ValueError, match="max_decompressed_message_bytes"):
            broker.ValidatorConfig(**config, max_decompressed_message_bytes=wrong)
