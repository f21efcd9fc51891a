"""What a broker does with records, the files beside log segments, control records, checking and rewriting logs.

:func:`recompress`, :func:`convert` and :func:`repair` write whole logs anew. :class:`LogValidator` and
:func:`analyze_and_validate_records` answer what a broker would do with a record set, :class:`BrokerProfile` what those
from 0.8.2 on would.

====================================================== =============================================
file                                                   function
====================================================== =============================================
``.index``                                             :func:`read_offset_index`
``.timeindex``                                         :func:`read_time_index`
``.txnindex``                                          :func:`read_transaction_index`
``.snapshot``                                          :func:`read_producer_snapshot`
``leader-epoch-checkpoint``                            :func:`read_leader_epoch_checkpoint`
``recovery-point-offset-checkpoint`` and its like      :func:`read_offset_checkpoint`
``partition.metadata``                                 :func:`read_partition_metadata`
a control record's key and value                       :func:`parse_control_record`
``.log``, with its indexes                             :func:`verify_segment`
a partition's folder                                   :func:`verify_partition`
====================================================== =============================================

Each function takes a path or the file's content. Damage is :class:`kafkacomp.CorruptRecordError`, with the file and the
byte.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._family import check_format, undecided
from kafkacomp._filesystem import open_local
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._names import (
    SWAP,
    leading_offset,
    partition_of,
    segment_offset,
    side_file,
    tiered_partition_of,
)
from kafkacomp._profile import BrokerProfile
from kafkacomp._report import MissingRange
from kafkacomp._rewrite import Repair, RepairReport, RewriteReport, convert, recompress, repair
from kafkacomp._validator import (
    AppendOrigin,
    BrokerCompressionType,
    LogAppendInfo,
    LogValidator,
    RecordValidationStats,
    ValidationResult,
    ValidatorConfig,
    analyze_and_validate_records,
    target_compression_type,
    trim_invalid_bytes,
)
from kafkacomp._verify import CodecCounts, Finding, PartitionReport, SegmentReport, verified_partition
from kafkacomp.exceptions import CorruptRecordError, RecordError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from typing_extensions import Buffer

    PathOrBytes: TypeAlias = str | os.PathLike[str] | Buffer

__all__ = [
    "AbortedTxn",
    "AppendOrigin",
    "BrokerCompressionType",
    "BrokerProfile",
    "CodecCounts",
    "ControlRecord",
    "Finding",
    "LeaderEpochEntry",
    "LogAppendInfo",
    "LogValidator",
    "MissingRange",
    "OffsetCheckpointEntry",
    "OffsetPosition",
    "PartitionMetadata",
    "PartitionReport",
    "ProducerEntry",
    "RecordError",
    "RecordValidationStats",
    "Repair",
    "RepairReport",
    "RewriteReport",
    "SegmentReport",
    "TimestampOffset",
    "ValidationResult",
    "ValidatorConfig",
    "analyze_and_validate_records",
    "convert",
    "detect_format",
    "parse_control_record",
    "read_leader_epoch_checkpoint",
    "read_offset_checkpoint",
    "read_offset_index",
    "read_partition_metadata",
    "read_producer_snapshot",
    "read_time_index",
    "read_transaction_index",
    "recompress",
    "repair",
    "target_compression_type",
    "trim_invalid_bytes",
    "verify_partition",
    "verify_segment",
]

#: Files that a broker ends with a whole batch; a captured record set may be cut.
_WHOLE = (".log", ".checkpoint", ".kafka")
#: The format that a file's suffix stands for where the content does not decide.
_FORMATS = {"kafka": "0.7", "log": "0.8+", "checkpoint": "0.8+"}


class OffsetPosition(NamedTuple):
    """An entry of ``.index``."""

    #: The last offset of a batch.
    offset: int
    #: The byte of the segment at which that batch begins.
    position: int


class TimestampOffset(NamedTuple):
    """An entry of ``.timeindex``."""

    #: The greatest timestamp up to the offset, ms.
    timestamp: int
    #: The offset that has it.
    offset: int


class AbortedTxn(NamedTuple):
    """An entry of ``.txnindex``: an aborted transaction."""

    version: int
    producer_id: int
    #: The transaction's first offset.
    first_offset: int
    #: The offset of its abort marker.
    last_offset: int
    #: The partition's last stable offset after it.
    last_stable_offset: int


@dataclass(frozen=True)
class ProducerEntry:
    """What a producer ``.snapshot`` knows of one producer."""

    producer_id: int
    producer_epoch: int
    #: -1 where the producer has written nothing since its last transaction ended.
    last_sequence: int
    #: -1 likewise.
    last_offset: int
    #: The last batch's last offset less its first.
    offset_delta: int
    #: The greatest timestamp of the last batch, ms.
    timestamp: int
    #: Of the last marker; -1 without.
    coordinator_epoch: int
    #: Where the open transaction begins; ``None`` without.
    current_txn_first_offset: int | None
    #: The first sequence of the last batch, -1 without.
    first_sequence: int


class LeaderEpochEntry(NamedTuple):
    """An entry of ``leader-epoch-checkpoint``."""

    epoch: int
    #: The first offset that was appended in it.
    start_offset: int


class OffsetCheckpointEntry(NamedTuple):
    """An entry of an offset checkpoint of a log folder."""

    topic: str
    partition: int
    #: What the file's name says: recovery point, high watermark, log start, cleaned up to.
    offset: int


class PartitionMetadata(NamedTuple):
    """The content of ``partition.metadata``."""

    version: int
    #: As Kafka writes it: URL-safe base64, 22 characters.
    topic_id: str


@dataclass(frozen=True)
class ControlRecord:
    """A control record's content."""

    #: ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS or UNKNOWN.
    type: str
    #: The id in the key.
    type_id: int
    #: The value's fields, under the names of Kafka's schemas; none for UNKNOWN.
    fields: dict[str, Any]


