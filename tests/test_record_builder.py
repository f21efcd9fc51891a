"""The builder: settings, bad input, round trips, Arrow columns, conversion. See also test_memory_records_builder.py."""

from __future__ import annotations

import pickle
import threading
import zlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from kafkacomp import CompressionType, record
from kafkacomp.record import RecordBatchBuilder, TimestampType
from record_builder_cases import CODECS, LOG_OVERHEAD, only_batch, records

# ----------------------------------------------------------------------------------------------------- settings


def test_every_field_is_written() -> None:
    """The header has what the arguments say."""
    builder = RecordBatchBuilder(
        compression_type="lz4",
        compression_level=3,
        base_offset=2**40,
        producer_id=2**41,
        producer_epoch=32767,
        base_sequence=2**31 - 1,
        is_transactional=True,
        partition_leader_epoch=2**31 - 1,
    )
    headers = [("h", b"1"), ("h", None), ("é", b"")]
    builder.append(bytearray(b"value"), key=memoryview(b"key"), timestamp=5, headers=headers)
    builder.append(None, offset=2**40 + 10)
    builder.override_last_offset(2**40 + 20)
    batch = only_batch(builder.build())
    assert (batch.magic, batch.compression_type, batch.base_offset, batch.last_offset) == (2, 3, 2**40, 2**40 + 20)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (2**41, 32767, 2**31 - 1)
    assert (batch.is_transactional, batch.is_control_batch, batch.records_count) == (True, False, 2)
    assert (batch.partition_leader_epoch, batch.max_timestamp, batch.timestamp_type) == (2**31 - 1, 5, 0)
    first, second = batch
    assert (first.key, first.value, first.headers) == (b"key", b"value", tuple(headers))
    assert (second.key, second.value, second.headers, second.timestamp) == (None, None, (), -1)
    # The sequence after 2^31 - 1 is 0.
    assert [first.sequence, second.sequence] == [2**31 - 1, 9]


def test_defaults() -> None:
    """Zstd where the format has it; no timestamp, no producer."""
    assert RecordBatchBuilder().compression_type == CompressionType.ZSTD
    for magic in (0, 1):
        with pytest.raises(ValueError, match=f"magic {magic} has no zstd"):
            RecordBatchBuilder(magic)
    builder = RecordBatchBuilder()
    builder.append(b"v")
    batch = only_batch(builder.build())
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.partition_leader_epoch) == (-1,) * 4
    assert batch.max_timestamp == -1


@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_offsets_and_timestamps(magic: int) -> None:
    """The wrapper has the last offset and the largest time; inner offsets are absolute in 0, relative in 1."""
    builder = RecordBatchBuilder(magic, "gzip", base_offset=100)
    for offset, timestamp in ((103, 9), (104, 4)):
        builder.append(b"v", timestamp=timestamp, offset=offset)
    data = builder.build()
    assert int.from_bytes(data[:8], "big") == 104
    inner = kc.gzip.decompress(data[26 + 8 * magic :])
    size = LOG_OVERHEAD + (14, 22)[magic] + 1
    offsets = [int.from_bytes(inner[i : i + 8], "big") for i in (0, size)]
    assert offsets == ([103, 104] if magic == 0 else [3, 4])
    assert [r.offset for r in records(data)] == [103, 104]
    assert only_batch(data).max_timestamp == (-1 if magic == 0 else 9)


@pytest.mark.parametrize(
    ("codec", "levels"),
    [("gzip", [-1, 1, 9]), ("lz4", [1, 9, 17]), ("zstd", [-131072, 0, 22]), ("snappy", []), ("none", [])],
)
def test_levels(codec: str, levels: list[int]) -> None:
    """The levels of KIP-390, and none beside them."""
    for level in levels:
        builder = RecordBatchBuilder(2, codec, level)
        builder.append(b"value " * 100)
        assert records(builder.build())[0].value == b"value " * 100
    wrong = [levels[0] - 1, levels[-1] + 1] if levels else [1]
    for level in [*wrong, 2**40]:
        with pytest.raises(ValueError, match=r"level|levels"):
            RecordBatchBuilder(2, codec, level)


