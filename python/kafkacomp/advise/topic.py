"""One topic's figures: what its windows gave, added up, with the spread between them."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkacomp._types import CompressionType
from kafkacomp.advise.entropy import Payload
from kafkacomp.advise.levels import Trials
from kafkacomp.advise.measure import Run
from kafkacomp.advise.settings import TODAY
from kafkacomp.bench.spec import DEFAULT_LEVELS, Codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkacomp.advise.formats import Format
    from kafkacomp.advise.levels import Level
    from kafkacomp.advise.measure import Figures

__all__ = ["Cell", "Spread", "TopicFigures"]

_RESAMPLES: Final = 200
#: The share of resamples between the bounds.
_CONFIDENCE: Final = 0.9
#: With fewer windows than this it is their runs that are drawn.
_ENOUGH_WINDOWS: Final = 6


class Spread(NamedTuple):
    """The middle 90% of what other samples of this topic would have given (a bootstrap over the windows)."""

    low: float
    high: float


@dataclass
class Cell:
    """A codec at a batch size, measured."""

    codec: Codec
    #: ``batch.size``, or TODAY.
    batch_size: int
    #: The runs of each window that it was measured on.
    windows: dict[int, list[Run]] = field(default_factory=dict)
    #: What :meth:`TopicFigures.saving` found, which takes a while.
    saving: tuple[float, Spread | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def total(self) -> Run:
        """All of it."""
        return sum((run for runs in self.windows.values() for run in runs), Run())

    @property
    def ratio(self) -> float:
        """Bytes of records before compression, to bytes of batches with their headers."""
        return self.total.plain / self.total.size if self.total.size else 0.0

    @property
    def per_payload(self) -> float:
        """Bytes on disk for one byte of keys, values and headers."""
        return self.total.size / max(self.total.payload, 1)

    @property
    def per_record(self) -> float:
        """Bytes on disk for one record."""
        return self.total.size / max(self.total.records, 1)

    @property
    def compress_seconds(self) -> float:
        """Processor seconds for 1 GB (10^9 bytes) of records."""
        return self.total.compress_ns / max(self.total.plain, 1)

    @property
    def decompress_seconds(self) -> float:
        """Processor seconds to get 1 GB of records back."""
        return self.total.decompress_ns / max(self.total.plain, 1)

    @property
    def milliseconds(self) -> tuple[float, float]:
        """What compressing and decompressing one batch takes."""
        batches = max(self.total.batches, 1)
        return self.total.compress_ns / batches / 1e6, self.total.decompress_ns / batches / 1e6

    @property
    def batch_records(self) -> float:
        """Records of a batch."""
        return self.total.records / max(self.total.batches, 1)

    @property
    def batch_bytes(self) -> float:
        """Bytes of a batch on disk."""
        return self.total.size / max(self.total.batches, 1)


@dataclass
class TopicFigures:
    """All of one topic."""

    name: str
    format: Format
    #: Bytes on disk, partitions and segments, of all, not only of the sample.
    size: int
    partitions: int
    segments: int
    #: Windows of the sample, and all there are.
    windows: int = 0
    all_windows: int = 0
    #: Whether there is a log, not a file of sample records.
    stored: bool = True
    today: dict[int, list[Run]] = field(default_factory=dict)
    types: dict[str, Run] = field(default_factory=dict)
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    cells: dict[tuple[Codec, int], Cell] = field(default_factory=dict)
    payload: Payload = field(default_factory=Payload)
    levels: dict[CompressionType, Trials] = field(default_factory=dict)
    kept: int = 0
    times: tuple[int, int] | None = None
    #: What is damaged, by window.
    damage: dict[int, list[str]] = field(default_factory=dict)
    #: Codecs that were asked for and that the topic's format does not have, with the reason.
    refused: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    _draws: dict[tuple[int, ...], list[tuple[list[int], float]]] = field(default_factory=dict, repr=False)

    @property
    def problems(self) -> list[str]:
        """What is damaged, in the order of the windows."""
        return [text for number in sorted(self.damage) for text in self.damage[number]]

    def add(self, number: int, figures: Figures) -> None:
        """Add a window's figures; the order of the windows makes no difference."""
        if figures.problems:
            self.damage[number] = figures.problems
        self.kept += figures.kept
        self.stored &= figures.stored
        if figures.today:
            self.today[number] = figures.today
        for name, run in figures.types.items():
            self.types[name] = self.types.get(name, Run()) + run
        self.batches += figures.batches
        for (codec, size), runs in figures.cells.items():
            cell = self.cells.setdefault((codec, size), Cell(codec, size))
            # All windows have these: where they are enough for the spread, their parts need not be kept.
            many = self.windows >= 2 * _ENOUGH_WINDOWS and size == TODAY
            cell.windows[number] = [sum(runs, Run())] if many else runs
        self.payload.add(figures.payload)
        for kind, trials in figures.levels.items():
            self.levels.setdefault(kind, Trials()).add(trials)
        if figures.times is not None:
            first, last = self.times or figures.times
            self.times = min(first, figures.times[0]), max(last, figures.times[1])

    @cached_property
    def total(self) -> Run:
        """The sample as it is stored."""
        return sum((run for runs in self.today.values() for run in runs), Run())

    @property
    def type(self) -> CompressionType:
        """The compression type of most of today's bytes."""
        if not self.types:
            return CompressionType.NONE
        return CompressionType.for_name(max(self.types, key=lambda name: self.types[name].plain))

    @property
    def level(self) -> Level | None:
        """The level of that type, as far as it shows."""
        trials = self.levels.get(self.type)
        return None if trials is None else trials.level()

    @property
    def codec(self) -> Codec:
        """Today's type, at the level that shows, else at Kafka's default."""
        own = [codec for codec, size in self.cells if codec.type is self.type and size == TODAY]
        level = self.level
        if level is not None:
            return Codec(self.type, level.level)
        return own[0] if len(own) == 1 else Codec(self.type, DEFAULT_LEVELS.get(self.type))

    def today_cell(self) -> Cell:
        """Today's batches as a cell: stored bytes, and the time of the codec at the nearest measured level."""
        cell = Cell(self.codec, TODAY, dict(self.today))
        measured = self.cells.get((self.codec, TODAY))
        if measured is not None and len(self.types) == 1:
            for number, runs in self.today.items():
                own = sum(measured.windows[number], Run())
                first = runs[0]._replace(compress_ns=own.compress_ns, decompress_ns=own.decompress_ns)
                rest = [run._replace(compress_ns=0, decompress_ns=0) for run in runs[1:]]
                cell.windows[number] = [first, *rest]
        return cell

    def saving(self, cell: Cell) -> tuple[float, Spread | None]:
        """The share of today's bytes that a cell saves, over the windows that it was measured on, and its spread."""
        if cell.saving is None:
            cell.saving = self._saving(cell)
        return cell.saving

    def _saving(self, cell: Cell) -> tuple[float, Spread | None]:
        common = sorted(cell.windows.keys() & self.today.keys())
        if not common:
            return 0.0, None
        new = {number: _per_payload(cell.windows[number]) for number in common}
        old = {number: _per_payload(self.today[number]) for number in common}
        value = 1 - _ratio(new.values()) / _ratio(old.values())
        drawn = []
        if len(common) >= _ENOUGH_WINDOWS:
            for picked, before in self._drawn(tuple(common), old):
                drawn.append(1 - _ratio(new[n] for n in picked) / before)
        else:
            chooser = random.Random(f"{self.seed}:{self.name}:{cell.codec}:{cell.batch_size}")  # noqa: S311 - a bootstrap
            mine = [(run.size, run.payload) for n in common for run in cell.windows[n]]
            theirs = [(run.size, run.payload) for n in common for run in self.today[n]]
            if min(len(mine), len(theirs)) < 3:  # noqa: PLR2004 - two say nothing of a spread
                return value, None
            # Where both are counted by the same batches, they are drawn together.
            paired = len(mine) == len(theirs) and cell.batch_size == TODAY
            for _ in range(_RESAMPLES):
                picked = chooser.choices(range(len(mine)), k=len(mine))
                others = picked if paired else chooser.choices(range(len(theirs)), k=len(theirs))
                drawn.append(1 - _ratio(mine[n] for n in picked) / _ratio(theirs[n] for n in others))
        return value, _middle(drawn)

    def _drawn(self, windows: tuple[int, ...], today: Mapping[int, tuple[int, int]]) -> list[tuple[list[int], float]]:
        """Windows drawn anew, with today's bytes of each draw: the same draws for all cells."""
        if windows not in self._draws:
            chooser = random.Random(f"{self.seed}:{self.name}")  # noqa: S311 - a bootstrap
            picks = [chooser.choices(windows, k=len(windows)) for _ in range(_RESAMPLES)]
            self._draws[windows] = [(picked, _ratio(today[n] for n in picked)) for picked in picks]
        return self._draws[windows]

    def sizes(self) -> dict[str, float]:
        """Today's batches: medians and means of bytes and records."""
        if not self.batches:
            return {}
        stored, plain, records = zip(*self.batches, strict=True)
        total = self.total
        return {
            "storedBytesMedian": statistics.median(stored),
            "storedBytesMean": total.size / total.batches,
            "storedBytesMax": max(stored),
            "plainBytesMedian": statistics.median(plain),
            "recordsMedian": statistics.median(records),
            "recordsMean": total.records / total.batches,
        }

    @property
    def seconds(self) -> float | None:
        """Between the sample's first and last record, by their own timestamps; None without any."""
        if self.times is None or self.times[1] <= self.times[0]:
            return None
        return (self.times[1] - self.times[0]) / 1000

    @property
    def payload_size(self) -> float:
        """Keys, values and headers of the whole topic, bytes."""
        total = self.total
        own = self.size * total.size / (total.size + self.kept) if total.size else 0.0
        return own * total.payload / total.size if total.size else 0.0

    @property
    def plain_size(self) -> float:
        """Records of the whole topic before compression, bytes."""
        total = self.total
        return self.payload_size * total.plain / max(total.payload, 1)


def _per_payload(runs: Sequence[Run]) -> tuple[int, int]:
    return sum(run.size for run in runs), sum(run.payload for run in runs)


def _ratio(pairs: Iterable[tuple[int, int]]) -> float:
    sizes = payloads = 0
    for size, payload in pairs:
        sizes += size
        payloads += payload
    return sizes / max(payloads, 1)


def _middle(values: list[float]) -> Spread:
    values.sort()
    cut = (1 - _CONFIDENCE) / 2
    return Spread(values[int(len(values) * cut)], values[min(int(len(values) * (1 - cut)), len(values) - 1)])
