"""CSV and JSON lines of ``kafkacomp export``, read by pyarrow and by the standard library."""

from __future__ import annotations

import base64
import csv
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.json as arrow_json
import pytest

import kafkacomp as kc
from kafkacomp._cli import main

if TYPE_CHECKING:
    from pathlib import Path

VALUES = [
    b"plain",
    b"",
    None,
    b'quo"ted',
    b"com,ma",
    b"line\nand\r\nline",
    "gr\u00fc\u00df \U0001f680".encode(),
    b"\x00",
]
COLUMNS = "offset,timestamp,key,value,headers,isControl,topic,partition"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    headers: list[list[dict[str, Any]] | None] = [None, [], [{"key": "a", "value": b"1"}, {"key": 'b"', "value": None}]]
    table = pa.table(
        {
            "key": [b"k", None, b"", b"k", b"k", b"k", b"k", b"k"],
            "value": VALUES,
            "headers": pa.array(
                [headers[index % 3] for index in range(8)],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
            "timestamp": pa.array([253_402_300_800_000 + index for index in range(8)], pa.int64()),
        }
    )
    kc.write(table, tmp_path / "orders-0", topic="orders")
    return tmp_path / "orders-0"


def export(folder: Path, name: str, *options: str) -> Path:
    target = folder.parent / name
    assert main(["export", str(folder), "-o", str(target), "--columns", COLUMNS, *options]) == 0
    return target


def text(value: bytes | None, encoding: str) -> str | None:
    if value is None:
        return None
    if encoding == "utf8":
        return value.decode()
    return value.hex() if encoding == "hex" else base64.b64encode(value).decode()


@pytest.mark.parametrize("encoding", ["utf8", "base64", "hex"])
def test_json_lines(folder: Path, encoding: str) -> None:
    expected = pa.table(
        kc.scan(folder, columns=COLUMNS.split(","), options=kc.ScanOptions(timestamp_unit="int64"))
    ).to_pylist()
    target = export(folder, "x.jsonl", "--bytes", encoding)
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines() if line]
    assert [list(row) for row in rows] == [COLUMNS.split(",")] * 8
    assert [row["value"] for row in rows] == [text(value, encoding) for value in VALUES]
    assert [row["timestamp"] for row in rows] == [253_402_300_800_000 + index for index in range(8)]
    for row, wanted in zip(rows, expected, strict=True):
        headers = [{"key": each["key"], "value": text(each["value"], encoding)} for each in wanted["headers"] or ()]
        assert (row["headers"] or []) == headers
        assert (row["headers"] is None) == (wanted["headers"] is None)
        assert (row["isControl"], row["topic"], row["partition"]) == (False, "orders", 0)
    assert arrow_json.read_json(target)["offset"].to_pylist() == list(range(8))


@pytest.mark.parametrize("encoding", ["utf8", "base64", "hex"])
def test_csv(folder: Path, encoding: str) -> None:
    target = export(folder, "x.csv", "--bytes", encoding)
    options = arrow_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    table = arrow_csv.read_csv(target, convert_options=options, parse_options=parse)
    assert table.column_names == COLUMNS.split(",")
    assert table["value"].cast(pa.string()).to_pylist() == [text(value, encoding) for value in VALUES]
    assert table["timestamp"].to_pylist() == [253_402_300_800_000 + index for index in range(8)]
    with target.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    one = text(b"1", encoding)
    assert json.loads(rows[2]["headers"]) == [{"key": "a", "value": one}, {"key": 'b"', "value": None}]
    assert [row["isControl"] for row in rows] == ["false"] * 8


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("column", ["key", "value", "headers"])
def test_bytes_that_are_not_utf8(tmp_path: Path, suffix: str, column: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names record, topic, partition and file, whatever columns are written; no file appears."""
    rows: dict[str, list[Any]] = {"key": [b"k"] * 20, "value": [b"v"] * 20, "headers": [[]] * 20}
    rows[column][10] = b"\xff"
    if column == "headers":
        rows[column][10] = [{"key": "a", "value": b"\xff"}]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    table = pa.table(rows | {"headers": pa.array(rows["headers"], kind)})
    kc.write(table, tmp_path / "logs" / "orders-3", topic="orders", partition=3)
    command = ["export", str(tmp_path / "logs"), "-o", str(tmp_path / f"x.{suffix}"), "--columns", column]
    assert main(command) == 2
    error = capsys.readouterr().err
    what = "a value in the headers" if column == "headers" else f"the {column}"
    assert f"{what} is not UTF-8 (topic orders, partition 3, offset 10, segment " in error
    assert "00000000000000000000.log): choose --bytes base64 or hex" in error
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert main([*command, "--bytes", "hex"]) == 0
