"""``kafkacomp diff``: records decide, not how they are stored; the first difference of each partition is named."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log
from kafkacomp._cli import main

if TYPE_CHECKING:
    from pathlib import Path


def table(**changes: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "key": [b"k%d" % n for n in range(100)],
        "value": [None if n == 5 else b"v%d" % n for n in range(100)],
        "timestamp": pa.array(range(1000, 1100), pa.timestamp("ms", "UTC")),
        "headers": [[{"key": "h", "value": b"%d" % n}] for n in range(100)],
    }
    for name, (row, value) in changes.items():
        values = columns[name].to_pylist() if isinstance(columns[name], pa.Array) else list(columns[name])
        values[row] = value
        columns[name] = pa.array(values, pa.timestamp("ms", "UTC")) if name == "timestamp" else values
    return pa.table(columns)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    kc.write(table(), tmp_path / "original", topic="t")
    return tmp_path / "original"


def compared(capsys: pytest.CaptureFixture[str], *sources: Path) -> tuple[int, dict[str, Any]]:
    status = main(["diff", "--json", *map(str, sources)])
    return status, json.loads(capsys.readouterr().out)


def test_how_records_are_stored_does_not_matter(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kc.write(table(), tmp_path / "small", topic="t", batch_bytes=100, segment_bytes=1000, compression_type="zstd")
    assert compared(capsys, original, tmp_path / "small") == (
        0,
        {"same": True, "records": 100, "differences": [], "missing": []},
    )
    (tmp_path / "again").mkdir()
    log.recompress(original / "t-0", tmp_path / "again" / "t-0", compression_type="gzip")
    assert compared(capsys, original, tmp_path / "again")[0] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", b"other"), ("value", None), ("value", b""), ("timestamp", 7), ("headers", []), ("key", None)],
)
@pytest.mark.parametrize("row", [0, 63, 99])
def test_the_first_difference_is_named(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str], name: str, value: object, row: int
) -> None:
    kc.write(table(**{name: (row, value)}), tmp_path / "other", topic="t", batch_bytes=300)
    status, report = compared(capsys, original, tmp_path / "other")
    message = f"offset {row} differs in {name}"
    assert status == 1
    assert report["differences"] == [{"topic": "t", "partition": 0, "offset": row, "message": message}]
    assert report["records"] == row


def test_records_and_partitions_of_one_side_only(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short"
    kc.write(table().slice(0, 60), short, topic="t")
    for pair in ((original, short), (short, original)):
        _, report = compared(capsys, *pair)
        assert report["differences"][0]["message"] == f"offset 60 is not in {short}"
    shutil.copytree(original / "t-0", tmp_path / "more" / "t-1")
    _, report = compared(capsys, original, tmp_path / "more")
    assert [each["message"] for each in report["differences"]] == [
        f"{tmp_path / 'more'} has no folder of this name, so that there is nothing to compare",
        f"{original} has no folder of this name, so that there is nothing to compare",
    ]


def test_a_corrupt_side_is_not_the_same(tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(original, tmp_path / "corrupt")
    segment = next((tmp_path / "corrupt" / "t-0").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[-3] ^= 1
    segment.write_bytes(content)
    assert main(["diff", str(original), str(tmp_path / "corrupt")]) == 1
    captured = capsys.readouterr()
    assert f"t-0: offset 0 is not in {tmp_path / 'corrupt'}" in captured.out
    assert str(segment) in captured.err
    # What neither side can read is not the same either.
    assert main(["diff", str(tmp_path / "corrupt"), str(tmp_path / "corrupt")]) == 1
    assert "cannot be read" in capsys.readouterr().out


def test_a_partition_in_two_folders_is_not_compared(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only one of them would be, and the other one could have other records."""
    kc.write(table(value=(3, b"other")), tmp_path / "both" / "disk-a", topic="t")
    kc.write(table(), tmp_path / "both" / "disk-b", topic="t")
    for sources in ((original, tmp_path / "both"), (tmp_path / "both", original)):
        assert main(["diff", *map(str, sources)]) == 2
        assert "t-0 is in several folders" in capsys.readouterr().err