def read_offset_index(source: PathOrBytes, base_offset: int | None = None) -> list[OffsetPosition]:
    """Read an ``.index``; the zero tail of a preallocated one is left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: entries that are incomplete, negative or out of order.
        ValueError: no base offset in the name.
    """
    data, name = _read(source)
    return [OffsetPosition(*e) for e in _kafkacomp.read_offset_index(data, _base_offset(source, base_offset), name)]


def read_time_index(source: PathOrBytes, base_offset: int | None = None) -> list[TimestampOffset]:
    """Read a ``.timeindex``; the zero tail of a preallocated one is left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: entries that are incomplete, negative or out of order.
        ValueError: no base offset in the name.
    """
    data, name = _read(source)
    return [TimestampOffset(*e) for e in _kafkacomp.read_time_index(data, _base_offset(source, base_offset), name)]


def read_transaction_index(source: PathOrBytes, base_offset: int | None = None) -> list[AbortedTxn]:
    """Read a ``.txnindex``; an incomplete last entry is left out, as Kafka does.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: an unknown version, or a transaction that ends before the segment.
        ValueError: no base offset in the name.
    """
    data, name = _read(source)
    return [AbortedTxn(*e) for e in _kafkacomp.read_transaction_index(data, _base_offset(source, base_offset), name)]


def read_producer_snapshot(source: PathOrBytes) -> list[ProducerEntry]:
    """Read a producer ``.snapshot``.

    Raises:
        CorruptRecordError: an unknown version, a wrong checksum, or a wrong length.
    """
    data, name = _read(source)
    entries = []
    for (producer, epoch, sequence, last, delta, time, coordinator, first), first_sequence in (
        _kafkacomp.read_producer_snapshot(data, name)
    ):  # fmt: skip
        open_since = first if first >= 0 else None
        entries.append(
            ProducerEntry(producer, epoch, sequence, last, delta, time, coordinator, open_since, first_sequence)
        )
    return entries


def read_leader_epoch_checkpoint(source: PathOrBytes) -> list[LeaderEpochEntry]:
    """Read a partition's ``leader-epoch-checkpoint``.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.
    """
    return [LeaderEpochEntry(*entry) for entry in _kafkacomp.read_leader_epoch_checkpoint(*_read(source))]


def read_offset_checkpoint(source: PathOrBytes) -> list[OffsetCheckpointEntry]:
    """Read an offset checkpoint of a log folder, such as ``recovery-point-offset-checkpoint``.

    Raises:
        CorruptRecordError: an unknown version, a malformed line, or a wrong number of entries.
    """
    return [OffsetCheckpointEntry(*entry) for entry in _kafkacomp.read_offset_checkpoint(*_read(source))]


def read_partition_metadata(source: PathOrBytes) -> PartitionMetadata:
    """Read ``partition.metadata``.

    Raises:
        CorruptRecordError: a malformed line, or no topic id.
    """
    return PartitionMetadata(*_kafkacomp.read_partition_metadata(*_read(source)))


