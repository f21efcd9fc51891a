"""Logs about which tools once contradicted one another: each door delivers what is intact, and names the rest.

What ``repair``, ``recompress`` and ``convert`` write of such logs is in ``corruption/test_written_rows.py``, and what
``verify`` says in ``test_map_doors.py``.
"""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption import bounds, counts
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
from doors.answers import Source
from doors.compare import differences
from faulty_files import Faulty
from grouped import grouped
from kafkacomp import log, record
from missing_ranges import ranges_of
from spark.growing import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from corruption.small_logs import Batch


def offsets_of(folder: Path | str, **options: Any) -> list[int]:
    found = kc.scan(folder, columns=["offset"], **grouped(**options))
    return [offset for each in found for offset in each.column("offset").to_pylist()]


def check(tmp_path: Path, segments: dict[int, bytes], kept: Iterable[Batch], missing: Iterable[int] = ()) -> Path:
    """All doors deliver the kept batches and name the missing offsets, also within bounds."""
    folder = folder_of(tmp_path / "t-0", segments)
    wanted = [offset for offsets, _ in kept for offset in offsets]
    reader = kc.scan(folder, columns=["offset", "value"], on_error="skip")
    rows = pa.table(reader).to_pylist()
    assert [row["offset"] for row in rows] == wanted
    values = {each.offset: each.value for _, data in kept for found in record.read_batches(data) for each in found}
    assert len(values) != len(wanted) or [row["value"] for row in rows] == list(values.values())
    named = {offset for first, last, _ in ranges_of(reader.report.missing) for offset in range(first, last + 1)}
    assert named == set(missing)
    strict: list[int] = []
    try:
        for each in kc.scan(folder, columns=["offset"]):
            strict += each.column("offset").to_pylist()
    except kc.KafkaCompError:
        pass
    assert strict == wanted[: len(strict)]
    assert differences(Source(folder, tmp_path)) == []
    assert counts.differences(folder) == []
    assert bounds.differences(folder, random.Random(1)) == []
    for start in range(0, wanted[-1], 7):
        assert offsets_of(folder, on_error="skip", start_offset=start) == [each for each in wanted if each >= start]
    return folder


def lost(segments: dict[int, list[Batch]], kept: Iterable[Batch]) -> set[int]:
    """The offsets of batches that are not kept."""
    everything = {offset for parts in segments.values() for offsets, _ in parts for offset in offsets}
    return everything.difference(*(offsets for offsets, _ in kept))


def test_a_page_of_another_file_at_the_start_of_a_segment(tmp_path: Path) -> None:
    """Its offsets are far below the name: the segment is not misnamed."""
    segments = four_segments(1000)
    damaged = bytes_of(segments)
    damaged[1100] = overwritten(damaged[1100], 0, joined(batches(range(28), 7, what="other"))[:PAGE])
    kept = [*segments[1000], *segments[1050], *untouched(segments[1100], 0), *segments[1150]]
    check(tmp_path, damaged, kept, lost(segments, kept))


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_wrong_copy_hides_no_other_segment(is_compacted: bool, tmp_path: Path) -> None:
    """Nor does it pass for compaction, although nothing in the file is corrupt."""
    segments = four_segments()
    if is_compacted:
        builder = record.RecordBatchBuilder(2, "none", base_offset=0, partition_leader_epoch=3)
        builder.append(b"value", timestamp=1000, offset=0)
        builder.append(b"value", timestamp=1004, offset=4)
        segments[0][0] = range(0, 5, 4), builder.build()
    damaged = bytes_of(segments)
    damaged[50] = damaged[150]
    kept = [*segments[0], *segments[100], *segments[150]]
    folder = folder_of(tmp_path / "log" / "t-0", damaged)
    reader = kc.scan(folder, columns=["offset"], on_error="skip")
    assert [o for each in reader for o in each.column("offset").to_pylist()] == [o for each, _ in kept for o in each]
    assert [each for each in ranges_of(reader.report.missing) if each[2] != "compacted"] == [(50, 99, "gap")]
    assert not log.verify_partition(folder).is_intact
    assert differences(Source(folder, tmp_path)) == []


@pytest.mark.parametrize("later", [100, 150])
def test_a_page_of_a_later_segment_at_the_end_of_one(later: int, tmp_path: Path) -> None:
    """The segments between are delivered, wherever a scan begins."""
    segments = four_segments()
    damaged = bytes_of(segments)
    position = len(damaged[50]) - PAGE
    damaged[50] = overwritten(damaged[50], position, damaged[later][:PAGE])
    kept = [*segments[0], *untouched(segments[50], position), *segments[100], *segments[150]]
    check(tmp_path, damaged, kept, lost(segments, kept))


def test_one_foreign_batch_at_the_start_of_the_first_segment(tmp_path: Path) -> None:
    """It moves nothing, and no offsets up to it are missing."""
    segments = four_segments()
    page = (batch(1945, 8, what="other")[1] + random.Random(3).randbytes(PAGE))[:PAGE]
    damaged = bytes_of(segments)
    damaged[0] = overwritten(damaged[0], 0, page)
    kept = [*untouched(segments[0], 0), *segments[50], *segments[100], *segments[150]]
    check(tmp_path, damaged, kept, lost(segments, kept))


