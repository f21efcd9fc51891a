"""A reading with bounds of offset or time, compared with the reading of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import pyarrow as pa

import kafkacomp as kc
from kafkacomp import _kafkacomp
from kafkacomp.tiered.source import resolve
from missing_ranges import Range, ranges_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Bounds", "differences", "is_part", "is_within", "rows"]

#: Offset and timestamp in ms; ``None`` in format 0 and 0.7.
Row = tuple[int, int | None]


class Bounds(TypedDict, total=False):
    """Arguments of a scan."""

    start_offset: int
    end_offset: int
    start_time: int
    end_time: int


def rows(folder: Path, threads: int, bounds: Bounds) -> list[Row]:
    """What a scan returns that reads on after corruption."""
    return rows_and_missing(folder, threads, bounds)[0]


def rows_and_missing(folder: Path, threads: int, bounds: Bounds) -> tuple[list[Row], list[Range]]:
    """The same, and the ranges that it reports as missing."""
    scanned = kc.scan(
        folder,
        columns=["offset", "timestamp"],
        on_error="skip",
        start_offset=bounds.get("start_offset"),
        end_offset=bounds.get("end_offset"),
        start_time=bounds.get("start_time"),
        end_time=bounds.get("end_time"),
        options=kc.ScanOptions(timestamp_unit="int64", threads=threads),
    )
    table = pa.table(scanned)
    found = list(zip(table.column("offset").to_pylist(), table.column("timestamp").to_pylist(), strict=True))
    return found, ranges_of(scanned.report.missing)


def is_within(row: Row, bounds: Bounds) -> bool:
    """Whether a row is what the bounds ask for."""
    offset, time = row
    if not bounds.get("start_offset", offset) <= offset < bounds.get("end_offset", offset + 1):
        return False
    if "start_time" not in bounds and "end_time" not in bounds:
        return True
    return time is not None and time >= 0 and bounds.get("start_time", time) <= time < bounds.get("end_time", time + 1)


def cut(missing: list[Range], bounds: Bounds) -> list[Range]:
    """The parts of missing ranges that are within bounds of offsets."""
    start, end = bounds.get("start_offset", 0), bounds.get("end_offset", 1 << 63)
    parts = ((max(first, start), min(last, end - 1), reason) for first, last, reason in missing)
    return [each for each in parts if each[0] <= each[1]]


def is_part(one: Range, ranges: list[Range]) -> bool:
    """Whether one of the ranges has all these offsets, with the same reason."""
    return any(first <= one[0] <= one[1] <= last and reason == one[2] for first, last, reason in ranges)


def random_bounds(all_rows: list[Row], rng: random.Random) -> Iterator[Bounds]:
    """Generate bounds that divide the rows."""
    offsets = sorted({offset for offset, _ in all_rows})
    times = sorted({time for _, time in all_rows if time is not None and time >= 0})
    for _ in range(8):
        bounds: Bounds = {}
        if offsets and rng.random() < 0.6:
            bounds["start_offset"] = rng.choice(offsets) + rng.choice((0, 0, 1))
        if offsets and rng.random() < 0.4:
            bounds["end_offset"] = max(rng.choice(offsets) + rng.choice((0, 1)), bounds.get("start_offset", 0))
        if times and rng.random() < 0.5:
            bounds["start_time"] = rng.choice(times) + rng.choice((0, 0, 1))
        if times and rng.random() < 0.3:
            bounds["end_time"] = max(rng.choice(times) + rng.choice((0, 1)), bounds.get("start_time", 0))
        yield bounds


def differences(folder: Path, rng: random.Random) -> list[str]:
    """Where bounds give something else, and where the offset of a time is not that of the first record from then on."""
    try:
        all_rows, all_missing = rows_and_missing(folder, 1, {})
    except FileNotFoundError:
        return []  # nothing is left
    found = []
    for bounds in random_bounds(all_rows, rng):
        threads = rng.choice((1, 3))
        wanted = [row for row in all_rows if is_within(row, bounds)]
        got, missing = rows_and_missing(folder, threads, bounds)
        if got != wanted:
            found.append(f"{bounds}, {threads} threads: {set(wanted) ^ set(got)}")
        within = cut(all_missing, bounds)
        if strange := [each for each in missing if not is_part(each, within)]:
            found.append(f"{bounds}, {threads} threads: {strange} are missing, of all {all_missing}")
        if "start_time" in bounds:
            time, (partition,), skip = bounds["start_time"], resolve(str(folder), None, None), True
            first = next((offset for offset, each in all_rows if each is not None and each >= time), None)
            offset = _kafkacomp.offset_for_time(partition, time, "auto", skip, 1 << 30)
            if offset != first:
                found.append(f"the offset of {time} is {first}, not {offset}")
    return found
