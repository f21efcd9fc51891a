"""Batch reads: a task per segment, Arrow batches as they come from the core.

The planner (a Python process of the driver) finds the segments; what a task needs travels in its
:class:`SegmentPartition`. The classes pickle by name, so kafkacomp must be installed where the executors are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafkacomp._source import Partition, Segment, resolve
from kafkacomp.arrow import scan
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._errors import briefly
from kafkacomp.spark._options import Bounds, ReadOptions, parse
from kafkacomp.spark._schema import check_schema, struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["KafkaCompReader", "SegmentPartition", "reader", "schema"]

#: Column data of an Arrow batch. Spark holds one in the worker and one in the JVM; larger ones gain nothing.
BATCH_BYTES = 2 << 20


def schema(options: Mapping[str, str]) -> StructType:
    """The columns that the options ask for.

    Raises:
        ValueError: an option that is not known or not right.
    """
    return struct_of(parse(options).columns)


def reader(options: Mapping[str, str], schema: StructType) -> KafkaCompReader:
    """A reader for these columns, whether the options or the user's own schema chose them.

    Raises:
        ValueError: an option or a column that is not known or not right.
    """
    checked = parse(options)
    check_schema(schema)
    names = tuple(schema.names)
    if checked.columns_given and names != checked.columns:
        raise ValueError(f"the schema ({', '.join(names)}) and columns ({', '.join(checked.columns)}) disagree")
    return KafkaCompReader(replace(checked, columns=names))


class SegmentPartition(InputPartition):
    """A task: one segment, and what it must know of its partition."""

    def __init__(self, partition: Partition, start_offset: int | None, end_offset: int | None) -> None:
        super().__init__(partition)
        self.partition = partition
        self.start_offset = start_offset
        self.end_offset = end_offset


class KafkaCompReader(DataSourceReader):
    """Plans the tasks in the driver, reads one in a worker.

    ``pushFilters`` is not overridden: where ``spark.sql.python.filterPushdown.enabled`` is off (Spark's default)
    that would make every read fail.
    """

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    @briefly
    def partitions(self) -> list[InputPartition]:
        """Find the segments; those that lie outside the offsets asked for get no task.

        Raises:
            FileNotFoundError: a path that is not there, or a folder without segments.
            ValueError: offsets that do not name exactly the partitions that were found.
        """
        options = self.options
        found = resolve(list(options.paths), options.topic, options.partition)
        _check_bounds("startingOffsets", options.starting_offsets, found)
        _check_bounds("endingOffsets", options.ending_offsets, found)
        tasks: list[InputPartition] = []
        for partition in found:
            start = _bound(options.starting_offsets, partition)
            end = _bound(options.ending_offsets, partition)
            following = [segment.base_offset for segment in partition.segments[1:]]
            for segment, next_base in zip(partition.segments, [*following, None], strict=True):
                if _within(segment, next_base, start, end):
                    tasks.append(SegmentPartition(self._piece(partition, segment), start, end))
        return tasks

    def _piece(self, partition: Partition, segment: Segment) -> Partition:
        # What is committed is known from the partition's other segments only.
        committed = self.options.isolation_level == "read_committed"
        context = [other for other in partition.segments if other is not segment] if committed else []
        return Partition(partition.topic, partition.partition, [segment], context)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one segment."""
        if not isinstance(partition, SegmentPartition):
            return  # Spark asks for a partition of its own making where there is no task
        options = self.options
        reader = scan(
            partition.partition,
            columns=options.columns,
            start_offset=partition.start_offset,
            end_offset=partition.end_offset,
            isolation_level=options.isolation_level,
            format=options.log_format,
            on_error=options.on_error,
            batch_bytes=BATCH_BYTES,
            threads=1,  # Spark's tasks are the threads
            timestamp_unit="us",
            max_output_size=options.max_output_size,
        )
        with reader:
            try:
                yield from reader
            except (KafkaCompError, OSError) as error:
                # Spark shows the user the text of the traceback: what and where, without the way to it.
                raise error.with_traceback(None) from None


def _check_bounds(name: str, bounds: Bounds | None, found: list[Partition]) -> None:
    """Demand that offsets by partition name all partitions and no others, as Spark's Kafka source does."""
    if bounds is None:
        return
    there: set[tuple[str, int]] = set()
    for partition in found:
        if partition.topic is None or partition.partition is None:
            where = partition.segments[0].name
            raise ValueError(f"{name}: {where} belongs to no known partition; give the options topic and partition")
        there.add((partition.topic, partition.partition))
    for problem, partitions in (("has no", there - bounds.keys()), ("names", bounds.keys() - there)):
        if partitions:
            names = ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
            rest = "; every partition must be named (-2 is earliest, -1 latest)" if problem == "has no" else ""
            raise ValueError(f"{name} {problem} {names}{rest or ', which the source does not have'}")


def _bound(bounds: Bounds | None, partition: Partition) -> int | None:
    if bounds is None or partition.topic is None or partition.partition is None:
        return None
    return bounds[partition.topic, partition.partition]


def _within(segment: Segment, next_base: int | None, start: int | None, end: int | None) -> bool:
    """Whether a segment can hold offsets of the range, going by its name and the next one's."""
    behind = end is not None and segment.base_offset is not None and segment.base_offset >= end
    before = start is not None and next_base is not None and next_base <= start
    return not behind and not before
