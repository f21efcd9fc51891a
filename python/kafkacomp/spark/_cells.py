"""What runs in the workers: cells of a column in, Arrow out, and errors that tell where."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kafkacomp.arrow import compress_cells, decompress_cells, parse_cells
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._errors import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Sized

    import pandas as pd

__all__ = ["in_batches", "in_columns", "in_series"]

#: Bytes of cells that are read at once where records become rows; a single cell may be larger.
PIECE_BYTES = 256 << 10
#: About what an Arrow batch of rows holds. Spark has one in the worker and one in the JVM; larger ones gain nothing.
BATCH_BYTES = 2 << 20

_FUNCTIONS: dict[str, Callable[..., object]] = {
    "decompress": decompress_cells,
    "compress": compress_cells,
    "parse_records": parse_cells,
}


def in_columns(
    function: str, columns: Sequence[pa.Array], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pa.Array:
    """A function on Arrow arrays: the cells, and what ``parameters`` call the others."""
    with _located(function, columns):
        return _called(function, columns, parameters, constants)


def in_series(
    function: str, columns: Sequence[pd.Series[Any]], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pd.Series[Any]:
    """The same for pandas UDFs."""
    from kafkacomp.spark._pandas import from_series, to_series  # noqa: PLC0415 - Arrow UDFs do without pandas

    with _located(function, columns):
        return to_series(_called(function, [from_series(column) for column in columns], parameters, constants))


def in_batches(
    function: str, batches: Iterator[pa.RecordBatch], _parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """A row for each record of the first column's cells, behind the other columns' values."""
    settings = dict(constants)
    bad_rows = settings.pop("bad_rows")
    names = ["cells", *cast("tuple[str, ...]", settings.pop("kept"))]
    for batch in batches:
        for piece in _pieces(batch.rename_columns(names)):
            parsed = in_columns(function, [piece.column(0)], (), settings)
            yield from _rows(piece, parsed, bad_rows=cast("bool", bad_rows))


def _called(
    function: str, columns: Sequence[pa.Array], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pa.Array:
    if len(columns) - 1 > len(parameters):
        raise TypeError(f"{function} takes {', '.join(('data', *parameters))}, not {len(columns)} arguments")
    if not columns:
        raise TypeError(f"{function} needs data")
    cells, *others = columns
    given = {**constants, **dict(zip(parameters, others, strict=False))}
    if function != "parse_records" and "compression_type" not in given:
        raise TypeError(f"{function} needs a compression type beside the data")
    return pa.array(_FUNCTIONS[function](cells, **given))


@contextlib.contextmanager
def _located(function: str, columns: Sequence[Sized]) -> Iterator[None]:
    """Errors with the place in front, and without the way to it."""
    try:
        yield
    except (KafkaCompError, ValueError, TypeError, OverflowError) as error:
        context = TaskContext.get()
        rows = f"an Arrow batch of {len(columns[0])} rows" if columns else "a call without arguments"
        where = "" if context is None else f" of partition {context.partitionId()}"
        text = f"kafkacomp.spark.{function}, in {rows}{where}: {error}"
        if isinstance(error, OverflowError):
            text += " (spark.sql.execution.arrow.maxRecordsPerBatch)"
        error.args = (text,)
        raise plain(error) from None


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces whose cells have about :data:`PIECE_BYTES`."""
    start = size = 0
    for row, length in enumerate(pc.binary_length(batch.column(0)).to_pylist()):
        size += length or 0
        if size >= PIECE_BYTES:
            yield batch.slice(start, row + 1 - start)
            start, size = row + 1, 0
    if start < batch.num_rows:
        yield batch.slice(start)


def _rows(piece: pa.RecordBatch, parsed: pa.ListArray, *, bad_rows: bool) -> Iterator[pa.RecordBatch]:
    """The records as rows, behind the values that stand beside their cells.

    Args:
        piece: The cells, and what stands beside them.
        parsed: The cells' records; null for a null and for a bad cell.
        bad_rows: Whether a bad cell has a row too, in which the record's columns are null.
    """
    records = parsed.flatten()
    parents = pc.list_parent_indices(parsed)
    if bad_rows:
        bad = pc.and_(piece.column(0).is_valid(), parsed.is_null())
        if pc.any(bad).as_py():
            cells = pc.indices_nonzero(bad).cast(pa.int64())
            places = pa.concat_arrays([pa.array(range(len(records)), pa.int64()), pa.nulls(len(cells), pa.int64())])
            parents = pa.concat_arrays([parents.cast(pa.int64()), cells])
            order = pc.array_sort_indices(parents)
            parents, records = parents.take(order), records.take(places.take(order))
    beside = piece.select(range(1, piece.num_columns))
    fields = [*beside.schema, *records.type]
    row_bytes = records.nbytes // max(len(records), 1) + beside.nbytes // max(piece.num_rows, 1)
    step = max(BATCH_BYTES // max(row_bytes, 1), 1)
    for start in range(0, len(records), step):
        kept = [column.take(parents.slice(start, step)) for column in beside.columns]
        arrays = kept + records.slice(start, step).flatten()
        yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
