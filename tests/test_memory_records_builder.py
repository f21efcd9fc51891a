"""Kafka's MemoryRecordsBuilderTest as a checklist: each of its cases has one here by its name, as Python spells it.

docs/design/memory-records-builder-tests.md is the table. Bad input, columns and round trips are in
test_record_builder.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkacomp import CompressionType, log, record
from kafkacomp.record import RecordBatchBuilder, TimestampType
from record_builder_cases import LOG_OVERHEAD, each, only_batch, records

if TYPE_CHECKING:
    from collections.abc import Callable

V2 = pytest.mark.parametrize("codec", list(CompressionType), ids=str)
OLD = pytest.mark.parametrize("magic", [0, 1])
LEADER_CHANGE = 2
PRODUCER: dict[str, Any] = {"producer_id": 9809, "producer_epoch": 15, "base_sequence": 2342}


def refuses_to_build(magic: int, codec: CompressionType, producer: dict[str, Any], message: str) -> None:
    """What a producer may still set is looked at when the batch is built; a format without producers says so then."""
    builder = RecordBatchBuilder(magic, codec, **producer)
    builder.append(b"x")
    with pytest.raises(ValueError, match=message):
        builder.build()


@OLD
def test_unsupported_compress(magic: int) -> None:
    """Zstd came with magic 2."""
    with pytest.raises(ValueError, match=f"magic {magic} has no zstd"):
        RecordBatchBuilder(magic, "zstd")


@each
def test_write_empty_record_set(magic: int, codec: CompressionType) -> None:
    """No records, no bytes, no buffer behind."""
    builder = RecordBatchBuilder(magic, codec)
    assert builder.build() == b""
    assert builder.estimated_size_in_bytes == 0
    assert builder.compression_ratio == 1.0


@each
def test_write_transactional_record_set(magic: int, codec: CompressionType) -> None:
    """A batch of a transaction; magic 2 only."""
    options: dict[str, Any] = {"compression_type": codec, "is_transactional": True, **PRODUCER}
    if magic < 2:
        with pytest.raises(ValueError, match=f"magic {magic} has no transactions"):
            RecordBatchBuilder(magic, **options)
        return
    builder = RecordBatchBuilder(magic, **options)
    builder.append(b"bar", key=b"foo", timestamp=7)
    batch = only_batch(builder.build())
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9809, 15, 2342)
    assert [r.sequence for r in batch] == [2342]


@V2
def test_write_transactional_with_invalid_pid(codec: CompressionType) -> None:
    refuses_to_build(2, codec, PRODUCER | {"producer_id": -1, "is_transactional": True}, "needs a producer id")


@each
def test_write_idempotent_with_invalid_epoch(magic: int, codec: CompressionType) -> None:
    refuses_to_build(magic, codec, PRODUCER | {"producer_epoch": -1}, "needs a producer epoch")
    if magic < 2:
        refuses_to_build(magic, codec, PRODUCER, f"magic {magic} has no producer ids")


@each
def test_write_idempotent_with_invalid_base_sequence(magic: int, codec: CompressionType) -> None:
    refuses_to_build(magic, codec, PRODUCER | {"base_sequence": -1}, "base sequence of 0 or more")


@V2
def test_write_end_txn_marker_non_transactional_batch(codec: CompressionType) -> None:
    builder = RecordBatchBuilder(compression_type=codec, is_control_batch=True, producer_id=5, producer_epoch=1)
    with pytest.raises(ValueError, match="transactional batch"):
        builder.append_end_txn_marker(is_commit=True)
    builder = RecordBatchBuilder(compression_type=codec, is_control_batch=True)
    with pytest.raises(ValueError, match="producer id"):
        builder.append_end_txn_marker(is_commit=True)


@V2
def test_write_end_txn_marker_non_control_batch(codec: CompressionType) -> None:
    """And the marker where it belongs."""
    options: dict[str, Any] = {"is_transactional": True, "producer_id": 5, "producer_epoch": 1}
    with pytest.raises(ValueError, match="control batches only"):
        RecordBatchBuilder(compression_type=codec, **options).append_end_txn_marker(is_commit=True)
    for is_commit, name in ((True, "COMMIT"), (False, "ABORT")):
        builder = RecordBatchBuilder(compression_type=codec, is_control_batch=True, base_offset=77, **options)
        builder.append_end_txn_marker(is_commit, coordinator_epoch=12, timestamp=33)
        batch = only_batch(builder.build())
        assert (batch.is_control_batch, batch.is_transactional, batch.base_sequence) == (True, True, -1)
        (marker,) = batch
        parsed = log.parse_control_record(marker.key, marker.value)
        assert (parsed.type, parsed.fields["coordinatorEpoch"]) == (name, 12)
        assert (marker.offset, marker.timestamp) == (77, 33)


LEADER = bytes([0, 0, 0, 0, 0, 1, 1, 1, 0])  # version 0, leader 1, no voters


@V2
def test_write_leader_change_control_batch_without_leader_epoch(codec: CompressionType) -> None:
    builder = RecordBatchBuilder(compression_type=codec, is_control_batch=True)
    with pytest.raises(ValueError, match="leader epoch"):
        builder.append_control_record(LEADER_CHANGE, LEADER)


@V2
def test_write_leader_change_control_batch(codec: CompressionType) -> None:
    builder = RecordBatchBuilder(compression_type=codec, is_control_batch=True, partition_leader_epoch=3)
    builder.append_control_record(LEADER_CHANGE, LEADER, timestamp=1)
    batch = only_batch(builder.build())
    assert (batch.is_control_batch, batch.partition_leader_epoch) == (True, 3)
    assert log.parse_control_record(*((r := next(iter(batch))).key, r.value)).fields["leaderId"] == 1
    with pytest.raises(ValueError, match="unknown control record type 99"):
        RecordBatchBuilder(is_control_batch=True).append_control_record(99, LEADER)


@OLD
@pytest.mark.parametrize(
    ("argument", "what"),
    [({"is_control_batch": True}, "control batches"), ({"delete_horizon_ms": 5}, "delete horizon")],
    ids=["control", "horizon"],
)
def test_not_allowed_before_magic_2(magic: int, argument: dict[str, Any], what: str) -> None:
    """What the provider of Kafka's arguments leaves out: control batches and the delete horizon."""
    with pytest.raises(ValueError, match=f"magic {magic} has no {what}"):
        RecordBatchBuilder(magic, "none", **argument)


