"""``kafkacomp.write``: what is written is read back, and what was there stays. See also test_whole_or_absent.py."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log, record

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ["key", "value", "timestamp", "headers", "offset"]
TOPIC_ID = "9jeJK4hpQtWzlRClxg9Xjg"


def rows(count: int, *, offsets: list[int] | None = None, seed: int = 3) -> pa.Table:
    """Records of every kind."""
    rng = random.Random(seed)
    table = {
        "key": pa.array([None if n % 3 == 0 else b"k%d" % n for n in range(count)], pa.binary()),
        "value": pa.array([None if n % 50 == 7 else rng.randbytes(20) * 5 for n in range(count)], pa.binary()),
        "timestamp": pa.array([1_600_000_000_000 + n * 7 for n in range(count)], pa.timestamp("ms", "UTC")),
        "headers": pa.array(
            [[{"key": "h", "value": b"%d" % n}] if n % 4 == 0 else None for n in range(count)],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        ),
    }
    if offsets is not None:
        table["offset"] = pa.array(offsets, pa.int64())
    return pa.table(table)


def read(folder: Path | str, **options: Any) -> pa.Table:
    """What a scan of the folder gives."""
    return pa.table(kc.scan(folder, columns=COLUMNS, **grouped(**options)))


@pytest.mark.parametrize("name", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    table = rows(5000)
    report = kc.write(
        table, tmp_path, topic="a.b-c", partition=3, compression_type=name, segment_bytes=100_000, topic_id=TOPIC_ID
    )
    folder = tmp_path / "a.b-c-3"
    assert report.path == str(folder)
    assert (report.records, report.log_start_offset, report.log_end_offset) == (5000, 0, 5000)
    logs = sorted(path for path in folder.iterdir() if path.suffix == ".log")
    assert report.segments == len(logs) > 1
    assert report.bytes_out == sum(path.stat().st_size for path in logs)
    got = read(folder)
    assert got.column("offset").to_pylist() == list(range(5000))
    assert got.select(table.column_names).to_pylist() == table.to_pylist()
    assert pa.table(kc.scan(folder, columns=["compressionType"])).column(0).unique().to_pylist() == [name]
    assert log.read_partition_metadata((folder / "partition.metadata").read_bytes()).topic_id == TOPIC_ID
    for path in logs:
        data = path.read_bytes()
        assert all(batch.is_valid for batch in record.read_batches(data))
        assert path.with_suffix(".index").exists()
        assert path.with_suffix(".timeindex").stat().st_size >= 12
    command = [sys.executable, "-m", "kafkacomp", "verify", str(folder)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    # The indexes are used, and right.
    assert read(folder, start_offset=4321).column("offset").to_pylist() == list(range(4321, 5000))
    late = read(folder, start_time=1_600_000_000_000 + 4000 * 7)
    assert late.column("offset").to_pylist() == list(range(4000, 5000))


def test_offsets_are_kept(tmp_path: Path) -> None:
    offsets = sorted(random.Random(1).sample(range(10_000, 90_000), 3000))
    report = kc.write(rows(3000, offsets=offsets), tmp_path, topic="t")
    assert (report.log_start_offset, report.log_end_offset) == (offsets[0], offsets[-1] + 1)
    assert (tmp_path / "t-0" / f"{offsets[0]:020}.log").exists()
    assert read(tmp_path / "t-0").column("offset").to_pylist() == offsets


def test_base_offset(tmp_path: Path) -> None:
    kc.write(rows(10), tmp_path, topic="t", base_offset=77)
    assert read(tmp_path / "t-0").column("offset").to_pylist() == list(range(77, 87))


def test_a_scan_is_a_stream(tmp_path: Path) -> None:
    kc.write(rows(2000), tmp_path / "first", topic="t", compression_type="none")
    report = kc.write(kc.scan(tmp_path / "first"), tmp_path / "second", topic="u", partition=1, compression_level=1)
    assert report.records == 2000
    assert read(tmp_path / "second" / "u-1") == read(tmp_path / "first" / "t-0")


def test_no_rows(tmp_path: Path) -> None:
    report = kc.write(rows(0), tmp_path, topic="t", base_offset=5)
    assert (report.records, report.batches, report.segments) == (0, 0, 1)
    assert (report.log_start_offset, report.log_end_offset) == (5, 5)
    assert (tmp_path / "t-0" / f"{5:020}.log").stat().st_size == 0


def test_batch_bytes(tmp_path: Path) -> None:
    kc.write(rows(2000), tmp_path, topic="t", compression_type="none", batch_bytes=3000)
    data = next((tmp_path / "t-0").glob("*.log")).read_bytes()
    sizes = [batch.size_in_bytes for batch in record.read_batches(data)]
    assert max(sizes) <= 3000
    assert len(sizes) > 50


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "precious").write_bytes(b"x")
    with pytest.raises(FileExistsError, match="t-0"):
        kc.write(rows(10), tmp_path, topic="t")
    assert [path.name for path in tmp_path.iterdir()] == ["t-0"]
    assert [path.name for path in (tmp_path / "t-0").iterdir()] == ["precious"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": "a/b"}, "topic"),
        ({"topic": ""}, "topic"),
        ({"topic": ".."}, "topic"),
        ({"topic": "t" * 250}, "topic"),
        ({"partition": -1}, "partition"),
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"segment_bytes": 1 << 31}, "segment_bytes"),
        ({"batch_bytes": 0}, "batch_bytes"),
        ({"base_offset": -1}, "base_offset"),
        ({"compression_level": 99}, "level"),
        ({"compression_type": "none", "compression_level": 1}, "level"),
        ({"compression_type": "brotli"}, "brotli"),
        ({"topic_id": "short"}, "topic_id"),
        ({"topic_id": "A" * 22}, "topic_id"),
        ({"target": "s3://bucket/logs"}, "URL"),
    ],
)
def test_wrong_arguments(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"target": tmp_path, "topic": "t"} | options
    with pytest.raises(ValueError, match=message):
        kc.write(rows(10), **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (pa.table({"value": pa.array([1, 2])}), TypeError, "value"),
        (pa.table({"key": pa.array([b"a"])}), (TypeError, ValueError), "value"),
        (rows(3, offsets=[5, 4, 6]), ValueError, "offset"),
        (rows(3, offsets=[5, 5, 6]), ValueError, "offset"),
        (pa.table({"value": [b"a"], "timestamp": pa.array([-5], pa.int64())}), ValueError, "timestamp"),
        (pa.table({"value": [b"a"], "headers": pa.array([[{"key": None, "value": b""}]])}), Exception, "header|key"),
    ],
)
def test_wrong_rows(tmp_path: Path, table: pa.Table, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kc.write(table, tmp_path, topic="t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fields", [("key", "value"), ("value", "key"), ("value", "key", "other")])
def test_header_fields_go_by_name(tmp_path: Path, fields: tuple[str, ...]) -> None:
    headers = pa.array(
        [[dict.fromkeys(fields, "-") | {"key": "K", "value": "V"}]],
        pa.list_(pa.struct([(name, pa.string()) for name in fields])),
    )
    report = kc.write(pa.table({"value": [b"a"], "headers": headers}), tmp_path, topic="t")
    assert read(report.path)["headers"].to_pylist() == [[{"key": "K", "value": b"V"}]]


def test_a_partition_is_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        kc.write(rows(1), tmp_path, topic="t", partition=1.5)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_not_arrow(tmp_path: Path) -> None:
    for rows in ([b"a"], b"bytes", None):
        with pytest.raises(TypeError, match="__arrow_c_stream__"):
            kc.write(rows, tmp_path, topic="t")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="__arrow_c_stream__"):
            record.build_batches(rows)  # type: ignore[arg-type]


def test_an_exception_of_the_stream(tmp_path: Path) -> None:
    """What was written until then is gone."""
    table = rows(20_000)

    def batches() -> Any:
        yield from table.to_batches(max_chunksize=5000)
        raise RuntimeError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(table.schema, batches())
    with pytest.raises(Exception, match="the source is gone"):
        kc.write(reader, tmp_path, topic="t")
    assert list(tmp_path.iterdir()) == []
