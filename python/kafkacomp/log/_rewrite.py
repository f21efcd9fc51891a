"""Rewriting logs: recompressed, in another message format, repaired."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kafkacomp import _kafkacomp
from kafkacomp._arguments import (
    BATCH_BYTES,
    SEGMENT_BYTES,
    checked_max_output_size,
    checked_threads,
    compression_type_of,
    integer,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._log_format import LogFormat, check_log_format, undecided
from kafkacomp._storage.commit_state import sync_folder
from kafkacomp._storage.filesystem import local_folder, open_filesystem
from kafkacomp._storage.names import basename, partition_of
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.log._offset_map import offset_map as open_offset_map
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from kafkacomp._kafkacomp import PartitionFindings, WrittenLog
    from kafkacomp._storage.discovery import Partition
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._types import CompressionTypeLike, StrPath
    from kafkacomp.arrow._report import MissingRange

    Progress: TypeAlias = Callable[[int, int], object] | None

__all__ = ["Repair", "RepairReport", "RewriteReport", "convert", "recompress", "repair"]

#: Next to a repaired log: the corrupt bytes, and the report. A broker ignores both.
QUARANTINE = "kafkacomp-quarantine.bin"
REPORT = "kafkacomp-repair.json"

#: The topic of a KRaft controller, and what is beside its segments that is not made from them.
_METADATA = "__cluster_metadata"
#: How much of a metadata file is copied at once.
_PIECE = 1 << 20
_METADATA_FILE = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint|quorum-state")


#: What is counted of the repairs of all partitions.
_REPAIR_COUNTS = (
    "more_repairs",
    "fixed_batches",
    "restored_batches",
    "repeated_batches",
    "corrupt_ranges",
    "corrupt_bytes",
    "zero_tail_bytes",
)


@dataclass(frozen=True)
class RewriteReport:
    """What was written."""

    #: Partitions of the source, each of which became a folder.
    partitions: int
    segments: int
    batches: int
    #: Bytes of the source's segments.
    bytes_in: int
    #: Bytes of the new segments.
    bytes_out: int
    #: Offsets that the source should have and has not, in order; ranges that meet are merged. At most 10,000 of each
    #: partition. For a repair, with the offsets of what is corrupt.
    missing: tuple[MissingRange, ...]
    #: Further ranges.
    more_missing: int
    #: Missing offsets that compaction does not explain, repeated batches, overlapping files; of a repair also side
    #: files of the source that could not be used, and transactions that are open at the end of a log although something
    #: is missing: it may have been their end, and a committed reader stops there.
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Repair:
    """Something that was repaired."""

    #: The segment of the source.
    file: str
    #: The byte at which the range begins.
    position: int
    #: Its length in bytes.
    length: int
    #: ``fixed`` (an LZ4 header checksum), ``restored`` (a header field), ``reordered`` (a batch that stood in the place
    #: of another), ``quarantined``, ``dropped``, ``repeat dropped`` or ``truncated``.
    action: str
    #: The first offset that is missing for it; ``None`` where none is, or the batches around it do not determine it.
    first_offset: int | None
    #: The last offset that is missing for it, inclusive.
    last_offset: int | None
    #: What was wrong.
    reason: str
    #: Where the range begins in the folder's ``kafkacomp-quarantine.bin``; ``None`` if it is not there.
    quarantined_at: int | None


@dataclass(frozen=True)
class RepairReport(RewriteReport):
    """What was repaired and written."""

    #: In file order, the first 10000 of each partition.
    repairs: tuple[Repair, ...]
    #: Repairs beyond those.
    more_repairs: int
    #: Batches whose LZ4 header checksum was corrected.
    fixed_batches: int
    #: Batches whose offset field or leader epoch was restored.
    restored_batches: int
    #: Batches that were there a second time and are written once.
    repeated_batches: int
    #: Corrupt ranges, which are not in the new log.
    corrupt_ranges: int
    corrupt_bytes: int
    #: Zero bytes after last batches.
    zero_tail_bytes: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing in the new log but for what compaction removed."""
        lost = self.corrupt_ranges or self.more_missing
        return not lost and all(each.reason == "compacted" for each in self.missing)