@pytest.mark.parametrize(("magic", "overhead"), [(0, 14), (1, 22)])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_legacy_compression_rate(magic: int, overhead: int, codec: str) -> None:
    """Compressed bytes behind the wrapper's header to the messages inside."""
    builder = RecordBatchBuilder(magic, codec)
    uncompressed = 0
    for key, value in ((b"hello", b"there"), (b"beautiful", b"world" * 100)):
        builder.append(value, key=key)
        uncompressed += LOG_OVERHEAD + overhead + len(key) + len(value)
    built = builder.build()
    if codec == "none":
        assert builder.compression_ratio == 1.0
    else:
        written = len(built) - LOG_OVERHEAD - overhead
        assert builder.compression_ratio == pytest.approx(written / uncompressed, rel=1e-5)


@each
def test_estimated_size_in_bytes(magic: int, codec: CompressionType) -> None:
    """It grows with each record; it is exact without a codec, and once the batch is built."""
    builder = RecordBatchBuilder(magic, codec)
    before = builder.estimated_size_in_bytes
    for index in range(10):
        builder.append(b"%d" % index)
        assert builder.estimated_size_in_bytes > before
        before = builder.estimated_size_in_bytes
    uncompressed = builder.uncompressed_bytes_written
    built = builder.build()
    assert builder.estimated_size_in_bytes == len(built)
    assert (codec == CompressionType.NONE) <= (before == len(built) == uncompressed)


@each
def test_build_using_log_append_time(magic: int, codec: CompressionType) -> None:
    """Every record has the one time, and the last offset has it (without a codec before magic 2, the first)."""
    builder = RecordBatchBuilder(magic, codec, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=5000)
    for timestamp in (0, 2, 1):
        builder.append(b"1", timestamp=timestamp)
    found = records(builder.build())
    assert builder.max_timestamp == 5000
    alone = magic < 2 and codec == CompressionType.NONE
    assert builder.shallow_offset_of_max_timestamp == (0 if alone else 2)
    kind = TimestampType.NO_TIMESTAMP_TYPE if magic == 0 else TimestampType.LOG_APPEND_TIME
    assert [(r.timestamp, r.timestamp_type) for r in found] == [(-1 if magic == 0 else 5000, kind)] * 3
    assert all(r.is_valid in {True, None} for r in found)


