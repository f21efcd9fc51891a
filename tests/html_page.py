"""An HTML page as a tree, without a browser: strict where browsers forgive."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Elements that have no content and no end.
VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


@dataclass
class Element:
    """An element, its attributes, and what is in it, in order."""

    tag: str
    attributes: dict[str, str]
    content: list[Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Element]:
        """The elements in it at any depth, of these kinds if any are named."""
        for each in self.content:
            if isinstance(each, Element):
                if not tags or each.tag in tags:
                    yield each
                yield from each.all(*tags)

    @property
    def children(self) -> list[Element]:
        """The elements right in it."""
        return [each for each in self.content if isinstance(each, Element)]

    @property
    def text(self) -> str:
        """What is to be read of it."""
        if self.tag in {"script", "style"}:
            return ""
        return "".join(each if isinstance(each, str) else each.text for each in self.content)


class _Parser(HTMLParser):
    """Builds the tree; every element that is opened must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open one."""
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(self.open[-1].children[-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One without content."""
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        self.open[-1].content.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Close one."""
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        """Text."""
        self.open[-1].content.append(data)


def parse(text: str) -> Element:
    """What stands in a page; its ``html`` element is the only child."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    (root,) = parser.open
    return root


def variables(style: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of a style sheet's ``:root``, in a light and in a dark page."""
    dark = re.search(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}", style, re.DOTALL)
    light = re.search(r":root \{(.*?)\}", style, re.DOTALL)
    assert light is not None
    assert dark is not None
    first, second = (dict(re.findall(r"(--\w+): (#\w+)", each[1])) for each in (light, dark))
    return first, second


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (#rgb or #rrggbb) by WCAG 2: 1 to 21; text needs 4.5, a picture's parts need 3."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
