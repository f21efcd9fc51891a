"""The one rule about missing data.

Data are missing if bytes of a log were left out, or if a log lacks offsets that compaction does not explain and that
are not known losses (:mod:`kafkacomp._storage.losses`), which a report has in ``known_losses``.

- Readers report what is missing.
- Functions that make a copy raise :class:`kafkacomp.exceptions.DataLossError` after the copy is complete, unless
  ``allow_missing`` is given.
- Commands end with :data:`CORRUPT`, unless ``--allow-missing`` is given. It does not acknowledge corrupt data, unless
  the command left them out of a copy and reported them.

:func:`unacknowledged` decides what is missing, for all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._text import count_text
from kafkacomp.exceptions import DataLossError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp.arrow._report import MissingRange, SkippedRange

#: The most ranges of a partition in the message of an exception.
_NAMED = 3


class _Report(Protocol):
    """A report of a reader, a check or a copy. It may also have ``skipped``, ``corrupt_ranges``, ``known_losses``."""

    @property
    def missing(self) -> Sequence[MissingRange]: ...
    @property
    def more_missing(self) -> int: ...


_AnyReport = TypeVar("_AnyReport", bound=_Report)


@dataclass(frozen=True)
class Losses:
    """The data that are missing and that nobody has acknowledged; false if there are none."""

    #: Ranges of bytes that were left out.
    skipped: tuple[SkippedRange, ...]
    #: Ranges of offsets that compaction does not explain.
    missing: tuple[MissingRange, ...]
    #: The number of further ranges of offsets, which the reports do not list.
    more_missing: int
    #: The number of corrupt ranges that a repair left out. The adjacent batches need not determine their offsets.
    corrupt_ranges: int

    def __bool__(self) -> bool:
        return bool(self.skipped or self.missing or self.more_missing or self.corrupt_ranges)

    def status(self, *, allow_missing: bool) -> int:
        """The exit status of a command that found nothing else."""
        return CORRUPT if self and not allow_missing else FINE

    def lines(self, most: int | None = None) -> Iterator[str]:
        """Yield lines of text that name each range; of a partition at most this number of ranges."""
        for each in self.skipped:
            size, why = count_text(each.length, "byte"), each.message.removeprefix(f"{each.file}: ")
            yield f"skipped: {each.file}: {size} at byte {each.position} ({each.reason}): {why}"
        yield from missing_lines(self.missing, most)
        if self.more_missing:
            yield f"missing: {count_text(self.more_missing, 'more range')} of offsets"
        if self.corrupt_ranges and not self.missing:
            yield f"missing: {count_text(self.corrupt_ranges, 'corrupt range')} of unknown offsets"


def unacknowledged(*reports: _Report) -> Losses:
    """Find what is missing according to reports, and that nobody has acknowledged."""
    missing = [part for report in reports for part in unknown(report.missing, getattr(report, "known_losses", ()))]
    return Losses(
        tuple(each for report in reports for each in getattr(report, "skipped", ())),
        tuple(missing),
        sum(unlisted(each.missing, each.more_missing) for each in reports),
        sum(getattr(each, "corrupt_ranges", 0) for each in reports),
    )


def unlisted(missing: Iterable[MissingRange], more_missing: int) -> int:
    """The number of further ranges of a report, unless compaction explains them.

    A report lists what compaction does not explain first, so that with a compacted range it lists all others.
    """
    return 0 if any(each.reason == "compacted" for each in missing) else more_missing


def unknown(missing: Iterable[MissingRange], known: Iterable[KnownLoss]) -> list[MissingRange]:
    """Find the missing offsets that neither compaction nor a known loss explains."""
    index = LossIndex(known)
    return [
        part for each in missing if each.reason != "compacted" for part, is_known in index.parts(each) if not is_known
    ]


class LossIndex:
    """Known losses by their offsets."""

    def __init__(self, known: Iterable[KnownLoss]) -> None:
        self._groups: dict[object, list[KnownLoss]] = {}
        for loss in known:
            self._groups.setdefault((loss.topic, loss.partition), []).append(loss)
        for group in self._groups.values():
            group.sort(key=lambda loss: loss.first_offset)
        self._lasts = {owner: [loss.last_offset for loss in group] for owner, group in self._groups.items()}

    def parts(self, missing: MissingRange) -> Iterator[tuple[MissingRange, bool]]:
        """Divide a range of missing offsets into parts, each with whether it is known."""
        owner, begin, end = (missing.topic, missing.partition), missing.first_offset, missing.last_offset
        group = self._groups.get(owner, [])
        for loss in islice(group, bisect_left(self._lasts.get(owner, []), begin), None):
            first, last = max(loss.first_offset, begin), min(loss.last_offset, end)
            if first > end:
                break
            if begin < first:
                yield missing._replace(first_offset=begin, last_offset=first - 1), False
            yield missing._replace(first_offset=first, last_offset=last), True
            begin = last + 1
        if begin <= end:
            yield missing._replace(first_offset=begin), False


def acknowledged(copy: str, report: _AnyReport, *, allow_missing: bool) -> _AnyReport:
    """Return the report of a complete copy.

    Raises:
        DataLossError: data of the source are missing in the copy, and ``allow_missing`` is false.
    """
    losses = unacknowledged(report)
    if losses and not allow_missing:
        raise DataLossError(
            f"{copy} is complete, but data of the source are missing in it: {'; '.join(losses.lines(_NAMED))}. "
            "allow_missing=True accepts this",
            report,
        )
    return report


def missing_lines(
    missing: Iterable[MissingRange | KnownLoss], most: int | None = None, *, label: str = "missing"
) -> Iterator[str]:
    """Yield a line of text for each partition, or segment of unknown ones, with at most this number of ranges."""
    for name, ranges in groupby(missing, key=_owner):
        listed = list(ranges)
        shown = ", ".join(map(_offsets, listed[:most]))
        others = len(listed) - len(listed[:most])
        yield f"{label}: {name}: offsets {shown}{f', and {others} more ranges' if others else ''}"


def _owner(each: MissingRange | KnownLoss) -> str:
    if each.topic is None:
        return getattr(each, "segment", "unknown partition")
    return f"{each.topic}-{each.partition}"


def _offsets(each: MissingRange | KnownLoss) -> str:
    last = "" if each.first_offset == each.last_offset else f" to {each.last_offset}"
    return f"{each.first_offset}{last} ({each.reason})"
