"""Files and links in a log folder that somebody else made: nothing outside is touched, and an error names them."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from commit_jobs import content, job, staged
from kafkacomp._storage import commit_state
from kafkacomp.spark import _job_folder
from kafkacomp.spark._commit import discard, new_staging, recover

if TYPE_CHECKING:
    from collections.abc import Callable

STAGING = f"kafkacomp-0.{'0123456789abcdef' * 2}-delete"
PENDING: dict[str, Any] = {"staging": STAGING, "removed": [], "written": [], "lengths": {}}
STATE: dict[str, Any] = {"version": 1, "generation": 3, "pending": None, "batches": {}}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A log folder, beside which lies what must not be touched."""
    made = tmp_path / "target"
    made.mkdir()
    job(made, {("t", 0): 3})
    for name in ("home", "victim-0", STAGING):
        for folder in ("", "out/t-0", "old"):
            (tmp_path / name / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / name / folder / f"{0:020}.log").write_bytes(b"precious")
    return made


def tree(folder: Path) -> dict[str, object]:
    """Every file and folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else os.path.islink(path)  # noqa: PTH114
        for path in sorted(folder.rglob("*"))
        if not path.is_fifo() and not path.is_socket()
    }


def outside(target: Path) -> dict[str, object]:
    return {name: each for name, each in tree(target.parent).items() if not name.startswith("target")}


def forge(target: Path, state: object) -> None:
    (target / commit_state.NAME).write_text(state if isinstance(state, str) else json.dumps(state))


def is_refused(target: Path, named: Path, *, reads: bool = True) -> None:
    """Writers, and readers if it concerns them, raise an error that names the file; nothing changes."""
    before, inside = outside(target), tree(target)
    calls: list[Callable[[], object]] = [
        lambda: recover(target),
        lambda: discard(target, new_staging(target)),
        *([lambda: kc.scan(target)] if reads else []),
    ]
    for call in calls:
        with pytest.raises(OSError, match=r"kafkacomp|reads version") as raised:
            call()
        assert str(raised.value.filename) == str(named)
    assert outside(target) == before
    assert tree(target) == inside


@pytest.mark.parametrize(
    "names",
    [
        {"staging": "../home"},
        {"staging": "../" + STAGING},
        {"staging": "/etc"},
        {"staging": "."},
        {"staging": ""},
        {"staging": "t-0"},
        {"staging": STAGING + "/../../home"},
        {"staging": STAGING + "\n"},
        {"staging": STAGING.upper()},
        {"staging": STAGING.replace("-0.", "-1.")},
        {"staging": None},
        {"staging": [STAGING]},
        {"removed": ["../victim-0"]},
        {"removed": ["/victim-0"]},
        {"removed": ["x/../../victim-0"]},
        {"removed": ["t-0\0"]},
        {"removed": [""]},
        {"removed": [".."]},
        {"removed": ["t"]},
        {"removed": ["t-2147483648"]},
        {"removed": [7]},
        {"removed": "t-0"},
        {"removed": {"t-0": 1}},
        {"removed": ["t-0", "t-0"]},
        {"written": ["../victim-0"]},
        {"written": ["..\\victim-0"]},
        {"written": [["t-0"]]},
        {"written": 3},
        {"lengths": []},
        {"lengths": {"../victim-0": {}}},
        {"written": ["t-0"], "lengths": {"t-0": {"../x.log": 1}}},
        {"written": ["t-0"], "lengths": {"t-0": {f"{0:020}.log": -1}}},
        {"written": ["t-0"], "lengths": {"t-0": {f"{0:020}.log": True}}},
        {"written": ["t-0"], "lengths": {"t-0": 4}},
        {"more": 1},
    ],
)
def test_forged_names(target: Path, names: dict[str, Any]) -> None:
    (target / STAGING / "out").mkdir(parents=True)
    forge(target, {**STATE, "pending": {**PENDING, **names}})
    is_refused(target, target / commit_state.NAME)


@pytest.mark.parametrize(
    "state",
    [
        "",
        "{",
        "null",
        "[" * 100_000,
        '{"version": 1, "pending": ' + '{"a":' * 100_000,
        '{"version": 1' + "0" * 5000 + "}",
        "\0" * 50,
        "\ud7ff",
        {},
        {"version": 1},
        {"version": 2},
        {"version": True},
        {"version": "1"},
        {**STATE, "more": 1},
        {**STATE, "generation": "3"},
        {**STATE, "generation": -1},
        {**STATE, "generation": 1.0},
        {**STATE, "generation": 10**30},
        {**STATE, "generation": None},
        {**STATE, "pending": {}},
        {**STATE, "pending": []},
        {**STATE, "pending": STAGING},
        {**STATE, "pending": {"staging": STAGING}},
        {**STATE, "batches": None},
        {**STATE, "batches": []},
        {**STATE, "batches": {"query": "1"}},
        {**STATE, "batches": {"query": {}}},
    ],
)
def test_malformed_states(target: Path, state: object) -> None:
    forge(target, state)
    is_refused(target, target / commit_state.NAME)


def not_a_file(path: Path, kind: str) -> None:
    """Make something that is not a regular file."""
    path.unlink(missing_ok=True)
    match kind:
        case "link":
            path.symlink_to(path.parent.parent / "home" / f"{0:020}.log")
        case "dangling":
            path.symlink_to(path.parent.parent / "nothing")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                # Paths of sockets are short.
                here = Path.cwd()
                os.chdir(path.parent)
                try:
                    made.bind(path.name)
                finally:
                    os.chdir(here)


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder", "socket"])
@pytest.mark.parametrize("name", [commit_state.NAME, f"{commit_state.NAME}.new", ".kafkacomp-lock"])
def test_something_else_in_the_place_of_a_file(target: Path, kind: str, name: str) -> None:
    """No link is followed, nothing is waited for, nothing is written through it."""
    path = target / name
    not_a_file(path, kind)
    before = outside(target)
    if name.endswith(".new"):
        with pytest.raises(OSError, match="not a regular file") as raised:
            job(target, {("t", 0): 1}, first=3)
        assert str(raised.value.filename) == str(path)
        assert content(target) == {"t-0": [0, 1, 2]}
        path.rmdir() if kind == "folder" else path.unlink()
        job(target, {("t", 0): 1}, first=3)
        assert content(target) == {"t-0": [0, 1, 2, 3]}
    else:
        is_refused(target, path, reads=name == commit_state.NAME)
    assert outside(target) == before


def test_a_new_state_that_a_killed_job_left(target: Path) -> None:
    """It is replaced, not written to: it may be a link to another file."""
    home = target.parent / "home" / f"{0:020}.log"
    os.link(home, target / f"{commit_state.NAME}.new")
    job(target, {("t", 0): 1}, first=3)
    assert content(target) == {"t-0": [0, 1, 2, 3]}
    assert home.read_bytes() == b"precious"
    assert not (target / f"{commit_state.NAME}.new").exists()


@pytest.mark.parametrize("where", ["", "out", "out/t-0", "old", "missing", "file"])
def test_a_job_that_leads_elsewhere(target: Path, where: str) -> None:
    """Each folder of a decided write may be a link to one outside."""
    staging, victim = target / STAGING, target.parent / STAGING
    if where == "":
        staging.symlink_to(victim)
    elif where == "file":
        staging.write_bytes(b"")
    elif where != "missing":
        (staging / where).parent.mkdir(parents=True)
        (staging / where).symlink_to(victim / where)
        (staging / "out").mkdir(exist_ok=True)
    forge(target, {**STATE, "pending": {**PENDING, "removed": ["t-0"], "written": ["t-0"]}})
    before = outside(target)
    for _ in range(2):
        with pytest.raises(OSError, match=r"kafkacomp|abandon that write"):
            recover(target)
        with pytest.raises(OSError, match=r"kafkacomp|abandon that"):
            job(target, {("t", 0): 1}, first=3)
    assert outside(target) == before
    (target / commit_state.NAME).unlink()
    recover(target)
    assert outside(target) == before


@pytest.mark.parametrize("removed", [True, False])
def test_a_partition_that_leads_elsewhere(target: Path, removed: bool) -> None:
    shutil.rmtree(target / "t-0")
    (target / "t-0").symlink_to(target.parent / "victim-0")
    before = outside(target)
    for overwrite in (False, True):
        with pytest.raises(OSError, match="symbolic link"):
            job(target, {("t", 0): 1}, overwrite=overwrite)
        recover(target)
    out = target / STAGING / "out" / "t-0"
    out.mkdir(parents=True)
    (out / f"{0:020}.log").write_bytes(b"new")
    names = {"removed": ["t-0"]} if removed else {"written": ["t-0"]}
    forge(target, {**STATE, "pending": {**PENDING, **names}})
    with pytest.raises(OSError, match="t-0"):
        recover(target)
    assert outside(target) == before


def test_what_is_not_a_log_is_not_removed(target: Path) -> None:
    (target / "photos-2024").mkdir()
    (target / "photos-2024" / "cat.jpg").touch()
    (target / STAGING / "out").mkdir(parents=True)
    forge(target, {**STATE, "pending": {**PENDING, "removed": ["photos-2024"]}})
    with pytest.raises(OSError, match="photos-2024"):
        recover(target)
    assert (target / "photos-2024" / "cat.jpg").exists()


def test_links_with_the_names_of_jobs(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of jobs that are dead are removed; a link of such a name is left, and what it leads to."""
    monkeypatch.setattr(_job_folder, "ABANDONED", -1.0)
    before = outside(target)
    for number in (0, 1):
        (target / f"kafkacomp-{number}.{'a' * 32}-delete").symlink_to(target.parent / STAGING)
    (target / f"kafkacomp-0.{'b' * 32}-delete").mkdir()
    (target / f"kafkacomp-0.{'b' * 32}-delete" / "link").symlink_to(target.parent / "home")
    recover(target)
    assert outside(target) == before
    assert len([*target.glob("kafkacomp-*")]) == 2


def test_a_file_of_a_job_that_leads_elsewhere(target: Path) -> None:
    staging = new_staging(target)
    staged(staging, 0, {("t", 0): 1})
    staging.rename(target / STAGING)
    out = target / STAGING / "out" / "t-0"
    out.mkdir(parents=True)
    (out / f"{3:020}.log").symlink_to(target.parent / "home" / f"{0:020}.log")
    forge(target, {**STATE, "pending": {**PENDING, "written": ["t-0"]}})
    with pytest.raises(OSError, match="not a regular file"):
        recover(target)
    assert [path.name for path in (target / "t-0").glob("*.log")] == [f"{0:020}.log"]


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", f"{3:020}.snapshot"])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_file_that_is_not_regular_is_not_read(target: Path, name: str, kind: str) -> None:
    """An append reads it to find the log's end; a FIFO would let it wait for a writer, a device would never end."""
    path = target / "t-0" / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    before = {file.name for file in (target / "t-0").iterdir()}
    with pytest.raises(OSError, match="not a regular file") as raised:
        job(target, {("t", 0): 2}, first=3)
    assert str(raised.value.filename) == str(path)
    assert {file.name for file in (target / "t-0").iterdir()} == before
