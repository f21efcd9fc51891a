"""Recommend what to do with a topic, with the reasons.

The options are the measured codecs, at today's batch boundaries and with larger batches. With prices for processors
and for bytes that are stored or sent, the option with the lowest monthly cost is the best. Without prices, bytes are
weighed against processor time: the fastest codec must save 5% of the bytes compared with none, and each doubling of
processor time must save a further 3% of the uncompressed bytes. A change is recommended if the best option saves 5% of
today's bytes, or of the cost, and the lower bound of the saving is above zero; or if it saves 30% of the processor time
without more bytes than today. A sample of few batches or few records gets no recommendation: the next batches may be
others.

Larger batches are recommended only if the topic's rate fills them within a ``linger.ms`` of one second. If it does not,
or if the rate is unknown, the report names their saving without counting it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkacomp._codecs.levels import Codec
from kafkacomp._text import duration_text
from kafkacomp._types import CompressionType
from kafkacomp.advice.configuration import DEFAULT_BATCH_SIZE, LONGEST_LINGER_MS, Lines, batching, lines_for
from kafkacomp.advice.cost import amounts, bill
from kafkacomp.advice.settings import TODAY, size_name
from kafkacomp.advice.wording import TOO_LITTLE, money_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkacomp.advice.cost import Bill, Circumstances
    from kafkacomp.advice.spread import Spread
    from kafkacomp.advice.topic import Cell, TopicFigures

LEAVE: Final = "leave it"
CHANGE: Final = "change"
RAISE: Final = "raise the batch size first"
#: The same if the default batch.size is sufficient, but batches are sent before they are full.
LINGER: Final = "raise linger.ms first"

#: The least saving of an option, as a share of today's bytes or cost.
_WORTH: Final = 0.05
#: The least saving of a doubling of processor time, as a share of the uncompressed bytes.
_A_DOUBLING: Final = 0.03
#: Processor seconds per GB below which differences in time are ignored.
_FREE: Final = 0.3
#: Larger batches are recommended first if they save this much more than today's batches, as a share of today's bytes,
#: and this many times as much.
_MORE_BY_SIZE: Final = 0.10
_HALF_AS_MUCH: Final = 1.5
#: The smallest batch size that gives this share of the largest saving is chosen.
_MOST_OF_IT: Final = 0.9
#: Values count as random from this entropy in bits per byte, if less than this share of their bytes is repetition.
_RANDOM_BITS: Final = 7.5
_NO_REPETITION: Final = 0.05
#: The share of today's processor time that a change must save if it saves fewer bytes than required, but adds none.
_LESS_TIME: Final = 0.3
#: Uncompressed batches count as about the same size if they add at most this share of today's bytes.
_SAME_BYTES: Final = 0.02


@dataclass
class Advice:
    """A recommendation for a topic, with its reasons.

    Attributes:
        verdict: ``change``, ``raise the batch size first``, ``raise linger.ms first``, ``leave it`` or
            ``too little data``.
        headline: The recommendation in one sentence.
        reasons: The reasons, one sentence each.
        option: The codec and batch size to change to; None without a recommendation to change something.
        saving: The share of today's bytes that the option saves, 0 to 1.
        spread: The uncertainty of the saving.
        lines: The configuration to set, for producers or for the topic.
    """

    verdict: str
    headline: str
    reasons: list[str] = field(default_factory=list)
    option: Cell | None = None
    saving: float = 0.0
    spread: Spread | None = None
    lines: list[Lines] = field(default_factory=list)


class Options:
    """The cells of a topic, with the criteria for choosing between them."""

    def __init__(self, topic: TopicFigures, about: Circumstances) -> None:
        self.topic, self.about = topic, about
        self.today = topic.today_cell()
        self.too_slow: list[Cell] = []
        self._bills: dict[int, Bill] = {}

    def saving(self, cell: Cell) -> float:
        """Return the share of today's bytes that a cell saves."""
        return 0.0 if cell is self.today else self.topic.saving(cell)[0]

    def seconds(self, cell: Cell) -> float:
        """Return the processor seconds of producer, leader and consumers together for 1 GB of records."""
        return cell.compress_seconds + (1 + self.about.traffic.consumers) * cell.decompress_seconds

    def bill(self, cell: Cell) -> Bill:
        """Return the cost of a month in which producers send these batches and brokers store them as they are."""
        if id(cell) not in self._bills:
            month = amounts(self.topic, cell, cell, self.about.traffic, self.about.rate)
            self._bills[id(cell)] = bill(month, self.about.prices)
        return self._bills[id(cell)]

    @property
    def by_money(self) -> bool:
        """Whether the cost decides: that of processors is known, and that of bytes of at least one kind."""
        known = self.bill(self.today)
        byte_kinds = ("storage", "networkIn", "networkReplication", "networkOut")
        return "cpuProducers" not in known.missing and any(kind not in known.missing for kind in byte_kinds)

    def fill_ms(self, cell: Cell) -> float | None:
        """Return the milliseconds in which a partition's records fill a batch of another size; None without a rate."""
        rate, total = self.about.rate.bytes_per_second, self.topic.total
        if cell.batch_size == TODAY or rate is None or not total.size:
            return None
        a_second = total.records / total.size * rate / max(self.topic.partitions, 1)
        return cell.batch_records / a_second * 1000

    def fills(self, cell: Cell) -> bool:
        """Return whether the rate fills a cell's batches within ``LONGEST_LINGER_MS``."""
        if cell.batch_size == TODAY:
            return True
        fill = self.fill_ms(cell)
        return fill is not None and fill <= LONGEST_LINGER_MS

    def latency(self, cell: Cell) -> float:
        """Return the milliseconds that a batch takes longer than an uncompressed one of today's size."""
        return sum(cell.milliseconds) + (self.fill_ms(cell) or 0.0)

    def at(self, size: int) -> list[Cell]:
        """Return the cells of one batch size that the latency limit allows."""
        found = []
        for (_, batch_size), cell in self.topic.cells.items():
            if batch_size != size or not cell.total.plain:
                continue
            limit = self.about.max_latency_ms
            if limit is not None and cell.codec.type is not CompressionType.NONE and self.latency(cell) > limit:
                self.too_slow.append(cell)
                continue
            found.append(cell)
        return found

    def best(self, cells: Iterable[Cell]) -> Cell | None:
        """Return the best cell, by cost or by weighing bytes against processor time; None without cells."""
        cells = list(cells)
        if not cells:
            return None
        if self.by_money:
            return min(cells, key=lambda cell: self.bill(cell).total or 0.0)
        return self._weighed(cells)

    def _weighed(self, cells: list[Cell]) -> Cell:
        ordered = sorted(cells, key=lambda cell: (self.seconds(cell), cell.per_payload))
        plain = max(cell.per_payload for cell in ordered)
        chosen = ordered[0]
        for cell in ordered[1:]:
            gain = (chosen.per_payload - cell.per_payload) / plain
            if chosen.codec.type is CompressionType.NONE:
                needed = _WORTH
            else:
                doublings = math.log2(max(self.seconds(cell), _FREE) / max(self.seconds(chosen), _FREE))
                needed = max(_A_DOUBLING * doublings, 0.005)
            if gain >= needed:
                chosen = cell
        return chosen


