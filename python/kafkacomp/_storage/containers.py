"""Refuse archives, compressed files, tables and files of other systems that are given instead of a segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkacomp import _kafkacomp

if TYPE_CHECKING:
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.stores import Entry

#: The number of a file's first bytes that show what it is.
HEAD_BYTES: Final = 264


def refuse_container(name: str, head: bytes) -> None:
    """Refuse the first bytes of an archive, a compressed file or a table.

    Raises:
        ValueError: the message has the kind of the file and what to do.
    """
    found = _kafkacomp.container_in(head)
    if found is not None:
        raise ValueError(f"{name}: {found}")


def refuse_content(filesystem: FileSystem, entry: Entry, name: str) -> None:
    """Apply :func:`refuse_container` to a file, and judge it by its name; ``name`` is for the message."""
    found = _kafkacomp.container_of(filesystem, entry.path, entry.size)
    if found is not None:
        raise ValueError(f"{name}: {found}")
