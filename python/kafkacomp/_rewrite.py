"""Logs written anew: recompressed, in another message format, repaired."""

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
from kafkacomp._family import check_format, undecided
from kafkacomp._filesystem import local_folder, open_filesystem
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._names import basename
from kafkacomp._offset_map import offset_map as open_offset_map
from kafkacomp._published import sync_folder
from kafkacomp._source import Partition, resolve
from kafkacomp._types import CompressionType
from kafkacomp.exceptions import CorruptRecordError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kafkacomp._filesystem import FileSystem

    PathLike: TypeAlias = str | os.PathLike[str]
    Progress: TypeAlias = Callable[[int, int], object] | None
    _Counts: TypeAlias = tuple[int, int, int, int, int]

__all__ = ["Repair", "RepairReport", "RewriteReport", "convert", "recompress", "repair"]

#: Beside a repaired log: the bytes that were left out, and the report. A broker passes both over.
QUARANTINE = "kafkacomp-quarantine.bin"
REPORT = "kafkacomp-repair.json"

#: The topic of a KRaft controller, and what is beside its segments that is not made from them.
_METADATA = "__cluster_metadata"
_METADATA_FILE = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint|quorum-state")

_MAX_SEGMENT_BYTES = 2**31 - 1
_MAX_BATCH_BYTES = 2**31 - 1


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


@dataclass(frozen=True)
class Repair:
    """Something that was repaired."""

    #: The segment of the source.
    file: str
    #: The byte at which the range begins.
    position: int
    #: Its length in bytes.
    length: int
    #: ``mended``, ``left out`` or ``tail cut``.
    action: str
    #: First offset by the batch's header, which nothing vouches for; ``None`` where the range is no batch.
    first_offset: int | None
    #: Last offset likewise.
    last_offset: int | None
    #: What was wrong.
    reason: str
    #: Where the range begins in the folder's ``kafkacomp-quarantine.bin``; ``None`` for what was mended or dropped.
    quarantined_at: int | None


