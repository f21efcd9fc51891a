"""The report: the figures of all topics, for JSON, the terminal and HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kafkacomp.advice.cost import KINDS, amounts, bill, broker_seconds, factor
from kafkacomp.advice.recommend import LEAVE, Options
from kafkacomp.advice.settings import TODAY, size_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkacomp.advice.cost import Amounts, Bill
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.recommend import Advice, Circumstances
    from kafkacomp.advice.settings import Settings
    from kafkacomp.advice.topic import Cell, TopicFigures
    from kafkacomp.bench.spec import Codec

#: Increases if readers of the JSON have to change.
FORMAT: Final = 1


@dataclass
class TopicReport:
    """One topic."""

    figures: TopicFigures
    about: Circumstances
    advice: Advice

    @cached_property
    def options(self) -> Options:
        """What decides between the cells."""
        return Options(self.figures, self.about)

    @property
    def cells(self) -> list[Cell]:
        """All that was measured: today's boundaries first, then by size."""
        return sorted(self.figures.cells.values(), key=lambda cell: cell.batch_size)

    @cached_property
    def today(self) -> Cell:
        """What is there."""
        return self.options.today

    @property
    def chosen(self) -> Cell:
        """What there is if the advice is followed."""
        return self.advice.option or self.today

    @property
    def saved(self) -> tuple[float, float]:
        """What the advice saves in a month, money where it is known, and of the bytes on disk."""
        before, after = (self.options.bill(cell).total for cell in (self.today, self.chosen))
        money = 0.0 if before is None or after is None else before - after
        return money, self.figures.size - self.bytes_with(self.chosen)

    def amounts(self, cell: Cell) -> Amounts:
        """Of a month, with producers that send a cell's batches."""
        return amounts(self.figures, cell, cell, self.about.traffic, self.about.rate)

    def bytes_with(self, cell: Cell) -> float:
        """The topic's bytes on one broker's disk with a cell's batches."""
        return self.figures.size * (1.0 if cell is self.today else factor(self.figures, cell))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        topic, advice, rate = self.figures, self.advice, self.about.rate
        total, level = topic.total, topic.level
        return {
            "topic": topic.name,
            "messageFormat": topic.format.name,
            "partitions": topic.partitions,
            "segments": topic.segments,
            "bytesOnDisk": topic.size,
            "isLog": topic.stored,
            "sample": {
                "windows": topic.windows,
                "share": topic.share,
                "bytesRead": topic.read,
                "bytes": total.size + topic.kept,
                "batches": total.batches,
                "records": total.records,
            },
            "rate": {
                "bytesPerSecond": rate.bytes_per_second,
                "source": rate.source,
                "why": rate.why,
                "firstTimestamp": rate.first,
                "lastTimestamp": rate.last,
                "seconds": rate.seconds,
            },
            "today": {
                "compressionType": str(topic.type),
                "level": None
                if level is None
                else {"level": level.level, "sameBytes": level.exact, "difference": level.difference},
                "types": {
                    name: {"batches": run.batches, "bytes": run.size, "plainBytes": run.plain, "records": run.records}
                    for name, run in topic.types.items()
                },
                "batch": topic.sizes(),
                "controlBytes": topic.kept,
                **self._cell(self.today),
            },
            "payload": {
                "bitsPerByte": topic.payload.bits_per_byte,
                "repeated": topic.payload.repeated,
                "compressedAs": topic.payload.packing,
                "textOf": topic.payload.text_of_random_bytes,
            },
            "options": [self._cell(cell) for cell in self.cells],
            "refused": topic.refused,
            "advice": {
                "verdict": advice.verdict,
                "headline": advice.headline,
                "reasons": advice.reasons,
                "option": None if advice.option is None else self._cell(advice.option),
                "ifSetOnTopicOnly": None if advice.option is None else self._by_broker(advice.option),
                "configuration": [each._asdict() for each in advice.lines],
            },
            "problems": topic.problems,
        }

    def _cell(self, cell: Cell) -> dict[str, Any]:
        topic, traffic = self.figures, self.about.traffic
        saving, spread = (0.0, None) if cell is self.today else topic.saving(cell)
        size = self.bytes_with(cell)
        compress, decompress = cell.milliseconds
        month = self.amounts(cell)
        return {
            "compressionType": str(cell.codec.type),
            "codecLevel": cell.codec.level,
            "batchSize": None if cell.batch_size == TODAY else cell.batch_size,
            "batches": cell.total.batches,
            "recordsPerBatch": cell.batch_records,
            "bytesPerBatch": cell.batch_bytes,
            "bytesPerRecord": cell.per_record,
            "sampleBytes": cell.total.size,
            "ratio": cell.ratio,
            "saving": saving,
            "savingLow": None if spread is None else spread.low,
            "savingHigh": None if spread is None else spread.high,
            "bytesOnDisk": size * traffic.replication_factor,
            "bytesOnWire": {
                "in": size,
                "replication": size * (traffic.replication_factor - 1),
                "out": size * traffic.consumers,
            },
            "compressSecondsPerGB": cell.compress_seconds,
            "decompressSecondsPerGB": cell.decompress_seconds,
            "brokerSecondsPerGB": {
                "inPlace": broker_seconds(cell, cell),
                "recompressedFromToday": self.today.decompress_seconds + cell.compress_seconds,
            },
            "compressMsPerBatch": compress,
            "decompressMsPerBatch": decompress,
            "fillMs": self.options.fill_ms(cell),
            "month": month.by_kind(),
            "money": _money(bill(month, self.about.prices)),
        }

    def _by_broker(self, cell: Cell) -> dict[str, Any] | None:
        """The month if producers stay as they are and the broker compresses; not where that changes the batches."""
        if cell.batch_size != TODAY:
            return None
        month = amounts(self.figures, self.today, cell, self.about.traffic, self.about.rate)
        return {"month": month.by_kind(), "money": _money(bill(month, self.about.prices))}