def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Decode the key and value of a record of a control batch.

    Raises:
        InvalidRecordError: they do not follow their type's schema.
    """
    return ControlRecord(*_kafkacomp.parse_control_record(key, value))


def verify_segment(
    source: PathOrBytes,
    *,
    next_base_offset: int | None = None,
    format: str = "auto",  # noqa: A002 - scan's name for it
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> SegmentReport:
    """Check every checksum and every record of a segment, its offsets and leader epochs, and the indexes next to it.

    Of a log file of Kafka 0.7 every checksum and every message of all levels; the report's batches are its top-level
    messages then, and its offsets where the file begins and ends.

    Corruption does not end the check; it resumes at the next intact batch.

    Args:
        source: A segment (indexes of the same name are checked with it), a snapshot of the metadata log, or a record
            set, whose end may be truncated: a file of any other name, or bytes.
        next_base_offset: The base offset of the next segment. Offsets that are missing up to there are reported, and
            zeros at the end are corruption; without it, the segment is taken for the last one of its partition.
        format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_format`.
        max_output_size: The most bytes that one batch's records may decompress to.
        progress: Called as ``progress(bytes_done)`` now and then.

    Raises:
        OSError: the file cannot be read.
        ValueError: another ``format``, or it is not given and the content does not tell it.
    """
    old = detect_format(source, format) == "0.7"
    topic: str | None = None
    partition: int | None = None
    if not isinstance(source, str | os.PathLike):
        nothing = (None, None, None)
        bounds: tuple[int | None, int | None, list[tuple[int, int]]] = (None, None, [])
        segment = f"<{memoryview(source).nbytes} bytes>"
        counts = _kafkacomp.verify_segment(source, bounds, nothing, max_output_size, (True, old), progress)
    else:
        path = Path(source)
        segment = str(path)
        indexes = _beside(path, "index"), _beside(path, "timeindex"), _beside(path, "txnindex")
        name = path.name.removesuffix(SWAP)
        folder = path.absolute().parent
        topic, partition = partition_of(folder.name) or tiered_partition_of(str(folder)) or (None, None)
        bounds = (segment_offset(name), next_base_offset, _leader_epochs(path))
        kind = (not name.endswith(_WHOLE), old)
        counts = _kafkacomp.verify_segment(segment, bounds, indexes, max_output_size, kind, progress)
    codecs = {name: CodecCounts(*each) for name, each in counts.pop("by_compression_type").items()}
    findings = tuple(Finding(*each) for each in counts.pop("findings"))
    missing = tuple(
        MissingRange(topic, partition, first, last, segment, reason) for first, last, reason in counts.pop("missing")
    )
    return SegmentReport(by_compression_type=codecs, findings=findings, missing=missing, **counts)


def verify_partition(
    folder: str | os.PathLike[str], *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
) -> PartitionReport:
    """Check all segments of a partition's folder, and whether they follow one another.

    Besides what :func:`verify_segment` finds, this finds missing segments, and compares the records of segments that
    have offsets in common.

    Args:
        folder: A local folder ``<topic>-<partition>``.
        max_output_size: The most bytes that one batch's records may decompress to.

    Raises:
        OSError: a file cannot be read.
        ValueError: the folder is not that of one partition.
    """
    from kafkacomp._source import resolve  # noqa: PLC0415 - it needs a file system only here

    found = resolve(os.fspath(folder))
    if len(found) != 1:
        raise ValueError(f"{os.fspath(folder)}: {len(found)} partitions; give the folder of one")
    owner = (found[0].topic, found[0].partition)
    bases = [each.base_offset for each in found[0].segments]
    segments = []
    for index, segment in enumerate(found[0].segments):
        base = segment.base_offset
        following = None if base is None else next((b for b in bases[index:] if b is not None and b > base), None)
        report = verify_segment(segment.name, next_base_offset=following, max_output_size=max_output_size)
        segments.append((segment.name, base, report))
    return verified_partition(owner, segments, found[0].cleaned_to, max_output_size)


def detect_format(source: PathOrBytes, format: str = "auto") -> str:  # noqa: A002 - scan's name for it
    """Which family of formats a log's file is of: ``0.7`` or ``0.8+``, whose magics 0 and 1 are not the same.

    Args:
        source: A path or bytes.
        format: What is known of it; ``auto`` is to look for a right checksum under both layouts, and if none decides
            at the file's suffix (``.kafka``, ``.log``). No bytes at all are ``0.8+``.

    Raises:
        OSError: the file cannot be read.
        ValueError: another ``format``, or undecided.
    """
    check_format(format)
    if format != "auto":
        return format
    if not isinstance(source, str | os.PathLike):
        found, size, name = _kafkacomp.format_of_content(source), memoryview(source).nbytes, "these bytes"
    else:
        path = Path(source)
        found, size, name = _kafkacomp.format_of_content(str(path)), path.stat().st_size, str(path)
        found = found or _FORMATS.get(path.name.removesuffix(SWAP).rpartition(".")[2])
    if found is None and size:
        raise undecided(name)
    return found or "0.8+"


def _beside(segment: Path, suffix: str) -> bytes | None:
    try:
        with open_local(side_file(str(segment), suffix)) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _leader_epochs(segment: Path) -> list[tuple[int, int]]:
    """The entries of the partition's checkpoint; a corrupt one is reported as a file of its own."""
    try:
        return [(entry.epoch, entry.start_offset) for entry in
                read_leader_epoch_checkpoint(segment.with_name("leader-epoch-checkpoint"))]  # fmt: skip
    except (FileNotFoundError, CorruptRecordError):
        return []


def _read(source: PathOrBytes) -> tuple[Buffer, str | None]:
    if isinstance(source, str | os.PathLike):
        with open_local(source) as file:
            return file.read(), os.fspath(source).encode("utf-8", "backslashreplace").decode()
    return source, None


def _base_offset(source: PathOrBytes, base_offset: int | None) -> int:
    if base_offset is not None:
        return base_offset
    if isinstance(source, str | os.PathLike):
        offset = leading_offset(Path(source).name)
        if offset is not None:
            return offset
        raise ValueError(f"{os.fspath(source)}: the name does not begin with a base offset; give base_offset")
    raise ValueError("base_offset is needed with the content of an index")
