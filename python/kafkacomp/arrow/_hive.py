"""Divide rows among the folders of a partitioned data set, in Hive's layout, which Arrow, Spark and DuckDB read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkacomp._extras import pa, pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
#: The characters that Spark escapes in the names of partition folders (ExternalCatalogUtils).
_ESCAPED: Final = re.compile(r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]')


def folder_name(column: str, value: object) -> str:
    """The name of a value's partition folder, as in Spark and Hive."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if value is None or not text:
        return f"{column}={_NULL}"
    return f"{column}={_ESCAPED.sub(lambda found: f'%{ord(found[0]):02X}', text)}"


def by_folder(batch: pa.RecordBatch, names: Sequence[str]) -> list[tuple[str, pa.RecordBatch]]:
    """Divide rows by the values of columns: the path of each folder, with a slash at its end, and its rows."""
    parts = [("", batch)]
    for name in names:
        parts = [
            (f"{folder}{folder_name(name, value)}/", chosen)
            for folder, rows in parts
            for value, chosen in _by_value(rows, name)
        ]
    return parts


def _by_value(rows: pa.RecordBatch, name: str) -> Iterator[tuple[object, pa.RecordBatch]]:
    """Yield each value of a column and its rows, in their order."""
    encoded = rows.column(name).dictionary_encode(null_encoding="encode")
    values = encoded.dictionary.to_pylist()
    if len(values) == 1:
        yield values[0], rows
        return
    order = pc.array_sort_indices(encoded.indices)
    counts = {each["values"]: each["counts"] for each in pc.value_counts(encoded.indices).to_pylist()}
    start = 0
    for index, value in enumerate(values):
        # A copy, because a slice would keep the whole batch in memory.
        yield value, rows.take(order.slice(start, counts[index]))
        start += counts[index]
