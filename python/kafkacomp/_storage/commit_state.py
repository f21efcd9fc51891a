"""What a log folder remembers of the writes that many processes make together, and how readers never see half of one.

A folder that Spark writes to has a file :data:`NAME` with JSON::

    {"version": 1, "generation": 7, "pending": null, "batches": {"<query id>": 41}}

``generation`` grows with every write. ``pending`` is the write that is decided but whose files do not all have their
places yet; where it is not null, readers wait, and whoever writes next finishes it first. ``batches`` has the last
batch that each streaming query has written. The file is replaced as a whole, so a write is decided by one rename.

Whoever can write to the folder can write this file, so it is input like any other: it names folders that are renamed
and removed. Only what :func:`write_state` writes is accepted. Every name in it is one of those that this library gives,
without a separator, and every file is opened relative to its folder without following a symbolic link.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from kafkacomp._storage.names import is_segment, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "NAME",
    "REPLACED",
    "STAGING",
    "Pending",
    "State",
    "open_file",
    "open_folder",
    "read_state",
    "refuse",
    "settled",
    "sync_folder",
    "write_state",
]

NAME = ".kafkacomp-commit"
#: The names of jobs' folders.
STAGING: Final = re.compile(r"kafkacomp-0\.[0-9a-f]{32}-delete")
#: After the name of a segment that a new one of the same name replaces.
REPLACED: Final = ".replaced"
#: Seconds that a reader waits for a write that is being published, which is but renames.
PATIENCE = 10.0
_VERSION = 1
_POLL = 0.02
#: Bytes that the file can have: some million partitions.
_MOST_BYTES = 256 << 20
#: Absent on Windows, where nothing is written.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Pending:
    """A decided write: which folder has its files, which partitions go and which come or grow."""

    staging: str
    removed: list[str]
    written: list[str]
    #: For each of these, segments with their lengths: those that come, and the one in front of them.
    lengths: dict[str, dict[str, int]]


@dataclass(frozen=True)
class State:
    """The content of :data:`NAME`."""

    generation: int = 0
    pending: Pending | None = None
    batches: dict[str, int] = field(default_factory=dict)


def refuse(path: Path, reason: str) -> NoReturn:
    """Raise an OSError that names a file or folder that is not as this library makes it."""
    raise OSError(errno.EINVAL, f"{reason}: it is not from kafkacomp, and nothing was changed", str(path))


@contextlib.contextmanager
def open_folder(path: Path, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder: ``path``, or what has its last name in the folder ``within``.

    Raises:
        OSError: it is missing, or not a folder; within a folder, also a symbolic link to one.
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
    """A descriptor of a regular file, by its last name in the folder ``within`` if that is given.

    Raises:
        OSError: the operating system refuses, or it is a symbolic link, a folder or a device.
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


