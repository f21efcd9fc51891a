"""How tasks' files become logs, all or nothing; docs/design/spark-write.md has the protocol.

::

    target/
        .kafkacomp-commit                          what is decided, see kafkacomp._storage.commit_state
        .kafkacomp-lock                            held while a job commits
        kafkacomp-0.<32 hex digits>-delete/        a job's files (-1: to be removed); brokers and scans pass it over
            <task>.<number>.batches                a task's batches of one topic-partition, offsets from 0
            out/<topic>-<partition>/               the segments made of them
            old/<topic>-<partition>/               what an overwrite removes
        <topic>-<partition>/
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.commit_state import NAME, STAGING, Pending, State, read_state, write_state
from kafkacomp._storage.names import is_segment, partition_of
from kafkacomp._storage.state_file import open_file, open_folder, refuse, sync_folder
from kafkacomp.spark._conflicting_writers import check_untouched, lengths
from kafkacomp.spark._job_folder import ABANDONED, check_folder, exists, is_folder, locked, remove, touched

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Staged", "check_target", "commit", "discard", "new_staging", "partition_counts", "recover"]

_DEAD = re.compile(r"kafkacomp-1\.[0-9a-f]{32}-delete")
#: Folders are assembled by so many threads: a disk gains nothing from more.
_THREADS = 4
#: Digits of a job's folder that tell whose it is.
_OWNER = 16
_COMPANIONS = {"leader-epoch-checkpoint", "partition.metadata"}


@dataclass(frozen=True)
class Staged:
    """A task's batches of one topic-partition."""

    topic: str
    partition: int
    path: Path
    size: int
    batches: int
    records: int

    @classmethod
    def of(cls, file: _kafkacomp.StagedFile) -> Staged:
        """What the core has staged, in a form that Spark pickles."""
        return cls(file.topic, file.partition, file.path, file.bytes, file.batches, file.records)


def new_staging(target: Path, owner: str | None = None) -> Path:
    """A name for a job's folder.

    Those of one ``owner``, whose jobs come one after another, begin alike; all of them go when one is committed or
    discarded, because Spark makes the writers that stage a stream's batch and those that commit it independently.
    """
    part = uuid.uuid5(uuid.NAMESPACE_URL, owner).hex if owner is not None else uuid.uuid4().hex
    return target / f"kafkacomp-0.{part[:_OWNER]}{uuid.uuid4().hex[_OWNER:]}-delete"


def check_target(target: Path) -> None:
    """Refuse a folder that cannot hold topic-partition folders.

    Raises:
        ValueError: it is itself a partition's folder.
        NotADirectoryError: it is a file.
    """
    if target.is_dir():
        if any(is_segment(path.name) for path in target.iterdir()):
            raise ValueError(f"{target} has segments: it is a partition's folder; give the one that it is in")
    elif os.path.lexists(target):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))


def partition_counts(target: Path) -> dict[str, int]:
    """How many partitions each topic has there, by its highest number."""
    counts: dict[str, int] = {}
    for name in _logs(target):
        topic, _, number = name.rpartition("-")
        counts[topic] = max(counts.get(topic, 0), int(number) + 1)
    return counts


def recover(target: Path) -> None:
    """Finish what a killed job had decided, and clear away what others left long ago.

    Raises:
        OSError: EEXIST: somebody else has written to the logs meanwhile.
    """
    with locked(target):
        _recover(target)


def commit(
    target: Path,
    staging: Path,
    staged: Iterable[Staged],
    *,
    overwrite: bool,
    segment_bytes: int,
    topic_id: str | None = None,
    batch: tuple[str, int] | None = None,
) -> bool:
    """Publish what tasks have staged, in the order given.

    Args:
        target: The folder with the topic-partition folders.
        staging: The job's folder, which is removed.
        staged: What tasks wrote, in the order that the records are to have.
        overwrite: Whether all logs that are there are removed.
        segment_bytes: See :func:`kafkacomp.write`.
        topic_id: For ``partition.metadata`` of folders that have none.
        batch: A streaming query and the number of its batch, which is written once.

    Returns:
        False if the batch had been written before.

    Raises:
        CorruptRecordError: a log that is to be continued is damaged at its end.
        OSError: the operating system refuses. Nothing is published, unless :func:`recover` can finish it.
    """
    with locked(target):
        state = _recover(target, own=staging)
        if batch is not None and state.batches.get(batch[0], -1) >= batch[1]:
            _remove_all(target, staging)
            return False
        check_folder(staging)
        logs = _logs(target)
        out = staging / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        partitions: dict[str, list[Staged]] = {}
        for each in staged:
            _check_size(each)
            partitions.setdefault(f"{each.topic}-{each.partition}", []).append(each)

        for name in partitions:
            if os.path.lexists(target / name):
                if not (target / name).is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target / name))
                check_folder(target / name)

        def assemble(name: str) -> None:
            known_id = _topic_id(target / name) if name in logs else None
            continued = name in logs and not overwrite
            _kafkacomp.assemble_log(
                [each.path for each in partitions[name]],
                out / name,
                target / name if continued else None,
                segment_bytes,
                None if continued and known_id else known_id or topic_id,
            )

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(assemble, sorted(partitions)))
        sync_folder(out)
        sync_folder(staging)
        batches = state.batches if batch is None else {**state.batches, batch[0]: batch[1]}
        known = {name: lengths(None if overwrite else target / name, out / name) for name in partitions}
        pending = Pending(staging.name, logs if overwrite else [], sorted(partitions), known)
        decided = State(state.generation + 1, pending, batches)
        write_state(target, decided)
        _finish(target, decided, pending)
        _remove_all(target, staging)
        return True


