"""A record without a timestamp, which Kafka stores as -1: null in every column, and in no reading with a time bound."""

from __future__ import annotations

import csv
import datetime as dt
import json
import struct
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiokafka.record.util import calc_crc32c

import kafkacomp as kc
from golden.expect import SMALL
from grouped import grouped
from kafkacomp import log, record
from kafkacomp._cli import main
from kafkacomp.arrow import parse_cells
from kafkacomp.record import NO_TIMESTAMP, RecordBatchBuilder, TimestampType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TIME = 1_700_000_000_000
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
#: Fewer and more records than are appended at once; none of them has a timestamp, or some do.
SHAPES: dict[str, list[int]] = {
    "one": [NO_TIMESTAMP],
    "none of few": [NO_TIMESTAMP] * 3,
    "none of many": [NO_TIMESTAMP] * 300,
    "some of few": [TIME, NO_TIMESTAMP, 0],
    "some of many": [NO_TIMESTAMP if n % 7 == 0 else TIME + n for n in range(300)],
    "the first of many": [NO_TIMESTAMP, *range(TIME, TIME + 200)],
    "all of many": list(range(300)),
}


def batch(times: Sequence[int], base: int = 0, *, headers: bool = False, **settings: Any) -> bytes:
    """A batch whose records have these timestamps."""
    builder = RecordBatchBuilder(base_offset=base, **{"compression_type": "none", **settings})
    for number, time in enumerate(times):
        builder.append(b"v%d" % number, key=b"k", timestamp=time, headers=[("h", b"x")] if headers else [])
    return bytes(builder.build())


def with_base_timestamp(data: bytes, time: int) -> bytes:
    """A batch of magic 2 with another base timestamp, which moves all times; its checksum is right."""
    changed = bytearray(data)
    changed[27:35] = struct.pack(">q", time)
    changed[17:21] = struct.pack(">I", calc_crc32c(bytes(changed[21:])))
    return bytes(changed)


def times_of(source: Any, **options: Any) -> list[int | None]:
    """The timestamps of a scan as numbers."""
    table = pa.table(kc.scan(source, columns=["timestamp"], **grouped(**options)))
    found: list[int | None] = table["timestamp"].cast(pa.int64()).to_pylist()
    return found


def nulls(times: Sequence[int]) -> list[int | None]:
    return [None if time == NO_TIMESTAMP else time for time in times]


@pytest.mark.parametrize("times", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("headers", [False, True], ids=["plain", "headers"])
def test_columns(times: list[int], codec: str, magic: int, headers: bool) -> None:
    """Whatever way the records take into the columns; the timestamp type is the record's."""
    if magic < 2 and (headers or codec == "zstd"):
        return
    data = batch(times, headers=headers, compression_type=codec, magic=magic)
    for options in ({}, {"batch_rows": 5}, {"threads": 2}, {"binary_type": "binary_view"}):
        assert times_of(data, **options) == nulls(times)
    table = pa.table(kc.scan(data))
    assert table["timestampType"].unique().to_pylist() == [TimestampType.CREATE_TIME]
    assert table.schema.field("timestamp").nullable
    for found in record.read_batches(data) if magic == 2 else ():
        assert found.to_arrow()["timestamp"].cast(pa.int64()).to_pylist() == nulls(times)
        # Objects have the numbers of the format, as Kafka's own classes do.
        assert [each.timestamp for each in found] == found.columns().timestamps == times
        assert found.max_timestamp == max(times)


def test_batches_of_one_record() -> None:
    """They are appended several at a time."""
    times = [NO_TIMESTAMP if n % 3 else TIME + n for n in range(500)]
    assert times_of(b"".join(batch([time], n) for n, time in enumerate(times))) == nulls(times)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "int64"])
def test_units(unit: Any) -> None:
    times = [NO_TIMESTAMP, TIME, 0, NO_TIMESTAMP]
    reader = kc.scan(batch(times), columns=["timestamp"], options=kc.ScanOptions(timestamp_unit=unit))
    factor = {"s": 0.001, "us": 1000, "ns": 1_000_000}.get(unit, 1)
    column = pa.table(reader)["timestamp"].cast(pa.int64())
    assert column.to_pylist() == [None if time is None else int(time * factor) for time in nulls(times)]
    assert reader.report.clamped_timestamps == 0


@pytest.mark.parametrize("magic", range(3))
def test_cells(magic: int) -> None:
    times = [NO_TIMESTAMP, NO_TIMESTAMP if magic == 0 else 5]
    cells = pa.array([batch(times, magic=magic)])
    (found,) = pa.array(parse_cells(cells, timestamp_unit="int64")).to_pylist()
    assert [row["timestamp"] for row in found] == nulls(times)


