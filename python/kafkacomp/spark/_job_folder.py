"""The lock of a target and the folders of jobs in it, for the commits of logs and of exports."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

from kafkacomp._storage.state_file import open_file, open_folder, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def touched(folder: Path) -> float:
    """The time of the last change in the folder."""
    latest = 0.0
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            latest = max(latest, path.lstat().st_mtime)
    return latest