@dataclass(frozen=True)
class PartitionJob:
    """A partition that the core rewrites into the folder of another one."""

    partition: Partition
    #: The content of the producer snapshot at the first segment's base offset.
    producer_snapshot: bytes | None
    leader_epoch_checkpoint: bytes | None
    partition_metadata: bytes | None
    #: The folder to make.
    target: str
    #: ``None``: segments begin where they did.
    segment_bytes: int | None
    max_output_size: int
    #: Called as ``progress(bytes_done)`` now and then.
    progress: Callable[[int], object] | None


def recompress(
    source: StrPath,
    target: StrPath,
    *,
    compression_type: CompressionTypeLike = "zstd",
    compression_level: int | None = None,
    merge: bool = False,
    batch_bytes: int = 1 << 20,
    segment_bytes: int | None = None,
    threads: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RewriteReport:
    """Rewrite a log with other compression, for a broker to mount.

    Offsets, timestamps, producer ids, epochs, sequences, transactions, control batches and the batches' bounds stay;
    indexes and producer snapshots are made anew, the topic's id and the leader epochs are taken over. Control batches
    are never compressed. Offsets that several files have are written once, repeated batches are left out, and gaps stay
    and are reported. Of formats 0 and 1, uncompressed messages are wrapped one by one unless ``merge`` is given, and a
    wrapper that is to be uncompressed is taken apart.

    Args:
        source: A segment, a partition's folder, a folder of such folders, or a URL of one of these. It is only read.
        target: The folder to make: of the one partition, or of folders ``<topic>-<partition>``. It appears whole or
            not at all.
        compression_type: One of Kafka's, or its name or id.
        compression_level: One of the type's levels; default: Kafka's.
        merge: Join neighbouring batches of one producer, transaction and leader epoch.
        batch_bytes: A merged batch is closed once its records take so many bytes before compression.
        segment_bytes: Close segments before they grow beyond this many bytes; default: segments begin where
            they did, and only what would grow beyond 1 GiB is divided.
        threads: Compressing threads; default: one per core. Merging is done by one.
        max_output_size: The most bytes that one batch's records may decompress to.
        progress: Called as ``progress(bytes_done, bytes_total)`` now and then.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: corruption in the source, for which there is :func:`repair`, or two of its files have
            different records at an offset.
        UnsupportedCompressionTypeError: zstd for formats 0 or 1; code 76.
        OffsetsOutOfOrderError: offsets that go back.
        ValueError: a level that the type does not have, a number out of range, a target that is a URL or inside of the
            source, or a log of Kafka 0.7, whose offsets are byte positions: :func:`convert` is for those.
        OSError: the file system's.
    """
    kind = compression_type_of(compression_type)
    integer("batch_bytes", batch_bytes, BATCH_BYTES)
    threads = checked_threads(threads)
    merge_bytes = batch_bytes if merge else None
    with _Work(source, target, segment_bytes, max_output_size, progress) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            done = _kafkacomp.recompress_partition(job, int(kind), compression_level, merge_bytes, threads)
            work.add(done.log, done.findings)
        return RewriteReport(**work.fields())


def convert(
    source: StrPath,
    target: StrPath,
    to_magic: int,
    *,
    upgrade: bool = True,
    log_format: LogFormat = "auto",
    first_offset: int | None = None,
    offset_map: StrPath | None = None,
    batch_bytes: int = 16384,
    segment_bytes: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RewriteReport:
    """Rewrite a log in another message format, for a broker to mount; see :func:`kafkacomp.record.convert`.

    Logs of Kafka 0.7, whose offsets are byte positions, are carried over: messages get consecutive offsets, no key and
    no timestamp; a compressed message becomes one batch with its codec, whatever is nested in it.

    Going down, control batches are dropped, and headers, producers and, to format 0, timestamps are lost: records of
    aborted transactions look like others then.

    Args:
        source: As :func:`recompress` takes it.
        target: As :func:`recompress` makes it.
        to_magic: The format that nothing may be above: 0, 1 or 2.
        upgrade: Lift what is below that format to it; otherwise it is copied as it is.
        log_format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_log_format`.
        first_offset: Of 0.7, the first message's offset in each partition; default 0.
        offset_map: Of 0.7, a ``.parquet`` or ``.csv`` file to make, with the columns ``topic``, ``partition``,
            ``position`` and ``offset``: for each position that a consumer may have committed, the offset of the first
            message from there on. A compressed message's start leads to its first message.
        batch_bytes: The most bytes of a batch made of plain messages.
        segment_bytes: As in :func:`recompress`.
        max_output_size: As in :func:`recompress`.
        progress: As in :func:`recompress`.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: corruption in the source, for which there is :func:`repair`, or two of its files have
            different records at an offset.
        UnsupportedCompressionTypeError: zstd going down.
        ValueError: a number out of range, undecided whether a log is of 0.7, or what is only for logs of 0.7 or later.
        OSError: the file system's.
    """
    if to_magic not in {0, 1, 2}:
        message = f"to_magic must be 0, 1 or 2, not {to_magic!r}"
        raise ValueError(message)
    integer("batch_bytes", batch_bytes, BATCH_BYTES)
    check_log_format(log_format)
    if first_offset is not None and not 0 <= first_offset < 2**62:
        message = f"first_offset must be 0 to {2**62 - 1}, not {first_offset}"
        raise ValueError(message)
    only_old = first_offset is not None or offset_map is not None
    with open_offset_map(offset_map) as take, _Work(source, target, segment_bytes, max_output_size, progress) as work:
        if to_magic < 2:  # noqa: PLR2004 - the metadata log's
            work.refuse_metadata()
        for job in work.jobs():
            if _is_old(job, log_format, work.name, upgrade=upgrade, only_old=only_old):
                mapped = None if take is None else partial(take, job.partition.topic, job.partition.partition)
                work.add(_kafkacomp.migrate_partition(job, to_magic, first_offset or 0, batch_bytes, mapped))
            else:
                done = _kafkacomp.convert_partition(job, to_magic, upgrade, batch_bytes)
                work.add(done.log, done.findings)
        return RewriteReport(**work.fields())


def _is_old(job: PartitionJob, given: str, name: str, *, upgrade: bool, only_old: bool) -> bool:
    """Whether a partition is of Kafka 0.7, and what was asked for can be done with it."""
    found = _kafkacomp.partition_format(job) if given == "auto" else given
    if found is None:
        raise undecided(name)
    if found == "0.7" and not upgrade:
        message = f"{name}: a log of Kafka 0.7 is in no later format and cannot be copied as it is"
        raise ValueError(message)
    if found != "0.7" and only_old:
        message = f"{name}: first_offset and offset_map are for logs of Kafka 0.7; this one keeps its offsets"
        raise ValueError(message)
    return found == "0.7"


def _refuse_old(job: PartitionJob, name: str) -> None:
    """A log of 0.7 can only be converted: whatever changes a message's length moves all offsets behind it."""
    if _kafkacomp.partition_format(job) == "0.7":
        message = f"{name}: a log of Kafka 0.7, whose offsets are byte positions and would change: convert it instead"
        raise ValueError(message)


def repair(
    source: StrPath,
    target: StrPath,
    *,
    quarantine: bool = True,
    segment_bytes: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RepairReport:
    """Rewrite the intact part of a log, for a broker to mount.

    Batches of formats 1 and 2 whose LZ4 header checksum alone is wrong are fixed (KIP-57's one-time patch). Offset
    fields and leader epochs, which no checksum covers, are restored if the batches around them determine them. What is
    corrupt, does not belong where it stands, or is truncated is left out; so are repeated batches. Offsets that several
    files have are written once. Indexes and producer snapshots are rebuilt.

    Where something was repaired, ``kafkacomp-repair.json`` in the folder is the report, and
    ``kafkacomp-quarantine.bin`` has the corrupt bytes.

    Args:
        source: As :func:`recompress` takes it.
        target: As :func:`recompress` makes it.
        quarantine: Keep the corrupt bytes.
        segment_bytes: As in :func:`recompress`.
        max_output_size: As in :func:`recompress`.
        progress: As in :func:`recompress`.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: two files of a partition have different records at an offset.
        OutputLimitError: a batch's records take more than ``max_output_size`` bytes.
        UnknownServerError: a compression type that Kafka does not have.
        MemoryError: memory ran out. Nothing is left out for such a reason.
        ValueError: a number out of range, or a log of Kafka 0.7, as in :func:`recompress`.
        OSError: the file system's.
    """
    sums: dict[str, Any] = dict.fromkeys(_REPAIR_COUNTS, 0)
    repairs: list[Repair] = []
    with _Work(source, target, segment_bytes, max_output_size, progress, lenient=True) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            repaired = _kafkacomp.repair_partition(job, QUARANTINE if quarantine else None)
            if repaired.repairs:
                own = [dataclasses.asdict(each) for each in repaired.repairs]
                repaired.folder.write(REPORT, json.dumps(own, indent=1).encode())
            if repaired.first_open_offset is not None and repaired.corrupt_ranges:
                offset = repaired.first_open_offset
                work.warnings.append(f"{work.name}: a transaction is open from offset {offset} on; its end may be lost")
            work.add(repaired.folder.finish(), repaired.findings)
            repairs += repaired.repairs
            for name in sums:
                sums[name] += getattr(repaired, name)
        return RepairReport(**work.fields(), repairs=tuple(repairs), **sums)


class _Work:
    """The partitions of a source, one after another, and the folders that they become."""

    def __init__(
        self,
        source: StrPath,
        target: StrPath,
        segment_bytes: int | None,
        max_output_size: int,
        progress: Progress,
        *,
        lenient: bool = False,
    ) -> None:
        if segment_bytes is not None:
            integer("segment_bytes", segment_bytes, SEGMENT_BYTES)
        checked_max_output_size(max_output_size)
        self._filesystem, path = open_filesystem(os.fspath(source))
        self._target = Path(local_folder(target))
        self._partitions = resolve(source)
        first = self._partitions[0].segments[0].name
        self._is_one = len(self._partitions) == 1 and path.rstrip("/\\") in {first, _folder(first)}
        inside = _folder(first) if self._is_one else path
        # A segment by itself may have any folder around it, such as the current one, where its copy may go as well.
        is_free = path == first and partition_of(basename(inside)) is None
        if not is_free and _is_inside(self._target, inside):
            what = "the partition's folder" if self._is_one else "the folder"
            raise ValueError(f"{target}: the target lies in {what} {inside}, which is read: give one outside of it")
        self._options = (segment_bytes, max_output_size)
        self._progress = progress
        self._total = sum(segment.size for each in self._partitions for segment in each.segments)
        self._lenient = lenient
        folders = {_folder(each.segments[0].name) for each in self._partitions if each.topic == _METADATA}
        entries = [entry for folder in sorted(folders) for entry in self._filesystem.list(folder) if not entry.is_dir]
        self._metadata_files = [entry.path for entry in entries if _METADATA_FILE.fullmatch(basename(entry.path))]
        self._staged: _kafkacomp.StagedFolder | None = None
        self.name = ""
        self.warnings: list[str] = []
        self._missing: list[MissingRange] = []
        self._more_missing = 0
        counted = ("partitions", "segments", "batches", "bytes_out")
        self.counts = dict.fromkeys(counted, 0) | {"bytes_in": self._total}

    def __enter__(self) -> Self:
        if not self._is_one or self._metadata_files:
            self._staged = _kafkacomp.StagedFolder(str(self._target))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._staged is not None:
            if kind is None and self._is_one:
                self._publish_one(Path(str(self._staged.folder)))
            elif kind is None:
                self._staged.publish()
            self._staged.discard()

    def _publish_one(self, staged: Path) -> None:
        """Give the only partition its place."""
        (folder,) = staged.iterdir()
        sync_folder(folder)
        if os.path.lexists(self._target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self._target))
        folder.rename(self._target)
        sync_folder(self._target.absolute().parent)

    def _copy_metadata_files(self, target: Path) -> None:
        """Copy what a controller needs beside the metadata log: its snapshots and the state of the quorum."""
        for path in self._metadata_files:
            with (target / path.replace("\\", "/").rpartition("/")[2]).open("xb") as file:
                snapshot, at = self._filesystem.open(path), 0
                while piece := snapshot.read_at(_PIECE, at):
                    at += file.write(piece)
                file.flush()
                os.fsync(file.fileno())

    def jobs(self) -> Iterator[PartitionJob]:
        """What the core is to do, partition by partition."""
        done = 0
        for each in self._partitions:
            folder = _folder(each.segments[0].name)
            self.name = folder
            target = self._target
            if self._staged is not None:
                target = Path(str(self._staged.folder)) / f"{each.topic}-{each.partition}"
            yield PartitionJob(each, *self._history(each, folder), str(target), *self._options, self._step(done))
            if each.topic == _METADATA:
                self._copy_metadata_files(target)
            done += sum(segment.size for segment in each.segments)

    def add(self, log: WrittenLog | None, found: PartitionFindings | None = None) -> None:
        """Count a partition that was written, and what was found in it."""
        self.counts["partitions"] += 1
        if log is not None:
            for name, count in (("segments", log.segments), ("batches", log.batches), ("bytes_out", log.bytes)):
                self.counts[name] += count
        if found is None:
            return
        self._missing += found.missing
        self._more_missing += found.more_missing
        self.warnings += found.warnings
        gaps = [each for each in found.missing if each.reason == "gap"]
        if gaps:
            first, last = gaps[0].first_offset, gaps[0].last_offset
            what = f"offset {first} is" if first == last else f"offsets {first} to {last} are"
            others = f", and {len(gaps) - 1} more ranges" if len(gaps) > 1 else ""
            self.warnings.append(f"{gaps[0].segment}: {what} missing where nothing is corrupt{others}")

    def fields(self) -> dict[str, Any]:
        """What was counted and found in all partitions, as the report has it."""
        return self.counts | {
            "missing": tuple(self._missing),
            "more_missing": self._more_missing,
            "warnings": tuple(self.warnings),
        }

    def refuse_metadata(self) -> None:
        """Refuse a metadata log with its snapshots: they and the log's control records are of format 2."""
        for path in self._metadata_files:
            message = f"{path}: the metadata log of KRaft, which is of message format 2 only"
            raise ValueError(message)

    def _step(self, before: int) -> Callable[[int], object] | None:
        progress = self._progress
        return None if progress is None else lambda done: progress(before + done, self._total)

    def _history(self, partition: Partition, folder: str) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The producer snapshot at the first segment's base offset, the leader epochs, and the topic's id."""
        first = partition.segments[0]
        if first.base_offset is None:
            return None, None, None
        snapshot = self._side_file(
            f"{folder}/{first.base_offset:020}.snapshot", _kafkacomp.read_producer_snapshot, self._filesystem
        )
        epochs = self._side_file(
            f"{folder}/leader-epoch-checkpoint", _kafkacomp.read_leader_epoch_checkpoint, self._filesystem
        )
        metadata = self._side_file(f"{folder}/partition.metadata", _kafkacomp.read_partition_metadata, self._filesystem)
        return snapshot, epochs, metadata

    def _side_file(self, path: str, check: Callable[[bytes, str], object], filesystem: FileSystem) -> bytes | None:
        content = filesystem.read(path)
        if content is None:
            return None
        try:
            check(content, path)
        except CorruptRecordError as error:
            if not self._lenient:
                raise
            self.warnings.append(f"not used: {error}")
            return None
        return content


def _folder(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[0] if os.name == "nt" else path.rpartition("/")[0]


def _is_inside(target: Path, folder: str) -> bool:
    """Whether writing the target would write into a folder of the source."""
    try:
        return Path(target).resolve().is_relative_to(Path(folder).resolve())
    except OSError:
        return False