def test_log_append_time() -> None:
    """A time that the broker has set is no producer's."""
    data = batch([NO_TIMESTAMP] * 20, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=TIME)
    assert times_of(data) == [TIME] * 20


def test_times_below_minus_one_are_kept() -> None:
    """No producer or broker of Kafka's own writes them, but no reader refuses them: only -1 means no timestamp."""
    data = with_base_timestamp(batch(range(0, 30, 2)), -9)
    wanted = list(range(-9, 21, 2))
    assert [each.timestamp for found in record.read_batches(data) for each in found] == wanted
    assert times_of(data) == nulls(wanted)
    assert times_of(data, end_time=10) == [time for time in wanted if time < 10 and time != NO_TIMESTAMP]
    assert times_of(data, start_time=0) == [time for time in wanted if time >= 0]


@pytest.fixture
def times() -> list[int]:
    return [NO_TIMESTAMP, TIME, NO_TIMESTAMP, 0, *([NO_TIMESTAMP] * 20), TIME + 86_400_000]


@pytest.fixture
def logs(tmp_path: Path, times: list[int]) -> Path:
    """A log directory that was written from a table whose timestamps are null here and there."""
    rows = {"value": [f"v{n}" for n in range(len(times))], "timestamp": pa.array(nulls(times), pa.timestamp("ms"))}
    kc.write(pa.table(rows), tmp_path / "logs", topic="t")
    return tmp_path / "logs"


def stored(folder: Path) -> list[int]:
    """The timestamps in the segments of a partition's folder."""
    found = (batch for path in sorted(folder.glob("*.log")) for batch in record.read_batches(path.read_bytes()))
    return [each.timestamp for batch in found for each in batch]


def test_writers_store_minus_one(logs: Path, times: list[int], tmp_path: Path) -> None:
    """Null becomes -1 again, and not the time of writing; rewriting keeps it."""
    assert stored(logs / "t-0") == times
    rows = pa.table(kc.scan(logs))
    kc.write(rows, tmp_path / "again")
    assert stored(tmp_path / "again" / "t-0") == times
    built = record.build_batches(rows)
    assert [each.timestamp for found in record.read_batches(built) for each in found] == times
    for codec in ("none", "lz4"):
        (tmp_path / codec).mkdir()
        log.recompress(logs / "t-0", tmp_path / codec / "t-0", compression_type=codec)
        assert stored(tmp_path / codec / "t-0") == times
    (tmp_path / "old").mkdir()
    log.convert(tmp_path / "lz4" / "t-0", tmp_path / "old" / "t-0", 1)
    assert stored(tmp_path / "old" / "t-0") == times
    kc.write(pa.table({"value": ["a"]}), tmp_path / "bare", topic="t")
    assert stored(tmp_path / "bare" / "t-0") == [NO_TIMESTAMP]
    assert times_of(tmp_path / "bare") == [None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "int64"])
def test_columns_of_any_unit_are_written(unit: Any, times: list[int]) -> None:
    rows = pa.table(kc.scan(batch(times), columns=["value", "timestamp"], options=kc.ScanOptions(timestamp_unit=unit)))
    found = [each.timestamp for found in record.read_batches(record.build_batches(rows)) for each in found]
    assert found == times


def test_data_frames(logs: Path, times: list[int]) -> None:
    missing = times.count(NO_TIMESTAMP)
    frame = kc.polars.scan(logs)
    assert frame.select(pl.col("timestamp").is_null().sum()).collect().item() == missing
    assert frame.select(pl.col("timestamp").min()).collect().item() == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    column = pd.DataFrame.from_arrow(kc.scan(logs, columns=["timestamp"]))["timestamp"]
    assert column.isna().sum() == missing


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("timestamp") < dt.datetime(2100, 1, 1, tzinfo=dt.UTC),
        pl.col("timestamp") >= dt.datetime(1960, 1, 1, tzinfo=dt.UTC),
        pl.col("timestamp").is_between(dt.datetime(1960, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)),
        pl.col("timestamp").is_null(),
        pl.col("timestamp").is_not_null(),
        pl.col("timestamp").eq_missing(None),
        pl.col("timestamp").ne_missing(dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)),
        (pl.col("timestamp") < dt.datetime(1980, 1, 1, tzinfo=dt.UTC)) | pl.col("timestamp").is_null(),
    ],
    ids=str,
)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_conditions_of_polars(logs: Path, condition: pl.Expr, unit: Any) -> None:
    """What is pushed down into the scan is what polars finds in all rows."""
    frame = kc.polars.scan(logs, options=kc.ScanOptions(timestamp_unit=unit))
    wanted = (
        pl.DataFrame(kc.scan(logs, options=kc.ScanOptions(timestamp_unit=unit))).filter(condition)["offset"].to_list()
    )
    assert frame.filter(condition).select("offset").collect()["offset"].to_list() == wanted


