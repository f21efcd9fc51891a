"""``verify`` by the map of a log: damage costs what it touches, and every offset that is missing is named."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from faulty_files import Faulty
from kafkacomp import log, record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkacomp.log import PartitionReport

PAGE = 4096


def batch(first: int, records: int = 5, *, value: bytes = b"v", epoch: int = 0) -> bytes:
    """A batch of some 500 bytes, whose records are not those of other batches."""
    builder = record.RecordBatchBuilder(base_offset=first)
    for offset in range(first, first + records):
        builder.append(value=(value + b"%d " % offset) * 20, timestamp=1000 + offset)
    data = bytearray(builder.build())
    data[12:16] = struct.pack(">i", epoch)
    return bytes(data)


def segment(first: int, end: int, value: bytes = b"v") -> bytes:
    return b"".join(batch(at, value=value) for at in range(first, end, 5))


def written(folder: Path, segments: dict[int, bytes]) -> Path:
    folder.mkdir(parents=True)
    for base, data in segments.items():
        (folder / f"{base:020}.log").write_bytes(data)
    return folder


def overwritten(data: bytes, position: int, page: bytes) -> bytes:
    return (data[:position] + page + data[position + len(page) :])[: len(data)]


def survivors(data: bytes, page: range) -> set[int]:
    """The offsets of the batches that a page does not touch."""
    found: set[int] = set()
    for each in record.read_batches(data):
        if page.stop <= each.position or page.start >= each.position + each.size_in_bytes:
            found.update(range(each.base_offset, each.last_offset + 1))
    return found


def missing(report: PartitionReport) -> set[int]:
    return {offset for each in report.missing for offset in range(each.first_offset, each.last_offset + 1)}


def in_segments(bases: Iterable[int]) -> dict[int, bytes]:
    return {base: segment(base, base + 50) for base in bases}


def test_a_foreign_page_at_the_start_of_a_segment(tmp_path: Path) -> None:
    """It costs the batches that it touches, not the segment, whose name is right."""
    files = in_segments(range(1000, 1200, 50))
    page = segment(0, 50, value=b"other ")[:PAGE]
    destroyed = set(range(1100, 1150)) - survivors(files[1100], range(PAGE))
    files[1100] = overwritten(files[1100], 0, page)
    report = log.verify_partition(written(tmp_path / "t-0", files))
    assert missing(report) == destroyed
    assert {each.reason for each in report.missing} == {"corrupt"}
    assert report.covered_offsets_count == 200 - len(destroyed)


@pytest.mark.parametrize("is_thinned", [False, True])
def test_a_segment_with_the_content_of_a_later_one(tmp_path: Path, is_thinned: bool) -> None:
    files = in_segments(range(0, 200, 50))
    files[50] = files[150]
    if is_thinned:
        builder = record.RecordBatchBuilder(base_offset=0)
        for offset in (0, 4):
            builder.append(b"v", timestamp=1000, offset=offset)
        files[0] = builder.build() + files[0][len(batch(0)) :]
    report = log.verify_partition(written(tmp_path / "t-0", files))
    assert missing(report) == set(range(50, 100))
    messages = [each.message for each in report.findings]
    assert any("begins at offset 150, but its name is 50" in each for each in messages)
    assert any("offsets 150 to 199 are also in" in each for each in messages)
    assert not report.is_intact


@pytest.mark.parametrize("of", [50, 100, 150])
def test_a_page_of_a_later_segment_at_the_end_of_one(tmp_path: Path, of: int) -> None:
    files = in_segments(range(0, 200, 50))
    place = (len(files[0]) - 1) // PAGE * PAGE
    page = files[of][place : place + PAGE] if of != 100 else files[of][:PAGE]
    destroyed = set(range(50)) - survivors(files[0], range(place, place + PAGE))
    files[0] = overwritten(files[0], place, page)
    report = log.verify_partition(written(tmp_path / "t-0", files))
    assert missing(report) == destroyed
    assert not report.is_intact


@pytest.mark.parametrize("seed", range(20))
def test_what_is_destroyed_is_named(tmp_path: Path, seed: int) -> None:
    """Each destroyed offset is in a range, and no other."""
    rng = random.Random(f"destroyed {seed}")
    files = in_segments(range(0, 200, 50))
    expected: set[int] = set()
    base = rng.choice(list(files)[:-1])
    place = rng.randrange(len(files[base]) // PAGE + 1) * PAGE
    page = bytes(PAGE) if rng.random() < 0.5 else rng.randbytes(PAGE)
    expected = set(range(base, base + 50)) - survivors(files[base], range(place, place + PAGE))
    files[base] = overwritten(files[base], place, page)
    report = log.verify_partition(written(tmp_path / "t-0", files))
    assert missing(report) == expected
    named = [each for each in report.findings if each.is_error and each.first_offset is not None]
    assert {each.first_offset for each in report.missing} == {each.first_offset for each in named}


@pytest.mark.parametrize(
    ("epochs", "altered"),
    [((7, 7, 5), [2]), ((3, 3, 900, 3, 3), [2]), ((3, 3, 1, 3, 3), [2]), ((900, 3, 3), [0])],
)
def test_altered_leader_epochs_lose_nothing(tmp_path: Path, epochs: tuple[int, ...], altered: list[int]) -> None:
    """A leader epoch is restored also if the segment has no other batch."""
    files = {5 * index: batch(5 * index, epoch=epoch) for index, epoch in enumerate(epochs)}
    report = log.verify_partition(written(tmp_path / "t-0", files))
    assert not report.missing
    found = [each.file for each in report.findings if "leader epoch" in each.message]
    assert [int(each[-24:-4]) // 5 for each in found] == altered
    assert len(found) == len(report.findings)


def test_a_base_offset_that_is_too_high(tmp_path: Path) -> None:
    """A batch at the wrong offset hides none that is appended later."""
    wrong = struct.pack(">q", 1 << 40) + batch(45)[8:]
    folder = written(tmp_path / "t-0", {0: segment(0, 45) + wrong + segment(50, 70)})
    report = log.verify_partition(folder)
    assert (next(iter(report.segments.values())).last_offset, report.is_intact) == (69, False)
    assert missing(report) <= set(range(45, 50))
    info = kc.LogDir(tmp_path).info(deep=True)
    assert info.records == report.covered_offsets_count == 70 - len(missing(report))


@pytest.mark.parametrize("is_damaged", [False, True])
def test_what_is_read_is_linear_in_segments(is_damaged: bool) -> None:
    """No segment has the others listed or read again, even if in each of them batches have changed places."""

    def calls(count: int) -> tuple[int, int]:
        parts = [(batch(10 * index), batch(10 * index + 5)) for index in range(count)]
        files = {f"{10 * index:020}": b"".join(each[:: -1 if is_damaged else 1]) for index, each in enumerate(parts)}
        report = kc.LogDir(Faulty.fill(files)).verify()
        assert (report.is_intact, list(report.missing)) == (not is_damaged, [])
        return Faulty.reads, Faulty.listings

    few, many = calls(50), calls(200)
    assert many[0] <= 4 * few[0]
    assert many[1] == few[1]
