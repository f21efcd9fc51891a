"""The options for the first and last offset or timestamp: those of Spark's Kafka source, with the same values.

| option | value |
|---|---|
| ``startingOffsets``, ``endingOffsets`` | ``earliest``, ``latest`` or ``{"topic": {"0": 23, "1": -2}}`` |
| ``startingTimestamp``, ``endingTimestamp`` | milliseconds since the epoch, for all partitions |
| ``startingOffsetsByTimestamp``, ``endingOffsetsByTimestamp`` | ``{"topic": {"0": 1000000000000}}`` |

If several are given, a timestamp for all partitions takes precedence over timestamps by partition, and these over
offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp.spark._values import content, one_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

BOUND_OPTIONS = (
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
)

#: The numbers that stand for the words, also in JSON, as in Spark's Kafka source.
LATEST, EARLIEST = -1, -2
_WORDS = {EARLIEST: "earliest", LATEST: "latest"}
_MOST = (1 << 63) - 1

#: An offset (or EARLIEST, LATEST) for all partitions, or by topic and partition.
Bounds: TypeAlias = int | dict[tuple[str, int], int]
#: Milliseconds since the epoch for all partitions, or by topic and partition; ``None`` if offsets are the bounds.
Times: TypeAlias = int | dict[tuple[str, int], int] | None


def bounds(side: str, given: Mapping[str, str], default: int, refused: int | None = None) -> Bounds:
    """Parse ``startingOffsets`` or ``endingOffsets``; ``side`` is the first word, ``refused`` a value not allowed."""
    name = f"{side}Offsets"
    text = given.get(name)
    if text is None:
        return default
    for number, word in _WORDS.items():
        if text.strip().lower() == word:
            return _allowed(name, number, refused)
    shape = f'{name} must be earliest, latest or JSON like {{"topic": {{"0": 23}}}}, not {text!r}'
    found = _by_partition(text, shape, EARLIEST)
    return {each: _allowed(f"{name} of {each[0]}-{each[1]}", offset, refused) for each, offset in found.items()}


def times(side: str, given: Mapping[str, str]) -> Times:
    """Parse ``startingTimestamp`` and ``startingOffsetsByTimestamp``, or the options for the end."""
    if f"{side}Timestamp" in given:
        return whole(f"{side}Timestamp", given[f"{side}Timestamp"], 0, _MOST)
    name = f"{side}OffsetsByTimestamp"
    if name not in given:
        return None
    shape = f'{name} must be JSON like {{"topic": {{"0": 1000000000000}}}}, not {given[name]!r}'
    return _by_partition(given[name], shape, 0)


def check_times(start: Times, end: Times) -> None:
    """Refuse a starting timestamp after the ending timestamp, if both are for all partitions."""
    if isinstance(start, int) and isinstance(end, int) and start > end:
        raise ValueError(f"startingTimestamp {start} is after endingTimestamp {end}: swap them")


def is_latest_unmatched(given: Mapping[str, str]) -> bool:
    """Whether a partition whose records are all before the starting timestamp is empty instead of an error."""
    name = "startingOffsetsByTimestampStrategy"
    return one_of(name, given.get(name, "error"), "error", "latest") == "latest"


def _allowed(name: str, offset: int, refused: int | None) -> int:
    if offset == refused:
        raise ValueError(f"{name} cannot be {_WORDS[offset]} ({offset}) in a batch read")
    return offset


def _by_partition(text: str, shape: str, least: int) -> dict[tuple[str, int], int]:
    topics = content(text)
    if not isinstance(topics, dict):
        raise ValueError(shape)  # noqa: TRY004 - an option's value, not a type of this program
    found = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise ValueError(shape)  # noqa: TRY004 - as above
        for partition, number in partitions.items():
            # bool is a subclass of int in Python, but true is not a number in JSON.
            if not (partition.isascii() and partition.isdecimal()) or type(number) is not int:
                raise ValueError(shape)
            if not least <= number <= _MOST:
                raise ValueError(shape)
            found[topic, int(partition)] = number
    return found
