"""Partitions whose batch headers show any greatest timestamp, and every door through which a time bound reads them."""

from __future__ import annotations

import json
import pickle
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import fsspec
import polars as pl
import pyarrow as pa
from aiokafka.record.util import calc_crc32c

import kafkacomp as kc
from grouped import grouped
from kafkacomp._cli.command import run
from kafkacomp.record import RecordBatchBuilder
from kafkacomp.spark import KafkaCompDataSource
from kafkacomp.spark._plan import Pruning, SegmentPartition
from kafkacomp.spark._read import KafkaCompReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Batch(NamedTuple):
    """The timestamps of a batch's records, and the greatest one in its header; by default the true one."""

    times: Sequence[int]
    header: int | None = None
    value: bytes = b"v"


def with_max_timestamp(batch: bytes, timestamp: int) -> bytes:
    """The batch with another greatest timestamp in its header, its checksum right."""
    data = bytearray(batch)
    if batch[16] == 2:
        data[35:43] = timestamp.to_bytes(8, "big", signed=True)
        data[17:21] = calc_crc32c(bytes(data[21:])).to_bytes(4, "big")
    else:
        data[18:26] = timestamp.to_bytes(8, "big", signed=True)
        data[12:16] = zlib.crc32(bytes(data[16:])).to_bytes(4, "big")
    return bytes(data)


def build(batch: Batch, base_offset: int, magic: int, compression_type: str) -> bytes:
    """The bytes of a batch."""
    builder = RecordBatchBuilder(magic=magic, compression_type=compression_type, base_offset=base_offset)
    for time in batch.times:
        builder.append(batch.value, timestamp=time)
    data = builder.build()
    return data if batch.header is None else with_max_timestamp(data, batch.header)


def write(
    folder: Path, segments: Sequence[Sequence[Batch]], magic: int = 2, compression_type: str = "gzip"
) -> list[tuple[int, int]]:
    """Write the partition ``t-0`` into a log directory; return offset and time of each record."""
    folder = folder / "t-0"
    folder.mkdir(parents=True)
    rows: list[tuple[int, int]] = []
    for segment in segments:
        path = folder / f"{len(rows):020}.log"
        content = []
        for batch in segment:
            content.append(build(batch, len(rows), magic, compression_type))
            rows += [(len(rows) + number, time) for number, time in enumerate(batch.times)]
        path.write_bytes(b"".join(content))
    return rows


class Answer(NamedTuple):
    """What a door gave; ``None`` if it has no list of missing offsets."""

    offsets: list[int]
    missing: list[tuple[int, int, str]] | None = None


def _scanned(source: object, start: int | None, end: int | None, **options: Any) -> Answer:
    reader = kc.scan(source, columns=["offset"], start_time=start, end_time=end, **grouped(**options))  # type: ignore[arg-type]
    offsets = pa.table(reader)["offset"].to_pylist()
    return Answer(offsets, [(each.first_offset, each.last_offset, each.reason) for each in reader.report.missing])


def _remote(folder: Path, start: int | None, end: int | None) -> Answer:
    memory, target = fsspec.filesystem("memory"), f"/{folder.parent.name}-{folder.name}"
    if memory.exists(target):
        memory.rm(target, recursive=True)
    memory.put(str(folder), target, recursive=True)
    return _scanned(f"memory:/{target}", start, end)


def _polars(folder: Path, start: int | None, end: int | None) -> Answer:
    rows = kc.polars.scan(folder)
    for bound, keep in ((start, pl.Expr.ge), (end, pl.Expr.lt)):
        if bound is not None:
            instant = pl.lit(bound).cast(pl.Datetime("ms", "UTC"))
            rows = rows.filter(keep(pl.col("timestamp"), instant))
    return Answer(rows.select("offset").collect()["offset"].to_list())


def _exported(folder: Path, start: int | None, end: int | None) -> Answer:
    target = folder.parent / f"{folder.name}-export.jsonl"
    bounds = [f"--{name}-time={value}" for name, value in (("start", start), ("end", end)) if value is not None]
    run(["export", str(folder), "-o", str(target), "--force", *bounds])
    return Answer([json.loads(line)["offset"] for line in target.read_text().splitlines()])


def _spark(folder: Path, start: int | None, end: int | None, split_size: int) -> Answer:
    source = KafkaCompDataSource({"path": str(folder), "columns": "offset,timestamp", "splitSize": str(split_size),
                                  "failOnDataLoss": "false"})  # fmt: skip
    reader = source.reader(source.schema())
    assert isinstance(reader, KafkaCompReader)
    reader.pruning = Pruning(start_timestamp=start, end_timestamp=end)
    sent = pickle.loads(pickle.dumps(reader))  # noqa: S301 - our own
    missing: list[tuple[int, int, str]] = []
    sent.tell = lambda report: missing.extend((m.first_offset, m.last_offset, m.reason) for m in report.missing)
    offsets: list[int] = []
    for task in pickle.loads(pickle.dumps(sent.partitions())):  # noqa: S301 - our own
        assert isinstance(task, SegmentPartition)
        offsets += [offset for batch in sent.read(task) for offset in batch.column("offset").to_pylist()]
    return Answer(offsets, missing)


#: Every door that reads rows within bounds of time.
DOORS: dict[str, Callable[[Path, int | None, int | None], Answer]] = {
    "scan": lambda folder, start, end: _scanned(folder, start, end, threads=1),
    "scan, two threads": lambda folder, start, end: _scanned(folder, start, end, threads=2),
    "scan, skip": lambda folder, start, end: _scanned(folder, start, end, on_error="skip", threads=2),
    "LogDir": lambda folder, start, end: _scanned(kc.LogDir(folder)["t", 0], start, end),
    "several sources": lambda folder, start, end: _scanned([str(folder / "t-0")], start, end),
    "remote": _remote,
    "polars": _polars,
    "export": _exported,
    "Spark": lambda folder, start, end: _spark(folder, start, end, 1 << 27),
    "Spark, splits": lambda folder, start, end: _spark(folder, start, end, 1000),
}
