"""Commit the files of tasks as logs, all or nothing; docs/design/spark-write.md describes the protocol.

::

    target/
        .kafkacomp-commit                          the decision, see kafkacomp._storage.commit_state
        .kafkacomp-lock                            held while a job commits
        kafkacomp-0.<32 hex digits>-delete/        a job's files (-1: being removed); brokers and scans skip it
            <task>.<number>.batches                a task's batches of one topic-partition, offsets from 0
            out/<topic>-<partition>/               the segments made of them
            old/<topic>-<partition>/               what an overwrite removes
        <topic>-<partition>/
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.commit_state import NAME, STAGING, Pending, State, read_state, write_state
from kafkacomp._storage.names import is_segment, partition_of
from kafkacomp._storage.state_file import open_file, open_folder, refuse, sync_folder
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.spark import _job_folder
from kafkacomp.spark._conflicting_writers import check_untouched, lengths
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Threads that assemble folders; more are not faster on one disk.
_THREADS = 4
#: The number of digits at the start of a job's folder name that identify its owner.
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
        """Convert what the core has staged to a form that can be pickled."""
        return cls(file.topic, file.partition, file.path, file.bytes, file.batches, file.records)


def new_staging(target: Path, owner: str | None = None) -> Path:
    """Choose a name for a job's folder.

    Jobs of one ``owner`` run one after another, and their names begin with the same digits. When one is committed or
    discarded, the folders of all of them are removed: Spark creates the writer that stages a batch of a stream and the
    writer that commits it independently.
    """
    part = uuid.uuid5(uuid.NAMESPACE_URL, owner).hex if owner is not None else uuid.uuid4().hex
    return target / f"kafkacomp-0.{part[:_OWNER]}{uuid.uuid4().hex[_OWNER:]}-delete"


def check_target(target: Path) -> None:
    """Refuse a target that cannot contain topic-partition folders.

    Raises:
        ValueError: it is a partition's folder itself.
        NotADirectoryError: it is a file.
    """
    if target.is_dir():
        if any(is_segment(path.name) for path in target.iterdir()):
            raise ValueError(f"{target} contains segments, so it is a partition's folder: give its parent folder")
    elif os.path.lexists(target):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))


def partition_counts(target: Path) -> dict[str, int]:
    """Count the partitions of each topic in the target, by the highest number."""
    counts: dict[str, int] = {}
    for name in _logs(target):
        topic, _, number = name.rpartition("-")
        counts[topic] = max(counts.get(topic, 0), int(number) + 1)
    return counts


def recover(target: Path) -> None:
    """Finish the decided write of a killed job, and remove old folders of other dead jobs.

    Raises:
        OSError: EEXIST: another writer has changed the logs since.
    """
    with _job_folder.locked(target):
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
    """Publish the staged files, in the given order.

    Args:
        target: The folder with the topic-partition folders.
        staging: The job's folder, which is removed.
        staged: The files of the tasks, in the order of the records.
        overwrite: Whether all existing logs are removed.
        segment_bytes: See :func:`kafkacomp.write`.
        topic_id: The topic id for ``partition.metadata`` of new folders.
        batch: The id of a streaming query and the number of its batch; each batch is written once.

    Returns:
        False if the batch had been written before.

    Raises:
        CorruptRecordError: a log to append to is corrupt at its end.
        OSError: the operating system reports an error. Either nothing is published, or :func:`recover` can finish it.
    """
    with _job_folder.locked(target):
        state = _recover(target, own=staging)
        if batch is not None and state.batches.get(batch[0], -1) >= batch[1]:
            _remove_all(target, staging)
            return False
        _job_folder.check_folder(staging)
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
                _job_folder.check_folder(target / name)

        def assemble(name: str) -> None:
            known_id = _topic_id(target / name) if name in logs else None
            continued = name in logs and not overwrite
            if continued:
                _check_end(target / name)
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
    """Remove the files that a job has staged, unless its write is decided."""
    if not target.is_dir():
        return
    with _job_folder.locked(target):
        pending = read_state(target).pending
        _remove_all(target, staging, but=pending.staging if pending is not None else None)


def _recover(target: Path, own: Path | None = None) -> State:
    state = read_state(target)
    if state.pending is not None:
        state = _finish(target, state, state.pending)

    def is_dead(folder: Path) -> bool:
        if own is not None and _owner(folder) == _owner(own):
            return False
        # A job whose commit has begun and that does not hold the lock is dead.
        return (folder / "out").is_dir() or _job_folder.is_abandoned(folder)

    _job_folder.remove_dead(target, STAGING, is_dead)
    return state


def _owner(staging: Path) -> str:
    """The prefix of the names of an owner's folders."""
    return staging.name[: len("kafkacomp-0.") + _OWNER]


