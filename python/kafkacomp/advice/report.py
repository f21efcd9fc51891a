"""The report: the figures of all topics, for JSON, the terminal and HTML."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._text import camel_case, json_fields
from kafkacomp.advice.cost import KINDS, Bill, amounts, bill, broker_seconds, factor, sum_of_known
from kafkacomp.advice.recommend import Options
from kafkacomp.advice.settings import TODAY, size_name
from kafkacomp.advice.wording import today_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.advice.cost import Circumstances, Month
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.recommend import Advice
    from kafkacomp.advice.settings import Settings
    from kafkacomp.advice.topic import Cell, TopicFigures

#: Increases if readers of the JSON have to change.
FORMAT: Final = 1


@dataclass
class TopicReport:
    """The measurement of a topic, and the recommendation for it.

    Attributes:
        figures: What was measured of the topic.
        about: The prices, traffic and rate that the recommendation depends on.
        advice: The recommendation, with its verdict and reasons.

    Example:
        >>> import kafkacomp as kc
        >>> topic = kc.advise(example).topics[0]
        >>> topic.figures.name, topic.advice.verdict
        ('orders', 'too little data')
    """

    figures: TopicFigures
    about: Circumstances
    advice: Advice

    @cached_property
    def options(self) -> Options:
        """The criteria for choosing between the measured codecs and batch sizes."""
        return Options(self.figures, self.about)

    @property
    def cells(self) -> list[Cell]:
        """The measured codecs and batch sizes: those at today's batch boundaries first, then by batch size."""
        return sorted(self.figures.cells.values(), key=lambda cell: cell.batch_size)

    @cached_property
    def today(self) -> Cell:
        """The batches as they are stored today."""
        return self.options.today

    @property
    def chosen(self) -> Cell:
        """The codec and batch size if the advice is followed; today's if it is to leave the topic as it is."""
        return self.advice.option or self.today

    @property
    def saved(self) -> tuple[float, float]:
        """The money that the advice saves in a month, 0 if it is unknown, and the bytes on disk that it saves."""
        before, after = (self.options.bill(cell).total for cell in (self.today, self.chosen))
        money = 0.0 if before is None or after is None else before - after
        return money, self.figures.size - self.bytes_with(self.chosen)

    def amounts(self, cell: Cell) -> Month:
        """Return the amounts of a month by kind of cost, if producers send the batches of a cell."""
        return amounts(self.figures, cell, cell, self.about.traffic, self.about.rate)

    def bytes_with(self, cell: Cell) -> float:
        """Return the bytes of the topic on the disk of one broker, with the batches of a cell."""
        return self.figures.size * (1.0 if cell is self.today else factor(self.figures, cell))

    def stored_and_sent(self, cell: Cell) -> dict[str, Any]:
        """Return the bytes of the topic on all disks and on the network, with the batches of a cell."""
        size, traffic = self.bytes_with(cell), self.about.traffic
        wire = {"in": size, "replication": size * (traffic.replication_factor - 1), "out": size * traffic.consumers}
        return {"bytesOnDisk": size * traffic.replication_factor, "bytesOnWire": wire}

    def to_dict(self) -> dict[str, Any]:
        """Return the report of the topic as values for JSON."""
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
                **json_fields(total, "batches", "records"),
            },
            "rate": camel_case(asdict(rate)),
            "today": {
                "description": today_of(topic),
                "compressionType": str(topic.type),
                "level": None if level is None else camel_case(level._asdict()),
                "types": {
                    name: {"batches": run.batches, "bytes": run.size, "plainBytes": run.plain, "records": run.records}
                    for name, run in topic.types.items()
                },
                "batch": topic.sizes(),
                "controlBytes": topic.kept,
                **self.cell_dict(self.today),
            },
            "payload": json_fields(topic.payload, "bits_per_byte", "repeated", "compressed_as", "text_of"),
            "options": [self.cell_dict(cell) for cell in self.cells],
            "refused": topic.refused,
            "advice": {
                **json_fields(advice, "verdict", "headline", "reasons"),
                "option": None if advice.option is None else self.cell_dict(advice.option),
                "ifSetOnTopicOnly": None if advice.option is None else self._by_broker(advice.option),
                "configuration": [each._asdict() for each in advice.lines],
            },
            "problems": topic.problems,
        }

    def cell_dict(self, cell: Cell) -> dict[str, Any]:
        """Return the figures of a cell as values for JSON."""
        saving, spread = (0.0, None) if cell is self.today else self.figures.saving(cell)
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
            **self.stored_and_sent(cell),
            "compressSecondsPerGB": cell.compress_seconds,
            "decompressSecondsPerGB": cell.decompress_seconds,
            "brokerSecondsPerGB": {
                "inPlace": broker_seconds(cell, cell),
                "recompressedFromToday": self.today.decompress_seconds + cell.compress_seconds,
            },
            "compressMsPerBatch": compress,
            "decompressMsPerBatch": decompress,
            "fillMs": self.options.fill_ms(cell),
            "month": month,
            "money": _money(bill(month, self.about.prices)),
        }

    def _by_broker(self, cell: Cell) -> dict[str, Any] | None:
        """The amounts of a month if brokers compress today's batches; ``None`` for a cell of another batch size."""
        if cell.batch_size != TODAY:
            return None
        month = amounts(self.figures, self.today, cell, self.about.traffic, self.about.rate)
        return {"month": month, "money": _money(bill(month, self.about.prices))}


