"""Spark Connect: functions, batches, streams, writes, advice and exports through ``remote("local[2]")``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kafkacomp as kc

SCRIPT = Path(__file__).resolve().with_name("connect_jobs.py")
VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "modern"
TIMEOUT = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program writes."""
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Any]:
    """What all its jobs found, in one session."""
    done = subprocess.run(
        [sys.executable, SCRIPT, folder], check=False, capture_output=True, text=True, timeout=TIMEOUT, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["session"] == "pyspark.sql.connect.session"
    return found


def test_functions(answers: dict[str, Any]) -> None:
    assert answers["functions"] == {
        "cells": ["value"] * 3,
        "both": True,
        "parsed": [[0, "value"]],
        "records": [["lz4", "value"]],
    }


def test_a_batch_read(answers: dict[str, Any]) -> None:
    wanted = pa.table(kc.scan(VECTORS / "txn-open", columns=["offset"], isolation_level="read_committed"))
    assert answers["batch"]["offsets"] == wanted["offset"].to_pylist()
    assert "unknown option 'bogus'" in answers["batch"]["error"]


def test_a_write_and_a_stream(answers: dict[str, Any], folder: Path) -> None:
    assert answers["write"] is None
    for logs in ("logs", "copies"):
        values = pa.table(kc.scan(folder / logs, columns=["value"]))["value"].to_pylist()
        assert sorted(map(int, values)) == list(range(100)), logs


def test_advice(answers: dict[str, Any]) -> None:
    assert answers["advice"]["topics"] == ["txn-open"]
    assert answers["advice"]["options"] > 10


def test_an_export(answers: dict[str, Any], folder: Path) -> None:
    wanted = pa.table(kc.scan(VECTORS / "txn-open", columns=["offset", "value"]))
    found = pq.read_table(folder / "parquet")
    assert answers["exporting"]["files"] == len(list(folder.glob("parquet/topic=txn-open/*.parquet")))
    assert answers["exporting"]["rows"] == [wanted.num_rows] * 2
    assert sorted(found["offset"].to_pylist()) == wanted["offset"].to_pylist()
    assert "record batch at byte" in answers["exporting"]["error"]
    assert [path.name for path in (folder / "failed").iterdir()] == [".kafkacomp-lock"]
