"""The functions that run in Python workers: they take cells of columns and return Arrow data; errors name the row."""

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

#: Bytes of cells that are parsed at a time where records become rows; a single cell may be larger.
SLICE_BYTES = 256 << 10
#: Approximate size of an Arrow batch of rows. Spark keeps one in the worker and one in the JVM; larger ones are not
#: faster.
BATCH_BYTES = 2 << 20

_FUNCTIONS: dict[str, Callable[..., object]] = {
    "decompress": decompress_cells,
    "compress": compress_cells,
    "parse_records": parse_cells,
}


def in_columns(
    function: str, columns: Sequence[pa.Array], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pa.Array:
    """Make a function on Arrow arrays: the first is the cells, ``parameters`` are the names of the others."""
    with _located(function, columns):
        return _called(function, columns, parameters, constants)


def in_series(
    function: str, columns: Sequence[pd.Series[Any]], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pd.Series[Any]:
    """Make the same function for pandas UDFs."""
    from kafkacomp.spark._pandas import from_series, to_series  # noqa: PLC0415 - Arrow UDFs do without pandas

    with _located(function, columns):
        return to_series(_called(function, [from_series(column) for column in columns], parameters, constants))


def in_batches(
    function: str, batches: Iterator[pa.RecordBatch], _parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """Yield a row for each record of the first column's cells, after the values of the other columns."""
    settings = dict(constants)
    bad_rows = settings.pop("bad_rows")
    names = ["cells", *cast("tuple[str, ...]", settings.pop("kept"))]
    for batch in batches:
        for cells in _slices(batch.rename_columns(names)):
            parsed = in_columns(function, [cells.column(0)], (), settings)
            yield from _rows(cells, parsed, bad_rows=cast("bool", bad_rows))


def _called(
    function: str, columns: Sequence[pa.Array], parameters: tuple[str, ...], constants: Mapping[str, object]
) -> pa.Array:
    if len(columns) - 1 > len(parameters):
        raise TypeError(f"{function} takes {', '.join(('data', *parameters))}, not {len(columns)} arguments")
    if not columns:
        raise TypeError(f"{function} needs the argument data")
    cells, *others = columns
    given = {**constants, **dict(zip(parameters, others, strict=False))}
    if function != "parse_records" and "compression_type" not in given:
        raise TypeError(f"{function} needs the argument compression_type after data")
    return pa.array(_FUNCTIONS[function](cells, **given))


@contextlib.contextmanager
def _located(function: str, columns: Sequence[Sized]) -> Iterator[None]:
    """Prefix errors with the function and the partition, and remove the traceback of this package."""
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


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut the batch into slices whose cells have about :data:`SLICE_BYTES`."""
    start = size = 0
    for row, length in enumerate(pc.binary_length(batch.column(0)).to_pylist()):
        size += length or 0
        if size >= SLICE_BYTES:
            yield batch.slice(start, row + 1 - start)
            start, size = row + 1, 0
    if start < batch.num_rows:
        yield batch.slice(start)


def _rows(cells: pa.RecordBatch, parsed: pa.ListArray, *, bad_rows: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records as rows, after the values of the other columns in the row of their cell.

    Args:
        cells: The cells, and the other columns.
        parsed: The records of each cell; null for a null and for a corrupt cell.
        bad_rows: Whether a corrupt cell has a row, in which the columns of the record are null.
    """
    records = parsed.flatten()
    parents = pc.list_parent_indices(parsed)
    if bad_rows:
        bad = pc.and_(cells.column(0).is_valid(), parsed.is_null())
        if pc.any(bad).as_py():
            bad_at = pc.indices_nonzero(bad).cast(pa.int64())
            places = pa.concat_arrays([pa.array(range(len(records)), pa.int64()), pa.nulls(len(bad_at), pa.int64())])
            parents = pa.concat_arrays([parents.cast(pa.int64()), bad_at])
            order = pc.array_sort_indices(parents)
            parents, records = parents.take(order), records.take(places.take(order))
    others = cells.select(range(1, cells.num_columns))
    fields = [*others.schema, *records.type]
    row_bytes = records.nbytes // max(len(records), 1) + others.nbytes // max(cells.num_rows, 1)
    step = max(BATCH_BYTES // max(row_bytes, 1), 1)
    for start in range(0, len(records), step):
        kept = [column.take(parents.slice(start, step)) for column in others.columns]
        arrays = kept + records.slice(start, step).flatten()
        yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
