"""Options that say where to begin and to end: words and JSON by topic and partition, as Spark's Kafka source has them.

| option | value |
|---|---|
| ``startingOffsets``, ``endingOffsets`` | ``earliest``, ``latest`` or ``{"topic": {"0": 23, "1": -2}}`` |
| ``startingTimestamp``, ``endingTimestamp`` | ms since the epoch, for all partitions |
| ``startingOffsetsByTimestamp``, ``endingOffsetsByTimestamp`` | ``{"topic": {"0": 1000000000000}}`` |

Of several, a timestamp for all partitions counts before timestamps by partition, and these before offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp.spark._values import content, one_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

__all__ = [
    "BOUND_OPTIONS",
    "EARLIEST",
    "LATEST",
    "Bounds",
    "Times",
    "bounds",
    "check_times",
    "describe",
    "is_latest_unmatched",
    "times",
]

BOUND_OPTIONS = (
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
)

#: The words as offsets, in JSON too: the Kafka source's numbers.
LATEST, EARLIEST = -1, -2
_WORDS = {EARLIEST: "earliest", LATEST: "latest"}
_MOST = (1 << 63) - 1

#: An offset (or EARLIEST, LATEST) for all partitions, or by topic and partition.
Bounds: TypeAlias = int | dict[tuple[str, int], int]
#: Milliseconds since the epoch, likewise; ``None``: offsets rule.
Times: TypeAlias = int | dict[tuple[str, int], int] | None


def bounds(side: str, given: Mapping[str, str], default: int, refused: int | None = None) -> Bounds:
    """Read ``startingOffsets`` or ``endingOffsets`` (``side`` is the first word), which cannot be ``refused``."""
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
    """Read ``startingTimestamp`` and ``startingOffsetsByTimestamp``, or those of the end."""
    if f"{side}Timestamp" in given:
        return whole(f"{side}Timestamp", given[f"{side}Timestamp"], 0, _MOST)
    name = f"{side}OffsetsByTimestamp"
    if name not in given:
        return None
    shape = f'{name} must be JSON like {{"topic": {{"0": 1000000000000}}}}, not {given[name]!r}'
    return _by_partition(given[name], shape, 0)


def check_times(start: Times, end: Times) -> None:
    """Refuse times for all partitions that contradict each other."""
    if isinstance(start, int) and isinstance(end, int) and start > end:
        raise ValueError(f"startingTimestamp {start} is after endingTimestamp {end}: no time lies between them")


def is_latest_unmatched(given: Mapping[str, str]) -> bool:
    """Whether a partition without a record as late as the starting timestamp is no error, and gives nothing."""
    name = "startingOffsetsByTimestampStrategy"
    return one_of(name, given.get(name, "error"), "error", "latest") == "latest"


def describe(offset: int) -> str:
    """An offset for a message."""
    return _WORDS.get(offset, str(offset))


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
            # A bool is an int, but not one that JSON writes so.
            if not (partition.isascii() and partition.isdecimal()) or type(number) is not int:
                raise ValueError(shape)
            if not least <= number <= _MOST:
                raise ValueError(shape)
            found[topic, int(partition)] = number
    return found
