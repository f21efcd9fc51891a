"""Segments with wrong names: every record in the order of offsets, and the name reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption.checks import check
from corruption.inject import intact
from corruption.logs import all_logs
from corruption.model import expected
from corruption.tools import TOOLS
from kafkacomp import log as kafka_log
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from corruption.inject import Injected
    from corruption.logs import Log

LOGS = [log for log in all_logs() if log.is_compacted or log.name in {"built v0 gzip", "built v1 lz4", "built v2 none"}]
KIND = "wrong base offset in the file name, out of order"


def misnamed(log: Log) -> Iterator[Injected]:
    """Each segment under each name next to where one begins or ends, or within one."""
    spans = [(batches[0].first, batches[-1].last) for batches in log.segments]
    bases = {first for first, _ in spans}
    near = {
        each for first, last in spans for each in (first - 1, first + 1, (first + last) // 2, last, last + 1, last + 2)
    }
    for place, span in enumerate(spans):
        for name in sorted(each for each in near - bases if each >= 0):
            if log.is_compacted and span[0] < name < span[1]:
                continue  # see test_name_within_a_compacted_segment
            injected = intact(log)
            injected.segments[place].base = name
            injected.segments.sort(key=lambda each: each.base)
            in_order = [segment.pieces[0].batch.first for segment in injected.segments if segment.pieces[0].batch]
            is_below = name > span[0]
            injected.kind = KIND if in_order != sorted(in_order) or is_below else KIND.partition(",")[0]
            injected.what = f"offsets {span[0]} to {span[1]} in {name}"
            yield injected


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_wrong_names(log: Log, tmp_path: Path) -> None:
    """By every tool; a name that leaves room is what compaction leaves."""
    faults = []
    for number, injected in enumerate(misnamed(log)):
        where = injected.write(tmp_path / str(number))
        for tool, ask in TOOLS.items():
            faults += [
                f"{injected.what}: {tool}: {each}" for each in check(tool, ask(where), injected, expected(injected))
            ]
    assert not faults


def batch(magic: int, codec: str, first: int, last: int, size: int = 0) -> bytes:
    """Records with all offsets from the first one to the last one, whose values have at least `size` bytes."""
    builder = RecordBatchBuilder(magic, codec, base_offset=first)
    for offset in range(first, last + 1):
        builder.append(value=b"%0*d" % (size, offset), timestamp=1000 + offset, offset=offset)
    return bytes(builder.build())


@pytest.mark.parametrize("spans", [[(133, 154)], [(133, 142), (144, 150), (152, 153)]], ids=["continues", "gap"])
@pytest.mark.parametrize(("magic", "codec"), [(1, "gzip"), (2, "none")])
def test_name_within_the_segment_before(magic: int, codec: str, spans: list[tuple[int, int]], tmp_path: Path) -> None:
    """In a compacted log: its last segment begins at 155, but its name is 143, and nothing is corrupt."""
    segments = {0: [(3, 40)], 65: spans, 143: [(155, 184), (190, 199)]}
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, batches in segments.items():
        data = b"".join(batch(magic, codec, first, last) for first, last in batches)
        (folder / f"{base:020}.log").write_bytes(data)
    wanted = [offset for batches in segments.values() for a, b in batches for offset in range(a, b + 1)]
    scan = kc.scan(folder, columns=["offset"])
    assert [row for each in scan for row in each.column("offset").to_pylist()] == wanted
    assert any("begins at offset 155, but its name is 143" in each for each in scan.report.warnings)
    assert {each.reason for each in scan.report.missing} == {"gap"}
    kafka_log.repair(folder, tmp_path / "out" / "t-0")
    repaired = kc.scan(tmp_path / "out" / "t-0", columns=["offset"])
    assert pa.table(repaired)["offset"].to_pylist() == wanted
    assert not repaired.report.warnings


@pytest.mark.parametrize("name", [281, 1639])
def test_name_within_a_compacted_segment(name: int, tmp_path: Path) -> None:
    """Gaps prove nothing: what lies below the name may be of another log, and is quarantined."""
    (log,) = (log for log in LOGS if log.is_compacted)
    injected = intact(log)
    injected.segments[0].base = name
    where = injected.write(tmp_path)
    report = kafka_log.repair(where, tmp_path / "repaired" / "topic-0")
    below = [batch for batch in log.segments[0] if batch.first < name]
    assert [(each.action, each.length) for each in report.repairs] == [
        ("quarantined", len(each.data)) for each in below
    ]
    scan = kc.scan(tmp_path / "repaired" / "topic-0", columns=["offset"], options=kc.ScanOptions(include_control=True))
    wanted = [offset for batch in log.batches if batch not in below for offset, _ in batch.records]
    assert pa.table(scan)["offset"].to_pylist() == wanted
    with pytest.raises(kc.CorruptRecordError, match="offset field 280 of the batch at byte 0 cannot be right"):
        kafka_log.recompress(where, tmp_path / "recompressed")


def test_interrupted_compaction(tmp_path: Path) -> None:
    """The cleaner's segment begins with a record of a later segment that it replaces, which is still there."""
    log = next(log for log in LOGS if log.name == "built v2 none")
    injected = intact(log)
    first, second = injected.segments[:2]
    # The name of the first segment, and what was kept of the second one and of the third one.
    first.pieces = second.pieces[1:] + injected.segments[2].pieces[:1]
    where = injected.write(tmp_path)
    scan = kc.scan(where, columns=["offset"], on_error="skip")
    offsets = [row for batch in scan for row in batch.column("offset").to_pylist()]
    assert offsets == list(range(second.base, log.batches[-1].last + 1))


