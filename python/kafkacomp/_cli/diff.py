"""``kafkacomp diff``: compare the records of two logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from kafkacomp._arguments import checked_threads
from kafkacomp._cli.common import (
    ALLOW_MISSING,
    LOG_FORMAT,
    MAX_OUTPUT_SIZE,
    complain,
    progress_bar,
    say,
    say_json,
    waiting,
)
from kafkacomp._cli.filters import partition_options
from kafkacomp._cli.tiered import STORAGE_OPTIONS
from kafkacomp._exit_status import CORRUPT
from kafkacomp._losses import unacknowledged
from kafkacomp._storage.selection import ByName
from kafkacomp._text import camel_case
from kafkacomp.arrow import scan
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from kafkacomp import ScanReport
    from kafkacomp._storage.partition import Partition

#: The columns in which equal records must agree.
_COLUMNS = ("offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True)
class _Difference:
    """The first difference of a partition."""

    topic: str | None
    partition: int | None
    #: The offset of the first record that differs; ``None`` if one log does not have the partition.
    offset: int | None
    #: The difference in words.
    message: str


@click.command()
@click.argument("source")
@click.argument("other")
@partition_options
@click.option("--threads", type=click.IntRange(1, 1024), help="Decoding threads of each log; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as one JSON object.")
@LOG_FORMAT
@STORAGE_OPTIONS
@ALLOW_MISSING
@MAX_OUTPUT_SIZE
def diff(  # noqa: PLR0917 - click hands everything over by name
    source: str, other: str, topics: list[str] | None, partitions: list[int] | None, threads: int | None,
    as_json: bool, allow_missing: bool, storage_options: dict[str, object] | None, **options: Any,  # noqa: ANN401 - handed on to scan
) -> int:  # fmt: skip
    """Compare the records of two logs.

    SOURCE and OTHER are log directories, partitions, segments or URLs of these. Partitions are compared if their
    folders have the same name, TOPIC-PARTITION. Equal records have the same offset, timestamp, key, value and headers;
    batches, segments and compression may differ. Records that are corrupt or missing in one log count as different. The
    first difference of each partition is shown.

    The exit status is 1 if a record differs, if bytes of a log cannot be read, or if both logs lack the same offsets
    and compaction does not explain that.
    """
    opening = SourceOptions(storage_options=storage_options)
    with waiting("listing segments"):
        choice = ByName.of(topics, partitions)
        sides = [_by_name(opening.resolve(each, choice=choice), each) for each in (source, other)]
    options["threads"] = checked_threads(threads)
    total = sum(segment.size for side in sides for each in side.values() for segment in each.segments)
    keys = sorted(sides[0].keys() | sides[1].keys(), key=str)
    found = []
    reports: tuple[list[ScanReport], list[ScanReport]] = ([], [])
    records = 0
    with progress_bar("diff", total) as advance:
        for key in keys:
            pair = sides[0].get(key), sides[1].get(key)
            if pair[0] is None or pair[1] is None:
                lacking = other if pair[1] is None else source
                message = f"{lacking} has no folder of this name, so that there is nothing to compare"
                found.append(_Difference(*key, None, message))
                continue
            difference, count = _compared((pair[0], pair[1]), (source, other), advance, options, reports)
            records += count
            if difference is not None:
                found.append(_Difference(*key, *difference))
    for name, read in zip((source, other), reports, strict=True):
        for line in unacknowledged(*read).lines():
            complain(f"{name}: {line}")
    losses = unacknowledged(*reports[0], *reports[1])
    if as_json:
        missing = [camel_case(each._asdict()) for each in losses.missing]
        differences = [asdict(each) for each in found]
        say_json({"same": not found, "records": records, "differences": differences, "missing": missing})
    else:
        _show(found, len(keys), records)
    return CORRUPT if found else losses.status(allow_missing=allow_missing)


def _show(found: list[_Difference], partitions: int, records: int) -> None:
    for each in found:
        name = "unknown partition" if each.topic is None else f"{each.topic}-{each.partition}"
        say(f"{name}: {each.message}")
    say(f"{records:,} records are the same" if not found else f"different: {len(found)} of {partitions} partitions")


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
    options: dict[str, Any],
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

    def __init__(self, partition: Partition, advance: Callable[[int], object], options: dict[str, Any]) -> None:
        self._done = 0
        self._advance = advance
        self._reader = scan(partition, columns=_COLUMNS, on_error="skip", progress=self._step, **options)
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
