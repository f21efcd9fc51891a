"""The state of writes to a log directory by many processes, by which readers see all of a write or nothing.

A folder that Spark writes to has a file :data:`NAME` with JSON::

    {"version": 1, "generation": 7, "pending": null, "batches": {"<query id>": 41}}

``generation`` increases with every write. ``pending`` is a decided write, some of whose files are not in their
places yet: while it is not null, readers wait, and the next writer finishes it first. ``batches`` has the last batch
that each streaming query has written. The file is replaced as a whole, so a write is decided by one rename.

It names folders that are renamed and removed; :mod:`kafkacomp._storage.state_file` describes what is accepted.
"""

from __future__ import annotations

import errno
import re
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkacomp._storage.names import is_segment, partition_of
from kafkacomp._storage.state_file import (
    MalformedError,
    dictionary,
    fields,
    is_one_name,
    names,
    number,
    read_json,
    replace_json,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = ".kafkacomp-commit"
#: The names of the folders of jobs.
STAGING: Final = re.compile(r"kafkacomp-0\.[0-9a-f]{32}-delete")
#: The suffix of a segment that was replaced by a new one of the same name.
REPLACED: Final = ".replaced"
#: Seconds that a reader waits for a write that is being published, which takes only renames.
PATIENCE = 10.0
_VERSION = 1
_POLL = 0.02
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Pending:
    """A decided write: the folder of its files, the partitions to remove, and those to create or append to."""

    staging: str
    removed: list[str]
    written: list[str]
    #: For each of these, the lengths of the new segments and of the segment before them, by name.
    lengths: dict[str, dict[str, int]]


@dataclass(frozen=True)
class State:
    """The content of :data:`NAME`."""

    generation: int = 0
    pending: Pending | None = None
    batches: dict[str, int] = field(default_factory=dict)


def read_state(folder: Path) -> State:
    """Read the folder's state; the initial state if nothing was written.

    Raises:
        OSError: the file was not written by this version.
    """
    return read_json(folder / NAME, _VERSION, _state) or State()


def _state(content: dict[str, Any]) -> State:
    _, generation, pending, batches = fields("the state", content, ("version", "generation", "pending", "batches"))
    dictionary("batches", batches)
    for query, last in batches.items():
        number(f"the batch of {shown(query)}", last)
    return State(number("generation", generation), None if pending is None else _pending(pending), batches)


def _pending(content: object) -> Pending:
    staging, removed, written, lengths = fields("pending", content, ("staging", "removed", "written", "lengths"))
    if not isinstance(staging, str) or not STAGING.fullmatch(staging):
        raise MalformedError(f"{shown(staging)} is not the name of a job's folder")
    for what, partitions in (("removed", removed), ("written", written)):
        names(what, partitions, _is_partition, "a partition's folder")
    dictionary("lengths", lengths)
    for partition, segments in lengths.items():
        if partition not in written:
            raise MalformedError(f"lengths of {shown(partition)}, which is not among the partitions written")
        for segment, length in dictionary(f"the lengths of {partition}", segments).items():
            if not is_segment(segment.removesuffix(REPLACED)):
                raise MalformedError(f"{shown(segment)} is not the name of a segment")
            number(f"the length of {segment}", length)
    return Pending(staging, removed, written, lengths)


def _is_partition(name: str) -> bool:
    return partition_of(name) is not None and is_one_name(name)


def write_state(folder: Path, state: State) -> None:
    """Replace the folder's state and flush it to the disk; the caller must hold the folder's lock.

    Raises:
        OSError: the operating system reports an error, or something else has the name of the new file.
    """
    replace_json(folder / NAME, {"version": _VERSION, **asdict(state)})


def settled(path: str, find: Callable[[], _Found]) -> _Found:
    """Call ``find``, repeatedly if necessary, until no write was published during the call.

    Raises:
        OSError: EBUSY: publishing a write was interrupted, and it has not been finished.
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
            reason = "a write is being published, or was interrupted while it was: the next write finishes it"
            raise OSError(errno.EBUSY, reason, path)
        time.sleep(_POLL)
        before = read_state(folder)
