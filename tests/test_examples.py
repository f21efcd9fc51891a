"""The programs in examples/ that the documentation shows, on a log directory with corruption in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from doc_places import corrupt_disk, orders

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(scope="module", name="disk")
def _disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("disk") / "kafka-logs"
    corrupt_disk(folder)
    return folder


def _run(name: str, *arguments: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_dead_disk(disk: Path, tmp_path: Path) -> None:
    lines = _run("dead_disk.py", disk, tmp_path / "rescued.parquet").splitlines()
    assert pq.read_metadata(tmp_path / "rescued.parquet").num_rows == 2636
    assert lines[0].startswith("orders-0: 1,000 records, offsets 0 to 999, ")
    assert lines[1].startswith("orders-1: 675 records, offsets 325 to 999, ")
    assert lines[2].startswith("orders-2: 961 records, offsets 0 to 960, ")
    assert "missing: orders-1, offsets 0 to 324 (corrupt)" in lines
    assert len([line for line in lines if line.startswith("left out: ")]) == 2


def test_recompression_savings(tmp_path: Path) -> None:
    intact = tmp_path / "kafka-logs"
    orders(intact)
    out = _run("recompression_savings.py", intact, tmp_path / "report.html")
    saved = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert set(saved) == {"none", "snappy", "lz4", "zstd", "gzip"}
    assert "saves   0.0%" in saved["none"]
    assert "orders" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.java
@pytest.mark.spark
def test_spark_corruption(disk: Path) -> None:
    out = _run("spark_corruption.py", disk)
    assert "|orders|        1|    675|  325| 999|" in out
    assert out.count("|corrupt|") == 2
