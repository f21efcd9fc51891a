"""Rewrite logs: recompress, convert and repair them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._arguments import (
    BATCH_BYTES,
    check_bools,
    check_to_magic,
    checked_threads,
    compression_type_of,
    integer,
    level_of,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._log_format import LogFormat, check_log_format, undecided
from kafkacomp._losses import acknowledged, unacknowledged
from kafkacomp.log._offset_map import offset_map as open_offset_map
from kafkacomp.log._rewrite_work import RewriteWork
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkacomp._storage.loss_file import KnownLoss, LostOffsets
    from kafkacomp._storage.partition import SegmentSource
    from kafkacomp._types import CompressionTypeLike, StrPath
    from kafkacomp.arrow._report import MissingRange
    from kafkacomp.log._rewrite_work import PartitionJob, Progress
    from kafkacomp.tiered.source import Tiered

#: The file next to a repaired log with the corrupt bytes; brokers ignore it, as they do the loss file.
QUARANTINE = "kafkacomp-quarantine.bin"


@dataclass(frozen=True)
class RewriteReport:
    """The result of :func:`recompress` and :func:`convert`.

    Attributes:
        partitions: The number of partitions of the source; each became a folder.
        segments: The number of segments written.
        batches: The number of batches written.
        bytes_in: The size of the source's segments in bytes.
        bytes_out: The size of the new segments in bytes.
        missing: Offsets that the source should have and does not, in order; adjacent ranges are merged. At most 10,000
            for each partition. In the report of a repair, including the offsets of corrupt batches.
        more_missing: The number of further ranges.
        known_losses: Those of the missing offsets that a loss file makes known.
        lost: What the new logs lack, except for what compaction removed, by topic. The loss file of each partition,
            ``kafkacomp-repair.json``, lists it.
        warnings: Messages about missing offsets that compaction does not explain, repeated batches and overlapping
            files. In the report of a repair also about index files of the source that could not be used, and about
            transactions that are open at the end of a log with missing offsets: their end may be among these, and a
            committed reader stops where they begin.
    """

    partitions: int
    segments: int
    batches: int
    bytes_in: int
    bytes_out: int
    missing: tuple[MissingRange, ...]
    more_missing: int
    known_losses: tuple[KnownLoss, ...]
    lost: tuple[LostOffsets, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Repair:
    """One change that :func:`repair` made: a range of bytes in a segment, and what became of it.

    Attributes:
        file: The path of the segment in the source.
        position: The byte of the segment at which the range begins.
        length: The length of the range in bytes.
        action: ``fixed`` (an LZ4 header checksum), ``restored`` (a header field), ``reordered`` (a batch that was
            not where its offsets belong), ``quarantined``, ``dropped``, ``repeat dropped`` or ``truncated``.
        first_offset: The first offset that is missing because of it; ``None`` if no offset is missing, or if the
            adjacent batches do not determine it.
        last_offset: The last offset that is missing because of it, inclusive.
        reason: The fault that was repaired.
        quarantined_at: The position of the range in the folder's ``kafkacomp-quarantine.bin``; ``None`` if the file
            does not have it.
    """

    file: str
    position: int
    length: int
    action: str
    first_offset: int | None
    last_offset: int | None
    reason: str
    quarantined_at: int | None


@dataclass(frozen=True)
class RepairReport(RewriteReport):
    """The result of :func:`repair`, which also has the fields of :class:`RewriteReport`.

    Attributes:
        repairs: The repairs in file order, the first 10,000 of each partition.
        more_repairs: The number of further repairs.
        fixed_batches: The number of batches whose LZ4 header checksum was corrected.
        restored_batches: The number of batches whose offset field or leader epoch was restored.
        repeated_batches: The number of batches that the source has twice; they were written once.
        corrupt_ranges: The number of corrupt ranges, which the new log does not contain.
        corrupt_bytes: The size of these ranges in bytes.
        zero_tail_bytes: The number of zero bytes at the ends of the source's segments.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.log.repair(example, target)
        >>> report.is_complete, report.corrupt_bytes, report.batches
        (True, 0, 1)
    """

    repairs: tuple[Repair, ...]
    more_repairs: int
    fixed_batches: int
    restored_batches: int
    repeated_batches: int
    corrupt_ranges: int
    corrupt_bytes: int
    zero_tail_bytes: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing in the new log except what compaction removed, and known losses."""
        return not unacknowledged(self)


