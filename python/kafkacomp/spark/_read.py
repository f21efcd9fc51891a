"""Batch reads: planned in the driver, Arrow batches as they come from the core in the workers.

The planner is a Python process of the driver. What a task needs travels in its
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

from kafkacomp._extras import require
from kafkacomp.arrow import ScanReader, ScanReport, SkippedRange, scan
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._errors import EXPECTED, briefly, plain
from kafkacomp.spark._options import ReadOptions, parse
from kafkacomp.spark._plan import EVERYTHING, Pruning, SegmentPartition, plan
from kafkacomp.spark._pushdown import pruning_of
from kafkacomp.spark._rediscovery import LOOKS, PAUSE, is_gone, moved, own_offsets
from kafkacomp.spark._schema import check_schema, struct_of
from kafkacomp.spark._serialize import Shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["KafkaCompReader", "SegmentPartition", "read_task", "read_wherever", "reader", "schema"]

_LOGGER = logging.getLogger("kafkacomp")

#: Column data of an Arrow batch. Spark holds one in the worker and one in the JVM; larger ones gain nothing.
BATCH_BYTES = 512 << 10
#: Rows of damage in a batch.
_DAMAGE_ROWS = 10_000
#: Reasons of missing offsets that are a matter of ``failOnDataLoss``.
_LOSSES = frozenset({"gap", "vanished"})


def schema(options: Mapping[str, str]) -> StructType:
    """The columns that the options ask for, of a batch or a stream.

    Raises:
        ValueError: an option that is not known or not right.
    """
    checked = parse(options, streaming=None)
    return struct_of(checked.columns, checked.corrupt_column)


def with_schema(options: ReadOptions, schema: StructType) -> ReadOptions:
    """The options with the columns of a schema, whether they or the user's own choice made it.

    Raises:
        ValueError: a column that is not known or not right.
    """
    check_schema(schema, options.corrupt_column)
    names = tuple(schema.names)
    if options.columns_given and names != options.columns:
        raise ValueError(f"the schema ({', '.join(names)}) and columns ({', '.join(options.columns)}) disagree")
    return replace(options, columns=names)


def reader(options: Mapping[str, str], schema: StructType) -> KafkaCompReader:
    """A reader for these columns.

    Raises:
        ValueError: an option or a column that is not known or not right.
    """
    checked = with_schema(parse(options), schema)
    if not checked.filter_pushdown:
        return KafkaCompReader(checked)
    if not hasattr(DataSourceReader, "pushFilters"):
        raise ValueError(f"filterPushdown needs PySpark 4.1 or later; this is {pyspark.__version__}")
    return FilteringReader(checked)


class KafkaCompReader(Shipped, DataSourceReader):
    """Plans the tasks in the driver, reads one in a worker."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.pruning = EVERYTHING
        #: Called with the report of each scan.
        self.tell: Callable[[ScanReport], object] = _ignore

    @briefly
    def partitions(self) -> list[InputPartition]:
        """Find the tasks; see :func:`kafkacomp.spark._plan.plan`."""
        return [*plan(self.options, self.pruning)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        if not isinstance(partition, SegmentPartition):
            return  # Spark asks for a partition of its own making where there is no task
        try:
            yield from read_wherever(self.options, partition, self.tell)
        except FileNotFoundError as error:
            if self.options.fail_on_data_loss:
                reason = "deleted or replaced by the broker since the query was planned"
                raise plain(FileNotFoundError(errno.ENOENT, reason, error.filename)) from None
            _LOGGER.warning("%s: deleted since the query was planned; the query continues", error.filename)
            if self.options.mode == "PERMISSIVE":
                yield from read_task(self.options, partition, self.tell)  # lists it as it lists corrupt ranges
            else:
                self.tell(_vanished(error))


class FilteringReader(KafkaCompReader):
    """A reader that a query's own filters are told to."""

    pruning: Pruning

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 - PySpark's name
        """Take from the filters what they rule out; Spark evaluates all of them again."""
        self.pruning = pruning_of(filters)
        return filters


def _ignore(report: ScanReport) -> None:
    """Spark has no place for a report."""


def _vanished(error: FileNotFoundError) -> ScanReport:
    """The report on a segment that was deleted before it was read."""
    skipped = SkippedRange(str(error.filename), 0, 0, "vanished", str(error))
    return ScanReport(batches=0, records=0, bytes_in=0, bytes_out=0, skipped=(skipped,), warnings=())


def read_wherever(
    options: ReadOptions, task: SegmentPartition, tell: Callable[[ScanReport], object] = _ignore
) -> Iterator[pa.RecordBatch]:
    """Read a task, also where a broker has merged its segment into the one before since it was planned.

    Raises:
        FileNotFoundError: it was deleted.
        KafkaCompError, OSError: with the file and the byte.
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
        partition = moved(task.partition, start, end, options)
        if partition is not None:
            times = (task.start_timestamp, task.end_timestamp)
            yield from read_task(options, SegmentPartition(partition, start, end, *times), tell)
            return
    raise gone


def read_task(
    options: ReadOptions, task: SegmentPartition, tell: Callable[[ScanReport], object] = _ignore
) -> Iterator[pa.RecordBatch]:
    """Read a task, and with PERMISSIVE, after its records, a row for each of its corrupt ranges.

    Args:
        options: Those of the read.
        task: The task.
        tell: Called with the report when all records were read.

    Raises:
        KafkaCompError, OSError: with the file and the byte; with ``failOnDataLoss`` also for missing offsets.
    """
    damage = options.columns.index(options.corrupt_column) if options.corrupt_column in options.columns else None
    columns = [name for name in options.columns if name != options.corrupt_column]
    # A split that lies before the first wanted offset has none, and a query's own filters may contradict each other.
    start, end = _ordered(task.start_offset, task.end_offset)
    first_time, end_time = _ordered(task.start_timestamp, task.end_timestamp)
    reader = scan(
        task.partition,
        columns=columns or ["offset"],
        start_offset=start,
        end_offset=end,
        start_time=first_time,
        end_time=end_time,
        isolation_level=options.isolation_level,
        log_format=options.log_format,
        on_error=options.on_error,
        arrow_batch_bytes=BATCH_BYTES,
        threads=1,  # Spark's tasks are the threads
        timestamp_unit="us",
        max_output_size=options.max_output_size,
    )
    with reader:
        try:
            for batch in reader:
                yield batch if damage is None else _with_damage(batch, damage, options)
            check_losses(reader.report, options)
        except EXPECTED as error:
            raise plain(error) from None
        tell(reader.report)
        if damage is None:
            return
        if options.mode == "PERMISSIVE":
            yield from _damaged(reader, task, options)


def _ordered(start: int | None, end: int | None) -> tuple[int | None, int | None]:
    """Bounds that a scan accepts, with the same rows between them."""
    start, end = (None if each is None else max(each, 0) for each in (start, end))
    return (start if start is None or end is None else min(start, end)), end


def check_losses(report: ScanReport, options: ReadOptions) -> None:
    """Refuse to miss offsets silently; the scan itself has logged them.

    Corrupt bytes are a matter of ``mode``, and what compaction removed is no loss.

    Raises:
        KafkaCompError: offsets are missing, with ``failOnDataLoss``.
    """
    losses = [each for each in report.missing if each.reason in _LOSSES]
    if not losses or not options.fail_on_data_loss:
        return
    first = losses[0]
    more = len(losses) - 1 + report.more_missing
    advice = (
        " If the topic is compacted, copy the broker's cleaner-offset-checkpoint into the folder above the partition's:"
        " it tells which gaps compaction left."
    )
    raise KafkaCompError(
        f"{first.topic}-{first.partition}: offsets {first.first_offset} to {first.last_offset} are missing"
        f" ({first.reason} at {first.segment}){f' and {more} more ranges' if more else ''}."
        " The query stops, because records may have been lost; with failOnDataLoss=false it continues."
        f"{advice if any(each.reason == 'gap' for each in losses) else ''}"
    )


def _with_damage(batch: pa.RecordBatch, at: int, options: ReadOptions) -> pa.RecordBatch:
    """Records with the column of damage, which is null for them."""
    pa = require("pyarrow")

    arrays = batch.columns if len(options.columns) > 1 else []
    fields = list(batch.schema) if len(options.columns) > 1 else []
    arrays.insert(at, pa.nulls(batch.num_rows, pa.string()))
    fields.insert(at, pa.field(options.corrupt_column, pa.string()))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def _damaged(reader: ScanReader, task: SegmentPartition, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Rows for what was left out: where it is, and nothing else."""
    pa = require("pyarrow")

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


def _text(damage: SkippedRange) -> str:
    return json.dumps(
        {
            "segment": damage.file,
            "position": damage.position,
            "length": damage.length,
            "firstOffset": damage.first_offset,
            "lastOffset": damage.last_offset,
            "reason": damage.reason,
            "message": damage.message,
        },
        ensure_ascii=False,
    )
