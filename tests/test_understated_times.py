"""Records decide a time bound: a header that understates its greatest timestamp hides none where a segment is read."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._cli.command import run
from understated import DOORS, Batch, write

if TYPE_CHECKING:
    from pathlib import Path

#: Times of the records, in ms: early ones, late ones, and the bound between them.
EARLY, BOUND, LATE = 1_000_000, 2_000_000, 3_000_000


def within(rows: list[tuple[int, int]], start: int | None, end: int | None = None) -> list[int]:
    return [
        offset
        for offset, time in rows
        if time != -1 and (start is None or time >= start) and (end is None or time < end)
    ]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("magic", "compression_type"), [(1, "gzip"), (2, "zstd")])
def test_within_a_segment_records_decide(tmp_path: Path, door: str, magic: int, compression_type: str) -> None:
    rng = random.Random(magic)
    batches = []
    for _ in range(40):
        times = [rng.choice([EARLY, LATE, -1]) + rng.randrange(100) for _ in range(rng.randint(1, 5))]
        times = [time if time >= 100 else -1 for time in times]
        batches.append(Batch(times, rng.choice([None, EARLY, 0])))
    rows = write(tmp_path, [[*batches, Batch([LATE])]], magic, compression_type)
    for start, end in ((BOUND, None), (LATE + 50, None), (None, BOUND), (EARLY + 50, LATE + 50), (LATE, LATE + 1)):
        answer = DOORS[door](tmp_path, start, end)
        assert answer.offsets == within(rows, start, end), (start, end)
        assert not answer.missing


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("magic", [1, 2])
def test_after_a_header_that_understates_no_segment_is_skipped(tmp_path: Path, threads: int, magic: int) -> None:
    """The batch is in the last chunk before the segments that would be skipped."""
    filler = random.Random(1).randbytes(40_000)
    first = [Batch([LATE], value=filler) for _ in range(40)]
    understating = Batch([EARLY, LATE, EARLY], EARLY)
    rows = write(tmp_path, [[*first, understating], [understating] * 3, [Batch([EARLY])], [understating]], magic)
    for _ in range(5):
        reader = kc.scan(tmp_path, columns=["offset"], start_time=BOUND, options=kc.ScanOptions(threads=threads))
        assert pa.table(reader)["offset"].to_pylist() == within(rows, BOUND)
        (warning,) = reader.report.warnings
        assert f"has a record of {LATE} ms" in warning
        assert f"{EARLY} ms is the greatest timestamp" in warning


def test_each_partition_has_its_own_headers(tmp_path: Path) -> None:
    """A partition whose headers are right skips segments, whatever those of another one show."""
    understating = Batch([LATE], EARLY)
    write(tmp_path / "wrong", [[Batch([LATE]), understating], [understating]])
    write(
        tmp_path / "right",
        [[Batch([LATE])], [Batch([EARLY], value=b"v" * 5000)], [Batch([LATE])]],
        compression_type="none",
    )
    (tmp_path / "right" / "t-0").rename(tmp_path / "wrong" / "t-1")
    reader = kc.scan(
        tmp_path / "wrong", columns=["partition", "offset"], start_time=BOUND, options=kc.ScanOptions(threads=2)
    )
    rows = pa.table(reader).to_pylist()
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    assert reader.report.bytes_in < 5000
    assert not reader.report.missing


def test_segments_are_skipped_by_their_headers(tmp_path: Path) -> None:
    """Their records are not read."""
    write(tmp_path, [[Batch([EARLY] * 3)] * 5, [Batch([LATE])], [Batch([EARLY])] * 4, [Batch([LATE, EARLY])]])
    logs = sorted((tmp_path / "t-0").glob("*.log"))
    for log in (logs[0], logs[2]):
        content = bytearray(log.read_bytes())
        content[-1] ^= 1
        log.write_bytes(content)
    reader = kc.scan(tmp_path, columns=["offset"], start_time=BOUND)
    assert pa.table(reader)["offset"].to_pylist() == [15, 20]
    assert reader.report.bytes_in == logs[1].stat().st_size + logs[3].stat().st_size
    assert not reader.report.missing


@pytest.mark.parametrize("door", DOORS)
def test_times_that_go_back_between_segments_are_no_loss(tmp_path: Path, door: str) -> None:
    segments = [[Batch([time + 10 * number]) for number in range(5)] for time in (EARLY, LATE, EARLY, LATE, EARLY)]
    rows = write(tmp_path, segments)
    for start in (None, EARLY + 1, EARLY + 30, BOUND, LATE + 1, LATE + 40, LATE + 41):
        for end in (None, EARLY + 20, BOUND, LATE + 20):
            if start is None or end is None or start <= end:
                answer = DOORS[door](tmp_path, start, end)
                assert answer.offsets == within(rows, start, end), (start, end)
                assert not answer.missing


@pytest.mark.parametrize("door", DOORS)
def test_a_lost_segment_is_missing_whatever_the_bounds(tmp_path: Path, door: str) -> None:
    """The times of lost records are unknown."""
    write(tmp_path, [[Batch([time] * 3)] for time in (EARLY, EARLY, EARLY, LATE, LATE, EARLY, EARLY, LATE)])
    logs = sorted((tmp_path / "t-0").glob("*.log"))
    for number in (1, 4, 6):
        logs[number].unlink()
    for start in (EARLY, BOUND, LATE, LATE + 1):
        answer = DOORS[door](tmp_path, start, None)
        assert answer.missing in (None, [(3, 5, "gap"), (12, 14, "gap"), (18, 20, "gap")]), start


def test_a_gap_in_a_skipped_segment_is_not_looked_for(tmp_path: Path) -> None:
    write(tmp_path, [[Batch([EARLY])] * 3, [Batch([LATE])] * 3])
    for log in (tmp_path / "t-0").glob("*.log"):
        content = log.read_bytes()
        log.write_bytes(content[: len(content) // 3] + content[2 * len(content) // 3 :])
    for start, missing in ((EARLY, [1, 4]), (BOUND, [4]), (LATE + 1, [])):
        reader = kc.scan(tmp_path, columns=["offset"], start_time=start)
        pa.table(reader)
        assert [each.first_offset for each in reader.report.missing] == missing


def test_dump_shows_what_the_records_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(
        tmp_path, [[Batch([EARLY, LATE], EARLY), Batch([EARLY]), Batch([-1, -1]), Batch([EARLY, -1, LATE], 0)]]
    )
    for options, start, end in (
        ([f"--start-time={BOUND}"], BOUND, None),
        ([f"--end-time={BOUND}"], None, BOUND),
        ([f"--start-time={EARLY}", f"--end-time={LATE}"], EARLY, LATE),
    ):
        assert run(["dump", str(tmp_path), "--limit=99", "--json", *options]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["offset"] for line in lines if line["type"] == "record"] == within(rows, start, end)