@each
def test_build_using_create_time(magic: int, codec: CompressionType) -> None:
    """Every record has its own time, and the largest is told with its offset."""
    builder = RecordBatchBuilder(magic, codec)
    for timestamp in (0, 2, 1):
        builder.append(b"1", timestamp=timestamp)
    data = builder.build()
    found = records(data)
    assert [r.timestamp for r in found] == ([-1] * 3 if magic == 0 else [0, 2, 1])
    kind = TimestampType.NO_TIMESTAMP_TYPE if magic == 0 else TimestampType.CREATE_TIME
    assert {r.timestamp_type for r in found} == {kind}
    if magic == 0:
        assert (builder.max_timestamp, builder.shallow_offset_of_max_timestamp) == (-1, -1)
    else:
        alone = magic < 2 and codec == CompressionType.NONE
        assert (builder.max_timestamp, builder.shallow_offset_of_max_timestamp) == (2, 1 if alone else 2)
    if codec != CompressionType.NONE or magic == 2:
        assert only_batch(data).max_timestamp == builder.max_timestamp


@each
def test_appended_checksum_consistency(magic: int, codec: CompressionType) -> None:
    """One record goes in, one that checks out comes back."""
    builder = RecordBatchBuilder(magic, codec)
    builder.append(b"value", key=b"key", timestamp=1)
    (found,) = records(builder.build())
    assert (found.key, found.value, found.is_valid) == (b"key", b"value", True if magic < 2 else None)


@each
def test_small_write_limit(magic: int, codec: CompressionType) -> None:
    """One record always has room; then the batch is full."""
    builder = RecordBatchBuilder(magic, codec, write_limit=0)
    full = [builder.is_full]
    assert builder.has_room_for(b"bar", key=b"foo", timestamp=0)
    builder.append(b"bar", key=b"foo", timestamp=0)
    full.append(builder.is_full)
    assert full == [False, True]
    assert not builder.has_room_for(b"bar", key=b"foo", timestamp=0)
    assert not builder.has_room_for_bytes(1)
    assert [(r.key, r.value) for r in records(builder.build())] == [(b"foo", b"bar")]


@each
def test_write_past_limit(magic: int, codec: CompressionType) -> None:
    """The limit is advice: what is appended nevertheless is there."""
    builder = RecordBatchBuilder(magic, codec, write_limit=64)
    builder.set_estimated_compression_ratio(0.5)
    for timestamp in range(3):
        builder.append(b"%d" % timestamp, key=b"a", timestamp=timestamp)
    assert not builder.has_room_for(b"3", key=b"c", timestamp=3)
    found = records(builder.build())
    assert [r.timestamp for r in found] == ([-1] * 3 if magic == 0 else [0, 1, 2])
    last = -1 if magic == 0 else 2
    assert (builder.max_timestamp, builder.shallow_offset_of_max_timestamp) == (last, last)


@each
def test_append_at_invalid_offset(magic: int, codec: CompressionType) -> None:
    """Offsets increase; after the refusal the builder is as it was."""
    builder = RecordBatchBuilder(magic, codec, base_offset=7)
    builder.append(b"x", offset=9)
    before = builder.estimated_size_in_bytes
    for offset in (9, 8, 7, -1):
        with pytest.raises(ValueError, match=r"offset -?\d+ does not follow offset 9"):
            builder.append(b"y", offset=offset)
    with pytest.raises(ValueError, match="more than 2147483647 after the base offset"):
        builder.append(b"y", offset=7 + 2**31)
    assert builder.estimated_size_in_bytes == before
    builder.append(b"y", offset=7 + 2**31 - 1)
    assert [r.offset for r in records(builder.build())] == [9, 6 + 2**31]
    with pytest.raises(ValueError, match="before the base offset"):
        RecordBatchBuilder(magic, codec, base_offset=7).append(b"", offset=6)


