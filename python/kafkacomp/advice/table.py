"""The report as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from kafkacomp._tables import plain_table
from kafkacomp._text import count_text, printable, size_text
from kafkacomp._types import CompressionType
from kafkacomp.advice.settings import size_name
from kafkacomp.advice.wording import money_of, today_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from kafkacomp.advice.report import Report, TopicReport
    from kafkacomp.advice.topic import Cell

#: The most topics that a line names.
_MOST_NAMES = 5


def render(report: Report, *, full: bool = True) -> RenderableType:
    """Render the report: with ``full`` the figures of each topic, otherwise only the overview and the advice.

    Figures of a topic with too little data would look like advice: only the reason is shown.
    """
    parts: list[RenderableType] = []
    judged = [topic for topic in report.topics if topic.figures.lacks is None]
    if full:
        for topic in judged:
            parts += [_topic(topic), Text("")]
    if judged:
        parts.append(_overview(report))
    for topic in report.topics:
        parts += list(_advice(topic))
    return Group(*parts)


def _topic(topic: TopicReport) -> Table:
    figures, total = topic.figures, topic.figures.total
    share = f"{figures.windows} windows with {figures.share:.1%} of the bytes"
    sizes = figures.sizes()
    partitions = count_text(figures.partitions, "partition")
    title = (
        f"{printable(figures.name)}: {size_text(figures.size)} in {partitions}, message format "
        f"{figures.format.name}; today {today_of(figures)}, {sizes['recordsMean']:.1f} records and "
        f"{size_text(sizes['storedBytesMean'])} per batch; sample {total.records:,} records, {share}\n"
        f"{topic.about.rate.why}"
    )
    money = topic.options.bill(topic.today).total is not None
    numbers = (
        "records\na batch",
        "ratio",
        "bytes\na record",
        "saves",
        "90% within",
        *(("a month",) if money else ()),
        "compress\ns/GB",
        "decompress\ns/GB",
        "broker s/GB\nas is, rebuilt",
        "ms a batch\nboth ways",
    )
    table = plain_table(title, ("batches", "codec"), numbers, title_style="bold")
    seen: int | None = None
    for cell in [topic.today, *topic.cells]:
        batches = "stored" if cell is topic.today else size_name(cell.batch_size)
        key = -1 if cell is topic.today else cell.batch_size
        chosen = cell is topic.advice.option
        table.add_row(
            "" if key == seen else batches,
            *_cells(topic, cell, money=money),
            style="bold green" if chosen else "bold" if cell is topic.today else None,
        )
        seen = key
    return table


def _cells(topic: TopicReport, cell: Cell, *, money: bool) -> Iterator[str]:
    own = cell is topic.today
    saving, spread = (0.0, None) if own else topic.figures.saving(cell)
    plain = cell.codec.type is CompressionType.NONE
    yield str(cell.codec)
    yield f"{cell.batch_records:,.1f}"
    yield f"{cell.ratio:.2f}"
    yield f"{cell.per_record:,.1f}"
    yield "" if own else f"{saving:.1%}"
    yield "" if spread is None else f"{spread.low:.1%} to {spread.high:.1%}"
    if money:
        total = topic.options.bill(cell).total
        yield "" if total is None else money_of(total)
    yield "" if plain else f"{cell.compress_seconds:.2f}"
    yield "" if plain else f"{cell.decompress_seconds:.2f}"
    rebuilt = topic.today.decompress_seconds + cell.compress_seconds
    yield "" if own else f"{cell.decompress_seconds:.2f}, {rebuilt:.2f}"
    yield "" if plain else f"{sum(cell.milliseconds):.3f}"


def _overview(report: Report) -> Table:
    totals = report.totals()
    currency = report.prices.currency
    title = f"All: {size_text(totals['today']['bytes'])} today, {size_text(totals['advised']['bytes'])} with the advice"
    names = ("ratio", "on disk,\nreplicas too", "in", "replication", "out", "compress\ns/GB", "decompress\ns/GB")
    money = totals["today"]["money"]["total"] is not None
    numbers = (*names, "brokers\ns/GB", *((f"a month\n{currency}",) if money else ()))
    table = plain_table(title, ("",), numbers, title_style="bold")
    rows = {"today": totals["today"], "with the advice": totals["advised"]}
    rows |= {f"{name}, today's batches": each for name, each in totals["byCodec"].items()}
    for name, each in rows.items():
        wire = each["bytesOnWire"]
        table.add_row(
            name,
            f"{each['ratio']:.2f}",
            size_text(each["bytesOnDisk"]),
            *(size_text(wire[key]) for key in ("in", "replication", "out")),
            f"{each['compressSecondsPerGB']:.2f}",
            f"{each['decompressSecondsPerGB']:.2f}",
            f"{each['brokerSecondsPerGB']:.2f}",
            *(("" if each["money"]["total"] is None else money_of(each["money"]["total"]),) if money else ()),
        )
    missing = totals["withoutRate"]
    if missing and report.prices.prices:
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        table.caption = (
            f"Cost unknown, because the rate is unknown: {', '.join(missing[:_MOST_NAMES])}{more}; "
            "--assume-rate gives a rate"
        )
        table.caption_justify = "left"
    return table


def _advice(topic: TopicReport) -> Iterator[Text]:
    advice = topic.advice
    yield Text("")
    yield Text.assemble((f"{printable(topic.figures.name)}: ", "bold"), advice.headline)
    for reason in advice.reasons:
        if reason not in advice.headline:
            yield Text(f"  - {reason}")
    for refused, why in topic.figures.refused.items():
        yield Text(f"  - {refused} left out: {why}")
    for place in advice.lines:
        yield Text.assemble(("  " + place.place + ": ", "bold"), "  ".join(place.lines))
        yield Text(f"      {place.implies}", style="dim")
