"""``scan(binary_type=...)``: the same rows in every type; views refer to the bytes read, and keep few others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from golden.expect import FULL, SMALL
from grouped import grouped
from kafkacomp.record import RecordBatchBuilder, build_batches, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEGMENTS = sorted(SMALL.rglob("*.log"))
ALL_SEGMENTS = [*SEGMENTS, *(path for path in sorted(FULL.rglob("*.log")) if path.stat().st_size < 1 << 22)]
PLAIN = pa.schema(kc.scan(b""))
TYPES: dict[Any, pa.DataType] = {
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
BINARY = ["key", "value", "headers"]


def record_set(codec: str, batches: int, records: int, size: int = 100, magic: int = 2, base: int = 0) -> bytes:
    """Batches whose values tell their offset; keys are short enough to be part of a view, headers are not."""
    made = []
    for first in range(base, base + batches * records, records):
        builder = RecordBatchBuilder(compression_type=codec, base_offset=first, magic=magic)
        for offset in range(first, first + records):
            value = None if offset % 17 == 0 else f"{offset:012d}".encode() * (size // 12)
            headers = [("h", b"header value %012d" % offset), ("short", b"x")] if magic == 2 and offset % 5 == 0 else []
            builder.append(value, key=f"key{offset}".encode(), timestamp=offset, headers=headers)
        made.append(bytes(builder.build()))
    return b"".join(made)


def batches(source: Any, **options: Any) -> list[pa.RecordBatch]:
    """The Arrow batches of a scan, whose reader is gone."""
    found = list(kc.scan(source, **grouped(**options)))
    for batch in found:
        batch.validate(full=True)
    return found


def rows(found: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """The rows of Arrow batches; Python's dates end before Kafka's, so that times are numbers."""
    return [row for batch in found for row in _with_numbers(batch).to_pylist()]


def _with_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "timestamp" not in batch.schema.names:
        return batch
    place = batch.schema.names.index("timestamp")
    return batch.set_column(place, "timestamp", batch.column(place).cast(pa.int64()))


def views(batch: pa.RecordBatch) -> Iterator[pa.Array]:
    """The columns of views."""
    for name in set(BINARY) & set(batch.schema.names):
        column = batch.column(name)
        yield column.flatten().field("value") if name == "headers" else column


def kept(batch: pa.RecordBatch) -> dict[int, int]:
    """Sizes of the buffers that views refer to, by address."""
    buffers = [buffer for column in views(batch) for buffer in column.buffers()[2:]]
    return {buffer.address: buffer.size for buffer in buffers if buffer is not None and buffer.size}


def outcome(source: Any, options: dict[str, Any]) -> tuple[pa.Table, str | None]:
    """The rows of a scan, in plain columns, and its error."""
    found, error = [], None
    try:
        for batch in kc.scan(source, **grouped(**options)):
            batch.validate(full=True)
            found.append(batch)
    except (kc.KafkaCompError, ValueError) as caught:
        error = str(caught)
    return pa.Table.from_batches(found, None if found else PLAIN).cast(PLAIN), error


def limits(*, quick: bool) -> Iterator[Any]:
    """Threads, rows of an Arrow batch and modes: a few of them, or the others."""
    few = {(1, 3, "raise"), (2, 61, "skip"), (1, None, "raise")}
    for threads, batch_rows, on_error in itertools.product((1, 2), (1, 3, 61, None), ("raise", "skip")):
        if ((threads, batch_rows, on_error) in few) is quick:
            rows = {} if batch_rows is None else {"batch_rows": batch_rows}
            yield {"threads": threads, "on_error": on_error, **rows}


def assert_same_as_plain(source: Any, *, binary_type: str = "binary_view", **options: Any) -> None:
    """The columns of this type have the rows and the error of plain columns."""
    found = outcome(source, {"binary_type": binary_type, **options})
    assert found == outcome(source, options), (binary_type, options)


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda path: str(path.relative_to(SMALL)))
def test_rows_of_all_types_are_equal(segment: Path) -> None:
    """Every broker's segments, each way into memory."""
    assert_same_as_plain(segment, binary_type="large_binary")
    for options in limits(quick=True):
        assert_same_as_plain(segment, **options)


@pytest.mark.slow
@pytest.mark.parametrize("segment", ALL_SEGMENTS, ids=lambda path: "/".join(path.parts[-3:]))
def test_rows_of_all_types_are_equal_within_all_limits(segment: Path) -> None:
    """As above, with the other limits, and for the full sets of vectors."""
    for options in [*limits(quick=segment not in SEGMENTS), *limits(quick=False)]:
        assert_same_as_plain(segment, **options)