def test_time_bounds(logs: Path, times: list[int]) -> None:
    """Records without a timestamp are in no reading that a time bounds."""
    timed = [time for time in times if time != NO_TIMESTAMP]
    assert times_of(logs, start_time=0) == timed
    assert times_of(logs, end_time=TIME * 2) == timed
    assert times_of(logs, end_time=1) == [0]
    assert times_of(logs, start_time=1) == [time for time in timed if time]
    partition = kc.LogDir(logs)["t", 0]
    assert pa.table(partition.scan(start_time=0)).num_rows == len(timed)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("unit", ["ms", "int64"])
def test_exported_files(logs: Path, times: list[int], tmp_path: Path, kind: str, unit: str) -> None:
    target = tmp_path / f"rows.{kind}"
    assert main(["export", str(logs), "-o", str(target), f"--timestamp-unit={unit}"]) == 0
    if kind == "csv":
        rows = list(csv.DictReader(target.read_text().splitlines()))
        found = [int(row["timestamp"]) if row["timestamp"] else None for row in rows]
    elif kind == "jsonl":
        found = [json.loads(line)["timestamp"] for line in target.read_text().splitlines()]
    else:
        table = pq.read_table(target) if kind == "parquet" else pa.ipc.open_file(target).read_all()
        found = table["timestamp"].cast(pa.int64()).to_pylist()
    assert found == nulls(times)


def test_export_by_date(logs: Path, times: list[int], tmp_path: Path) -> None:
    """No record is in the folder of a day that it does not have."""
    target = tmp_path / "rows"
    assert main(["export", str(logs), "-o", str(target), "--partition-by=date", "--format=parquet"]) == 0
    rows = {path.parent.name: pq.read_metadata(path).num_rows for path in target.rglob("*.parquet")}
    assert rows == {
        "date=__HIVE_DEFAULT_PARTITION__": times.count(NO_TIMESTAMP),
        "date=1970-01-01": 1,
        "date=2023-11-14": 1,
        "date=2023-11-15": 1,
    }


def dumped(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["dump", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("magic", range(3))
def test_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str], magic: int) -> None:
    """Records have null; headers of batches have the number that is stored."""
    times = [NO_TIMESTAMP] * 3 if magic == 0 else [NO_TIMESTAMP, TIME, NO_TIMESTAMP]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(times, magic=magic, compression_type="gzip") + batch([NO_TIMESTAMP], 3, magic=magic))
    wanted = [*nulls(times), None]
    lines = [json.loads(line) for line in dumped(capsys, "--deep", "--format=jsonl", path).splitlines()]
    assert [line["timestamp"] for line in lines if line["type"] == "record"] == wanted
    assert [line["timestamp"] for line in lines if line["type"] == "batch"] == [max(times), NO_TIMESTAMP]
    cells = dumped(capsys, "--deep", "--format=csv", path)
    assert cells.count(",CreateTime,," if magic else ",NoTimestampType,,") == wanted.count(None)
    table = dumped(capsys, "--deep", path)
    assert "1969" not in table
    assert "-1 ms" not in table
    # The lines of kafka-dump-log have Kafka's number.
    kind = "CreateTime" if magic else "NoTimestampType"
    assert dumped(capsys, "--deep", "--format=kafka", path).count(f" {kind}: -1 keySize") == wanted.count(None)


@pytest.mark.parametrize("bound", ["--start-time=0", f"--end-time={TIME * 2}"])
def test_dump_within_time_bounds(logs: Path, times: list[int], bound: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = dumped(capsys, "--deep", "--format=jsonl", bound, logs / "t-0" / f"{0:020}.log")
    rows = [json.loads(line) for line in out.splitlines()]
    found = [row["timestamp"] for row in rows if row["type"] == "record"]
    assert found == [time for time in times if time != NO_TIMESTAMP]


@pytest.mark.parametrize("to_magic", [1, 2])
@pytest.mark.parametrize("name", ["sp-none", "sp-gzip", "sp-snappy"])
def test_a_migrated_log_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], to_magic: int, name: str
) -> None:
    """Messages of format 0 have no timestamps, and get none."""
    for broker in ("broker-0.8.2.2", "broker-0.9.0.1"):
        source = SMALL / "legacy" / broker / f"{name}.log"
        if not source.exists():
            continue
        old = tmp_path / broker / "old" / "t-0"
        old.mkdir(parents=True)
        (old / f"{0:020}.log").write_bytes(source.read_bytes())
        (tmp_path / broker / "new").mkdir()
        log.convert(old, tmp_path / broker / "new" / "t-0", to_magic)
        assert main(["diff", "--json", str(old.parent), str(tmp_path / broker / "new")]) == 0
        assert json.loads(capsys.readouterr().out)["records"] > 0