def test_estimates_upper_bound() -> None:
    """Kafka's bound holds for every batch of one record."""
    for magic, codec in CODECS:
        for key, value, headers in ((None, None, ()), (b"k" * 70, b"v" * 9000, [("h", b"x" * 200)] * (magic == 2))):
            builder = RecordBatchBuilder(magic, codec)
            builder.append(value, key=key, timestamp=2**50, headers=headers)
            bound = record.estimate_batch_size_upper_bound(
                value, key=key, headers=headers, magic=magic, compression_type=codec
            )
            if codec == CompressionType.NONE:
                assert len(builder.build()) <= bound
            # The wrapper's offset and size are counted, the inner message's are not.
            assert builder.uncompressed_bytes_written <= bound + LOG_OVERHEAD * (magic < 2 and codec > 0)


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("append", "error", "message"),
    [
        ({"value": "text"}, TypeError, "value must be bytes-like or None, not str"),
        ({"value": 5}, TypeError, "value must be bytes-like or None, not int"),
        ({"value": b"", "key": "k"}, TypeError, "key must be bytes-like or None, not str"),
        ({"value": b"", "headers": [(b"k", b"v")]}, TypeError, "a header key must be a str, not bytes"),
        ({"value": b"", "headers": [(None, b"v")]}, TypeError, "a header key must be a str, not NoneType"),
        ({"value": b"", "headers": [("k", "v")]}, TypeError, "a header value must be bytes-like or None, not str"),
        ({"value": b"", "headers": [("k",)]}, ValueError, "tuple"),
        ({"value": b"", "headers": 5}, TypeError, "headers must be a mapping, or pairs of key and value, not int"),
        ({"value": b"", "timestamp": -2}, ValueError, "invalid negative timestamp -2"),
        ({"value": b"", "timestamp": 2**63}, ValueError, "out of the range of 64 bits"),
        ({"value": b"", "timestamp": "now"}, TypeError, "int"),
        ({"value": b"", "offset": 2**63}, ValueError, "out of the range of 64 bits"),
        ({"value": b"", "headers": [("\udc80", b"")]}, UnicodeEncodeError, "surrogates"),
    ],
)
def test_append_refuses(append: dict[str, Any], error: type[Exception], message: str) -> None:
    """A clear error, and the builder goes on."""
    builder = RecordBatchBuilder()
    with pytest.raises(error, match=message):
        builder.append(**append)
    builder.append(b"good")
    assert [r.value for r in records(builder.build())] == [b"good"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"magic": 3}, "magic must be 0 to 2"),
        ({"magic": -1}, "magic must be 0 to 2"),
        ({"compression_type": "brotli"}, "invalid compression type .brotli.: expected one of none"),
        ({"compression_type": 5}, "invalid compression type id 5: expected one of"),
        ({"timestamp_type": TimestampType.NO_TIMESTAMP_TYPE}, "timestamp type is needed"),
        ({"timestamp_type": 7}, "7 is not a valid TimestampType"),
        ({"log_append_time": 5}, "requires timestamp_type=LOG_APPEND_TIME"),
        ({"log_append_time": -5, "timestamp_type": TimestampType.LOG_APPEND_TIME}, "invalid negative timestamp"),
        ({"producer_epoch": 2**15}, "producer_epoch must be"),
        ({"base_sequence": 2**31}, "base_sequence must be"),
        ({"base_offset": 2**63}, "base_offset must be"),
        ({"delete_horizon_ms": -1}, "delete_horizon_ms must be"),
        ({"write_limit": -1}, "write_limit must be"),
    ],
    ids=str,
)
def test_constructor_refuses(argument: dict[str, Any], message: str) -> None:
    """Every field has its range."""
    with pytest.raises(ValueError, match=message):
        RecordBatchBuilder(**argument)


@pytest.mark.parametrize("ratio", [-0.1, float("nan"), float("inf"), -float("inf"), 1e300])
def test_an_estimated_compression_ratio_is_finite_and_0_or_more(ratio: float) -> None:
    builder = RecordBatchBuilder(compression_type="gzip")
    builder.append(bytes(1000))
    estimated = builder.estimated_size_in_bytes
    with pytest.raises(ValueError, match="a compression ratio must be 0 or more, not "):
        builder.set_estimated_compression_ratio(ratio)
    assert builder.estimated_size_in_bytes == estimated


def test_headers_before_magic_2() -> None:
    """They came with magic 2."""
    builder = RecordBatchBuilder(1, "none")
    with pytest.raises(ValueError, match="magic 1 has no record headers"):
        builder.append(b"", headers=[("h", b"")])


