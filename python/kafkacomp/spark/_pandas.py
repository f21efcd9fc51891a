"""Pass Arrow arrays through pandas UDFs, for PySpark before 4.1, which has no Arrow UDFs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa


def from_series(series: pd.Series[Any]) -> pa.Array:
    """Convert a Series of PySpark back to an array; PySpark has converted integers with nulls to floating point."""
    array = pa.array(series, from_pandas=True)
    return array.cast(pa.int64()) if pa.types.is_floating(array.type) else array


class _ArrowSeries(pd.Series):  # type: ignore[misc] # pandas has no types here
    """A Series that PySpark passes to Arrow without converting its cells.

    PySpark converts every cell of a Series of lists with ``apply`` first. Here ``apply`` does nothing, and Arrow gets
    the array from ``__arrow_array__`` without a Python object for each cell.
    """

    def apply(self, *_conversion: object, **_options: object) -> _ArrowSeries:
        """Return the Series itself."""
        return self


def to_series(array: pa.Array) -> pd.Series[Any]:
    """Wrap the array as the result of a pandas UDF."""
    return _ArrowSeries(pd.arrays.ArrowExtensionArray(array))