@pytest.mark.parametrize("compressed", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("magic", range(3))
@pytest.mark.parametrize("records", [1, 12])
def test_an_uncompressed_batch_may_complete_the_rows_of_compressed_ones(
    compressed: str, magic: int, records: int
) -> None:
    """While its records are appended, an Arrow batch is complete that has rows of compressed batches."""
    if compressed == "zstd" and magic < 2:
        compressed = "lz4"
    data = record_set(compressed, 2, records, magic=magic) + record_set("none", 1, 60, size=240, magic=magic)
    limited: list[dict[str, Any]] = [{"batch_rows": 4}, {"batch_rows": 25}, {"arrow_batch_bytes": 4000}]
    for options in limited:
        for threads in (1, 2):
            assert_same_as_plain(data, threads=threads, **options)


def test_one_record_and_a_batch_of_more_bytes_than_the_default_limit() -> None:
    """As above, with the default limits."""
    rows = pa.table({"value": [b"v%099d" % n for n in range(90_000)]})
    batch = build_batches(rows, compression_type="none", base_offset=1, batch_bytes=1 << 30)
    assert len(list(read_batches(batch))) == 1
    assert_same_as_plain(record_set("zstd", 1, 1) + batch, threads=1)


BATCHES = st.lists(
    st.tuples(
        st.sampled_from(CODECS),
        st.integers(0, 2),
        st.one_of(st.integers(1, 3), st.integers(1, 80)),
        st.sampled_from([12, 24, 120, 1200]),
    ),
    min_size=1,
    max_size=8,
)


def mixed(shapes: list[tuple[str, int, int, int]]) -> bytes:
    """Batches of these codecs, formats, numbers of records and sizes of values."""
    first, made = 0, []
    for codec, magic, records, size in shapes:
        made.append(record_set("lz4" if codec == "zstd" and magic < 2 else codec, 1, records, size, magic, first))
        first += records
    return b"".join(made)


def check_a_mix(
    shapes: list[tuple[str, int, int, int]], batch_rows: int, batch_bytes: int, threads: int, wrong: int | None
) -> None:
    """Views have the rows of plain columns, also of a log one byte of which is wrong."""
    data = bytearray(mixed(shapes))
    if wrong is not None:
        data[wrong % len(data)] ^= 0x10
    for on_error in ("raise", "skip"):
        assert_same_as_plain(
            bytes(data), batch_rows=batch_rows, arrow_batch_bytes=batch_bytes, threads=threads, on_error=on_error
        )


MIXES = given(
    BATCHES,
    st.one_of(st.integers(1, 70), st.integers(1, 70_000)),
    st.one_of(st.integers(1, 4000), st.integers(1, 1 << 24)),
    st.integers(1, 2),
    st.one_of(st.none(), st.integers(0, 1 << 30)),
)


@settings(max_examples=30, deadline=None)
@MIXES
def test_mixes_of_codecs_and_sizes(
    shapes: list[tuple[str, int, int, int]], batch_rows: int, batch_bytes: int, threads: int, wrong: int | None
) -> None:
    check_a_mix(shapes, batch_rows, batch_bytes, threads, wrong)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@MIXES
def test_many_mixes_of_codecs_and_sizes(
    shapes: list[tuple[str, int, int, int]], batch_rows: int, batch_bytes: int, threads: int, wrong: int | None
) -> None:
    check_a_mix(shapes, batch_rows, batch_bytes, threads, wrong)


@pytest.mark.parametrize(
    ("codec", "magic"), [(codec, magic) for codec in CODECS for magic in range(3) if codec != "zstd" or magic == 2]
)
@pytest.mark.parametrize("shape", [(400, 1), (40, 100), (3, 3000)], ids=str)
@pytest.mark.parametrize("limits", [{}, {"batch_rows": 1000}, {"arrow_batch_bytes": 50_000}], ids=["", "rows", "bytes"])
def test_rows_of_all_shapes(codec: str, magic: int, shape: tuple[int, int], limits: dict[str, Any]) -> None:
    """One record a batch, many, and more than an Arrow batch takes."""
    data = record_set(codec, *shape, magic=magic)
    for threads in (1, 2):
        wanted = rows(list(kc.scan(data, **grouped(threads=threads, **limits))))
        found = batches(data, threads=threads, binary_type="binary_view", **limits)
        assert rows(found) == wanted


def test_schema() -> None:
    """Keys, values and header values have the type, and no other column has."""
    for name, arrow_type in TYPES.items():
        schema = pa.schema(kc.scan(b"", options=kc.ScanOptions(binary_type=name)))
        assert schema.field("key").type == arrow_type
        assert schema.field("value").type == arrow_type
        assert schema.field("headers").type.value_type.field("value").type == arrow_type
        assert schema.field("headers").type.value_type.field("key").type == pa.string()
        assert schema.field("topic").type == pa.string()


def test_wrong_name() -> None:
    """The message lists the names."""
    with pytest.raises(ValueError, match="binary_type"):
        kc.scan(b"", options=kc.ScanOptions(binary_type="string"))  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [1, 2])