#: The counts of a repair's report that are added up over all partitions.
_REPAIR_COUNTS = tuple(RepairReport.__annotations__.keys() - {"repairs"})


def recompress(
    source: StrPath | SegmentSource,
    target: StrPath,
    *,
    compression_type: CompressionTypeLike = "zstd",
    compression_level: int | None = None,
    merge: bool = False,
    batch_bytes: int = 1 << 20,
    segment_bytes: int | None = None,
    threads: int | None = None,
    known_losses: StrPath | Sequence[StrPath] = (),
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    allow_missing: bool = False,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Progress = None,
) -> RewriteReport:
    """Rewrite a log with another compression type, as folders that a broker can read.

    Offsets, timestamps, producer ids, epochs, sequences, transactions, control batches and the division into batches
    are kept; indexes and producer snapshots are rebuilt; the topic id and the leader epochs are copied. Control batches
    are never compressed. Offsets that several files have are written once, and repeated batches are left out. Gaps are
    kept, reported, and listed in the loss file of the new folder, ``kafkacomp-repair.json``. In message formats 0 and
    1, each uncompressed message gets a wrapper of its own unless ``merge`` is given, and wrappers become uncompressed
    messages if the new compression type is ``none``.

    Args:
        source: A segment, a partition's folder, a folder of such folders, or a URL of one of these. It is not changed.
            In tiered storage, all segments of the storage are rewritten.
        target: The folder to create, for the partition or for folders ``<topic>-<partition>`` if there are several. It
            appears complete or not at all.
        compression_type: A :class:`kafkacomp.CompressionType` or its name.
        compression_level: The compression type's level (KIP-390); ``None`` is Kafka's default.
        merge: Whether consecutive batches of one producer, transaction and leader epoch are joined.
        batch_bytes: With ``merge``: the bytes of records, before compression, at which a batch is closed.
        segment_bytes: The most bytes of a segment. Default: segments begin at the same offsets as in the source, and
            only those that would be larger than 1 GiB are divided.
        threads: Compressing threads; default: one per core that the process may use. Merging uses one.
        known_losses: Local paths of loss files, besides those in the folders of the source: what they name is known to
            be lost, as in :func:`verify_partition`.
        max_output_size: The most bytes that one batch's records may decompress to.
        allow_missing: Whether to return the report if offsets are missing that compaction does not explain.
        store: The file system of ``source``: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL, such as credentials and an endpoint;
            not together with ``store``.
        tiered: For tiered storage, as in :func:`kafkacomp.scan`.
        progress: Called regularly as ``progress(bytes_done, bytes_total)``.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: the source is corrupt (see :func:`repair`), or two of its files have different records at an
            offset.
        DataLossError: ``target`` is complete, but offsets of the source are missing that compaction does not explain.
        UnsupportedCompressionTypeError: zstd for batches of message format 0 or 1 (code 76).
        OffsetsOutOfOrderError: offsets decrease.
        ValueError: an argument is out of range; the target is a URL or inside the source; the log is of Kafka 0.7,
            whose offsets are byte positions (see :func:`convert`).
        OSError: reading or writing fails.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.log.recompress(example, target, compression_type="zstd")
        >>> report.partitions, report.batches, report.missing
        (1, 1, ())
    """
    kind, level = compression_type_of(compression_type), level_of(compression_level)
    integer("batch_bytes", batch_bytes, BATCH_BYTES)
    threads = checked_threads(threads)
    merge_bytes = batch_bytes if merge else None
    given = (source, target, segment_bytes, max_output_size, progress)
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    with RewriteWork(*given, known_losses=known_losses, opening=opening) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            done = _kafkacomp.recompress_partition(job, int(kind), level, merge_bytes, threads)
            work.publish(job, done.folder, done.findings)
    return acknowledged(str(target), RewriteReport(**work.fields()), allow_missing=allow_missing)