@dataclass
class Report:
    """The result of :func:`kafkacomp.advise`: the reports of all topics.

    Attributes:
        settings: The settings of the run.
        prices: The prices, which are empty without a price file.
        topics: The report of each topic.
        problems: Messages about files that could not be read, and about wrong lines of the price file.
        empty: The names of topics without batches.
        internal: The names of Kafka's internal topics that were left out.
        environment: The machine and the versions with which the topics were measured; only in reports of the command.
    """

    settings: Settings
    prices: Prices
    topics: Sequence[TopicReport]
    problems: list[str]
    empty: list[str]
    internal: list[str]
    environment: Mapping[str, object] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything could be read."""
        return not self.problems

    def refuse_nothing(self) -> None:
        """Raise ``ValueError`` if everything could be read and no topic has a batch."""
        if self.topics or self.problems:
            return
        if self.internal:
            raise ValueError(f"only internal topics, which internal_topics=True includes: {', '.join(self.internal)}")
        raise ValueError(f"no batches: {', '.join(self.empty) or 'the paths contain no topic'}")

    def totals(self) -> dict[str, Any]:
        """Return the sums of all topics: today, with the advice, and with one codec for all at today's batches."""
        before = sum(topic.figures.size for topic in self.topics)
        after = sum(topic.bytes_with(topic.chosen) for topic in self.topics)
        plain = sum(topic.figures.plain_size for topic in self.topics)
        return {
            "topics": len(self.topics),
            "toChange": sum(topic.advice.option is not None for topic in self.topics),
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
        both = list(zip(self.topics, cells, strict=True))
        sizes = [topic.stored_and_sent(cell) for topic, cell in both]
        size = sum(topic.bytes_with(cell) for topic, cell in both)
        plain = sum(topic.figures.plain_size for topic in self.topics)
        months = [topic.amounts(cell) for topic, cell in both]
        bills = [bill(month, topic.about.prices).by_kind for month, topic in zip(months, self.topics, strict=True)]

        def seconds(of: Callable[[Cell], float]) -> float:
            return sum(of(cell) * topic.figures.plain_size for topic, cell in both) / plain if plain else 0.0

        return {
            "bytes": size,
            "ratio": plain / size if size else 0.0,
            "bytesOnDisk": sum(each["bytesOnDisk"] for each in sizes),
            "bytesOnWire": {
                name: sum(each["bytesOnWire"][name] for each in sizes) for name in ("in", "replication", "out")
            },
            "compressSecondsPerGB": seconds(lambda cell: cell.compress_seconds),
            "decompressSecondsPerGB": seconds(lambda cell: cell.decompress_seconds),
            "brokerSecondsPerGB": seconds(lambda cell: broker_seconds(cell, cell)),
            "month": {kind: sum_of_known(month[kind] for month in months) for kind in KINDS},
            "money": _money(Bill({kind: sum_of_known(each[kind] for each in bills) for kind in KINDS})),
        }

    def to_html(self) -> str:
        """Format the report with charts as one HTML file, which makes no network requests.

        Raises:
            ModuleNotFoundError: the extra ``report`` is not installed.
        """
        from kafkacomp.advice.page import html  # noqa: PLC0415 - an extra

        return html(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values for JSON, as ``kafkacomp advise --json`` prints it.

        Example:
            >>> import kafkacomp as kc
            >>> found = kc.advise(example).to_dict()
            >>> [(each["topic"], each["advice"]["verdict"]) for each in found["topics"]]
            [('orders', 'too little data')]
        """
        settings, prices = self.settings, self.prices
        return {
            "format": FORMAT,
            **self.environment,
            "settings": {
                "codecs": [str(codec) for codec in settings.codecs],
                "batchSizes": [size_name(size) for size in settings.batch_sizes],
                **json_fields(settings, "sample_bytes", "seed", "time_budget"),
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