def test_uncompressed_values_are_not_copied(threads: int) -> None:
    """Their views refer to the bytes object itself, but for chunks of which an Arrow batch has less than a quarter."""
    data = record_set("none", 200, 100)
    buffer = pa.py_buffer(data)
    copied = 0
    for batch in batches(data, binary_type="binary_view", threads=threads):
        for address, size in kept(batch).items():
            if not buffer.address <= address <= address + size <= buffer.address + buffer.size:
                copied += size
    assert copied < len(data) // 10


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("start", [0, 19_990])
@pytest.mark.parametrize("columns", [["value"], ["key", "value"], ["headers", "offset"], ["key"]], ids=",".join)
def test_batches_keep_at_most_four_times_their_bytes(
    codec: str, threads: int, start: int, columns: list[str], tmp_path: Path
) -> None:
    """Also where a bound leaves few rows of a batch, or few columns are asked for."""
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(record_set(codec, 200, 100))
    for batch in batches(segment, columns=columns, binary_type="binary_view", threads=threads, start_time=start):
        own = 8 * batch.num_rows
        for column in views(batch):
            own += 16 * len(column) + sum(len(value) for value in column.to_pylist() if value)
        assert sum(kept(batch).values()) <= 4 * own


def test_short_values_keep_nothing() -> None:
    """Values of at most 12 bytes are part of their views."""
    (batch,) = batches(record_set("lz4", 10, 10), columns=["key"], binary_type="binary_view")
    assert not kept(batch)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("threads", [1, 2])
def test_kept_batches_are_not_overwritten(codec: str, threads: int) -> None:
    """Buffers return to the pool only when nothing refers to them."""
    first, second = record_set(codec, 100, 100), record_set(codec, 100, 100, size=240)
    held = list(kc.scan(first, options=kc.ScanOptions(binary_type="binary_view", threads=threads)))
    for _ in range(3):
        list(kc.scan(second, options=kc.ScanOptions(binary_type="binary_view", threads=threads)))
    assert rows(held) == rows(list(kc.scan(first, options=kc.ScanOptions(threads=threads))))


@pytest.mark.parametrize("codec", CODECS)
def test_corrupt_batches_are_skipped(codec: str) -> None:
    """A batch comes completely or not at all; the values of the others stay right."""
    data = bytearray(record_set(codec, 50, 100))
    data[len(data) // 2] ^= 0xFF
    options: dict[str, Any] = {"on_error": "skip", "verify_crc": True}
    wanted = rows(batches(bytes(data), **options))
    assert rows(batches(bytes(data), binary_type="binary_view", **options)) == wanted
    unchecked: dict[str, Any] = {"on_error": "skip", "verify_crc": False}
    wanted = rows(batches(bytes(data), **unchecked))
    assert rows(batches(bytes(data), binary_type="binary_view", **unchecked)) == wanted


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("binary_type", TYPES)
def test_engines(codec: str, binary_type: Any) -> None:
    """Polars, DuckDB and pandas take every type."""
    data = record_set(codec, 20, 100)
    wanted = [row["value"] for row in rows(batches(data))]
    frame = pl.DataFrame(kc.scan(data, options=kc.ScanOptions(binary_type=binary_type)))
    assert frame["value"].to_list() == wanted
    assert frame["headers"].to_list()[0][0]["value"] == b"header value %012d" % 0
    log = kc.scan(data, options=kc.ScanOptions(binary_type=binary_type))  # noqa: F841 - DuckDB finds it by name
    selected = duckdb.sql("select value from log")
    assert selected is not None
    assert [value for (value,) in selected.fetchall()] == wanted
    column = pd.DataFrame.from_arrow(kc.scan(data, columns=["value"], options=kc.ScanOptions(binary_type=binary_type)))[
        "value"
    ]
    assert [None if pd.isna(value) else value for value in column] == wanted
