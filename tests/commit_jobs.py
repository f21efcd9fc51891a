"""Jobs of a Spark write without Spark: what a task stages, what a job commits, what is there; jobs that die."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import kafkacomp as kc
from kafkacomp import _kafkacomp
from kafkacomp._batch_settings import BatchSettings
from kafkacomp.spark._commit import Staged, commit, new_staging

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SETTINGS = BatchSettings(magic=2, compression_type="lz4", level=None, partition_leader_epoch=0, write_limit=500)
SEGMENT_BYTES = 1500
KILLED = 9
#: What the operating system is asked for in a commit after which another order or outcome can be seen.
CALLS = ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync")


def staged(staging: Path, task: int, counts: dict[tuple[str, int], int], first: int = 0) -> list[Staged]:
    """A task's files, with so many rows for each topic-partition; the values are numbers from `first`."""
    staging.mkdir(parents=True, exist_ok=True)
    files = _kafkacomp.StagedBatches(SETTINGS, staging / f"{task}-test", None, None, {}, task)
    rows = [
        {"topic": topic, "partition": partition, "value": str(first + n), "timestamp": 1_700_000_000_000 + first + n}
        for (topic, partition), count in counts.items()
        for n in range(count)
    ]
    types = {"topic": pa.string(), "partition": pa.int32(), "value": pa.string(), "timestamp": pa.int64()}
    files.push(pa.Table.from_pylist(rows, pa.schema(list(types.items()))))
    return [Staged.of(each) for each in files.finish()]


def job(target: Path, counts: dict[tuple[str, int], int], first: int = 0, **options: Any) -> bool:
    """One whole job of one task."""
    staging = new_staging(target)
    files = staged(staging, 0, counts, first)
    return commit(target, staging, files, **({"overwrite": False, "segment_bytes": SEGMENT_BYTES} | options))


def content(target: Path) -> dict[str, list[int]]:
    """The values by partition; offsets must count from 0 without gaps, and no file may be missing or too much."""
    found: dict[str, list[int]] = {}
    for row in pa.table(kc.scan(target, columns=("topic", "partition", "offset", "value"))).to_pylist():
        values = found.setdefault(f"{row['topic']}-{row['partition']}", [])
        assert row["offset"] == len(values)
        values.append(int(row["value"]))
    return found


def killed_at(step: int, run: Callable[[], object]) -> bool:
    """Runs in a process of its own that is gone before its call number `step` of the system; whether it got there."""
    child = os.fork()
    if child == 0:
        left = step

        def dying(call: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                if left == 0:
                    os._exit(KILLED)
                left -= 1
                return call(*args, **kwargs)

            return counted

        try:
            for name in CALLS:
                setattr(os, name, dying(getattr(os, name)))
            run()
        except BaseException:  # noqa: BLE001 - nothing may go on in the copy of this process
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, KILLED}
    return code == KILLED
