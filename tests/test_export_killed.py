"""Whatever ends an export: its file is whole or not there, and what is left is not taken for data."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from test_whole_or_absent import kill

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60.0
FORMATS = ("parquet", "arrow", "csv", "jsonl")
UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.tmp")
RECORDS = 30_000

PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from kafkacomp._cli import main

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if most := int(sys.argv.pop(1)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
{hook}
sys.exit(main())
"""
HOOKS = {
    "before the name": "os.link = die",
    "after the name": "Path.unlink = die",
    "before it is replaced": "Path.replace = die",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    rng = random.Random(15)
    values = [rng.randbytes(40).hex() for _ in range(RECORDS)]
    kc.write(pa.table({"value": pa.array(values, pa.string())}), folder, topic="t", segment_bytes=1 << 19)
    return folder / "t-0"


def start(source: Path, target: Path, *options: str, hook: str = "", most: int = 0) -> subprocess.Popen[str]:
    arguments = [str(most), "export", str(source), "-o", str(target), *options]
    command = [sys.executable, "-c", PROGRAM.format(hook=hook), *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def done(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, float]]:
    """Each format's file, and how long it takes."""
    found = {}
    for kind in FORMATS:
        target = tmp_path_factory.mktemp(kind) / f"t.{kind}"
        began = time.perf_counter()
        assert start(source, target).wait(PATIENCE) == 0
        found[kind] = (target.read_bytes(), time.perf_counter() - began)
        assert list(target.parent.iterdir()) == [target]
    return found


def look(target: Path, whole: bytes) -> bool:
    """Whether the file is there; what is there is whole, and what else there is, nobody reads."""
    there = target.exists()
    if there:
        assert target.read_bytes() == whole
    others = [path.name for path in target.parent.iterdir() if path != target]
    assert [name for name in others if not UNFINISHED.fullmatch(name)] == []
    with pytest.raises((FileNotFoundError, ValueError)):
        kc.scan(target.parent)
    return there


@pytest.mark.parametrize("kind", FORMATS)
def test_killed_at_any_time(done: dict[str, tuple[bytes, float]], source: Path, tmp_path: Path, kind: str) -> None:
    whole, seconds = done[kind]
    rng = random.Random(kind)
    target = tmp_path
    for turn in range(3):
        target = tmp_path / str(turn) / f"t.{kind}"
        target.parent.mkdir()
        moment = time.perf_counter() + seconds * (0.35 + 0.2 * turn + 0.2 * rng.random())
        kill(start(source, target), lambda at=moment: time.perf_counter() > at)  # type: ignore[misc]
        look(target, whole)
    # What is left is in nobody's way.
    assert start(source, target, "--force").wait(PATIENCE) == 0
    assert look(target, whole)


@pytest.mark.parametrize("kind", FORMATS)
def test_killed_when_it_appears(done: dict[str, tuple[bytes, float]], source: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"t.{kind}"
    kill(start(source, target), target.exists)
    assert look(target, done[kind][0])


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("kind", FORMATS)
def test_killed_beside_the_name(
    done: dict[str, tuple[bytes, float]], source: Path, tmp_path: Path, kind: str, hook: str
) -> None:
    """The data are complete, and the file has its name not yet, or just now; a file that is to be replaced stays."""
    target = tmp_path / f"t.{kind}"
    replaces = hook == "before it is replaced"
    if replaces:
        target.write_bytes(b"precious")
    process = start(source, target, *["--force"] * replaces, hook=HOOKS[hook])
    assert process.wait(PATIENCE) == -signal.SIGKILL
    if replaces:
        assert target.read_bytes() == b"precious"
        assert len(list(tmp_path.iterdir())) == 2
    else:
        assert look(target, done[kind][0]) == (hook == "after the name")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("most", [100, 200_000])
def test_full_disk(done: dict[str, tuple[bytes, float]], source: Path, tmp_path: Path, kind: str, most: int) -> None:
    """Exit status 3 with the reason in one line, and nothing is left."""
    assert len(done[kind][0]) > most
    process = start(source, tmp_path / f"t.{kind}", most=most)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, told
    assert "File too large" in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []
