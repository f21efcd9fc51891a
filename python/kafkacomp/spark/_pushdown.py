"""``filterPushdown``: filters of a query on topic, partition, offset and timestamp rule segments out (PySpark 4.1).

Spark evaluates all filters again, so a segment may be ruled out only if none of its records passes them. The reader
with filters is a class of its own: if ``spark.sql.python.filterPushdown.enabled`` is off, as by default, Spark fails
every read whose reader overrides ``pushFilters``.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from kafkacomp.spark._plan import EVERYTHING, Pruning

if TYPE_CHECKING:
    from collections.abc import Iterable

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)


def pruning_of(filters: Iterable[Any]) -> Pruning:
    """Derive bounds from filters that must all be true; filters of other kinds are ignored."""
    found = EVERYTHING
    for each in filters:
        kind, path = type(each).__name__, tuple(getattr(each, "attribute", ()))
        if len(path) != 1 or getattr(each, "value", None) is None:
            continue
        name, value = str(*path), each.value
        if name in {"topic", "partition"}:
            found = _names(found, name, kind, value)
        elif name == "offset" and kind in _RANGES | {"In"}:
            found = _range(found, "offset", kind, value, lambda offset: offset)
        elif name == "timestamp" and kind in _RANGES | {"In"}:
            found = _range(found, "timestamp", kind, value, _milliseconds)
    return found


#: Filters that give a value a lower bound, an upper bound or both.
_BELOW, _ABOVE = {"GreaterThan", "GreaterThanOrEqual"}, {"LessThan", "LessThanOrEqual"}
_EQUAL = {"EqualTo", "EqualNullSafe"}
_RANGES = _BELOW | _ABOVE | _EQUAL


def _names(found: Pruning, name: str, kind: str, value: Any) -> Pruning:  # noqa: ANN401 - a literal of a query
    if kind in _EQUAL:
        wanted = frozenset([value])
    elif kind == "In":
        wanted = frozenset(value)
    else:
        return found
    if name == "topic":
        return found._replace(topics=wanted if found.topics is None else found.topics & wanted)
    return found._replace(partitions=wanted if found.partitions is None else found.partitions & wanted)


def _range(found: Pruning, name: str, kind: str, value: Any, number: Any) -> Pruning:  # noqa: ANN401 - as above
    values = [number(each) for each in (value if kind == "In" else [value]) if each is not None]
    if not values or any(each is None for each in values):
        return found
    start, end = f"start_{name}", f"end_{name}"
    changes: dict[str, Any] = {}
    if kind not in _ABOVE:
        changes[start] = max(each for each in (min(values), getattr(found, start)) if each is not None)
    if kind not in _BELOW:
        changes[end] = min(each for each in (max(values) + 1, getattr(found, end)) if each is not None)
    return found._replace(**{key: max(-(1 << 63), min(each, (1 << 63) - 1)) for key, each in changes.items()})


def _milliseconds(time: object) -> int | None:
    """The millisecond that contains a time; ``None`` if it is not a time with a zone."""
    if not isinstance(time, dt.datetime) or time.tzinfo is None:
        return None
    return (time - _EPOCH) // _MILLISECOND
