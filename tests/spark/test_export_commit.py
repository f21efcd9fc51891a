"""The commit of an export, killed at every step of it: what was there before, or all of it after the next run."""

from __future__ import annotations

import gc
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commit_jobs import killed_at
from kafkacomp.arrow._hive import folder_name
from kafkacomp.spark import _export_commit, _job_folder
from kafkacomp.spark._export_commit import NAME, begin, check_target, commit, discard, recover
from kafkacomp.spark._export_files import TaskFiles

if TYPE_CHECKING:
    from pathlib import Path

STAGING = f".kafkacomp-0.{'a' * 32}-delete"
ATTEMPT = "b" * 32
HIDDEN = {".kafkacomp-export", ".kafkacomp-lock"}


def attempt(
    staging: Path, number: int, rows: list[dict[str, Any]], partition_by: tuple[str, ...] = ()
) -> dict[str, int]:
    """The files of an attempt, which is named by its number."""
    folder = staging / f"{number:032x}"
    folder.mkdir()
    files = TaskFiles(folder, f"part-{staging.name[13:21]}-{number}", partition_by, "snappy")
    schema = pa.schema([("topic", pa.string()), ("offset", pa.int64())])
    files.write(pa.RecordBatch.from_pylist(rows, schema))
    files.close()
    return files.sizes


def job(target: Path, offsets: list[int], save_mode: Any = "append", partition_by: tuple[str, ...] = ()) -> None:
    """One job of two tasks, of which one has an attempt that does not count."""
    check_target(target, save_mode, partition_by)
    staging = begin(target)
    half = len(offsets) // 2
    rows = [{"topic": "even" if n % 2 == 0 else "odd", "offset": n} for n in offsets]
    attempt(staging, 7, rows, partition_by)
    counted = {
        f"{1:032x}": attempt(staging, 1, rows[:half], partition_by),
        f"{2:032x}": attempt(staging, 2, rows[half:], partition_by),
    }
    commit(target, staging, counted, save_mode, partition_by)


def content(target: Path) -> list[int]:
    """The offsets that a reader of all Parquet files finds."""
    files = [path for path in target.rglob("*.parquet") if not path.relative_to(target).parts[0].startswith(".")]
    return sorted(offset for path in files for offset in pq.ParquetFile(path).read()["offset"].to_pylist())


def names(target: Path) -> set[str]:
    return {path.name for path in target.iterdir()} - HIDDEN


