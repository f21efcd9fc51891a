"""Commit the Parquet files of an export's tasks, all or none; docs/design/spark-export.md describes the protocol.

::

    target/
        .kafkacomp-export                          the decision
        .kafkacomp-lock                            held while a job commits
        .kafkacomp-0.<32 hex digits>-delete/       a job's files (-1: being removed); Parquet readers skip such names
            <32 hex digits>/                       the files of one attempt of a task, in the folders of the target
                topic=orders/part-....parquet.staged
        topic=orders/part-....parquet
        _SUCCESS                                   removed before the first file is moved, created after the last
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkacomp._storage.state_file import (
    MalformedError,
    dictionary,
    fields,
    is_one_name,
    names,
    number,
    open_file,
    open_folder,
    read_json,
    refuse,
    replace_json,
    shown,
    sync_folder,
)
from kafkacomp.spark import _job_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

NAME: Final = ".kafkacomp-export"
#: The suffix of the files in the target, and the one added to it while they are staged.
SUFFIX: Final = ".parquet"
STAGED: Final = ".staged"
_SUCCESS: Final = "_SUCCESS"
_VERSION: Final = 1
_ATTEMPT: Final = re.compile(r"[0-9a-f]{32}")
_STAGING: Final = re.compile(r"\.kafkacomp-0\.[0-9a-f]{32}-delete")

#: What happens to existing files of the target, as in Spark's DataFrameWriter.
SaveMode = Literal["errorifexists", "append", "overwrite"]


@dataclass(frozen=True)
class Pending:
    """A decided export: the folder of its job, the attempts to publish, the files to remove."""

    staging: str
    attempts: list[str]
    removed: list[str]


@dataclass(frozen=True)
class State:
    """The content of :data:`NAME`."""

    generation: int = 0
    pending: Pending | None = None


def check_target(target: Path, save_mode: SaveMode, partition_by: Sequence[str]) -> None:
    """Finish the decided export of a killed job, then refuse a target that cannot be written to.

    Raises:
        FileExistsError: the target has files, and ``save_mode`` is ``errorifexists``.
        NotADirectoryError: the target is a file.
        OSError: the target contains something other than Parquet files; or ``save_mode`` is ``append`` and its files
            are in folders of other columns.
    """
    if target.is_dir():
        if os.path.lexists(target / NAME):
            recover(target)
        _check_content(target, save_mode, partition_by)
    elif os.path.lexists(target):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))


def begin(target: Path) -> Path:
    """Create the folder of a new job."""
    target.mkdir(parents=True, exist_ok=True)
    staging = target / f".kafkacomp-0.{uuid.uuid4().hex}-delete"
    staging.mkdir()
    return staging


def recover(target: Path) -> None:
    """Finish the decided export of a killed job, and remove old folders of other dead jobs.

    Raises:
        OSError: the operating system reports an error, or a file was not written by this library.
    """
    with _job_folder.locked(target):
        _recover(target)


def commit(
    target: Path,
    staging: Path,
    attempts: Mapping[str, Mapping[str, int]],
    save_mode: SaveMode,
    partition_by: Sequence[str],
) -> None:
    """Publish the files of these attempts.

    Args:
        target: The folder of Parquet files.
        staging: The job's folder, which is removed.
        attempts: For each attempt, the sizes of its files by path, relative to its folder.
        save_mode: What happens to existing files of the target.
        partition_by: The columns that become folders.

    Raises:
        OSError: as in :func:`check_target`; the operating system reports an error; or files of a task are missing.
            Either nothing is published, or :func:`recover` can finish it.
    """
    with _job_folder.locked(target):
        state = _recover(target, own=staging.name)
        removed = _check_content(target, save_mode, partition_by)
        _job_folder.check_folder(staging)
        for attempt, written in attempts.items():
            _check_attempt(staging / attempt, written)
        sync_folder(staging)
        pending = Pending(staging.name, list(attempts), removed if save_mode == "overwrite" else [])
        decided = State(state.generation + 1, pending)
        _write_state(target, decided)
        _finish(target, decided, pending)


def discard(target: Path, staging: Path) -> None:
    """Remove the files that a job has staged, unless its export is decided."""
    with contextlib.suppress(FileNotFoundError), _job_folder.locked(target):
        pending = _read_state(target).pending
        if pending is None or pending.staging != staging.name:
            _job_folder.remove(staging)


# ------------------------------------------------------------------------------------- the target


def _check_content(target: Path, save_mode: SaveMode, partition_by: Sequence[str]) -> list[str]:
    """List the Parquet files of the target, by their paths relative to it.

    Raises:
        OSError: see :func:`check_target`.
    """
    if save_mode == "errorifexists":
        for name in sorted(os.listdir(target)):  # noqa: PTH208 - names are enough
            if not name.startswith(".kafkacomp-"):
                reason = "the target has files: choose another target, or save_mode append or overwrite"
                raise FileExistsError(errno.EEXIST, reason, str(target / name))
    found = sorted(_data_files(target))
    if save_mode == "append":
        wanted = tuple(partition_by)
        for path in found:
            columns = tuple(folder.partition("=")[0] for folder in path.split("/")[:-1])
            if columns != wanted:
                there = f"the target is partitioned by {', '.join(columns) or 'no column'}"
                asked = f"partition_by is {', '.join(wanted) or 'empty'}: to append, both must be the same"
                raise OSError(errno.EINVAL, f"{there}, and {asked}", str(target))
    return found


def _data_files(folder: Path, below: str = "") -> Iterator[str]:
    """Yield the Parquet files in a folder and its partition folders; names that readers skip are left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_hidden(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False) and "=" in entry.name:
                yield from _data_files(folder / entry.name, f"{below}{entry.name}/")
            elif entry.is_file(follow_symlinks=False) and entry.name.endswith(SUFFIX):
                yield below + entry.name
            else:
                reason = "not a Parquet file or partition folder: choose a target that contains nothing else"
                raise OSError(errno.EINVAL, reason, entry.path)


