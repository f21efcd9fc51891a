"""The charts of the HTML report, as SVG with the text colour of the page: readable in light and dark mode.

Altair and vl-convert draw them without a browser and without network access. Legends are part of the page, whose text
wraps; labels of points are placed here, so that no two overlap.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkacomp._extras import alt, require
from kafkacomp.advice.settings import size_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: Narrow enough for a phone, where the text stays readable.
_WIDTH: Final = 290
_HEIGHT: Final = 230
#: Colours with sufficient contrast to both white and black.
_COLOURS: Final = {"none": "#858b95", "gzip": "#cf7a22", "snappy": "#2f9484", "lz4": "#4483d6", "zstd": "#b05bc8"}
_KINDS: Final = ("#4483d6", "#2f9484", "#6b982c", "#cf7a22", "#b05bc8", "#d0576b", "#858b95")
#: Axes and labels have the colour of the page's text.
_TEXT: Final = "currentColor"
_MEGABYTES: Final = 1000.0
#: The size of a label in pixels: the width of a character, and the height.
_CHARACTER, _LINE = 6.2, 12.0
#: Free space around the points of a chart, as a share of the axis.
_MARGIN: Final = 0.12
_RATIO_TITLE: Final = "Ratio against compression speed, today's batches; circle: today"


class Chart(NamedTuple):
    """A chart with its title and its legend: names and colours."""

    svg: str
    title: str
    legend: dict[str, str]


def check() -> None:
    """Check before the run whether charts can be drawn.

    Raises:
        ModuleNotFoundError: the extra ``report`` is not installed.
    """
    for module in ("altair", "jinja2", "vl_convert"):
        require(module)


def codec_name(cell: Mapping[str, Any]) -> str:
    """The codec of a cell with its level, as ``--codecs`` has it."""
    level = cell["codecLevel"]
    return str(cell["compressionType"]) if level is None else f"{cell['compressionType']}:{level}"


def ratio_and_speed(topic: Mapping[str, Any]) -> Chart | None:
    """Draw ratio against compression speed with today's batches, and mark today's point; None without points."""
    cells = [each for each in topic["options"] if each["batchSize"] is None and each["compressSecondsPerGB"]]
    if not cells:
        return None
    points = [_point(each) for each in cells]
    marks = [_point(topic["today"])] if topic["today"]["compressSecondsPerGB"] else []
    spans = [_span([point[axis] for point in points + marks], log=axis == "speed") for axis in ("speed", "ratio")]
    labels = _placed(points, spans)
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X(
            "speed:Q",
            title="compression, MB/s of one core",
            scale=alt.Scale(type="log", domain=spans[0], nice=False),
            axis=alt.Axis(labelOverlap=True, labelSeparation=6),
        ),
        y=alt.Y("ratio:Q", title="ratio", scale=alt.Scale(domain=spans[1], nice=False, zero=False)),
        color=_codec_colour(),
    )
    layers = [
        base.mark_line(opacity=0.5).encode(detail="codec:N", order="level:Q"),
        base.mark_point(size=60, filled=True, opacity=1),
    ]
    if marks:
        mark = alt.Chart(alt.InlineData(values=marks)).encode(x="speed:Q", y="ratio:Q")
        layers.append(mark.mark_point(size=260, filled=False, stroke=_TEXT, strokeWidth=2, shape="circle"))
    words = alt.Chart(alt.InlineData(values=labels)).mark_text(align="left", baseline="middle", fontSize=11, fill=_TEXT)
    layers.append(words.encode(text="text:N", x="speed:Q", y="ratio:Q"))
    used = {name: colour for name, colour in _COLOURS.items() if name in {point["codec"] for point in points}}
    return _chart(alt.layer(*layers), _RATIO_TITLE, used)


def _point(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "codec": cell["compressionType"],
        "level": cell["codecLevel"] or 0,
        "text": codec_name(cell),
        "speed": _MEGABYTES / cell["compressSecondsPerGB"],
        "ratio": cell["ratio"],
    }


def _span(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    """The domain of an axis, with free space at both ends."""
    least, most = (math.log(end) if log else end for end in (min(values), max(values)))
    free = max((most - least) * _MARGIN, 0.1 if log else 0.02 * abs(most))
    return (math.exp(least - free), math.exp(most + free)) if log else (least - free, most + free)


def _placed(points: Sequence[Mapping[str, Any]], spans: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """Place the labels of points to the right, left, above or below; one that has no free place is dropped.

    The ends of each codec's levels come first.
    """
    (left, right), (low, high) = spans

    def place(point: Mapping[str, Any]) -> tuple[float, float]:
        x = math.log(point["speed"] / left) / math.log(right / left) * _WIDTH
        return x, (1 - (point["ratio"] - low) / (high - low)) * _HEIGHT

    taken = [(x - 5, y - 5, 10.0, 10.0) for x, y in map(place, points)]
    groups = [[each for each in points if each["codec"] == codec] for codec in _COLOURS]
    ends = [each for group in groups for each in (group[:1] + group[-1:])]
    found: dict[str, dict[str, Any]] = {}
    for point in [*ends, *points]:
        text = point["text"]
        if text in found:
            continue
        (x, y), width = place(point), len(text) * _CHARACTER
        for at_x, at_y in ((x + 6, y), (x - 6 - width, y), (x - width / 2, y - 13), (x - width / 2, y + 13)):
            box = (at_x, at_y - _LINE / 2, width, _LINE)
            is_inside = box[0] >= 0 and box[0] + width <= _WIDTH and box[1] >= 0 and box[1] + _LINE <= _HEIGHT
            if is_inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                speed, ratio = left * (right / left) ** (at_x / _WIDTH), high - (high - low) * at_y / _HEIGHT
                found[text] = {"text": text, "speed": speed, "ratio": ratio}
                break
    return list(found.values())


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    (x, y, width, height), (other_x, other_y, other_width, other_height) = one, other
    return x < other_x + other_width and other_x < x + width and y < other_y + other_height and other_y < y + height


def by_batch_size(topic: Mapping[str, Any]) -> Chart | None:
    """Draw bytes per record against batch size, a line for each codec and one for today; None without other sizes."""
    cells = [each for each in topic["options"] if each["batchSize"] is not None]
    if not cells:
        return None
    order = [size_name(size) for size in sorted({each["batchSize"] for each in cells})]
    values = [
        {
            "codec": each["compressionType"],
            "label": codec_name(each),
            "size": size_name(each["batchSize"]),
            "bytes": each["bytesPerRecord"],
        }
        for each in cells
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
    today = alt.Chart(alt.InlineData(values=[{"bytes": topic["today"]["bytesPerRecord"]}])).encode(y="bytes:Q")
    across = today.mark_rule(stroke=_TEXT, strokeDash=[5, 4])
    used = {name: colour for name, colour in _COLOURS.items() if name in {each["codec"] for each in values}}
    title = "Bytes per record against batch size; dashed: today"
    return _chart(alt.layer(lines, across), title, used)


def stacked(bars: Mapping[str, Mapping[str, float | None]], unit: str, title: str) -> Iterator[Chart]:
    """Draw a stacked bar for each choice, by kind of cost; nothing without known costs."""
    kinds = list(dict.fromkeys(kind for parts in bars.values() for kind in parts))
    values = [
        {"choice": choice, "kind": _words(kind), "amount": amount, "at": kinds.index(kind)}
        for choice, parts in bars.items()
        for kind, amount in parts.items()
        if amount
    ]
    if not values:
        return
    number = "~s" if unit.startswith("bytes") else ",.3~r"
    colours = dict(zip(map(_words, kinds), _KINDS, strict=False))
    used = {name: colour for name, colour in colours.items() if any(each["kind"] == name for each in values)}
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            y=alt.Y("choice:N", title=None, sort=list(bars)),
            x=alt.X("amount:Q", title=unit, axis=alt.Axis(format=number, labelOverlap=True, labelSeparation=6)),
            color=alt.Color("kind:N", legend=None, scale=alt.Scale(domain=list(used), range=list(used.values()))),
            order="at:Q",
        )
    )
    yield _chart(chart, title, used, height=max(22 * len(bars), 60))


def _words(kind: str) -> str:
    """Format a kind of cost: ``networkIn`` is "network in"."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda matched: f" {matched[1].lower()}", kind).replace("cpu", "processor:")


def _codec_colour() -> alt.Color:
    return alt.Color("codec:N", legend=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())))


def _chart(chart: Any, title: str, legend: dict[str, str], *, height: int = _HEIGHT) -> Chart:  # noqa: ANN401 - altair's
    import vl_convert  # noqa: PLC0415 - an extra

    muted = {"labelColor": _TEXT, "titleColor": _TEXT, "titleFontWeight": "normal"}
    lines = {"domainColor": _TEXT, "tickColor": _TEXT, "gridColor": _TEXT, "gridOpacity": 0.15, "domainOpacity": 0.5}
    made = chart.properties(width=_WIDTH, height=height, background="transparent").configure(
        axis={**muted, **lines, "tickOpacity": 0.5, "labelFontSize": 11, "titleFontSize": 11, "labelLimit": 140},
        view={"stroke": None},
        font="system-ui, sans-serif",
    )
    svg: str = vl_convert.vegalite_to_svg(made.to_dict())
    # A name for screen readers. The page determines the size; the view box keeps the proportions.
    return Chart(re.sub(r"<svg ", f'<svg role="img" aria-label="{title}" ', svg, count=1), title, legend)