@pytest.mark.slow
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_record_over_the_limit(magic: int) -> None:
    """A record above 2^31 - 1 bytes is Kafka's RecordTooLargeException, and costs no memory."""
    huge = bytes(2**31 - 10)
    builder = RecordBatchBuilder(magic, "none")
    builder.append(b"small")
    for value in (huge, huge + bytes(2**31)):
        with pytest.raises(kc.RecordTooLargeError, match="over the limit") as caught:
            builder.append(value)
        assert pickle.loads(pickle.dumps(caught.value)).error_code == 10  # noqa: S301 - our own
    assert [r.value for r in records(builder.build())] == [b"small"]


def test_threads_share_a_builder() -> None:
    """Appends from several threads all arrive, each whole."""
    builder = RecordBatchBuilder()

    def work(name: int) -> None:
        for index in range(500):
            builder.append(b"%d:%d" % (name, index), key=b"k" * name)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = records(builder.build())
    assert [r.offset for r in found] == list(range(2000))
    assert {(r.value, r.key) for r in found} == {(b"%d:%d" % (n, i), b"k" * n) for n in range(4) for i in range(500)}


def test_headers_iterator_may_use_the_builder() -> None:
    """The caller's own code runs with nothing locked."""
    builder = RecordBatchBuilder()

    def headers() -> Any:
        builder.append(b"inner")
        yield "h", b"v"

    builder.append(b"outer", headers=headers())
    assert [(r.value, r.headers) for r in records(builder.build())] == [(b"inner", ()), (b"outer", (("h", b"v"),))]


# --------------------------------------------------------------------------------------------------- round trips

KEYS = st.one_of(st.none(), st.binary(max_size=30))
VALUES = st.one_of(st.none(), st.binary(max_size=300), st.integers(0, 40_000).map(lambda n: b"value " * (n // 6)))
TIMES = st.one_of(st.just(-1), st.integers(0, 2**41), st.just(2**63 - 1))
HEADERS = st.lists(st.tuples(st.text(max_size=8), KEYS), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(0, 3), TIMES, KEYS, VALUES, HEADERS), min_size=1, max_size=12)


def rows_of(data: bytes) -> list[tuple[Any, ...]]:
    """What the records say."""
    return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records(data)]


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from(CODECS), st.integers(0, 2**40))
def test_build_read_convert_there_and_back(
    rows: list[tuple[Any, ...]], kind: tuple[int, CompressionType], base_offset: int
) -> None:
    """Build, read; lift to 2 and come down again: the same offsets, keys and values, and times from 1 on."""
    magic, codec = kind
    builder = RecordBatchBuilder(magic, codec, base_offset=base_offset)
    expected = []
    for gap, timestamp, key, value, headers in rows:
        offset = builder.next_offset + gap
        sent = headers if magic == 2 else ()
        builder.append(value, key=key, timestamp=timestamp, headers=sent, offset=offset)
        expected.append((offset, timestamp if magic else -1, key, value, sent))
    data = builder.build()
    assert rows_of(data) == expected
    assert record.convert(data, 2) == data
    lifted = record.convert(data, 2, upgrade=True)
    assert {b.magic for b in record.read_batches(lifted)} == {2}
    assert rows_of(lifted) == expected
    if codec == CompressionType.ZSTD:
        with pytest.raises(kc.UnsupportedCompressionTypeError):
            record.convert(lifted, 1)
        return
    for low in (1, 0):
        lowered = record.convert(lifted, low)
        assert {b.magic for b in record.read_batches(lowered)} == {low}
        assert {b.compression_type for b in record.read_batches(lowered)} == {codec}
        times = [(offset, timestamp if low else -1, key, value, ()) for offset, timestamp, key, value, _ in expected]
        assert rows_of(lowered) == times
        again = record.convert(lowered, 2, upgrade=True)
        assert rows_of(again) == times


