"""The search of the built site finds every public name; run by `make test-site`."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from kafkacomp._cli.command import cli
from kafkacomp.bench.command import bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

#: Types each name into the search field, waits for the list of results, and sends what it found to the server.
DRIVER = """<!doctype html><iframe src="/" width="1200" height="800"></iframe><script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function changed(frame, act) {
  const list = frame.contentDocument.querySelector("[data-md-component=search-result]");
  return new Promise((done) => {
    let timer = setTimeout(done, 3000);
    const settled = () => { seen.disconnect(); done(); };
    const seen = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(settled, 15); });
    seen.observe(list, { childList: true, subtree: true, characterData: true });
    act();
  });
}
onload = async () => {
  const frame = document.querySelector("iframe"), page = frame.contentDocument;
  const field = page.querySelector("[data-md-component=search-query]");
  const type = (text) => { field.value = text; field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true })); };
  field.focus();
  for (let tries = 0; !page.querySelector(".md-search-result__item") && tries < 100; tries++) {
    type("kafka" + " ".repeat(tries % 2));
    await pause(300);
  }
  const found = {};
  for (const name of await (await fetch("/names.json")).json()) {
    await changed(frame, () => type(""));
    await changed(frame, () => type(name));
    found[name] = [...page.querySelectorAll(".md-search-result__link")].map((link) => link.getAttribute("href"));
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
};
</script>"""


def names() -> list[str]:
    """Public names, columns, options of commands and of Spark, exceptions."""
    from kafkacomp.spark._options import OPTIONS as READ  # noqa: PLC0415 - needs PySpark
    from kafkacomp.spark._write_options import OPTIONS as WRITE  # noqa: PLC0415

    commands: list[click.Command] = [*cli.commands.values(), bench]
    flags = {name for command in commands for option in command.params for name in option.opts if name.startswith("--")}
    modules = (kc, kc.arrow, kc.broker, kc.log, kc.message_set, kc.record, kc.lz4, kc.gzip, kc.snappy, kc.zstd)
    public = {name for module in modules for name in module.__all__ if not name.startswith("__")}
    errors = [getattr(kc.exceptions, name) for name in kc.exceptions.__all__]
    codes = {str(code) for each in errors if (code := getattr(each, "error_code", None)) is not None and code > 0}
    return sorted({*codes, *flags, *public, *READ, *WRITE, *kc.arrow.COLUMNS, *kc.exceptions.__all__, *cli.commands})


class _Server(http.server.ThreadingHTTPServer):
    found: dict[str, Any] | None = None
    done = threading.Event()


class _Handler(http.server.SimpleHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        own = {"/driver.html": DRIVER, "/names.json": json.dumps(names())}
        if self.path not in own:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(self.path))
        self.end_headers()
        self.wfile.write(own[self.path].encode())

    def do_POST(self) -> None:
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(name="server")
def _server() -> Iterator[_Server]:
    site = Path(os.environ["SITE"])
    assert (site / "index.html").is_file()
    with _Server(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.browser
@pytest.mark.site
def test_search_finds_every_name(server: _Server, tmp_path: Path) -> None:
    """No address but that of the server resolves, so the site works without any other host."""
    command = [os.environ["CHROMIUM"], "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    address = f"http://127.0.0.1:{server.server_port}/driver.html"
    with subprocess.Popen(
        [*command, rules, "--remote-debugging-port=0", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        finished = server.done.wait(timeout=500)
        browser.terminate()
    assert finished
    assert server.found is not None
    assert len(server.found) > 200
    assert [name for name, links in server.found.items() if not links] == []
