"""Bounds in a corrupt log: a scan within them returns what a scan of all returns within them."""

from __future__ import annotations

import random
import shutil
import struct
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption.bounds import Bounds, differences, is_within, rows
from corruption.inject import intact
from corruption.logs import built
from corruption.test_several import injections
from kafkacomp import _kafkacomp
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("magic", [1, 2])
def test_object_store(magic: int, tmp_path: Path) -> None:
    """The offset for a time is right even if the time indexes are truncated."""
    folder = intact(built(magic, "gzip")).write(tmp_path)
    all_rows = rows(folder, 1, {})
    fsspec.filesystem("memory").put(str(folder), f"/{tmp_path.name}/topic-0", recursive=True)
    (partition,), skip = resolve(f"memory://{tmp_path.name}/topic-0", None, None), False
    for offset, time in all_rows:
        assert _kafkacomp.offset_for_time(partition, time or 0, "auto", skip, 1 << 30) == offset


def batch(base: int, time: int, magic: int = 2, codec: str = "none") -> bytearray:
    """Ten records with the same timestamp."""
    table = pa.table(
        {
            "timestamp": pa.array([time] * 10, pa.timestamp("ms", "UTC")),
            "value": [b"value %d " % offset * 3 for offset in range(base, base + 10)],
        }
    )
    return bytearray(kc.record.build_batches(table, base_offset=base, magic=magic, compression_type=codec))


def altered_before_a_truncated_one() -> dict[int, bytes]:
    """The altered base offset of the second batch would hide the next segment."""
    second, third = batch(10, 1000), batch(20, 1000)
    second[:8] = struct.pack(">q", 10 ^ 1024)
    return {0: bytes(batch(0, 1000) + second + third[:50]), 20: bytes(batch(20, 5000))}


def size_of_two() -> dict[int, bytes]:
    """The size of the first batch is that of two, so that headers lead past the second one."""
    made = [batch(base, time, 1, "gzip") for base, time in ((0, 1000), (10, 5000), (20, 1000), (30, 6000))]
    struct.pack_into(">i", made[0], 8, len(made[0]) + len(made[1]) - 12)
    return {0: b"".join(made)}


@pytest.mark.parametrize("segments", [altered_before_a_truncated_one, size_of_two])
def test_headers_that_mislead(segments: Callable[[], dict[int, bytes]], tmp_path: Path) -> None:
    """A scan does not trust headers that lead past other batches, or beyond the next segment."""
    folder = tmp_path / "topic-0"
    folder.mkdir()
    for base, data in segments().items():
        (folder / f"{base:020}.log").write_bytes(data)
    all_rows = rows(folder, 1, {})
    assert 5000 in {time for _, time in all_rows}
    for time in (500, 3000, 5500):
        bounds: Bounds = {"start_time": time}
        assert rows(folder, 1, bounds) == [row for row in all_rows if is_within(row, bounds)]


def check(count: int, kinds: int, seed: object, folder: Path) -> list[str]:
    """Check ``count`` logs with ``kinds`` kinds of corruption each."""
    found = []
    for number, injected in injections(count, kinds, f"bounds {seed}"):
        if kinds > 1 and ("overlapping" in injected.kind or "copied" in injected.kind):
            continue  # a scan that begins in the later segment does not read the earlier one
        where = injected.write(folder / str(number))
        each = differences(where, random.Random(f"{seed} {number}"))
        found += [f"{seed}, {number}: {injected.log.name}: {injected.what}: {difference}" for difference in each]
        shutil.rmtree(folder / str(number))
    return found


@pytest.mark.parametrize("kinds", [1, 2])
def test_some(kinds: int, tmp_path: Path) -> None:
    """A few hundred logs have no difference."""
    assert not check(150, kinds, "quick", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("part", range(5))
def test_many(kinds: int, part: int, tmp_path: Path) -> None:
    """Thousands of logs have no difference."""
    assert not check(500, kinds, part, tmp_path)


def test_an_index_entry_after_a_displaced_batch(tmp_path: Path) -> None:
    """Reading begins at the entry for offset 11, where the batch of offset 10 is; that of 11 is before it."""
    injected = intact(built(1, "none"))
    (segment,) = [each for each in injected.segments if int(each.name) == 10]
    segment.pieces[:2] = reversed(segment.pieces[:2])
    where = injected.write(tmp_path)
    everything = rows(where, 1, {})
    assert [offset for offset, _ in everything] == list(range(20))
    for start in range(20):
        for threads in (1, 2):
            assert rows(where, threads, {"start_offset": start}) == everything[start:]


def test_a_displaced_batch_at_the_beginning_of_a_segment(tmp_path: Path) -> None:
    """The index leads behind it, and nothing after that shows that it is there."""
    injected = intact(built(1, "none"))
    segment = injected.segments[-1]
    segment.pieces = [segment.pieces[-1], *segment.pieces[1:-1]]
    where = injected.write(tmp_path)
    everything = rows(where, 1, {})
    assert everything[-1][0] == 19
    for start in range(20):
        for threads in (1, 2):
            wanted = [row for row in everything if row[0] >= start]
            assert rows(where, threads, {"start_offset": start}) == wanted