def advice_on(topic: TopicFigures, about: Circumstances) -> Advice:
    """Recommend what to do with a topic that has batches."""
    if topic.lacks is not None:
        return Advice(TOO_LITTLE, f"{TOO_LITTLE}: {topic.lacks}", [topic.lacks])
    options = Options(topic, about)
    now = options.best(options.at(TODAY))
    larger = _larger(options, filled=True)
    reason = _incompressible(topic, options, [cell for cell in (now, larger) if cell is not None])
    if reason is not None:
        return _leave(topic, options, reason)
    if larger is not None and _size_matters(options, now, larger):
        return _raise(topic, options, now, larger)
    if now is None or not _worth(options, now):
        return _leave(topic, options, _why_not(options, now))
    return _change(topic, options, now)


# ------------------------------------------------------------------------------------------------------- deciding
def _larger(options: Options, *, filled: bool) -> Cell | None:
    """Return the best codec at the smallest batch size that gives most of the saving of larger batches.

    With ``filled``, only batches that the topic's rate fills are considered.
    """
    total = options.topic.total
    records = total.records / max(total.batches, 1)
    bests = []
    for size in sorted({size for _, size in options.topic.cells if size != TODAY}):
        cells = [cell for cell in options.at(size) if cell.batch_records >= records * _HALF_AS_MUCH]
        best = options.best(cell for cell in cells if not filled or options.fills(cell))
        if best is not None:
            bests.append(best)
    # batch.size is never set below its default: if the rate fills the default size, smaller batches do not occur.
    full = [cell for cell in bests if cell.batch_size >= DEFAULT_BATCH_SIZE]
    bests = full or bests[-1:]
    if not bests:
        return None
    most = max(options.saving(cell) for cell in bests)
    return next(cell for cell in bests if options.saving(cell) >= most * _MOST_OF_IT or most <= 0)


