"""The figures of one topic: the sum of its windows' measurements."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kafkacomp._codecs.levels import DEFAULT_LEVELS, Codec
from kafkacomp._text import count_text
from kafkacomp._types import CompressionType
from kafkacomp.advice.entropy import Payload
from kafkacomp.advice.levels import Trials
from kafkacomp.advice.measure import Run
from kafkacomp.advice.rate import FileTimes
from kafkacomp.advice.settings import TODAY
from kafkacomp.advice.spread import LARGE_RECORDS, OTHER_BATCHES, SAME_BATCHES, Window, estimate, saving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from kafkacomp.advice.formats import Format
    from kafkacomp.advice.levels import Level
    from kafkacomp.advice.measure import Figures
    from kafkacomp.advice.rate import Stamps
    from kafkacomp.advice.spread import Spread

#: The fewest batches (of records that are in a log) and records that a recommendation and the bounds of a saving need.
_FEWEST_BATCHES: Final = 8
_FEWEST_RECORDS: Final = 32


@dataclass
class Cell:
    """The measurements of a codec at one batch size.

    Attributes:
        codec: The compression type and level.
        batch_size: The ``batch.size`` in bytes; 0 for the batches as they are stored today.
        windows: The runs of each measured window, by the number of the window.
        wide: The same for windows that only compare batch sizes with each other.
        saving: The result of :meth:`TopicFigures.saving`, which is expensive to compute.
    """

    codec: Codec
    batch_size: int
    windows: dict[int, list[Run]] = field(default_factory=dict)
    wide: dict[int, list[Run]] = field(default_factory=dict)
    saving: tuple[float, Spread | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def total(self) -> Run:
        """The sum of the runs of ``windows``, or of ``wide`` without these."""
        return sum((run for runs in (self.windows or self.wide).values() for run in runs), Run())

    @property
    def ratio(self) -> float:
        """Bytes of records before compression, divided by bytes of batches with their headers."""
        return self.total.plain / self.total.size if self.total.size else 0.0

    @property
    def per_payload(self) -> float:
        """Bytes on disk per byte of keys, values and headers."""
        return self.total.size / max(self.total.payload, 1)

    @property
    def per_record(self) -> float:
        """Bytes on disk per record."""
        return self.total.size / max(self.total.records, 1)

    @property
    def compress_seconds(self) -> float:
        """Processor seconds to compress 1 GB (10^9 bytes) of records."""
        return self.total.compress_ns / max(self.total.plain, 1)

    @property
    def decompress_seconds(self) -> float:
        """Processor seconds to decompress 1 GB (10^9 bytes) of records."""
        return self.total.decompress_ns / max(self.total.plain, 1)

    @property
    def milliseconds(self) -> tuple[float, float]:
        """Processor milliseconds to compress and to decompress one batch."""
        batches = max(self.total.batches, 1)
        return self.total.compress_ns / batches / 1e6, self.total.decompress_ns / batches / 1e6

    @property
    def batch_records(self) -> float:
        """Mean number of records per batch."""
        return self.total.records / max(self.total.batches, 1)

    @property
    def batch_bytes(self) -> float:
        """Mean size of a batch on disk in bytes."""
        return self.total.size / max(self.total.batches, 1)


@dataclass
class TopicFigures:
    """The figures of one topic, from all windows of its sample.

    Attributes:
        name: The name of the topic.
        format: The message format of its next batches.
        size: The size of the whole topic on disk, in bytes.
        partitions: The number of its partitions.
        segments: The number of its segments.
        windows: The number of windows that represent the topic's content.
        share: The share of the topic's bytes in these windows, 0 to 1.
        read: The bytes of all windows, including those that only compare batch sizes with each other.
        stored: Whether the records are in a log, not in a file of records.
        today: The stored batches by window.
        types: The stored batches by the name of their compression type.
        batches: Stored bytes, bytes before compression and records of some batches.
        cells: The measurements by codec and batch size.
        payload: Statistics of the keys and values.
        levels: The trials that determine the level, by compression type.
        kept: Bytes on disk that compression does not change.
        largest: The bytes of key, value and headers of the largest record in the sample.
        stamps: Timestamps of records by window.
        files: The modification times of the segment files.
        whole: Whether every window of the sample was read to its end.
        damage: Descriptions of what is corrupt or cannot be read, by window.
        refused: The codecs to try that the topic's message format does not support, with the reason.
    """

    name: str
    format: Format
    size: int
    partitions: int
    segments: int
    windows: int = 0
    share: float = 0.0
    read: int = 0
    stored: bool = True
    today: dict[int, list[Run]] = field(default_factory=dict)
    types: dict[str, Run] = field(default_factory=dict)
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    cells: dict[tuple[Codec, int], Cell] = field(default_factory=dict)
    payload: Payload = field(default_factory=Payload)
    levels: dict[CompressionType, Trials] = field(default_factory=dict)
    kept: int = 0
    largest: int = 0
    stamps: dict[int, Stamps] = field(default_factory=dict)
    files: FileTimes = field(default_factory=FileTimes)
    whole: bool = True
    damage: dict[int, list[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """Descriptions of what is corrupt or cannot be read, in the order of the windows."""
        return [text for number in sorted(self.damage) for text in self.damage[number]]

    def add(self, number: int, figures: Figures) -> None:
        """Add a window's figures; windows can be added in any order."""
        if figures.problems:
            self.damage[number] = figures.problems
        self.stored &= figures.stored
        self.whole &= figures.whole
        self.largest = max(self.largest, figures.largest)
        for (codec, size), runs in figures.cells.items():
            cell = self.cells.setdefault((codec, size), Cell(codec, size))
            # Today's batches are measured completely, so their parts add no information.
            kept = [sum(runs, Run())] if size == TODAY else runs
            (cell.windows if figures.basis else cell.wide)[number] = kept
        if not figures.basis:
            return
        self.kept += figures.kept
        if figures.today:
            self.today[number] = figures.today
        for name, run in figures.types.items():
            self.types[name] = self.types.get(name, Run()) + run
        self.batches += figures.batches
        self.payload.add(figures.payload)
        for kind, trials in figures.levels.items():
            self.levels.setdefault(kind, Trials()).add(trials)
        if figures.stamps is not None:
            self.stamps[number] = figures.stamps

    @cached_property
    def total(self) -> Run:
        """The sum of the sample's stored batches."""
        return sum((run for runs in self.today.values() for run in runs), Run())

    @property
    def type(self) -> CompressionType:
        """The compression type of most of today's bytes before compression."""
        if not self.types:
            return CompressionType.NONE
        return CompressionType.for_name(max(self.types, key=lambda name: self.types[name].plain))

    @property
    def level(self) -> Level | None:
        """The level of that type; None if the trials do not show it."""
        trials = self.levels.get(self.type)
        return None if trials is None else trials.level()

    @property
    def codec(self) -> Codec:
        """Today's type, at the level that the trials show, else at Kafka's default."""
        own = [codec for codec, size in self.cells if codec.type is self.type and size == TODAY]
        level = self.level
        if level is not None:
            return Codec(self.type, level.level)
        return own[0] if len(own) == 1 else Codec(self.type, DEFAULT_LEVELS.get(self.type))

    def today_cell(self) -> Cell:
        """Return today's batches as a cell: stored bytes, with the processor time of :attr:`codec` if measured."""
        cell = Cell(self.codec, TODAY, dict(self.today))
        measured = self.cells.get((self.codec, TODAY))
        if measured is not None and len(self.types) == 1:
            for number, runs in self.today.items():
                own = sum(measured.windows[number], Run())
                first = runs[0]._replace(compress_ns=own.compress_ns, decompress_ns=own.decompress_ns)
                rest = [run._replace(compress_ns=0, decompress_ns=0) for run in runs[1:]]
                cell.windows[number] = [first, *rest]
        return cell

    @cached_property
    def lacks(self) -> str | None:
        """What the sample has too few of for a recommendation; None if it has enough."""
        total = self.total
        if total.records >= _FEWEST_RECORDS and (total.batches >= _FEWEST_BATCHES or not self.stored):
            return None
        batches = f" and {_FEWEST_BATCHES} batches" if self.stored else ""
        return (
            f"the sample has {count_text(total.records, 'record')} in {count_text(total.batches, 'batch|es')}; a "
            f"recommendation needs at least {_FEWEST_RECORDS} records{batches}"
        )

    def saving(self, cell: Cell) -> tuple[float, Spread | None]:
        """Return the share of today's bytes that a cell saves on the windows where it was measured, and its bounds.

        A sample that :attr:`lacks` batches or records shows no bounds.
        """
        if cell.saving is None:
            share, bounds = self._saving(cell)
            cell.saving = share, None if self.lacks else bounds
        return cell.saving

    def _saving(self, cell: Cell) -> tuple[float, Spread | None]:
        share = self.share if self.whole else 0.0
        model = LARGE_RECORDS if self._outgrows(cell) else OTHER_BATCHES
        if cell.batch_size == TODAY:
            return saving(estimate(_windows(cell.windows, self.today), share), SAME_BATCHES)
        if cell.windows.keys() == self.today.keys() and not (cell.wide and self._outgrows(cell)):
            return saving(estimate(_windows(cell.windows, self.today), share), model)
        # Larger batches change a codec's bytes by about the same factor everywhere, so a few windows are enough to
        # measure it. The codec's bytes depend on the content, which varies along the log, and come from more windows.
        new = cell.wide or cell.windows
        base = self._compared(cell, new.keys())
        here = estimate(_windows(base.windows, self.today), share)
        change = estimate(_windows(new, base.windows | base.wide), 0.0)
        return saving(here.times(change), model)

    def _outgrows(self, cell: Cell) -> bool:
        """Return whether records are larger than ``batch.size``: narrow windows have no room for such batches."""
        return cell.batch_size not in {TODAY, 1} and self.largest > cell.batch_size

    def _compared(self, cell: Cell, windows: AbstractSet[int]) -> Cell:
        """Return this codec's cell with the most similar batches, measured on the whole sample and these windows."""
        known = [
            each
            for (codec, _), each in self.cells.items()
            if codec == cell.codec and each.windows.keys() == self.today.keys() and not self._outgrows(each)
            if windows <= (each.windows.keys() | each.wide.keys())
        ]
        return min(known, key=lambda each: abs(math.log(each.batch_records / cell.batch_records)))

    def sizes(self) -> dict[str, float]:
        """Return sizes of today's batches in bytes and records: medians, means and the maximum."""
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
    def payload_size(self) -> float:
        """Bytes of keys, values and headers of the whole topic."""
        total = self.total
        own = self.size * total.size / (total.size + self.kept) if total.size else 0.0
        return own * total.payload / total.size if total.size else 0.0

    @property
    def plain_size(self) -> float:
        """Bytes of the records of the whole topic before compression."""
        total = self.total
        return self.payload_size * total.plain / max(total.payload, 1)


def _windows(new: Mapping[int, list[Run]], old: Mapping[int, list[Run]]) -> list[Window]:
    """Return the windows on which both were measured."""
    return [
        Window(
            sum(run.size for run in old[number]),
            sum(run.payload for run in old[number]),
            [(run.size, run.payload) for run in new[number]],
        )
        for number in sorted(new.keys() & old.keys())
    ]
