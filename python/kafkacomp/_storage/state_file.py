"""JSON files with the remaining work of a decided write, which are read as untrusted input.

Anyone who can write to a folder can write its state file, which names files that are renamed and removed. Only the
format of :func:`replace_json` is accepted, names must be those that this library chooses, without a separator, and
every file is opened relative to its folder without following symbolic links.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

#: The most bytes of a state file, enough for a million names.
_MOST_BYTES = 256 << 20
#: Absent on Windows, where writing is not supported.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)

_State = TypeVar("_State")


class MalformedError(Exception):
    """The content is not valid."""


def refuse(path: Path, reason: str) -> NoReturn:
    """Raise an OSError for a file or folder that was not written by this library."""
    raise OSError(errno.EINVAL, f"{reason}: not written by kafkacomp; nothing was changed", str(path))


@contextlib.contextmanager
def open_folder(path: Path, within: int | None = None) -> Iterator[int]:
    """Open a descriptor of a folder: of ``path``, or of its last name in the folder ``within``.

    Raises:
        OSError: it does not exist or is not a folder; with ``within``, also if it is a symbolic link to a folder.
    """
    flags = os.O_RDONLY | _FOLDER | (_NO_FOLLOW if within is not None else 0)
    try:
        descriptor = os.open(path if within is None else path.name, flags, dir_fd=within)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and within is not None:
            refuse(path, "not a folder")
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(path: Path, within: int | None, flags: int) -> int:
    """Open a descriptor of a regular file, by its last name in the folder ``within`` if that is given.

    Raises:
        OSError: the operating system reports an error, or it is a symbolic link, a folder or a device.
    """
    try:
        descriptor = os.open(path if within is None else path.name, flags | _NO_FOLLOW | _NO_WAIT, 0o666, dir_fd=within)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV}:
            refuse(path, "not a regular file")
        raise OSError(error.errno, error.strerror, str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        refuse(path, "not a regular file")
    return descriptor


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    with open_folder(folder) as descriptor:
        os.fsync(descriptor)


def read_json(path: Path, version: int, parse: Callable[[dict[str, Any]], _State]) -> _State | None:
    """Read the file and apply ``parse`` to its content; ``None`` if the file does not exist.

    Raises:
        OSError: the file was not written by :func:`replace_json`, or ``parse`` raises :class:`MalformedError`.
    """
    try:
        with open(open_file(path, None, os.O_RDONLY), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MOST_BYTES:
        refuse(path, f"more than {_MOST_BYTES} bytes")
    try:
        content = json.loads(data)
    except RecursionError:
        refuse(path, "JSON that is nested too deeply")
    except ValueError as error:
        refuse(path, f"not kafkacomp's JSON ({error})")
    found = content.get("version") if isinstance(content, dict) else None
    if type(found) is not int or found != version:
        raise OSError(errno.EINVAL, f"this kafkacomp reads version {version}, not {shown(found)}", str(path))
    try:
        return parse(content)
    except MalformedError as error:
        refuse(path, str(error))


def replace_json(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file and flush it to the disk.

    Raises:
        OSError: the operating system reports an error, or something else has the name of the new file.
    """
    temporary = path.with_name(f"{path.name}.new")
    data = json.dumps(content).encode()
    with open_folder(path.parent) as within:
        with contextlib.suppress(FileNotFoundError):
            # Remains of a job that was killed here; anything but a regular file is not written to.
            if not stat.S_ISREG(os.stat(temporary.name, dir_fd=within, follow_symlinks=False).st_mode):
                refuse(temporary, "not a regular file")
            os.unlink(temporary.name, dir_fd=within)
        with open(open_file(temporary, within, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary.name, path.name, src_dir_fd=within, dst_dir_fd=within)
        os.fsync(within)


def fields(what: str, content: object, names: tuple[str, ...]) -> list[Any]:
    """The values of a dictionary that must have exactly these names."""
    found = dictionary(what, content)
    if found.keys() != set(names):
        raise MalformedError(f"{what} has the fields {shown(sorted(found))}, not {', '.join(names)}")
    return [found[name] for name in names]


def dictionary(what: str, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise MalformedError(f"{what} is not an object but {shown(content)}")
    return content


def number(what: str, content: object) -> int:
    if type(content) is not int or not 0 <= content < 2**63:
        raise MalformedError(f"{what} is not a number of at most 63 bits but {shown(content)}")
    return content


def names(what: str, content: object, is_right: Callable[[str], bool], kind: str) -> list[str]:
    """A list of distinct names, each of which must be that of a ``kind``."""
    if not isinstance(content, list):
        raise MalformedError(f"{what} is not a list but {shown(content)}")
    for name in content:
        if not isinstance(name, str) or not is_right(name):
            raise MalformedError(f"{shown(name)} in {what} is not the name of {kind}")
    if len(set(content)) != len(content):
        raise MalformedError(f"{what} has a name twice")
    return content


def is_one_name(name: str) -> bool:
    """Whether a name cannot lead out of its folder."""
    return not {"/", "\\", "\0", os.sep} & set(name)


def shown(value: object) -> str:
    """Format a value for a message, shortened if it is long."""
    text = ascii(value) if not isinstance(value, list | dict) or len(value) < 10 else type(value).__name__  # noqa: PLR2004
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004
