"""Tables at 80 columns: no number is truncated; names wrap, and columns are left out by importance."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._cli import main
from kafkacomp._cli.tables import Column, show_table
from kafkacomp.bench import main as bench

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    Column("topic", is_name=True), Column("bytes"), Column("records", 1), Column("first offset", 2), Column("gaps", 3),
)  # fmt: skip
LARGEST = f"{2**63 - 1:,}"


def shown(capsys: pytest.CaptureFixture[str], rows: list[list[str]], width: int | None) -> list[str]:
    show_table(COLUMNS, rows, width=width)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 81, 100, 132])
@pytest.mark.parametrize("name", ["t", "a-topic-with-a-name-of-some-length." * 7])
@pytest.mark.parametrize("number", ["7", "1,234,567", LARGEST])
def test_numbers_are_never_truncated(capsys: pytest.CaptureFixture[str], width: int, name: str, number: str) -> None:
    lines = shown(capsys, [[name, number, number, number, number]], width)
    table = [line for line in lines if not line.startswith("not shown")]
    numbers = [word for line in table for word in line.split() if word[0].isdigit()]
    assert numbers
    assert set(numbers) == {number}
    is_turned = table[-1] == ""
    if not is_turned:
        assert all(len(line) <= width for line in table)
        assert "".join(line[: line.find("  ")] if "  " in line else line for line in table[1:]).startswith(name[:5])


def test_columns_are_left_out_by_importance(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["topic", LARGEST, LARGEST, LARGEST, "1"]]
    assert shown(capsys, rows, None)[0].split() == ["topic", "bytes", "records", "first", "offset", "gaps"]
    lines = shown(capsys, rows, 80)
    assert lines[0].split() == ["topic", "bytes", "records"]
    assert lines[-1] == "not shown at this width: first offset, gaps (--json has them)"


def test_verify_shows_what_each_segment_covers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"value": [b"x" * 50] * 300})
    topic = "a-topic-with-a-name-of-some-length" * 3
    kc.write(table, tmp_path, topic=topic, batch_bytes=500, segment_bytes=4000, compression_type="none")
    folder = next(tmp_path.iterdir())
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 3
    segments[1].unlink()
    for index in folder.glob(f"{segments[1].stem}.*"):
        index.unlink()
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["verify", str(folder)]) == 1
    out = capsys.readouterr().out
    first, second = int(segments[1].stem), int(segments[2].stem)
    assert f"missing: {folder.name}: offsets {first} to {second - 1} (gap)" in out
    assert f"offsets: {300 - second + first:,} covered" in out
    assert all(len(line) <= 80 for line in out.splitlines() if "records" in line)
    main(["verify", "--json", str(folder)])
    report = json.loads(capsys.readouterr().out)
    left = [segments[0], *segments[2:]]
    assert [each["firstOffset"] for each in report["files"]] == [int(each.stem) for each in left]
    assert sum(each["records"] for each in report["files"]) == report["offsetsCovered"] == 300 - second + first
    shutil.rmtree(folder)


def test_advise_truncates_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rich's tables wrap what does not fit; an ellipsis would hide digits."""
    kc.write(pa.table({"value": [b"%d" % n * 50 for n in range(2000)]}), tmp_path, topic="t")
    monkeypatch.setattr("kafkacomp._cli.advise._WIDTH", 80)
    assert main(["advise", str(tmp_path), "--codecs=lz4,zstd", "--batch-sizes=16k", "--time-budget=0.5"]) == 0
    assert "…" not in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80])
def test_bench_truncates_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Cells wrap; an ellipsis would hide digits."""
    monkeypatch.setattr("kafkacomp.bench.command._TERMINAL_WIDTH", width)
    assert bench(["--codecs=lz4,zstd", "--batch-bytes=1k,64k", "--rounds=1", "--sample-ms=0"]) == 0
    table = capsys.readouterr().out.partition("codec")[2]
    assert "…" not in table
    assert width < 80 or "MB/s" in "".join(table.split())  # narrower, the unit of a column wraps between others
