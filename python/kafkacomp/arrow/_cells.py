"""Convert columns of compressed bytes or record sets, through Arrow's PyCapsule interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import (
    checked_columns,
    checked_magic,
    checked_max_output_size,
    compression_type_of,
    level_of,
    one_of,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, ArrowArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import TypeIs

    from kafkacomp._types import ArrowColumn, CompressionTypeLike

OnBadCell = Literal["raise", "null"]

#: The fields that :func:`parse_cells` builds by default; the topic and partition of a cell are unknown.
RECORD_COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
#: Columns of a scan that are unknown for a cell.
_OF_PLACES = ("topic", "partition", "segment")


class RecordFields(NamedTuple):
    """The fields to build from the records in cells, with their options."""

    columns: tuple[str, ...]
    timestamp_unit: str
    include_control: bool
    verify_crc: bool


def decompress_cells(
    data: ArrowColumn,
    compression_type: CompressionTypeLike | ArrowColumn,
    *,
    magic: int | ArrowColumn = 2,
    on_error: OnBadCell = "raise",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> ArrowArray:
    """Decompress each cell of a binary array, as :func:`kafkacomp.decompress` does.

    If an argument is null in a row, so is the result.

    Args:
        data: An Arrow array of binary, large_binary, binary_view or fixed_size_binary, or a dictionary of these:
            anything with ``__arrow_c_array__`` or ``__arrow_c_stream__`` (pyarrow, polars, arro3, ...). The chunks of
            a stream are concatenated.
        compression_type: A :class:`kafkacomp.CompressionType` or its name for all cells, or an array with one for each
            cell: names (strings) or ids (integers).
        magic: The message format for all cells, or an array of integers. In 0, any LZ4 header checksum is accepted
            (KIP-57).
        on_error: ``raise`` raises an error at a cell that is corrupt or too large, or has an unknown compression type
            or magic; ``null`` makes the cell null.
        max_output_size: The most bytes that one cell may decompress to. No memory is allocated beyond it.

    Returns:
        An array with as many rows, which ``pyarrow.array`` and ``polars.Series`` import without a copy: large_binary if
        ``data`` is large_binary, otherwise binary, which holds up to 2 GiB - 1 in all.

    Raises:
        DecompressionError, OutputLimitError: with ``row``, from 0, and ``position``, the byte of the cell.
        ValueError: an argument has an unknown value; or the arrays have different lengths.
        OverflowError: the result is larger than an array can be.
        TypeError: an array is of the wrong type.

    Example:
        >>> import pyarrow as pa
        >>> from kafkacomp import arrow
        >>> packed = arrow.compress_cells(pa.array([b"one", None]), "zstd")
        >>> pa.array(arrow.decompress_cells(packed, "zstd")).to_pylist()
        [b'one', None]
    """
    return _kafkacomp.decompress_cells(
        data,
        _argument(compression_type, compression_type_of),
        _argument(magic, checked_magic),
        _bad_is_null(on_error),
        checked_max_output_size(max_output_size),
    )


def compress_cells(
    data: ArrowColumn,
    compression_type: CompressionTypeLike | ArrowColumn,
    *,
    compression_level: int | ArrowColumn | None = None,
    magic: int | ArrowColumn = 2,
    on_error: OnBadCell = "raise",
) -> ArrowArray:
    """Compress each cell of a binary or string array, as :func:`kafkacomp.compress` does.

    Args:
        data: As for :func:`decompress_cells`; strings are compressed as UTF-8.
        compression_type: As for :func:`decompress_cells`.
        compression_level: The level for all cells, or an array of integers; ``None``, or a null, is Kafka's default.
        magic: As for :func:`decompress_cells`. For 0, the LZ4 header checksum is computed as before KIP-57.
        on_error: ``raise`` raises an error at a cell with an unknown compression type or magic or a level out of range;
            ``null`` makes the cell null.

    Returns:
        As :func:`decompress_cells`.

    Raises:
        ValueError: an argument has an unknown value, a level is out of range, or the arrays have different lengths.
        OverflowError: the result is larger than an array can be.
        TypeError: an array is of the wrong type.

    Example:
        >>> import pyarrow as pa
        >>> from kafkacomp import arrow
        >>> packed = arrow.compress_cells(pa.array([b"one", None]), "gzip")
        >>> pa.array(arrow.decompress_cells(packed, "gzip")).to_pylist()
        [b'one', None]
    """
    kind = _argument(compression_type, compression_type_of)
    if isinstance(kind, int) and not is_column(compression_level):
        # Check a level and a type that are given for all cells before any cell is read.
        _kafkacomp.compress(b"", kind, level_of(compression_level), 2)
    return _kafkacomp.compress_cells(
        data, kind, compression_level, _argument(magic, checked_magic), _bad_is_null(on_error)
    )


def parse_cells(
    data: ArrowColumn,
    *,
    columns: Iterable[str] | None = None,
    timestamp_unit: Literal["s", "ms", "us", "ns", "int64"] = "ms",
    include_control: bool = False,
    verify_crc: bool = True,
    on_error: OnBadCell = "raise",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> ArrowArray:
    """Read the records of each cell of a binary array, whose cells are record sets (batches of magic 0, 1 and 2).

    A truncated batch at the end of a cell is left out, because Kafka truncates fetch responses at any byte; the first
    batch must be complete. If intact batches follow it, the cell is corrupt. Zero bytes after the last batch, as in a
    preallocated file, are ignored. A null becomes a null, an empty cell an empty list.

    Args:
        data: As for :func:`decompress_cells`.
        columns: The fields to build, in this order: names of ``kafkacomp.arrow.COLUMNS`` except topic, partition and
            segment, which are unknown for a cell. Default: key, value, offset, timestamp, timestampType, headers.
            ``position`` is the byte of the cell.
        timestamp_unit: The unit of the timestamps, which are UTC, or ``int64`` for milliseconds as integers. A
            timestamp out of the unit's range becomes the nearest one in the range.
        include_control: Whether control records are included.
        verify_crc: Whether checksums are verified.
        on_error: ``raise`` raises an error at a cell that is corrupt or too large; ``null`` makes the cell null.
        max_output_size: The most bytes that the records of one cell may decompress to, all batches together.

    Returns:
        An array of ``list<struct>`` with as many rows, which ``pyarrow.array`` and ``polars.Series`` import without a
        copy.

    Raises:
        CorruptRecordError, InvalidRecordError, OutputLimitError, UnknownServerError: with ``row``, from 0, and
            ``position``, the byte of the cell.
        ValueError: a column is unknown, or an argument has an unknown value.
        OverflowError: all cells together have more than 683 MiB of keys, values and other fields.
        TypeError: the array is of the wrong type.

    Example:
        >>> import pyarrow as pa
        >>> from kafkacomp import arrow, record
        >>> sets = pa.array([record.build_batches(pa.table({"value": ["a", "b"]})), None])
        >>> [len(rows) if rows else rows for rows in pa.array(arrow.parse_cells(sets)).to_pylist()]
        [2, None]
    """
    names = record_columns(columns)
    one_of("timestamp_unit", timestamp_unit, ("s", "ms", "us", "ns", "int64"))
    fields = RecordFields(names, timestamp_unit, include_control, verify_crc)
    cap = checked_max_output_size(max_output_size)
    return _kafkacomp.parse_cells(data, fields, _bad_is_null(on_error), cap)


def record_columns(names: Iterable[str] | None) -> tuple[str, ...]:
    """Check the fields to build.

    Raises:
        ValueError: a field that records in cells do not have, a field given twice, or no field.
    """
    if names is None:
        return RECORD_COLUMNS
    return tuple(checked_columns(names, [name for name in _kafkacomp.columns() if name not in _OF_PLACES]))


def _argument(value: object, check: Callable[[Any], int]) -> int | ArrowColumn:
    """Check a value for all cells; an array is returned unchanged."""
    if is_column(value):
        return value
    return check(value)


def is_column(value: object) -> TypeIs[ArrowColumn]:
    """Whether a value is an Arrow array or a stream of arrays."""
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def _bad_is_null(on_error: OnBadCell) -> bool:
    if on_error not in ("raise", "null"):  # not a set: the value need not be hashable
        raise ValueError(f"on_error must be 'raise' or 'null', not {on_error!r}")
    return on_error == "null"
