"""Arrow columns on their way into batches: which types are taken, and what is told of those that are not."""

from __future__ import annotations

import itertools
import random
import resource
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import broker, log, message_set, record
from kafkacomp.record import RecordBatchBuilder, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INT64_MAX = 2**63 - 1
WORDS = ["a", None, "word", "", "word", "a" * 500, None, "é"]
INDICES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
VALUES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]


def encoded(words: list[str | None]) -> list[bytes | None]:
    return [None if word is None else word.encode() for word in words]


def dictionary(words: list[str | None], index: pa.DataType, values: pa.DataType) -> pa.DictionaryArray:
    """The words behind a dictionary in which there is a null, too, and a word that nobody asks for."""
    known = [None, "unused", *dict.fromkeys(word for word in words if word is not None)]
    nulls = itertools.cycle([None, 0])  # a null of either kind
    places = [next(nulls) if word is None else known.index(word) for word in words]
    column = pa.array(known, pa.string())
    if values in {pa.binary(), pa.large_binary(), pa.binary_view()}:
        column = column.cast(pa.binary())
    return pa.DictionaryArray.from_arrays(pa.array(places, index), column.cast(values))


def read(rows: Any, **options: Any) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of what is made of the rows."""
    batches = record.read_batches(record.build_batches(rows, **options))
    return [(each.key, each.value) for batch in batches for each in batch]


# ------------------------------------------------------------------------------------------------- dictionaries


@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_dictionaries(index: pa.DataType, values: pa.DataType) -> None:
    column = dictionary(WORDS, index, values)
    rows = pa.table({"value": column, "key": column})
    plain = [(word, word) for word in encoded(WORDS)]
    assert read(rows) == plain
    assert read(rows.slice(2, 4)) == plain[2:6]
    builder = RecordBatchBuilder()
    assert builder.append_arrow(rows) == len(WORDS)
    assert [r.value for batch in record.read_batches(builder.build()) for r in batch] == encoded(WORDS)


def test_a_dictionary_for_each_chunk(tmp_path: Path) -> None:
    """Chunks that differ in dictionary, and a table that is cut into pieces on the way."""
    rng = random.Random(4)
    words = [[rng.choice(["x", "y", None, str(n)]) for _ in range(9000)] for n in range(4)]
    chunks = [dictionary(chunk, pa.int32(), pa.string()) for chunk in words]
    rows = pa.table({"value": pa.chunked_array(chunks), "key": pa.chunked_array(chunks)})
    expected = encoded([word for chunk in words for word in chunk])
    report = kc.write(rows, tmp_path, topic="t")
    written = pa.table(kc.scan(report.path, columns=["key", "value"]))
    assert written["value"].to_pylist() == written["key"].to_pylist() == expected


def test_dictionaries_of_data_frames() -> None:
    words: list[str | None] = [*WORDS, "later"]
    frame = pd.DataFrame({"value": pd.Categorical(words)})
    assert read(frame) == [(None, word) for word in encoded(words)]
    series = pl.Series("value", words, pl.Categorical)
    assert read(series.to_frame()) == [(None, word) for word in encoded(words)]
    kinds = pl.Enum(["a", "b"])
    assert read(pl.DataFrame({"value": pl.Series(["b", None, "a"], dtype=kinds)})) == [
        (None, b"b"),
        (None, None),
        (None, b"a"),
    ]


def test_dictionaries_in_headers() -> None:
    names = pa.array(["h", "i"]).dictionary_encode()
    values = dictionary(["v", None], pa.int8(), pa.binary())
    entries = pa.StructArray.from_arrays([names, values], ["key", "value"])
    headers = pa.ListArray.from_arrays(pa.array([0, 2, 2], pa.int32()), entries)
    data = record.build_batches(pa.table({"value": [b"1", b"2"], "headers": headers}))
    assert [r.headers for batch in record.read_batches(data) for r in batch] == [(("h", b"v"), ("i", None)), ()]


def test_a_dictionary_of_fixed_size_and_of_nothing() -> None:
    fixed = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([b"ab", b"cd"], pa.binary(2)))
    assert read(pa.table({"value": fixed})) == [(None, b"cd"), (None, None), (None, b"ab")]
    nothing = pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1))
    assert read(pa.table({"value": nothing})) == [(None, None)] * 2
    empty = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], pa.string()))
    assert record.build_batches(pa.table({"value": empty})) == b""


def test_a_dictionary_is_not_unpacked(tmp_path: Path) -> None:
    """3,000 rows of one value of a megabyte, in batches of their own: as much memory as a few of them."""
    large = pa.array([bytes(1 << 20)], pa.binary())
    rows = pa.table({"value": pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int8()), large)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = kc.write(rows, tmp_path, topic="t", compression_type="zstd", compression_level=1)
    assert (report.records, report.batches) == (3000, 3000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_an_index_beyond_the_dictionary_is_null() -> None:
    """Arrow does not allow it, and nobody checks what comes through its C interface."""
    for values in (*VALUES, pa.binary(1)):
        column = pa.array(["a"], pa.string()).cast(pa.binary())
        column = column.cast(pa.binary(1)) if values == pa.binary(1) else pa.array(["a"]).cast(values)
        for index in (1, 100, -1):
            wrong = pa.DictionaryArray.from_arrays(pa.array([index], pa.int8()), column, safe=False)
            assert read(pa.table({"value": wrong})) == [(None, None)]


# ------------------------------------------------------------------------------------- what is not taken, by name

PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("value", pa.array([1]).dictionary_encode()),
        ("key", pa.array([1.5]).dictionary_encode()),
        ("key", pa.RunEndEncodedArray.from_arrays([1], ["a"])),
        ("key", pa.array([["a"]])),
        ("timestamp", pa.array([1], pa.date32())),
        ("timestamp", pa.array([86_400_000], pa.date64())),
        ("timestamp", pa.array([1], pa.time64("us"))),
        ("timestamp", pa.array([1], pa.duration("ms"))),
        ("timestamp", pa.array([1], pa.int32())),
        ("timestamp", pa.array([1], pa.uint64())),
        ("headers", pa.array([[{"key": "k", "value": b""}]], pa.list_view(PAIR))),
        ("headers", pa.array([[{"key": "k", "value": b""}]], pa.list_(PAIR, 1))),
        ("headers", pa.array(["k=v"])),
        ("offset", pa.array([1], pa.int32())),
        ("offset", pa.array([1], pa.uint64())),
        ("offset", pa.array([1], pa.timestamp("ms"))),
        ("offset", pa.array([1]).dictionary_encode()),
    ],
    ids=lambda given: given if isinstance(given, str) else str(given.type),
)
def test_columns_of_other_types(tmp_path: Path, name: str, column: pa.Array) -> None:
    rows = pa.table({"value": pa.array([b""])} | {name: column})
    for take in (
        lambda: kc.write(rows, tmp_path / "new", topic="t"),
        lambda: record.build_batches(rows),
        lambda: RecordBatchBuilder().append_arrow(rows),
    ):
        with pytest.raises(TypeError, match=f"column {name} cannot be of type"):
            take()
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "new"])
    assert not any((tmp_path / "new").glob("*"))


@pytest.mark.parametrize("name", ["value", "key", "timestamp", "headers", "offset"])
def test_two_columns_of_one_name(tmp_path: Path, name: str) -> None:
    columns = {
        "value": pa.array([b"v"]),
        "key": pa.array([b"k"]),
        "timestamp": pa.array([1]),
        "headers": pa.nulls(1),
        "offset": pa.array([1]),
    }
    rows = pa.table([*columns.values(), columns[name]], names=[*columns, name])
    for take in (
        lambda: kc.write(rows, tmp_path, topic="t"),
        lambda: record.build_batches(rows),
        lambda: RecordBatchBuilder().append_arrow(rows),
    ):
        with pytest.raises(ValueError, match=f"more than one column {name}$"):
            take()
    assert list(tmp_path.iterdir()) == []
    # Names that are not ours may come as often as they like.
    other = pa.table([pa.array([b"v"]), pa.array([1]), pa.array([2])], names=["value", "x", "x"])
    assert read(other) == [(None, b"v")]


# ------------------------------------------------------------------------------------------------- other arguments

ROWS = pa.table({"value": [b"a"]})
LEVELS: dict[str, Callable[[Any, Path], object]] = {
    "kc.compress": lambda level, _: kc.compress(b"a", "zstd", compression_level=level),
    "kc.open": lambda level, path: kc.open(path, "gzip", "w", compression_level=level),
    "kc.write": lambda level, path: kc.write(ROWS, path, topic="t", compression_type="lz4", compression_level=level),
    "build_batches": lambda level, _: record.build_batches(ROWS, compression_type="gzip", compression_level=level),
    "RecordBatchBuilder": lambda level, _: RecordBatchBuilder(2, "lz4", level),
    "recompress": lambda level, path: log.recompress(_a_log(path), path.parent / "new", compression_level=level),
    "write_messages": lambda level, _: message_set.write_messages([b"a"], "gzip", compression_level=level),
    "ValidatorConfig": lambda level, _: broker.ValidatorConfig(
        source_compression_type="zstd", target_compression_type="zstd", compression_level=level
    ),
} | {
    f"{module.__name__}.{name}": call
    for module in (kc.gzip, kc.lz4, kc.zstd)
    for name, call in {
        "compress": lambda level, _, m=module: m.compress(b"a", level),
        "open": lambda level, path, m=module: m.open(path, "w", level=level),
        "Compressor": lambda level, _, m=module: _class(m, "Compressor")(level),
        "File": lambda level, path, m=module: _class(m, "File")(path, "w", level=level),
    }.items()
}


def _class(module: Any, kind: str) -> Any:
    return getattr(module, {"gzip": "Gzip", "lz4": "LZ4", "zstd": "Zstd"}[module.__name__.rpartition(".")[2]] + kind)


def _a_log(folder: Path) -> str:
    if not folder.exists():
        kc.write(ROWS, folder, topic="source")
    return str(folder / "source-0")


@pytest.mark.parametrize("entry", LEVELS)
def test_a_bool_is_no_level(tmp_path: Path, entry: str) -> None:
    for wrong in (True, False, 1.0, "1"):
        with pytest.raises(TypeError):
            LEVELS[entry](wrong, tmp_path / type(wrong).__name__)
    LEVELS[entry](1, tmp_path / "right")


def test_a_compression_type_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="compression_type must be a CompressionType or its name, not None"):
        kc.write(ROWS, tmp_path, topic="t", compression_type=None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------- the last offsets


def test_offsets_from_0_on() -> None:
    for make in (lambda: RecordBatchBuilder(base_offset=-1), lambda: record.build_batches(ROWS, base_offset=-1)):
        with pytest.raises(ValueError, match="base_offset must be 0 to 9223372036854775807, not -1"):
            make()
    with pytest.raises(ValueError, match="row 0, column offset: offset -1"):
        record.build_batches(pa.table({"value": [b"a"], "offset": [-1]}))


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_no_offset_after_the_last(magic: int, codec: str) -> None:
    """2^63 - 1 can be an offset, as in Kafka's builder; the one after it cannot."""
    builder = RecordBatchBuilder(magic, codec, base_offset=INT64_MAX - 1, timestamp_type=TimestampType.CREATE_TIME)
    builder.append(b"a")
    builder.append(b"b")
    for _ in range(2):
        with pytest.raises(ValueError, match="no offset follows 9223372036854775807"):
            builder.append(b"c")
    data = builder.build()
    assert [r.offset for batch in record.read_batches(data) for r in batch] == [INT64_MAX - 1, INT64_MAX]
    assert pa.table(kc.scan(data))["offset"].to_pylist() == [INT64_MAX - 1, INT64_MAX]


