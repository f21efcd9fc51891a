"""Every log of the vectors with its full reading, and what a bounded reading must give according to it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import kafkacomp as kc
from grouped import grouped
from kafkacomp.exceptions import KafkaCompError

from . import tiered
from .expect import label, roots

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

#: What identifies a row, and decides whether it is within bounds.
COLUMNS = ["topic", "partition", "offset", "timestamp", "segment", "position", "value"]
OPTIONS: dict[str, Any] = {"columns": COLUMNS, "timestamp_unit": "int64", "include_control": True}
NO_TIMESTAMP = -1


class Bounds(NamedTuple):
    """The bounds of a reading; ``None`` is no bound."""

    start_time: int | None = None
    end_time: int | None = None
    start_offset: int | None = None
    end_offset: int | None = None

    def given(self) -> dict[str, Any]:
        """The arguments of a scan."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def rows_of(self, full: pa.Table) -> pa.Table:
        """The rows of a full reading that are within the bounds."""
        for name, start, end in (
            ("offset", self.start_offset, self.end_offset),
            ("timestamp", self.start_time, self.end_time),
        ):
            if start is not None:
                full = full.filter(pc.field(name) >= start)
            if end is not None:
                full = full.filter(pc.field(name) < end)
        if (self.start_time, self.end_time) != (None, None):
            full = full.filter(pc.field("timestamp") != NO_TIMESTAMP)
        return full

    def cut(self, missing: Missing) -> Missing | None:
        """The part of a missing range that is within the bounds of offsets."""
        first = missing.first if self.start_offset is None else max(missing.first, self.start_offset)
        last = missing.last if self.end_offset is None else min(missing.last, self.end_offset - 1)
        return missing._replace(first=first, last=last) if first <= last else None


class Missing(NamedTuple):
    """A range of missing offsets; the reason depends on what else was read."""

    topic: str | None
    partition: int | None
    first: int
    last: int


class Reading(NamedTuple):
    """What a scan gave."""

    rows: pa.Table
    missing: list[Missing]
    error: str | None = None


@dataclass(frozen=True)
class Log:
    """A source, and what a scan of all of it gives."""

    name: str
    source: Any
    known: dict[str, Any] = field(default_factory=dict)

    def read(self, bounds: Bounds = Bounds(), **options: Any) -> Reading:  # noqa: B008 - a constant
        """Read it within bounds."""
        reader = kc.scan(self.source, **grouped(**{**OPTIONS, **self.known, **options}, **bounds.given()))
        batches: list[pa.RecordBatch] = []
        error = None
        try:
            batches.extend(reader)
        except KafkaCompError as raised:
            error = str(raised)
        rows = pa.Table.from_batches(batches, pa.schema(reader))
        return Reading(rows, merged(reader.report.missing), error)

    @cached_property
    def full(self) -> Reading:
        """The full reading, which skips corruption."""
        return self.read(on_error="skip", threads=1)

    @cached_property
    def is_intact(self) -> bool:
        """Whether reading it is no error."""
        return self.read(threads=1).error is None

    @cached_property
    def interior(self) -> list[tuple[str | None, int | None, int, int, int]]:
        """Topic, partition, base offset, last offset and greatest timestamp of each segment."""
        found = []
        rows = self.full.rows
        for name in rows["segment"].unique().to_pylist():
            of = rows.filter(pc.field("segment") == name)
            place = of["topic"][0].as_py(), of["partition"][0].as_py()
            offsets, times = pc.min_max(of["offset"]).as_py(), pc.max(of["timestamp"]).as_py()
            base = re.match(r"\d{20}", name.rsplit("/", 1)[-1])
            first = offsets["min"] if base is None else int(base[0])
            found.append((*place, first, offsets["max"], NO_TIMESTAMP if times is None else times))
        return found

    def check(self, bounds: Bounds, reading: Reading) -> None:
        """Compare a bounded reading with the full one."""
        assert reading.error is None, (self.name, bounds)
        is_of_0_7 = pc.all(pc.is_null(self.full.rows["timestamp"])).as_py()
        wanted = bounds.rows_of(self.full.rows)
        if not is_of_0_7:
            assert reading.rows.equals(wanted), (self.name, bounds)
        whole = [cut for each in self.full.missing if (cut := bounds.cut(each)) is not None]
        if bounds.start_time is None:
            assert reading.missing == whole, (self.name, bounds)
            return
        # Ranges inside a segment that was skipped may be left out, no others; and nothing else is missing.
        for each in reading.missing:
            assert each in whole, (self.name, bounds)
        for each in set(whole) - set(reading.missing):
            assert self._is_in_early_segment(each, bounds.start_time), (self.name, bounds, each)

    def _is_in_early_segment(self, missing: Missing, start: int) -> bool:
        return any(
            (missing.topic, missing.partition) == (topic, partition)
            and first <= missing.first
            and missing.last < last
            and latest < start
            for topic, partition, first, last, latest in self.interior
        )

    def some_bounds(self, rng: random.Random) -> Bounds:
        """Bounds near what is in the log."""
        rows = self.full.rows

        def near(name: str, spread: int) -> int | None:
            if rng.random() < 0.3 or not rows.num_rows:
                return None
            value = rows[name][rng.randrange(rows.num_rows)].as_py()
            return max((value or 0) + rng.choice([0, 0, 1, -1, rng.randint(-spread, spread)]), 0)

        times = sorted([near("timestamp", 10_000), near("timestamp", 10_000)], key=lambda time: time or 0)
        if rng.random() < 0.4:
            return Bounds(*_ordered(times))
        offsets = [near("offset", 50), near("offset", 50)]
        return Bounds(*(_ordered(times) if rng.random() < 0.6 else (None, None)), *_ordered(offsets))

    def grid(self, steps: int) -> Iterator[Bounds]:
        """Bounds of time at even distances, and of offsets."""
        for name in ("time", "offset"):
            column = self.full.rows["timestamp" if name == "time" else "offset"]
            ends = pc.min_max(column).as_py()
            if ends["max"] is None:
                continue
            first, last = max(ends["min"], 0), max(ends["max"], 0) + 1
            points = sorted({first + (last - first) * step // steps for step in range(steps + 1)})
            for start, end in itertools.pairwise(points):
                yield Bounds(**{f"start_{name}": start, f"end_{name}": end})


def _ordered(bounds: list[int | None]) -> list[int | None]:
    start, end = bounds
    return bounds if start is None or end is None else [min(start, end), max(start, end)]


def merged(missing: Any) -> list[Missing]:
    """Missing ranges in order, adjacent ones merged whatever their reasons."""
    found: list[Missing] = []
    for each in missing:
        now = Missing(each.topic, each.partition, each.first_offset, each.last_offset)
        if found and found[-1][:2] == now[:2] and found[-1].last + 1 == now.first:
            found[-1] = found[-1]._replace(last=now.last)
        else:
            found.append(now)
    return found


@lru_cache
def logs() -> list[Log]:
    """Every partition's folder, every single file of a log, and every partition in tiered storage."""
    found = []
    for root in [each for era in ("modern", "legacy", "v07") for each in roots(era)]:
        paths = [path for path in sorted([*root.rglob("*.log"), *root.rglob("*.kafka")]) if path.stat().st_size]
        folders = dict.fromkeys(path.parent if path.stem.isdecimal() else path for path in paths)
        found += [Log(f"{label(root)}-{root.name}/{path.relative_to(root)}", str(path)) for path in folders]
    found += [Log(str(case), str(case.folder), case.known) for case in tiered.cases()]
    return found
