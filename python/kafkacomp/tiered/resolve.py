"""Determine which segments in folders of remote storage are read, and which of their offsets."""

from __future__ import annotations

import errno
import logging
import os
import posixpath
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import path_text
from kafkacomp._storage.filesystem import open_companion
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError
from kafkacomp.tiered.keys import EncryptionKeys
from kafkacomp.tiered.lineage import epochs_within, valid_ranges
from kafkacomp.tiered.local import LocalLogs
from kafkacomp.tiered.metadata import CustomMetadata, RemoteLogMetadata, RemoteSegment
from kafkacomp.tiered.objects import ChunkedSegment, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp._storage.remote import RemoteFolder, StoredSegment
    from kafkacomp.tiered.local import LocalLog
    from kafkacomp.tiered.manifest import Manifest

_LOGGER = logging.getLogger("kafkacomp")

#: Manifests that are read concurrently.
_PARALLEL = 8


@dataclass(frozen=True)
class TieredOptions:
    """Information about remote segments from outside the storage."""

    metadata: RemoteLogMetadata | None = None
    local: LocalLogs | None = None
    keys: EncryptionKeys = field(default_factory=EncryptionKeys)
    #: Whether keys are checked before data is read. Spark executors may have keys that the driver does not have.
    checks_keys: bool = True

    @classmethod
    def of(
        cls,
        remote_log_metadata: object = None,
        local_log_dir: str | os.PathLike[str] | None = None,
        encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | EncryptionKeys | None = None,
        storage_options: Mapping[str, object] | None = None,
    ) -> TieredOptions:
        """Read the metadata, folders and keys that the arguments of :func:`kafkacomp.scan` name."""
        opened = partial(open_companion, storage_options=storage_options)
        if isinstance(remote_log_metadata, str | os.PathLike):
            path_text("remote_log_metadata", remote_log_metadata)
        elif remote_log_metadata is not None and not isinstance(
            remote_log_metadata, RemoteLogMetadata | SegmentSource | Iterable
        ):
            given = type(remote_log_metadata).__name__
            raise TypeError(f"remote_log_metadata must be a path, a LogDir, or a collection of these, not {given}")
        is_read = remote_log_metadata is None or isinstance(remote_log_metadata, RemoteLogMetadata)
        keys = encryption_keys if isinstance(encryption_keys, EncryptionKeys) else EncryptionKeys(encryption_keys)
        return cls(
            remote_log_metadata if is_read else RemoteLogMetadata.read(remote_log_metadata, opened),  # type: ignore[arg-type]  # as tested
            None if local_log_dir is None else LocalLogs(local_log_dir, opened),
            keys,
        )

    @property
    def is_given(self) -> bool:
        """Whether any of these arguments was given."""
        return self.metadata is not None or self.local is not None or bool(self.keys)

    @property
    def deciding(self) -> str:
        """The part of an error message that names the arguments to give."""
        missing = [] if self.metadata else ["remote_log_metadata (which copies were finished, and of which topic id)"]
        missing += [] if self.local else ["local_log_dir (the leader's leader-epoch-checkpoint and log start)"]
        return f"the storage alone does not show which of them is valid: give {' and '.join(missing)}"


@dataclass
class _Wanted:
    """A segment to read, with what the listing and the metadata show of it."""

    start: int
    id: str
    stored: StoredSegment | None
    known: RemoteSegment | None


@dataclass
class _Remote:
    """A remote segment, and the object that opens it."""

    known: RemoteSegment
    segment: Segment
    #: Whether the manifest has its indexes.
    has_indexes: bool
    #: Whether there is no ``.txnindex`` because no transaction was aborted.
    has_no_aborted: bool

    def read(self, offsets: tuple[int, int] | None, *, by_indexes: bool) -> Segment:
        """The segment, of which these offsets are read; with ``by_indexes`` no segment overlaps it or is missing.

        Its snapshot is that of its end, and does not say what is open where the log leaves it before.
        """
        if not by_indexes or not self.has_indexes or (offsets is not None and offsets[1] != self.known.end_offset + 1):
            return replace(self.segment, offsets=offsets)
        return replace(self.segment, offsets=offsets, transactions_in="snapshot" if self.has_no_aborted else "indexes")


def _follow_one_another(borders: list[tuple[int, int]]) -> bool:
    """Whether ranges of offsets have neither gaps nor common offsets."""
    return all(end == first for (_, end), (first, _) in pairwise(borders))


