"""The report as one HTML file: a template over :meth:`Report.to_dict`.

The page makes no network requests, which its Content-Security-Policy forbids. Sizes are decimal (1 GB is 10^9
bytes), as prices and speeds are; values of ``batch.size`` are powers of two, as producers have them.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from kafkacomp.advice import charts
from kafkacomp.advice.cost import KINDS
from kafkacomp.advice.settings import TODAY, size_name
from kafkacomp.advice.wording import TOO_LITTLE, decimal_size, money_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The most topics with charts, the largest first; the table has all topics.
MOST_PICTURES: Final = 40


def html(report: Mapping[str, Any]) -> str:
    """Render the dict of a report as one HTML page.

    Raises:
        ModuleNotFoundError: the extra ``report`` is not installed.
    """
    charts.check()
    import jinja2  # noqa: PLC0415 - an extra

    template = resources.files("kafkacomp.advice").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "size": decimal_size,
        "money": money_of,
        "name": _name,
        "codec": charts.codec_name,
        "svg": _markup,
    }
    totals, currency = report["all"], report["prices"]["currency"]
    largest = sorted(report["topics"], key=lambda topic: topic["bytesOnDisk"], reverse=True)
    with_charts = {topic["topic"] for topic in largest[:MOST_PICTURES]}
    return environment.from_string(template).render(
        report=report,
        totals=totals,
        is_priced=totals is not None and totals["today"]["money"]["total"] is not None,
        charts=[] if totals is None else list(_sums(_choices(totals), currency)),
        topics=[_topic(topic, currency, has_charts=topic["topic"] in with_charts) for topic in report["topics"]],
        without_charts=len(report["topics"]) - len(with_charts),
    )


def _markup(svg: str) -> Any:  # noqa: ANN401 - jinja2 is an extra
    import markupsafe  # noqa: PLC0415 - comes with jinja2

    return markupsafe.Markup(svg)  # noqa: S704 - a chart of this package, with escaped text


def _name(cell: Mapping[str, Any] | None) -> str:
    """The codec of a cell, with its batch size if that is not today's."""
    if cell is None:
        return ""
    size = "" if cell["batchSize"] is None else f", {size_name(cell['batchSize'])}"
    return charts.codec_name(cell) + size


def _choices(totals: Mapping[str, Any]) -> dict[str, Any]:
    return {"today": totals["today"], "advised": totals["advised"], **totals["byCodec"]}


def _topic(topic: Mapping[str, Any], currency: str, *, has_charts: bool) -> dict[str, Any]:
    """What the template shows of a topic in addition to its dict."""
    today, advice = topic["today"], topic["advice"]
    chosen = advice["option"]
    # Figures of a topic with too little data would look like advice.
    is_judged = advice["verdict"] != TOO_LITTLE
    choices = {"today": today}
    if chosen is not None:
        choices["advised"] = chosen
    choices |= {charts.codec_name(each): each for each in topic["options"] if each["batchSize"] is None}
    pictures = [charts.ratio_and_speed(topic), charts.by_batch_size(topic), *_sums(choices, currency)]
    return {
        "about": topic,
        "after": today if chosen is None else chosen,
        "reasons": [reason for reason in advice["reasons"] if reason not in advice["headline"]],
        "rows": [today, *topic["options"]] if is_judged else [],
        "batches": lambda cell: "stored" if cell is today else size_name(cell["batchSize"] or TODAY),
        "is_chosen": lambda cell: chosen is not None and _name(cell) == _name(chosen) and cell is not today,
        "charts": [each for each in pictures if each is not None] if has_charts and is_judged else [],
    }


def _sums(choices: Mapping[str, Any], currency: str) -> Iterator[charts.Chart]:
    """The charts of each choice's cost; without prices, of its bytes on disk, and of the bytes that are sent."""
    if choices["today"]["money"]["total"] is not None:
        parts = {name: {kind: each["money"][kind] for kind in KINDS} for name, each in choices.items()}
        yield from charts.stacked(parts, f"{currency} a month".strip(), "Monthly cost by kind")
        return
    disk = {name: {"bytes on disk": each["bytesOnDisk"]} for name, each in choices.items()}
    yield from charts.stacked(disk, "bytes on all disks", "Bytes on disk, all replicas")
    yield from charts.stacked({name: each["bytesOnWire"] for name, each in choices.items()}, "bytes sent", "Bytes sent")
