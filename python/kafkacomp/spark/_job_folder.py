"""What the commits of logs and of exports share: the lock of a target, and the folders of jobs in it."""

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

__all__ = ["ABANDONED", "check_folder", "exists", "is_folder", "locked", "remove", "touched"]

#: Seconds after which what a job has staged and not touched since is taken for the remains of a dead one.
ABANDONED = 24 * 3600.0
_LOCK = ".kafkacomp-lock"


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Only one job commits at a time; the lock of one that dies is free."""
    import fcntl  # noqa: PLC0415 - there is none on Windows, where nothing here is supported

    descriptor = open_file(target / _LOCK, None, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove(staging: Path) -> None:
    """Remove a job's folder, under a name that tells what is left of it if this is killed; nothing else of its name."""
    dead = staging.with_name(staging.name.replace("-0.", "-1.", 1))
    with open_folder(staging.parent) as target:
        if not is_folder(staging.name, target):
            return
        if dead.name != staging.name:
            os.rename(staging.name, dead.name, src_dir_fd=target, dst_dir_fd=target)
        shutil.rmtree(dead.name, ignore_errors=True, dir_fd=target)


def is_folder(name: str, within: int) -> bool:
    """Whether a folder within another one has this name; a symbolic link is no folder."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def exists(name: str, within: int) -> bool:
    """Whether anything within a folder has this name."""
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def check_folder(folder: Path) -> None:
    """Refuse a symbolic link: what it leads to is not in the target."""
    if folder.is_symlink():
        refuse(folder, "a symbolic link in place of a folder")


def touched(folder: Path) -> float:
    """When something in the folder was written last."""
    latest = 0.0
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            latest = max(latest, path.lstat().st_mtime)
    return latest
