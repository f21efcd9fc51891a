"""What ``repair``, ``recompress`` and ``convert`` write of damaged logs, against the rows that were there before."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from corruption.small_logs import (
    PAGE,
    batch,
    batches,
    bytes_of,
    folder_of,
    four_segments,
    joined,
    overwritten,
    untouched,
    with_offset,
)
from kafkacomp import log, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from corruption.small_logs import Batch


def rows(data: bytes) -> list[tuple[int, bytes | None]]:
    return [(each.offset, each.value) for found in record.read_batches(data) for each in found]


def written(folder: Path) -> list[tuple[int, bytes | None]]:
    """The rows of a log, which must be in the order of offsets in its files."""
    found = [row for file in sorted(folder.glob("*.log")) for row in rows(file.read_bytes())]
    assert [offset for offset, _ in found] == sorted({offset for offset, _ in found})
    return found


def truth(parts: Iterable[Batch]) -> list[tuple[int, bytes | None]]:
    """The rows of batches that were in a log."""
    return sorted(row for _, data in parts for row in rows(data))


def missing_of(report: Any) -> list[tuple[int, int]]:
    return [(each.first_offset, each.last_offset) for each in report.missing]


def lost(all_offsets: range, kept: Iterable[Batch]) -> list[int]:
    return sorted(set(all_offsets).difference(*(offsets for offsets, _ in kept)))


def named(report: Any) -> list[int]:
    return [offset for first, last in missing_of(report) for offset in range(first, last + 1)]


#: Those that stop at what is wrong.
WRITERS: dict[str, Callable[..., log.RewriteReport]] = {
    "recompressed": log.recompress,
    "converted": lambda source, target: log.convert(source, target, 2),
}


def check(tmp_path: Path, segments: dict[int, bytes], kept: Sequence[Batch], offsets: range) -> log.RepairReport:
    """Repair writes what is kept and names the rest; the strict writers refuse the log."""
    folder = folder_of(tmp_path / "t-0", segments)
    report = log.repair(folder, tmp_path / "repaired" / "t-0")
    assert written(tmp_path / "repaired" / "t-0") == truth(kept)
    assert named(report) == lost(offsets, kept)
    for name, write in WRITERS.items():
        with pytest.raises(kc.CorruptRecordError):
            write(folder, tmp_path / name)
        assert not (tmp_path / name).exists()
    return report


def test_a_page_of_another_log_at_the_start_of_a_segment_costs_what_it_covers(tmp_path: Path) -> None:
    segments = four_segments(1000)
    page = joined(batches(range(28), 7, what="other"))[:PAGE]
    damaged = bytes_of(segments)
    damaged[1100] = overwritten(damaged[1100], 0, page)
    kept = [*segments[1000], *segments[1050], *untouched(segments[1100], 0), *segments[1150]]
    check(tmp_path, damaged, kept, range(1000, 1200))


def test_a_wrong_copy_costs_no_other_segment(tmp_path: Path) -> None:
    segments = four_segments()
    damaged = bytes_of(segments)
    damaged[50] = damaged[150]
    folder = folder_of(tmp_path / "t-0", damaged)
    report = log.repair(folder, tmp_path / "repaired" / "t-0")
    kept = [*segments[0], *segments[100], *segments[150]]
    assert written(tmp_path / "repaired" / "t-0") == truth(kept)
    assert missing_of(report) == [(50, 99)]
    assert not report.is_complete
    recompressed = log.recompress(folder, tmp_path / "recompressed" / "t-0", allow_missing=True)
    assert written(tmp_path / "recompressed" / "t-0") == truth(kept)
    assert missing_of(recompressed) == [(50, 99)]


@pytest.mark.parametrize("later", [100, 150])
@pytest.mark.parametrize("at", range(4))
def test_a_page_of_a_later_segment_costs_what_it_covers(tmp_path: Path, later: int, at: int) -> None:
    segments = four_segments()
    damaged = bytes_of(segments)
    position = len(damaged[50]) - PAGE - at * 256
    damaged[50] = overwritten(damaged[50], position, damaged[later][:PAGE])
    kept = [*segments[0], *untouched(segments[50], position), *segments[100], *segments[150]]
    check(tmp_path, damaged, kept, range(200))


def test_a_foreign_batch_at_the_start_of_the_log_is_left_out(tmp_path: Path) -> None:
    segments = four_segments()
    page = (batch(1945, 8, what="other")[1] + random.Random(3).randbytes(PAGE))[:PAGE]
    damaged = bytes_of(segments)
    damaged[0] = overwritten(damaged[0], 0, page)
    kept = [*untouched(segments[0], 0), *segments[50], *segments[100], *segments[150]]
    check(tmp_path, damaged, kept, range(200))


def test_batches_below_the_base_offset_are_written_once(tmp_path: Path) -> None:
    segments = {0: batches(range(100)), 100: [*batches(range(100, 120)), *batches(range(40))]}
    folder = folder_of(tmp_path / "t-0", bytes_of(segments))
    kept = [*segments[0], *batches(range(100, 120))]
    for write in (log.repair, log.recompress, lambda source, target: log.convert(source, target, 2)):
        target = tmp_path / str(write)
        report = write(folder, target)
        assert (written(target), report.missing) == (truth(kept), ())


def test_a_batch_below_the_base_offset_with_other_records_is_not_read_there(tmp_path: Path) -> None:
    """Between the name of its file and the next batch there may be exactly the room that it needs."""
    first, right = batches(range(50)), batch(50, 13)
    only = with_offset(right, 40)
    report = check(tmp_path / "alone", {0: joined(first), 50: only[1]}, first, range(50))
    assert [each.action for each in report.repairs] == ["quarantined"]
    for start, kept, action in ((63, [right], "restored"), (64, [], "quarantined")):
        rest = batches(range(start, 80), 17)
        files = {0: joined(first), 50: joined([only, *rest])}
        report = check(tmp_path / action, files, [*first, *kept, *rest], range(80))
        assert [each.action for each in report.repairs] == [action]


def test_the_altered_offset_of_a_wrapper_is_restored(tmp_path: Path) -> None:
    parts = batches(range(60), 4, magic=1, codec="gzip")
    damaged = [with_offset(part, 23) if part[0][0] == 16 else part for part in parts]
    report = check(tmp_path, {0: joined(damaged)}, parts, range(60))
    assert [each.action for each in report.repairs] == ["restored"]


def test_a_batch_that_is_in_two_other_segments_is_written(tmp_path: Path) -> None:
    segments = four_segments()
    moved = segments[50][4]
    damaged = {
        0: joined([*segments[0], moved]),
        50: joined([*segments[50][:4], *segments[50][5:]]),
        100: joined([moved, *segments[100]]),
        150: joined(segments[150]),
    }
    kept = [part for parts in segments.values() for part in parts]
    folder = folder_of(tmp_path / "t-0", damaged)
    # Nothing is lost or out of order in a file: the two overlap, as after an interrupted compaction.
    for name, write in (*WRITERS.items(), ("repaired", log.repair)):
        report = write(folder, tmp_path / name / "t-0")
        assert (written(tmp_path / name / "t-0"), report.missing) == (truth(kept), ())


@pytest.mark.parametrize("epochs", [(7, 3, 7), (7, 7, 5), (1, 9, 2), (3, 900, 5)])
def test_a_leader_epoch_costs_no_records(tmp_path: Path, epochs: tuple[int, int, int]) -> None:
    """Three segments of one batch: which leader epoch was altered cannot always be decided."""
    parts = [batch(5 * number, epoch=epoch) for number, epoch in enumerate(epochs)]
    folder = folder_of(tmp_path / "t-0", {offsets[0]: data for offsets, data in parts})
    writers: list[Callable[..., log.RewriteReport]] = [log.repair, log.recompress]
    for number, write in enumerate([*writers, WRITERS["converted"]]):
        target = tmp_path / str(number) / "t-0"
        report = write(folder, target)
        assert (written(target), report.missing) == (truth(parts), ())
        found = [
            each.partition_leader_epoch
            for file in sorted(target.glob("*.log"))
            for each in record.read_batches(file.read_bytes())
        ]
        assert found == sorted(found)
        assert log.verify_partition(target).is_intact
        if write is log.repair:
            assert "restored" in {each.action for each in report.repairs}  # type: ignore[attr-defined]
        else:
            assert any("leader epoch" in each for each in report.warnings)


def test_swapped_messages_of_a_compacted_log_keep_their_offsets(tmp_path: Path) -> None:
    parts = [batch(offset, 1, magic=0) for offset in (90, 97, 99, 103, 107, 110, 120)]
    swapped = [*parts[:3], parts[4], parts[3], *parts[5:]]
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 200\n")
    folder = folder_of(tmp_path / "t-0", {90: joined(swapped)})
    log.repair(folder, tmp_path / "repaired" / "t-0")
    found = written(tmp_path / "repaired" / "t-0")
    assert set(found) <= set(truth(parts))
    assert len(found) >= len(parts) - 1


def test_the_name_of_the_first_segment_moves_no_batch(tmp_path: Path) -> None:
    first, rest = batch(0, 1), batches(range(1, 41))
    folder = folder_of(tmp_path / "t-0", {1 << 16: first[1], 1: joined(rest)})
    log.repair(folder, tmp_path / "repaired" / "t-0")
    assert written(tmp_path / "repaired" / "t-0") == truth([first, *rest])


def test_no_batch_is_taken_for_a_copy_unseen(tmp_path: Path) -> None:
    """Twenty batches with altered offsets, each of which another segment has."""
    segments = {base: batches(range(base, base + 5), 1) for base in range(0, 100, 5)}
    parts = batches(range(100, 300), 5)
    damaged = [with_offset(part, 5 * (at // 2)) if at % 2 else part for at, part in enumerate(parts[:-1])]
    segments[100] = [*damaged, parts[-1]]
    kept = [part for base, each in segments.items() if base < 100 for part in each]
    report = check(tmp_path, bytes_of(segments), [*kept, *parts], range(300))
    assert {each.action for each in report.repairs} == {"restored"}
