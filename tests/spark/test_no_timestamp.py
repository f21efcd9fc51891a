"""Records without a timestamp in Spark: null when read, -1 when written, and left out by filters on times."""

from __future__ import annotations

import datetime as dt
import random
import struct
from typing import TYPE_CHECKING

import pytest

from checksums import crc32c
from kafkacomp import record
from kafkacomp.record import NO_TIMESTAMP, RecordBatchBuilder
from kafkacomp.spark._options import parse
from kafkacomp.spark._plan import Pruning, plan
from kafkacomp.spark._read import read_task

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TIME = 1_700_000_000_000
DAY = 86_400_000
TIMES = [NO_TIMESTAMP if n % 3 else TIME + n * DAY for n in range(40)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A partition: two batches, of which the second one has no timestamp at all."""
    made = []
    for base, times in ((0, TIMES), (len(TIMES), [NO_TIMESTAMP] * 20)):
        builder = RecordBatchBuilder(base_offset=base, compression_type="lz4")
        for time in times:
            builder.append(b"value", timestamp=time)
        made.append(bytes(builder.build()))
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(made))
    return folder.parent


ALL = [*TIMES, *([NO_TIMESTAMP] * 20)]


def millis(frame: DataFrame) -> list[int | None]:
    """The timestamps in the order of offsets."""
    rows = frame.selectExpr("offset", "unix_millis(timestamp) as time", "timestampType").collect()
    assert {row.timestampType for row in rows} == {0}
    return [row.time for row in sorted(rows, key=lambda row: row.offset)]


def test_reads(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """A batch query and a stream; an aggregate and a window see only what has a time."""
    wanted = [None if time == NO_TIMESTAMP else time for time in ALL]
    frame = spark.read.format("kafkacomp").load(str(logs))
    assert frame.schema["timestamp"].nullable
    assert millis(frame) == wanted
    (row,) = frame.selectExpr("unix_millis(min(timestamp)) as least", "count(timestamp) as timed").collect()
    assert (row.least, row.timed) == (TIME, 14)
    assert frame.groupBy("timestampType").count().collect()[0]["count"] == 60
    assert (
        sum(row["count"] for row in frame.selectExpr("window(timestamp, '1 day') as w").groupBy("w").count().collect())
        == 14
    )
    stream = spark.readStream.format("kafkacomp").option("startingOffsets", "earliest").load(str(logs))
    writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    assert millis(spark.read.parquet(str(tmp_path / "rows"))) == wanted


def test_writes(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """A batch query writes no timestamp where the row has null, and not the time of the query."""
    frame = spark.read.format("kafkacomp").load(str(logs)).orderBy("offset").coalesce(1)
    rows = frame.select("value", "timestamp", "topic")
    rows.write.format("kafkacomp").mode("append").save(str(tmp_path / "again"))
    (segment,) = (tmp_path / "again" / "t-0").glob("*.log")
    assert [each.timestamp for batch in record.read_batches(segment.read_bytes()) for each in batch] == ALL
    bare = rows.select("value", "topic")
    bare.write.format("kafkacomp").mode("append").save(str(tmp_path / "bare"))
    (segment,) = (tmp_path / "bare" / "t-0").glob("*.log")
    assert {each.timestamp for batch in record.read_batches(segment.read_bytes()) for each in batch} == {NO_TIMESTAMP}


def test_filters_on_times(logs: Path) -> None:
    """What the filters of a query leave to a task contains every row that passes them, also with times below -1."""
    segment = logs / "t-0" / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    builder = RecordBatchBuilder(base_offset=len(ALL))
    for time in (0, 5):
        builder.append(b"v", timestamp=time)
    early = bytearray(builder.build())
    early[27:35] = struct.pack(">q", -4)
    early[17:21] = struct.pack(">I", crc32c(bytes(early[21:])))
    segment.write_bytes(data + early)
    options = parse({"path": str(logs), "columns": "offset,timestamp"})
    times = [None if time == NO_TIMESTAMP else time for time in ALL] + [-4, 1]
    random_ = random.Random(5)
    bounds = [None, -(2**62), -5, -4, -1, 0, 1, 2, TIME, TIME + 9 * DAY, TIME + 39 * DAY, TIME * 2]
    for _ in range(100):
        start, end = random_.choice(bounds), random_.choice(bounds)
        tasks = plan(options, Pruning(start_timestamp=start, end_timestamp=end))
        read = {row["offset"] for task in tasks for batch in read_task(options, task) for row in batch.to_pylist()}
        passed = {
            offset
            for offset, time in enumerate(times)
            if (start, end) == (None, None)
            or (time is not None and (start is None or time >= start) and (end is None or time < end))
        }
        assert passed <= read, (start, end)
        if start is not None and start > 0:
            assert passed == read, (start, end)


def test_filters_of_a_query(spark: SparkSession, logs: Path) -> None:
    frame = spark.read.format("kafkacomp").load(str(logs))
    assert frame.where(f"timestamp < timestamp_millis({TIME * 2})").count() == 14
    assert frame.where("timestamp is null").count() == 46
    assert frame.where(f"timestamp <=> timestamp_millis({TIME})").count() == 1
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert frame.where(frame.timestamp >= epoch).count() == 14
