"""``spark.readStream``: follows growing log directories.

Spark repeatedly asks a Python process of the driver for the end offsets of the logs, and for the tasks between two such
ends. A batch of the stream consists of the records with ``start <= offset < end`` of each partition, whenever it is
read, so a checkpoint contains offsets only. State that makes polls fast is kept in the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import Transactions
from kafkacomp.spark._bounds import EARLIEST, LATEST
from kafkacomp.spark._errors import briefly, tell_loss
from kafkacomp.spark._offsets import Offsets, limited, read_offsets, write_offsets
from kafkacomp.spark._options import ReadOptions, parse
from kafkacomp.spark._overlap import runs
from kafkacomp.spark._plan import PartsOf, SegmentPartition, before_next, check_bounds, segments_within, starting_offset
from kafkacomp.spark._read import read_wherever, with_schema
from kafkacomp.spark._select import name_of
from kafkacomp.spark._serialize import SentToExecutors
from kafkacomp.spark._watch import Seen, View, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # before 4.2
    HAS_LIMITS = False
else:
    HAS_LIMITS = True


def reader(options: Mapping[str, str], schema: StructType) -> KafkaCompStreamReader:
    """Create a reader for these columns.

    Raises:
        ValueError: an option or a column is unknown, its value or type is not allowed, or streams or the installed
            PySpark do not support it.
    """
    checked = with_schema(parse(options, streaming=True), schema)
    if checked.log_format == "0.7":
        raise ValueError(
            "logFormat 0.7: the offsets of these logs are byte positions, and readStream does not support them; use"
            " spark.read"
        )
    if checked.mode == "PERMISSIVE" or checked.corrupt_column in checked.columns:
        raise ValueError(
            "mode PERMISSIVE is for spark.read: a corrupt range has no offset by which a stream could return it once;"
            " use FAILFAST or DROPMALFORMED"
        )
    if HAS_LIMITS:
        return LimitedStreamReader(checked)
    if checked.max_offsets_per_trigger is not None:
        raise ValueError(f"maxOffsetsPerTrigger needs PySpark 4.2 or later, and {pyspark.__version__} is installed")
    return KafkaCompStreamReader(checked)


class RefusingStreamReader(DataSourceStreamReader):
    """Raises an error at the first call of Spark.

    If creating a reader raised it, Spark's runner would fail once more while it handles the error, and show the second
    failure.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error

    @briefly
    def _refuse(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - any of Spark's calls
        raise self._error

    initialOffset = latestOffset = partitions = commit = read = _refuse  # noqa: N815 - PySpark's names


class KafkaCompStreamReader(SentToExecutors, DataSourceStreamReader):
    """Finds end offsets and plans tasks in the driver, and reads one task in a worker."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self._watch = Watch(options)

    @briefly
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        """The offsets at which a query without a checkpoint begins.

        Raises:
            FileNotFoundError: a path does not exist.
            ValueError: offsets or timestamps by partition do not name exactly the existing partitions, or are out of
                range.
        """
        view = self._watch.look()
        check_bounds([seen.partition for seen in view.values()], self.options)
        return write_offsets({key: _start(seen, self.options) for key, seen in view.items()})

    @briefly
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802 - without arguments before 4.2
        """The end offsets of the logs.

        Raises:
            KafkaCompError: a batch is corrupt.
        """
        return write_offsets(_ends(self._watch.look()))

    @briefly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the tasks of a batch: splits of about ``splitSize``.

        Raises:
            KafkaCompError: offsets were deleted, and ``failOnDataLoss`` is true.
        """
        begin, until = read_offsets(start), read_offsets(end)
        view = self._watch.look(begin, until)
        return [task for key in sorted(until) for task in self._tasks(view.get(key), begin.get(key, 0), until[key])]

    def _tasks(self, seen: Seen | None, start: int, end: int) -> Iterator[SegmentPartition]:
        if seen is None:
            return
        partition, log = seen.partition, seen.log
        if start > log.end:
            # The last batch that was read had too high an offset, and others were appended after it.
            start = _kafkacomp.continues_at(partition, start, self.options.log_format) or start
        if start >= end:
            return
        parts = PartsOf(partition)
        if partition.is_misnamed:  # names do not show which segments have the offsets
            known = Transactions(None, log.aborted(start, end)) if self.options.is_committed else None
            yield SegmentPartition(parts.part(list(partition.segments), known), start, end)
            return
        for run in runs(segments_within(partition, start, end)):
            segment, next_base = run.segments[0]
            first = max(start, segment.base_offset or 0)
            last = end if run.next_base is None else min(end, run.next_base)
            known = Transactions(None, log.aborted(first, last)) if self.options.is_committed else None
            is_one = len(run.segments) == 1
            splits = log.splits(segment, first, last, next_base) if is_one else []
            for segments in [[each] for each in splits] or [run.together()]:
                yield SegmentPartition(parts.part(segments, known), first, before_next(segments[-1], last))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        if not isinstance(partition, SegmentPartition):
            return  # without tasks, Spark reads a partition that it has made itself
        try:
            yield from read_wherever(self.options, partition)
        except FileNotFoundError as gone:
            offsets = f"offsets {partition.start_offset} to {(partition.end_offset or 0) - 1}"
            loss = f"{name_of(partition.partition)}: {offsets} are missing: {gone.filename} was deleted"
            tell_loss([loss], self.options)

    @briefly
    def commit(self, end: dict[str, Any]) -> None:
        """Drop the state for lower offsets, which are not read again."""
        self._watch.forget(read_offsets(end))


if HAS_LIMITS:

    class LimitedStreamReader(KafkaCompStreamReader, SupportsTriggerAvailableNow):
        """Supports the limits of PySpark 4.2 and later: for each batch, and for ``trigger(availableNow=True)``."""

        def __init__(self, options: ReadOptions) -> None:
            super().__init__(options)
            self._target: Offsets | None = None
            self._latest: Offsets | None = None

        @briefly
        def latestOffset(  # type: ignore[override]  # noqa: N802 - as above
            self, start: dict[str, Any], limit: ReadLimit
        ) -> dict[str, Any]:
            """The end offsets of the logs, or those of the next batch if it is limited.

            Raises:
                KafkaCompError: offsets were deleted, and ``failOnDataLoss`` is true; or a batch is corrupt.
            """
            begin = read_offsets(start)
            view = self._watch.look(begin)
            ends = self._latest = _ends(view, begin)
            if self._target is not None:
                ends = {key: min(end, self._target[key]) for key, end in ends.items() if key in self._target}
            if isinstance(limit, ReadMaxRows):
                firsts = {key: max(begin.get(key, 0), view[key].first) for key in ends}
                ends = limited(firsts, ends, limit.max_rows)
            elif not isinstance(limit, ReadAllAvailable):
                raise ValueError(f"unknown read limit {limit!r}")  # noqa: TRY004 - not a wrong argument
            return start if ends == begin else write_offsets(ends)

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - as above
            """``maxOffsetsPerTrigger``."""
            most = self.options.max_offsets_per_trigger
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

        @briefly
        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as above
            """Keep the current end offsets: this query reads no further."""
            self._target = _ends(self._watch.look())

        def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - as above
            """The end offsets, from which Spark computes how far the query is behind."""
            return None if self._latest is None else write_offsets(self._latest)


def _ends(view: View, begin: Offsets | None = None) -> Offsets:
    """The first offset of each partition that is not visible at the isolation level, at least that of ``begin``."""
    ends = {}
    for key, seen in view.items():
        start = (begin or {}).get(key, 0)
        ends[key] = start if seen.log.stable < start <= seen.log.end else seen.log.stable
    return ends


def _start(seen: Seen, options: ReadOptions) -> int:
    offset = starting_offset(seen.partition, options, "the stream waits for new records")
    return {LATEST: seen.log.stable, EARLIEST: seen.first}.get(offset, offset)
