"""Kafka's log segments as a polars ``LazyFrame``, read only where the query needs them.

>>> import kafkacomp as kc
>>> import polars as pl
>>> orders = kc.polars.scan(example)
>>> rows = orders.filter(pl.col("topic") == "orders", pl.col("offset") >= 3).select("value").collect()
>>> rows["value"].to_list()
[b'order 3', b'order 4']

``example`` is a log directory.
"""

from __future__ import annotations

import datetime as dt
import json
from contextlib import closing
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

from kafkacomp._extras import with_command

try:
    import polars as pl
except ModuleNotFoundError as error:
    raise with_command(error) from None
from polars.io.plugins import register_io_source

from kafkacomp.arrow import ScanOptions
from kafkacomp.arrow import scan as _scan
from kafkacomp.arrow._scan import LOCATION, bound_of, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Unpack

    from kafkacomp._storage.partition import Partition, Source
    from kafkacomp.arrow._options import SourceArguments

__all__ = ["scan"]

#: The default ``options``.
_OPTIONS = ScanOptions(binary_type="binary_view")
_MIN, _MAX = -(2**63), 2**63 - 1
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PLACE = {"topic": pl.String, "partition": pl.Int32}
#: Each comparison, and its equivalent with exchanged operands.
_EXCHANGED = {"Eq": "Eq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}


#: Functions whose result for a row depends on that row only.
_ELEMENTWISE = {"IsIn", "IsBetween", "Not", "StartsWith", "EndsWith", "Contains"}


def scan(source: Source, **arguments: Unpack[SourceArguments]) -> pl.LazyFrame:
    """Read Kafka's log segments as a ``LazyFrame``: only the columns, partitions, offsets and times that a query needs.

    Columns that the query does not use are not built. If conditions are combined by ``&``, comparisons of ``offset``
    and ``timestamp`` with constants become bounds of the scan, and partitions that a condition on ``topic`` and
    ``partition`` excludes are not opened. polars evaluates all other conditions. A row limit ends the scan early. The
    streaming engine takes the rows as they are read. Each ``collect`` lists and reads the source again.

    Args:
        source: A source as in :func:`kafkacomp.scan`: a path, a URL, bytes, or several of these.
        **arguments: Those of :func:`kafkacomp.scan`. Here the default of ``options`` has ``binary_type="binary_view"``,
            with which values are not copied.

    Returns:
        A ``polars.LazyFrame`` with the columns of the scan.

    Raises:
        FileNotFoundError: a path does not exist, or a folder contains no segments.
        ValueError, TypeError: as in :func:`kafkacomp.scan`.
        polars.exceptions.ComputeError: in ``collect``, at any error of the scan; the message has the file and the byte.

    Example:
        >>> import kafkacomp as kc
        >>> kc.polars.scan("/var/lib/kafka/data").select("partition").unique().collect()  # doctest: +SKIP
    """
    given: dict[str, Any] = {"options": _OPTIONS, **arguments}
    reader = _scan(source, **given)
    located = {name: given.pop(name) for name in LOCATION & given.keys()}
    schema = pl.DataFrame(_scan(b"", **_without_bounds(given))).schema
    reader.close()

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns
        yield from _frames(find(source, **located), wanted, predicate, rows, _hinted(given, batch_rows, rows))

    return register_io_source(frames, schema=schema, explain_name="kafkacomp")


def _hinted(given: dict[str, Any], *limits: int | None) -> dict[str, Any]:
    options: ScanOptions = given["options"]
    known = [limit for limit in (options.batch_rows, *limits) if limit is not None]
    return {**given, "options": replace(options, batch_rows=max(min(known), 1))}


def _without_bounds(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in {"start_offset", "end_offset", "progress"}}


def _frames(
    found: list[Partition], columns: list[str], predicate: pl.Expr | None, rows: int | None, given: dict[str, Any]
) -> Iterator[pl.DataFrame]:
    bounds = _Bounds() if predicate is None else _bounds(predicate, given["options"].timestamp_unit)
    chosen = _chosen(found, bounds.place)
    narrowed, chosen = bounds.narrow(given, chosen)
    # Without any column, the number of rows would be lost.
    built = columns or ["offset"]
    left = rows
    if chosen and left != 0:
        with closing(_scan(chosen, **{**narrowed, "columns": built})) as reader:
            for batch in reader:
                frame = cast("pl.DataFrame", pl.from_arrow(batch))
                if predicate is not None:
                    frame = frame.filter(predicate)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame.select(columns) if columns else frame
                if left == 0:
                    return


def _chosen(found: list[Partition], conditions: Iterable[pl.Expr]) -> list[Partition]:
    """Return the partitions that no condition excludes."""
    places = {"index": range(len(found)), **{name: [getattr(each, name) for each in found] for name in _PLACE}}
    frame = pl.DataFrame(places, schema={"index": pl.Int64, **_PLACE})
    for condition in conditions:
        frame = frame.filter(condition)
    return [found[index] for index in frame["index"]]


@dataclass(frozen=True)
class _Bounds:
    """Bounds of all rows that satisfy a predicate; both ends are inclusive."""

    offset: tuple[int, int] = (_MIN, _MAX)
    timestamp: tuple[int, int] | None = None
    #: Conditions on topic and partition alone.
    place: tuple[pl.Expr, ...] = ()

    def narrow(self, options: dict[str, Any], chosen: list[Partition]) -> tuple[dict[str, Any], list[Partition]]:
        """Return the options with these bounds added, and the partitions that can still have rows."""
        offsets = [_interval(options, each) for each in chosen]
        intervals = [(max(low, self.offset[0]), min(high, self.offset[1])) for low, high in offsets]
        left = [
            (each, interval) for each, interval in zip(chosen, intervals, strict=True) if interval[0] <= interval[1]
        ]
        narrowed = {**options, **_offsets(left)}
        if self.timestamp is not None:
            first, last = self.timestamp
            start = _milliseconds(options.get("start_time"), up=True)
            end = _milliseconds(options.get("end_time"), up=True)
            first = first if start is None else max(start, first)
            last = last if end is None else min(end - 1, last)
            if first > last:
                return narrowed, []
            # The bounds of a scan cannot be negative, but timestamps of records can.
            narrowed["start_time"] = first if first > 0 else start
            narrowed["end_time"] = last + 1 if 0 <= last < _MAX - 1 else end
        return narrowed, [each for each, _ in left]


def _interval(options: dict[str, Any], partition: Partition) -> tuple[int, int]:
    """Return the first and last offset within the options."""
    start, end = (bound_of(options.get(name), partition) for name in ("start_offset", "end_offset"))
    return _MIN if start is None else start, _MAX if end is None else end - 1


def _offsets(left: list[tuple[Partition, tuple[int, int]]]) -> dict[str, Any]:
    """Convert offset bounds to options, which cannot be negative."""
    intervals = {interval for _, interval in left}
    if len(intervals) == 1:
        ((low, high),) = intervals
        return {"start_offset": low if low > 0 else None, "end_offset": high + 1 if 0 <= high < _MAX else None}
    by_key = {(each.topic, each.partition): interval for each, interval in left}
    return {
        "start_offset": {key: low for key, (low, _) in by_key.items() if low > 0},
        "end_offset": {key: high + 1 for key, (_, high) in by_key.items() if 0 <= high < _MAX},
    }


def _bounds(predicate: pl.Expr, unit: str) -> _Bounds:
    """Return the bounds that follow from a predicate; parts of an unknown form give none."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except (pl.exceptions.PolarsError, ValueError):
        return _Bounds()
    bounds = _Bounds()
    for condition in _conjuncts(tree):
        for name, comparison, value in _comparisons(condition):
            if name == "offset":
                bounds = replace(bounds, offset=_with_offset(bounds.offset, comparison, value))
            else:
                bounds = replace(bounds, timestamp=_with_time(bounds.timestamp, comparison, value, unit))
        expression = _expression(condition) if _is_elementwise(condition) else None
        if expression is not None and set(expression.meta.root_names()) <= _PLACE.keys():
            bounds = replace(bounds, place=(*bounds.place, expression))
    return bounds


def _conjuncts(tree: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield tree


def _is_elementwise(tree: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether an expression is of a kind whose result for a row depends on that row only."""
    match tree:
        case {"Column": _} | {"Literal": _}:
            return True
        case {"BinaryExpr": {"left": left, "op": _, "right": right}}:
            return _is_elementwise(left) and _is_elementwise(right)
        case {"Function": {"input": inputs, "function": {"Boolean": kind} | {"StringExpr": kind}}}:
            name = kind if isinstance(kind, str) else next(iter(kind))
            return name in _ELEMENTWISE and all(map(_is_elementwise, inputs))
        case _:
            return False


def _with_offset(interval: tuple[int, int], comparison: str, value: object) -> tuple[int, int]:
    if not isinstance(value, int) or isinstance(value, bool):
        return interval
    return _narrowed(interval, comparison, value + (comparison == "Gt"), value - (comparison == "Lt"))


def _narrowed(interval: tuple[int, int], comparison: str, first: int, last: int) -> tuple[int, int]:
    low, high = interval
    if comparison in {"Eq", "GtEq", "Gt"}:
        low = max(low, first)
    if comparison in {"Eq", "LtEq", "Lt"}:
        high = min(high, last)
    return low, high


def _with_time(interval: tuple[int, int] | None, comparison: str, value: object, unit: str) -> tuple[int, int] | None:
    """Return the narrowed interval in milliseconds; it may be wider than the condition, which polars evaluates."""
    first, last = _milliseconds(value, up=False), _milliseconds(value, up=True)
    # A column in nanoseconds has the nearest representable time if the record's is out of range.
    if unit == "ns" or first is None or last is None:
        return interval
    # A column in seconds has the time rounded down to the second.
    return _narrowed(interval or (_MIN + 1, _MAX - 1), comparison, first, last + (999 if unit == "s" else 0))


def _comparisons(condition: Any) -> Iterator[tuple[str, str, Any]]:  # noqa: ANN401 - JSON
    """Iterate over the comparisons of a condition, as column, comparison and constant."""
    match condition:
        case {"BinaryExpr": {"left": {"Column": "offset" | "timestamp" as name}, "op": op, "right": constant}}:
            if op in _EXCHANGED:
                yield name, op, _value(constant)
        case {"BinaryExpr": {"left": constant, "op": op, "right": {"Column": "offset" | "timestamp" as name}}}:
            if op in _EXCHANGED:
                yield name, _EXCHANGED[op], _value(constant)
        case {
            "Function": {
                "input": [{"Column": "offset" | "timestamp" as name}, low, high],
                "function": {"Boolean": {"IsBetween": _}},
            }
        }:
            # Both ends are always included: polars evaluates the condition itself.
            yield name, "GtEq", _value(low)
            yield name, "LtEq", _value(high)
        case _:
            return


def _expression(tree: Any) -> pl.Expr | None:  # noqa: ANN401 - JSON
    try:
        return pl.Expr.deserialize(StringIO(json.dumps(tree)), format="json")
    except (pl.exceptions.PolarsError, ValueError):
        return None


def _value(tree: Any) -> Any:  # noqa: ANN401 - of any type
    """Return the value of an expression without columns; ``None`` for any other."""
    expression = _expression(tree)
    if expression is None or expression.meta.root_names():
        return None
    try:
        found = pl.select(expression)
    except pl.exceptions.PolarsError:
        return None
    return found.item() if found.shape == (1, 1) else None


def _milliseconds(value: Any, *, up: bool) -> int | None:  # noqa: ANN401 - of any type
    """Return milliseconds since the epoch, rounded up or down; ``None`` if the value is not a time."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        passed = value - _EPOCH
        return -(-passed // dt.timedelta(milliseconds=1)) if up else passed // dt.timedelta(milliseconds=1)
    return value if isinstance(value, int) else None