@pytest.mark.parametrize("partition_by", [(), ("topic",)])
def test_save_modes(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    target = tmp_path / "new" / "target"
    job(target, [1, 2, 3, 4], "errorifexists", partition_by)
    assert content(target) == [1, 2, 3, 4]
    assert (target / "_SUCCESS").exists()
    assert not list(target.glob("*-delete"))
    if partition_by:
        assert names(target) == {"_SUCCESS", "topic=even", "topic=odd"}
    with pytest.raises(
        FileExistsError, match="the target has files: choose another target, or save_mode append or overwrite"
    ):
        job(target, [5], "errorifexists", partition_by)
    job(target, [5, 6], "append", partition_by)
    assert content(target) == [1, 2, 3, 4, 5, 6]
    job(target, [8, 10], "overwrite", partition_by)
    assert content(target) == [8, 10]
    if partition_by:
        assert names(target) == {"_SUCCESS", "topic=even"}
    with pytest.raises(OSError, match=r"target is partitioned by .* to append, both must be the same"):
        job(target, [1], "append", () if partition_by else ("topic",))
    job(target, [1], "overwrite", () if partition_by else ("topic",))
    assert content(target) == [1]


@pytest.mark.parametrize("save_mode", ["append", "overwrite"])
def test_killed_in_its_commit_an_export_is_finished_or_undone(tmp_path: Path, save_mode: str) -> None:
    before, new = [1, 2, 3], [*range(10, 20)]
    after = new if save_mode == "overwrite" else before + new
    seen = []
    was_killed = True
    for step in range(200):
        target = tmp_path / str(step)
        job(target, before, partition_by=("topic",))
        was_killed = killed_at(step, lambda t=target: job(t, new, save_mode, ("topic",)))  # type: ignore[misc]
        found = content(target)
        is_decided = _export_commit._read_state(target).pending is not None
        if not is_decided:
            assert found in (before, after)
        if found != after:
            assert is_decided or found == before
        # Spark's mark of a finished write is not there while files are moved.
        assert not is_decided or found in (before, after) or not (target / "_SUCCESS").exists()
        recover(target)
        assert content(target) == (after if is_decided else found)
        assert (target / "_SUCCESS").exists()
        seen.append("pending" if is_decided else "before" if found == before else "after")
        if seen[-1] == "before":
            job(target, new, save_mode, ("topic",))
            assert content(target) == after
        if not was_killed:
            break
        shutil.rmtree(target)
    assert not was_killed
    assert seen == sorted(seen, key=["before", "pending", "after"].index)
    assert set(seen) == {"before", "pending", "after"}


def test_the_next_export_finishes_what_was_decided(tmp_path: Path) -> None:
    """Also one that then refuses the target: its reader must not find half of what is there."""
    target = tmp_path / "target"
    for step in range(200):
        shutil.rmtree(target, ignore_errors=True)
        assert killed_at(step, lambda: job(target, [*range(8)]))
        if target.exists() and _export_commit._read_state(target).pending is not None:
            break
    with pytest.raises(FileExistsError):
        job(target, [9], "errorifexists")
    assert content(target) == [*range(8)]


def test_what_tasks_wrote_must_be_there(tmp_path: Path) -> None:
    staging = begin(tmp_path)
    files = attempt(staging, 1, [{"topic": "t", "offset": 1}])
    (path,) = (staging / f"{1:032x}").iterdir()
    for wrong in ({**files, "more.parquet.staged": 3}, {name: size + 1 for name, size in files.items()}, {}):
        with pytest.raises(OSError, match="driver and executors must share this folder"):
            commit(tmp_path, staging, {f"{1:032x}": wrong}, "append", ())
    with pytest.raises(OSError, match="driver and executors must share this folder"):
        commit(tmp_path, staging, {f"{2:032x}": files}, "append", ())
    assert path.exists()
    assert content(tmp_path) == []
    discard(tmp_path, staging)
    assert {each.name for each in tmp_path.iterdir()} == {".kafkacomp-lock"}


def test_two_jobs_at_a_time(tmp_path: Path) -> None:
    """Both append; of two that want the target for themselves the second is refused."""
    jobs = [begin(tmp_path) for _ in range(2)]
    files = [{f"{1:032x}": attempt(each, 1, [{"topic": "t", "offset": n}])} for n, each in enumerate(jobs)]
    commit(tmp_path, jobs[0], files[0], "errorifexists", ())
    with pytest.raises(FileExistsError):
        commit(tmp_path, jobs[1], files[1], "errorifexists", ())
    commit(tmp_path, jobs[1], files[1], "append", ())
    assert content(tmp_path) == [0, 1]


def test_remains_of_a_dead_job_go_after_a_day(tmp_path: Path) -> None:
    job(tmp_path, [1])
    staging = begin(tmp_path)
    attempt(staging, 1, [{"topic": "t", "offset": 1}])
    recover(tmp_path)
    assert staging.exists()
    old = time.time() - _job_folder.ABANDONED - 60
    for path in (*staging.rglob("*"), staging):
        os.utime(path, (old, old))
    recover(tmp_path)
    assert not staging.exists()
    assert content(tmp_path) == [1]


@pytest.mark.parametrize(
    "name", ["notes.txt", "orders-0/00000000000000000000.log", "a.parquet/x", "topic=x/y/z.parquet"]
)
@pytest.mark.parametrize("save_mode", ["errorifexists", "append", "overwrite"])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, name: str, save_mode: Any) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(OSError, match=r"the target has files|not a Parquet file or partition folder"):
        job(tmp_path, [1], save_mode)
    assert (tmp_path / name).read_bytes() == b"precious"
    assert not list(tmp_path.glob(".kafkacomp-0*"))
    assert not (tmp_path / NAME).exists()