@pytest.mark.parametrize("batch_bytes", [1, 100_000])
def test_rows_that_pass_the_last_offset(tmp_path: Path, batch_bytes: int) -> None:
    """Rows that would go on at -2^63 are an error that names the row, in one batch and in several."""
    three = pa.table({"value": [b"a", b"b", b"c"]})
    with pytest.raises(ValueError, match="row 2, column offset: no offset follows 9223372036854775807"):
        record.build_batches(three, base_offset=INT64_MAX - 1, batch_bytes=batch_bytes)
    data = record.build_batches(three, base_offset=INT64_MAX - 2, batch_bytes=batch_bytes)
    assert [r.offset for batch in record.read_batches(data) for r in batch] == [INT64_MAX - n for n in (2, 1, 0)]
    # A log's end offset is one more than its last, so a log holds one less than a batch can.
    for rows, options in (
        (three, {"base_offset": INT64_MAX - 2}),
        (three, {"base_offset": INT64_MAX}),
        (three.append_column("offset", pa.array([1, 2, INT64_MAX])), {}),
    ):
        with pytest.raises((ValueError, kc.OffsetsOutOfOrderError), match="no offset follows"):
            kc.write(rows, tmp_path, topic="t", batch_bytes=batch_bytes, **options)  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
    report = kc.write(three, tmp_path, topic="t", base_offset=INT64_MAX - 3, batch_bytes=batch_bytes)
    assert (report.log_start_offset, report.log_end_offset) == (INT64_MAX - 3, INT64_MAX)
    assert pa.table(kc.scan(report.path))["offset"].to_pylist() == [INT64_MAX - n for n in (3, 2, 1)]