def test_foreign_batches_below_the_base_offset_at_the_start(tmp_path: Path) -> None:
    """Offsets are delivered once, and in order, also by strict readers."""
    segments = four_segments()
    damaged = bytes_of(segments)
    damaged[100] = joined(batches(range(14), 7, what="other")) + damaged[100]
    check(tmp_path, damaged, [part for parts in segments.values() for part in parts])


def test_batches_below_the_base_offset_in_the_last_segment(tmp_path: Path) -> None:
    segments = {0: batches(range(100)), 100: [*batches(range(100, 120)), *batches(range(40))]}
    check(tmp_path, bytes_of(segments), [*segments[0], *batches(range(100, 120))])


@pytest.mark.parametrize("rest", [[], batches(range(64, 80), 16)])
def test_a_batch_with_a_base_offset_below_the_name(rest: list[Batch], tmp_path: Path) -> None:
    """It is not delivered at the offsets of the segment before."""
    first, only = batches(range(50)), with_offset(batch(50, 13), 40)
    files = {0: joined(first), 50: joined([only, *rest])}
    check(tmp_path, files, [*first, *rest], range(50, 64) if rest else ())


def test_a_segment_that_begins_with_copies_of_the_one_before(tmp_path: Path) -> None:
    """A bound of time delivers each offset once."""
    segments = {0: batches(range(50)), 50: [*batches(range(20, 50)), *batches(range(50, 80))]}
    folder = check(tmp_path, bytes_of(segments), batches(range(80)))
    for time in (1000, 1025, 1049, 1060):
        assert offsets_of(folder, start_time=time) == list(range(time - 1000, 80))


def test_a_page_of_the_last_segment_at_the_start_of_the_first(tmp_path: Path) -> None:
    """A bound of time skips none of what is intact."""
    segments = four_segments()
    damaged = bytes_of(segments)
    damaged[0] = overwritten(damaged[0], 0, damaged[150][:PAGE])
    kept = [*untouched(segments[0], 0), *segments[50], *segments[100], *segments[150]]
    folder = check(tmp_path, damaged, kept, lost(segments, kept))
    for time in (1000, 1045, 1151):
        wanted = [offset for offsets, _ in kept for offset in offsets if offset >= time - 1000]
        assert offsets_of(folder, start_time=time, on_error="skip") == wanted


def test_the_first_segment_with_a_high_name_beside_a_copy_of_its_end(tmp_path: Path) -> None:
    """No offset is delivered twice."""
    parts = batches(range(95))
    folder = folder_of(tmp_path / "t-0", {20: joined(parts[4:]), 32768: joined(parts)})
    found = offsets_of(folder, on_error="skip")
    assert found == list(range(95))
    assert differences(Source(folder, tmp_path)) == []


def test_an_intact_copy_of_a_part_of_the_segment_before(tmp_path: Path) -> None:
    """The log goes on where the earlier file ends: for bounds, for ``end_offset``, and for a stream."""
    folder = check(tmp_path, {0: joined(batches(range(100))), 20: joined(batches(range(20, 30)))}, batches(range(100)))
    assert offsets_of(folder, start_offset=50) == list(range(50, 100))
    assert kc.LogDir(folder)["t", 0].end_offset == 100
    stream = Stream(folder)
    stream.run()
    assert stream.offsets() == list(range(100))


@pytest.mark.parametrize("content", [b"", batch(50)[1][:60], batch(50)[1][:300]])
def test_an_empty_or_truncated_segment_beside_one_that_has_its_offsets(content: bytes, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "t-0", {0: joined(batches(range(100))), 50: content})
    for start in (None, 30, 50, 60, 99):
        assert offsets_of(folder, on_error="skip", start_offset=start) == list(range(start or 0, 100))
        assert content or offsets_of(folder, start_offset=start) == list(range(start or 0, 100))
    assert differences(Source(folder, tmp_path)) == []


def test_the_altered_offset_of_a_wrapper_blames_no_other(tmp_path: Path) -> None:
    """Compressed messages have only their last offsets in their headers."""
    parts = batches(range(60), 4, magic=1, codec="gzip")
    damaged = [with_offset(part, 23) if part[0][0] == 16 else part for part in parts]
    folder = folder_of(tmp_path / "t-0", {0: joined(damaged)})
    kept = [offset for offset in range(60) if not 16 <= offset < 20]
    found = offsets_of(folder, on_error="skip")
    assert set(kept) <= set(found)
    assert found == sorted(set(found))
    for start in (20, 24, 44):
        assert offsets_of(folder, on_error="skip", start_offset=start) == [each for each in found if each >= start]


