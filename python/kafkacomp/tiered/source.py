"""Resolve a source to readable partitions, including those in tiered storage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kafkacomp._storage.discovery import find_partitions
from kafkacomp._storage.filesystem import open_filesystem

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from kafkacomp._storage.discovery import Failed, Opener
    from kafkacomp._storage.partition import Partition
    from kafkacomp.tiered.keys import EncryptionKeys
    from kafkacomp.tiered.resolve import TieredOptions


@dataclass(frozen=True, repr=False, kw_only=True)
class SourceOptions:
    """The arguments of :func:`kafkacomp.scan` for opening sources; the repr contains no keys or credentials."""

    filesystem: object = None
    storage_options: Mapping[str, object] | None = None
    remote_log_metadata: object = None
    local_log_dir: str | os.PathLike[str] | None = None
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | EncryptionKeys | None = None

    @property
    def opened(self) -> Opener:
        """The function that finds the file system of a path or URL."""
        return partial(open_filesystem, filesystem=self.filesystem, storage_options=self.storage_options)

    @property
    def tiered(self) -> TieredOptions | None:
        """Read the information about tiered storage; ``None`` if no argument is given."""
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
        failed: Failed = None,
    ) -> list[Partition]:
        """Find the partitions of ``source``, as :func:`resolve` does."""
        return resolve(source, topic, partition, failed=failed, tiered=self.tiered, opened=self.opened)


def resolve(
    source: object,
    topic: str | None = None,
    partition: int | None = None,
    *,
    failed: Failed = None,
    tiered: TieredOptions | None = None,
    opened: Opener = open_filesystem,
) -> list[Partition]:
    """Find the partitions of ``source``, and choose the segments in tiered storage to read.

    The other arguments are those of :func:`kafkacomp._storage.discovery.find_partitions`; ``tiered`` has the
    information about tiered storage.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no segments.
        ValueError: a file is not a segment, by its name or content; or an encryption key is missing.
        TypeError: ``source`` is not bytes, a path, or a collection of these.
    """
    found = find_partitions(source, topic, partition, failed=failed, opened=opened)
    if tiered is None and all(each.remote is None for each in found):
        return found
    from kafkacomp.tiered.resolve import TieredOptions, resolve_remote  # noqa: PLC0415 - only where it is needed

    return resolve_remote(found, tiered or TieredOptions(), failed)
