"""The chart: ratio against speed, one point for each codec, level and library, drawn by Altair without network access.

PNG and SVG are for documents; HTML has a tooltip on each point and contains all its scripts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._extras import alt
from kafkacomp.bench.stages import COMPRESS, DECOMPRESS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kafkacomp.bench.runner import Result

SUFFIXES: Final = (".png", ".svg", ".html")
_WIDTH: Final = 420
_HEIGHT: Final = 320
_SCALE: Final = 2


def check() -> None:
    """Check before the run whether the chart can be drawn.

    Raises:
        ModuleNotFoundError: altair is not installed.
    """
    for package in ("altair", "vl_convert"):  # altair writes files with the other one
        try:
            import_module(package)
        except ModuleNotFoundError:
            raise ModuleNotFoundError(f"{package} is missing: pip install 'kafkacomp[bench]'") from None


def draw(results: Sequence[Result], path: Path, heading: Sequence[str]) -> None:
    """Write the chart in the format of the suffix.

    Args:
        results: The results of a run, of which compression and decompression are drawn.
        path: The target; its suffix is one of ``SUFFIXES``.
        heading: The environment, written below the chart.
    """
    points = [_point(each) for each in results if each.stage in {COMPRESS, DECOMPRESS}]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("speed:Q", title="MB/s", scale=alt.Scale(type="log")),
        y=alt.Y("ratio:Q", title="ratio", scale=alt.Scale(zero=False)),
        color=alt.Color("codec:N", title="codec"),
        tooltip=["label:N", "by:N", "where:N", "stage:N", "ratio:Q", "speed:Q", "us_per_batch:Q"],
    )
    several = len({point["by"] for point in points}) > 1
    dots = base.mark_point(size=70, filled=True)
    if several:
        dots = dots.encode(shape=alt.Shape("by:N", title="by"))
    labels = base.mark_text(align="left", dx=7, fontSize=10).encode(text="text:N")
    lines = base.mark_line(opacity=0.4).encode(detail=["by:N", "where:N"], order="level:Q")
    where = list(dict.fromkeys(point["where"] for point in points))
    chart = (
        alt.layer(lines, dots, labels)
        .properties(width=_WIDTH, height=_HEIGHT)
        .facet(column=alt.Column("stage:N", title=None), row=alt.Row("where:N", title=None, sort=where))
        .resolve_scale(x="independent")
        .properties(title=alt.TitleParams("Ratio and speed", subtitle=list(heading), subtitleFontSize=9))
    )
    if path.suffix == ".html":
        chart.save(str(path), inline=True)
    else:
        chart.save(str(path), scale_factor=_SCALE)


def _point(result: Result) -> dict[str, Any]:
    workload = result.workload
    size = f"{workload.batch_bytes:,} B" if isinstance(workload.batch_bytes, int) else workload.batch_bytes
    many = f", {result.threads} threads" if result.threads > 1 else ""
    return {
        "codec": str(result.codec.type),
        "level": 0 if result.codec.level is None else result.codec.level,
        "label": str(result.codec),
        # The colour shows the codec.
        "text": str(result.codec.type if result.codec.level is None else result.codec.level),
        "by": result.peer,
        "where": f"{workload.name}, {size}{many}",
        "stage": result.stage,
        "ratio": round(result.ratio, 4),
        "speed": round(result.megabytes_per_second, 2),
        "us_per_batch": round(result.microseconds_per_batch, 2),
    }
