"""Measure one window: compress its records with each codec, at today's batch boundaries and at other batch sizes.

Batches of another size are those that a producer would build with that ``batch.size`` under load. Like Kafka's
``MemoryRecordsBuilder``, it appends records while the *estimated* compressed size leaves room, and the estimate follows
the ratios of earlier batches (``CompressionRatioEstimator``): the better a topic compresses, the more records a batch
contains.

Processor time is that of the measuring thread only, so that other threads of the process do not count.
"""

from __future__ import annotations

import bisect
import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import kafkacomp
from kafkacomp import record
from kafkacomp._codecs.levels import DEFAULT_LEVELS, Codec
from kafkacomp._types import CompressionType
from kafkacomp.advice import entropy
from kafkacomp.advice.compressing import compress, java_size
from kafkacomp.advice.content import read
from kafkacomp.advice.entropy import Payload
from kafkacomp.advice.formats import FORMATS, allowed
from kafkacomp.advice.levels import Trials, try_levels
from kafkacomp.advice.rate import Stamps
from kafkacomp.advice.sampling import LOG
from kafkacomp.advice.settings import TODAY
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from kafkacomp.advice.content import Batch, Content
    from kafkacomp.advice.formats import Format
    from kafkacomp.advice.sampling import Window
    from kafkacomp.advice.settings import Settings

#: The number of runs into which a window's batches are divided, so that their spread can be estimated.
_RUNS: Final = 4
#: The most batches that ``next_run`` builds, compresses and decompresses before it returns.
_AT_ONCE: Final = 64
#: A batch of one record takes as much time as this many bytes of a large batch. The fewest and the most such batches to
#: measure in a window.
_COST_OF_SINGLE: Final = 4096
_LEAST_SINGLES: Final = 100
_MOST_SINGLES: Final = 600
#: Rows offered to the builder of a batch of one record; it would examine more rows without using them.
_OFFERED: Final = 64
#: The most batch sizes to keep of a window, for their distribution.
_MOST_SIZES: Final = 500
#: The number of batches that determine the estimated ratio of a producer that has run for a while, and the most bytes
#: of each.
_TRIALS: Final = 8
_MOST_OF_A_TRIAL: Final = 1 << 16
#: A batch that the window's end truncates counts if there are fewer complete ones than this: it then contains a large
#: part of the window.
_FEW: Final = 4
_LARGEST_BATCH: Final = 1 << 30
#: Every record fits if ``batch.size`` is above this multiple of the largest record, plus this overhead in bytes.
_ROOMY: Final = 2
_OVERHEADS: Final = 1024
#: The steps of the estimate in Kafka's producer (``CompressionRatioEstimator``): one worse ratio raises it by at least
#: the larger step, a better ratio lowers it by at most the smaller one.
_IMPROVING_STEP: Final = 0.005
_DETERIORATE_STEP: Final = 0.05


