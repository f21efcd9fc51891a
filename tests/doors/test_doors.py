"""Every door gives one answer about a folder: the same rows, and the same missing ranges with the same reasons."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from corruption.inject import KINDS, Injected, applies, inject
from corruption.logs import Log, all_logs
from doors.answers import Source
from doors.compare import differences
from golden.expect import SMALL, LegacyFile, label, legacy_files, modern_cases, roots

#: Partition folders of real brokers. What is meant as damage is among them.
FOLDERS = sorted({path.parent for path in (SMALL / "modern").rglob("*.log")})
FULL = sorted(
    (
        {path.parent for case in modern_cases() for path in case.folder.rglob("*.log")}
        | {
            path.parent
            for name in ("modern-4.4", "internal")
            for root in roots(name)
            for path in root.rglob("*.log")
            if path.stem.isdecimal()
        }
    )
    - set(FOLDERS)
)
#: Segments that brokers of older releases wrote.
LEGACY = [each for each in legacy_files() if each.path.suffix == ".log" and each.about["messages"]]
CASES = [(kind, log) for kind in KINDS for log in all_logs() if applies(kind, log)]
#: One log for each kind, another one each time.
SOME = [
    found[number % len(found)]
    for number, kind in enumerate(KINDS)
    if (found := [each for each in CASES if each[0] == kind])
]


def damaged(kind: str, log: Log, seed: str) -> Injected:
    """An injection, the same for the same arguments."""
    return inject(log, kind, random.Random(f"doors {kind} {log.name}{seed}"))


def copied(source: Path, target: Path) -> Source:
    """A copy of a partition folder."""
    shutil.copytree(source, target / source.name)
    return Source(target / source.name, target)


def name_of(value: object) -> str:
    """The name of a folder, a kind or a log in test ids."""
    return f"{value.parent.name}-{value.name}" if isinstance(value, Path) else str(value).replace(" ", "-")


@pytest.mark.parametrize("source", FOLDERS, ids=name_of)
def test_folders_of_brokers(source: Path, tmp_path: Path) -> None:
    """Intact ones, and those that the vectors call damaged."""
    assert differences(copied(source, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("source", FULL, ids=name_of)
def test_all_folders_of_brokers(source: Path, tmp_path: Path) -> None:
    """The same with all vectors."""
    assert differences(copied(source, tmp_path)) == []


def legacy_cases() -> list[object]:
    """A segment of each release, and in the slow tests all of them."""
    releases = {each.path.parent: each for each in reversed(LEGACY) if label(each.root) == "small"}
    chosen = {each.path for each in releases.values()}
    return [
        pytest.param(each, id=str(each), marks=[] if each.path in chosen else [pytest.mark.slow]) for each in LEGACY
    ]


@pytest.mark.parametrize("file", legacy_cases())
def test_segments_of_older_brokers(file: LegacyFile, tmp_path: Path) -> None:
    """In a folder of their own."""
    first = file.records()[0]["offset"]
    (tmp_path / "topic-0").mkdir()
    shutil.copyfile(file.path, tmp_path / "topic-0" / f"{first:020}.log")
    assert differences(Source(tmp_path / "topic-0", tmp_path)) == []


@pytest.mark.parametrize(("kind", "log"), SOME, ids=name_of)
def test_damage(kind: str, log: Log, tmp_path: Path) -> None:
    """One injection of each kind."""
    injected = damaged(kind, log, "")
    assert differences(Source(injected.write(tmp_path), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "log"), CASES, ids=name_of)
def test_all_damage(kind: str, log: Log, tmp_path: Path) -> None:
    """Each kind in each log, at three places."""
    for place in range(3):
        injected = damaged(kind, log, f" {place}")
        folder = tmp_path / str(place)
        assert differences(Source(injected.write(folder), folder)) == []
