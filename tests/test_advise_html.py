"""The HTML report of ``kafkacomp advise``: one file, complete, that asks for nothing from anywhere.

Read without a browser; tests/slow/test_advise_page.py opens it in one.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import kafkacomp as kc
from html_page import Element, contrast, parse, variables
from kafkacomp._cli import main
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice import Settings, charts

VECTORS = Path(__file__).resolve().parent / "vectors" / "modern"
QUICK = ("--codecs", "none,lz4,zstd:1,3", "--batch-sizes", "1,16k")
#: Attributes by which a page fetches something.
FETCHING = frozenset({"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"})
#: A topic's name may be anything where a folder is not a broker's.
ODD = "a&b<script>alert(1)<"


class Page(NamedTuple):
    """The report, as text and as a tree."""

    text: str
    root: Element

    @property
    def style(self) -> str:
        """The style sheet."""
        (style,) = self.root.all("style")
        return "".join(each for each in style.content if isinstance(each, str))


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("page")
    prices = folder / "prices.toml"
    prices.write_text("[prices]\nstorage_gb_month = 1\nvcpu_hour = 1\n[traffic]\ngb_per_day = 5\n")
    made = folder / "report.html"
    kc.write(pa.table({"value": [b"x" * 90] * 300}), folder / "logs", topic="t", partition=0, batch_bytes=1000)
    (folder / "logs" / "t-0").rename(folder / "logs" / f"{ODD}-0")
    paths = [VECTORS / "restarts", VECTORS / "single-record-batches", folder / "logs"]
    arguments = ["advise", *map(str, paths), "--prices", str(prices), "--html", str(made), *QUICK]
    assert main(arguments) == 0
    text = made.read_text(encoding="utf-8")
    return Page(text, parse(text))


def test_nothing_is_fetched(page: Page) -> None:
    """No element, style or script names an address; the policy forbids it besides."""
    for element in page.root.all():
        for name in FETCHING & element.attributes.keys():
            assert element.tag == "a", f"<{element.tag} {name}={element.attributes[name]!r}>"
            assert element.attributes[name].startswith("#")
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", page.text)
    addresses = set(re.findall(r"https?://[^\"' )<]+", page.text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of languages
    policy = next(each.attributes["content"] for each in page.root.all("meta") if "http-equiv" in each.attributes)
    assert policy.startswith("default-src 'none'")


def test_structure(page: Page) -> None:
    """A document with a language, a title and one heading above all; links lead to places that are there."""
    assert page.text.startswith("<!doctype html>\n")
    (html,) = page.root.children
    assert (html.tag, html.attributes) == ("html", {"lang": "en"})
    head, body = html.children
    assert (head.tag, body.tag) == ("head", "body")
    assert head.children[0].attributes == {"charset": "utf-8"}
    assert [each.text for each in head.all("title")] == ["kafkacomp advise"]
    assert len(list(body.all("h1"))) == 1
    assert all(section.children[0].tag == "h2" for section in body.all("section"))
    names = [each.attributes["id"] for each in page.root.all() if "id" in each.attributes]
    assert len(set(names)) == len(names)
    links = [each.attributes["href"] for each in body.all("a")]
    assert links == [f"#topic-{number}" for number in (1, 2, 3)]
    assert {link[1:] for link in links} <= set(names)


def test_charts(page: Page) -> None:
    """Three of each topic, one of all topics: each with marks, words and a legend, and without NaN."""
    figures = list(page.root.all("figure"))
    charts = [next(each.all("svg")) for each in figures]
    labels = [each.attributes["aria-label"] for each in charts]
    assert labels.count("Ratio against compression speed, today's batches; circle: today") == 3
    assert labels.count("Bytes per record against batch size; dashed: today") == 3
    assert labels.count("Monthly cost by kind") == 3 + 1
    assert len(labels) == 3 * 3 + 1
    for figure, chart in zip(figures, charts, strict=True):
        assert len(chart.attributes["viewbox"].split()) == 4
        assert sum("d" in mark.attributes for mark in chart.all("path")) > 3
        assert "today" in figure.text
        assert "lz4" in figure.text
        values = " ".join(value for part in chart.all() for value in part.attributes.values())
        assert not re.search(r"NaN|Infinity|undefined", values)


def test_tables(page: Page) -> None:
    """One of all topics and one of each, every row whole; the first has what its script sorts by."""
    tables = list(page.root.all("table"))
    assert len(tables) == 3 + 1
    for table in tables:
        heads = list(table.all("th"))
        assert all(each.attributes["scope"] == "col" and each.text.strip() for each in heads)
        (body,) = table.all("tbody")
        assert body.children
        assert {len(list(row.all("td"))) for row in body.children} == {len(heads)}
        assert not re.search(r"\b(nan|inf|None)\b", body.text)
    topics = tables[0]
    assert topics.attributes["id"] == "topics"
    assert all([each.tag for each in head.children] == ["button"] for head in topics.all("th"))
    columns = list(zip(*(list(row.all("td")) for row in topics.all("tr") if row.children[0].tag == "td"), strict=True))
    numbers = [
        [float(cell.attributes["data-value"]) for cell in each if cell.attributes.get("data-value")] for each in columns
    ]
    # A column is sorted as numbers or as words.
    assert {len(column) for column in numbers} == {0, 3}
    assert sum(map(len, numbers)) == 3 * 7


def test_topics_by_saving_and_money_in_sight(page: Page) -> None:
    """What saves most comes first; what it costs stands right after the advice, so that no wide column hides it."""
    table = next(page.root.all("table"))
    heads = [each.text for each in table.all("th")]
    assert heads[:6] == ["topic", "advice", "codec, batch.size", "saves", "a month", "then"]
    rows = [list(row.all("td")) for row in next(table.all("tbody")).children]
    saved = [float(row[4].attributes["data-value"]) - float(row[5].attributes["data-value"]) for row in rows]
    assert saved == sorted(saved, reverse=True)
    assert saved[0] > 0
    for details in list(page.root.all("table"))[1:]:
        assert "a month" in [each.text for each in details.all("th")][:7]


def test_legends(page: Page) -> None:
    """Each name of a legend has a colour of its own, which the chart has, too."""
    for figure in page.root.all("figure"):
        (legend,) = figure.all("ul")
        names = [each.text for each in legend.all("li")]
        colours = [each.attributes["style"].removeprefix("background: ") for each in legend.all("i")]
        assert len(set(names)) == len(set(colours)) == len(names) > 1
        used = {part.attributes.get(name) for part in figure.all("path") for name in ("fill", "stroke")}
        assert set(colours) <= used


def test_labels_do_not_overlap() -> None:
    """Of points that are close to each other, only some have a label."""
    cells = [_cell(kind, level, ratio=2 + level / 400) for kind in ("gzip", "lz4", "zstd") for level in range(1, 10)]
    chart = charts.ratio_and_speed({"options": cells, "today": _cell("zstd", 3, ratio=2.01)})
    assert chart is not None
    places: dict[str, tuple[float, float]] = {}
    for text in parse(f"<html>{chart.svg}</html>").all("text"):
        moved = re.match(r"translate\(([\d.]+),([\d.]+)\)", text.attributes.get("transform", ""))
        if moved is not None and ":" in text.text:
            places[text.text] = float(moved[1]), float(moved[2])
    assert 3 < len(places) < len(cells)
    for (one, (x, y)), (_, (other_x, other_y)) in itertools.permutations(places.items(), 2):
        # Letters of this size are 11 pixels high, and 6 wide or less.
        assert abs(other_y - y) >= 11 or other_x >= x + 6 * len(one) or other_x < x


def _cell(kind: str, level: int, *, ratio: float) -> dict[str, Any]:
    """A codec's figures with today's batches."""
    speed = {"gzip": 20, "lz4": 4, "zstd": 5}[kind] + level / 10
    return {
        "compressionType": kind,
        "codecLevel": level,
        "batchSize": None,
        "compressSecondsPerGB": speed,
        "ratio": ratio,
    }


def test_the_answer_precedes_notes(tmp_path: Path) -> None:
    """Without prices; problems and internal topics are named after the table of topics."""
    made = tmp_path / "report.html"
    paths = [VECTORS / "restarts", VECTORS / "damaged-restarts-flipped-crc"]
    assert main(["advise", *map(str, paths), "--html", str(made), *QUICK]) == 1
    text = made.read_text(encoding="utf-8")
    assert text.index("<table") < text.index('role="status"')
    titles = [each.attributes["aria-label"] for each in parse(text).all("svg")]
    # What is stored and what is sent are not added up.
    assert titles.count("Bytes on disk, all replicas") == titles.count("Bytes sent") > 1
    words = re.sub(r"<svg.*?</svg>|<details>.*?</details>", "", text, flags=re.DOTALL)
    sizes = re.findall(r"[\d.]+ [kKMG]i?B\b", words)
    assert {each for each in sizes if each.endswith("iB")} <= {"16 KiB"}  # a batch.size
    assert len(sizes) > 5


def test_every_part_has_a_name(page: Page) -> None:
    """For those who hear the page or go through it by keys."""
    assert all(each.attributes["role"] == "img" and each.attributes["aria-label"] for each in page.root.all("svg"))
    assert all(each.text.strip() for each in page.root.all("a", "button", "summary", "h1", "h2", "figcaption"))
    assert all(each.attributes["type"] == "button" for each in page.root.all("button"))
    assert all(len(list(each.all("svg"))) == 1 for each in page.root.all("figure"))


def test_light_and_dark(page: Page) -> None:
    """All colours of text are the page's own, defined for both, and can be read on both grounds."""
    light, dark = variables(page.style)
    assert light.keys() == dark.keys() == set(re.findall(r"var\((--\w+)\)", page.style))
    for colours in (light, dark):
        for words in ("--text", "--soft", "--good", "--warn"):
            assert contrast(colours[words], colours["--back"]) >= 4.5, (words, colours)
            assert contrast(colours[words], colours["--card"]) >= 4.5, (words, colours)
    assert any(each.attributes == {"name": "color-scheme", "content": "light dark"} for each in page.root.all("meta"))
    for picture in page.root.all("svg"):
        fills = {text.attributes.get("fill") for text in picture.all("text")}
        assert "currentColor" in fills
        assert not fills & {None, "#000", "black", "#fff", "white"}
        for name in ("fill", "stroke"):
            for colour in {part.attributes.get(name, "") for part in picture.all("path")}:
                if colour.startswith("#"):
                    assert contrast(colour, light["--card"]) >= 3, colour
                    assert contrast(colour, dark["--card"]) >= 3, colour


