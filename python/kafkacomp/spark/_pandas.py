"""Arrow arrays through pandas UDFs, which PySpark before 4.1 has in place of Arrow UDFs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

__all__ = ["from_series", "to_series"]


def from_series(series: pd.Series[Any]) -> pa.Array:
    """The array of what PySpark made a Series of: integers with nulls have become floating-point numbers there."""
    array = pa.array(series, from_pandas=True)
    return array.cast(pa.int64()) if pa.types.is_floating(array.type) else array


class _ArrowSeries(pd.Series):  # type: ignore[misc] # pandas has no types here
    """A Series that PySpark hands to Arrow as it is.

    Of a Series of lists PySpark converts every cell with ``apply`` first. Here that is done: what Arrow asks for by
    ``__arrow_array__`` is the array, without a Python object for a cell.
    """

    def apply(self, *_conversion: object, **_options: object) -> _ArrowSeries:
        """The Series itself."""
        return self


def to_series(array: pa.Array) -> pd.Series[Any]:
    """The array as a result of a pandas UDF."""
    return _ArrowSeries(pd.arrays.ArrowExtensionArray(array))