@pytest.mark.parametrize("name", [301, 350, 499, 500, 512, 549, 1000])
def test_name_above_the_last_offset(name: int, tmp_path: Path) -> None:
    """All offsets come. Beyond the last one, those below the name are called missing, because the name may be right."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    spans = {name: [(0, 99), (100, 199)], 200: [(200, 299)], 300: [(300, 399), (400, 499)]}
    for base, batches in spans.items():
        data = b"".join(batch(2, "none", first, last, size=450) for first, last in batches)
        (folder / f"{base:020}.log").write_bytes(data)
    for on_error in ("raise", "skip"):
        found = pa.table(kc.scan(folder, columns=["offset"], on_error=on_error))
        assert found["offset"].to_pylist() == list(range(500))
    reports = {
        "repaired": kafka_log.repair(folder, tmp_path / "repaired" / "t-0"),
        "recompressed": kafka_log.recompress(folder, tmp_path / "recompressed" / "t-0", allow_missing=True),
    }
    for rewritten, report in reports.items():
        assert all(each.first_offset >= 500 for each in report.missing)
        assert any(f"begins at offset 0, but its name is {name}" in each for each in report.warnings)
        found = pa.table(kc.scan(tmp_path / rewritten / "t-0", columns=["offset"]))
        assert found["offset"].to_pylist() == list(range(500))


def test_name_of_a_copy_with_more(tmp_path: Path) -> None:
    """What only the copy has is delivered: the batch beside it, of which there is another copy, confirms it."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, spans in {0: [(0, 99)], 200: [(200, 299)], 549: [(0, 99), (100, 199)]}.items():
        (folder / f"{base:020}.log").write_bytes(b"".join(batch(2, "none", *span) for span in spans))
    for on_error in ("raise", "skip"):
        scan = kc.scan(folder, columns=["offset"], on_error=on_error)
        assert pa.table(scan)["offset"].to_pylist() == list(range(300))
        assert any("549.log: the segment begins at offset 0" in each for each in scan.report.warnings)
    kafka_log.repair(folder, tmp_path / "repaired" / "t-0")
    kafka_log.recompress(folder, tmp_path / "recompressed" / "t-0", allow_missing=True)
    for rewritten in ("repaired", "recompressed"):
        found = pa.table(kc.scan(tmp_path / rewritten / "t-0", columns=["offset"]))
        assert found["offset"].to_pylist() == list(range(300))


@pytest.mark.parametrize(("magic", "codec"), [(0, "none"), (1, "gzip"), (2, "none")])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", [549, 100_000])
def test_copy_under_another_name(name: int, count: int, magic: int, codec: str, tmp_path: Path) -> None:
    """The offsets come once, and the copy is named."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    first = [(n * 50, n * 50 + 49) for n in range(4)]
    for base, spans in {0: first, 200: [(200, 299)], name: first[:count]}.items():
        data = b"".join(batch(magic, codec, *span, size=900) for span in spans)
        (folder / f"{base:020}.log").write_bytes(data)
    for on_error in ("raise", "skip"):
        scan = kc.scan(folder, columns=["offset"], on_error=on_error)
        assert pa.table(scan)["offset"].to_pylist() == list(range(300))
        assert any(f"{name}.log and " in each and "overlap: offsets 0 to" in each for each in scan.report.warnings)
    kafka_log.repair(folder, tmp_path / "repaired" / "t-0")
    kafka_log.recompress(folder, tmp_path / "recompressed" / "t-0", compression_type="gzip", allow_missing=True)
    for rewritten in ("repaired", "recompressed"):
        found = pa.table(kc.scan(tmp_path / rewritten / "t-0", columns=["offset"]))
        assert found["offset"].to_pylist() == list(range(300))
