"""Columns of cells: what the one-shot functions give, row by row, whatever the Arrow layout."""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp.arrow import RECORD_COLUMNS, compress_cells, decompress_cells, parse_cells
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TYPES = [kind.name.lower() for kind in kc.CompressionType]
LAYOUTS = [pa.binary(), pa.large_binary(), pa.binary_view()]


def contents(rows: int = 300) -> list[bytes | None]:
    random.seed(5)
    made: list[bytes | None] = [None, b"", b"a" * 300_000, random.randbytes(70_000)]
    return made + [b"%d" % i * random.randrange(100) if random.random() < 0.9 else None for i in range(rows)]


def compressed(kind: str, cells: list[bytes | None], magic: int = 2) -> list[bytes | None]:
    return [None if cell is None else kc.compress(cell, kind, magic=magic) for cell in cells]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_each_codec_in_each_layout(kind: str, layout: pa.DataType) -> None:
    cells = contents()
    data = pa.array(compressed(kind, cells), type=layout)
    out = decompress_cells(data, kind)
    found = pa.array(out)
    assert len(out) == len(cells)
    assert found.type == (pa.large_binary() if layout == pa.large_binary() else pa.binary())
    assert found.to_pylist() == cells
    found.validate(full=True)
    # A slice begins in the middle of its buffers.
    assert pa.array(decompress_cells(data[3:40], kind)).to_pylist() == cells[3:40]
    again = pa.array(compress_cells(pa.array(cells, type=layout), kind))
    assert again.to_pylist() == data.to_pylist()


def test_other_layouts() -> None:
    """A dictionary, strings for compressing, bytes of one width, a column of nothing but nulls, chunks, polars."""
    packed = kc.compress(b"value", "lz4")
    dictionary = pa.array([packed, None, packed]).dictionary_encode()
    assert pa.array(decompress_cells(dictionary, "lz4")).to_pylist() == [b"value", None, b"value"]
    fixed = pa.array([packed], type=pa.binary(len(packed)))
    assert pa.array(decompress_cells(fixed, "lz4")).to_pylist() == [b"value"]
    assert pa.array(decompress_cells(pa.nulls(3), "lz4")).to_pylist() == [None] * 3
    assert pa.array(decompress_cells(pa.array([], pa.binary()), "lz4")).to_pylist() == []
    chunks = pa.chunked_array([[packed], [], [None, packed]], type=pa.binary())
    assert pa.array(decompress_cells(chunks, "lz4")).to_pylist() == [b"value", None, b"value"]
    for text in (pa.string(), pa.large_string(), pa.string_view()):
        assert pa.array(compress_cells(pa.array(["value", None], text), "lz4")).to_pylist() == [packed, None]
    series = pl.Series([packed, None])
    assert pl.Series(cast("Any", decompress_cells(series, "lz4"))).to_list() == [b"value", None]


@pytest.mark.parametrize("by_id", [False, True])
def test_types_magics_and_levels_by_row(by_id: bool) -> None:
    kinds: list[Any] = [*TYPES, None, "lz4", "lz4", "zstd"]
    magics = [2, 2, 2, 2, 2, 2, 0, 1, None]
    cells = [b"content of row %d" % row * 9 for row in range(len(kinds))]
    wanted = [
        None if kind is None or magic is None else kc.compress(cell, kind, magic=magic)
        for cell, kind, magic in zip(cells, kinds, magics, strict=True)
    ]
    if by_id:
        kinds = [None if kind is None else kc.CompressionType.for_name(kind).value for kind in kinds]
    for number in (pa.int8(), pa.int32(), pa.int64(), pa.uint64()):
        types = pa.array(kinds, number) if by_id else pa.array(kinds)
        found = pa.array(compress_cells(pa.array(cells), types, magic=pa.array(magics, number)))
        assert found.to_pylist() == wanted
        back = pa.array(decompress_cells(found, types, magic=pa.array(magics, number)))
        assert back.to_pylist() == [None if each is None else cell for each, cell in zip(wanted, cells, strict=True)]
    levels = [None, 1, 9, -1]
    found = pa.array(compress_cells(pa.array([b"x" * 500] * 4), "gzip", compression_level=pa.array(levels)))
    assert found.to_pylist() == [kc.compress(b"x" * 500, "gzip", compression_level=level) for level in levels]
    assert pa.array(compress_cells(pa.array([b"x"]), "zstd", compression_level=19)).to_pylist() == [
        kc.compress(b"x", "zstd", compression_level=19)
    ]


