"""Write jobs whose tasks, executors or drivers come to grief: all of a job's rows once, or what was there before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp.spark import _commit, _job_folder
from spark.cluster_jobs import ROWS
from spark.killed import Program

if TYPE_CHECKING:
    from pathlib import Path

# A cluster, and as long as its slowest task: a minute.
pytestmark = pytest.mark.slow


def values(target: Path) -> list[int]:
    """The values of all partitions; offsets count from 0."""
    found = []
    for folder in sorted(target.glob("*-[0-9]")):
        table = pa.table(kc.scan(folder, columns=("offset", "value")))
        assert table["offset"].to_pylist() == list(range(table.num_rows))
        found += [int(value) for value in table["value"].to_pylist()]
    return found


def written(target: Path) -> list[str]:
    """All that lies in the target, but for what a job needs."""
    return sorted(path.name for path in target.iterdir() if not path.name.startswith(".kafkacomp"))


def test_attempts_that_come_to_grief_leave_nothing(tmp_path: Path) -> None:
    """One that is overtaken, one that fails, a Python worker and an executor that are killed in the middle."""
    target = tmp_path / "logs"
    kinds = ["failing", "worker", "executor", "slow"]
    told = tmp_path / "told"
    program = Program(
        tmp_path / "driver",
        "write",
        target=str(target),
        told=str(told),
        kind=",".join(kinds),
        master="local-cluster[2,1,1024]",
    )
    program.start()
    program.finish()
    assert written(target) == sorted(f"{kind}-{number}" for kind in kinds for number in range(3))
    assert sorted(values(target)) == sorted([*range(ROWS)] * len(kinds))
    for kind in kinds:
        assert (tmp_path / f"told-{kind}").exists(), "the attempt did not come that far"
        found = [int(v) for n in range(3) for v in pa.table(kc.scan(target / f"{kind}-{n}"))["value"].to_pylist()]
        assert sorted(found) == list(range(ROWS))


def test_a_driver_that_is_killed_before_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there is there; what tasks had staged goes when nobody has touched it for a day."""
    target = tmp_path / "logs"
    kc.write(pa.table({"value": [b"1", b"2"]}), target, topic="old")
    arguments = {"target": str(target), "told": str(tmp_path / "told"), "kind": "slow", "master": "local[4,4]"}
    program = Program(tmp_path / "driver", "write", **arguments)
    program.start()
    try:
        program.wait_for((tmp_path / "told-slow").exists, "a task in the middle of its rows")
        program.wait_for(lambda: list(target.glob("kafkacomp-0.*-delete/*.batches")), "what is staged")
    finally:
        program.kill()
    assert values(target) == [1, 2]
    (staging,) = target.glob("kafkacomp-*")
    _commit.recover(target)
    assert staging.exists(), "the job may be running still"
    monkeypatch.setattr(_job_folder, "ABANDONED", -1.0)
    _commit.recover(target)
    assert written(target) == ["old-0"]
    assert values(target) == [1, 2]
