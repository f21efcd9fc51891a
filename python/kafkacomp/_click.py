"""What the commands of several packages share; needs click, of the extra ``cli``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


def parsed(parse: Callable[[str], Value]) -> Callable[[click.Context, click.Parameter, str | None], Value | None]:
    """A callback of an option, whose ValueError becomes click's message about the option."""

    def callback(_: click.Context, option: click.Parameter, value: str | None) -> Value | None:
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), param=option) from None

    return callback
