"""``kafkacomp.write``: write Arrow columns as folders of partitions that a broker can read."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import BATCH_BYTES, DEFAULT_BATCH_BYTES, OFFSETS, PARTITIONS, SEGMENT_BYTES, integer
from kafkacomp._batch_settings import BatchSettings
from kafkacomp._extras import pa
from kafkacomp._losses import acknowledged
from kafkacomp._storage.filesystem import local_folder
from kafkacomp._storage.names import check_topic
from kafkacomp._storage.new_file import exists_error
from kafkacomp.arrow._publish import Publisher
from kafkacomp.arrow._reader import ScanReader
from kafkacomp.arrow._route import by_columns, by_key, published
from kafkacomp.record import arrow_rows

if TYPE_CHECKING:
    from kafkacomp._kafkacomp import WrittenLog
    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp._types import ArrowRows, CompressionTypeLike, StrPath
    from kafkacomp.arrow._report import MissingRange, SkippedRange

_DEFAULT_SEGMENT_BYTES = 1 << 30  # a broker's segment.bytes


@dataclass(frozen=True)
class WriteReport:
    """The result of :func:`write`.

    Attributes:
        path: The folder of the partition; the log directory if several partitions may be written.
        segments: The number of segments written.
        batches: The number of batches written.
        records: The number of records written.
        bytes_out: The size of the segments in bytes.
        log_start_offset: The first record's offset, which names the first segment. ``None`` in the sum of several
            partitions.
        log_end_offset: One more than the last record's offset. ``None`` in the sum of several partitions.
        partitions: The report of each partition, if the rows were divided among partitions; otherwise empty.
        skipped: If the rows are those of a scan, the ranges of bytes that it left out. Empty in ``partitions``.
        missing: If the rows are those of a scan, the offsets that it did not read although the segments should have
            them, as in :class:`ScanReport`. Empty in ``partitions``.
        more_missing: The number of ranges beyond those in ``missing``.
        known_losses: If the rows are those of a scan, the known losses of its report. Empty in ``partitions``.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"topic": ["orders", "clicks"], "value": ["a", "b"]})
        >>> report = kc.write(rows, target)
        >>> report.records, [(each.records, each.log_end_offset) for each in report.partitions]
        (2, [(1, 1), (1, 1)])
    """

    path: str
    segments: int
    batches: int
    records: int
    bytes_out: int
    log_start_offset: int | None
    log_end_offset: int | None
    partitions: tuple[WriteReport, ...] = ()
    skipped: tuple[SkippedRange, ...] = ()
    missing: tuple[MissingRange, ...] = ()
    more_missing: int = 0
    known_losses: tuple[KnownLoss, ...] = ()


def write(
    rows: ArrowRows,
    target: StrPath,
    *,
    topic: str | None = None,
    partition: int | None = None,
    num_partitions: int | None = None,
    topic_id: str | None = None,
    base_offset: int = 0,
    compression_type: CompressionTypeLike = "zstd",
    compression_level: int | None = None,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES,
    allow_missing: bool = False,
) -> WriteReport:
    """Write records to ``target/<topic>-<partition>`` as a broker does, in message format 2.

    One call can write a whole log directory: each row is written to the topic and partition in its columns, unless the
    arguments ``topic`` and ``partition`` give one for all rows. A row without a partition is written to the one to
    which a producer would send its key (murmur2); rows without a key are distributed round-robin, as in Spark's sink.
    Rows with offsets must have a partition.

    The indexes of the segments, producer snapshots, the leader epochs and, with ``topic_id``, ``partition.metadata``
    are written, too: to load the log into a broker that has the topic, stop it, copy the folder, and start it. If the
    rows are those of a scan, the loss file names the offsets that it did not return, so that ``verify`` knows them. A
    partition's folder appears complete or not at all, even if the process is killed: until all folders are complete,
    they have names that brokers and scans ignore.

    Args:
        rows: An object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a table, a data frame, a scan). It must
            have the column ``value`` (binary or string, or a dictionary of these), and may have ``key`` (the same
            types), ``timestamp`` (any unit, or int64 in milliseconds; null or -1 ms if a record has none), ``headers``
            (a list of structs of string and binary, or a map), ``offset`` (int64, increasing; null means the next
            offset), ``topic`` (string) and ``partition`` (integer). Other columns are ignored.
        target: A local folder; it is created if it does not exist.
        topic: The topic of all rows. Default: the column ``topic``.
        partition: The partition of all rows, from 0. Default: the column ``partition``, or the hash of the key.
        num_partitions: The number of partitions of each topic; default: 1. A row with a greater partition is an error.
        topic_id: The topic's id as Kafka prints it, 22 characters.
        base_offset: The first record's offset, if the rows have none.
        compression_type: A :class:`CompressionType` or its name.
        compression_level: The compression type's level (KIP-390); ``None`` is Kafka's default.
        batch_bytes: The most bytes of a batch, after compression as Kafka estimates it; one larger record gets a batch
            of its own.
        segment_bytes: The most bytes of a segment; one larger batch gets a segment of its own.
        allow_missing: For the rows of :func:`scan` or :func:`kafkacomp.arrow.filter_rows`: whether to return the report
            if the scan skipped bytes, or if offsets are missing that compaction does not explain.

    Returns:
        The counts of what was written, and the offsets.

    Raises:
        FileExistsError: the partition's folder exists; it is not changed.
        DataLossError: everything was written, but data of the scan's source are missing; see ``allow_missing``.
        OSError: writing fails, for example because the disk is full; nothing is left behind.
        ValueError: an argument is out of range; the rows are those of a scan with ``include_control``; the column
            ``value`` is missing, or a column exists twice; or a row, which the message names, is not a valid record:
            its offset is not greater than the one before, its timestamp is negative, or the key of a header is null.
        OffsetsOutOfOrderError: an offset is 2^63 - 1, which no offset can follow.
        TypeError: a column has another type, or ``rows`` is not Arrow data.
        RecordTooLargeError: a record is larger than 2^31 - 1 bytes.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> report = kc.write(pa.table({"value": ["a", "b"]}), target, topic="orders", partition=0)
        >>> report.log_start_offset, report.log_end_offset, report.records
        (0, 2, 2)
    """
    if topic is not None:
        check_topic(topic)
    if partition is not None:
        partition = integer("partition", partition, PARTITIONS)
    if num_partitions is not None:
        num_partitions = integer("num_partitions", num_partitions, (1, PARTITIONS[1]))
        if partition is not None and partition >= num_partitions:
            raise ValueError(f"partition {partition} must be less than num_partitions, which is {num_partitions}")
    integer("segment_bytes", segment_bytes, SEGMENT_BYTES)
    integer("base_offset", base_offset, OFFSETS)
    folder = local_folder(target)
    settings = BatchSettings(
        magic=2,
        compression_type=compression_type,
        level=compression_level,
        base_offset=base_offset,
        partition_leader_epoch=0,
        write_limit=integer("batch_bytes", batch_bytes, BATCH_BYTES),
    )
    _kafkacomp.remove_abandoned(os.path.join(folder, "topic-0"))  # noqa: PTH118 - whatever its name will be
    rows = arrow_rows(rows)
    publisher = Publisher(rows, topic, partition, topic_id)
    if topic is None or partition is None:
        reader = _reader(rows)
        names = reader.schema.names
        if topic is None and "topic" not in names:
            raise ValueError("the rows have no column 'topic': add the column, or give the argument topic")
        if topic is None or "partition" in names or num_partitions is not None:
            report = _write_several(
                reader,
                folder,
                settings,
                topic,
                partition,
                num_partitions,
                base_offset,
                segment_bytes,
                topic_id,
                publisher,
            )
            return _checked(report, publisher, allow_missing=allow_missing)
        rows, partition = (rows if isinstance(rows, ScanReader) else reader), 0
    path = os.path.join(folder, f"{topic}-{partition}")  # noqa: PTH118 - as given
    if os.path.lexists(path):
        raise exists_error(path)
    log, records = _kafkacomp.write_log(rows, path, settings, segment_bytes, topic_id)
    report = _report(path, publisher.publish(log, topic, partition), records)
    return _checked(report, publisher, allow_missing=allow_missing)


def _checked(report: WriteReport, publisher: Publisher, *, allow_missing: bool) -> WriteReport:
    """Add what the scan that the rows came from did not read; DataLossError if it is not allowed."""
    found = publisher.report
    if found is None:
        return report
    report = replace(
        report,
        skipped=found.skipped,
        missing=found.missing,
        more_missing=found.more_missing,
        known_losses=found.known_losses,
    )
    return acknowledged(report.path, report, allow_missing=allow_missing)


def _reader(rows: ArrowRows) -> pa.RecordBatchReader:
    """Convert the rows to a reader of pyarrow."""
    if isinstance(rows, ScanReader):  # whose errors come as they are only to those who iterate over it
        return pa.RecordBatchReader.from_batches(pa.schema(rows), iter(rows))
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(rows)
    batch = pa.record_batch(rows)
    return pa.RecordBatchReader.from_batches(batch.schema, [batch])


def _write_several(  # noqa: PLR0917 - what a log is made of
    reader: pa.RecordBatchReader, directory: str, settings: BatchSettings, topic: str | None, partition: int | None,
    num_partitions: int | None, base_offset: int, segment_bytes: int, topic_id: str | None, publisher: Publisher,
) -> WriteReport:  # fmt: skip
    if topic_id is not None and topic is None:
        raise ValueError("topic_id requires topic")
    with published(directory) as folder:
        if "offset" in reader.schema.names:
            if num_partitions is not None:
                raise ValueError("num_partitions is for rows without offsets: remove it, or the column 'offset'")
            written = by_columns(reader, folder, settings, topic, partition, segment_bytes, topic_id, publisher)
        else:
            if base_offset:
                raise ValueError("base_offset requires topic and partition")
            written = by_key(reader, folder, settings, topic, partition, num_partitions, segment_bytes, topic_id)
    reports = tuple(
        _report(os.path.join(directory, name), log, records)  # noqa: PTH118 - as given
        for name, (log, records) in written.items()
    )
    segments, batches, records, size = (
        sum(getattr(each, name) for each in reports) for name in ("segments", "batches", "records", "bytes_out")
    )
    return WriteReport(directory, segments, batches, records, size, None, None, reports)


def _report(path: str, log: WrittenLog, records: int) -> WriteReport:
    return WriteReport(path, log.segments, log.batches, records, log.bytes, log.log_start_offset, log.log_end_offset)