# ------------------------------------------------------------------------------------------------ Arrow columns


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as columns of the types of a scan."""
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.table(
        {
            "offset": pa.array([r[0] for r in rows], pa.int64()),
            "timestamp": pa.array([r[1] for r in rows], pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "key": pa.array([r[2] for r in rows], pa.binary()),
            "value": pa.array([r[3] for r in rows], pa.large_binary()),
            "headers": pa.array([[{"key": k, "value": v} for k, v in r[4]] or None for r in rows], pa.list_(pair)),
            "topic": ["t"] * len(rows),
        }
    )


@settings(max_examples=100, deadline=None)
@given(ROWS, st.sampled_from(list(CompressionType)), st.integers(60, 2000))
def test_columns_become_batches(rows: list[tuple[Any, ...]], codec: CompressionType, batch_bytes: int) -> None:
    """The same records as appended one by one, in batches of the size asked for."""
    offset, expected = 5, []
    for gap, timestamp, key, value, headers in rows:
        offset += 1 + gap
        expected.append((offset, min(timestamp, 2**53), key, value, headers))
    data = record.build_batches(table(expected), compression_type=codec, batch_bytes=batch_bytes)
    assert rows_of(data) == expected
    for batch in record.read_batches(data):
        assert batch.size_in_bytes <= batch_bytes or batch.records_count == 1 or codec != CompressionType.NONE
    builder = RecordBatchBuilder(compression_type=codec, base_offset=expected[0][0])
    assert builder.append_arrow(table(expected)) == len(expected)
    whole = RecordBatchBuilder(compression_type=codec, base_offset=expected[0][0])
    for offset, timestamp, key, value, headers in expected:
        whole.append(value, key=key, timestamp=timestamp, headers=headers, offset=offset)
    assert builder.build() == whole.build()


def test_any_arrow_data() -> None:
    """A batch, a stream, a scan; views and strings; a map of headers; offsets that run on."""
    values = ["a", None, "c"]
    expected = [(3 + i, -1, None, None if v is None else v.encode(), ()) for i, v in enumerate(values)]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary_view()):
        column = pa.array(values, pa.string()).cast(pa.binary() if kind == pa.binary_view() else kind).cast(kind)
        batch = pa.record_batch({"value": column})
        for rows in (batch, pa.table(batch), pa.RecordBatchReader.from_batches(batch.schema, [batch])):
            assert rows_of(record.build_batches(rows, base_offset=3)) == expected
    headers = pa.array([[("h", b"1")], None, []], pa.map_(pa.string(), pa.binary()))
    data = record.build_batches(pa.table({"value": [b"1", b"2", b"3"], "headers": headers}))
    assert [r.headers for r in records(data)] == [(("h", b"1"),), (), ()]
    assert record.build_batches(kc.scan(data), compression_type="none") == record.build_batches(
        pa.table(kc.scan(data)), compression_type="none"
    )
    assert rows_of(record.build_batches(kc.scan(data))) == rows_of(data)
    assert record.build_batches(pa.table({"value": pa.array([], pa.binary())})) == b""
    fixed = pa.table({"value": pa.array([b"ab", None], pa.binary(2)), "key": pa.nulls(2)})
    assert [(r.key, r.value) for r in records(record.build_batches(fixed))] == [(None, b"ab"), (None, None)]


def test_append_arrow_stops_when_full() -> None:
    """It says how many rows it took."""
    builder = RecordBatchBuilder(compression_type="none", write_limit=1000)
    rows = pa.table({"value": [b"x" * 100] * 50})
    taken = builder.append_arrow(rows)
    assert 0 < taken < 50
    assert builder.records_count == taken
    assert len(builder.build()) <= 1000
    other = RecordBatchBuilder(compression_type="none", base_offset=taken)
    assert other.append_arrow(rows.slice(taken)) == 50 - taken


def test_sequences_run_on() -> None:
    """An idempotent producer's batches follow one another."""
    rows = pa.table({"value": [b"x" * 100] * 50})
    data = record.build_batches(rows, batch_bytes=700, producer_id=7, producer_epoch=2, base_sequence=2**31 - 10)
    batches = list(record.read_batches(data))
    assert len(batches) > 5
    assert [r.sequence for b in batches for r in b] == [*range(2**31 - 10, 2**31), *range(40)]
    assert {(b.producer_id, b.producer_epoch) for b in batches} == {(7, 2)}


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"key": [b""]}, ValueError, "no column value"),
        ({"value": [5]}, TypeError, "column value cannot be of type Int64"),
        ({"value": [b""], "headers": [[{"key": b"h", "value": b""}]]}, TypeError, "column headers"),
        ({"value": [b""], "timestamp": ["now"]}, TypeError, "column timestamp"),
        ({"value": [b""], "offset": [1.5]}, TypeError, "column offset"),
        (
            {"value": [b"", b""], "headers": [None, [{"key": None, "value": b""}]]},
            ValueError,
            "row 1, column headers: a header key",
        ),
        ({"value": [b"", b""], "offset": [5, 5]}, ValueError, "column offset: offset 5 does not follow offset 5"),
        ({"value": [b"", b""], "timestamp": [1, -7]}, ValueError, "column timestamp: invalid negative timestamp -7"),
    ],
)
def test_columns_that_cannot_be_records(columns: dict[str, list[Any]], error: type[Exception], message: str) -> None:
    """The column or the row is named."""
    types = {"headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))}
    if isinstance((columns.get("headers") or [None])[0], list):
        types = {}
    arrow = pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()})
    with pytest.raises(error, match=message):
        record.build_batches(arrow)
    with pytest.raises(error, match=message):
        RecordBatchBuilder().append_arrow(arrow)


