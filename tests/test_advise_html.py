"""The HTML report of ``kafkacomp advise``: one file, complete, that asks for nothing from anywhere."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._cli import main

VECTORS = Path(__file__).resolve().parent / "vectors" / "modern"
QUICK = ("--codecs", "none,lz4,zstd:1,3", "--batch-sizes", "1,16k")
VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})
#: Attributes by which a page fetches something.
FETCHING = frozenset({"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"})


class Page(HTMLParser):
    """A page's elements; every element that is opened must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open one."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text."""
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)

    def count(self, tag: str) -> int:
        """How many there are."""
        return sum(each == tag for each, _ in self.elements)


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Page]:
    folder = tmp_path_factory.mktemp("page")
    prices = folder / "prices.toml"
    prices.write_text("[prices]\nstorage_gb_month = 1\nvcpu_hour = 1\n[traffic]\ngb_per_day = 5\n")
    made = folder / "report.html"
    # A topic's name may be anything where a folder is not a broker's.
    odd = "a&b<script>alert(1)<"
    kc.write(pa.table({"value": [b"x" * 90] * 300}), folder / "logs", topic="t", partition=0)
    (folder / "logs" / "t-0").rename(folder / "logs" / f"{odd}-0")
    paths = [VECTORS / "restarts", VECTORS / "single-record-batches", folder / "logs"]
    arguments = ["advise", *map(str, paths), "--prices", str(prices), "--html", str(made), *QUICK]
    assert main(arguments) == 0
    text = made.read_text(encoding="utf-8")
    return text, Page(text)


def test_nothing_is_fetched(page: tuple[str, Page]) -> None:
    """No element, style or script names an address; the policy forbids it besides."""
    text, parsed = page
    for tag, attributes in parsed.elements:
        for name, value in attributes.items():
            if name in FETCHING and tag != "a":
                pytest.fail(f"<{tag} {name}={value!r}>")
            if tag == "a":
                assert (attributes.get("href") or "").startswith("#")
    assert not parsed.open
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    addresses = set(re.findall(r"https?://[^\"' )<]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of languages
    policy = next(a["content"] for tag, a in parsed.elements if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_pictures_and_tables(page: tuple[str, Page]) -> None:
    """Three pictures of each topic, one of all; a table of all topics and one of each."""
    text, parsed = page
    assert parsed.count("svg") == 3 * 3 + 1
    assert parsed.count("table") == 3 + 1
    assert text.count("today") > 10
    labels = [a.get("aria-label") for tag, a in parsed.elements if tag == "svg"]
    assert labels.count("Ratio against compression speed, today's batches") == 3
    assert labels.count("Bytes a record against batch size") == 3
    assert labels.count("Monthly cost by kind") == 3
    # Colours of text and lines come from the page, so that they are right in the dark.
    assert "currentColor" in text
    assert not re.search(r'(fill|stroke)="(#000|black|#fff|white)"', text)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_names_are_text(page: tuple[str, Page]) -> None:
    """A name with tags in it is shown, not run."""
    text, parsed = page
    assert "<script>alert" not in text
    assert parsed.count("script") == 1
    assert any("a&b<script>alert(1)<" in piece for piece in ("".join(parsed.text),))


def test_another_suffix_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An input given by mistake is not written over."""
    assert main(["advise", str(VECTORS / "restarts"), "--html", str(tmp_path / "x.log")]) == 2
    assert "does not end in .html" in capfd.readouterr().err


def test_what_is_missing_is_said_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not after it, and with the extra that brings it."""
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["advise", str(VECTORS / "restarts"), "--html", str(tmp_path / "x.html")]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "--html needs altair: pip install 'kafkacomp[report]'" in err
