"""Streams whose executors are processes of their own, killed in the middle with their driver: every offset once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from spark.growing import GrowingLog
from spark.killed import Program
from spark.test_stream_reader import make

if TYPE_CHECKING:
    from pathlib import Path

# Two clusters, one after the other, for each sink: some minutes.
pytestmark = pytest.mark.slow
COUNT = 600


def committed(checkpoint: Path) -> int:
    """How many batches of the stream are done."""
    return sum(each.name.isdigit() for each in (checkpoint / "commits").glob("*"))


def written(out: Path, sink: str) -> set[Path]:
    """What tasks have written: for logs what they have staged, which is gone when the batch is done."""
    return set(out.glob("part-*" if sink == "parquet" else "kafkacomp-0.*-delete/*.batches"))


@pytest.mark.parametrize("sink", ["parquet", "kafkacomp"])
def test_every_offset_once(tmp_path: Path, sink: str) -> None:
    """Logs grow while the query runs, while it is down, and after it was started again at its checkpoint."""
    logs = [
        GrowingLog(make(tmp_path / "finished", topic, count=COUNT), tmp_path / "logs" / f"{topic}-0") for topic in "ab"
    ]
    checkpoint, out, stop = tmp_path / "checkpoint", tmp_path / "out", tmp_path / "stop"
    arguments = {"source": str(tmp_path / "logs"), "sink": sink, "out": str(out), "checkpoint": str(checkpoint)}
    program = Program(tmp_path / "driver", "follow", stop=str(stop), **arguments)

    def grow(part: float) -> None:
        for log in logs:
            log.show(int(log.size * part))

    def grow_and_see(part: float) -> None:
        before = committed(checkpoint)
        grow(part)
        program.wait_for(lambda: committed(checkpoint) > before, "a batch")

    grow(0.1)
    try:
        program.start()
        for part in (0.2, 0.4):
            grow_and_see(part)
        before = written(out, sink)
        grow(0.5)
        program.wait_for(lambda: written(out, sink) - before, "a batch in the middle of its writing")
        program.kill()
        grow(0.6)
        program.start()
        for part in (0.8, 1):
            grow_and_see(part)
        stop.touch()
        program.finish()
    finally:
        program.kill()
    if sink == "parquet":
        found = json.loads((tmp_path / "out.json").read_text())
    else:
        table = pa.table(kc.scan(out, columns=("offset", "value")))
        assert table["offset"].to_pylist() == list(range(2 * COUNT))
        found = [value.decode() for value in table["value"].to_pylist()]
        assert not list(out.glob("kafkacomp-*"))
    assert sorted(found) == sorted(f"{topic}/0/{offset}" for topic in "ab" for offset in range(COUNT))
