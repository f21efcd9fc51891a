"""Bounds and conditions on records: the same words for scan, dump and export."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp._cli import main
from kafkacomp._cli.dump import _LastRecords
from kafkacomp.arrow import filter_rows

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 200


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two topics with two partitions of 100 records each."""
    for topic in ("orders", "clicks"):
        table = pa.table(
            {
                "partition": pa.array([n % 2 for n in range(COUNT)], pa.int32()),
                "key": [f"customer-{n % 7}".encode() for n in range(COUNT)],
                "value": [b"\x00\xff" if n % 50 == 0 else f'{{"order": {n}}}'.encode() for n in range(COUNT)],
                "timestamp": pa.array([1_700_000_000_000 + n * 1000 for n in range(COUNT)], pa.timestamp("ms", "UTC")),
                "headers": [
                    [{"key": "trace", "value": b"even" if n % 4 == 0 else b"odd"}, {"key": "n", "value": b"%d" % n}]
                    for n in range(COUNT)
                ],
            }
        )
        kc.write(table, tmp_path, topic=topic, batch_bytes=600, segment_bytes=1500)
    return tmp_path


def dumped(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main(["dump", "--json", *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def offsets(rows: list[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows if row["type"] == "record"]


CONDITIONS: list[dict[str, Any]] = [
    {"key": "customer-3"},
    {"key_regex": "[12]$"},
    {"value_contains": '": 15'},
    {"header": {"trace": "even"}},
    {"header": {"trace": "odd", "n": "7"}},
    {"key": "customer-3", "value_contains": "9"},
    {"key": "nobody"},
]


def options_of(conditions: dict[str, Any]) -> list[str]:
    made = []
    for name, value in conditions.items():
        values = [f"{key}={each}" for key, each in value.items()] if name == "header" else [value]
        made += [f"--{name.replace('_', '-')}={each}" for each in values]
    return made


def meets(row: dict[str, Any], conditions: dict[str, Any]) -> bool:
    """What each condition means, without Arrow."""
    headers = {(header["key"], header["value"]) for header in row["headers"]}
    wanted = conditions.get("header", {})
    return (
        conditions.get("key", row["key"].decode()) == row["key"].decode()
        and ("key_regex" not in conditions or row["key"][-1:] in b"12")
        and conditions.get("value_contains", "").encode() in row["value"]
        and all((name, value.encode()) in headers for name, value in wanted.items())
    )


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_scan_and_dump_choose_the_same_records(
    logs: Path, capsys: pytest.CaptureFixture[str], conditions: dict[str, Any]
) -> None:
    scanned = pa.table(kc.scan(logs, topics=["orders"])).to_pylist()
    wanted = [row["offset"] for row in scanned if meets(row, conditions)]
    found = pa.table(filter_rows(kc.scan(logs, topics=["orders"]), **conditions))
    assert found.column("offset").to_pylist() == wanted
    assert offsets(dumped(capsys, logs, "--topics=orders", *options_of(conditions))) == wanted


def test_limit_ends_the_scan(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = filter_rows(kc.scan(logs, options=kc.ScanOptions(batch_rows=10)), limit=25)
    assert sum(batch.num_rows for batch in reader) == 25
    assert reader.report.records < COUNT
    assert len(offsets(dumped(capsys, logs, "--limit=25"))) == 25
    assert pa.table(filter_rows(kc.scan(logs), limit=0)).num_rows == 0


def test_a_condition_needs_its_column(logs: Path) -> None:
    with pytest.raises(ValueError, match="needs the column key"):
        filter_rows(kc.scan(logs, columns=["offset"]), key="a")
    with pytest.raises(ValueError, match="invalid key_regex"):
        filter_rows(kc.scan(logs), key_regex="(")


@pytest.mark.parametrize("number", [0, 1, 3, 40, 99, 100, 1000])
def test_first_and_last_of_each_partition(logs: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    partition = logs / "orders-1"
    assert len(list(partition.glob("*.log"))) > 1
    assert offsets(dumped(capsys, partition, f"--first={number}")) == list(range(100))[:number]
    assert offsets(dumped(capsys, partition, f"--last={number}")) == list(range(100))[max(100 - number, 0) :]
    rows = dumped(capsys, logs, f"--last={number}", "--topics=orders")
    assert offsets(rows) == 2 * list(range(100))[max(100 - number, 0) :]


def test_last_of_those_that_satisfy_a_condition(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scanned = pa.table(kc.scan(logs / "orders-0")).to_pylist()
    wanted = [row["offset"] for row in scanned if row["key"] == b"customer-3"]
    assert offsets(dumped(capsys, logs / "orders-0", "--last=5", "--key=customer-3")) == wanted[-5:]


def test_bounds_of_dump_are_those_of_scan(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, end = 1_700_000_030_000, 1_700_000_090_500
    bounds: dict[str, Any] = {"start_offset": 20, "end_offset": 40, "start_time": start, "end_time": end}
    wanted = pa.table(kc.scan(logs, **grouped(topics=["cl*"], partitions=[1], **bounds))).column("offset").to_pylist()
    options = [f"--{name.replace('_', '-')}={value}" for name, value in bounds.items()]
    assert offsets(dumped(capsys, logs, "--deep", "--topics=cl*", "--partitions=1", *options)) == wanted
    batches = dumped(capsys, logs, "--topics=cl*", "--partitions=1", *options)
    assert {row["type"] for row in batches} == {"batch"}
    assert 0 < len(batches) < len(dumped(capsys, logs / "clicks-1" / "00000000000000000000.log")) * 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--start-offset=5", "--end-offset=4"], "--start-offset 5 is above --end-offset 4"),
        (["--start-time=5", "--end-time=4"], "--start-time 5 is above --end-time 4"),
        (["--start-offset=-1"], "-1 is not in the range"),
        (["--start-time=-1"], "start_time must be 0 to"),
        (["--topics=nothing*"], "no topic matches 'nothing*'"),
        (["--partitions=9"], "no topic has a partition 9"),
        (["--first=1", "--last=1"], "cannot be given together"),
        (["--header=trace"], "expected NAME=VALUE"),
        (["--key-regex=("], "invalid key_regex"),
    ],
)
def test_what_cannot_be_is_refused(
    logs: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["dump", str(logs), *options]) == 2
    assert message in capsys.readouterr().err


def test_tables_name_base64_and_show_times(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(logs / "orders-0"), "--first=2"]) == 0
    out = capsys.readouterr().out
    assert "payload (base64): AP8=" in out
    assert 'payload: {"order": 2}' in out
    assert "timestamp: 2023-11-14T22:13:20Z" in out


def test_the_last_records_take_one_step_each() -> None:
    steps = 0

    class Counted(list[Any]):
        def __len__(self) -> int:
            nonlocal steps
            steps += 1
            return super().__len__()

    kept = _LastRecords(500)
    for number in range(2_000):
        kept.add(None, Counted([number]))  # type: ignore[arg-type]  # batches are only kept
    assert [record for _, records in kept.by_batch for record in records] == list(range(1_500, 2_000))
    assert steps <= 4 * 2_000
