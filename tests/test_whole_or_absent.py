"""Whatever ends a process that writes logs: what it makes is whole or not there, and its source is as it was.

Each job is done once undisturbed; what it makes is the same byte for byte every time, so that "whole" is "as that one".
Then it is killed at many moments, and given a disk on which a file may not grow, which is as good as one that is full.
"""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORDS = 12_000
#: A broker's name for a folder that it is about to delete.
UNFINISHED = re.compile(r"kafkacomp-2\.[0-9a-f]{32}-delete")
PATIENCE = 60.0

PRELUDE = """
import json, os, resource, signal, sys
from pathlib import Path
import kafkacomp as kc
from kafkacomp import _kafkacomp, log

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
source, target = Path(sys.argv[1]), Path(sys.argv[2])
most = int(sys.argv[3])
if most:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
"""
#: One call for each way of writing a log; the last makes a folder of two partitions.
JOBS = {
    "write": "kc.write(kc.scan(source / 'logs/t-0'), target.parent, topic='t', segment_bytes=1 << 19)",
    "recompress": "log.recompress(source / 'logs/t-0', target, compression_type='gzip')",
    "merge": "log.recompress(source / 'logs/t-0', target, compression_type='gzip', merge=True, batch_bytes=65536)",
    "convert": "log.convert(source / 'logs/t-0', target, 1)",
    "repair": "log.repair(source / 'damaged/t-0', target)",
    "recompress-folder": "log.recompress(source / 'logs', target, compression_type='gzip')",
    "convert-folder": "log.convert(source / 'logs', target, 1)",
    "repair-folder": "log.repair(source / 'logs', target)",
}
#: Where a job's own process ends itself: in front of the last rename or behind it.
HOOK = """
class StagedFolder:
    def __init__(self, target, staged=_kafkacomp.StagedFolder):
        self.staged = staged(target)

    def __getattr__(self, name):
        return getattr(self.staged, name)

    def publish(self):
        {publish}

_kafkacomp.StagedFolder = StagedFolder
"""
BEFORE_PUBLICATION = HOOK.format(publish="die()")
AFTER_PUBLICATION = HOOK.format(publish="self.staged.publish(); die()")
BEFORE_THE_REPORT = "json.dumps = die\n"


def digest(folder: Path) -> dict[str, str]:
    """Every file by its place and content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Source(NamedTuple):
    """What all jobs read."""

    folder: Path
    content: dict[str, str]


class Done(NamedTuple):
    """A job that nothing disturbed."""

    code: str
    made: dict[str, str]
    seconds: float


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Two partitions of several segments, and one with a damaged batch."""
    folder = tmp_path_factory.mktemp("source")
    rng = random.Random(12)
    values = [rng.randbytes(300) + bytes([number % 256]) * 700 for number in range(RECORDS)]
    rows = pa.table({"value": pa.array(values, pa.binary())})
    for partition in (0, 1):
        options = {"partition": partition, "compression_type": "none", "segment_bytes": 1 << 20}
        kc.write(rows, folder / "logs", topic="t", **options)  # type: ignore[arg-type]
    shutil.copytree(folder / "logs" / "t-0", folder / "damaged" / "t-0")
    segment = sorted((folder / "damaged" / "t-0").glob("*.log"))[3]
    data = bytearray(segment.read_bytes())
    batch = list(record.read_batches(bytes(data)))[5]
    data[batch.position + 200] ^= 1
    segment.write_bytes(data)
    return Source(folder, digest(folder))