def _is_hidden(name: str) -> bool:
    """Whether Spark and pyarrow skip files of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _check_attempt(folder: Path, written: Mapping[str, int]) -> None:
    """Check that the driver sees the files that a task has written."""
    found = {
        path.relative_to(folder).as_posix(): path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()
    }
    if found != dict(written):
        wrong = sorted(found.keys() ^ written.keys()) or sorted(name for name in found if found[name] != written[name])
        reason = (
            f"a task wrote {len(written)} files, {sum(written.values())} bytes, but the driver sees {len(found)} files,"
            f" {sum(found.values())} bytes: driver and executors must share this folder"
        )
        raise OSError(errno.EIO, reason, str(folder / wrong[0]))


# ------------------------------------------------------------------------------------- the state


def _read_state(target: Path) -> State:
    return read_json(target / NAME, _VERSION, _state) or State()


def _write_state(target: Path, state: State) -> None:
    replace_json(target / NAME, {"version": _VERSION, **asdict(state)})


def _state(content: dict[str, Any]) -> State:
    _, generation, pending = fields("the state", content, ("version", "generation", "pending"))
    return State(number("generation", generation), None if pending is None else _pending(pending))


def _pending(content: object) -> Pending:
    staging, attempts, removed = fields("pending", dictionary("pending", content), ("staging", "attempts", "removed"))
    if not isinstance(staging, str) or not _STAGING.fullmatch(staging):
        raise MalformedError(f"{shown(staging)} is not the name of a job's folder")
    names("attempts", attempts, lambda name: _ATTEMPT.fullmatch(name) is not None, "an exported file")
    return Pending(staging, attempts, names("removed", removed, _is_data_file, "an exported file"))


def _is_data_file(path: str) -> bool:
    *folders, file = path.split("/")
    named = all(is_one_name(each) and "=" in each and not _is_hidden(each) for each in folders)
    return named and is_one_name(file) and file.endswith(SUFFIX) and not _is_hidden(file)


# ------------------------------------------------------------------------------------- finishing


def _recover(target: Path, own: str | None = None) -> State:
    state = _read_state(target)
    if state.pending is not None:
        state = _finish(target, state, state.pending)
    _job_folder.remove_dead(target, _STAGING, lambda folder: folder.name != own and _job_folder.is_abandoned(folder))
    return state


def _finish(target: Path, state: State, pending: Pending) -> State:
    """Move all files of a decided export to their places, except those that were moved before."""
    staging = target / pending.staging
    with _job_folder.decided_job(target, staging, NAME) as (root, job):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_SUCCESS, dir_fd=root)
        for path in pending.removed:
            _unlink(target, path.split("/"), root)
        for attempt in pending.attempts:
            if _job_folder.exists(attempt, job):
                with open_folder(staging / attempt, job) as source:
                    _place(staging / attempt, source, target, root)
    os.close(open_file(target / _SUCCESS, None, os.O_WRONLY | os.O_CREAT))
    finished = State(state.generation + 1)
    _write_state(target, finished)
    _job_folder.remove(staging)
    return finished


def _unlink(folder: Path, names: list[str], within: int) -> None:
    """Remove a file, given by the names of its folders and its own, and the folders that this leaves empty."""
    name, *rest = names
    if not _job_folder.exists(name, within):
        return
    if rest:
        with open_folder(folder / name, within) as inner:
            _unlink(folder / name, rest, inner)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=within)
        return
    if not stat.S_ISREG(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode):
        refuse(folder / name, "not a regular file")
    os.unlink(name, dir_fd=within)


def _place(source: Path, staged: int, target: Path, within: int) -> None:
    """Move the staged files in a folder, and in the folders in it, to the same place in the target."""
    for name in sorted(os.listdir(staged)):
        if _job_folder.is_folder(name, staged):
            if "=" not in name:
                refuse(source / name, "not a partition folder")
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=within)
            with open_folder(source / name, staged) as inner, open_folder(target / name, within) as place:
                _place(source / name, inner, target / name, place)
            continue
        placed = name.removesuffix(STAGED)
        is_file = stat.S_ISREG(os.stat(name, dir_fd=staged, follow_symlinks=False).st_mode)
        if not is_file or placed == name or not _is_data_file(placed):
            refuse(source / name, "not a file of an export")
        if _job_folder.exists(placed, within):
            raise FileExistsError(errno.EEXIST, "a file of a decided export cannot replace it", str(target / placed))
        os.rename(name, placed, src_dir_fd=staged, dst_dir_fd=within)
    os.fsync(within)