def test_small_screens(page: Page) -> None:
    """Charts shrink, and a table scrolls by itself or becomes a list."""
    assert any(each.attributes.get("name") == "viewport" for each in page.root.all("meta"))
    wrapped = [each for box in page.root.all("div") if box.attributes.get("class") == "scroll" for each in box.children]
    assert [each.tag for each in wrapped] == ["table"] * 4
    assert ".scroll { overflow-x: auto" in page.style
    assert "figure svg { display: block; width: 100%" in page.style
    # On a phone the cells of a row stand below each other, each with the title of its column.
    for table in page.root.all("table"):
        titles = [each.text for each in table.all("th")]
        for row in next(table.all("tbody")).children:
            assert [cell.attributes["data-label"] for cell in row.all("td")] == titles


def test_names_are_text(page: Page) -> None:
    """A name with tags in it is shown, not run."""
    assert "<script>alert" not in page.text
    assert len(list(page.root.all("script"))) == 1
    assert ODD in page.root.text


def test_another_suffix_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An input given by mistake is not written over."""
    assert main(["advise", str(VECTORS / "restarts"), "--html", str(tmp_path / "x.log")]) == 2
    assert "must end in .html" in capfd.readouterr().err


def test_nothing_is_overwritten_without_force(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 before the run; with --force the file is the new report."""
    page = tmp_path / "report.html"
    page.write_text("mine")
    arguments = ["advise", str(VECTORS / "one-byte-values"), "--html", str(page), *QUICK]
    assert main(arguments) == 2
    assert "--force" in capfd.readouterr().err
    assert page.read_text() == "mine"
    assert main([*arguments, "--force"]) == 0
    assert page.read_text().startswith("<!doctype html>")


def test_what_is_missing_is_said_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not after it, and with the extra that brings it."""
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["advise", str(VECTORS / "restarts"), "--html", str(tmp_path / "x.html")]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "--html: altair is not installed: pip install 'kafkacomp[report]'" in err


def test_to_html_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    report = kc.advise(VECTORS / "restarts", Settings(tuple(parse_codecs("none,lz4")), batch_sizes=()))
    for package in ("altair", "jinja2", "vl_convert"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(
                ModuleNotFoundError, match=rf"{package} is not installed: pip install 'kafkacomp\[report\]'"
            ):
                report.to_html()
