"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable


def plain_table(title: str, words: Iterable[str], numbers: Iterable[str], **style: Any) -> Table:  # noqa: ANN401 - rich's
    """Make a table without borders, whose columns of words are aligned left and those of numbers right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, **style)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table