def test_a_batch_that_only_the_segments_before_and_after_have(tmp_path: Path) -> None:
    """Neither copy is left out as a repeat of the other."""
    segments = four_segments()
    moved = segments[50][4]
    damaged = {
        0: joined([*segments[0], moved]),
        50: joined([*segments[50][:4], *segments[50][5:]]),
        100: joined([moved, *segments[100]]),
        150: joined(segments[150]),
    }
    check(tmp_path, damaged, [part for parts in segments.values() for part in parts])


@pytest.mark.parametrize("epochs", [(7, 3, 7), (7, 7, 5), (1, 9, 2), (3, 900, 5)])
def test_leader_epochs_that_go_back_cost_no_record(epochs: tuple[int, int, int], tmp_path: Path) -> None:
    parts = [batch(5 * number, epoch=epoch) for number, epoch in enumerate(epochs)]
    check(tmp_path, {offsets[0]: data for offsets, data in parts}, parts)


def growing(tmp_path: Path, offset: int, **options: str) -> tuple[Path, Stream]:
    """A log with a stream that has read it, after which a batch with a base offset that is too high is appended."""
    folder = folder_of(tmp_path / "t-0", {0: joined(batches(range(45)))})
    stream = Stream(folder, {"mode": "DROPMALFORMED", **options})
    stream.run()
    append(folder, [with_offset(batch(45), offset)])
    return folder, stream


def append(folder: Path, parts: list[Batch]) -> None:
    with (folder / f"{0:020}.log").open("ab") as file:
        file.write(joined(parts))


def test_a_base_offset_that_is_too_high_in_a_growing_log(tmp_path: Path) -> None:
    """It is restored by what is appended after it, and hides none of that from a stream and from ``info``."""
    folder, stream = growing(tmp_path, 1 << 40, failOnDataLoss="false")
    for part in (range(50, 70), range(70, 90)):
        append(folder, batches(part))
        stream.run()
    rows = offsets_of(folder, on_error="skip")
    assert stream.offsets() == rows == list(range(90))
    assert kc.LogDir(folder).info(deep=True).records == len(rows)
    assert kc.LogDir(folder)["t", 0].end_offset == 90


def test_a_base_offset_that_is_too_high_at_the_end_of_a_log_that_a_stream_has_read(tmp_path: Path) -> None:
    """What is appended below it later is an error; a stream that goes on reads it."""
    folder, stream = growing(tmp_path / "strict", 1 << 20)
    stream.run()
    append(folder, batches(range(50, 70)))
    with pytest.raises(kc.KafkaCompError, match="begins at offset 50, but the stream has read up to offset"):
        stream.run()
    folder, stream = growing(tmp_path / "lenient", 1 << 20, failOnDataLoss="false")
    stream.run()
    append(folder, batches(range(50, 70)))
    stream.run()
    append(folder, batches(range(70, 90)))
    stream.run()
    far = 1 << 20
    assert stream.offsets() == [*range(45), *range(far, far + 5), *range(50, 90)]


def test_a_base_offset_that_is_too_high_and_what_follows_it_between_two_looks(tmp_path: Path) -> None:
    """Only the batch is missing, with ``failOnDataLoss=false``."""
    folder, stream = growing(tmp_path, 1 << 20, failOnDataLoss="false")
    append(folder, batches(range(50, 70)))
    stream.run()
    append(folder, batches(range(70, 90)))
    stream.run()
    assert stream.offsets() == offsets_of(folder, on_error="skip") == [*range(45), *range(50, 90)]


def test_a_base_offset_that_is_too_high_on_another_file_system(tmp_path: Path) -> None:
    """It is not delivered there at its wrong offsets, either."""
    wrong = struct.pack(">q", 1 << 40) + batch(45)[1][8:]
    files = {0: joined(batches(range(45))) + wrong + joined(batches(range(50, 70)))}
    folder = folder_of(tmp_path / "t-0", files)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), f"/{tmp_path.name}/t-0", recursive=True)
    found = offsets_of(f"memory://{tmp_path.name}/t-0", on_error="skip")
    assert found == offsets_of(folder, on_error="skip")


def test_a_read_error_is_no_answer() -> None:
    """It ends a reading, whichever read it is: it never decides which batches belong to the log."""
    segments = four_segments()
    segments[100] = [*batches(range(80, 100)), *segments[100][5:], *segments[100][:5]]
    files = {f"{base:020}": data for base, data in bytes_of(segments).items()}
    wanted = offsets_of(Faulty.fill(files), on_error="skip", threads=1)
    assert wanted == list(range(200))
    for failing in range(Faulty.reads):
        found: list[int] = []
        url = Faulty.fill(files)

        def fault(path: str, start: int, end: int, content: bytes, failing: int = failing) -> bytes:
            if Faulty.reads == failing + 1:
                raise PermissionError(f"{path}: {start} to {end}")
            return content

        Faulty.fault = staticmethod(fault)
        with pytest.raises(PermissionError):
            for each in kc.scan(url, columns=["offset"], on_error="skip", options=kc.ScanOptions(threads=1)):
                found += each.column("offset").to_pylist()
        assert found == wanted[: len(found)]
