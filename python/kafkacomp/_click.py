"""What the commands of several packages share; needs click, of the extra ``cli``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkacomp._arguments import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


class Size(click.IntRange):
    """A number of bytes within limits, also with a unit: ``4096``, ``64k``, ``1g``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's
        """Parse the text of an option; a default is a number."""
        try:
            number = parse_size(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(number, param, ctx)


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