def test_broken_header_checksums_are_of_magic_0() -> None:
    old = pa.array([kc.compress(b"content", "lz4", magic=0)])
    assert pa.array(decompress_cells(old, "lz4", magic=0)).to_pylist() == [b"content"]
    with pytest.raises(kc.DecompressionError, match="row 0: lz4: header checksum mismatch"):
        decompress_cells(old, "lz4")


@pytest.mark.parametrize("kind", TYPES[1:])
def test_bad_cells(kind: str) -> None:
    good = kc.compress(b"good" * 1000, kind)
    cells = pa.array([good, b"\xff" * 30, good, good[: len(good) // 2], None, good])
    with pytest.raises(kc.DecompressionError, match=rf"^row 1: {kind}: .* at byte \d+$") as caught:
        decompress_cells(cells, kind)
    assert (caught.value.row, type(caught.value.position)) == (1, int)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (again.row, str(again)) == (1, str(caught.value))
    found = pa.array(decompress_cells(cells, kind, on_error="null"))
    assert found.to_pylist() == [b"good" * 1000, None, b"good" * 1000, None, None, b"good" * 1000]


@pytest.mark.parametrize("kind", TYPES)
def test_the_cap_is_a_cells_own(kind: str) -> None:
    cells = pa.array([kc.compress(b"x" * size, kind) for size in (1000, 1000, 1001, 1000)])
    with pytest.raises(kc.OutputLimitError, match=r"row 2: .*more than 1000 bytes of output") as caught:
        decompress_cells(cells, kind, max_output_size=1000)
    assert (caught.value.row, caught.value.limit) == (2, 1000)
    found = pa.array(decompress_cells(cells, kind, max_output_size=1000, on_error="null")).to_pylist()
    assert [None if each is None else len(each) for each in found] == [1000, 1000, None, 1000]


@pytest.mark.slow
def test_more_than_an_array_holds() -> None:
    """32-bit offsets end at 2 GiB; that is no cell's fault, so it is an error though bad cells become nulls."""
    bomb = kc.compress(bytes(1 << 28), "zstd")
    with pytest.raises(OverflowError, match=r"the cells up to row 7 give more than 2147483647 bytes.*fewer rows"):
        decompress_cells(pa.array([bomb] * 9), "zstd", on_error="null")


BAD_ARGUMENTS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: decompress_cells(pa.array(["text"]), "lz4"), TypeError, "data cannot be .*Utf8: it must hold binary"),
    (lambda: decompress_cells(pa.array([1]), "lz4"), TypeError, "data cannot be .*Int64"),
    (lambda: compress_cells(pa.array([1.5]), "lz4"), TypeError, "binary or strings"),
    (lambda: decompress_cells(pa.array([b""]), "lz5"), ValueError, "invalid compression type 'lz5'"),
    (lambda: decompress_cells(pa.array([b""]), 7), ValueError, "invalid compression type id 7"),  # type: ignore[arg-type]
    (lambda: decompress_cells(pa.array([b""]), "lz4", magic=3), ValueError, "magic must be 0, 1 or 2, not 3"),
    (lambda: decompress_cells(pa.array([b""]), "lz4", max_output_size=0), ValueError, "max_output_size must be 1"),
    (lambda: decompress_cells(pa.array([b""]), "lz4", on_error="skip"), ValueError, "on_error must be"),  # type: ignore[arg-type]
    (lambda: decompress_cells(pa.array([b""]), pa.array([1.0])), TypeError, "names are strings, ids integers"),
    (
        lambda: decompress_cells(pa.array([b""]), pa.array(["lz4"] * 2)),
        ValueError,
        "compression_type has 2 rows.*have 1",
    ),
    (lambda: decompress_cells(pa.array([b""]), "lz4", magic=pa.array(["2"])), TypeError, "magic cannot be"),
    (
        lambda: decompress_cells(pa.array([b"", b""]), pa.array(["none", "Lz4"])),
        ValueError,
        "row 1: invalid compression type 'Lz4'",
    ),
    (
        lambda: decompress_cells(pa.array([b"", b""]), pa.array([0, -1])),
        ValueError,
        "row 1: invalid compression type id -1",
    ),
    (lambda: decompress_cells(pa.array([b""]), "none", magic=pa.array([9])), ValueError, "row 0: magic must be .*9"),
    (
        lambda: compress_cells(pa.array([b""]), "lz4", compression_level=99),
        ValueError,
        "lz4 has compression levels 1 to 17, not 99",
    ),
    (
        lambda: compress_cells(pa.array([b""]), "lz4", compression_level=pa.array([99])),
        ValueError,
        "row 0: lz4 has .* not 99",
    ),
    (
        lambda: compress_cells(pa.array([b""]), "snappy", compression_level=1),
        ValueError,
        "snappy has no compression levels",
    ),
    (lambda: parse_cells(pa.array([b""]), columns=["topic"]), ValueError, "columns: unknown column 'topic': expected"),
    (lambda: parse_cells(pa.array([b""]), columns=[]), ValueError, "columns must have each name once"),
    (lambda: parse_cells(pa.array([b""]), columns="key"), TypeError, "not the string 'key'"),
    (lambda: parse_cells(pa.array([b""]), timestamp_unit="m"), ValueError, "timestamp_unit"),  # type: ignore[arg-type]
    (lambda: parse_cells(pa.array([""])), TypeError, "data cannot be"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD_ARGUMENTS)
def test_bad_arguments(call: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_unknown_types_in_a_column_are_bad_cells() -> None:
    cells, types = pa.array([b"a", b"b", b"c"]), pa.array(["none", "brotli", "none"])
    assert pa.array(decompress_cells(cells, types, on_error="null")).to_pylist() == [b"a", None, b"c"]
    assert pa.array(compress_cells(cells, types, on_error="null")).to_pylist() == [b"a", None, b"c"]
    assert pa.array(compress_cells(cells, "none", magic=pa.array([2, 5, 0]), on_error="null")).null_count == 1


# ------------------------------------------------------------------------------------------------ record sets
def record_set(magic: int, kind: str, base: int, records: int = 3) -> bytes:
    builder = RecordBatchBuilder(magic=magic, compression_type=kind, base_offset=base)
    for i in range(records):
        headers = [("h", b"%d" % i)] if magic == 2 and i % 2 else ()
        builder.append(b"value %d" % i, key=None if i == 1 else b"k%d" % i, timestamp=1000 + i, headers=headers)
    return bytes(builder.build())


def without_dictionaries(table: pa.Table) -> pa.Table:
    """Values in place of dictionaries: pyarrow 18 compares the dictionaries of other batches by their order."""
    types = [each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in table.schema]
    return table.cast(pa.schema([each.with_type(kind) for each, kind in zip(table.schema, types, strict=True)]))


def test_records_of_cells_are_those_of_a_scan(small_vectors: Path) -> None:
    """Every message format and codec; an empty cell has no records, a null is null."""
    columns = (*RECORD_COLUMNS, "magic", "compressionType", "baseOffset", "position", "producerId", "isControl")
    logs = [path.read_bytes() for path in sorted(small_vectors.glob("modern/*/*-0/*.log"))]
    logs += [path.read_bytes() for path in sorted(small_vectors.glob("broker-0.1*/*/*.log"))]
    sound = []
    for log in logs:
        try:
            sound.append((log, list(kc.scan(log, columns=columns))))
        except kc.KafkaCompError as error:
            with pytest.raises(type(error)):
                parse_cells(pa.array([log]))
    assert len(sound) > 10
    cells = [None, *(log for log, _ in sound), b"", None, bytes(100)]
    found = pa.array(parse_cells(pa.array(cells), columns=columns))
    found.validate(full=True)
    for row, (_, batches) in enumerate(sound, 1):
        # Not RecordBatch.from_struct_array: of a slice, pyarrow 18 takes the columns whole.
        cell = found[row].values
        records = pa.Table.from_arrays(cell.flatten(), schema=pa.schema(list(cell.type)))
        wanted = pa.Table.from_batches(batches, schema=records.schema)
        assert without_dictionaries(records).equals(without_dictionaries(wanted))
    assert found[len(sound) + 1 :].to_pylist() == [[], None, []]
    assert found[0].as_py() is None


def test_the_shape_of_records() -> None:
    cells = pa.array([record_set(2, "zstd", 5) + record_set(1, "gzip", 8) + record_set(0, "none", 11)])
    found = pa.array(parse_cells(cells, timestamp_unit="us"))
    header = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
    fields = {
        "key": pa.binary(),
        "value": pa.binary(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": header,
    }
    assert found.type == pa.list_(pa.field("element", pa.struct(list(fields.items()))))
    records = found.to_pylist()[0]
    assert [each["offset"] for each in records] == list(range(5, 14))
    assert [each["value"] for each in records] == [b"value 0", b"value 1", b"value 2"] * 3
    assert records[1]["headers"] == [{"key": "h", "value": b"1"}]
    assert [each["timestamp"] is None for each in records] == [False] * 6 + [True] * 3


def test_bad_record_sets() -> None:
    good = record_set(2, "lz4", 0)
    flipped = bytearray(good)
    flipped[-1] ^= 1
    # The first batch is sound, the second is not: nothing of the cell may stay.
    late = record_set(1, "none", 40, records=20) + bytes(flipped)
    cells = pa.array([good, late, good, None])
    with pytest.raises(kc.CorruptRecordError, match=r"^row 1: record batch at byte \d+ is corrupt") as caught:
        parse_cells(cells)
    assert (caught.value.row, caught.value.position) == (1, len(late) - len(good))
    found = pa.array(parse_cells(cells, on_error="null", columns=("offset", "magic", "timestampType", "headers")))
    found.validate(full=True)
    assert [each if each is None else len(each) for each in found.to_pylist()] == [3, None, 3, None]
    assert [each["magic"] for each in found.to_pylist()[2]] == [2, 2, 2]
    unchecked = bytearray(good)
    unchecked[17] ^= 1  # the checksum itself
    assert pa.array(parse_cells(pa.array([bytes(unchecked)]), verify_crc=False)).to_pylist()[0] is not None


def test_cut_cells() -> None:
    """Kafka cuts the answer to a fetch at any byte, but its first batch is whole."""
    first, second = record_set(2, "none", 0), record_set(2, "none", 3)
    cut = [first + second[:length] for length in range(len(second))]
    found = pa.array(parse_cells(pa.array(cut), columns=["offset"]))
    assert found.to_pylist() == [[{"offset": 0}, {"offset": 1}, {"offset": 2}]] * len(cut)
    for length in range(1, len(first)):
        with pytest.raises(kc.CorruptRecordError, match="row 0: incomplete batch at byte 0"):
            parse_cells(pa.array([first[:length]]))


@pytest.mark.parametrize(("magic", "kind"), [(2, "lz4"), (2, "none"), (1, "gzip"), (0, "snappy")])
@pytest.mark.parametrize("size", [0, 20, 1 << 20, 2**31 - 1, -1])
def test_a_wrong_size_before_intact_batches(magic: int, kind: str, size: int) -> None:
    """The end of a response cannot truncate a batch before others."""
    batches = [record_set(magic, kind, base) for base in (0, 3, 6)]
    wrong = batches[1][:8] + size.to_bytes(4, "big", signed=True) + batches[1][12:]
    cells = pa.array([b"".join(batches), batches[0] + wrong + batches[2], batches[0] + wrong])
    with pytest.raises((kc.CorruptRecordError, kc.InvalidRecordError), match=r"^row 1: ") as caught:
        parse_cells(cells)
    assert (caught.value.row, caught.value.position) == (1, len(batches[0]))
    found = pa.array(parse_cells(cells, columns=["offset"], on_error="null")).to_pylist()
    assert [each and [row["offset"] for row in each] for each in found][:2] == [list(range(9)), None]
    # With a size that may be right, the end of the cell truncates the last batch.
    assert found[2] == ([{"offset": at} for at in range(3)] if size > 1000 else None)


def test_the_cap_of_record_sets() -> None:
    """All batches of a cell share it."""
    builder = RecordBatchBuilder(compression_type="zstd")
    builder.append(bytes(900))
    batch = bytes(builder.build())
    cells = pa.array([batch, batch + batch])
    assert pa.array(parse_cells(cells, max_output_size=1000, on_error="null")).null_count == 1
    with pytest.raises(kc.OutputLimitError, match=r"row 1: .*more than 1000 bytes") as caught:
        parse_cells(cells, max_output_size=1000)
    assert caught.value.limit == 1000
    assert pa.array(parse_cells(cells, max_output_size=2000)).null_count == 0


def test_control_records(small_vectors: Path) -> None:
    (log,) = small_vectors.glob("modern/compact-txn/compact-txn-0/00000000000000000000.log")
    cells = pa.array([log.read_bytes()])
    columns = ["offset", "isControl"]
    without = pa.array(parse_cells(cells, columns=columns)).to_pylist()[0]
    everything = pa.array(parse_cells(cells, columns=columns, include_control=True)).to_pylist()[0]
    assert not any(each["isControl"] for each in without)
    assert [each for each in everything if not each["isControl"]] == without
    assert any(each["isControl"] for each in everything)
