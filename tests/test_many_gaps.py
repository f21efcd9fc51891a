"""Segments with more missing ranges than a report lists: no kind hides another, and verify says what is not listed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from kafkacomp._cli import main

if TYPE_CHECKING:
    from pathlib import Path

#: The number of single missing offsets, which is more than the 10,000 that a report lists.
MANY = 10_010
END = 2 * MANY


def batch(first: int, size: int = 1, last: int | None = None) -> bytes:
    builder = kc.record.RecordBatchBuilder(base_offset=first)
    for offset in (*range(first, first + size - 1), first + size - 1 if last is None else last):
        builder.append(b"v", timestamp=1000 + offset, offset=offset)
    return builder.build()


@pytest.fixture(name="thinned", scope="module")
def _thinned() -> bytes:
    """Batches of every second offset, from 0 to ``END``."""
    return b"".join(map(batch, range(0, END + 1, 2)))


def written(folder: Path, data: bytes, *, cleaned_to: int | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(data)
    if cleaned_to is not None:
        (folder.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {cleaned_to}\n")
    return folder


def test_compacted_ranges_do_not_hide_a_gap(tmp_path: Path, thinned: bytes) -> None:
    folder = written(tmp_path / "t-0", thinned + batch(END + 10), cleaned_to=END)
    lost = (END + 1, END + 9)
    report = kc.log.verify_partition(folder)
    assert [each[2:4] for each in report.missing if each.reason != "compacted"] == [lost]
    assert [(each.first_offset, each.last_offset) for each in report.findings if each.is_error] == [lost]
    assert report.more_missing == MANY + 1 - len(report.missing)
    info = kc.LogDir(tmp_path)["t", 0].info()
    assert [each[2:4] for each in info.missing if each.reason != "compacted"] == [lost]
    with pytest.raises(kc.DataLossError, match=f"offsets {lost[0]} to {lost[1]} "):
        kc.log.recompress(folder, tmp_path / "new" / "t-0")


def test_gaps_do_not_hide_corrupt_offsets(tmp_path: Path, thinned: bytes) -> None:
    """Without a checkpoint, a batch with fewer records than offsets at the end shows the compaction."""
    corrupt = bytearray(batch(END + 1, 3))
    corrupt[-2] ^= 1
    folder = written(tmp_path / "t-0", thinned + bytes(corrupt) + batch(END + 4, 2, last=END + 9))
    report = kc.log.verify_partition(folder)
    lost = (END + 1, END + 3, "corrupt")
    assert [each[2:4] + each[5:] for each in report.missing if each.reason != "compacted"] == [lost]
    repaired = kc.log.repair(folder, tmp_path / "new" / "t-0")
    assert [each[2:4] + each[5:] for each in repaired.missing if each.reason != "compacted"] == [lost]
    assert kc.log.verify_partition(tmp_path / "new" / "t-0").is_intact


def test_ranges_that_are_not_listed_are_an_error(
    tmp_path: Path, thinned: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "t-0", thinned)
    (error,) = kc.log.verify_partition(folder).findings
    assert f"and {MANY - 1:,} more ranges, at least 10,000 offsets in all" in error.message
    # A loss file lists 10,000 ranges, too.
    assert not kc.log.repair(folder, tmp_path / "new" / "t-0").is_complete
    report = kc.log.verify_partition(tmp_path / "new" / "t-0")
    assert (len(report.known_losses), report.more_missing, report.is_intact) == (10_000, 10, False)
    (error,) = report.findings
    assert error.message == "10 ranges of offsets are missing that the report does not list"
    assert main(["verify", "--json", str(tmp_path / "new")]) == 1
    assert not json.loads(capsys.readouterr().out)["ok"]
