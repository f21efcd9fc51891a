"""Log directories, scans and writing."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import kafkacomp as kc
from kafkacomp.typing import CompressionTypeLike, IsolationLevel, LogFormat, Source, StrPath, TimestampUnit


def topics(path: StrPath) -> dict[str, int]:
    logs = kc.LogDir(path)
    return {topic: sum(each.size for each in logs.select(topics=[topic])) for topic in logs.topics}


def hour(path: StrPath, start: datetime, end: datetime) -> Iterator[Any]:
    partition = kc.LogDir(path)["orders", 3]
    yield from partition.scan(start_time=start, end_time=end, columns=["key", "value"])


def index(path: Path) -> list[tuple[int, int]]:
    segment = kc.LogDir(path)["orders", 3].segments[-1]
    return [(entry.offset, entry.position) for entry in segment.offset_index or ()]


def options(source: Source, level: IsolationLevel, unit: TimestampUnit, log_format: LogFormat) -> kc.ScanReport:
    reader = kc.scan(source, isolation_level=level, topics=["orders-*"], partitions=[0], options=kc.ScanOptions(timestamp_unit=unit, log_format=log_format))
    with reader:
        table = pa.table(reader)
    print(table.num_rows)
    return reader.report


def sources(path: Path, logs: kc.LogDir) -> None:
    several: list[Source] = [path, str(path), b"", bytearray(), logs, logs["t", 0], [path, logs]]
    for source in several:
        kc.scan(source)
    kc.scan(logs)
    kc.scan([path, path / "t-0"])
    with path.open("rb") as opened:
        kc.scan(opened)


def write(table: "pa.Table", target: StrPath, compression_type: CompressionTypeLike = "zstd") -> str:
    report = kc.write(table, target, topic="orders", partition=3, compression_type=compression_type)
    again: kc.WriteReport = kc.write(kc.scan(report.path), target, topic="copy")
    missing = [each.first_offset for each in kc.scan(again.path).report.missing]
    print(missing)
    return report.path
