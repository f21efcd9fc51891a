"""Which log format a caller says that bytes have: message sets of Kafka 0.7, or batches of later versions."""

from __future__ import annotations

from typing import Final, Literal, get_args

from kafkacomp._arguments import one_of

LogFormat = Literal["auto", "0.7", "0.8+"]
LOG_FORMATS: Final[tuple[str, ...]] = get_args(LogFormat)


def check_log_format(given: str) -> None:
    """Check an argument ``log_format``."""
    one_of("log_format", given, LOG_FORMATS)


def cannot_be_a_set(data: bytes) -> bool:
    """Whether the first bytes rule a message of 0.7 out, or are too few for either log format to have anything in them.

    A size of 0.7 is 5 or more, its magic 0 or 1: what an offset below 5 * 2^32 begins with is neither.
    """
    return len(data) < 4 or int.from_bytes(data[:4], "big", signed=True) < 5 or (len(data) > 4 and data[4] > 1)  # noqa: PLR2004


def undecided(name: str) -> ValueError:
    """The error about content that both log formats could have."""
    return ValueError(
        f"{name}: the content does not show whether it is of Kafka 0.7 or later: give log_format 0.7 or 0.8+"
    )
