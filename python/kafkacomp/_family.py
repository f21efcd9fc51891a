"""Which family of formats a caller says that bytes are of: Kafka 0.7's message sets, or what came after."""

from __future__ import annotations

from typing import Final

__all__ = ["FORMATS", "check_format", "undecided"]

FORMATS: Final = ("auto", "0.7", "0.8+")


def check_format(given: str) -> None:
    """Refuse what is none of the names."""
    if given not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {given!r}")


def undecided(name: str) -> ValueError:
    """The error about content that does not tell."""
    return ValueError(f"{name}: Kafka 0.7 or later? The content does not tell; give format 0.7 or 0.8+")
