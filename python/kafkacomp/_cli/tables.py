"""Tables that fit the terminal: less important columns are left out, names wrap, and numbers are never truncated."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kafkacomp._cli.common import say

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The separator of two columns.
_SPACE = 2
#: The least width to which names are wrapped.
_LEAST_NAME = 12


class Column(NamedTuple):
    """A column of a table."""

    name: str
    #: Columns with greater numbers are left out first, those with 0 never.
    importance: int = 0
    #: Whether it is a name, which is aligned left and may wrap.
    is_name: bool = False


def width_of_output() -> int | None:
    """The width of the terminal, or ``COLUMNS``; ``None`` if standard output is not a terminal and it is not set."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size((80, 24)).columns
    return None


def show_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int | None) -> None:
    """Write a table. If it does not fit even without the less important columns, each cell gets a line."""
    shown = list(range(len(columns)))
    widths = [max(len(column.name), *(len(row[at]) for row in rows)) for at, column in enumerate(columns)]
    left_out: list[int] = []
    while width is not None and _least(columns, widths, shown) > width:
        worst = max(shown, key=lambda at: (columns[at].importance, at))
        if columns[worst].importance == 0:
            _turned(columns, rows)
            return
        shown.remove(worst)
        left_out.append(worst)
    if width is not None:
        _narrowed(columns, widths, shown, width)
    for row in ([column.name for column in columns], *rows):
        for cells in zip_longest(*(_wrapped(row[at], widths[at]) for at in shown), fillvalue=""):
            aligned = (
                cell.ljust(widths[at]) if columns[at].is_name else cell.rjust(widths[at])
                for at, cell in zip(shown, cells, strict=True)
            )
            say((" " * _SPACE).join(aligned).rstrip())
    if left_out:
        names = ", ".join(columns[at].name for at in sorted(left_out))
        say(f"not shown at this width: {names} (--json has them)")


def _least(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int]) -> int:
    wanted = [min(widths[at], _LEAST_NAME) if columns[at].is_name else widths[at] for at in shown]
    return sum(wanted) + _SPACE * (len(wanted) - 1)


def _narrowed(columns: Sequence[Column], widths: list[int], shown: Sequence[int], width: int) -> None:
    """Wrap names until the table fits."""
    excess = sum(widths[at] for at in shown) + _SPACE * (len(shown) - 1) - width
    for at in sorted((at for at in shown if columns[at].is_name), key=lambda at: -widths[at]):
        if excess > 0:
            taken = min(excess, widths[at] - min(widths[at], _LEAST_NAME))
            widths[at] -= taken
            excess -= taken


def _wrapped(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)] or [""]


def _turned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    widest = max(len(column.name) for column in columns)
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if cell:
                say(f"{column.name.ljust(widest)}  {cell}")
        say("")