def _size_matters(options: Options, now: Cell | None, larger: Cell) -> bool:
    here = max(options.saving(now), 0.0) if now is not None else 0.0
    there = options.saving(larger)
    if not _worth(options, larger):
        return False
    return there - here >= _MORE_BY_SIZE and there >= here * _HALF_AS_MUCH


def _worth(options: Options, cell: Cell) -> bool:
    """Return whether a change to a cell is worthwhile, considering the uncertainty of its saving."""
    topic = options.topic
    if cell.batch_size == TODAY and cell.codec == options.today.codec and len(topic.types) == 1:
        return False
    saving, spread = topic.saving(cell)
    certain = spread is None or spread.low > 0
    if options.by_money:
        before, after = options.bill(options.today).total or 0.0, options.bill(cell).total or 0.0
        return before > 0 and (before - after) / before >= _WORTH and (certain or saving < 0)
    if saving >= _WORTH:
        return certain
    today = options.seconds(options.today)
    less = today > _FREE and options.seconds(cell) <= today * (1 - _LESS_TIME)
    return saving >= 0 and less and cell.codec.type is not CompressionType.NONE


def _incompressible(topic: TopicFigures, options: Options, winners: list[Cell]) -> str | None:
    """Return why the values cannot be compressed; None if they can, or if a change lowers the cost nevertheless."""
    payload = topic.payload
    if topic.type is not CompressionType.NONE and payload.compressed_as is None:
        return None  # compressed already: the figures decide whether another codec is better
    bits = f"{payload.bits_per_byte:.1f} of 8 bits per byte"
    text = payload.text_of
    repeats = payload.repeated >= _NO_REPETITION
    if payload.compressed_as is not None:
        why = f"the values are compressed already ({payload.compressed_as}); their entropy is {bits}"
    elif payload.bits_per_byte >= _RANDOM_BITS and not repeats:
        why = f"the entropy of the values is too high: {bits}, and nothing in them repeats"
    elif text is not None and not repeats:
        why = (
            f"the values are random bytes encoded as {text} text: nothing in them repeats, and a codec could only "
            "reverse the encoding; send the bytes themselves, which saves more and costs nothing"
        )
    else:
        return None
    most = max((options.saving(cell) for cell in winners), default=0.0)
    here = max((options.saving(cell) for cell in winners if cell.batch_size == TODAY), default=0.0)
    if payload.compressed_as is not None and here > 2 * _MORE_BY_SIZE:
        return None  # many small values of one format begin with the same bytes
    if options.by_money and any(_worth(options, cell) for cell in winners):
        return None
    if most >= _WORTH:
        where = "headers and this encoding" if text is not None else "the bytes around the values"
        why += f". The possible saving of {most:.0%} comes from {where}"
    return why


