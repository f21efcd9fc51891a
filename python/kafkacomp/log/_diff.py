"""Compare the records of two logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import check_progress
from kafkacomp._losses import unacknowledged
from kafkacomp._storage.selection import ByName
from kafkacomp._text import camel_case
from kafkacomp.arrow import ScanOptions, scan
from kafkacomp.arrow._options import check_options
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from kafkacomp._storage.partition import Partition, Source
    from kafkacomp.arrow._report import MissingRange, ScanReport
    from kafkacomp.tiered.source import Tiered

#: The columns in which equal records must agree.
_COLUMNS = ("offset", "timestamp", "key", "value", "headers")
_OPTIONS = ScanOptions()


@dataclass(frozen=True)
class Difference:
    """The first difference between the records of a partition in two logs.

    >>> import kafkacomp as kc
    >>> report = kc.log.diff(example, kc.write(kc.scan(example, end_offset=4), target).path)
    >>> [(each.topic, each.partition, each.offset) for each in report.differences]
    [('orders', 3, 4)]
    """

    topic: str | None
    partition: int | None
    #: The offset of the first record that differs; ``None`` if one log does not have the partition.
    offset: int | None
    #: The difference in words.
    message: str


@dataclass(frozen=True)
class DiffReport:
    """What :func:`diff` found.

    >>> import kafkacomp as kc
    >>> report = kc.log.diff(example, example)
    >>> report.is_same, report.num_records, report.num_partitions
    (True, 5, 1)
    """

    #: The number of records that both logs have, up to the first difference of each partition.
    num_records: int
    #: The number of partitions that one of the logs has.
    num_partitions: int
    #: The first difference of each partition that has one.
    differences: list[Difference]
    #: The reports of the scans of the first and of the second log.
    scans: tuple[list[ScanReport], list[ScanReport]]

    @property
    def is_same(self) -> bool:
        """Whether both logs have the same records."""
        return not self.differences

    @property
    def missing(self) -> list[MissingRange]:
        """The offsets that the logs lack, which compaction does not explain and no loss file names."""
        return list(unacknowledged(*self.scans[0], *self.scans[1]).missing)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``kafkacomp diff --json`` prints.

        >>> import kafkacomp as kc
        >>> kc.log.diff(example, example).to_dict()
        {'same': True, 'records': 5, 'differences': [], 'missing': []}
        """
        return {
            "same": self.is_same,
            "records": self.num_records,
            "differences": [asdict(each) for each in self.differences],
            "missing": [camel_case(each._asdict()) for each in self.missing],
        }


def diff(
    source: Source,
    other: Source,
    *,
    topics: Iterable[str] | None = None,
    partitions: Iterable[int] | None = None,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Callable[[int, int], object] | None = None,
    options: ScanOptions = _OPTIONS,
) -> DiffReport:
    """Compare the records of two logs.

    Partitions are compared if their folders have the same name, ``<topic>-<partition>``. Equal records have the same
    offset, timestamp, key, value and headers; batches, segments and compression may differ. Records that are corrupt or
    missing in one log count as different.

    Args:
        source: A log directory, partition or segment, as in :func:`kafkacomp.scan`.
        other: The log with which it is compared.
        topics: Compare only these topics: names, or globs such as ``orders-*``.
        partitions: Compare only partitions with these numbers.
        store: The file system of the paths of both: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of URLs; not together with ``store``.
        tiered: For tiered storage, as in :func:`kafkacomp.scan`.
        progress: Called as ``progress(bytes_done, bytes_total)``.
        options: How both are read.

    Raises:
        FileNotFoundError: a path does not exist, or contains no segments.
        ValueError: a log has a partition twice.
        OSError: a folder or file cannot be read.

    Example:
        >>> import kafkacomp as kc
        >>> kc.log.diff(example, example).is_same
        True
    """
    check_progress(progress)
    check_options(options)
    choice = ByName.of(topics, partitions)
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    sides = [_side(name, each, opening, choice) for name, each in (("source", source), ("other", other))]
    total = sum(segment.size for side in sides for each in side.values() for segment in each.segments)
    done = 0

    def advance(step: int) -> None:
        nonlocal done
        done += step
        if progress is not None:
            progress(done, total)

    names = str(source), str(other)
    found: list[Difference] = []
    reports: tuple[list[ScanReport], list[ScanReport]] = ([], [])
    records = 0
    keys = sorted(sides[0].keys() | sides[1].keys(), key=str)
    for key in keys:
        pair = sides[0].get(key), sides[1].get(key)
        if pair[0] is None or pair[1] is None:
            lacking = names[1] if pair[1] is None else names[0]
            message = f"{lacking} has no folder of this name, so that there is nothing to compare"
            found.append(Difference(*key, None, message))
            continue
        difference, count = _compared((pair[0], pair[1]), names, advance, options, reports)
        records += count
        if difference is not None:
            found.append(Difference(*key, *difference))
    return DiffReport(records, len(keys), found, reports)


