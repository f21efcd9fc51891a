"""Resolve a source to readable partitions, including those in tiered storage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kafkacomp._storage.discovery import find_partitions, list_sources, named
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.partition import SegmentSource

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.files import Chunked
    from kafkacomp._storage.listing import Failed, Listing
    from kafkacomp._storage.partition import Partition
    from kafkacomp._storage.selection import Choice
    from kafkacomp.exceptions import CorruptRecordError
    from kafkacomp.tiered.keys import EncryptionKeys
    from kafkacomp.tiered.resolve import TieredOptions


@dataclass(frozen=True, repr=False, kw_only=True)
class Tiered:
    """What the files of tiered storage do not show, and the keys of those that are encrypted.

    The repr contains no keys.

    Args:
        remote_log_metadata: A folder with the partitions of ``__remote_log_metadata``, such as a broker's log
            directory, or a :class:`kafkacomp.LogDir`. Only segments that were completely copied and not deleted are
            read.
        local_log_dir: The log directory of the partitions' leader, or the partition's folder in it. Its leader epochs
            determine the valid offsets of remote segments, and its checkpoint the log start offset; from its first
            offset on, its own segments are read.
        encryption_keys: Private keys for segments that Aiven's plugin has encrypted, by the ids of
            ``encryption.key.pairs``: each is the path or the content of a PEM file.

    Example:
        >>> import kafkacomp as kc
        >>> keys = {"key-1": "/secrets/private.pem"}
        >>> tiered = kc.Tiered(remote_log_metadata="/var/lib/kafka/data", encryption_keys=keys)
        >>> kc.scan("s3://bucket/tiered", tiered=tiered)  # doctest: +SKIP
    """

    remote_log_metadata: object = None
    local_log_dir: str | os.PathLike[str] | None = None
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | EncryptionKeys | None = None

    @property
    def shows_valid_segments(self) -> bool:
        """Whether it shows which segments in tiered storage belong to the log."""
        return self.remote_log_metadata is not None or self.local_log_dir is not None


@dataclass(frozen=True, repr=False, kw_only=True)
class SourceOptions:
    """The arguments of :func:`kafkacomp.scan` for opening sources; the repr contains no keys or credentials."""

    store: object = None
    storage_options: Mapping[str, object] | None = None
    tiered: Tiered | None = None

    def __post_init__(self) -> None:
        if self.tiered is not None and not isinstance(self.tiered, Tiered):
            raise TypeError(f"tiered must be a Tiered, not {type(self.tiered).__name__}")

    @property
    def opened(self) -> Opener:
        """The function that finds the file system of a path or URL."""
        return partial(open_filesystem, store=self.store, storage_options=self.storage_options)

    @property
    def chunked(self) -> Chunked:
        """The function that yields the files of segments which Aiven's plugin has stored in chunks."""
        from kafkacomp.tiered.files import chunked_files  # noqa: PLC0415 - only where it is needed
        from kafkacomp.tiered.resolve import TieredOptions  # noqa: PLC0415 - as above

        return partial(chunked_files, keys=TieredOptions.of(encryption_keys=self._tiered.encryption_keys).keys)

    @property
    def shows_valid_segments(self) -> bool:
        """Whether the arguments show which segments in tiered storage belong to the log.

        Then a verification checks these; otherwise it checks every file in the storage.
        """
        return self._tiered.shows_valid_segments

    @property
    def _tiered(self) -> Tiered:
        return Tiered() if self.tiered is None else self.tiered

    def tiered_options(self) -> TieredOptions | None:
        """Read the information about tiered storage; ``None`` if none is given."""
        if self.tiered is None:
            return None
        from kafkacomp.tiered.resolve import TieredOptions  # noqa: PLC0415 - as above

        given = self.tiered
        return TieredOptions.of(
            given.remote_log_metadata, given.local_log_dir, given.encryption_keys, self.storage_options
        )

    def resolve(
        self,
        source: object,
        *,
        failed: Failed = None,
        choice: Choice | None = None,
    ) -> list[Partition]:
        """Find the partitions of ``source``, as :func:`resolve` does."""
        self.refuse_for_model(source)
        return resolve(source, failed=failed, tiered=self.tiered_options(), opened=self.opened, choice=choice)

    def listing(self, source: object) -> Listing:
        """List ``source`` without opening local segments; what cannot be listed or opened is in the result.

        Folders that cannot be listed are in its ``failures``, manifests that cannot be read in those of the partitions.
        """
        failures: list[tuple[str, OSError | CorruptRecordError]] = []
        found = list_sources(source, failed=lambda *failure: failures.append(failure), opened=self.opened)
        partitions = _resolved(named(found.partitions, None, None), None, self.tiered_options())
        found.partitions = [each for each in partitions if each.segments or not each.failures]
        found.failures = failures + [failure for each in partitions if not each.segments for failure in each.failures]
        for path, error in (failure for each in partitions for failure in each.failures):
            found.decisions.append(str(error) if path in str(error) else f"{path}: {error}")
        return found

    def refuse_for_model(self, source: object) -> None:
        """Refuse arguments for opening a path, if the source was opened before.

        Raises:
            ValueError: ``source`` is a LogDir or a part of one.
        """
        given = [name for name, value in vars(self).items() if value is not None]
        if given and isinstance(source, SegmentSource):
            name = type(source).__name__
            raise ValueError(f"{given[0]} belongs to LogDir(path, {given[0]}=...), with which the {name} was opened")


def resolve(
    source: object,
    topic: str | None = None,
    partition: int | None = None,
    *,
    failed: Failed = None,
    tiered: TieredOptions | None = None,
    opened: Opener = open_filesystem,
    choice: Choice | None = None,
) -> list[Partition]:
    """Find the partitions of ``source``, and choose the segments in tiered storage to read.

    Args:
        source: The source, as in :func:`kafkacomp.scan`.
        topic: The topic of segments whose folder does not name one.
        partition: The partition of such segments.
        failed: Called with the path of a folder that cannot be listed, or of a manifest that cannot be read, and the
            error.
        tiered: The information about tiered storage.
        opened: Finds the file system of a path or URL.
        choice: Selects partitions before any of their segments is opened. Default: all.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no segments.
        ValueError: a file is not a segment, by its name or content; ``choice`` names what does not exist; or an
            encryption key is missing.
        TypeError: ``source`` is not bytes, a path, or a collection of these.
    """
    return find_partitions(
        source,
        topic,
        partition,
        choose=lambda found: _readable(found, choice, tiered, failed),
        allowed=None if choice is None else choice.allows,
        failed=failed,
        opened=opened,
    )


def _readable(
    found: list[Partition], choice: Choice | None, tiered: TieredOptions | None, failed: Failed
) -> list[Partition]:
    """Select partitions that can be read, and report what could not be opened: to ``failed``, or as an error."""
    partitions = _resolved(found, choice, tiered)
    for path, error in (failure for each in partitions for failure in each.failures):
        if failed is None:
            raise error
        failed(path, error)
    reported = (replace(each, failures=[]) if each.failures else each for each in partitions)
    return [each for each in reported if each.segments]


def _resolved(found: list[Partition], choice: Choice | None, tiered: TieredOptions | None) -> list[Partition]:
    """Select partitions, and the segments in tiered storage to read."""
    if tiered is None and all(each.remote is None for each in found):
        return found if choice is None else choice.select(found)
    from kafkacomp.tiered.resolve import TieredOptions, named_by_manifests, resolve_remote  # noqa: PLC0415 - as above

    found = named_by_manifests(found)
    chosen = found if choice is None else choice.select(found)
    return resolve_remote(chosen, tiered or TieredOptions())
