"""The HTML report in a real browser: no console message, no request out, and its table sorts.

The variable CHROMIUM names the browser (``CHROMIUM=chromium make test-all``); without it these tests are left out, and
tests/test_advise_html.py alone says what the page is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from kafkacomp._cli import main

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "modern"

pytestmark = pytest.mark.browser


def browse(folder: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page without a window."""
    quiet = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr")
    command = [os.environ["CHROMIUM"], *quiet, f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "report.html"
    topics = [VECTORS / name for name in ("restarts", "single-record-batches", "one-byte-values")]
    assert main(["advise", *map(str, topics), "--html", str(page)]) == 0
    return page


@pytest.mark.parametrize(
    ("size", "more"), [("1200,2400", ()), ("1200,2400", ("--blink-settings=preferredColorScheme=0",)), ("412,2400", ())]
)
def test_opens_without_a_word(size: str, more: tuple[str, ...], page: Path, tmp_path: Path) -> None:
    """Wide, dark and as on a phone: a picture comes, the console stays empty, the network log has the file alone."""
    shot, log = tmp_path / "shot.png", tmp_path / "net.json"
    done = browse(tmp_path, page, f"--window-size={size}", f"--screenshot={shot}", f"--log-net-log={log}", *more)
    assert "CONSOLE" not in done.stderr
    assert shot.stat().st_size > 20_000
    content = json.loads(log.read_text())
    kinds = content["constants"]["logSourceType"]
    asked = [
        event["params"]["url"]
        for event in content["events"]
        if event["source"]["type"] == kinds["URL_REQUEST"] and "url" in event.get("params", {})
    ]
    # The browser's own errands (updates, accounts) go to its maker; the page itself has no part in them.
    ours = [url for url in asked if not re.match(r"https?://[^/]*(google|gvt1|googleapis)\b", url)]
    assert ours == []


def test_sorts(page: Path, tmp_path: Path) -> None:
    """A click on a heading, then on it again: other orders of the same rows."""
    clicks = "<script>for (const n of [4, 4]) document.querySelectorAll('#topics th button')[n].click();</script>"
    one = tmp_path / "clicked.html"
    one.write_text(page.read_text().replace("</body>", clicks + "</body>"))
    two = tmp_path / "clicked-once.html"
    two.write_text(one.read_text().replace("[4, 4]", "[4]"))

    def names(path: Path) -> list[str]:
        made = browse(tmp_path, path, "--dump-dom").stdout
        return re.findall(r'<a href="#topic-\d+">([^<]+)</a>', made)

    assert names(two) == list(reversed(names(one)))
    assert names(one)[0] == "one-byte-values"
    assert len(names(one)) == 3
