"""``spark.readStream``: follows log folders that grow.

A Python process of the driver is asked again and again where the logs end, plans the tasks between two such ends, and
each task reads its piece. A batch of the stream is the records with ``start <= offset < end`` of each partition,
whenever it is read: offsets are all that a checkpoint needs. What makes looking cheap is kept in the process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkacomp._storage.partition import Transactions
from kafkacomp.spark._bounds import EARLIEST, LATEST
from kafkacomp.spark._errors import briefly
from kafkacomp.spark._offsets import Offsets, limited, read_offsets, write_offsets
from kafkacomp.spark._options import ReadOptions, parse
from kafkacomp.spark._plan import SegmentPartition, before_next, check_names, check_offset, offset_for
from kafkacomp.spark._read import read_wherever, with_schema
from kafkacomp.spark._select import name_of
from kafkacomp.spark._serialize import Shipped
from kafkacomp.spark._watch import Seen, View, Watch, tell_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before 4.2
    HAS_LIMITS = False
else:
    HAS_LIMITS = True

__all__ = ["HAS_LIMITS", "KafkaCompStreamReader", "RefusingStreamReader", "reader"]


def reader(options: Mapping[str, str], schema: StructType) -> KafkaCompStreamReader:
    """A reader for these columns.

    Raises:
        ValueError: an option or a column that is not known, not right, or not for streams or this PySpark.
    """
    checked = with_schema(parse(options, streaming=True), schema)
    if checked.log_format == "0.7":
        raise ValueError(
            "format 0.7: offsets of such logs are positions of bytes; spark.read reads them, no stream does"
        )
    if checked.mode == "PERMISSIVE" or checked.corrupt_column in checked.columns:
        raise ValueError(
            "mode PERMISSIVE is for spark.read: damage has no offset by which a stream could tell of it once;"
            " there are FAILFAST and DROPMALFORMED"
        )
    if HAS_LIMITS:
        return LimitedStreamReader(checked)
    if checked.max_offsets_per_trigger is not None:
        raise ValueError(f"maxOffsetsPerTrigger needs PySpark 4.2 or later; this is {pyspark.__version__}")
    return KafkaCompStreamReader(checked)


class RefusingStreamReader(DataSourceStreamReader):
    """Says at the first question why there is no reader.

    Before there is one, Spark's runner fails once more over the error, and it is the second that users are shown.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error

    @briefly
    def _refuse(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - what each of Spark's questions asks for
        raise self._error

    initialOffset = latestOffset = partitions = commit = read = _refuse  # noqa: N815 - PySpark's names


class KafkaCompStreamReader(Shipped, DataSourceStreamReader):
    """Finds ends and plans tasks in the driver, reads one task in a worker."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self._watch = Watch(options)

    @briefly
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        """Where a query begins that has no checkpoint.

        Raises:
            FileNotFoundError: a path that is not there.
            ValueError: bounds that do not name exactly the partitions that were found, or lie outside them.
        """
        options, view = self.options, self._watch.look()
        for name, bounds in (
            ("startingOffsets", options.starting_offsets),
            ("startingOffsetsByTimestamp", options.starting_times),
        ):
            if isinstance(bounds, dict):
                check_names(name, bounds, [seen.partition for seen in view.values()])
        return write_offsets({key: _start(key, seen, options) for key, seen in view.items()})

    @briefly
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802 - without arguments before 4.2
        """Where the logs end.

        Raises:
            KafkaCompError: damage.
        """
        return write_offsets(_ends(self._watch.look()))

    @briefly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch: pieces of segments of about ``splitSize``.

        Raises:
            KafkaCompError: offsets are gone, with ``failOnDataLoss``.
        """
        begin, until = read_offsets(start), read_offsets(end)
        view = self._watch.look(begin, until)
        return [task for key in sorted(until) for task in self._tasks(view.get(key), begin.get(key, 0), until[key])]

    def _tasks(self, seen: Seen | None, start: int, end: int) -> Iterator[SegmentPartition]:
        if seen is None:
            return
        partition, log = seen.partition, seen.log
        following = [segment.base_offset for segment in partition.segments[1:]]
        wanted = [
            (segment, next_base)
            for segment, next_base in zip(partition.segments, [*following, None], strict=True)
            if max(start, segment.base_offset or 0) < (end if next_base is None else min(end, next_base))
        ]
        for run in log.runs(wanted):
            segment, next_base = run.pieces[0]
            first = max(start, (segment.base_offset or 0) if run.start is None else run.start)
            last = end if run.next_base is None else min(end, run.next_base)
            known = Transactions(None, log.aborted(first, last)) if self.options.is_committed else None
            is_one = len(run.pieces) == 1
            pieces = log.pieces(segment, first, last, next_base) if is_one else []
            for segments in [[each] for each in pieces] or [run.together()]:
                own = replace(partition, segments=segments, context=[], transactions=known)
                yield SegmentPartition(own, first, before_next(segments[-1], last))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        if not isinstance(partition, SegmentPartition):
            return  # Spark asks for a partition of its own making where there is no task
        try:
            yield from read_wherever(self.options, partition)
        except FileNotFoundError as gone:
            offsets = f"offsets {partition.start_offset} to {(partition.end_offset or 0) - 1}"
            loss = f"{name_of(partition.partition)}: {offsets} are gone: {gone.filename} was deleted"
            tell_loss([loss], self.options)

    @briefly
    def commit(self, end: dict[str, Any]) -> None:
        """What lies before these offsets is not asked for again."""
        self._watch.forget(read_offsets(end))


if HAS_LIMITS:

    class LimitedStreamReader(KafkaCompStreamReader, SupportsTriggerAvailableNow):
        """What PySpark 4.2 can do besides: a limit for each batch, also where all that is there is read and no more."""

        def __init__(self, options: ReadOptions) -> None:
            super().__init__(options)
            self._target: Offsets | None = None
            self._latest: Offsets | None = None

        @briefly
        def latestOffset(  # type: ignore[override]  # noqa: N802 - as above
            self, start: dict[str, Any], limit: ReadLimit
        ) -> dict[str, Any]:
            """Where the logs end, or as far as a batch is to go.

            Raises:
                KafkaCompError: offsets are gone, with ``failOnDataLoss``; damage.
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
                raise ValueError(f"a limit of this kind is not known: {limit!r}")  # noqa: TRY004 - not a wrong argument
            return start if ends == begin else write_offsets(ends)

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - as above
            """``maxOffsetsPerTrigger``."""
            most = self.options.max_offsets_per_trigger
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

        @briefly
        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as above
            """Remember where the logs end: no batch of this query goes further."""
            self._target = _ends(self._watch.look())

        def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - as above
            """For the query's progress: how far behind it is."""
            return None if self._latest is None else write_offsets(self._latest)


def _ends(view: View, begin: Offsets | None = None) -> Offsets:
    """The offsets that a reader of the isolation level does not see yet; none that it saw before is among them."""
    ends = {}
    for key, seen in view.items():
        start = (begin or {}).get(key, 0)
        ends[key] = start if seen.log.stable < start <= seen.log.end else seen.log.stable
    return ends


def _start(key: tuple[str, int], seen: Seen, options: ReadOptions) -> int:
    times, offsets = options.starting_times, options.starting_offsets
    timestamp = times[key] if isinstance(times, dict) else times
    offset = offsets[key] if isinstance(offsets, dict) else offsets
    if timestamp is not None:
        found = offset_for(seen.partition, timestamp, options)
        if found is None and not options.latest_unmatched:
            raise ValueError(
                f"{name_of(seen.partition)} has no record with the starting timestamp {timestamp} or later;"
                " with startingOffsetsByTimestampStrategy=latest the stream waits for new ones"
            )
        offset = LATEST if found is None else found
    if offset == LATEST:
        return seen.log.stable
    if offset == EARLIEST:
        return seen.first
    if options.fail_on_data_loss and timestamp is None:
        check_offset("startingOffsets", offset, seen.partition, options)
    return offset
