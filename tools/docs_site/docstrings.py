"""A griffe extension: docstrings as the API reference needs them.

Roles of Sphinx become links, doctests become code blocks, simple tables of reStructuredText become tables of Markdown,
the section ``Attributes`` of a class becomes the docstrings of its attributes, and the parameters of ``__new__`` are
those of the class.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:mod|class|func|meth|attr|data|exc):`(~?)([^`]+)`")
RULE = re.compile(r"=+( +=+)+")


class Docstrings(griffe.Extension):  # type: ignore[misc] # griffe is not installed where mypy runs
    """Rewrites every docstring of the package."""

    def on_object(self, *, obj: Any, **_: object) -> None:  # noqa: ANN401 - a griffe object
        """Rewrite the docstring of one object."""
        if obj.is_alias or obj.docstring is None:
            return
        lines = obj.docstring.value.splitlines()
        if obj.is_class:
            lines = _without_attributes(obj, lines)
        obj.docstring.value = _linked(obj, "\n".join(_tables(_doctests(lines))))

    def on_class_members(self, *, cls: Any, **_: object) -> None:  # noqa: ANN401 - as above
        """Show the parameters of ``__new__``, as mkdocstrings does those of ``__init__``."""
        new = cls.members.get("__new__")
        if new is None or "__init__" in cls.members or cls.bases == ["NamedTuple"]:
            return
        init = griffe.Function("__init__", parameters=new.parameters, lineno=new.lineno, endlineno=new.endlineno)
        cls.del_member("__new__")
        cls.set_member("__init__", init)


def _linked(scope: Any, text: str) -> str:  # noqa: ANN401 - a griffe object
    """Roles as references; a target that has no page is plain code."""

    def replaced(match: re.Match[str]) -> str:
        name = match[2]
        shown = name.rsplit(".", 1)[-1] if match[1] else name
        try:
            target = scope.resolve(name)
        except (griffe.NameResolutionError, AttributeError):
            target = name
        return f'<autoref identifier="{target}" optional>`{shown}`</autoref>'

    return ROLE.sub(replaced, text)


def _without_attributes(cls: Any, lines: list[str]) -> list[str]:  # noqa: ANN401 - a griffe class
    """Move the section ``Attributes`` to the attributes, which have entries of their own on the page."""
    if "Attributes:" not in lines:
        return lines
    first = lines.index("Attributes:")
    end = next((at for at in range(first, len(lines)) if not lines[at]), len(lines))
    for entry in re.split(r"\n    (?=\w)", "\n" + "\n".join(lines[first + 1 : end]))[1:]:
        name, _, text = entry.partition(": ")
        attribute = cls.members[name]
        attribute.docstring = griffe.Docstring(_linked(cls, " ".join(text.split())), parent=attribute)
    return lines[:first] + lines[end + 1 :]


def _doctests(lines: list[str]) -> list[str]:
    out: list[str] = []
    fence = ""
    for line in lines:
        begins = line.lstrip().startswith(">>> ")
        if begins and not fence:
            fence = line[: len(line) - len(line.lstrip())] + "```"
            out.append(f"{fence}pycon")
        if fence and not line.strip():
            out.append(fence)
            fence = ""
        out.append(line)
    return [*out, fence] if fence else out


def _tables(lines: list[str]) -> list[str]:
    out: list[str] = []
    rules = [number for number, line in enumerate(lines) if RULE.fullmatch(line)]
    if len(rules) != 3:  # noqa: PLR2004 - above the header, below it, and at the end
        return lines
    first, second, last = rules
    starts = [match.start() for match in re.finditer(r"=+", lines[first])]
    bounds = list(itertools.pairwise([*starts, None]))
    out += lines[:first]
    for number in range(first + 1, last):
        if number == second:
            out.append("|---" * len(bounds) + "|")
        else:
            out.append("| " + " | ".join(lines[number][start:end].strip() for start, end in bounds) + " |")
    return out + lines[last + 1 :]
