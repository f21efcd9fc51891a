"""A truncated batch that is followed by intact batches: its size field points into the next one.

Scans that begin at a time or an offset, and the tasks of Spark, follow headers to where they begin.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption.tools import spark_drop
from kafkacomp import _kafkacomp, record
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from pathlib import Path

#: Batches of ten records; all records of a batch have its timestamp.
BATCHES, RECORDS, TIMES = 4, 10, [1000, 2000, 3000, 4000]


def batches(magic: int) -> list[bytes]:
    """Compressed batches at offsets 0, 10, 20 and 30."""
    found = []
    for number, time in enumerate(TIMES):
        base = number * RECORDS
        table = pa.table(
            {
                "timestamp": pa.array([time] * RECORDS, pa.timestamp("ms", "UTC")),
                "value": [f"value {base + n} ".encode() * (3 + n) for n in range(RECORDS)],
            }
        )
        found.append(bytes(record.build_batches(table, base_offset=base, magic=magic, compression_type="gzip")))
    return found


def segment(folder: Path, magic: int, truncated: int, left: int) -> Path:
    """A partition whose batch ``truncated`` has only ``left`` hundredths of its bytes."""
    data = batches(magic)
    data[truncated] = data[truncated][: len(data[truncated]) * left // 100]
    (folder / "t-0").mkdir()
    (folder / "t-0" / f"{0:020}.log").write_bytes(b"".join(data))
    return folder / "t-0"


CASES = pytest.mark.parametrize(
    ("magic", "truncated", "left"),
    [(m, truncated, left) for m in (1, 2) for truncated in range(BATCHES - 1) for left in (10, 40, 70, 99)],
)


@CASES
@pytest.mark.parametrize("threads", [1, 2])
def test_no_intact_batch_is_left_out(magic: int, truncated: int, left: int, threads: int, tmp_path: Path) -> None:
    """A scan from a time or an offset on delivers all intact batches from there on."""
    folder = segment(tmp_path, magic, truncated, left)
    rows = [offset for offset in range(BATCHES * RECORDS) if offset // RECORDS != truncated]
    for start in range(0, BATCHES * RECORDS, 5):
        for time in (None, 500, *(time + 500 for time in TIMES)):
            scanned = kc.scan(
                folder,
                columns=["offset"],
                start_offset=start,
                start_time=time,
                on_error="skip",
                options=kc.ScanOptions(threads=threads),
            )
            wanted = [each for each in rows if each >= start and (time is None or TIMES[each // RECORDS] >= time)]
            assert pa.table(scanned).column("offset").to_pylist() == wanted, (start, time)


@CASES
def test_offset_of_a_time(magic: int, truncated: int, left: int, tmp_path: Path) -> None:
    """It is that of the first record of the intact batches."""
    (source,) = resolve(str(segment(tmp_path, magic, truncated, left)), None, None)
    intact = [number for number in range(BATCHES) if number != truncated]
    for before, number in pairwise([-1, *intact]):
        for time in range(TIMES[before] if before >= 0 else 0, TIMES[number], 500):
            skip = True
            assert _kafkacomp.offset_for_time(source, time + 1, "auto", skip, 1 << 30) == number * RECORDS, time


@CASES
def test_error_names_the_truncated_batch(magic: int, truncated: int, left: int, tmp_path: Path) -> None:
    """A strict search for a later time reports the position of the truncated batch."""
    (source,) = resolve(str(segment(tmp_path, magic, truncated, left)), None, None)
    with pytest.raises((kc.CorruptRecordError, kc.InvalidRecordError)) as caught:
        _kafkacomp.offset_for_time(source, TIMES[-1], "auto", False, 1 << 30)  # noqa: FBT003 - on_error
    assert caught.value.position == sum(map(len, batches(magic)[:truncated]))


@CASES
def test_end_offset(magic: int, truncated: int, left: int, tmp_path: Path) -> None:
    """It is not known by headers if intact batches follow."""
    (source,) = resolve(str(segment(tmp_path, magic, truncated, left)), None, None)
    assert _kafkacomp.end_offset(source.segments[-1], "auto") is None


@CASES
def test_segments_that_overlap_after_it(magic: int, truncated: int, left: int, tmp_path: Path) -> None:
    """One task reads both, so that no record is delivered twice."""
    folder = segment(tmp_path, magic, truncated, left)
    later = batches(magic)[-1]
    (folder / f"{(BATCHES - 1) * RECORDS:020}.log").write_bytes(later)
    found = [offset for offset, _ in spark_drop(folder).rows or []]
    assert found == [offset for offset in range(BATCHES * RECORDS) if offset // RECORDS != truncated]
