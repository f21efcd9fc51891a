"""Arrow data of a producer that breaks the layout's rules: an error or nulls, never a read outside its buffers."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

import kafkacomp as kc


def build(**columns: pa.Array) -> bytes | Exception:
    """What becomes of the columns."""
    try:
        return kc.record.build_batches(pa.table(columns))
    except (ValueError, TypeError) as error:
        return error


def view(length: int, buffer: int, start: int) -> bytes:
    return struct.pack("<i4sii", length, b"abcd", buffer, start)


GOOD = struct.pack("<i12s", 3, b"abc")


@pytest.mark.parametrize("kind", [pa.binary_view(), pa.string_view()])
@pytest.mark.parametrize(
    "bad",
    [view(100, 0, 0), view(13, 1, 0), view(13, -1, 0), view(13, 0, 2**31 - 1), view(13, 0, -5), view(-1, 0, 0)],
)
def test_views_that_lead_nowhere(kind: pa.DataType, bad: bytes) -> None:
    """They are null; the row before is right."""
    views = pa.py_buffer(GOOD + bad + view(20, 0, 0))
    column = pa.Array.from_buffers(kind, 3, [None, views, pa.py_buffer(b"x" * 20)])
    built = build(value=column)
    assert isinstance(built, bytes)
    values = [record.value for batch in kc.record.read_batches(built) for record in batch]
    assert values == [b"abc", None, b"x" * 20]


@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [0, -1, 2, 6], [0, 2**30, 3, 6], [5, 1, 2, 6]])
def test_offsets_that_do_not_rise(offsets: list[int]) -> None:
    """What lies between two of them is inside the data or null."""
    buffer = pa.py_buffer(np.array(offsets, dtype=np.int32))
    column = pa.Array.from_buffers(pa.binary(), 3, [None, buffer, pa.py_buffer(b"abcdef")])
    built = build(value=column)
    assert isinstance(built, bytes)
    values = [record.value for batch in kc.record.read_batches(built) for record in batch]
    assert len(values) == 3
    assert all(value is None or value in b"abcdef" for value in values)


@pytest.mark.parametrize("index", [3, -1, 127])
def test_dictionary_indices_out_of_range(index: int) -> None:
    indices = pa.array([0, index], pa.int8())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([b"a", b"b"]), safe=False)
    built = build(value=column)
    assert isinstance(built, bytes)
    assert [record.value for batch in kc.record.read_batches(built) for record in batch] == [b"a", None]


@pytest.mark.parametrize("offsets", [[0, 2**31 - 1, 1], [0, -7, 1]])
def test_lists_that_reach_past_their_entries(offsets: list[int]) -> None:
    """An error of the row."""
    entry = pa.struct([("key", pa.string()), ("value", pa.binary())])
    entries = pa.array([{"key": "k", "value": b"v"}], entry)
    buffer = pa.py_buffer(np.array(offsets, dtype=np.int32))
    column = pa.Array.from_buffers(pa.list_(entry), 2, [None, buffer], children=[entries])
    built = build(value=pa.array([b"a", b"b"]), headers=column)
    assert isinstance(built, ValueError)
    assert "row " in str(built)