def _why_not(options: Options, now: Cell | None) -> str:
    limit = options.about.max_latency_ms
    slow = [cell for cell in options.too_slow if options.saving(cell) >= _WORTH]
    if limit is not None and slow:
        quickest = min(slow, key=options.latency)
        return (
            f"the latency limit of {limit:g} ms is not met: {quickest.codec} ({size_name(quickest.batch_size)}), the "
            f"quickest that would save something ({options.saving(quickest):.0%}), adds "
            f"{options.latency(quickest):.2f} ms"
        )
    if now is None:
        return "no codec was measured that the topic supports"
    if options.by_money:
        return _too_dear(options)
    saving, spread = options.topic.saving(now)
    if saving >= _WORTH and spread is not None and spread.low <= 0:
        return f"{now.codec} may save {saving:.0%}, but the sample does not make this certain: {_between(spread)}"
    own = options.today.codec
    if own.type is not CompressionType.NONE:
        other = "" if now.codec == own else f": with {now.codec}, the bytes change by {-saving:+.1%}"
        return f"{own} is about as good as any other codec{other}"
    return f"no codec saves {_WORTH:.0%}: the best, {now.codec}, saves {max(saving, 0):.0%}"


def _too_dear(options: Options) -> str:
    """Compare the cost of the fewest bytes with today's."""
    smallest = min(options.at(TODAY), key=lambda cell: cell.per_payload)
    before, after = options.bill(options.today).total or 0.0, options.bill(smallest).total or 0.0
    return (
        f"no codec lowers the cost by {_WORTH:.0%}: {money_of(before)} {options.about.prices.currency} a month today, "
        f"{money_of(after)} with {smallest.codec}, which gives the fewest bytes"
    ).replace("  ", " ")


# -------------------------------------------------------------------------------------------------------- wording
def _between(spread: Spread) -> str:
    return f"{spread.low:.0%} to {spread.high:.0%}"


def _saves(cell: Cell, options: Options) -> str:
    saving, spread = options.topic.saving(cell)
    within = "" if spread is None else f" ({_between(spread)})"
    return f"{saving:.0%} of today's bytes{within}"


def _unfilled(options: Options, saving: float) -> list[str]:
    """Describe what full larger batches would save if the rate does not fill them, or is unknown."""
    larger = _larger(options, filled=False)
    if larger is None or options.fills(larger) or options.saving(larger) - max(saving, 0.0) < _WORTH:
        return []
    fill = options.fill_ms(larger)
    would = f"full batches of {size_name(larger.batch_size)} with {larger.codec} would save {_saves(larger, options)}, "
    if fill is None:
        rate = options.about.rate.why
        return [f"{would}but it is unknown whether they fill: {rate}; --assume-rate gives a rate"]
    return [
        f"{would}but at the topic's rate a batch takes {duration_text(fill / 1000)} to fill, so this is not counted"
    ]


def _leave(topic: TopicFigures, options: Options, reason: str) -> Advice:
    advice = Advice(LEAVE, f"leave it: {reason}")
    advice.reasons.append(reason)
    today = options.today
    bare = topic.cells.get((Codec(CompressionType.NONE), TODAY))
    if today.codec.type is not CompressionType.NONE and bare is not None and options.saving(bare) >= -_SAME_BYTES:
        advice.reasons.append(
            f"{today.codec} saves almost nothing here: without it, {options.seconds(today):.2f} s of a core per GB "
            "would be saved, and the bytes would stay about the same"
        )
    plain = [cell for cell in topic.cells.values() if cell.codec.type is CompressionType.NONE and options.fills(cell)]
    packed = min(plain, key=lambda cell: cell.per_payload, default=None)
    if packed is not None and today.codec.type is CompressionType.NONE and options.saving(packed) >= _WORTH:
        advice.reasons.append(
            f"batches of {topic.total.records / topic.total.batches:.1f} records are small: larger ones save "
            f"{options.saving(packed):.0%} without a codec, by having fewer headers; {_settings_of(packed, options)}"
        )
    elif "entropy" not in reason:
        advice.reasons += _unfilled(options, 0.0)
    return advice