def test_not_arrow() -> None:
    """Anything else is a TypeError or ValueError of the import."""
    with pytest.raises((TypeError, ValueError)):
        record.build_batches([b"x"])  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- convert: bad input


def test_convert_keeps_to_the_cap() -> None:
    """What a batch claims to hold is decompressed up to the cap and no further."""
    builder = RecordBatchBuilder(compression_type="gzip")
    builder.append(bytes(1 << 20))
    data = builder.build()
    with pytest.raises(kc.OutputLimitError) as caught:
        record.convert(data, 1, max_output_size=1 << 16)
    assert caught.value.limit == 1 << 16
    assert len(records(record.convert(data, 1))) == 1


def test_convert_refuses_wrong_arguments() -> None:
    """Each argument has its range."""
    for argument in ({"to_magic": 3}, {"batch_bytes": 0}, {"first_offset": 2**63}, {"max_output_size": 0}):
        with pytest.raises(ValueError, match=next(iter(argument))):
            record.convert(b"", **{"to_magic": 1, **argument})  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        record.convert("text", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("damaged", ["message", "inner message"])
def test_convert_does_not_hide_damage(damaged: str) -> None:
    """A wrong checksum is not given a right one."""
    builder = RecordBatchBuilder(1, "none")
    for value in (b"first", b"other"):
        builder.append(value)
    data = builder.build().replace(b"other", b"0ther")
    if damaged == "inner message":
        inner = kc.compress(data, "gzip")
        message = bytes([1, 1]) + bytes(8) + (2**32 - 1).to_bytes(4, "big") + len(inner).to_bytes(4, "big") + inner
        data = (1).to_bytes(8, "big") + (len(message) + 4).to_bytes(4, "big")
        data += zlib.crc32(message).to_bytes(4, "big") + message
        assert only_batch(data).is_valid
    with pytest.raises(kc.CorruptRecordError):
        record.convert(data, 2, upgrade=True)
    assert record.convert(data, 1) == data


def test_convert_offsets_that_go_back() -> None:
    """Plain messages as old producers send them begin another batch; a wrapper cannot be one batch."""
    one = RecordBatchBuilder(0, "none", base_offset=0)
    one.append(b"x")
    lifted = record.convert(one.build() * 3, 2, upgrade=True)
    assert [(b.base_offset, b.records_count) for b in record.read_batches(lifted)] == [(0, 1)] * 3
    inner = kc.compress(one.build() * 3, "snappy")
    message = bytes([0, 2]) + (2**32 - 1).to_bytes(4, "big") + len(inner).to_bytes(4, "big") + inner
    data = (2).to_bytes(8, "big") + (len(message) + 4).to_bytes(4, "big")
    data += zlib.crc32(message).to_bytes(4, "big") + message
    with pytest.raises(kc.UnknownServerError, match="offset 0 does not follow offset 0"):
        record.convert(data, 2, upgrade=True)


def test_runs_of_plain_messages() -> None:
    """Batches of at most batch_bytes; another append time ends a batch, a larger message has its own."""
    data = b""
    for offset in range(100):
        kind = TimestampType.LOG_APPEND_TIME if offset >= 50 else TimestampType.CREATE_TIME
        now = 1000 + offset // 60 if kind else -1
        builder = RecordBatchBuilder(1, "none", base_offset=offset, timestamp_type=kind, log_append_time=now)
        builder.append(b"v" * (5000 if offset == 20 else 50), timestamp=offset)
        data += builder.build()
    batches = list(record.read_batches(record.convert(data, 2, upgrade=True, batch_bytes=1000)))
    assert all(b.size_in_bytes <= 1000 or b.records_count == 1 for b in batches)
    assert [r.offset for b in batches for r in b] == list(range(100))
    times = [r.timestamp for b in batches for r in b]
    assert times == [*range(50), *[1000] * 10, *[1001] * 40]
