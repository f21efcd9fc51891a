"""A run: find topics, choose windows, measure each of them (in threads or by Spark), sum the figures, recommend."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkacomp import broker
from kafkacomp._arguments import checked_threads
from kafkacomp._codecs.levels import Codec
from kafkacomp._storage.partition import SegmentSource
from kafkacomp._threads import map_on_threads
from kafkacomp._types import CompressionType
from kafkacomp.advice.budget import shares
from kafkacomp.advice.cost import Circumstances, rate_in
from kafkacomp.advice.formats import FORMATS, MODERN, allowed
from kafkacomp.advice.measure import Task, measure
from kafkacomp.advice.prices import load
from kafkacomp.advice.rate import FileTimes
from kafkacomp.advice.recommend import advice_on
from kafkacomp.advice.report import Report, TopicReport
from kafkacomp.advice.sampling import LOG, find_topics, windows_of
from kafkacomp.advice.segments import newest_format
from kafkacomp.advice.settings import Settings
from kafkacomp.advice.topic import TopicFigures
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp.advice.measure import Figures
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.sampling import Given, Source, Topic
    from kafkacomp.tiered.source import SourceOptions

#: The most partitions of a topic whose newest batch is read.
_PARTITIONS_ASKED: Final = 32
#: The number of windows of a topic on which levels are tried.
_LEVEL_WINDOWS: Final = 2
_OLD: Final = "0.7"
_OLD_LOG: Final = "a log of Kafka 0.7, which is not measured: convert it with kafkacomp convert"


@dataclass
class Plan:
    """The measurements that a run needs."""

    settings: Settings
    tasks: list[Task] = field(default_factory=list)
    topics: dict[str, TopicFigures] = field(default_factory=dict)
    #: Descriptions of what cannot be read.
    problems: list[str] = field(default_factory=list)
    #: Topics without batches, and Kafka's internal topics that are left out.
    empty: list[str] = field(default_factory=list)
    internal: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of the sample."""
        return sum(task.window.end - task.window.start for task in self.tasks)


def prepare(
    source: Given | Iterable[Given],
    settings: Settings | None,
    prices: str | os.PathLike[str] | Prices | None,
    compression_type: str,
    opening: SourceOptions,
) -> tuple[Plan, Prices]:
    """Check the arguments of :func:`kafkacomp.advise`, and choose what to measure."""
    broker.target_compression_type(compression_type, "none")
    settings = Settings() if settings is None else settings
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be a Settings, not {type(settings).__name__}")
    unchecked: object = source
    if not isinstance(unchecked, str | bytes | os.PathLike | SegmentSource | Iterable):
        expected = "a path, bytes, a LogDir, LogPartition or LogSegment, or a collection of these"
        raise TypeError(f"source must be {expected}, not {type(source).__name__}")
    given = [source] if isinstance(source, str | bytes | os.PathLike | SegmentSource) else source
    opening.refuse_for_model(source)
    wrong: list[str] = []
    paid = load(prices, wrong.append)
    made = plan(given, settings, opening)
    made.problems += wrong
    return made, paid


