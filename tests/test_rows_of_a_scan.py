"""A log that was written from the rows of a scan: its loss file names what the scan did not return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log
from kafkacomp.arrow import filter_rows
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

FILE = "kafkacomp-repair.json"


def batch(first: int, size: int = 10) -> bytes:
    builder = RecordBatchBuilder(2, "none", base_offset=first)
    for offset in range(first, first + size):
        builder.append(b"value %d" % offset, key=b"%d" % (offset % 2), timestamp=offset)
    return builder.build()


def transactions(first: int, *, commit: bool = True) -> bytes:
    """A record, and the marker of its transaction."""
    builder = RecordBatchBuilder(
        2, "none", base_offset=first, producer_id=1, producer_epoch=0, base_sequence=first, is_transactional=True
    )
    builder.append(b"value", timestamp=first)
    marker = RecordBatchBuilder(
        2, "none", base_offset=first + 1, producer_id=1, producer_epoch=0, is_transactional=True, is_control_batch=True
    )
    marker.append_end_txn_marker(commit, timestamp=first)
    return builder.build() + marker.build()


def corrupt(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def folder_of(path: Path, *pieces: bytes) -> Path:
    path.mkdir(parents=True)
    (path / f"{0:020}.log").write_bytes(b"".join(pieces))
    return path


def known(folder: Path) -> list[tuple[int, int, str]]:
    """The known losses of a log in which nothing else is wrong."""
    report = log.verify_partition(folder)
    assert not report.findings
    return [each[2:5] for each in report.known_losses]


def test_control_records(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "t-0", batch(0), transactions(10), transactions(12, commit=False), batch(14))
    assert known(source) == []
    report = kc.write(kc.scan(source), tmp_path / "all")
    assert report.missing == ()
    assert known(tmp_path / "all" / "t-0") == [(11, 11, "excluded"), (13, 13, "excluded")]
    kc.write(kc.scan(source, isolation_level="read_committed"), tmp_path / "committed", topic="new", partition=3)
    assert known(tmp_path / "committed" / "new-3") == [(11, 13, "excluded")]


def test_control_records_are_no_records(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "t-0", batch(0), transactions(10))
    for rows in (
        kc.scan(source, options=kc.ScanOptions(include_control=True)),
        filter_rows(kc.scan(source, options=kc.ScanOptions(include_control=True)), key="1"),
    ):
        with pytest.raises(ValueError, match="include_control"):
            kc.write(rows, tmp_path / "out", topic="t", partition=0)
    assert not (tmp_path / "out").exists()


def test_what_the_source_lacks(tmp_path: Path) -> None:
    """With the source's reasons; those that a loss file makes known are carried on."""
    source = folder_of(tmp_path / "t-0", batch(0), corrupt(batch(10)), transactions(20), batch(32))
    expected = [(10, 19, "corrupt"), (21, 21, "excluded"), (22, 31, "gap")]
    with pytest.raises(kc.DataLossError):
        kc.write(kc.scan(source, on_error="skip"), tmp_path / "one", topic="t", partition=0)
    assert known(tmp_path / "one" / "t-0") == expected
    kc.write(kc.scan(tmp_path / "one"), tmp_path / "two")
    assert known(tmp_path / "two" / "t-0") == expected
    # Without the file, the offsets are the same.
    (tmp_path / "two" / "t-0" / FILE).unlink()
    missing = log.verify_partition(tmp_path / "two" / "t-0").missing
    assert [(each.first_offset, each.last_offset, each.reason) for each in missing] == [
        (10, 19, "gap"),
        (21, 31, "gap"),
    ]


def test_several_partitions(tmp_path: Path) -> None:
    """Each has its own losses, also under a new name."""
    folder_of(tmp_path / "in" / "t-0", batch(0), transactions(10), batch(12))
    folder_of(tmp_path / "in" / "t-1", batch(0), batch(10))
    folder_of(tmp_path / "in" / "u-1", batch(0), batch(20))
    written = {"t-0": [(11, 11, "excluded")], "t-1": [], "u-1": [(10, 19, "gap")]}
    kc.write(kc.scan(tmp_path / "in"), tmp_path / "out", allow_missing=True)
    assert {name: known(tmp_path / "out" / name) for name in written} == written
    kc.write(kc.scan(tmp_path / "in", topics=["t"]), tmp_path / "new", topic="x")
    assert {name: known(tmp_path / "new" / name) for name in ("x-0", "x-1")} == {"x-0": written["t-0"], "x-1": []}


def test_compaction(tmp_path: Path) -> None:
    """Offsets up to which compaction explains what is missing need no list."""
    source = folder_of(tmp_path / "in" / "t-0", batch(0), batch(20), batch(50))
    (tmp_path / "in" / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 50\n")
    kc.write(kc.scan(source), tmp_path / "out")
    report = log.verify_partition(tmp_path / "out" / "t-0")
    assert (report.findings, report.known_losses) == ((), ())
    assert {each.reason for each in report.missing} == {"compacted"}


def test_bounds_and_conditions(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "t-0", batch(0), batch(10))
    kc.write(kc.scan(source, start_offset=5, end_offset=15), tmp_path / "bounds")
    assert not (tmp_path / "bounds" / "t-0" / FILE).exists()
    kc.write(filter_rows(kc.scan(source, end_offset=4), key="1"), tmp_path / "chosen")
    assert known(tmp_path / "chosen" / "t-0") == [(2, 2, "excluded")]


@pytest.mark.parametrize("arguments", [{}, {"topic": "t", "partition": 0}])
def test_other_rows_have_no_loss_file(tmp_path: Path, arguments: dict[str, Any]) -> None:
    """Neither those that do not come from a scan, nor those without their offsets."""
    source = folder_of(tmp_path / "t-0", batch(0), transactions(10), batch(12))
    kc.write(pa.table(kc.scan(source)), tmp_path / "table", **arguments)
    columns = ["topic", "partition", "key", "value"]
    kc.write(kc.scan(source, columns=columns), tmp_path / "renumbered", **arguments)
    for name in ("table", "renumbered"):
        assert not (tmp_path / name / "t-0" / FILE).exists()
    assert known(tmp_path / "renumbered" / "t-0") == []
