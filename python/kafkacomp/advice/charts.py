"""The charts of the report, as SVG with the text colour of the page, so that they are readable in light and dark mode.

Altair and vl-convert draw them without a browser and without network access.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._extras import alt, require
from kafkacomp.advice.settings import TODAY, size_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp._types import CompressionType
    from kafkacomp.advice.report import TopicReport

#: Narrow enough for a phone, where the text stays readable.
_WIDTH: Final = 290
_HEIGHT: Final = 230
#: Colours with sufficient contrast to both white and black.
_COLOURS: Final = {"none": "#858b95", "gzip": "#cf7a22", "snappy": "#2f9484", "lz4": "#4483d6", "zstd": "#b05bc8"}
_KINDS: Final = ("#4483d6", "#2f9484", "#6b982c", "#cf7a22", "#b05bc8", "#d0576b", "#858b95")
#: Axes and labels have the colour of the page's text.
_TEXT: Final = "currentColor"
_MEGABYTES: Final = 1000.0


def check() -> None:
    """Check before the run whether charts can be drawn.

    Raises:
        ModuleNotFoundError: the extra ``report`` is not installed.
    """
    for module in ("altair", "jinja2", "vl_convert"):
        require(module)


def ratio_and_speed(topic: TopicReport) -> str | None:
    """Draw ratio against compression speed with today's batches, and mark today's point; None without points."""
    points = [
        _point(cell.codec.type, cell.codec.level, cell.compress_seconds, cell.ratio)
        for cell in topic.cells
        if cell.batch_size == TODAY and cell.compress_seconds
    ]
    if not points:
        return None
    own = topic.today
    marks = []
    if own.compress_seconds:
        marks = [_point(own.codec.type, own.codec.level, own.compress_seconds, own.ratio) | {"text": "today"}]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X(
            "speed:Q",
            title="compression, MB/s of one core",
            scale=alt.Scale(type="log", nice=False, padding=30),
            axis=alt.Axis(labelOverlap=True),
        ),
        y=alt.Y("ratio:Q", title="ratio", scale=alt.Scale(zero=False, padding=18)),
        color=_codec_colour(),
    )
    layers = [
        base.mark_line(opacity=0.5).encode(detail="codec:N", order="level:Q"),
        base.mark_point(size=60, filled=True, opacity=1),
        base.mark_text(align="left", dx=7, dy=-5, fontSize=11).encode(text="text:N"),
    ]
    if marks:
        mark = alt.Chart(alt.InlineData(values=marks)).encode(x="speed:Q", y="ratio:Q")
        layers += [
            mark.mark_point(size=260, filled=False, stroke=_TEXT, strokeWidth=2, shape="circle"),
            mark.mark_text(dy=19, fontSize=11, fontWeight="bold", fill=_TEXT).encode(text="text:N"),
        ]
    return _svg(alt.layer(*layers), "Ratio against compression speed, today's batches")


def _point(kind: CompressionType, level: int | None, seconds: float, ratio: float) -> dict[str, Any]:
    return {
        "codec": str(kind),
        "level": level or 0,
        "text": str(kind) if level is None else f"{kind} {level}",
        "speed": _MEGABYTES / seconds,
        "ratio": ratio,
    }


def by_batch_size(topic: TopicReport) -> str | None:
    """Draw bytes per record against batch size, a line for each codec and one for today; None without other sizes."""
    cells = [cell for cell in topic.cells if cell.batch_size != TODAY]
    if not cells:
        return None
    order = [size_name(size) for size in sorted({cell.batch_size for cell in cells})]
    values = [
        {
            "codec": str(cell.codec.type),
            "label": str(cell.codec),
            "size": size_name(cell.batch_size),
            "bytes": cell.per_record,
        }
        for cell in cells
    ]
    lines = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=1.6)
        .encode(
            x=alt.X("size:O", title="batch.size", sort=order, axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("bytes:Q", title="bytes per record on disk", scale=alt.Scale(type="log", nice=False, padding=12)),
            color=_codec_colour(),
            detail="label:N",
        )
    )
    today = alt.Chart(alt.InlineData(values=[{"bytes": topic.today.per_record, "text": "today"}])).encode(y="bytes:Q")
    across = today.mark_rule(stroke=_TEXT, strokeDash=[5, 4])
    label = today.mark_text(align="right", dy=-6, fontSize=11, fontWeight="bold", fill=_TEXT)
    label = label.encode(text="text:N", x=alt.value(_WIDTH))
    return _svg(alt.layer(lines, across, label), "Bytes per record against batch size")


def stacked(bars: Mapping[str, Mapping[str, float | None]], unit: str, title: str) -> str | None:
    """Draw a stacked bar for each choice, by kind of cost; None without known costs."""
    kinds = list(dict.fromkeys(kind for parts in bars.values() for kind in parts))
    names = {kind: _words(kind) for kind in kinds}
    values = [
        {"choice": choice, "kind": names[kind], "amount": amount, "at": kinds.index(kind)}
        for choice, parts in bars.items()
        for kind, amount in parts.items()
        if amount
    ]
    if not values:
        return None
    number = "~s" if unit == "bytes" else ",.3~r"
    colours = alt.Scale(domain=list(names.values()), range=list(_KINDS[: len(kinds)]))
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            y=alt.Y("choice:N", title=None, sort=list(bars)),
            x=alt.X("amount:Q", title=unit, axis=alt.Axis(format=number, labelOverlap=True)),
            color=alt.Color("kind:N", title=None, scale=colours, sort=list(names.values())),
            order="at:Q",
        )
    )
    return _svg(chart, title, height=max(22 * len(bars), 60), legend_columns=2)


def _words(kind: str) -> str:
    """Format a kind of cost: ``networkIn`` is "network in"."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda matched: f" {matched[1].lower()}", kind).replace("cpu", "processor:")


def _codec_colour() -> alt.Color:
    scale = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    return alt.Color("codec:N", title=None, scale=scale)


def _svg(chart: Any, title: str, *, height: int = _HEIGHT, legend_columns: int = 5) -> str:  # noqa: ANN401 - as above
    import vl_convert  # noqa: PLC0415 - an extra

    muted = {"labelColor": _TEXT, "titleColor": _TEXT, "titleFontWeight": "normal"}
    lines = {"domainColor": _TEXT, "tickColor": _TEXT, "gridColor": _TEXT, "gridOpacity": 0.15, "domainOpacity": 0.5}
    made = chart.properties(width=_WIDTH, height=height, background="transparent").configure(
        axis={**muted, **lines, "tickOpacity": 0.5, "labelFontSize": 11, "titleFontSize": 11, "labelLimit": 140},
        legend={
            **muted,
            "orient": "bottom",
            "columns": legend_columns,
            "labelFontSize": 11,
            "columnPadding": 14,
            "rowPadding": 5,
            "offset": 12,
            "symbolStrokeWidth": 2,
            "symbolOpacity": 1,
        },
        view={"stroke": None},
        font="system-ui, sans-serif",
    )
    svg: str = vl_convert.vegalite_to_svg(made.to_dict())
    # A name for screen readers. The page determines the size; the view box keeps the proportions.
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{title}" ', svg, count=1)
