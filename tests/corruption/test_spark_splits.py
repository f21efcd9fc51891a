"""What Spark's tasks miss together is what a scan of the whole partition misses, wherever the segments are split."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.checks import check
from corruption.inject import Piece, applies, inject, intact
from corruption.logs import all_logs, built
from corruption.model import expected
from corruption.tools import spark_drop

if TYPE_CHECKING:
    from pathlib import Path

    from corruption.logs import Log

KINDS = ["zeroed range", "batch removed", "middle segment deleted", "flipped bit: crc", "closed segment truncated"]
CASES = [(kind, log) for kind in KINDS for log in all_logs() if applies(kind, log) and not log.is_compacted]


def missed(reports: list[kc.ScanReport]) -> set[int]:
    """All offsets that are named."""
    ranges = [each for report in reports for each in report.missing]
    return {offset for each in ranges for offset in range(each.first_offset, each.last_offset + 1)}


@pytest.mark.parametrize(("kind", "log"), CASES, ids=lambda value: str(value).replace(" ", "-"))
@pytest.mark.parametrize("split_size", [100, 300, 10_000])
def test_tasks_miss_what_a_scan_misses(kind: str, log: Log, split_size: int, tmp_path: Path) -> None:
    """With ``mode=DROPMALFORMED``; no task names an offset that another one delivers."""
    from kafkacomp.spark import KafkaCompDataSource  # noqa: PLC0415 - takes a second
    from kafkacomp.spark._plan import SegmentPartition  # noqa: PLC0415 - takes a second

    folder = inject(log, kind, random.Random(f"splits {kind} {log.name}")).write(tmp_path)
    whole = kc.scan(folder, columns=["offset"], on_error="skip", options=kc.ScanOptions(include_control=True))
    offsets = [offset for batch in whole for offset in batch.column("offset").to_pylist()]
    source = KafkaCompDataSource({"path": str(folder), "mode": "DROPMALFORMED", "splitSize": str(split_size)})
    reports, delivered = [], []
    for task in source.reader(source.schema()).partitions():
        assert isinstance(task, SegmentPartition)
        part = kc.scan(
            task.partition,
            columns=["offset"],
            on_error="skip",
            start_offset=task.start_offset,
            end_offset=task.end_offset,
            options=kc.ScanOptions(include_control=True, threads=1),
        )
        delivered += [offset for batch in part for offset in batch.column("offset").to_pylist()]
        reports.append(part.report)
    assert delivered == offsets
    assert missed(reports) == missed([whole.report])


@pytest.mark.parametrize("split_size", [300, 1_500])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_splits_know_where_the_segment_ends(tmp_path: Path, magic: int, split_size: int) -> None:
    """More batches of another partition than follow them in the segment: their offsets are those of later segments."""
    log = built(magic, "gzip", segments=3, batches=120)
    other = built(magic, "gzip", segments=2, batches=1_000).segments[1]
    injected = intact(log)
    injected.segments[0].pieces[50:100] = [Piece(batch.data, None, is_copy=True) for batch in other[:50]]
    injected.kind = "run overwritten by a later run"
    where = injected.write(tmp_path)
    assert not check("Spark DROPMALFORMED", spark_drop(where, split_size), injected, expected(injected))