def convert(
    source: StrPath | SegmentSource,
    target: StrPath,
    to_magic: int,
    *,
    upgrade: bool = True,
    log_format: LogFormat = "auto",
    first_offset: int | None = None,
    offset_map: StrPath | None = None,
    batch_bytes: int = 16384,
    segment_bytes: int | None = None,
    known_losses: StrPath | Sequence[StrPath] = (),
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    allow_missing: bool = False,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Progress = None,
) -> RewriteReport:
    """Rewrite a log in another message format, as folders that a broker can read.

    :func:`kafkacomp.record.convert` does the same for a record set. The messages of logs of Kafka 0.7, whose offsets
    are byte positions, get consecutive offsets, no key and no timestamp; a compressed message becomes one batch with
    its compression type, at any depth of nesting.

    A conversion to an older format drops control batches, headers and producers and, to format 0, timestamps.
    Afterwards records of aborted transactions cannot be distinguished from others.

    A batch ends at missing offsets, so that they stay a gap between two batches. The loss file of the new folder,
    ``kafkacomp-repair.json``, lists them, and the offsets of control records that were dropped.

    Args:
        source: As for :func:`recompress`.
        target: As for :func:`recompress`.
        to_magic: The newest message format in the result: 0 (Kafka 0.8 and 0.9), 1 (0.10) or 2 (0.11 and later).
        upgrade: Whether batches of older formats are converted to ``to_magic``, too; otherwise they are copied.
        log_format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_log_format`.
        first_offset: For logs of 0.7: the offset of the first message in each partition; default: 0.
        offset_map: For logs of 0.7: a ``.parquet`` or ``.csv`` file to write, with the columns ``topic``,
            ``partition``, ``position`` and ``offset``: for each position that a consumer may have committed, the new
            offset of the first message at or after it. The position of a compressed message maps to its first message.
        batch_bytes: The most bytes of a batch that is made of uncompressed messages.
        segment_bytes: As in :func:`recompress`.
        known_losses: As in :func:`recompress`.
        max_output_size: As in :func:`recompress`.
        allow_missing: As in :func:`recompress`.
        store: As in :func:`recompress`.
        storage_options: As in :func:`recompress`.
        tiered: As in :func:`recompress`.
        progress: As in :func:`recompress`.

    Raises:
        FileExistsError: ``target`` exists.
        CorruptRecordError: the source is corrupt (see :func:`repair`), or two of its files have different records at an
            offset.
        DataLossError: ``target`` is complete, but offsets of the source are missing that compaction does not explain.
        UnsupportedCompressionTypeError: zstd batches would be converted to an older format.
        ValueError: an argument is out of range, or does not apply to the log's format; the content does not determine
            the log format.
        OSError: reading or writing fails.

    Example:
        >>> import kafkacomp as kc
        >>> kc.log.convert(example, target, 1).batches
        5
    """
    check_to_magic(to_magic)
    integer("batch_bytes", batch_bytes, BATCH_BYTES)
    check_log_format(log_format)
    check_bools(upgrade=upgrade)
    if first_offset is not None:
        first_offset = integer("first_offset", first_offset, (0, 2**62 - 1))
    only_old = first_offset is not None or offset_map is not None
    given = (source, target, segment_bytes, max_output_size, progress)
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    with (
        open_offset_map(offset_map) as take,
        RewriteWork(*given, known_losses=known_losses, opening=opening) as work,
    ):
        if to_magic < 2:  # noqa: PLR2004 - the metadata log's
            work.refuse_metadata()
        for job in work.jobs():
            is_old = _is_old(job, log_format, work.name, upgrade=upgrade, only_old=only_old)
            if is_old:
                mapped = None if take is None else partial(take, job.partition.topic, job.partition.partition)
                done = _kafkacomp.migrate_partition(job, to_magic, first_offset or 0, batch_bytes, mapped)
            else:
                done = _kafkacomp.convert_partition(job, to_magic, upgrade, batch_bytes)
            work.publish(job, done.folder, done.findings, is_old=is_old)
    return acknowledged(str(target), RewriteReport(**work.fields()), allow_missing=allow_missing)