def discard(target: Path, staging: Path) -> None:
    """Remove what a job has staged, unless it is decided."""
    if not target.is_dir():
        return
    with locked(target):
        pending = read_state(target).pending
        _remove_all(target, staging, but=pending.staging if pending is not None else None)


def _recover(target: Path, own: Path | None = None) -> State:
    state = read_state(target)
    if state.pending is not None:
        state = _finish(target, state, state.pending)
    for folder in target.iterdir():
        if folder.is_symlink() or not folder.is_dir():
            continue
        if _DEAD.fullmatch(folder.name):
            remove(folder)
        if not STAGING.fullmatch(folder.name) or (own is not None and _owner(folder) == _owner(own)):
            continue
        # Whose commit has begun and does not hold the lock any more is dead.
        if (folder / "out").is_dir() or time.time() - touched(folder) > ABANDONED:
            remove(folder)
    return state


def _owner(staging: Path) -> str:
    """What the names of an owner's folders begin with."""
    return staging.name[: len("kafkacomp-0.") + _OWNER]


def _remove_all(target: Path, staging: Path, but: str | None = None) -> None:
    """Remove the folders of a job's owner."""
    for folder in target.iterdir():
        if STAGING.fullmatch(folder.name) and _owner(folder) == _owner(staging) and folder.name != but:
            remove(folder)


def _finish(target: Path, state: State, pending: Pending) -> State:
    """Give all files of a decided write their places; what has been done of it before is not done again."""
    staging = target / pending.staging
    with open_folder(target) as root:
        if not exists(staging.name, root):
            reason = f"the files of a decided write are gone: delete {target / NAME} to give it up"
            raise FileNotFoundError(errno.ENOENT, reason, str(staging))
        with open_folder(staging, root) as job:
            check_untouched(target, pending)
            _remove_logs(target, pending.removed, root, staging / "old", job)
            with open_folder(staging / "out", job) as out:
                for name in pending.written:
                    _place(staging / "out" / name, out, target / name, root)
        os.fsync(root)
    finished = replace(state, generation=state.generation + 1, pending=None)
    write_state(target, finished)
    remove(staging)
    return finished


def _remove_logs(target: Path, names: list[str], root: int, old: Path, job: int) -> None:
    """Move logs out of the target, into a folder of the job."""
    if not names:
        return
    with contextlib.suppress(FileExistsError):
        os.mkdir(old.name, dir_fd=job)
    with open_folder(old, job) as removed:
        for name in names:
            # Once the old folder is there, what has its name in the target is the new one.
            if not exists(name, removed) and exists(name, root):
                if not is_folder(name, root) or not _is_log(target / name):
                    refuse(target / name, "not the folder of a log")
                os.rename(name, name, src_dir_fd=root, dst_dir_fd=removed)


def _place(source: Path, out: int, folder: Path, root: int) -> None:
    """Move a folder, or its files into the one that is there: the segments last, and in order."""
    name = source.name
    if not exists(name, out):
        return
    with open_folder(source, out) as new:
        files = os.listdir(new)  # noqa: PTH208 - of a descriptor
        for file in files:
            if not stat.S_ISREG(os.stat(file, dir_fd=new, follow_symlinks=False).st_mode):
                refuse(source / file, "not a regular file")
        if not exists(name, root):
            os.rename(name, name, src_dir_fd=out, dst_dir_fd=root)
            return
        with open_folder(folder, root) as log:
            for file in sorted(files, key=lambda file: (file.endswith(".log"), file)):
                os.replace(file, file, src_dir_fd=new, dst_dir_fd=log)
            os.fsync(log)
    os.rmdir(name, dir_fd=out)


def _logs(target: Path) -> list[str]:
    """The topic-partition folders: named like one, with something of a log in it, or empty."""
    found = []
    for folder in target.iterdir():
        if partition_of(folder.name) is not None and folder.is_dir():
            check_folder(folder)
            if _is_log(folder):
                found.append(folder.name)
    return sorted(found)


def _is_log(folder: Path) -> bool:
    names = [path.name for path in folder.iterdir()]
    return not names or any(is_segment(name) or name in _COMPANIONS for name in names)


def _check_size(staged: Staged) -> None:
    size = staged.path.stat().st_size
    if size != staged.size:
        reason = f"a task wrote {staged.size} bytes, the driver sees {size}: do they share this folder?"
        raise OSError(errno.EIO, reason, str(staged.path))


def _topic_id(folder: Path) -> str | None:
    """The id in a folder's ``partition.metadata``."""
    path = folder / "partition.metadata"
    try:
        with open(open_file(path, None, os.O_RDONLY), "rb") as file:  # noqa: PTH123 - a descriptor
            content = file.read()
    except FileNotFoundError:
        return None
    return _kafkacomp.read_partition_metadata(content, str(path)).topic_id
