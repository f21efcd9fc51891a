"""Records and readers as objects: comparing, pickling, showing, and all records of a batch at once."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAGICS = (0, 1, 2)


def batch_of(magic: int = 2, compression_type: str = "none", count: int = 3) -> bytes:
    """A batch with nulls, headers and timestamps as far as the format has them."""
    builder = record.RecordBatchBuilder(magic, compression_type, base_offset=5)
    for index in range(count):
        builder.append(
            None if index == 1 else b"value %d" % index,
            key=b"key" if index else None,
            timestamp=-1 if magic == 0 else 100 + index,
            headers=[("a", b"1"), ("a", None)] if magic == 2 and index == 2 else None,
        )
    return builder.build()


def records_of(data: bytes) -> list[record.Record]:
    return [each for batch in record.read_batches(data) for each in batch]


@pytest.mark.parametrize("magic", MAGICS)
def test_records_compare_by_their_fields(magic: int) -> None:
    first, second = records_of(batch_of(magic)), records_of(batch_of(magic))
    assert first == second
    assert [hash(each) for each in first] == [hash(each) for each in second]
    assert len({*first, *second}) == 3
    assert first[0] != first[1]
    assert first[0] != "text"
    # Another codec, the same records: but for magic 0 and 1, whose messages have checksums of their own.
    assert records_of(batch_of(magic, "gzip")) == first


@pytest.mark.parametrize("field", ["value", "key", "offset", "timestamp", "timestamp_type", "sequence", "headers"])
def test_every_field_counts(field: str) -> None:
    same: dict[str, Any] = {"value": b"v", "key": b"k", "offset": 1, "timestamp": 2, "timestamp_type": 0}
    same |= {"sequence": 3, "headers": {"h": b"1"}}
    other: dict[str, Any] = {"value": None, "key": b"", "offset": 9, "timestamp": 9, "timestamp_type": 1}
    other |= {"sequence": 9, "headers": {"h": None}}
    assert record.Record(**same) == record.Record(**same)
    assert record.Record(**same) != record.Record(**(same | {field: other[field]}))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("magic", MAGICS)
def test_records_pickle(magic: int, protocol: int) -> None:
    for each in records_of(batch_of(magic, "gzip")):
        again = pickle.loads(pickle.dumps(each, protocol))  # noqa: S301 - our own
        assert again == each
        assert (again.headers, again.is_valid, again.timestamp_type) == (
            each.headers,
            each.is_valid,
            each.timestamp_type,
        )


def test_a_pickled_record_does_not_bring_its_batch() -> None:
    large = record.RecordBatchBuilder(compression_type="none")
    large.append(b"x" * 100_000)
    large.append(b"small")
    assert len(pickle.dumps(records_of(large.build())[1])) < 500


@pytest.mark.parametrize("compression_type", ["none", "zstd"])
@pytest.mark.parametrize("magic", MAGICS)
def test_columns_of_a_batch(magic: int, compression_type: str) -> None:
    data = batch_of(magic, "gzip" if magic < 2 else compression_type, count=1000)
    for batch in record.read_batches(data):
        found, columns = list(batch), batch.columns()
        assert columns.offsets == [each.offset for each in found]
        assert columns.timestamps == [each.timestamp for each in found]
        assert columns.keys == [each.key for each in found]
        assert columns.values == [each.value for each in found]
        table = pa.table(
            kc.scan(
                bytes(batch),
                columns=["offset", "timestamp", "key", "value"],
                options=kc.ScanOptions(binary_type="binary_view"),
            )
        )
        assert table.column("value").to_pylist() == columns.values
        rows = batch.to_arrow()
        rows.validate(full=True)
        assert pa.Table.from_batches([rows]) == table
        assert rows == batch.to_arrow(), "the first one is kept while its batch is read again"


def test_columns_while_another_batch_is_read() -> None:
    """Garbage collection runs other code while the lists are created: it may read batches with the same reader."""
    batches = [next(iter(record.read_batches(batch_of(compression_type="zstd", count=count)))) for count in (500, 900)]
    expected = [(batch.columns(), list(batch)) for batch in batches]
    found = []

    def read(phase: str, _: object) -> None:
        if phase == "start":
            found.append(batches[1].columns())

    thresholds = gc.get_threshold()
    gc.callbacks.append(read)
    gc.set_threshold(1)
    try:
        columns = batches[0].columns()
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(read)
    assert found
    assert all(each == expected[1][0] for each in found)
    assert columns == expected[0][0]
    assert [each.value for each in batches[0]] == columns.values == [each.value for each in expected[0][1]]


def test_columns_of_a_corrupt_batch() -> None:
    """The same error as of an iteration."""
    data = bytearray(batch_of(compression_type="gzip"))
    data[80] ^= 0xFF
    (batch,) = record.read_batches(data, verify_crc=False)
    with pytest.raises(kc.KafkaCompError) as iterated:
        list(batch)
    for bulk in (batch.columns, batch.to_arrow):
        with pytest.raises(type(iterated.value)) as found:
            bulk()
        assert str(found.value) == str(iterated.value)


def test_arrow_of_a_batch_that_is_freed() -> None:
    """Its arrays own what they refer to, and one small array does not keep the buffers of others."""
    kept = []
    for seed in range(40):
        (batch,) = record.read_batches(batch_of(compression_type=("none", "lz4")[seed % 2], count=100 + seed))
        kept.append((batch.to_arrow(), batch.columns()))
        del batch
    for rows, columns in kept:
        assert rows.column("value").to_pylist() == columns.values
        assert rows.column("key").to_pylist() == columns.keys


def test_arrow_of_a_batch_above_the_limit() -> None:
    data = batch_of(compression_type="zstd", count=1000)
    (batch,) = record.read_batches(data, max_output_size=100)
    with pytest.raises(kc.OutputLimitError):
        batch.to_arrow()


def test_headers_may_be_a_mapping() -> None:
    builder = record.RecordBatchBuilder()
    builder.append(b"v", headers={"trace": b"1", "none": None})
    builder.append(b"v", headers={})
    builder.append(b"v", headers=[("a", b"1"), ("a", b"2")])
    first, second, third = records_of(builder.build())
    assert first.headers == (("trace", b"1"), ("none", None))
    assert second.headers == ()
    assert third.headers == (("a", b"1"), ("a", b"2"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda builder: builder.append(b"value", b"key"),
            r"only the value is positional: write append\(value, key=key\)",
        ),
        (lambda builder: builder.has_room_for(b"value", b"key"), "positional argument"),
        (lambda builder: builder.append_end_txn_marker(True, 1), "positional argument"),  # noqa: FBT003 - what is refused
        (lambda _: record.estimate_batch_size_upper_bound(b"value", b"key"), "positional argument"),  # type: ignore[call-arg]
    ],
)
def test_key_and_value_cannot_be_swapped_by_position(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(record.RecordBatchBuilder())


def test_reprs_show_what_is_there() -> None:
    builder = record.RecordBatchBuilder(compression_type="lz4", base_offset=7)
    builder.append(b"v")
    assert repr(builder) == "RecordBatchBuilder(magic=2, compression_type='lz4', base_offset=7, records_count=1)"
    reader = kc.scan(builder.build(), columns=["offset", "value"])
    assert repr(reader) == "ScanReader(columns=['offset', 'value'], records=0, closed=False)"
    assert sum(batch.num_rows for batch in reader) == 1
    assert repr(reader) == "ScanReader(columns=['offset', 'value'], records=1, closed=True)"


# ------------------------------------------------------------------------------------------------- times


@pytest.mark.parametrize(("unit", "clamped"), [("s", 0), ("ms", 0), ("us", 2), ("ns", 3), ("int64", 0)])
def test_times(unit: Any, clamped: int) -> None:
    """The greatest that a unit holds stands in place of a later time, and the report counts these."""
    times = [-1, 1_700_000_000_000, 2**63 // 10**6 + 1, 2**63 // 1000 + 1, 2**63 - 1]
    builder = record.RecordBatchBuilder()
    for time in times:
        builder.append(b"v", timestamp=time)
    reader = kc.scan(builder.build(), columns=["timestamp"], options=kc.ScanOptions(timestamp_unit=unit))
    found = pa.concat_arrays([batch.column("timestamp") for batch in reader])
    assert reader.report.clamped_timestamps == clamped
    if unit == "int64":
        assert found.type == pa.int64()
        assert found.to_pylist() == [None, *times[1:]]
    else:
        assert found.type == pa.timestamp(unit, "UTC")
        factor = {"s": 0.001, "ms": 1, "us": 1000, "ns": 10**6}[unit]
        assert found.cast(pa.int64()).to_pylist()[:2] == [None, int(times[1] * factor)]
        assert sum(each.as_py() == 2**63 - 1 for each in found.cast(pa.int64())) == (clamped or factor == 1)


def test_parsed_cells_with_numbers_for_times() -> None:
    cells = kc.arrow.parse_cells(pa.array([batch_of()]), columns=["timestamp"], timestamp_unit="int64")
    assert pa.array(cells).to_pylist() == [[{"timestamp": 100}, {"timestamp": 101}, {"timestamp": 102}]]


# ------------------------------------------------------------------------------------------------- errors


def test_an_error_names_the_column() -> None:
    rows = pa.table({"value": ["a", "b"], "offset": [4999, 0]})
    with pytest.raises(ValueError, match="row 1, column offset: offset 0 does not follow offset 4999"):
        record.build_batches(rows)
    rows = pa.table({"value": ["a"], "timestamp": [-7]})
    with pytest.raises(ValueError, match="row 0, column timestamp: invalid negative timestamp -7"):
        record.build_batches(rows)


def test_a_file_that_takes_no_bytes_is_eagain() -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, _data: object, /) -> int | None:
            return None

    file = kc.gzip.GzipFile(Full(), "w")
    with pytest.raises(BlockingIOError) as raised:
        file.flush() if file.write(b"x" * 10_000_000) else None
        file.flush()
    assert raised.value.errno == errno.EAGAIN


def test_a_start_above_the_end_is_refused() -> None:
    with pytest.raises(ValueError, match="start_offset 9 is above end_offset 5"):
        kc.scan(batch_of(), start_offset=9, end_offset=5)
    assert list(kc.scan(batch_of(), start_offset=5, end_offset=5)) == []


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("pyarrow", "arrow", lambda _: next(kc.scan(batch_of()))),
        ("pyarrow", "arrow", lambda path: kc.write(kc.scan(batch_of()), path)),
        ("fsspec", "remote", lambda _: kc.scan("memory://x", storage_options={"a": 1})),
        ("pyspark", "spark", lambda _: importlib.import_module("kafkacomp.spark")),
        (
            "pyarrow",
            "arrow",
            lambda path: kc.log.convert(batch_file(path), path / "b", 1, offset_map=path / "m.parquet"),
        ),
    ],
)
def test_a_missing_extra_is_named(
    package: str, extra: str, call: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package or name.startswith("kafkacomp.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delattr(kc, "spark", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"{package} is not installed: pip install 'kafkacomp\[{extra}\]'"):
        call(tmp_path)


def batch_file(folder: Path) -> Path:
    """A segment of Kafka 0.7."""
    path = folder / "t-0" / f"{0:020}.kafka"
    path.parent.mkdir()
    path.write_bytes(kc.message_set.write_messages([b"message"]))
    return path


@pytest.mark.parametrize("compression_type", ["none", "gzip"])
@pytest.mark.parametrize("magic", MAGICS)
def test_records_without_headers(magic: int, compression_type: str) -> None:
    """An empty field need not lie among the bytes of the batch."""
    builder = record.RecordBatchBuilder(magic, compression_type)
    builder.append(b"", key=b"")
    (found,) = records_of(builder.build())
    assert (found.key, found.value, found.headers) == (b"", b"", ())