def _settings_of(cell: Cell, options: Options) -> str:
    """Return the producer settings that give a cell's batches."""
    return " ".join(batching(cell.batch_size, options.fill_ms(cell)))


def _change(topic: TopicFigures, options: Options, cell: Cell) -> Advice:
    today = options.today.codec
    word = "compress with" if today.type is CompressionType.NONE else f"change {today} to"
    if cell.codec == today:
        word = "use one codec for all batches,"
    elif cell.codec.type is CompressionType.NONE:
        word = f"stop compressing ({today}):"
    saving, spread = topic.saving(cell)
    headline = f"{word} {cell.codec}: saves {_saves(cell, options)}"
    if saving < _WORTH and not options.by_money:
        headline += f", and {1 - options.seconds(cell) / options.seconds(options.today):.0%} of the processor time"
    advice = Advice(CHANGE, headline, [], cell, saving, spread, lines_for(cell, options.about, options.fill_ms(cell)))
    advice.reasons += _figures(options, cell)
    larger = _larger(options, filled=True)
    if larger is not None and options.saving(larger) - saving >= _WORTH:
        advice.reasons.append(
            f"larger batches save more: {larger.codec} with {_settings_of(larger, options)} saves "
            f"{_saves(larger, options)}"
        )
    else:
        advice.reasons += _unfilled(options, saving)
    return advice


def _raise(topic: TopicFigures, options: Options, now: Cell | None, larger: Cell) -> Advice:
    saving, spread = topic.saving(larger)
    total = topic.total
    at_most = "" if now is None else f"; with today's batches, {now.codec} saves {max(options.saving(now), 0):.0%}"
    verdict = RAISE if larger.batch_size > DEFAULT_BATCH_SIZE else LINGER
    headline = (
        f"{verdict}: {total.records / total.batches:.1f} records a batch today; with {_settings_of(larger, options)} "
        f"and {larger.codec} ({larger.batch_records:.0f} records a batch) it saves {_saves(larger, options)}{at_most}"
    )
    advice = Advice(verdict, headline, [], larger, saving, spread)
    fill = options.fill_ms(larger)
    advice.lines = lines_for(larger, options.about, fill)
    advice.reasons += _figures(options, larger)
    if fill is not None:
        filled = f"a batch of one partition takes {duration_text(fill / 1000)} to fill"
        advice.reasons.append(f"at the topic's rate, {filled}, if one producer sends all of it")
    return advice


def _figures(options: Options, cell: Cell) -> list[str]:
    today = options.today
    compress, decompress = cell.milliseconds
    size = f"{cell.per_record:,.0f} bytes a record instead of {today.per_record:,.0f}"
    seconds = (
        f"{cell.compress_seconds:.2f} s of a core per GB to compress, {cell.decompress_seconds:.2f} s to decompress"
    )
    reasons = [
        f"ratio {cell.ratio:.2f} instead of {today.ratio:.2f}; {size}",
        f"{seconds}; {compress:.3f} and {decompress:.3f} ms a batch",
    ]
    before, after = options.bill(today).total, options.bill(cell).total
    if before is not None and after is not None:
        currency = options.about.prices.currency
        reasons.append(f"{money_of(after)} {currency} a month instead of {money_of(before)}".replace("  ", " "))
        reasons.append(options.about.rate.why)
    elif options.about.prices.prices:
        reasons.append(f"the monthly cost is unknown: {options.about.rate.why}; --assume-rate gives a rate")
    if options.topic.saving(cell)[1] is None:
        reasons.append("the sample is too small to estimate its uncertainty")
    return reasons
