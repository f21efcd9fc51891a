"""Texts that several forms of the report share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from kafkacomp.advice.topic import TopicFigures


#: The verdict on a sample that is no basis for a recommendation.
TOO_LITTLE: Final = "too little data"
_KILO: Final = 1000


def decimal_size(size: float) -> str:
    """Format a number of bytes in decimal units, with three significant digits.

    >>> decimal_size(999), decimal_size(16_384), decimal_size(1_500_000_000)
    ('999 B', '16.4 kB', '1.5 GB')
    """
    value, units = float(size), iter(("B", "kB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    for larger in units:
        if abs(value) < _KILO:
            break
        value, unit = value / _KILO, larger
    return f"{value:.0f} B" if unit == "B" else f"{value:.3g} {unit}"


def money_of(amount: float) -> str:
    """Format an amount of money: with cents, or below 1 with three significant digits."""
    return f"{amount:,.2f}" if abs(amount) >= 1 or not amount else f"{amount:.3g}"


def today_of(figures: TopicFigures) -> str:
    """Describe today's compression type, with its level if that is known."""
    if not figures.stored:
        return "not in a log"
    level = figures.level
    if figures.type is CompressionType.NONE or (level is None and not figures.levels.get(figures.type)):
        name = str(figures.type)
    elif level is None:
        name = f"{figures.type}, level unknown"
    else:
        name = f"{figures.type}:{level.level}" + (
            "" if level.same_bytes else f" (about, {level.difference:+.1%} bytes)"
        )
    others = len(figures.types) - 1
    return f"{name} and {others} more" if others > 0 else name