def test_convert_v2_to_v1_using_mixed_create_and_log_append_time() -> None:
    """Each batch keeps its timestamp type, and a transaction's marker goes."""
    data = b""
    for at, (kind, now) in enumerate([(0, -1), (1, 99), (0, -1)]):
        builder = RecordBatchBuilder(
            base_offset=at * 2, timestamp_type=TimestampType(kind), log_append_time=now, compression_type="gzip"
        )
        builder.append(b"a", key=b"k", timestamp=10 + at)
        builder.append(b"b", timestamp=10 + at)
        data += builder.build()
    marker = RecordBatchBuilder(
        compression_type="none", base_offset=6, is_control_batch=True, is_transactional=True, producer_id=1,
        producer_epoch=0,
    )  # fmt: skip
    marker.append_end_txn_marker(is_commit=True)
    batches = list(record.read_batches(record.convert(data + marker.build(), 1)))
    assert [(b.magic, b.compression_type, b.timestamp_type, b.max_timestamp) for b in batches] == [
        (1, 1, 0, 10),
        (1, 1, 1, 99),
        (1, 1, 0, 12),
    ]
    assert [(r.offset, r.timestamp) for b in batches for r in b] == [
        (0, 10), (1, 10), (2, 99), (3, 99), (4, 12), (5, 12),
    ]  # fmt: skip


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_convert_to_v1_with_mixed_v0_and_v2_data(codec: str) -> None:
    """What is older stays; of uncompressed magic 2, records before the first offset go."""
    old, new = RecordBatchBuilder(0, codec), RecordBatchBuilder(2, codec, base_offset=1)
    old.append(b"a", key=b"1", timestamp=1)
    for at, value in ((11, b"b"), (12, b"c"), (13, b"d")):
        new.append(value, key=b"%d" % at, timestamp=at, headers=[("h", b"v")])
    data = old.build() + new.build()
    for first_offset, kept in ((0, [0, 1, 2, 3]), (2, [0, 2, 3] if codec == "none" else [0, 1, 2, 3])):
        converted = record.convert(data, 1, first_offset=first_offset)
        batches = list(record.read_batches(converted))
        assert [b.magic for b in batches] == [0] + [1] * (len(kept) - 1 if codec == "none" else 1)
        found = records(converted)
        assert [r.offset for r in found] == kept
        assert [r.timestamp for r in found] == [-1, *(10 + offset for offset in kept[1:])]
        assert all(r.headers == () and r.is_valid for r in found)
    assert {b.magic for b in record.read_batches(record.convert(data, 0))} == {0}


def aborted(magic: int, codec: CompressionType) -> RecordBatchBuilder:
    """A builder that was given up."""
    builder = RecordBatchBuilder(magic, codec)
    builder.append(b"1", key=b"a")
    builder.abort()
    return builder


@each
def test_should_throw_illegal_state_exception_on_build_when_aborted(magic: int, codec: CompressionType) -> None:
    with pytest.raises(ValueError, match="the batch was aborted"):
        aborted(magic, codec).build()


@each
def test_should_reset_buffer_to_initial_position_on_abort(magic: int, codec: CompressionType) -> None:
    builder = aborted(magic, codec)
    empty = RecordBatchBuilder(magic, codec)
    assert builder.records_count == 0
    assert builder.uncompressed_bytes_written == empty.uncompressed_bytes_written
    assert builder.is_full


@each
def test_should_throw_illegal_state_exception_on_close_when_aborted(magic: int, codec: CompressionType) -> None:
    """Closing is building here: the second attempt fails as the first."""
    builder = aborted(magic, codec)
    for _ in range(2):
        with pytest.raises(ValueError, match="the batch was aborted"):
            builder.build()
    assert not builder.is_closed


@each
def test_should_throw_illegal_state_exception_on_append_when_aborted(magic: int, codec: CompressionType) -> None:
    with pytest.raises(ValueError, match="the batch was aborted"):
        aborted(magic, codec).append(b"y")


@V2
def test_should_throw_illegal_state_exception_on_append_when_closed(codec: CompressionType) -> None:
    """Nor can anything else be changed; a producer state can be written anew."""
    builder = RecordBatchBuilder(compression_type=codec, **PRODUCER)
    builder.append(b"x")
    built = builder.build()
    assert builder.is_closed
    assert builder.is_full
    assert builder.build() is built
    refusals: list[Callable[[], object]] = [
        lambda: builder.append(b"y"),
        lambda: builder.set_producer_state(2, 0, 0, is_transactional=False),
        lambda: builder.override_last_offset(9),
    ]
    for refused in refusals:
        with pytest.raises(ValueError, match="the batch is built"):
            refused()
    builder.reopen_and_rewrite_producer_state(2, 3, 4, is_transactional=True)
    batch = only_batch(builder.build())
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional) == (2, 3, 4, True)


@V2
def test_record_timestamps_with_delete_horizon(codec: CompressionType) -> None:
    """The horizon stands in the base timestamp's place, and the records keep their times."""
    builder = RecordBatchBuilder(compression_type=codec, delete_horizon_ms=100)
    for timestamp in (50, 7, 2**40):
        builder.append(None, key=b"k", timestamp=timestamp)
    batch = only_batch(builder.build())
    assert (batch.delete_horizon_ms, batch.base_timestamp) == (100, 100)
    assert [r.timestamp for r in batch] == [50, 7, 2**40]