def start(code: str, source: Source, target: Path, most: int = 0) -> subprocess.Popen[str]:
    """A process of its own for a job."""
    command = [sys.executable, "-c", PRELUDE + code, str(source.folder), str(target), str(most)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def done(source: Source, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Every job, undisturbed."""
    found = {}
    for name, code in JOBS.items():
        target = tmp_path_factory.mktemp(name) / "t-0"
        began = time.perf_counter()
        assert start(code, source, target).wait(PATIENCE) == 0
        found[name] = Done(code, digest(target), time.perf_counter() - began)
        assert [path.name for path in target.parent.iterdir()] == ["t-0"]
    return found


def look(job: Done, source: Source, target: Path) -> bool:
    """Whether the target is there; what is there is whole, and what else there is, no log."""
    assert digest(source.folder) == source.content
    there = target.exists()
    if there:
        assert digest(target) == job.made
    others = [path.name for path in target.parent.iterdir() if path != target] if target.parent.exists() else []
    assert [name for name in others if not UNFINISHED.fullmatch(name)] == []
    if others and not there:
        with pytest.raises((FileNotFoundError, ValueError)):
            kc.scan(target.parent)
    return there


def kill(process: subprocess.Popen[str], moment: Callable[[], bool]) -> None:
    """Kill the process as soon as the moment has come; it is over by itself otherwise."""
    end = time.perf_counter() + PATIENCE
    while process.poll() is None and not moment():
        assert time.perf_counter() < end
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("name", JOBS)
def test_premise_jobs_make_what_they_should(done: dict[str, Done], name: str) -> None:
    made = done[name].made
    logs = [path for path in made if path.endswith(".log")]
    assert len(logs) > 1
    assert {path.rpartition("/")[0] for path in logs} == ({"t-0", "t-1"} if name.endswith("-folder") else {""})
    assert ("kafkacomp-quarantine.bin" in made) == ("kafkacomp-repair.json" in made) == (name == "repair")


@pytest.mark.parametrize("name", JOBS)
def test_killed_at_any_time(done: dict[str, Done], source: Source, tmp_path: Path, name: str) -> None:
    job = done[name]
    rng = random.Random(name)
    for turn in range(3):
        moment = time.perf_counter() + job.seconds * (0.35 + 0.2 * turn + 0.2 * rng.random())
        target = tmp_path / str(turn) / "t-0"
        kill(start(job.code, source, target), lambda at=moment: time.perf_counter() > at)  # type: ignore[misc]
        look(job, source, target)


@pytest.mark.parametrize("name", JOBS)
def test_killed_when_it_appears(done: dict[str, Done], source: Source, tmp_path: Path, name: str) -> None:
    """It has its name only when nothing is missing in it."""
    job, target = done[name], tmp_path / "t-0"
    kill(start(job.code, source, target), target.exists)
    assert look(job, source, target)


@pytest.mark.parametrize("name", [name for name in JOBS if name.endswith("-folder")])
def test_killed_between_two_partitions(done: dict[str, Done], source: Source, tmp_path: Path, name: str) -> None:
    """The first partition has its name, in a folder that has not; the next run does it all and removes that."""
    job, target = done[name], tmp_path / "t-0"

    def first_is_there() -> bool:
        return any(path.name == "t-0" for path in tmp_path.glob("*-delete/*"))

    kill(start(job.code, source, target), first_is_there)
    assert not look(job, source, target)
    assert first_is_there()
    with pytest.raises(FileNotFoundError):
        kc.scan(tmp_path)
    assert start(job.code, source, target).wait(PATIENCE) == 0
    assert look(job, source, target)
    assert [path.name for path in tmp_path.iterdir()] == ["t-0"]


@pytest.mark.parametrize("name", [name for name in JOBS if name.endswith("-folder")])
@pytest.mark.parametrize(("hook", "there"), [(BEFORE_PUBLICATION, False), (AFTER_PUBLICATION, True)])
def test_killed_beside_the_publication(
    done: dict[str, Done], source: Source, tmp_path: Path, name: str, hook: str, there: bool
) -> None:
    """All partitions are done, and the folder of them has its name not yet, or just now."""
    job, target = done[name], tmp_path / "t-0"
    assert start(hook + job.code, source, target).wait(PATIENCE) == -signal.SIGKILL
    assert look(job, source, target) == there
    if not there:
        (unfinished,) = tmp_path.iterdir()
        assert digest(unfinished) == job.made


def test_killed_before_the_report_is_written(done: dict[str, Done], source: Source, tmp_path: Path) -> None:
    """A repaired log without what tells what is missing is not whole."""
    job, target = done["repair"], tmp_path / "t-0"
    assert start(BEFORE_THE_REPORT + job.code, source, target).wait(PATIENCE) == -signal.SIGKILL
    assert not look(job, source, target)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("most", [100, 200_000])
def test_full_disk(done: dict[str, Done], source: Source, tmp_path: Path, name: str, most: int) -> None:
    """An OSError that names the file, and nothing is left."""
    target = tmp_path / "t-0"
    process = start(done[name].code, source, target, most)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert re.search(r"OSError: \[Errno 27\] .*: '.*t-0.*'", told.splitlines()[-1]), told
    assert list(tmp_path.iterdir()) == []
    assert digest(source.folder) == source.content


@pytest.mark.parametrize("name", JOBS)
def test_what_is_there_stays(done: dict[str, Done], source: Source, tmp_path: Path, name: str) -> None:
    """A target that exists, be it an empty folder, a file or a link that leads nowhere."""
    targets = [tmp_path / str(number) / "t-0" for number in range(3)]
    for target in targets:
        target.parent.mkdir()
    targets[0].mkdir()
    targets[1].write_bytes(b"precious")
    targets[2].symlink_to("nowhere")
    for target in targets:
        process = start(done[name].code, source, target)
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert "FileExistsError: [Errno 17]" in told.splitlines()[-1]
        assert list(target.parent.iterdir()) == [target]
    assert list(targets[0].iterdir()) == []
    assert targets[1].read_bytes() == b"precious"
    assert targets[2].is_symlink()