def _remove_all(target: Path, staging: Path, but: str | None = None) -> None:
    """Remove the folders of a job's owner."""
    for folder in target.iterdir():
        if STAGING.fullmatch(folder.name) and _owner(folder) == _owner(staging) and folder.name != but:
            _job_folder.remove(folder)


def _finish(target: Path, state: State, pending: Pending) -> State:
    """Move all files of a decided write to their places, except those that were moved before."""
    staging = target / pending.staging
    with _job_folder.decided_job(target, staging, NAME) as (root, job):
        check_untouched(target, pending)
        _remove_logs(target, pending.removed, root, staging / "old", job)
        with open_folder(staging / "out", job) as out:
            for name in pending.written:
                _place(staging / "out" / name, out, target / name, root)
    finished = replace(state, generation=state.generation + 1, pending=None)
    write_state(target, finished)
    _job_folder.remove(staging)
    return finished


def _remove_logs(target: Path, names: list[str], root: int, old: Path, job: int) -> None:
    """Move logs out of the target, into a folder of the job."""
    if not names:
        return
    with contextlib.suppress(FileExistsError):
        os.mkdir(old.name, dir_fd=job)
    with open_folder(old, job) as removed:
        for name in names:
            # If the old folder has been moved, the folder of this name in the target is the new one.
            if not _job_folder.exists(name, removed) and _job_folder.exists(name, root):
                if not _job_folder.is_folder(name, root) or not _is_log(target / name):
                    refuse(target / name, "not a partition's folder")
                os.rename(name, name, src_dir_fd=root, dst_dir_fd=removed)


def _place(source: Path, out: int, folder: Path, root: int) -> None:
    """Move a folder, or its files into the existing folder: the segments last, in offset order."""
    name = source.name
    if not _job_folder.exists(name, out):
        return
    with open_folder(source, out) as new:
        files = os.listdir(new)  # noqa: PTH208 - of a descriptor
        for file in files:
            if not stat.S_ISREG(os.stat(file, dir_fd=new, follow_symlinks=False).st_mode):
                refuse(source / file, "not a regular file")
        if not _job_folder.exists(name, root):
            os.rename(name, name, src_dir_fd=out, dst_dir_fd=root)
            return
        with open_folder(folder, root) as log:
            for file in sorted(files, key=lambda file: (file.endswith(".log"), file)):
                os.replace(file, file, src_dir_fd=new, dst_dir_fd=log)
            os.fsync(log)
    os.rmdir(name, dir_fd=out)


def _logs(target: Path) -> list[str]:
    """List the topic-partition folders: the name is that of a partition, and it is empty or contains files of a log."""
    found = []
    for folder in target.iterdir():
        if partition_of(folder.name) is not None and folder.is_dir():
            _job_folder.check_folder(folder)
            if _is_log(folder):
                found.append(folder.name)
    return sorted(found)


def _check_end(folder: Path) -> None:
    """Refuse to append to a log that would have offsets twice: it does not end with its last segment, or was longer."""
    if not any(is_segment(path.name) for path in folder.iterdir()):
        return
    (partition,) = resolve(str(folder))
    last = partition.segments[-1]
    end, own = _kafkacomp.log_end(partition, "auto"), _kafkacomp.end_offset(last, "auto")
    if end is None or own is None:
        return  # assembling it names what is corrupt
    if end != own:
        raise CorruptRecordError(
            f"{last.name}: ends at offset {own}, but the log at offset {end}: repair it before appending to it"
        )
    reached = _kafkacomp.reached_end(partition, end)
    if reached is not None:
        raise CorruptRecordError(
            f"{last.name}: ends at offset {end}, but the log had reached offset {reached}, as verify says: repair it"
            " before appending to it"
        )


def _is_log(folder: Path) -> bool:
    names = [path.name for path in folder.iterdir()]
    return not names or any(is_segment(name) or name in _COMPANIONS for name in names)


def _check_size(staged: Staged) -> None:
    size = staged.path.stat().st_size
    if size != staged.size:
        reason = (
            f"a task wrote {staged.size} bytes, but the driver sees {size}: driver and executors must share this folder"
        )
        raise OSError(errno.EIO, reason, str(staged.path))


def _topic_id(folder: Path) -> str | None:
    """Read the topic id in a folder's ``partition.metadata``."""
    path = folder / "partition.metadata"
    try:
        with open(open_file(path, None, os.O_RDONLY), "rb") as file:  # noqa: PTH123 - a descriptor
            content = file.read()
    except FileNotFoundError:
        return None
    return _kafkacomp.read_partition_metadata(content, str(path)).topic_id