def resolve_remote(partitions: Iterable[Partition], options: TieredOptions) -> list[Partition]:
    """Choose the segments and offsets of partitions in remote storage; other partitions are returned unchanged.

    Segments whose manifest cannot be read are left out, with the errors in ``failures`` of their partition.

    Raises:
        FileNotFoundError: no segment is valid.
        KafkaCompError: topics of one name have different ids, and the current one is unknown; or a key is missing or
            is that of another key pair.
        ValueError: options for tiered storage were given, and there are no segments in tiered storage.
    """
    found: list[Partition | _Found] = []
    same: dict[tuple[str | None, int | None], list[_Found]] = {}
    for partition in partitions:
        if partition.remote is None:
            found.append(partition)
            continue
        each = _Found(partition, partition.remote)
        if each.key not in same or None in each.key:
            found.append(each)
        same.setdefault(each.key, []).append(each)
    if options.is_given and not same:
        raise ValueError(
            "remote_log_metadata, local_log_dir and encryption_keys are for tiered storage, and the source is not one:"
            " remove them"
        )
    result = []
    for one in found:
        if isinstance(one, Partition):
            result.append(one)
            continue
        chosen = one if None in one.key else _current(same[one.key], options)
        if chosen is not None:
            result.append(_Reader(chosen, options).partition())
    result = [each for each in result if each.segments or each.failures]
    if not result:
        folder = next(iter(same.values()))[0].folder.path
        raise FileNotFoundError(errno.ENOENT, "no segment of this storage is valid", folder)
    return result


@dataclass
class _Found:
    """A folder of remote segments, with its topic and partition."""

    partition: Partition
    folder: RemoteFolder

    @property
    def key(self) -> tuple[str | None, int | None]:
        """The topic and partition, if they are known."""
        return self.partition.topic, self.partition.partition

    def local_log(self, options: TieredOptions) -> LocalLog | None:
        """The partition's log on its leader, if that is given."""
        topic, number = self.key
        return None if options.local is None or topic is None or number is None else options.local.log(topic, number)


def named_by_manifests(partitions: Iterable[Partition]) -> list[Partition]:
    """Take topic and partition from a manifest, if there is one, because the names of folders may have a prefix."""
    return [each if each.remote is None else _named(each, each.remote) for each in partitions]


def _named(partition: Partition, folder: RemoteFolder) -> Partition:
    for each in folder.segments.values():
        if "rsm-manifest" in each.files:
            try:
                named = read_manifest(folder.filesystem, each.files["rsm-manifest"].path).segment
            except (CorruptRecordError, OSError):
                break  # reported when the segment is read
            remote = replace(folder, topic_id=named.topic_id)
            return replace(partition, topic=named.topic, partition=named.partition, remote=remote)
    return partition


def _current(same: list[_Found], options: TieredOptions) -> _Found | None:
    """Of folders with one topic name and partition, choose that of the existing topic; ``None`` if it has no folder."""
    topic, number = same[0].partition.topic or "", same[0].partition.partition or 0
    local = same[0].local_log(options)
    left = same
    if local is not None and local.topic_id is not None:
        left = [each for each in left if each.folder.topic_id in {None, local.topic_id}]
        if not left:  # all segments of the current topic are local
            return replace(same[0], folder=replace(same[0].folder, segments={}, topic_id=local.topic_id))
    if len(left) > 1 and options.metadata is not None:
        left = [each for each in left if options.metadata.finished(each.folder.topic_id or "", number)]
    ids = {each.folder.topic_id for each in left}
    if len(ids) > 1:
        option = "local_log_dir" if options.metadata else "remote_log_metadata"
        names = ", ".join(sorted(each.folder.path for each in left))
        raise KafkaCompError(
            f"{topic}-{number}: the storage has {len(ids)} topics of this name, and only one is the current one:"
            f" {names}: give {option}, or read one of the folders"
        )
    for other in left[1:]:
        left[0].folder.segments.update(other.folder.segments)
        left[0].folder.ambiguous += other.folder.ambiguous
    return left[0] if left else None


