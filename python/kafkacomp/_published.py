"""What a log folder remembers of the writes that many processes make together, and how readers never see half of one.

A folder that Spark writes to has a file :data:`NAME` with JSON::

    {"version": 1, "generation": 7, "pending": null, "batches": {"<query id>": 41}}

``generation`` grows with every write. ``pending`` is the write that is decided but whose files do not all have their
places yet; where it is not null, readers wait, and whoever writes next finishes it first. ``batches`` has the last
batch that each streaming query has written. The file is replaced as a whole, so a write is decided by one rename.
"""

from __future__ import annotations

import errno
import json
import os
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["NAME", "Pending", "State", "read_state", "settled", "sync_folder", "write_state"]

NAME = ".kafkacomp-commit"
#: Seconds that a reader waits for a write that is being published, which is but renames.
PATIENCE = 10.0
_VERSION = 1
_POLL = 0.02

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Pending:
    """A decided write: which folder has its files, which partitions go and which come or grow."""

    staging: str
    removed: list[str]
    written: list[str]
    #: For each of these, segments with their lengths: those that come, and the one in front of them.
    lengths: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """The content of :data:`NAME`."""

    generation: int = 0
    pending: Pending | None = None
    batches: dict[str, int] = field(default_factory=dict)


def read_state(folder: Path) -> State:
    """The folder's state; a new one where nothing was written.

    Raises:
        OSError: the file says nothing that this version knows.
    """
    path = folder / NAME
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return State()
    except ValueError as error:
        raise OSError(errno.EINVAL, f"not kafkacomp's JSON ({error})", str(path)) from None
    version = content.get("version") if isinstance(content, dict) else None
    if version != _VERSION:
        raise OSError(errno.EINVAL, f"this kafkacomp reads version {_VERSION}, not {version}", str(path))
    pending = Pending(**content["pending"]) if content["pending"] else None
    return State(content["generation"], pending, content["batches"])


def write_state(folder: Path, state: State) -> None:
    """Replace the folder's state and bring it to the disk."""
    path = folder / NAME
    temporary = folder / f"{NAME}.new"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({"version": _VERSION, **asdict(state)}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
