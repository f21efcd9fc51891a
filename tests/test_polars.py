"""``kc.polars.scan``: the rows of an eager frame, whatever is pushed into the scan, and few bytes read for few rows."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import kafkacomp as kc
from grouped import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

START = 1_700_000_000_000
PARTITIONS = [("orders", 0), ("orders", 1), ("users", 0)]
RECORDS = 20_000


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three partitions of many segments; timestamps rise by a second with each offset."""
    folder = tmp_path_factory.mktemp("polars") / "logs"
    for topic, partition in PARTITIONS:
        frame = pl.DataFrame({"offset": range(RECORDS)}).select(
            "offset",
            key=pl.col("offset").cast(pl.String).cast(pl.Binary),
            value=pl.format("{} value {}", "offset", pl.lit("x" * 90)).cast(pl.Binary),
            timestamp=(START + pl.col("offset") * 1000).cast(pl.Datetime("ms", "UTC")),
        )
        kc.write(frame, folder, topic=topic, partition=partition, segment_bytes=200_000, compression_type="none")
    return folder


def at(offset: int, micros: int = 0) -> dt.datetime:
    return dt.datetime.fromtimestamp(START // 1000 + offset, tz=dt.UTC) + dt.timedelta(microseconds=micros)


offset, timestamp, topic, partition = (pl.col(name) for name in ("offset", "timestamp", "topic", "partition"))
PREDICATES: dict[str, pl.Expr] = {
    "first": offset < 10,
    "last": offset >= RECORDS - 10,
    "exchanged": pl.lit(RECORDS - 10) <= offset,
    "equal": offset == 777,
    "between": offset.is_between(100, 120, closed="none"),
    "none": (offset > 5) & (offset < 5),
    "topic": (topic == "users") & (offset < 100),
    "topic in": topic.is_in(["users", "none"]) & (offset < 100),
    "starts with": topic.str.starts_with("ord") & (partition == 1) & (offset > 19_000),
    "not": ~(topic == "orders") & (offset < 100),
    "or": ((topic == "orders") | (partition == 1)) & (offset < 100),
    "or offsets": (offset < 10) | (offset > RECORDS - 10),
    "mixed or": (offset < 10) | (topic == "users"),
    "time from": timestamp >= at(19_990),
    "time above": timestamp > at(19_990),
    "time to": timestamp < at(10),
    "time within": (timestamp > at(10, 1)) & (timestamp <= at(20, 999)),
    "time equal": timestamp == at(10),
    "time between": timestamp.is_between(at(10), at(20)),
    "time or": (timestamp < at(10)) | (timestamp > at(19_990)),
    "null": timestamp.is_null(),
    "float": offset > 19_990.5,
    "arithmetic": offset + 1 < 10,
    "value": pl.col("value").bin.contains(b"77 value") & (offset < 1000),
    "key": pl.col("key") == b"777",
}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
@pytest.mark.parametrize("columns", [None, ["value"], ["timestamp", "offset"]], ids=str)
def test_rows_are_those_of_an_eager_frame(
    log_dir: Path, predicate: pl.Expr, columns: list[str] | None, engine: Any
) -> None:
    """With any predicate, projection and engine."""
    eager = pl.DataFrame(kc.scan(log_dir)).filter(predicate)
    lazy = kc.polars.scan(log_dir).filter(predicate)
    if columns:
        eager, lazy = eager.select(columns), lazy.select(columns)
    assert_frame_equal(lazy.collect(engine=engine), eager)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "int64"])
def test_time_units(log_dir: Path, unit: Any) -> None:
    """Bounds are of the record's time, the column may be coarser."""
    for shift in (0, 1, 500_000):
        bound: Any = at(100, shift) if unit != "int64" else START + 100_000 + shift // 1000
        for predicate in (
            timestamp <= bound,
            timestamp < bound,
            timestamp >= bound,
            timestamp > bound,
            timestamp == bound,
        ):
            eager = pl.DataFrame(kc.scan(log_dir, options=kc.ScanOptions(timestamp_unit=unit))).filter(predicate)
            assert_frame_equal(
                kc.polars.scan(log_dir, options=kc.ScanOptions(timestamp_unit=unit)).filter(predicate).collect(), eager
            )


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_queries(log_dir: Path, engine: Any) -> None:
    """Counts without columns, limits, aggregates, and a second collection."""
    log = kc.polars.scan(log_dir)
    for _ in range(2):
        assert log.select(pl.len()).collect(engine=engine).item() == 3 * RECORDS
    assert log.head(7).collect(engine=engine).height == 7
    assert log.filter(offset >= 5).head(7).select("offset").collect(engine=engine)["offset"].to_list() == [
        *range(5, 12)
    ]
    counted = log.group_by("topic", "partition").agg(pl.len()).sort("topic", "partition").collect(engine=engine)
    assert counted.rows() == [(*place, RECORDS) for place in PARTITIONS]


@pytest.mark.parametrize(
    "options",
    [
        {"start_offset": 100, "end_offset": 200},
        {"start_offset": {("orders", 1): 150}, "end_offset": {("users", 0): 50}},
        {"start_time": at(100), "end_time": START + 180_000},
        {"topics": ["orders"]},
        {"partitions": [0]},
        {"columns": ["offset", "topic", "partition", "timestamp"]},
        {"binary_type": "binary"},
    ],
    ids=str,
)
def test_options_of_scan_stay(log_dir: Path, options: dict[str, Any]) -> None:
    """Bounds of the query and of the options are both kept."""
    for predicate in (offset < 160, offset >= 120, (topic == "orders") & (timestamp > at(110)), offset < 0):
        eager = pl.DataFrame(kc.scan(log_dir, **grouped(**options))).filter(predicate)
        assert_frame_equal(kc.polars.scan(log_dir, **grouped(**options)).filter(predicate).collect(), eager)


def test_wrong_arguments_are_errors_at_once(log_dir: Path) -> None:
    """Not in collect."""
    with pytest.raises(TypeError, match="no_such"):
        kc.polars.scan(log_dir, no_such=1)  # type: ignore[call-arg]
    with pytest.raises(FileNotFoundError):
        kc.polars.scan(log_dir / "missing")


def bytes_read(work: Callable[[], object]) -> int:
    """What the process reads while it works."""

    def read() -> int:
        return int(Path("/proc/self/io").read_text(encoding="ascii").split("rchar:")[1].split()[0])

    before = read()
    work()
    return read() - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts by /proc/self/io")
def test_few_bytes_are_read_for_few_rows(log_dir: Path) -> None:
    """Partitions, segments and batches that the predicate rules out are not read."""
    log = kc.polars.scan(log_dir)
    everything = bytes_read(lambda: log.select("value").collect())
    total = sum(path.stat().st_size for path in log_dir.rglob("*.log"))
    assert everything >= total
    assert bytes_read(lambda: log.filter(topic == "users").select("value").collect()) < total * 0.4
    one = (topic == "users") & (offset == 15_000)
    assert bytes_read(lambda: log.filter(one).select("value").collect()) < total * 0.1
    late = (topic == "users") & (timestamp >= at(19_900))
    assert bytes_read(lambda: log.filter(late).select("value").collect()) < total * 0.15
    assert bytes_read(lambda: log.filter(offset > 2**40).collect()) < total * 0.05
    assert bytes_read(lambda: log.filter(offset < 5, offset > 7).collect()) < total * 0.05
    assert (
        bytes_read(lambda: kc.polars.scan(log_dir, options=kc.ScanOptions(threads=1)).head(5).collect()) < total * 0.2
    )