def plan(paths: Iterable[Given], settings: Settings, opening: SourceOptions | None = None) -> Plan:
    """Find the topics and choose the windows of their samples, without decompressing anything."""
    made = Plan(settings)
    found = find_topics(paths, lambda name, error: made.problems.append(_named(name, error)), opening)
    left_out = [topic for topic in found if topic.internal and not (topic.named or settings.internal_topics)]
    made.internal = [topic.name for topic in left_out]
    found = [topic for topic in found if topic not in left_out]
    for topic in found:
        windows = windows_of(topic, settings)
        if not windows:
            made.empty.append(topic.name)
            continue
        try:
            form = _format(topic)
            if form == _OLD:
                raise ValueError(_OLD_LOG)  # noqa: TRY301 - the same way out
        except (KafkaCompError, OSError, ValueError) as error:
            made.problems.append(_named(topic.name, error))
            continue
        figures = TopicFigures(
            topic.name,
            FORMATS[form],
            topic.size,
            topic.partitions,
            len(topic.sources),
            len([window for window in windows if window.basis]),
            sum(window.end - window.start for window in windows if window.basis) / topic.size,
            sum(window.end - window.start for window in windows),
        )
        figures.files = _file_times(topic)
        for codec in settings.codecs:
            why = figures.format.refusal(codec.type)
            if why is not None:
                figures.refused[str(codec)] = why
        made.topics[topic.name] = figures
        codecs = list(dict.fromkeys((*allowed(figures.format, settings.codecs), Codec(CompressionType.NONE))))
        sized = shares([window.batch_sizes for window in windows], codecs, settings.time_budget / len(found))
        for number, window in enumerate(windows):
            made.tasks.append(Task(topic.name, form, window, settings, sized.get(number, 0), number < _LEVEL_WINDOWS))
    return made


def _file_times(topic: Topic) -> FileTimes:
    times = FileTimes()
    for source in topic.sources:
        if source.modified is not None and source.size:
            times.add(source.partition, source.modified, source.size)
    return times


def _named(name: str, error: Exception) -> str:
    text = str(getattr(error, "strerror", None) or error)
    return text if name in text else f"{name}: {text}"


def _format(topic: Topic) -> str:
    """Return the latest format among the newest batches of some partitions: that of the topic's next batches."""
    newest: dict[int | None, Source] = {}
    for source in topic.sources:
        if source.kind != LOG:
            return MODERN
        if source.size:
            newest[source.partition] = source
    order = [_OLD, *FORMATS]
    stride = -(-len(newest) // _PARTITIONS_ASKED)
    found = [form for source in list(newest.values())[::stride] if (form := newest_format(source)) is not None]
    return max(found, key=order.index, default=MODERN)


def in_threads(
    made: Plan, threads: int | None, progress: Callable[[int, int], object] | None
) -> Iterator[tuple[int, Figures]]:
    """Measure all tasks; yield the number and result of each in order. ``progress`` gets the bytes done, and all."""
    done = 0
    for number, figures in enumerate(map_on_threads(measure, made.tasks, checked_threads(threads))):
        done += made.tasks[number].window.end - made.tasks[number].window.start
        if progress is not None:
            progress(done, made.size)
        yield number, figures


def finish(
    made: Plan,
    measured: Iterable[tuple[int, Figures]],
    prices: Prices,
    *,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
) -> Report:
    """Sum the figures and recommend for every topic; topics are sorted by the saving, the largest first.

    Raises:
        ValueError: ``compression_type`` is not a value of the topic's setting, ``assume_rate`` is not a positive
            number, or nothing that was read contains a batch.
    """
    if assume_rate is not None and not 0 < assume_rate < math.inf:
        raise ValueError(f"assume_rate must be above 0 bytes/s, not {assume_rate}")
    for number, figures in measured:
        made.topics[figures.topic].add(number, figures)
    problems = list(made.problems)
    known = []
    for topic in made.topics.values():
        problems += topic.problems
        if not topic.today:
            if not topic.problems:
                made.empty.append(topic.name)
            continue
        if not topic.stored:
            topic.size = round(topic.total.size / topic.share)
        known.append(topic)
    whole = sum(topic.size for topic in known)
    reports = []
    for topic in known:
        traffic = prices.traffic_of(topic.name, topic.size / whole if whole else 0.0)
        about = Circumstances(prices, traffic, rate_in(topic, traffic, assume_rate), max_latency_ms, compression_type)
        reports.append(TopicReport(topic, about, advice_on(topic, about)))
    reports.sort(key=lambda topic: topic.saved, reverse=True)
    report = Report(made.settings, prices, reports, problems, made.empty, made.internal)
    report.refuse_nothing()
    return report