def read_state(folder: Path) -> State:
    """The folder's state; a new one where nothing was written.

    Raises:
        OSError: the file is not one that this version writes.
    """
    path = folder / NAME
    try:
        with open(open_file(path, None, os.O_RDONLY), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return State()
    if len(data) > _MOST_BYTES:
        refuse(path, f"more than {_MOST_BYTES} bytes")
    try:
        content = json.loads(data)
    except RecursionError:
        refuse(path, "JSON that is nested too deeply")
    except ValueError as error:
        refuse(path, f"not kafkacomp's JSON ({error})")
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not int or version != _VERSION:
        raise OSError(errno.EINVAL, f"this kafkacomp reads version {_VERSION}, not {_shown(version)}", str(path))
    try:
        return _state(content)
    except _MalformedError as error:
        refuse(path, str(error))


class _MalformedError(Exception):
    """What is wrong with the content."""


def _state(content: dict[str, Any]) -> State:
    _, generation, pending, batches = _fields("the state", content, ("version", "generation", "pending", "batches"))
    _dictionary("batches", batches)
    for query, number in batches.items():
        _number(f"the batch of {_shown(query)}", number)
    return State(_number("generation", generation), None if pending is None else _pending(pending), batches)


def _pending(content: object) -> Pending:
    staging, removed, written, lengths = _fields("pending", content, ("staging", "removed", "written", "lengths"))
    if not isinstance(staging, str) or not STAGING.fullmatch(staging):
        raise _MalformedError(f"{_shown(staging)} is not the name of a job's folder")
    _partitions("removed", removed)
    _partitions("written", written)
    _dictionary("lengths", lengths)
    for partition, segments in lengths.items():
        if partition not in written:
            raise _MalformedError(f"lengths of {_shown(partition)}, which is not written")
        for segment, length in _dictionary(f"the lengths of {partition}", segments).items():
            if not is_segment(segment.removesuffix(REPLACED)):
                raise _MalformedError(f"{_shown(segment)} is not the name of a segment")
            _number(f"the length of {segment}", length)
    return Pending(staging, removed, written, lengths)


def _fields(what: str, content: object, names: tuple[str, ...]) -> list[Any]:
    """The values of a dictionary that has these names and no others."""
    found = _dictionary(what, content)
    if found.keys() != set(names):
        raise _MalformedError(f"{what} has the fields {_shown(sorted(found))}, not {', '.join(names)}")
    return [found[name] for name in names]


def _dictionary(what: str, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _MalformedError(f"{what} is not an object but {_shown(content)}")
    return content


def _number(what: str, content: object) -> int:
    if type(content) is not int or not 0 <= content < 2**63:
        raise _MalformedError(f"{what} is not a number of at most 63 bits but {_shown(content)}")
    return content


def _partitions(what: str, content: object) -> None:
    """Refuse anything but a list of different names of partition folders."""
    if not isinstance(content, list):
        raise _MalformedError(f"{what} is not a list but {_shown(content)}")
    for name in content:
        if not isinstance(name, str) or partition_of(name) is None or not _is_one_name(name):
            raise _MalformedError(f"{_shown(name)} in {what} is not the name of a partition's folder")
    if len(set(content)) != len(content):
        raise _MalformedError(f"{what} has a name twice")


def _is_one_name(name: str) -> bool:
    """Whether a name stays in its folder."""
    return not {"/", "\\", "\0", os.sep} & set(name)


def _shown(value: object) -> str:
    """A value for a message: not all of a long one."""
    text = ascii(value) if not isinstance(value, list | dict) or len(value) < 10 else type(value).__name__  # noqa: PLR2004
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004


def write_state(folder: Path, state: State) -> None:
    """Replace the folder's state and bring it to the disk; only who holds the folder's lock may.

    Raises:
        OSError: the operating system refuses, or something else has the name of the new file.
    """
    temporary = folder / f"{NAME}.new"
    content = json.dumps({"version": _VERSION, **asdict(state)}).encode()
    with open_folder(folder) as within:
        with contextlib.suppress(FileNotFoundError):
            # What a job left that was killed just here. Whatever else it is, it is not written to.
            if not stat.S_ISREG(os.stat(temporary.name, dir_fd=within, follow_symlinks=False).st_mode):
                refuse(temporary, "not a regular file")
            os.unlink(temporary.name, dir_fd=within)
        with open(open_file(temporary, within, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary.name, NAME, src_dir_fd=within, dst_dir_fd=within)
        os.fsync(within)


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    with open_folder(folder) as descriptor:
        os.fsync(descriptor)


def settled(path: str, find: Callable[[], _Found]) -> _Found:
    """Call ``find``, again if need be, so that it has looked at the folder while no write was being published.

    Raises:
        OSError: EBUSY: a write was cut while it was published, and nobody has finished it.
    """
    from pathlib import Path  # noqa: PLC0415 - `import kafkacomp` does without

    folder = Path(path)
    deadline = time.monotonic() + PATIENCE
    before = read_state(folder)
    while True:
        if before.pending is None:
            try:
                found = find()
            except FileNotFoundError:
                if read_state(folder) == before:
                    raise
            else:
                if (after := read_state(folder)) == before:
                    return found
                before = after
                continue
        if time.monotonic() > deadline:
            reason = "a write is being published, or was cut while it was: the next write finishes it"
            raise OSError(errno.EBUSY, reason, path)
        time.sleep(_POLL)
        before = read_state(folder)
