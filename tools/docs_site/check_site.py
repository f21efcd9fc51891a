"""Check the built site: links and anchors lead somewhere, nothing comes from another host, no markup is left as text.

Run: python tools/docs_site/check_site.py target/site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Element -> attribute whose address the browser loads by itself.
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
#: Relations of <link> that load nothing.
QUIET = {"canonical", "next", "prev", "alternate", "edit"}
FOREIGN_IN_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//[^'\")\s]+")

#: A role of Sphinx that tools/docs_site/docstrings.py did not see.
ROLE = re.compile(r":(?:mod|class|func|meth|attr|data|exc):")


class Page(HTMLParser):
    """Anchors, links and what is loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.roles = ROLE.findall(text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in one element."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])
        if tag == "link" and given.get("rel") not in QUIET:
            self.loaded.append(given.get("href", ""))


def faults(site: Path) -> list[str]:
    """One line for each fault."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: loads {address}" for address in page.loaded if urlsplit(address).netloc]
        found += [f"{name}: shows {role}" for role in page.roles]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            # Pages for missing addresses link from the root of the published site.
            if parts.scheme or parts.netloc or parts.path.startswith("/"):
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: no file for {link}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: no anchor for {link}")
    for path in sorted(site.rglob("*.css")):
        found += [f"{path.relative_to(site)}: loads {each}" for each in FOREIGN_IN_CSS.findall(path.read_text("utf-8"))]
    return found


def main(folder: str) -> int:
    """Check a site; 1 if anything is wrong."""
    site = Path(folder).resolve()
    found = faults(site)
    for fault in found:
        print(fault)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