class _Reader:
    """Chooses the segments and offsets of one partition."""

    def __init__(self, found: _Found, options: TieredOptions) -> None:
        self._failures: list[tuple[str, CorruptRecordError | OSError]] = []
        self._partition = found.partition
        self._folder = found.folder
        self._options = options
        self._checked: set[str] = set()
        self._local = found.local_log(options)

    def partition(self) -> Partition:
        """The partition with the segments that are read, and their valid offsets."""
        local = self._local
        if local is None or not local.epochs:
            remote = sorted(self._remote(needs_epochs=False), key=lambda each: (each.known.start_offset, each.known.id))
            by_indexes = _follow_one_another([(each.known.start_offset, each.known.end_offset + 1) for each in remote])
            segments = [each.read(None, by_indexes=by_indexes) for each in remote]
            self._warn()
            return self._made(segments, None)
        first = local.first_offset
        # A log start offset after that of the first epoch was set by DeleteRecords.
        begins = max(local.log_start or 0, local.epochs[0][1])
        remote = self._remote(needs_epochs=True)
        by_id = {each.known.id: each for each in remote}
        ranges = valid_ranges((each.known for each in remote), local.epochs, begins, first)
        borders = [(each.first, each.end) for each in ranges]
        by_indexes = _follow_one_another(borders if first is None else [*borders, (first, first)])
        segments = [by_id[each.segment.id].read((each.first, each.end), by_indexes=by_indexes) for each in ranges]
        for each in local.segments:
            # The local log is read to its end.
            segments.append(replace(each, offsets=None))
        return self._made(segments, begins)

    def _made(self, segments: list[Segment], begins: int | None) -> Partition:
        local = self._local
        return replace(
            self._partition,
            segments=segments,
            failures=sorted(self._failures, key=itemgetter(0)),
            begins=begins,
            topic_id=self._folder.topic_id,
            checkpoints=local.checkpoints if local else None,
            deciding=None if local and local.epochs else self._options.deciding,
            remote=None,
        )

    def _warn(self) -> None:
        name = f"{self._partition.topic}-{self._partition.partition}"
        if self._options.metadata is None:
            _LOGGER.warning(
                "%s: without remote_log_metadata and local_log_dir, deleted segments and the log start offset are"
                " unknown: all segments in the storage are read",
                name,
            )
        elif self._options.local is None:
            _LOGGER.warning("%s: without local_log_dir, the log start offset is unknown", name)
        elif self._local is None:
            _LOGGER.warning("%s: has no folder in %s", name, self._options.local.path)
        else:
            _LOGGER.warning("%s: %s has no leader-epoch-checkpoint", name, self._local.path)

    def _remote(self, *, needs_epochs: bool) -> list[_Remote]:
        """The finished segments, or all segments if their states are unknown."""
        stored, metadata = self._folder.segments, self._options.metadata
        wanted: list[_Wanted]
        if metadata is None or self._folder.topic_id is None or self._partition.partition is None:
            self._refuse_ambiguous()
            with_files = [each for each in stored.values() if "log" in each.files or "rsm-manifest" in each.files]
            wanted = [_Wanted(each.start_offset, each.id, each, None) for each in with_files]
            return self._opened(wanted, needs_epochs=needs_epochs)
        finished = metadata.finished(self._folder.topic_id, self._partition.partition)
        if not self._folder.is_complete:
            finished = [each for each in finished if each.id in stored]
        files = self._folder.stored
        wanted = [_Wanted(each.start_offset, each.id, files(each.start_offset, each.id), each) for each in finished]
        return self._opened(wanted, needs_epochs=needs_epochs)

    def _refuse_ambiguous(self) -> None:
        for other in self._folder.ambiguous:
            first = self._folder.segments[other.id]
            names = " and ".join(self._folder.file(each.start_offset, each.id, "log") for each in (first, other))
            raise CorruptRecordError(
                f"{names}: two segments have the same id: give remote_log_metadata, which has the start offset of the"
                " valid one"
            )

    def _opened(self, wanted: list[_Wanted], *, needs_epochs: bool) -> list[_Remote]:
        if not self._folder.has_manifests:
            return [self._plain(each, needs_epochs=needs_epochs) for each in wanted]
        readable = []
        for each in wanted:
            if each.known is None and each.stored is not None and "rsm-manifest" not in each.stored.files:
                _LOGGER.warning("%s: skipped: it has no manifest", self._folder.file(each.start, each.id, "log"))
            else:
                readable.append(each)
        with ThreadPoolExecutor(_PARALLEL) as pool:
            return [each for each in pool.map(self._chunked, readable) if each is not None]

    def _plain(self, wanted: _Wanted, *, needs_epochs: bool) -> _Remote:
        """Open a segment whose files are copies of the broker's files."""
        path = self._folder.file(wanted.start, wanted.id, "log")
        size = wanted.stored.files["log"].size if wanted.stored and "log" in wanted.stored.files else 0
        segment = Segment(path, self._folder.filesystem.segment(path), size, base_offset=wanted.start)
        known = wanted.known
        if known is None:
            known = RemoteSegment(
                self._partition.topic or "", self._folder.topic_id or "", self._partition.partition or 0, wanted.id,
                wanted.start, wanted.start, size=size,
            )  # fmt: skip
            if needs_epochs:
                known = self._with_epochs(known, segment)
        # Its indexes are files of their own, and nothing shows that they are not of another segment.
        return _Remote(known, segment, has_indexes=False, has_no_aborted=False)

    def _with_epochs(self, known: RemoteSegment, segment: Segment) -> RemoteSegment:
        """Add the end offset and epochs, from the segment and its leader epoch checkpoint."""
        end = _kafkacomp.end_offset(segment, "0.8+")
        path = self._folder.file(known.start_offset, known.id, "leader_epoch_checkpoint")
        content = self._folder.filesystem.read(path)
        if end is None or content is None:
            problem = "its end is corrupt" if end is None else f"{path} does not exist"
            raise CorruptRecordError(
                f"{segment.name}: its offsets and epochs are unknown, because {problem}: give remote_log_metadata"
            )
        checkpoint: list[tuple[int, int]] = [*_kafkacomp.read_leader_epoch_checkpoint(content, path)]
        return replace(known, end_offset=end - 1, leader_epochs=epochs_within(checkpoint, known.start_offset, end - 1))

    def _chunked(self, wanted: _Wanted) -> _Remote | None:
        """Open a segment that Aiven's plugin has stored; ``None`` if its manifest cannot be read, which is recorded."""
        path = self._folder.file(wanted.start, wanted.id, "rsm-manifest")
        try:
            manifest = read_manifest(self._folder.filesystem, path)
            _check(manifest.segment, wanted.start, wanted.id, path)
        except (CorruptRecordError, OSError) as error:
            self._failures.append((path, error))
            return None
        log, indexes = self._objects(wanted)
        opener = ChunkedSegment(self._folder.filesystem, log, indexes, manifest, self._options.keys)
        self._check_key(opener, manifest)
        segment = Segment(log, opener, manifest.chunks.file_size, base_offset=wanted.start)
        return _Remote(
            wanted.known or manifest.segment,
            segment,
            has_indexes=True,
            has_no_aborted="txnindex" not in manifest.indexes,
        )

    def _check_key(self, opener: ChunkedSegment, manifest: Manifest) -> None:
        """Check each key pair once, so that a wrong key is reported before the first row."""
        key_id = manifest.encryption.key_id if manifest.encryption and self._options.checks_keys else None
        if key_id is not None and key_id not in self._checked:
            opener.decoder()
            self._checked.add(key_id)

    def _objects(self, wanted: _Wanted) -> tuple[str, str]:
        """The paths of the segment and its indexes: next to the manifest, unless its metadata has others."""
        custom = wanted.known.custom_metadata if wanted.known else None
        is_listed = wanted.stored is not None and "log" in wanted.stored.files
        fields = CustomMetadata() if custom is None or is_listed else CustomMetadata.parse(custom)
        if fields.object_key is None:
            path = self._folder.file(wanted.start, wanted.id, "")
            return f"{path}log", f"{path}indexes"
        key = f"{fields.object_prefix or ''}{fields.object_key}"
        if "\0" in key or key.startswith(("/", "../")) or posixpath.normpath(key) != key:
            raise CorruptRecordError(f"segment {wanted.id}: invalid object key in its metadata: {key[:200]!r}")
        root = (self._folder.root or self._folder.path).rstrip("/")
        return f"{root}/{key}.log", f"{root}/{key}.indexes"


def _check(found: RemoteSegment, start: int, segment_id: str, path: str) -> None:
    if (found.start_offset, found.id) != (start, segment_id):
        raise CorruptRecordError(f"{path}: the manifest of another segment: {found.start_offset:020}-{found.id}")
