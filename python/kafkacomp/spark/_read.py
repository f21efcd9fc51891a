"""Batch reads: the driver plans tasks, and workers return the Arrow batches of a scan.

The planner is a Python process of the driver. Each task gets all that it needs in its
:class:`~kafkacomp.spark._plan.SegmentPartition`.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafkacomp._extras import pa
from kafkacomp._losses import unknown
from kafkacomp._storage.checkpoints import COPY_CLEANED
from kafkacomp._text import json_fields
from kafkacomp.arrow import ScanOptions, ScanReader, ScanReport, SkippedRange, scan
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._errors import EXPECTED, briefly, plain
from kafkacomp.spark._options import ReadOptions, parse
from kafkacomp.spark._plan import EVERYTHING, Pruning, SegmentPartition, plan
from kafkacomp.spark._pushdown import pruning_of
from kafkacomp.spark._rediscovery import LOOKS, PAUSE, is_gone, own_offsets, rediscover
from kafkacomp.spark._schema import check_schema, struct_of
from kafkacomp.spark._serialize import SentToExecutors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql.types import StructType

_LOGGER = logging.getLogger("kafkacomp")

#: Bytes of column data of an Arrow batch. Spark keeps one in the worker and one in the JVM; larger ones are not faster.
BATCH_BYTES = 512 << 10
#: The most rows for corrupt ranges in an Arrow batch.
_DAMAGE_ROWS = 10_000
#: The reasons of missing offsets that fail a query with ``failOnDataLoss``.
_LOSSES = frozenset({"gap", "vanished"})


def schema(options: Mapping[str, str]) -> StructType:
    """The schema that the options select, for a batch read or a stream.

    Raises:
        ValueError: an option is unknown, or its value is not allowed.
    """
    checked = parse(options, streaming=None)
    return struct_of(checked.columns, checked.corrupt_column)


def with_schema(options: ReadOptions, schema: StructType) -> ReadOptions:
    """The options with the columns of a schema, which comes from the options or from the user.

    Raises:
        ValueError: a column is unknown, or has another type.
    """
    check_schema(schema, options.corrupt_column)
    names = tuple(schema.names)
    if options.columns_given and names != options.columns:
        raise ValueError(
            f"the schema ({', '.join(names)}) and the option columns ({', '.join(options.columns)}) disagree: give one"
        )
    return replace(options, columns=names)


def reader(options: Mapping[str, str], schema: StructType) -> KafkaCompReader:
    """Create a reader for these columns.

    Raises:
        ValueError: an option or a column is unknown, or its value or type is not allowed.
    """
    checked = with_schema(parse(options), schema)
    if not checked.filter_pushdown:
        return KafkaCompReader(checked)
    if not hasattr(DataSourceReader, "pushFilters"):
        raise ValueError(f"filterPushdown needs PySpark 4.1 or later, and {pyspark.__version__} is installed")
    return FilteringReader(checked)


class KafkaCompReader(SentToExecutors, DataSourceReader):
    """Plans tasks in the driver, and reads one task in a worker."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.pruning = EVERYTHING
        #: Called with the report of each scan.
        self.tell: Callable[[ScanReport], object] = _ignore

    @briefly
    def partitions(self) -> list[InputPartition]:
        """Plan the tasks; see :func:`kafkacomp.spark._plan.plan`."""
        return [*plan(self.options, self.pruning)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        if not isinstance(partition, SegmentPartition):
            return  # without tasks, Spark reads a partition that it has made itself
        try:
            yield from read_wherever(self.options, partition, self.tell)
        except FileNotFoundError as error:
            if self.options.fail_on_data_loss:
                reason = "the broker has deleted or replaced it since the query was planned"
                raise plain(FileNotFoundError(errno.ENOENT, reason, error.filename)) from None
            _LOGGER.warning("%s: deleted since the query was planned; the query continues", error.filename)
            if self.options.mode == "PERMISSIVE":
                yield from read_task(self.options, partition, self.tell)  # lists the range
            else:
                self.tell(_vanished(error))


class FilteringReader(KafkaCompReader):
    """A reader that Spark passes the filters of a query to."""

    pruning: Pruning

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 - PySpark's name
        """Derive bounds from the filters; Spark evaluates all of them again."""
        self.pruning = pruning_of(filters)
        return filters


def _ignore(report: ScanReport) -> None:
    """Drop the report, which Spark cannot return."""


def _vanished(error: FileNotFoundError) -> ScanReport:
    """Make the report for a segment that was deleted before it was read."""
    skipped = SkippedRange(str(error.filename), 0, 0, "vanished", str(error))
    return ScanReport(batches=0, records=0, bytes_in=0, bytes_out=0, skipped=(skipped,), warnings=())


def read_wherever(
    options: ReadOptions, task: SegmentPartition, tell: Callable[[ScanReport], object] = _ignore
) -> Iterator[pa.RecordBatch]:
    """Read a task; if a broker has merged its segment into the one before since, find its records there.

    Raises:
        FileNotFoundError: the records were deleted.
        KafkaCompError, OSError: the message has the file and the byte.
    """
    segment, *others = task.partition.segments
    try:
        for each in (segment, *others):
            if is_gone(each):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), each.source)  # noqa: TRY301 - caught once
        yield from read_task(options, task, tell)
    except FileNotFoundError as error:
        gone = error
    else:
        return
    own = None if others else own_offsets(segment)
    if own is None:
        raise gone
    first, behind = own
    start = max((each for each in (task.start_offset, first) if each is not None), default=None)
    end = min((each for each in (task.end_offset, behind) if each is not None), default=None)
    for _ in range(LOOKS):
        time.sleep(PAUSE)
        partition = rediscover(task.partition, start, end, options)
        if partition is not None:
            found = replace(task, partition=partition, start_offset=start, end_offset=end)
            yield from read_task(options, found, tell)
            return
    raise gone


