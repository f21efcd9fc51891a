"""From a source to partitions that can be read, also those in tiered storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp._storage.discovery import find_partitions
from kafkacomp._storage.filesystem import open_filesystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._storage.discovery import Opener, Partition
    from kafkacomp.tiered.resolve import TieredOptions

__all__ = ["resolve"]


def resolve(
    source: object,
    topic: str | None = None,
    partition: int | None = None,
    *,
    failed: Callable[[str, OSError], object] | None = None,
    tiered: TieredOptions | None = None,
    opened: Opener = open_filesystem,
) -> list[Partition]:
    """Find what ``source`` names, and decide which segments in tiered storage are read.

    The other arguments are those of :func:`kafkacomp._storage.discovery.find_partitions`; ``tiered`` is what is known
    of segments in tiered storage.

    Raises:
        FileNotFoundError: a path that is not there, or a folder without segments.
        ValueError: a file that is known to be no segment; an encryption key that is missing.
        TypeError: neither bytes nor a path nor a collection of these.
    """
    found = find_partitions(source, topic, partition, failed=failed, opened=opened)
    if tiered is None and all(each.remote is None for each in found):
        return found
    from kafkacomp.tiered.resolve import TieredOptions, resolve_remote  # noqa: PLC0415 - only where it is needed

    return resolve_remote(found, tiered or TieredOptions())
