"""A scan's reader as a table of pyarrow, pandas or polars: the rows, and the exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp.arrow import filter_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    rows = pa.table({"key": [f"{n % 5}".encode() for n in range(100)], "value": [b"%d" % n for n in range(100)]})
    kc.write(rows, tmp_path, topic="orders", batch_bytes=300)
    return tmp_path / "orders-0"


@pytest.fixture(name="corrupt")
def _corrupt(log: Path) -> Path:
    """The log with a wrong checksum in a batch in the middle."""
    segment = log / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    return log


def expected(log: Path) -> pa.Table:
    return pa.Table.from_batches(list(kc.scan(log)))


def test_schema_reads_nothing(log: Path) -> None:
    with kc.scan(log, columns=["offset", "value"]) as reader:
        assert reader.schema == pa.schema([("offset", pa.int64()), ("value", pa.binary())])
        assert (reader.report.bytes_in, reader.num_rows, reader.closed) == (0, None, False)


def test_all_rows(log: Path) -> None:
    rows = expected(log)
    assert kc.scan(log).read_all() == rows
    pd.testing.assert_frame_equal(kc.scan(log).to_pandas(), rows.to_pandas())
    assert kc.scan(log).to_polars().equals(pl.DataFrame(rows))


def test_rows_that_are_left(log: Path) -> None:
    reader = kc.scan(log, options=kc.ScanOptions(batch_rows=30))
    first = next(reader)
    assert reader.read_all().num_rows == 100 - first.num_rows
    assert reader.num_rows == 100


def test_a_reader_without_rows(log: Path) -> None:
    reader = kc.scan(log, start_offset=100)
    assert reader.read_all() == reader.schema.empty_table()
    assert reader.num_rows == 0


@pytest.mark.parametrize("read", [list, pa.table, pl.from_arrow, lambda reader: reader.read_all()])
def test_num_rows_once_all_were_read(read: Callable[[Any], object], log: Path) -> None:
    reader = kc.scan(log)
    assert reader.num_rows is None
    read(reader)
    assert reader.num_rows == 100


def test_num_rows_stays_unknown_if_the_scan_fails(corrupt: Path) -> None:
    reader = kc.scan(corrupt)
    with pytest.raises(kc.CorruptRecordError):
        reader.read_all()
    assert reader.num_rows is None


def test_filtered_rows(log: Path) -> None:
    reader = filter_rows(kc.scan(log), key="3")
    assert (reader.schema, reader.num_rows) == (kc.scan(log).schema, None)
    assert reader.read_all()["value"].to_pylist() == [b"%d" % n for n in range(3, 100, 5)]
    assert reader.num_rows == 20
    assert filter_rows(kc.scan(log), key="3", limit=2).to_polars()["value"].to_list() == [b"3", b"8"]


@pytest.mark.parametrize("way", ["read_all", "to_pandas", "to_polars"])
def test_corruption_raises_the_documented_exception(way: str, corrupt: Path) -> None:
    for reader in (kc.scan(corrupt), filter_rows(kc.scan(corrupt), key="3")):
        with pytest.raises(kc.CorruptRecordError, match=rf"{corrupt.name}.*at byte \d+") as raised:
            getattr(reader, way)()
        assert raised.value.error_code == 2
        assert raised.value.position is not None
        assert raised.value.segment == str(corrupt / f"{0:020}.log")


@pytest.mark.parametrize(
    "consumer", [pa.table, lambda reader: duckdb.from_arrow(reader).aggregate("count(*)").fetchall()]
)
def test_a_consumer_of_the_stream_keeps_the_message(consumer: Callable[[Any], object], corrupt: Path) -> None:
    """The class is the consumer's; class, error code, file and byte are in the text, and reader.error has the rest."""
    reader = kc.scan(corrupt)
    with pytest.raises(Exception, match=r"CorruptRecordError \(Kafka's error code 2\): ") as raised:
        consumer(reader)
    error = reader.error
    assert isinstance(error, kc.CorruptRecordError)
    assert str(error) in str(raised.value)
    assert f"at byte {error.position}" in str(error)


def test_pandas_refuses_the_reader_itself(log: Path) -> None:
    """pandas.DataFrame lists an iterator: a row for each batch, of texts."""
    for reader in (kc.scan(log), filter_rows(kc.scan(log), key="3")):
        with pytest.raises(TypeError, match=r"stream of Arrow record batches, not an array: call to_pandas\(\)"):
            pd.DataFrame(reader)


def test_other_engines_take_the_reader(log: Path) -> None:
    rows = expected(log)
    assert duckdb.from_arrow(kc.scan(log)).aggregate("count(*)").fetchall() == [(100,)]
    assert pl.DataFrame(kc.scan(log)).equals(pl.DataFrame(rows))
    assert pa.RecordBatchReader.from_stream(kc.scan(log)).read_all() == rows
