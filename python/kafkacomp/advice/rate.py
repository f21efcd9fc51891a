"""How much is sent to a topic: from the records' timestamps, where these can be trusted, else not at all.

A rate is the topic's bytes over the time in which they were sent. That time is taken between quantiles of the
timestamps, so that single wrong ones change nothing, and it is held against what else is known: the order of the log,
in which times of sending rise, and the times at which the segment files were last changed. Less than an hour is not
extrapolated to a month.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["HOUR", "FileTimes", "Rate", "Stamps", "assumed_rate", "rate_of", "unknown_rate"]

HOUR: Final = 3600.0
#: The share of the bytes before the first and after the second quantile.
_TAIL: Final = 0.05
_BETWEEN: Final = 1 - 2 * _TAIL
#: Kafka was published in 2011: no record was sent before.
_EARLIEST: Final = 1_293_840_000_000
#: How far a producer's clock may be ahead of the file's, ms.
_AHEAD: Final = 3_600_000
#: The share of the bytes whose records must have a plausible timestamp.
_ENOUGH: Final = 0.5
#: Timestamps of a window whose median stands for one point of the log; points of a topic that are compared.
_POINT: Final = 8
_MOST_POINTS: Final = 200
#: Of all pairs of points, the share that may be out of order, by this share of the span at least.
_OUT_OF_ORDER: Final = 0.25
_JITTER: Final = 0.02
#: How many times as long as by the files' times it may have taken by the timestamps, or the other way round.
_DISAGREE: Final = 3.0


class Stamps(NamedTuple):
    """Timestamps of a window's records, ms, in the order of the log, at equal distances; -1 for those without."""

    partition: int | None
    #: Bytes of the window's batches.
    size: int
    times: Sequence[int]


@dataclass
class FileTimes:
    """When a topic's segment files were last changed, by partition, in the order of offsets: ms and bytes."""

    partitions: dict[int | None, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, partition: int | None, modified: int, size: int) -> None:
        """Add the partition's next segment."""
        self.partitions.setdefault(partition, []).append((modified, size))

    @property
    def newest(self) -> int | None:
        """The last change of any file; None without local files."""
        return max((time for files in self.partitions.values() for time, _ in files), default=None)

    def seconds(self) -> float | None:
        """How long all of the bytes took to be written; None if the files' times do not show an hour of it.

        The time between the changes of a partition's first and last segment is that of all bytes but the first's.
        """
        found = []
        for files in self.partitions.values():
            first, last = files[0][0], files[-1][0]
            later = sum(size for _, size in files[1:])
            if later and last - first >= HOUR * 1000:
                found.append((last - first) / 1000 * sum(size for _, size in files) / later)
        return max(found, default=None)


@dataclass(frozen=True)
class Rate:
    """How much is sent to a topic, and how that is known."""

    #: Bytes a second from producers, as compressed as today; None if nothing shows it.
    bytes_per_second: float | None
    #: ``timestamps``, ``assumed``, ``price file``; ``unknown`` without a rate.
    source: str
    #: A sentence: what the rate rests on, or why there is none.
    why: str
    #: Between which timestamps (ms) the middle 90% of the bytes were sent, and how long all took by that, seconds.
    first: int | None = None
    last: int | None = None
    seconds: float | None = None


def assumed_rate(bytes_per_second: float, source: str) -> Rate:
    """A rate that the user gives."""
    return Rate(bytes_per_second, source, f"{bytes_per_second:,.0f} bytes/s as given ({source})")


def rate_of(size: int, windows: Iterable[Stamps], files: FileTimes) -> Rate:
    """The rate of a topic by its timestamps.

    Args:
        size: The topic's bytes.
        windows: The sample's, in the order of partitions and offsets.
        files: When the segment files were changed.
    """
    windows = list(windows)
    newest = files.newest
    latest = math.inf if newest is None else newest + _AHEAD
    points = [(time, window.size / len(window.times)) for window in windows for time in window.times if window.times]
    weighed = sorted((time, weight) for time, weight in points if _EARLIEST <= time <= latest)
    known, total = sum(weight for _, weight in weighed), sum(weight for _, weight in points)
    if not total or known < total * _ENOUGH:
        return unknown_rate(_without(points, latest))
    first, last = _quantile(weighed, known * _TAIL), _quantile(weighed, known * (1 - _TAIL))
    seconds = (last - first) / 1000 / _BETWEEN
    span = f"the middle 90% of the sample's bytes have timestamps from {_date(first)} to {_date(last)}"
    if seconds < HOUR:
        return unknown_rate(f"{span}, which is {_length(seconds)}: less than an hour", first, last, seconds)
    if not _rises(windows, latest, last - first):
        return unknown_rate(
            f"{span}, but they do not rise along the log: they are not the times of sending", first, last, seconds
        )
    by_files = files.seconds()
    if by_files is not None and not 1 / _DISAGREE <= seconds / by_files <= _DISAGREE:
        why = f"{span} ({_length(seconds)}), but by the times of the segment files it took {_length(by_files)}"
        return unknown_rate(why, first, last, seconds)
    checked = "; the times of the segment files agree" if by_files is not None else ""
    rate = size / seconds
    return Rate(rate, "timestamps", f"{rate:,.0f} bytes/s: {span} ({_length(seconds)}){checked}", first, last, seconds)


def unknown_rate(why: str, first: int | None = None, last: int | None = None, seconds: float | None = None) -> Rate:
    """No rate, and why."""
    return Rate(None, "unknown", f"the rate is unknown: {why}", first, last, seconds)


def _without(points: Sequence[tuple[int, float]], latest: float) -> str:
    """Why fewer than half of the bytes have a usable timestamp."""
    if all(time < 0 for time, _ in points):
        return "the records have no timestamps"
    if any(time > latest for time, _ in points):
        return "most timestamps are later than the last change of the segment files, or before 2011"
    return "most records have no timestamp, or one before 2011"


def _quantile(weighed: Sequence[tuple[int, float]], wanted: float) -> int:
    done = 0.0
    for time, weight in weighed:
        done += weight
        if done >= wanted:
            return time
    return weighed[-1][0]


def _rises(windows: Sequence[Stamps], latest: float, span: int) -> bool:
    """Whether times rise along the log, but for what producers' clocks and delays explain."""
    stride = -(-sum(len(window.times) for window in windows) // (_POINT * _MOST_POINTS))
    partitions: dict[int | None, list[int]] = {}
    for window in windows:
        times = [time for time in window.times if _EARLIEST <= time <= latest]
        medians = [sorted(each)[len(each) // 2] for each in _parts(times, _POINT * stride)]
        partitions.setdefault(window.partition, []).extend(medians)
    pairs = wrong = 0
    for medians in partitions.values():
        for before, after in itertools.combinations(medians, 2):
            pairs += 1
            wrong += after < before - span * _JITTER
    return wrong <= pairs * _OUT_OF_ORDER


def _parts(times: Sequence[int], size: int) -> list[Sequence[int]]:
    return [times[at : at + size] for at in range(0, len(times), size)]


def _date(milliseconds: int) -> str:
    """UTC to the second; Arrow's range is wider than that of :mod:`datetime`, a plausible timestamp's is not."""
    import datetime as dt  # noqa: PLC0415 - only for people

    try:
        return f"{dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def _length(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", HOUR), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:,.0f} ms"