@dataclass
class Report:
    """All topics."""

    settings: Settings
    prices: Prices
    topics: Sequence[TopicReport]
    #: Messages about what could not be read.
    problems: list[str]
    #: Topics without batches.
    empty: list[str]
    #: Kafka's internal topics, which were left out.
    internal: list[str]
    environment: Mapping[str, object] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything could be read."""
        return not self.problems

    def refuse_nothing(self) -> None:
        """Raise ValueError if everything could be read and contains no batch."""
        if self.topics or self.problems:
            return
        if self.internal:
            raise ValueError(f"only internal topics, which are left out unless asked for: {', '.join(self.internal)}")
        raise ValueError(f"no batches: {', '.join(self.empty) or 'there is nothing'}")

    def totals(self) -> dict[str, Any]:
        """Return the sums of all topics: today, with the advice, and with one codec for all at today's batches."""
        before = sum(topic.figures.size for topic in self.topics)
        after = sum(topic.bytes_with(topic.chosen) for topic in self.topics)
        plain = sum(topic.figures.plain_size for topic in self.topics)
        return {
            "topics": len(self.topics),
            "toChange": sum(topic.advice.verdict != LEAVE for topic in self.topics),
            "plainBytes": plain,
            "today": self._sum([topic.today for topic in self.topics]),
            "advised": self._sum([topic.chosen for topic in self.topics]),
            "saving": 1 - after / before if before else 0.0,
            "withoutRate": [topic.figures.name for topic in self.topics if topic.about.rate.bytes_per_second is None],
            "byCodec": {str(codec): self._sum(cells) for codec, cells in self._uniform().items()},
        }

    def _uniform(self) -> dict[Codec, list[Cell]]:
        """Each codec with every topic's cell at today's boundaries; a topic that cannot have it stays as it is."""
        return {
            codec: [topic.figures.cells.get((codec, TODAY), topic.today) for topic in self.topics]
            for codec in self.settings.codecs
            if any((codec, TODAY) in topic.figures.cells for topic in self.topics)
        }

    def _sum(self, cells: Sequence[Cell]) -> dict[str, Any]:
        size = disk = sent = replicated = out = plain = compress = decompress = broker = 0.0
        months: dict[str, float | None] = dict.fromkeys(KINDS)
        money: dict[str, float | None] = dict.fromkeys(KINDS)
        for topic, cell in zip(self.topics, cells, strict=True):
            one, traffic = topic.bytes_with(cell), topic.about.traffic
            size += one
            disk += one * traffic.replication_factor
            sent += one
            replicated += one * (traffic.replication_factor - 1)
            out += one * traffic.consumers
            records = topic.figures.plain_size
            plain += records
            compress += cell.compress_seconds * records
            decompress += cell.decompress_seconds * records
            broker += broker_seconds(cell, cell) * records
            month = topic.amounts(cell)
            _add(months, month.by_kind())
            _add(money, bill(month, topic.about.prices).by_kind)
        return {
            "bytes": size,
            "ratio": plain / size if size else 0.0,
            "bytesOnDisk": disk,
            "bytesOnWire": {"in": sent, "replication": replicated, "out": out},
            "compressSecondsPerGB": compress / plain if plain else 0.0,
            "decompressSecondsPerGB": decompress / plain if plain else 0.0,
            "brokerSecondsPerGB": broker / plain if plain else 0.0,
            "month": months,
            "money": {**money, "total": _total(money)},
        }

    def to_html(self) -> str:
        """Format the report with charts as one HTML file, which makes no network requests.

        Raises:
            ModuleNotFoundError: the extra ``report`` is not installed.
        """
        from kafkacomp.advice.page import html  # noqa: PLC0415 - an extra

        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        settings, prices = self.settings, self.prices
        return {
            "format": FORMAT,
            **self.environment,
            "settings": {
                "codecs": [str(codec) for codec in settings.codecs],
                "batchSizes": [size_name(size) for size in settings.batch_sizes],
                "sampleBytes": settings.sample_bytes,
                "seed": settings.seed,
                "timeBudget": settings.time_budget,
            },
            "prices": {"currency": prices.currency, "date": prices.date, **prices.prices},
            "topics": [topic.to_dict() for topic in self.topics],
            "all": self.totals() if self.topics else None,
            "problems": self.problems,
            "withoutBatches": self.empty,
            "internalTopics": self.internal,
        }


def _money(found: Bill) -> dict[str, float | None]:
    return {**found.by_kind, "total": found.total}


def _add(sums: dict[str, float | None], more: Mapping[str, float | None]) -> None:
    """Add what is known; what is known of no topic stays None."""
    for kind, number in more.items():
        if number is not None:
            sums[kind] = (sums[kind] or 0.0) + number


def _total(money: Mapping[str, float | None]) -> float | None:
    known = [each for each in money.values() if each is not None]
    return sum(known) if known else None