def _is_old(job: PartitionJob, given: str, name: str, *, upgrade: bool, only_old: bool) -> bool:
    """Whether a partition is of Kafka 0.7; ValueError if the arguments do not apply to its log format."""
    found = _kafkacomp.partition_format(job) if given == "auto" else given
    if found is None:
        raise undecided(name)
    if found == "0.7" and not upgrade:
        raise ValueError(f"{name}: a log of Kafka 0.7 cannot be copied unchanged: use upgrade")
    if found != "0.7" and only_old:
        raise ValueError(f"{name}: first_offset and offset_map are for logs of Kafka 0.7; this one keeps its offsets")
    return found == "0.7"


def _refuse_old(job: PartitionJob, name: str) -> None:
    """Refuse a log of Kafka 0.7: a change of a message's length would change all offsets after it."""
    if _kafkacomp.partition_format(job) == "0.7":
        message = f"{name}: a log of Kafka 0.7, whose offsets are byte positions and would change: convert it instead"
        raise ValueError(message)


def repair(
    source: StrPath | SegmentSource,
    target: StrPath,
    *,
    quarantine: bool = True,
    segment_bytes: int | None = None,
    known_losses: StrPath | Sequence[StrPath] = (),
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Progress = None,
) -> RepairReport:
    """Rewrite the intact part of a log, as folders that a broker can read.

    Batches of message formats 1 and 2 in which only the LZ4 header checksum is wrong are fixed (KIP-57's one-time
    patch). Offset fields, which no checksum covers, are restored if the adjacent batches determine them, and leader
    epochs that decrease are made to increase. Batches that are not where their offsets belong are put there. Batches
    that are corrupt, truncated or repeated, or that nothing confirms, are left out. Offsets that several files have are
    written once; if their records differ, those of the later file are written. Indexes and producer snapshots are
    rebuilt.

    If something was repaired, the new folder of the partition contains the corrupt bytes in
    ``kafkacomp-quarantine.bin``, and in the loss file ``kafkacomp-repair.json`` the repairs and the offsets that the
    new log lacks, which :func:`verify_partition` then knows. Brokers ignore both files.

    Args:
        source: As for :func:`recompress`.
        target: As for :func:`recompress`.
        quarantine: Whether corrupt bytes are kept, in ``kafkacomp-quarantine.bin``.
        segment_bytes: As in :func:`recompress`.
        known_losses: As in :func:`recompress`.
        max_output_size: As in :func:`recompress`.
        store: As in :func:`recompress`.
        storage_options: As in :func:`recompress`.
        tiered: As in :func:`recompress`.
        progress: As in :func:`recompress`.

    Raises:
        FileExistsError: ``target`` exists.
        OutputLimitError: the records of a batch decompress to more than ``max_output_size`` bytes.
        UnknownServerError: a batch has a compression type that Kafka does not have.
        MemoryError: memory is exhausted; batches are never left out for this reason.
        ValueError: an argument is out of range, or the log is of Kafka 0.7, as in :func:`recompress`.
        OSError: reading or writing fails.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.log.repair(example, target)
        >>> report.is_complete, report.repairs
        (True, ())
    """
    sums: dict[str, Any] = dict.fromkeys(_REPAIR_COUNTS, 0)
    repairs: list[Repair] = []
    given = (source, target, segment_bytes, max_output_size, progress)
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    with RewriteWork(*given, known_losses=known_losses, opening=opening, lenient=True) as work:
        for job in work.jobs():
            _refuse_old(job, work.name)
            repaired = _kafkacomp.repair_partition(job, QUARANTINE if quarantine else None)
            if repaired.first_open_offset is not None and repaired.corrupt_ranges:
                offset = repaired.first_open_offset
                work.warnings.append(f"{work.name}: a transaction is open from offset {offset} on; its end may be lost")
            work.publish(
                job,
                repaired.folder,
                repaired.findings,
                repairs=repaired.repairs,
                more_repairs=repaired.more_repairs,
            )
            repairs += repaired.repairs
            for name in sums:
                sums[name] += getattr(repaired, name)
        return RepairReport(**work.fields(), repairs=tuple(repairs), **sums)