@dataclass(frozen=True)
class RepairReport(RewriteReport):
    """What was repaired and written."""

    #: In file order, the first 10000 of each partition.
    repairs: tuple[Repair, ...]
    #: Repairs beyond those.
    more_repairs: int
    #: Batches whose LZ4 header checksum was set right.
    mended_batches: int
    #: Ranges that are not in the new log.
    left_out: int
    left_out_bytes: int
    #: Zero bytes behind last batches, which are no damage.
    zero_tail_bytes: int
    #: Side files of the source that could not be used, and transactions that are open at the end of a log although
    #: something was left out: it may have been their end, and a committed reader stops there.
    warnings: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is missing in the new log."""
        return self.left_out == 0


def recompress(
    source: PathLike,
    target: PathLike,
    *,
    compression_type: CompressionType | str | int = CompressionType.ZSTD,
    level: int | None = None,
    merge: bool = False,
    batch_bytes: int = 1 << 20,
    segment_bytes: int | None = None,
    threads: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RewriteReport:
    """Write a log anew with other compression, for a broker to mount.

    Offsets, timestamps, producer ids, epochs, sequences, transactions, control batches and the batches' bounds stay;
    indexes and producer snapshots are made anew, the topic's id and the leader epochs are taken over. Control batches
    are never compressed. Of formats 0 and 1, uncompressed messages are wrapped one by one unless ``merge`` is given,
    and a wrapper that is to be uncompressed is taken apart.

    Args:
        source: A segment, a partition's folder, a folder of such folders, or a URL of one of these. It is only read.
        target: The folder to make: of the one partition, or of folders ``<topic>-<partition>``. It appears whole or
            not at all.
        compression_type: One of Kafka's, or its name or id.
        level: One of the type's levels; default: Kafka's.
        merge: Join neighbouring batches of one producer, transaction and leader epoch.
        batch_bytes: A merged batch is closed once its records take so many bytes before compression.
        segment_bytes: Close segments before they grow beyond this many bytes; default: segments begin where
            they did, and only what would grow beyond 1 GiB is divided.
        threads: Compressing threads; default: one per core. Merging is done by one.
        max_output_size: The most bytes that one batch's records may decompress to.
        progress: Called as ``progress(bytes_done, bytes_total)`` now and then.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: damage in the source; :func:`repair` is for such.
        UnknownServerError: zstd for formats 0 or 1.
        OffsetsOutOfOrderError: offsets that go back.
        ValueError: a level that the type does not have, a number out of range, a target that is a URL or inside of the
            source, or a log of Kafka 0.7, whose offsets are byte positions: :func:`convert` is for those.
        OSError: the file system's.
    """
    kind = _compression_type(compression_type)
    _check_range("batch_bytes", batch_bytes, _MAX_BATCH_BYTES)
    threads = (os.cpu_count() or 1) if threads is None else threads
    _check_range("threads", threads, 1024)
    merge_bytes = batch_bytes if merge else None
    with _Work(source, target, segment_bytes, max_output_size, progress) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            work.add(_kafkacomp.recompress_partition(job, int(kind), level, merge_bytes, threads))
        return RewriteReport(**work.counts)


def convert(
    source: PathLike,
    target: PathLike,
    to_magic: int,
    *,
    upgrade: bool = True,
    format: str = "auto",  # noqa: A002 - scan's name for it
    first_offset: int | None = None,
    offset_map: PathLike | None = None,
    batch_bytes: int = 16384,
    segment_bytes: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RewriteReport:
    """Write a log anew in another message format, for a broker to mount; see :func:`kafkacomp.record.convert`.

    Logs of Kafka 0.7, whose offsets are byte positions, are carried over: messages get consecutive offsets, no key and
    no timestamp; a compressed message becomes one batch with its codec, whatever is nested in it.

    Going down, control batches are dropped, and headers, producers and, to format 0, timestamps are lost: records of
    aborted transactions look like others then.

    Args:
        source: As :func:`recompress` takes it.
        target: As :func:`recompress` makes it.
        to_magic: The format that nothing may be above: 0, 1 or 2.
        upgrade: Lift what is below that format to it; otherwise it is copied as it is.
        format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_format`.
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
        CorruptRecordError: damage in the source; :func:`repair` is for such.
        UnsupportedCompressionTypeError: zstd going down.
        ValueError: a number out of range, undecided whether a log is of 0.7, or what is only for logs of 0.7 or later.
        OSError: the file system's.
    """
    if to_magic not in {0, 1, 2}:
        message = f"to_magic must be 0, 1 or 2, not {to_magic!r}"
        raise ValueError(message)
    _check_range("batch_bytes", batch_bytes, _MAX_BATCH_BYTES)
    check_format(format)
    if first_offset is not None and not 0 <= first_offset < 2**62:
        message = f"first_offset must be 0 to {2**62 - 1}, not {first_offset}"
        raise ValueError(message)
    only_old = first_offset is not None or offset_map is not None
    with open_offset_map(offset_map) as take, _Work(source, target, segment_bytes, max_output_size, progress) as work:
        if to_magic < 2:  # noqa: PLR2004 - the metadata log's
            work.refuse_metadata()
        for job in work.jobs():
            if _is_old(job, format, work.name, upgrade=upgrade, only_old=only_old):
                mapped = None if take is None else partial(take, *job[0][:2])
                work.add(_kafkacomp.migrate_partition(job, to_magic, first_offset or 0, batch_bytes, mapped))
            else:
                work.add(_kafkacomp.convert_partition(job, to_magic, upgrade, batch_bytes))
        return RewriteReport(**work.counts)


def _is_old(job: tuple[Any, ...], given: str, name: str, *, upgrade: bool, only_old: bool) -> bool:
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


def _refuse_old(job: tuple[Any, ...], name: str) -> None:
    """A log of 0.7 can only be converted: whatever changes a message's length moves all offsets behind it."""
    if _kafkacomp.partition_format(job) == "0.7":
        message = f"{name}: a log of Kafka 0.7, whose offsets are byte positions and would change: convert it instead"
        raise ValueError(message)


def repair(
    source: PathLike,
    target: PathLike,
    *,
    quarantine: bool = True,
    segment_bytes: int | None = None,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Progress = None,
) -> RepairReport:
    """Write what is sound of a log anew, for a broker to mount.

    Batches of formats 1 and 2 whose LZ4 header checksum alone is wrong are mended (KIP-57's one-time patch); what is
    corrupt, does not fit where it stands, or is cut by the segment's end is left out. Indexes and producer snapshots
    are made anew. Where something was repaired, ``kafkacomp-repair.json`` in the folder is the report, and
    ``kafkacomp-quarantine.bin`` has the bytes that were left out.

    Args:
        source: As :func:`recompress` takes it.
        target: As :func:`recompress` makes it.
        quarantine: Keep what is left out.
        segment_bytes: As in :func:`recompress`.
        max_output_size: A batch whose records decompress to more counts as corrupt.
        progress: As in :func:`recompress`.

    Raises:
        FileExistsError: ``target`` exists.
        ValueError: a number out of range, or a log of Kafka 0.7, as in :func:`recompress`.
        OSError: the file system's.
    """
    sums = dict.fromkeys(("more_repairs", "mended_batches", "left_out", "left_out_bytes", "zero_tail_bytes"), 0)
    repairs: list[Repair] = []
    with _Work(source, target, segment_bytes, max_output_size, progress, lenient=True) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            folder, found = _kafkacomp.repair_partition(job, QUARANTINE if quarantine else None)
            own = [_repair(each, job[0][4]) for each in found["repairs"]]
            if own:
                folder.write(REPORT, json.dumps([dataclasses.asdict(each) for each in own], indent=1).encode())
            if found["first_open_offset"] is not None and found["left_out"]:
                offset = found["first_open_offset"]
                work.warnings.append(f"{work.name}: a transaction is open from offset {offset} on; its end may be lost")
            work.add(folder.finish())
            repairs += own
            for name in sums:
                sums[name] += found[name]
        return RepairReport(**work.counts, repairs=tuple(repairs), warnings=tuple(work.warnings), **sums)


def _repair(found: tuple[Any, ...], segments: list[tuple[Any, ...]]) -> Repair:
    segment, position, length, action, offsets, reason, kept_at = found
    first, last = offsets or (None, None)
    return Repair(segments[segment][0], position, length, action, first, last, reason, kept_at)


class _Work:
    """The partitions of a source, one after another, and the folders that they become."""

    def __init__(
        self,
        source: PathLike,
        target: PathLike,
        segment_bytes: int | None,
        max_output_size: int,
        progress: Progress,
        *,
        lenient: bool = False,
    ) -> None:
        if segment_bytes is not None:
            _check_range("segment_bytes", segment_bytes, _MAX_SEGMENT_BYTES)
        _check_range("max_output_size", max_output_size, DEFAULT_MAX_OUTPUT_SIZE)
        self._filesystem, path = open_filesystem(os.fspath(source))
        self._target = Path(local_folder(target))
        self._partitions = resolve(source)
        first = self._partitions[0].segments[0].name
        self._is_one = len(self._partitions) == 1 and path.rstrip("/\\") in {first, _folder(first)}
        if _is_inside(self._target, _folder(first) if self._is_one else path):
            message = f"{target}: the source is only read: choose a target outside of it"
            raise ValueError(message)
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
                file.write(self._filesystem.read(path) or b"")
                file.flush()
                os.fsync(file.fileno())

    def jobs(self) -> Any:  # noqa: ANN401 - an iterator of what the core takes
        """What the core is to do, partition by partition."""
        done = 0
        for each in self._partitions:
            folder = _folder(each.segments[0].name)
            self.name = folder
            target = self._target
            if self._staged is not None:
                target = Path(str(self._staged.folder)) / f"{each.topic}-{each.partition}"
            yield (each.as_tuple(), self._history(each, folder), str(target), *self._options, self._step(done))
            if each.topic == _METADATA:
                self._copy_metadata_files(target)
            done += sum(segment.size for segment in each.segments)

    def add(self, counts: _Counts | None) -> None:
        """Count a partition that was written."""
        segments, batches, size, _, _ = counts or (0, 0, 0, 0, 0)
        for name, count in (("partitions", 1), ("segments", segments), ("batches", batches), ("bytes_out", size)):
            self.counts[name] += count

    def refuse_metadata(self) -> None:
        """Refuse a metadata log with its snapshots: they and the log's control records are of format 2."""
        for path in self._metadata_files:
            message = f"{path}: the metadata log of KRaft, which is of message format 2 only"
            raise ValueError(message)

    def _step(self, before: int) -> Callable[[int], object] | None:
        progress = self._progress
        return None if progress is None else lambda done: progress(before + done, self._total)

    def _history(self, partition: Partition, folder: str) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The producer snapshot at the first segment's base, the leader epochs, the topic's id."""
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


def _compression_type(given: CompressionType | str | int) -> CompressionType:
    return CompressionType.for_name(given) if isinstance(given, str) else CompressionType.for_id(given)


def _check_range(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        message = f"{name} must be 1 to {most}, not {value!r}"
        raise ValueError(message)


def _folder(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[0] if os.name == "nt" else path.rpartition("/")[0]


def _is_inside(target: Path, folder: str) -> bool:
    """Whether writing the target would write into a folder of the source."""
    try:
        return Path(target).resolve().is_relative_to(Path(folder).resolve())
    except OSError:
        return False