def read_task(
    options: ReadOptions, task: SegmentPartition, tell: Callable[[ScanReport], object] = _ignore
) -> Iterator[pa.RecordBatch]:
    """Read a task. With PERMISSIVE, rows for its corrupt ranges follow the records.

    Args:
        options: The options of the read.
        task: The task.
        tell: Called with the report after all records were read.

    Raises:
        KafkaCompError, OSError: the message has the file and the byte. With ``failOnDataLoss`` also for missing
            offsets.
    """
    corrupt_at = options.columns.index(options.corrupt_column) if options.corrupt_column in options.columns else None
    columns = [name for name in options.columns if name != options.corrupt_column]
    # A split may be before the first offset to read, and the filters of a query may contradict each other.
    start, end = _ordered(task.start_offset, task.end_offset)
    # The bounds of a scan cannot be negative, but timestamps of records can.
    after = None if task.start_timestamp is None or task.start_timestamp < 0 else task.start_timestamp
    first_time, end_time = _ordered(after, task.end_timestamp)
    reader = scan(
        task.partition,
        columns=columns or ["offset"],
        start_offset=start,
        end_offset=end,
        start_time=first_time,
        end_time=end_time,
        isolation_level=options.isolation_level,
        on_error=options.on_error,
        options=ScanOptions(
            log_format=options.log_format,
            arrow_batch_bytes=BATCH_BYTES,
            threads=1,  # Spark runs tasks in parallel
            timestamp_unit="us",
            max_output_size=options.max_output_size,
            horizon=options.horizon,
        ),
    )
    with reader:
        try:
            for batch in reader:
                yield batch if corrupt_at is None else _with_corrupt_column(batch, corrupt_at, options)
            check_losses(reader.report, options)
        except EXPECTED as error:
            raise plain(error) from None
        tell(reader.report)
        if corrupt_at is None:
            return
        if options.mode == "PERMISSIVE":
            yield from _corrupt_rows(reader, task, options)


def _ordered(start: int | None, end: int | None) -> tuple[int | None, int | None]:
    """Change empty bounds to bounds that a scan accepts."""
    start, end = (None if each is None else max(each, 0) for each in (start, end))
    return (start if start is None or end is None else min(start, end)), end


def check_losses(report: ScanReport, options: ReadOptions) -> None:
    """Fail if offsets are missing; the scan has logged them.

    ``mode`` decides about corrupt bytes: with FAILFAST, offsets that they hide are an error even if all bytes that are
    left out repeat other batches. Offsets that compaction or a loss file explains are no error.

    Raises:
        KafkaCompError: offsets are missing, and ``failOnDataLoss`` is true.
    """
    reasons = _LOSSES | {"corrupt"} if options.mode == "FAILFAST" else _LOSSES
    losses = [each for each in unknown(report.missing, report.known_losses) if each.reason in reasons]
    if not losses or not options.fail_on_data_loss:
        return
    first = losses[0]
    more = len(losses) - 1 + report.more_missing
    raise KafkaCompError(
        f"{first.topic}-{first.partition}: offsets {first.first_offset} to {first.last_offset} are missing"
        f" ({first.reason} at {first.segment}){f' and {more} more ranges' if more else ''}."
        " The query stops, because records may have been lost; with failOnDataLoss=false it continues."
        f"{f' {COPY_CLEANED}' if any(each.reason == 'gap' for each in losses) else ''}"
    )


def _with_corrupt_column(batch: pa.RecordBatch, at: int, options: ReadOptions) -> pa.RecordBatch:
    """Add the column for corrupt ranges to records, with nulls."""
    rows = batch if len(options.columns) > 1 else batch.select([])
    return rows.add_column(at, pa.field(options.corrupt_column, pa.string()), pa.nulls(batch.num_rows, pa.string()))


def _corrupt_rows(reader: ScanReader, task: SegmentPartition, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield a row for each corrupt range, with its place only."""
    skipped = reader.report.skipped
    schema = pa.schema(reader)
    for start in range(0, len(skipped), _DAMAGE_ROWS):
        ranges = skipped[start : start + _DAMAGE_ROWS]
        known: dict[str, list[object]] = {
            "topic": [task.partition.topic] * len(ranges),
            "partition": [task.partition.partition] * len(ranges),
            "segment": [each.file for each in ranges],
            "position": [each.position for each in ranges],
            options.corrupt_column: [_text(each) for each in ranges],
        }
        fields = [
            pa.field(name, pa.string()) if name == options.corrupt_column else schema.field(name)
            for name in options.columns
        ]
        arrays = [pa.array(known.get(field.name, [None] * len(ranges)), field.type) for field in fields]
        yield pa.record_batch(arrays, schema=pa.schema(fields))


def _text(skipped: SkippedRange) -> str:
    fields = json_fields(skipped, "position", "length", "first_offset", "last_offset", "reason", "message")
    return json.dumps({"segment": skipped.file, **fields}, ensure_ascii=False)