class Run(NamedTuple):
    """Consecutive batches, or a sum of such runs."""

    #: Bytes of keys, values and headers.
    payload: int = 0
    #: Bytes of the records before compression, in the message format.
    plain: int = 0
    #: Bytes of the batches on disk.
    size: int = 0
    records: int = 0
    batches: int = 0
    #: Processor time in nanoseconds.
    compress_ns: int = 0
    decompress_ns: int = 0

    def __add__(self, other: object) -> Run:
        """Add field by field."""
        if not isinstance(other, Run):
            return NotImplemented
        return Run(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Task:
    """A window, and what to measure on it; can be pickled."""

    topic: str
    format: str
    window: Window
    settings: Settings
    #: Bytes before compression to try at each other batch size, at least one batch; 0 for none.
    sized_bytes: int
    #: Whether to determine today's level.
    levels: bool


@dataclass
class Figures:
    """The measurements of one window; can be pickled."""

    topic: str
    #: The stored batches, with the processor time of their own codec at its default level.
    today: list[Run] = field(default_factory=list)
    #: The same by compression type.
    types: dict[str, Run] = field(default_factory=dict)
    #: Stored bytes, bytes before compression and records of some batches.
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    #: Runs by codec and batch size.
    cells: dict[tuple[Codec, int], list[Run]] = field(default_factory=dict)
    payload: Payload = field(default_factory=Payload)
    levels: dict[CompressionType, Trials] = field(default_factory=dict)
    #: Bytes on disk that compression does not change.
    kept: int = 0
    #: Bytes of the key, value and headers of the largest record.
    largest: int = 0
    stamps: Stamps | None = None
    #: Whether the window was read completely.
    whole: bool = True
    #: Whether the window is one of those that represent the topic's content.
    basis: bool = True
    #: Whether the records are in a log, not in a file of records.
    stored: bool = True
    problems: list[str] = field(default_factory=list)


def measure(task: Task) -> Figures:
    """Measure a window. Its ``problems`` describe what is corrupt or cannot be read or measured.

    No error ends the run: the other topics are reported.
    """
    figures = _figures(task)
    try:
        _measure(task, figures)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is about this window
        is_known = isinstance(error, KafkaCompError | OSError | ValueError)
        text = str(error) if is_known else f"{type(error).__name__}: {error}"
        name = task.window.source.name
        # Without the figures of a part: a topic's cells must all come from the same windows.
        figures, problems = _figures(task), figures.problems
        figures.problems = [*problems, text if name in text else f"{name}: {text}"]
    return figures


def _figures(task: Task) -> Figures:
    return Figures(task.topic, stored=task.window.source.kind == LOG, basis=task.window.basis)


def _measure(task: Task, figures: Figures) -> None:
    form, settings = FORMATS[task.format], task.settings
    content = read(task.window, form, settings.max_output_size, figures.problems.append)
    figures.kept, figures.whole = content.kept, content.whole
    if content.stamps:
        source = task.window.source
        size = content.kept + sum(each.stored or 0 for each in content.batches)
        figures.stamps = Stamps(source.partition, size, content.stamps)
    if content.rows is None or not content.batches:
        return
    if figures.basis:
        figures.payload = entropy.look(content.rows)
    if task.levels:
        figures.levels = try_levels(content.batches)
    before = content.payload()
    figures.largest = max(after - at for at, after in itertools.pairwise(before))
    _at_todays_bounds(content, form, settings, figures, before)
    if task.sized_bytes:
        _at_other_sizes(content.rows, form, task, figures, before)


# ----------------------------------------------------------------------------------------------- today's boundaries
def _at_todays_bounds(content: Content, form: Format, settings: Settings, figures: Figures, before: list[int]) -> None:
    batches = content.batches
    step = -(-len(batches) // _RUNS)
    runs = [batches[at : at + step] for at in range(0, len(batches), step)]
    own = {Codec(each.kind, DEFAULT_LEVELS.get(each.kind)) for each in batches}
    codecs = dict.fromkeys((*allowed(form, settings.codecs), *sorted(own), Codec(CompressionType.NONE)))
    spent: dict[tuple[Codec, int], Run] = {}
    for codec in codecs:
        at, cells = 0, []
        for number, run in enumerate(runs):
            records = sum(each.records for each in run)
            sums = _compressed(run, codec, form)
            sums = sums._replace(payload=before[at + records] - before[at], records=records)
            spent[codec, number] = sums
            cells.append(sums)
            at += records
        figures.cells[codec, TODAY] = cells
    for number, run in enumerate(runs):
        total = Run()
        for each in run:
            codec = Codec(each.kind, DEFAULT_LEVELS.get(each.kind))
            cell = spent[codec, number]
            share = len(each.section) / cell.plain if cell.plain else 0.0
            size = _size(each, form)
            took = (int(cell.compress_ns * share), int(cell.decompress_ns * share))
            one = Run(0, len(each.section), size, each.records, 1, *took)
            total += one
            figures.types[str(each.kind)] = figures.types.get(str(each.kind), Run()) + one
        cell = spent[codec, number]
        figures.today.append(total._replace(payload=cell.payload))
    stride = -(-len(batches) // _MOST_SIZES)
    figures.batches = [(_size(each, form), len(each.section), each.records) for each in batches[::stride]]


def _size(batch: Batch, form: Format) -> int:
    """Return the bytes on disk; for records that are not in a log, the size of an uncompressed batch."""
    return len(batch.section) + form.plain_overhead if batch.stored is None else batch.stored


def _compressed(run: Sequence[Batch], codec: Codec, form: Format) -> Run:
    plain = sum(len(each.section) for each in run)
    if codec.type is CompressionType.NONE:
        return Run(0, plain, sum(form.size(codec, len(each.section)) for each in run), 0, len(run))
    magic = form.magic
    start = time.thread_time_ns()
    packed = [compress(each.section, codec, magic) for each in run]
    spent = time.thread_time_ns() - start
    size = sum(form.size(codec, java_size(each, codec)) for each in packed)
    return Run(0, plain, size, 0, len(run), spent, _decompress(packed, codec, magic))


# ------------------------------------------------------------------------------------------------------ other sizes
def _at_other_sizes(rows: pa.RecordBatch, form: Format, task: Task, figures: Figures, before: list[int]) -> None:
    codecs = dict.fromkeys((*allowed(form, task.settings.codecs), Codec(CompressionType.NONE)))
    for codec in codecs:
        for size in task.window.batch_sizes:
            batches = _Batches(rows, codec, size, form, figures.largest)
            runs = list(_sized(batches, size, task.sized_bytes, before))
            if runs:
                figures.cells[codec, size] = runs


def _sized(batches: _Batches, size: int, most: int, before: list[int]) -> Iterator[Run]:
    """Measure runs of batches of one size, one run in each of ``_RUNS`` equal parts of the window.

    Together they contain about ``most`` bytes of keys, values and headers, and each at least one batch. A batch that
    the window's end truncates counts only if there are few batches.
    """
    records, total = len(before) - 1, before[-1]
    if size == 1:
        singles = min(max(most // _COST_OF_SINGLE, _LEAST_SINGLES), _MOST_SINGLES)
        most = min(most, total * singles // records)
    at = done = 0
    for part in range(_RUNS):
        begin = bisect.bisect_left(before, total * part // _RUNS)
        if at < begin < records:
            # A batch begins where the previous one was full, often at a large record: one batch shows such a place.
            at = begin if size == 1 else begin + batches.next_run(begin, begin + 1, last_counts=False).records
        end = max(total * (part + 1) // _RUNS, before[at] + 1)
        stop = min(bisect.bisect_left(before, min(before[at] + -(-most // _RUNS), end)), records)
        start, run = at, Run()
        while at < stop:
            some = batches.next_run(at, stop, last_counts=done < _FEW)
            if not some.batches:
                break
            run += some
            at += some.records
            done += some.batches
        if run.batches:
            yield run._replace(payload=before[at] - before[start])


class _Batches:
    """Builds batches as Kafka's producer does under load (``RecordAccumulator``, ``MemoryRecordsBuilder``)."""

    def __init__(self, rows: pa.RecordBatch, codec: Codec, size: int, form: Format, largest: int) -> None:
        self._rows, self._codec, self._size, self._form = rows, codec, size, form
        # Whether every record fits, including the overhead of its headers.
        self._fits = size > _ROOMY * largest + _OVERHEADS
        self._estimate = 1.0
        if codec.type is not CompressionType.NONE:
            self._estimate = self._learned()

    def _learned(self) -> float:
        """Return the producer's estimate after it has sent batches like the window's for a while."""
        codec, form = self._codec, self._form
        plain = packed = 0
        for trial in range(_TRIALS):
            at = self._rows.num_rows * trial // _TRIALS
            builder, offered = self._builder(at, _MOST_OF_A_TRIAL)
            section = form.section(self._rows.slice(at, builder.append_arrow(offered)))
            plain += len(section)
            packed += java_size(compress(section, codec, form.magic), codec)
            self._estimate = packed / plain
        return self._estimate + _DETERIORATE_STEP / 2

    def _builder(self, at: int, most: int = _LARGEST_BATCH) -> tuple[record.RecordBatchBuilder, pa.RecordBatch]:
        """Return a builder for the batch that begins at a row, and the rows to offer to it."""
        form, codec = self._form, self._codec
        limit = max(min(self._size, most), 0 if self._fits else self._upper_bound(at))
        builder = record.RecordBatchBuilder(form.magic, codec.type, codec.level, write_limit=limit)
        builder.set_estimated_compression_ratio(self._estimate)
        return builder, self._rows.slice(at, _OFFERED if self._size == 1 else None)

    def _upper_bound(self, at: int) -> int:
        """Return Kafka's bound on the size of a batch of one row, for which any ``batch.size`` leaves room."""
        # Without the timestamp: Python has no datetime for some of those that Kafka allows.
        columns = [name for name in self._rows.schema.names if name != "timestamp"]
        row = self._rows.slice(at, 1).select(columns).to_pylist()[0]
        headers = [(each["key"], each["value"]) for each in row.get("headers") or ()]
        value, key = (each.encode() if isinstance(each, str) else each for each in (row["value"], row.get("key")))
        return record.estimate_batch_size_upper_bound(
            value, key=key, headers=headers, magic=self._form.magic, compression_type=self._codec.type
        )

    def next_run(self, at: int, stop: int, *, last_counts: bool) -> Run:
        """Measure some batches that begin at row ``at`` and before ``stop``; none if only a truncated one is left."""
        codec, form = self._codec, self._form
        plain = codec.type is CompressionType.NONE
        total = Run()
        packed: list[bytes] = []
        while at < stop and total.batches < _AT_ONCE:
            builder, offered = self._builder(at)
            count = builder.append_arrow(offered)
            ended = at + count >= self._rows.num_rows and not builder.is_full
            if ended and self._size != 1 and not (last_counts and total.batches < _FEW):
                break  # the window's end ended the batch, not its size
            section = form.section(self._rows.slice(at, count))
            at += count
            start = time.thread_time_ns()
            packed.append(section if plain else compress(section, codec, form.magic))
            spent = 0 if plain else time.thread_time_ns() - start
            made = java_size(packed[-1], codec)
            total += Run(0, len(section), form.size(codec, made), count, 1, spent)
            if not plain:
                self._learn(made / len(section))
        return total if plain else total._replace(decompress_ns=_decompress(packed, codec, form.magic))

    def _learn(self, ratio: float) -> None:
        if ratio > self._estimate:
            self._estimate = max(self._estimate + _DETERIORATE_STEP, ratio)
        else:
            self._estimate = max(self._estimate - _IMPROVING_STEP, ratio)


def _decompress(packed: Iterable[bytes], codec: Codec, magic: int) -> int:
    """Return the processor time to decompress these batches, in nanoseconds."""
    start = time.thread_time_ns()
    for each in packed:
        kafkacomp.decompress(each, codec.type, magic=magic)
    return time.thread_time_ns() - start
