"""The folders in which logs are written before they appear: short names of their own, removed after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp, log, message_set

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).resolve().parent / "vectors" / "modern" / "restarts" / "restarts-0"
ROWS = pa.table({"value": pa.array([b"x"] * 10)})

KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
import kafkacomp as kc
from kafkacomp import _kafkacomp
staged = _kafkacomp.StagedFolder(sys.argv[1])
kc.write(pa.table({"value": pa.array([b"x"] * 10)}), staged.folder, topic="t")
print("made", flush=True)
if sys.argv[2] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


def start(target: Path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "made\n"
    return process


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


WRITERS: dict[str, Callable[[Path], object]] = {
    "write": lambda folder: kc.write(ROWS, folder, topic="new"),
    "recompress": lambda folder: log.recompress(SOURCE, folder / "new-0"),
    "write_log": lambda folder: message_set.write_log([], folder, topic="new"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path, writer: str) -> None:
    """And what is left is no data before; a folder that a living process writes to stays."""
    assert start(tmp_path / "out", "dies").wait() == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert (tmp_path / left / "t-0").is_dir()
    with pytest.raises(FileNotFoundError):
        kc.scan(tmp_path)
    live = start(tmp_path / "out", "lives")
    assert left not in names(tmp_path)
    (living,) = names(tmp_path)
    WRITERS[writer](tmp_path)
    assert names(tmp_path) == {"new-0", living}
    live.kill()
    live.communicate()
    log.convert(SOURCE, tmp_path / "again-0", 2)
    assert names(tmp_path) == {"new-0", "again-0"}


def _failing(folder: Path) -> None:
    class Rows:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise MemoryError("no rows")

    with pytest.raises(MemoryError):
        kc.write(Rows(), folder, topic="new")


def _refused(folder: Path) -> None:
    (folder / "bad-0").mkdir()
    (folder / "bad-0" / f"{0:020}.log").write_bytes(b"\1" * 100)
    with pytest.raises(kc.CorruptRecordError):
        log.recompress(folder / "bad-0", folder / "new-0")


@pytest.mark.parametrize("run", [_failing, _refused])
def test_a_run_that_fails_removes_what_a_killed_one_left(tmp_path: Path, run: Callable[[Path], None]) -> None:
    start(tmp_path / "out", "dies").wait()
    run(tmp_path)
    assert names(tmp_path) <= {"bad-0"}


def test_parent_and_child_choose_different_names(tmp_path: Path) -> None:
    """Also a second time, and a child that ends does not remove what its parent writes."""
    mine = _kafkacomp.StagedFolder(str(tmp_path / "a"))
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _kafkacomp.StagedFolder(str(tmp_path / f"t-{os.getpid()}")).publish()
                mine.discard()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    _kafkacomp.StagedFolder(str(tmp_path / "b")).publish()
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 3
    assert Path(str(mine.folder)).is_dir()
    mine.publish()
    assert names(tmp_path) == {"a", "b", *(f"t-{child}" for child in children)}


@pytest.mark.parametrize("partition", [0, 99_999])
def test_topics_of_the_longest_name(tmp_path: Path, partition: int) -> None:
    """Kafka's names have up to 249 characters, so that five digits of a partition fit into a folder's name."""
    topic = "t" * 249
    kc.write(ROWS, tmp_path, topic=topic, partition=partition)
    folder = tmp_path / f"{topic}-{partition}"
    assert pa.table(kc.scan(tmp_path, columns=["topic"]))["topic"].to_pylist() == [topic] * 10
    jobs: list[Callable[[Path, Path], object]] = [log.recompress, log.repair, partial(log.convert, to_magic=2)]
    for number, job in enumerate(jobs):
        for source in (folder, tmp_path):
            target = tmp_path.parent / f"{tmp_path.name}-{number}-{source is folder}" / folder.name
            job(source, target)
            assert pa.table(kc.scan(target)).num_rows == 10
    message_set.write_log([], tmp_path, topic="s" * 249, partition=partition)
    assert (tmp_path / f"{'s' * 249}-{partition}").is_dir()


def test_an_error_names_the_file_that_was_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long") as raised:
        kc.write(ROWS, tmp_path, topic="t" * 249, partition=2**31 - 1)
    assert "t" * 249 in str(raised.value)
    assert not names(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"topic": "a/b"}, "topic"),
        ({"topic": ".."}, "topic"),
        ({"topic": ""}, "topic"),
        ({"topic": "t" * 250}, "topic"),
        ({"topic": "t\n"}, "topic"),
        ({"topic": "t", "partition": -1}, "partition"),
        ({"topic": "t", "partition": 2**31}, "partition"),
        ({"topic": "t", "partition": True}, "partition"),
        ({"topic": "t", "partition": 1.0}, "int"),
        ({"topic": "t", "initial_offset": 2**63}, "initial_offset"),
        ({"topic": "t", "log_file_size": 0}, "log_file_size"),
    ],
)
def test_write_log_checks_its_arguments(tmp_path: Path, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        message_set.write_log([], tmp_path / "made", **arguments)
    assert not names(tmp_path)
