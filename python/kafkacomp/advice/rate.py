"""Determine the rate of a topic from the records' timestamps, if these are plausible.

The rate is the topic's bytes divided by the time in which they were sent. This time is the span between two quantiles
of the timestamps, so that a few wrong timestamps have no effect. It is compared with the order of the log, in which the
times of sending increase, and with the modification times of the segment files. A span of less than an hour is not
extrapolated to a month.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkacomp._text import duration_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOUR: Final = 3600.0
#: The share of the bytes before the first and after the second quantile.
_TAIL: Final = 0.05
_BETWEEN: Final = 1 - 2 * _TAIL
#: 2011-01-01 in milliseconds: Kafka was published in 2011, so no record is older.
_EARLIEST: Final = 1_293_840_000_000
#: The most milliseconds by which a timestamp may be later than the last modification of a file.
_AHEAD: Final = 3_600_000
#: The least share of the bytes whose records must have a plausible timestamp.
_ENOUGH: Final = 0.5
#: Timestamps of a window whose median is one point of the log, and the most points of a topic to compare.
_POINT: Final = 8
_MOST_POINTS: Final = 200
#: The greatest share of all pairs of points that may be out of order, by more than this share of the span.
_OUT_OF_ORDER: Final = 0.25
_JITTER: Final = 0.02
#: The greatest factor between the time by timestamps and the time by modification times, in either direction.
_DISAGREE: Final = 3.0


class Stamps(NamedTuple):
    """Timestamps of every nth record of a window, in milliseconds, in the order of the log; -1 for records without."""

    partition: int | None
    #: Bytes of the window's batches.
    size: int
    times: Sequence[int]


@dataclass
class FileTimes:
    """Modification times (milliseconds) and sizes (bytes) of a topic's segments, by partition, in offset order."""

    partitions: dict[int | None, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, partition: int | None, modified: int, size: int) -> None:
        """Add the partition's next segment."""
        self.partitions.setdefault(partition, []).append((modified, size))

    @property
    def newest(self) -> int | None:
        """The latest modification time; None without local files."""
        return max((time for files in self.partitions.values() for time, _ in files), default=None)

    def seconds(self) -> float | None:
        """Return the seconds in which all bytes were written; None if the modification times span less than an hour.

        Between the modifications of a partition's first and last segment, all its bytes except the first segment's were
        written.
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
    """The bytes sent to a topic per second, and where this figure comes from.

    Attributes:
        bytes_per_second: Bytes per second that producers send, compressed as today; ``None`` if the rate is unknown.
        source: ``timestamps``, ``assumed`` or ``price file``; ``unknown`` without a rate.
        why: One sentence: how the rate was determined, or why it is unknown.
        first_timestamp: The first of the timestamps, in milliseconds, between which the middle 90% of the bytes were
            sent.
        last_timestamp: The last of these timestamps.
        seconds: The time in which all bytes were sent, in seconds.
    """

    bytes_per_second: float | None
    source: str
    why: str
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    seconds: float | None = None


def assumed_rate(bytes_per_second: float, source: str) -> Rate:
    """Return a rate that the user gives."""
    return Rate(bytes_per_second, source, f"{bytes_per_second:,.0f} bytes/s as given ({source})")


def rate_of(size: int, windows: Iterable[Stamps], files: FileTimes) -> Rate:
    """Determine the rate of a topic from its timestamps.

    Args:
        size: The topic's size in bytes.
        windows: The timestamps of the sample's windows, in the order of partitions and offsets.
        files: The modification times of the segment files.
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
    began, ended = (time_text(time, to_the_second=True) for time in (first, last))
    lasted = duration_text(seconds)
    span = f"the middle 90% of the sample's bytes have timestamps from {began} to {ended}"
    if seconds < HOUR:
        return unknown_rate(f"{span}, which is {lasted}: less than an hour", first, last, seconds)
    if not _rises(windows, latest, last - first):
        return unknown_rate(
            f"{span}, but they do not rise along the log, so they are not times of sending", first, last, seconds
        )
    by_files = files.seconds()
    if by_files is not None and not 1 / _DISAGREE <= seconds / by_files <= _DISAGREE:
        took = f"by the modification times of the segment files it took {duration_text(by_files)}"
        why = f"{span} ({lasted}), but {took}"
        return unknown_rate(why, first, last, seconds)
    checked = "; the modification times of the segment files agree" if by_files is not None else ""
    rate = size / seconds
    return Rate(rate, "timestamps", f"{rate:,.0f} bytes/s: {span} ({lasted}){checked}", first, last, seconds)


def unknown_rate(why: str, first: int | None = None, last: int | None = None, seconds: float | None = None) -> Rate:
    """Return an unknown rate with the reason."""
    return Rate(None, "unknown", f"the rate is unknown: {why}", first, last, seconds)


def _without(points: Sequence[tuple[int, float]], latest: float) -> str:
    """Return the reason why fewer than half of the bytes have a usable timestamp."""
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
    """Return whether times increase along the log, apart from what clocks and delays of producers explain."""
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
