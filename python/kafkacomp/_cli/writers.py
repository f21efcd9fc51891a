"""The formats of ``kafkacomp export``: Parquet, Arrow, CSV and JSON lines, written by Arrow libraries."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafkacomp._extras import pa, parquet, require
from kafkacomp._kafkacomp import json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, TypeAlias

    Write: TypeAlias = Callable[[pa.RecordBatch], object]

FORMATS = ("parquet", "arrow", "csv", "jsonl")
SUFFIXES = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".csv": "csv", ".jsonl": "jsonl"}
BYTES = ("utf8", "base64", "hex")
#: Suffixes of compressed text files, with pyarrow's names of the codecs.
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4", ".bz2": "bz2"}

#: The rows or bytes of column data at which a Parquet row group ends; a usual size, which readers can skip as a whole.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 64 << 20

#: Columns that identify a record in errors.
RECORD = ("topic", "partition", "offset")
PLACE = (*RECORD, "segment")

_ENCODERS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda value: base64.b64encode(value).decode("ascii"),
    "hex": bytes.hex,
}


def is_text(kind: str) -> bool:
    """Whether files of this format contain bytes as text."""
    return kind in {"csv", "jsonl"}


def format_of(name: str) -> tuple[str | None, str | None]:
    """The format by the suffixes of a file's name, and the codec with which a text file is compressed.

    >>> format_of("orders.csv.gz"), format_of("orders.parquet"), format_of("orders")
    (('csv', 'gzip'), ('parquet', None), (None, None))
    """
    stem, dot, last = name.rpartition(".")
    codec = _COMPRESSED.get(dot + last)
    if codec is not None:
        kind = SUFFIXES.get("." + stem.rpartition(".")[2])
        return (kind, codec) if kind is not None and is_text(kind) else (None, None)
    return SUFFIXES.get(dot + last), None


@contextmanager
def compressed(sink: BinaryIO, codec: str | None) -> Iterator[BinaryIO]:
    """Open a file whose content is compressed to ``sink``; it is complete at the end of the block."""
    if codec is None:
        yield sink
        return
    with pa.CompressedOutputStream(sink, codec) as out:
        yield out
        out.flush()


@contextmanager
def writer(
    kind: str, sink: BinaryIO, schema: pa.Schema, *, columns: list[str], compression: str, encoding: str
) -> Iterator[Write]:
    """Open a writer of one of ``FORMATS``; the file is complete at the end of the block.

    Args:
        kind: One of ``FORMATS``.
        sink: The binary file to write to.
        schema: The schema of the batches.
        columns: The columns to write. Batches may have more, such as those of ``PLACE`` for errors.
        compression: The compression of Parquet and Arrow files.
        encoding: The encoding of bytes in text formats: one of ``BYTES``.

    Yields:
        A function that writes a batch. It raises ValueError for bytes that are not UTF-8, if ``encoding`` is ``utf8``.
    """
    if is_text(kind):
        with (_csv if kind == "csv" else _json_lines)(sink, columns) as write:
            yield lambda batch: write(_with_text(batch, columns, encoding))
        return
    shown = pa.schema([schema.field(name) for name in columns])
    with (_parquet if kind == "parquet" else _arrow)(sink, shown, compression) as write:
        yield lambda batch: write(batch.select(columns))


@contextmanager
def _parquet(sink: BinaryIO, schema: pa.Schema, compression: str) -> Iterator[Write]:
    group: list[pa.RecordBatch] = []
    with parquet.ParquetWriter(sink, schema, compression=compression) as out:

        def end_group() -> None:
            if group:
                out.write_table(pa.Table.from_batches(group), row_group_size=_GROUP_ROWS)
                group.clear()

        def write(batch: pa.RecordBatch) -> None:
            group.append(batch)
            rows, size = sum(each.num_rows for each in group), sum(each.nbytes for each in group)
            if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
                end_group()

        yield write
        end_group()


@contextmanager
def _arrow(sink: BinaryIO, schema: pa.Schema, compression: str) -> Iterator[Write]:
    options = pa.ipc.IpcWriteOptions(compression=compression if compression in {"lz4", "zstd"} else None)
    with pa.ipc.new_file(sink, schema, options=options) as out:
        yield out.write_batch


@contextmanager
def _csv(sink: BinaryIO, columns: list[str]) -> Iterator[Write]:
    csv = require("pyarrow.csv")

    options = csv.WriteOptions(include_header=False)
    sink.write(",".join(columns).encode() + b"\n")

    def write(batch: pa.RecordBatch) -> None:
        for index, column in enumerate(batch.columns):
            batch = batch.set_column(index, columns[index], _flat(column))
        csv.write_csv(batch, sink, options)

    yield write


@contextmanager
def _json_lines(sink: BinaryIO, columns: list[str]) -> Iterator[Write]:  # noqa: ARG001 - the batches name them
    yield lambda batch: sink.write(json_lines(batch))


def _flat(column: pa.Array) -> pa.Array:
    """Convert lists to JSON for CSV, which has no lists."""
    if not pa.types.is_list(column.type):
        return column
    texts = [None if each is None else json.dumps(each, ensure_ascii=False) for each in column.to_pylist()]
    return pa.array(texts, pa.large_string())


def _with_text(batch: pa.RecordBatch, columns: list[str], encoding: str) -> pa.RecordBatch:
    arrays = []
    for name in columns:
        try:
            arrays.append(_text(batch.column(name), encoding))
        except pa.ArrowInvalid:
            raise ValueError(_not_utf8(name, batch)) from None
    return pa.record_batch(arrays, names=columns)


def _text(column: pa.Array, encoding: str) -> pa.Array:
    """Convert bytes, also in lists, to text, and timestamps to numbers."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Kafka's timestamps may be after the year 9999, the last one with four digits.
        return column.cast(pa.int64())
    if pa.types.is_list(kind):
        sizes, values = column.value_lengths().fill_null(0).to_pylist(), _text(column.flatten(), encoding)
        ends = [0]
        for size in sizes:
            ends.append(ends[-1] + size)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=column.is_null())
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays([_text(each, encoding) for each in column.flatten()], names)
    if not pa.types.is_binary(kind):
        return column
    if encoding == "utf8":
        return column.cast(pa.string())
    encode = _ENCODERS[encoding]
    return pa.array([None if each is None else encode(each) for each in column.to_pylist()], pa.large_string())


def _not_utf8(name: str, batch: pa.RecordBatch) -> str:
    """Name the first record of the batch whose column is not UTF-8."""
    column = batch.column(name)
    row = next(index for index, value in enumerate(column.to_pylist()) if not _is_utf8(value))
    place = ", ".join(f"{each} {batch.column(each)[row].as_py()}" for each in PLACE if each in batch.schema.names)
    what = f"a value in the {name}" if name == "headers" else f"the {name}"
    return f"{what} is not UTF-8 ({place}): choose --bytes base64 or hex, or a binary format"


def _is_utf8(value: Any) -> bool:  # noqa: ANN401 - cells of any type
    if isinstance(value, list):
        return all(_is_utf8(content) for header in value for content in header.values())
    try:
        return not isinstance(value, bytes) or value.decode() is not None
    except UnicodeDecodeError:
        return False