def _side(
    name: str, source: Source, opening: SourceOptions, choice: ByName | None
) -> dict[tuple[str | None, int | None], Partition]:
    """List one of the logs; an error about its type has the name of the argument."""
    try:
        found = opening.resolve(source, choice=choice)
    except TypeError as error:
        raise TypeError(str(error).replace("source", name, 1)) from None
    return _by_name(found, str(source))


def _by_name(partitions: list[Partition], source: str) -> dict[tuple[str | None, int | None], Partition]:
    """The partitions by topic and number; ValueError if a log has one of them twice."""
    found: dict[tuple[str | None, int | None], Partition] = {}
    for each in partitions:
        if found.setdefault((each.topic, each.partition), each) is not each:
            name = "an unknown partition" if each.topic is None else f"{each.topic}-{each.partition}"
            raise ValueError(
                f"{source}: {name} is in several folders, of which only one can be compared: give that one"
            )
    return found


def _compared(
    pair: tuple[Partition, Partition],
    names: tuple[str, str],
    advance: Callable[[int], object],
    options: ScanOptions,
    reports: tuple[list[ScanReport], list[ScanReport]],
) -> tuple[tuple[int | None, str] | None, int]:
    """Find the first difference of two partitions, its offset and words, and count the equal records before it.

    The reports of the scans are added to ``reports``.
    """
    one, two = (_Rows(each, advance, options) for each in pair)
    try:
        return _first_difference(one, two, names)
    finally:
        for known, rows in zip(reports, (one, two), strict=True):
            known.append(rows.report)


def _first_difference(one: _Rows, two: _Rows, names: tuple[str, str]) -> tuple[tuple[int | None, str] | None, int]:
    same = 0
    while True:
        first, second = one.here(), two.here()
        if first is None or second is None:
            if first is None and second is None:
                return _unread((one, two), names), same
            left, lacking = (second, names[0]) if first is None else (first, names[1])
            assert left is not None  # noqa: S101 - one of the two is
            offset = left.column("offset")[0].as_py()
            return (offset, f"offset {offset} is not in {lacking}"), same
        count = min(first.num_rows, second.num_rows)
        first, second = first.slice(0, count), second.slice(0, count)
        if not first.equals(second):
            at = next(at for at in range(count) if not first.slice(at, 1).equals(second.slice(at, 1)))
            return _difference(first.slice(at, 1), second.slice(at, 1), names), same + at
        same += count
        one.skip(count)
        two.skip(count)


def _unread(rows: tuple[_Rows, _Rows], names: tuple[str, str]) -> tuple[None, str] | None:
    """A difference for bytes that cannot be read, which are not compared."""
    unread = ((each.unread_bytes, name) for each, name in zip(rows, names, strict=True))
    return next(((None, f"{size:,} bytes in {name} cannot be read") for size, name in unread if size), None)


def _difference(first: pa.RecordBatch, second: pa.RecordBatch, names: tuple[str, str]) -> tuple[int, str]:
    offsets = [each.column("offset")[0].as_py() for each in (first, second)]
    if offsets[0] != offsets[1]:
        offset = min(offsets)
        lacking = names[0] if offsets[0] > offsets[1] else names[1]
        return offset, f"offset {offset} is not in {lacking}"
    different = [name for name in _COLUMNS if not first.column(name).equals(second.column(name))]
    return offsets[0], f"offset {offsets[0]} differs in {', '.join(different)}"


class _Rows:
    """Reads the rows of a partition in batches."""

    def __init__(self, partition: Partition, advance: Callable[[int], object], options: ScanOptions) -> None:
        self._done = 0
        self._advance = advance
        self._reader = scan(partition, columns=_COLUMNS, on_error="skip", progress=self._step, options=options)
        self._batches: Iterator[pa.RecordBatch] = (batch for batch in self._reader if batch.num_rows)
        self._rows: pa.RecordBatch | None = None

    def _step(self, done: int, _: int) -> None:
        self._advance(done - self._done)
        self._done = done

    @property
    def report(self) -> ScanReport:
        """The report of the scan so far."""
        return self._reader.report

    @property
    def unread_bytes(self) -> int:
        """The number of bytes that were skipped."""
        return sum(each.length for each in self.report.skipped)

    def here(self) -> pa.RecordBatch | None:
        """The next rows; ``None`` at the end."""
        if self._rows is None or not self._rows.num_rows:
            self._rows = next(self._batches, None)
        return self._rows

    def skip(self, count: int) -> None:
        """Skip this number of rows."""
        if self._rows is not None:
            self._rows = self._rows.slice(count)
