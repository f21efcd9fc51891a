"""The report as one HTML file without network requests, which its Content-Security-Policy forbids."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._text import size_text
from kafkacomp.advice import charts
from kafkacomp.advice.cost import KINDS
from kafkacomp.advice.recommend import money_of
from kafkacomp.advice.settings import TODAY, size_name
from kafkacomp.advice.table import today_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp.advice.report import Report, TopicReport
    from kafkacomp.advice.topic import Cell

#: The most topics with charts, the largest first; the table has all topics.
MOST_PICTURES: Final = 40


def html(report: Report) -> str:
    """Render the report as one HTML page.

    Raises:
        ModuleNotFoundError: the extra ``report`` is not installed.
    """
    charts.check()
    import jinja2  # noqa: PLC0415 - an extra

    template = resources.files("kafkacomp.advice").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["size"] = size_text
    environment.filters["money"] = money_of
    environment.filters["svg"] = _markup
    largest = sorted(report.topics, key=lambda topic: topic.figures.size, reverse=True)
    shown = {topic.figures.name for topic in largest[:MOST_PICTURES]}
    totals = report.totals() if report.topics else None
    return environment.from_string(template).render(
        report=report,
        totals=totals,
        currency=report.prices.currency,
        cost=None if totals is None else _of_all(totals, report.prices.currency),
        topics=[_topic(topic, pictures=topic.figures.name in shown) for topic in report.topics],
        left_out=len(report.topics) - len(shown),
        machine=report.environment,
    )


def _markup(svg: str) -> Any:  # noqa: ANN401 - jinja2 is an extra
    import markupsafe  # noqa: PLC0415 - comes with jinja2

    return markupsafe.Markup(svg)  # noqa: S704 - a chart of this package, with escaped text


def _of_all(totals: Mapping[str, Any], currency: str) -> str | None:
    bars = {"today": totals["today"], "advised": totals["advised"], **totals["byCodec"]}
    if totals["today"]["money"]["total"] is not None:
        parts = {name: {kind: each["money"][kind] for kind in KINDS} for name, each in bars.items()}
        return charts.stacked(parts, f"{currency} a month", "Monthly cost by kind, all topics")
    return charts.stacked({name: _bytes(each) for name, each in bars.items()}, "bytes", "Bytes by kind, all topics")


def _bytes(each: Mapping[str, Any]) -> dict[str, float]:
    wire = each["bytesOnWire"]
    return {
        "disk": each["bytesOnDisk"],
        "networkIn": wire["in"],
        "networkReplication": wire["replication"],
        "networkOut": wire["out"],
    }


def _topic(topic: TopicReport, *, pictures: bool) -> dict[str, Any]:
    figures, advice = topic.figures, topic.advice
    # Figures of a topic with too little data would look like advice.
    is_judged = figures.lacks is None
    cells = [topic.today, *topic.cells] if is_judged else []
    before, after = topic.options.bill(topic.today).total, topic.options.bill(topic.chosen).total
    return {
        "figures": figures,
        "advice": advice,
        "after": topic.bytes_with(topic.chosen),
        "today": today_of(topic),
        "sizes": figures.sizes(),
        "ratio": topic.today.ratio,
        "reasons": [reason for reason in advice.reasons if reason not in advice.headline],
        "option": "" if advice.option is None else _name(advice.option),
        "money": (before, after),
        "rate": topic.about.rate.why,
        "rows": [_row(topic, cell) for cell in cells],
        "pictures": [each for each in _pictures(topic) if each] if pictures and is_judged else [],
    }


def _name(cell: Cell) -> str:
    return str(cell.codec) if cell.batch_size == TODAY else f"{cell.codec}, {size_name(cell.batch_size)}"


def _row(topic: TopicReport, cell: Cell) -> dict[str, Any]:
    own = cell is topic.today
    saving, spread = (0.0, None) if own else topic.figures.saving(cell)
    return {
        "cell": cell,
        "batches": "stored" if own else size_name(cell.batch_size),
        "saving": saving,
        "spread": spread,
        "month": topic.options.bill(cell).total,
        "own": own,
        "chosen": cell is topic.advice.option,
    }


def _pictures(topic: TopicReport) -> list[str | None]:
    bars: dict[str, Any] = {"today": topic.today}
    if topic.advice.option is not None:
        bars["advised"] = topic.advice.option
    bars |= {str(cell.codec): cell for cell in topic.cells if cell.batch_size == TODAY}
    currency = topic.about.prices.currency
    if topic.options.bill(topic.today).total is not None:
        parts = {name: topic.options.bill(cell).by_kind for name, cell in bars.items()}
        cost = charts.stacked(parts, f"{currency} a month", "Monthly cost by kind")
    else:
        amounts = {name: _bytes(topic.stored_and_sent(cell)) for name, cell in bars.items()}
        cost = charts.stacked(amounts, "bytes", "Bytes by kind")
    return [charts.ratio_and_speed(topic), charts.by_batch_size(topic), cost]
