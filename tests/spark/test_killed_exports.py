"""Exports whose tasks, executors or drivers come to grief: all rows once, or what was there before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kafkacomp as kc
from kafkacomp.spark import _export_commit, _job_folder
from spark.cluster_jobs import TASKS
from spark.killed import Program

if TYPE_CHECKING:
    from pathlib import Path

# A cluster, and as long as its slowest task: a minute.
pytestmark = pytest.mark.slow

ROWS = 4000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A topic of as many partitions as there are tasks, each of several Arrow batches."""
    folder = tmp_path / "logs"
    for partition in range(TASKS):
        rows = pa.table({"value": [b"%08d" % n * 100 for n in range(ROWS)]})
        kc.write(rows, folder, topic="t", partition=partition)
    return folder


def is_complete(target: Path) -> bool:
    """Whether each record is there once; no other file may be."""
    for partition in range(TASKS):
        files = list((target / f"partition={partition}").glob("*"))
        offsets = [offset for path in files for offset in pq.ParquetFile(path).read()["offset"].to_pylist()]
        if sorted(offsets) != list(range(ROWS)):
            return False
    return {path.name for path in target.iterdir() if not path.name.startswith(".kafkacomp-")} == {
        "_SUCCESS",
        *(f"partition={partition}" for partition in range(TASKS)),
    }


def test_attempts_that_come_to_grief_leave_nothing(logs: Path, tmp_path: Path) -> None:
    """One that is overtaken, one that fails, a Python worker and an executor that are killed in the middle."""
    kinds = ["failing", "worker", "executor", "slow"]
    arguments = {"source": str(logs), "target": str(tmp_path / "out"), "told": str(tmp_path / "told")}
    program = Program(
        tmp_path / "driver", "export", kind=",".join(kinds), master="local-cluster[2,1,1024]", **arguments
    )
    program.start()
    program.finish()
    for kind in kinds:
        assert (tmp_path / f"told-{kind}").exists(), "the attempt did not come that far"
        assert is_complete(tmp_path / "out" / kind), kind
        assert not list((tmp_path / "out" / kind).glob("*-delete"))


def test_a_driver_that_is_killed_before_its_commit(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target has no file; a second run succeeds, and what the first has staged goes after a day."""
    target = tmp_path / "out" / "slow"
    arguments = {"source": str(logs), "target": str(tmp_path / "out"), "told": str(tmp_path / "told"), "kind": "slow"}
    program = Program(tmp_path / "driver", "export", master="local[4,4]", **arguments)
    program.start()
    try:
        program.wait_for((tmp_path / "told-slow").exists, "a task in the middle of its rows")
        program.wait_for(lambda: list(target.glob(".kafkacomp-0*/*/*/*.staged")), "what is staged")
    finally:
        program.kill()
    assert all(path.name.startswith(".kafkacomp-") for path in target.iterdir())
    again = Program(tmp_path / "driver", "export", master="local[2]", **arguments)
    again.start()
    again.finish()
    assert is_complete(target)
    (staging,) = target.glob(".kafkacomp-0*")
    monkeypatch.setattr(_job_folder, "ABANDONED", -1.0)
    _export_commit.recover(target)
    assert not staging.exists()
    assert is_complete(target)
