"""The lock of a target and the folders of jobs in it, for the commits of logs and of exports.

The name of a job's folder has ``-0.``, and ``-1.`` while the folder is being removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
from typing import TYPE_CHECKING

from kafkacomp._storage.state_file import open_file, open_folder, refuse

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Seconds without a change after which a job's folder is considered that of a dead job.
ABANDONED = 24 * 3600.0
_LOCK = ".kafkacomp-lock"


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the target's lock: only one job commits at a time. The lock of a process that dies is released."""
    import fcntl  # noqa: PLC0415 - there is none on Windows, where nothing here is supported

    descriptor = open_file(target / _LOCK, None, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def decided_job(target: Path, staging: Path, state_file: str) -> Iterator[tuple[int, int]]:
    """Open the target and, in it, the folder of a job whose write is decided; flush the target at the end.

    Raises:
        FileNotFoundError: the job's folder is missing.
    """
    with open_folder(target) as root:
        if not exists(staging.name, root):
            where = target / state_file
            reason = f"the staged files of a decided write are missing: delete {where} to abandon that write"
            raise FileNotFoundError(errno.ENOENT, reason, str(staging))
        with open_folder(staging, root) as job:
            yield root, job
        os.fsync(root)


def remove_dead(target: Path, names: re.Pattern[str], is_dead: Callable[[Path], bool]) -> None:
    """Remove the folders of dead jobs, and those whose removal was interrupted.

    Args:
        target: The folder that contains them.
        names: What the names of jobs' folders match.
        is_dead: Whether the job of a folder is dead.
    """
    for folder in target.iterdir():
        if folder.is_symlink() or not folder.is_dir():
            continue
        if names.fullmatch(folder.name):
            is_left = is_dead(folder)
        else:
            is_left = names.fullmatch(folder.name.replace("-1.", "-0.", 1)) is not None
        if is_left:
            remove(folder)


def is_abandoned(staging: Path) -> bool:
    """Whether nothing has changed in a job's folder for :data:`ABANDONED` seconds."""
    latest = 0.0
    for path in (staging, *staging.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            latest = max(latest, path.lstat().st_mtime)
    return time.time() - latest > ABANDONED


def remove(staging: Path) -> None:
    """Rename a job's folder to a name that marks it as being removed, then remove it; nothing else of its name."""
    dead = staging.with_name(staging.name.replace("-0.", "-1.", 1))
    with open_folder(staging.parent) as target:
        if not is_folder(staging.name, target):
            return
        if dead.name != staging.name:
            os.rename(staging.name, dead.name, src_dir_fd=target, dst_dir_fd=target)
        shutil.rmtree(dead.name, ignore_errors=True, dir_fd=target)


def is_folder(name: str, within: int) -> bool:
    """Whether a folder contains a folder of this name; a symbolic link does not count."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def exists(name: str, within: int) -> bool:
    """Whether a folder contains anything of this name."""
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def check_folder(folder: Path) -> None:
    """Refuse a symbolic link, which leads out of the target."""
    if folder.is_symlink():
        refuse(folder, "a symbolic link instead of a folder")
