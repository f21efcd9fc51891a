"""Which family of formats a caller says that bytes are of: Kafka 0.7's message sets, or what came after."""

from __future__ import annotations

from typing import Final

__all__ = ["FORMATS", "cannot_be_a_set", "check_format", "undecided"]

FORMATS: Final = ("auto", "0.7", "0.8+")


def check_format(given: str) -> None:
    """Refuse what is none of the names."""
    if given not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {given!r}")


def cannot_be_a_set(data: bytes) -> bool:
    """Whether the first bytes rule a message of 0.7 out, or are too few for either family to have anything in them.

    A size of 0.7 is 5 or more, its magic 0 or 1: what an offset below 5 * 2^32 begins with is neither.
    """
    return len(data) < 4 or int.from_bytes(data[:4], "big", signed=True) < 5 or (len(data) > 4 and data[4] > 1)  # noqa: PLR2004


def undecided(name: str) -> ValueError:
    """The error about content that does not tell."""
    return ValueError(f"{name}: Kafka 0.7 or later? The content does not tell; give format 0.7 or 0.8+")