def test_a_file_and_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        job(tmp_path / "file", [1])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "topic=even").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="not a Parquet file or partition folder"):
        job(tmp_path / "target", [2], "append", ("topic",))
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    "pending",
    [
        {"staging": "../home"},
        {"staging": STAGING + "/.."},
        {"staging": STAGING[1:]},
        {"attempts": [".."]},
        {"attempts": [ATTEMPT + "/.."]},
        {"attempts": [ATTEMPT.upper()]},
        {"attempts": ATTEMPT},
        {"attempts": [1]},
        {"removed": ["../home/x.parquet"]},
        {"removed": ["/x.parquet"]},
        {"removed": ["a=1/../../home/x.parquet"]},
        {"removed": ["topic/x.parquet"]},
        {"removed": ["x.txt"]},
        {"removed": [".x.parquet"]},
        {"removed": ["a=1//x.parquet"]},
        {"removed": None},
        {"more": 1},
    ],
)
def test_forged_states(tmp_path: Path, pending: dict[str, Any]) -> None:
    target = tmp_path / "target"
    for name in ("home", f"target/{STAGING}/{ATTEMPT}"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.parquet").write_bytes(b"precious")
    whole = {"staging": STAGING, "attempts": [ATTEMPT], "removed": []}
    (target / NAME).write_text(json.dumps({"version": 1, "generation": 1, "pending": {**whole, **pending}}))
    with pytest.raises(OSError, match="not written by kafkacomp; nothing was changed") as raised:
        recover(target)
    assert raised.value.filename == str(target / NAME)
    assert (tmp_path / "home" / "x.parquet").exists()
    assert (target / STAGING / ATTEMPT / "x.parquet").exists()


@pytest.mark.parametrize("name", ["x.parquet", "x.txt.staged", ".x.parquet.staged", "topic/x.parquet.staged"])
def test_only_files_of_an_export_get_a_place(tmp_path: Path, name: str) -> None:
    path = tmp_path / STAGING / ATTEMPT / name
    path.parent.mkdir(parents=True)
    path.touch()
    pending = {"staging": STAGING, "attempts": [ATTEMPT], "removed": []}
    (tmp_path / NAME).write_text(json.dumps({"version": 1, "generation": 1, "pending": pending}))
    with pytest.raises(OSError, match="not written by kafkacomp"):
        recover(tmp_path)
    assert path.exists()


def test_a_link_in_place_of_a_partition_folder(tmp_path: Path) -> None:
    """One that is made between the decision and its end is not followed."""
    target = tmp_path / "target"
    (target / STAGING / ATTEMPT / "topic=a").mkdir(parents=True)
    (target / STAGING / ATTEMPT / "topic=a" / "x.parquet.staged").touch()
    (tmp_path / "home").mkdir()
    (target / "topic=a").symlink_to(tmp_path / "home")
    pending = {"staging": STAGING, "attempts": [ATTEMPT], "removed": []}
    (target / NAME).write_text(json.dumps({"version": 1, "generation": 1, "pending": pending}))
    with pytest.raises(OSError, match="not a folder"):
        recover(target)
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("orders", "orders"),
        (3, "3"),
        (True, "true"),
        (None, "__HIVE_DEFAULT_PARTITION__"),
        ("", "__HIVE_DEFAULT_PARTITION__"),
        ("/logs/a b=c%", "%2Flogs%2Fa b%3Dc%25"),
        ("..", ".."),
    ],
)
def test_names_of_partition_folders(value: object, name: str) -> None:
    assert folder_name("column", value) == f"column={name}"


def test_many_partition_folders_and_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More folders than files can be open, and more rows than may be held: each row comes once, in order."""
    monkeypatch.setattr("kafkacomp.spark._export_files.ROW_GROUP_BYTES", 2000)
    monkeypatch.setattr("kafkacomp.spark._export_files._MOST_OPEN", 3)
    files = TaskFiles(tmp_path, "part", ("topic",), "none")
    for start in range(0, 1000, 100):
        rows = [{"topic": f"t{n * n % 7}" if n % 11 else None, "offset": n} for n in range(start, start + 100)]
        files.write(pa.RecordBatch.from_pylist(rows, pa.schema([("topic", pa.string()), ("offset", pa.int64())])))
    files.close()
    assert files.rows == 1000
    assert len(files.sizes) > 5
    found: dict[str, list[int]] = {}
    for name in sorted(files.sizes, key=lambda each: each.rpartition("-")[2]):
        found.setdefault(name.partition("/")[0], []).extend(
            pq.ParquetFile(tmp_path / name).read()["offset"].to_pylist()
        )
        assert (tmp_path / name).stat().st_size == files.sizes[name]
    assert found.pop("topic=__HIVE_DEFAULT_PARTITION__") == [*range(0, 1000, 11)]
    for name, offsets in found.items():
        assert offsets == [n for n in range(1000) if n % 11 and f"topic=t{n * n % 7}" == name]


def test_abandoned_files_say_nothing(tmp_path: Path) -> None:
    """The destructor of pyarrow's writer would write a footer to the closed file, and print that it cannot."""
    files = TaskFiles(tmp_path, "part", (), "none")
    files.write(pa.RecordBatch.from_pydict({"offset": [0]}))
    files.abandon()
    del files
    gc.collect()
