"""``kafkacomp export``: conditions, compressed text, standard output, row groups."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import kafkacomp as kc
from doc_places import orders
from kafkacomp import lz4, zstd
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    orders(tmp_path / "logs")
    return tmp_path / "logs"


def test_conditions(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "rows.parquet"
    options = ["--key=customer-7", "--value-contains=87", "--limit=4", "--columns=offset,value"]
    assert main(["export", str(logs), "-o", str(target), *options]) == 0
    found = pq.read_table(target)
    assert found.column_names == ["offset", "value"]
    scanned = pa.table(kc.scan(logs)).to_pylist()
    wanted = [row["offset"] for row in scanned if row["key"] == b"customer-7" and b"87" in row["value"]]
    assert found.column("offset").to_pylist() == wanted[:4]
    assert capsys.readouterr().out == f"{target}: 4 records\n"


@pytest.mark.parametrize(
    ("suffix", "decompress"),
    [("gz", gzip.decompress), ("bz2", bz2.decompress), ("zst", zstd.decompress), ("lz4", lz4.decompress)],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_compressed_text(
    logs: Path, tmp_path: Path, kind: str, suffix: str, decompress: Callable[[bytes], bytes]
) -> None:
    plain, packed = tmp_path / f"rows.{kind}", tmp_path / f"rows.{kind}.{suffix}"
    for target in (plain, packed):
        assert main(["export", str(logs), "-o", str(target)]) == 0
    assert bytes(decompress(packed.read_bytes())) == plain.read_bytes()


def test_a_compressed_parquet_file_is_refused(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(logs), "-o", str(tmp_path / "rows.parquet.gz")]) == 2
    assert "unknown suffix: expected" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_standard_output(logs: Path, kind: str) -> None:
    command = [sys.executable, "-m", "kafkacomp", "export", str(logs), "--format", kind, "-o", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    if kind == "jsonl":
        assert len([json.loads(line) for line in done.stdout.splitlines()]) == 3000
    elif kind == "csv":
        assert len(done.stdout.splitlines()) == 3001
    else:
        read = pq.read_table if kind == "parquet" else lambda source: pa.ipc.open_file(source).read_all()
        assert read(pa.BufferReader(done.stdout)).num_rows == 3000
    assert done.stderr.decode() == "kafkacomp: -: 3,000 records\n"


def test_row_groups_and_statistics(tmp_path: Path) -> None:
    kc.write(pa.table({"value": [b"x" * 100] * 50_000}), tmp_path / "logs", topic="t")
    target = tmp_path / "rows.parquet"
    assert main(["export", str(tmp_path / "logs"), "--batch-rows=1000", "-o", str(target)]) == 0
    found = pq.ParquetFile(target).metadata
    assert (found.num_row_groups, found.num_rows) == (1, 50_000)
    offsets = found.row_group(0).column(list(pq.read_schema(target).names).index("offset")).statistics
    assert (offsets.min, offsets.max) == (0, 49_999)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_partition_by(logs: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "rows"
    options = ["--partition-by=topic,partition,date", "--format", kind, "--timestamp-unit=ms"]
    assert main(["export", str(logs), "-o", str(target), *options]) == 0
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob(f"*.{kind}"))
    days = ("2026-01-01", "2026-01-02", "2026-01-03")
    assert files == [
        f"topic=orders/partition={number}/date={day}/orders-{number}-{day}-00000.{kind}"
        for number in range(3)
        for day in days
    ]
    if kind == "parquet":
        found = ds.dataset(target, partitioning="hive").to_table()
        assert "topic" not in pq.read_schema(target / files[0]).names
        scanned = pa.table(kc.scan(logs))
        assert sorted(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True)) == sorted(
            zip(scanned["partition"].to_pylist(), scanned["offset"].to_pylist(), strict=True)
        )
    assert main(["export", str(logs), "-o", str(target), *options]) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("target", ["rows.csv", "rows.jsonl", "rows.parquet", "rows.arrow", "-", "folder"])
def test_a_corrupt_batch(target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The error names the file and the byte, and the record after which the rows end; no file is left."""
    partition = tmp_path / "logs" / "orders-3"
    partition.mkdir(parents=True)
    batches = []
    for first in (0, 2, 4):
        builder = kc.record.RecordBatchBuilder(base_offset=first)
        for offset in (first, first + 1):
            builder.append(b"value", offset=offset, timestamp=0)
        batches.append(bytearray(builder.build()))
    batches[2][-1] ^= 1
    (partition / f"{0:020}.log").write_bytes(b"".join(batches))
    options = ["--partition-by", "topic"] if target == "folder" else []
    path = target if target == "-" else str(tmp_path / target)
    form = ["--format", "jsonl"] if target in {"-", "folder"} else []
    assert main(["export", str(tmp_path / "logs"), "-o", path, "--columns", "value", *form, *options]) == 1
    error = capfd.readouterr().err
    assert f"record batch at byte {len(batches[0]) * 2} is corrupt" in error
    assert "; the last record written is topic orders, partition 3, offset 3" in error
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]
