"""From a source to partitions that can be read, also those in tiered storage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kafkacomp._storage.discovery import find_partitions
from kafkacomp._storage.filesystem import open_filesystem

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.partition import Partition
    from kafkacomp.tiered.resolve import TieredOptions

__all__ = ["SourceOptions", "resolve"]


@dataclass(frozen=True, repr=False, kw_only=True)
class SourceOptions:
    """What sources are opened with, as :func:`kafkacomp.scan` takes it; no repr shows keys and credentials."""

    filesystem: object = None
    storage_options: Mapping[str, object] | None = None
    remote_log_metadata: object = None
    local_log_dir: str | os.PathLike[str] | None = None
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None

    @property
    def opened(self) -> Opener:
        """Finds the file system of a path or URL."""
        return partial(open_filesystem, filesystem=self.filesystem, storage_options=self.storage_options)

    @property
    def tiered(self) -> TieredOptions | None:
        """What is known of segments in tiered storage, read now; ``None`` if nothing is given."""
        if (self.remote_log_metadata, self.local_log_dir, self.encryption_keys) == (None, None, None):
            return None
        from kafkacomp.tiered.resolve import TieredOptions  # noqa: PLC0415 - only where it is needed

        return TieredOptions.of(
            self.remote_log_metadata, self.local_log_dir, self.encryption_keys, self.storage_options
        )

    def resolve(
        self,
        source: object,
        topic: str | None = None,
        partition: int | None = None,
        *,
        failed: Callable[[str, OSError], object] | None = None,
    ) -> list[Partition]:
        """Find what ``source`` names, as :func:`resolve` does."""
        return resolve(source, topic, partition, failed=failed, tiered=self.tiered, opened=self.opened)


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
