"""Draw the pictures of README.md and docs/ as SVG, each for light and for dark pages.

`scan`: records per second from benches/results/compare-java.json. `frame`: the header of an LZ4 frame that kafkacomp
wrote, with the bytes that each of its two header checksums covers (KIP-57).

Run: python tools/docs_site/pictures.py
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import NamedTuple

import kafkacomp as kc

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
RESULTS = ROOT / "benches" / "results" / "compare-java.json"
CODECS = ("none", "lz4", "snappy", "zstd", "gzip")
BATCH = "16k"
WIDTH = 512
FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\""
MONO = "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\""


class Colours(NamedTuple):
    """What a scheme draws with."""

    page: str | None  #: drawn behind the picture; the light one is also what PyPI shows, on a page of any colour
    text: str
    faint: str
    line: str
    ours: str
    theirs: str
    fill: str


SCHEMES = {
    "light": Colours("#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#3949ab", "#9aa4b2", "#eef1f6"),
    "dark": Colours(None, "#f0f6fc", "#9198a1", "#3d444d", "#8c9eff", "#6e7681", "#2a2f38"),
}


def _text(x: float, y: float, text: str, colour: str, *, size: int = 13, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" {extra}>{escape(text)}</text>'


def _picture(width: int, height: int, title: str, colours: Colours, parts: list[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {FONT}>'
    page = [f'<rect width="{width}" height="{height}" fill="{colours.page}"/>'] if colours.page else []
    heading = _text(0, 20, title, colours.text, size=15, extra='font-weight="600"')
    return "\n".join([head, f"<title>{escape(title)}</title>", *page, heading, *parts, "</svg>", ""])


def scan(colours: Colours) -> str:
    """Bars: what one thread reads, next to Kafka's Java consumer code."""
    report = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = {each["codec"]: each for each in report["results"] if each["mode"] == "memory" and each["batch"] == BATCH}
    ratios = {codec: rows[codec]["ratios"]["poll"] for codec in CODECS}
    speeds = {
        codec: [rows[codec]["records"] / rows[codec]["seconds"][by] / 1e6 for by in ("ours_1", "java_poll")]
        for codec in CODECS
    }
    left, top, step, width = 64, 74, 44, WIDTH
    scale = (width - left - 150) / max(max(pair) for pair in speeds.values())
    title = "Million records per second, one thread, batches of 16 KiB"
    parts = [
        f'<rect x="0" y="35" width="12" height="12" rx="2" fill="{colours.ours}"/>',
        _text(18, 46, "kafkacomp, into Arrow", colours.text),
        f'<rect x="180" y="35" width="12" height="12" rx="2" fill="{colours.theirs}"/>',
        _text(198, 46, f"Kafka's Java client {report['machine']['kafka-clients']}, as poll() delivers", colours.text),
    ]
    for number, (codec, pair) in enumerate(speeds.items()):
        y = top + number * step
        parts.append(_text(left - 12, y + 20, codec, colours.text, extra='text-anchor="end"'))
        for bar, (speed, colour) in enumerate(zip(pair, (colours.ours, colours.theirs), strict=True)):
            at = y + bar * 16
            parts.append(f'<rect x="{left}" y="{at}" width="{speed * scale:.1f}" height="14" rx="2" fill="{colour}"/>')
            label = f"{speed:.1f}" + (f"  ({ratios[codec]:.1f} times as fast)" if bar == 0 else "")
            parts.append(
                _text(left + speed * scale + 6, at + 11.5, label, colours.text if bar == 0 else colours.faint, size=12)
            )
    bottom = top + len(speeds) * step + 12
    machine = report["machine"]
    measured = f"Measured {machine['date']} on {machine['cpu']},"
    parts.append(_text(0, bottom, measured, colours.faint, size=12))
    command = f"median of {report['rounds']} rounds: benches/compare_java.py"
    parts.append(_text(0, bottom + 17, command, colours.faint, size=12))
    return _picture(width, bottom + 29, title, colours, parts)


def frame(colours: Colours) -> str:
    """The bytes of an LZ4 frame, and what the two header checksums cover."""
    data = b"kafka " * 40
    written = {rule: kc.lz4.compress(data, header_checksum=rule) for rule in ("broken", "standard")}
    broken, right = written["broken"], written["standard"]
    if broken[:6] + broken[7:] != right[:6] + right[7:]:
        raise ValueError("only the header checksums may differ")
    size = int.from_bytes(right[7:11], "little")
    fields = [
        ("magic", right[:4].hex(" "), 104),
        ("FLG", f"{right[4]:02x}", 40),
        ("BD", f"{right[5]:02x}", 40),
        ("HC", "?", 44),
        ("block size", right[7:11].hex(" "), 104),
        ("block", f"{size} bytes", 76),
        ("end mark", right[-4:].hex(" "), 104),
    ]
    title = "The two header checksums of an LZ4 frame (KIP-57)"
    parts = []
    x, places = 0, {}
    for name, content, width in fields:
        ours = name == "HC"
        fill, stroke = (colours.ours, colours.ours) if ours else (colours.fill, colours.line)
        parts.append(
            f'<rect x="{x + 0.5}" y="58.5" width="{width - 6}" height="34" rx="3" fill="{fill}" stroke="{stroke}"/>'
        )
        shown = "#ffffff" if ours and colours is SCHEMES["light"] else "#000000" if ours else colours.text
        middle = f'text-anchor="middle" {MONO}'
        parts.append(_text(x + (width - 6) / 2, 80, content, shown, size=12, extra=middle))
        parts.append(_text(x + (width - 6) / 2, 50, name, colours.faint, size=12, extra='text-anchor="middle"'))
        places[name] = (x, x + width - 6)
        x += width
    rules = [
        ("magic", broken[6], "magic, FLG and BD: message format 0 (0.8.2, 0.9)"),
        ("FLG", right[6], "FLG and BD, as LZ4 specifies: formats 1 and 2"),
    ]
    end = places["BD"][1]
    for number, (first, checksum, text) in enumerate(rules):
        start, y = places[first][0], 116 + 34 * number
        parts.append(
            f'<path d="M{start + 1} {y - 8}v8H{end}v-8" fill="none" stroke="{colours.ours}" stroke-width="2"/>'
        )
        parts.append(_text(places["HC"][0] + 2, y + 1, f"HC = {checksum:02x}", colours.text, extra=MONO))
        parts.append(_text(places["HC"][0] + 2, y + 16, text, colours.faint, size=12))
    return _picture(WIDTH, 176, title, colours, parts)


def pictures() -> dict[str, str]:
    """File name -> SVG."""
    drawn = {"scan": scan, "frame": frame}
    return {
        f"{name}-{scheme}.svg": draw(colours) for name, draw in drawn.items() for scheme, colours in SCHEMES.items()
    }


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (IMAGES / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
