"""``kafkacomp.write`` of rows of several topics and partitions: each row goes where its columns or its key say."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka.partitioner.default import murmur2

import kafkacomp as kc
from grouped import grouped

VECTORS = Path(__file__).parent / "vectors" / "modern"


def read(folder: Path | str, **options: Any) -> pa.Table:
    return pa.table(kc.scan(folder, **grouped(**options)))


def test_rows_go_to_the_topic_and_partition_of_their_columns(tmp_path: Path) -> None:
    rng = random.Random(5)
    owners = [(rng.choice(["orders", "users", "a.b"]), rng.randrange(4)) for _ in range(2000)]
    rows = pa.table(
        {
            "topic": [topic for topic, _ in owners],
            "partition": pa.array([number for _, number in owners], pa.int32()),
            "value": [b"%d" % row for row in range(2000)],
        }
    )
    expected: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    for row, owner in enumerate(owners):
        expected[owner].append(b"%d" % row)
    report = kc.write(rows, tmp_path, num_partitions=4)
    logs = kc.LogDir(tmp_path)
    assert set(logs) == set(expected)
    for owner, values in expected.items():
        got = pa.table(logs[owner].scan(columns=["offset", "value"]))
        assert got.column("value").to_pylist() == values
        assert got.column("offset").to_pylist() == list(range(len(values)))
        assert logs[owner].verify().is_intact
    assert (report.path, report.records, report.log_start_offset, report.log_end_offset) == (
        str(tmp_path), 2000, None, None,
    )  # fmt: skip
    assert {each.path: each.records for each in report.partitions} == {
        str(tmp_path / f"{topic}-{number}"): len(values) for (topic, number), values in expected.items()
    }
    assert {each.name for each in tmp_path.iterdir()} == {f"{topic}-{number}" for topic, number in expected}


def test_keys_go_where_a_producer_sends_them(tmp_path: Path) -> None:
    keys = [b"key %d" % row for row in range(500)]
    kc.write(pa.table({"key": keys, "value": keys}), tmp_path, topic="t", num_partitions=7)
    scanned = read(tmp_path, columns=["partition", "key"])
    assert {row["key"]: row["partition"] for row in scanned.to_pylist()} == {
        key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys
    }


def test_without_a_partition_there_is_one(tmp_path: Path) -> None:
    report = kc.write(pa.table({"key": ["a", "b"], "value": ["1", "2"]}), tmp_path, topic="t")
    assert (report.path, report.partitions) == (str(tmp_path / "t-0"), ())
    report = kc.write(pa.table({"key": ["a"], "value": ["1"], "topic": ["u"]}), tmp_path)
    assert [each.path for each in report.partitions] == [str(tmp_path / "u-0")]


def test_what_is_given_is_for_all_rows(tmp_path: Path) -> None:
    rows = pa.table({"topic": ["a", "b"], "partition": [4, 5], "value": ["1", "2"]})
    kc.write(rows, tmp_path / "one", topic="t", partition=2)
    assert list(kc.LogDir(tmp_path / "one")) == [("t", 2)]
    kc.write(rows, tmp_path / "topic", topic="t", num_partitions=6)
    assert list(kc.LogDir(tmp_path / "topic")) == [("t", 4), ("t", 5)]
    kc.write(rows, tmp_path / "partition", partition=3, num_partitions=6)
    assert list(kc.LogDir(tmp_path / "partition")) == [("a", 3), ("b", 3)]
    offsets = rows.append_column("offset", pa.array([7, 7]))
    kc.write(offsets, tmp_path / "offsets", partition=3)
    assert read(tmp_path / "offsets", columns=["topic", "partition", "offset"]).to_pylist() == [
        {"topic": "a", "partition": 3, "offset": 7},
        {"topic": "b", "partition": 3, "offset": 7},
    ]


@pytest.mark.parametrize("name", ["compact", "consumer-offsets", "aiokafka-lz4"])
def test_a_scan_becomes_the_same_log_directory(tmp_path: Path, name: str) -> None:
    """Offsets stay, with the gaps that compaction has left."""
    columns = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
    folders = sorted({path.parent for path in (VECTORS / name).rglob("*.log")})
    before = read(VECTORS / name, columns=columns)
    report = kc.write(kc.scan(VECTORS / name, columns=columns), tmp_path)
    assert read(tmp_path, columns=columns).to_pylist() == before.to_pylist()
    assert len(report.partitions) == len(folders)


def test_more_partitions_than_files_are_open_and_rows_in_disorder(tmp_path: Path) -> None:
    numbers = [n for _ in range(3) for n in range(230)]
    offsets = [turn for turn in range(3) for _ in range(230)]
    rows = pa.table({"partition": numbers, "offset": offsets, "value": [str(n) for n in range(690)]})
    kc.write(pa.Table.from_batches(rows.to_batches(max_chunksize=100)), tmp_path, topic="t")
    logs = kc.LogDir(tmp_path)
    assert len(logs) == 230
    for (_, number), log in logs.items():
        assert pa.table(log.scan(columns=["value"])).column(0).to_pylist() == [
            str(number + turn * 230).encode() for turn in range(3)
        ]


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"value": ["a"]}, {}, "the rows have no column 'topic': add the column, or give"),
    ({"value": ["a"], "offset": [1], "topic": ["t"]}, {}, "the rows have offsets but no column 'partition'"),
    ({"value": ["a"], "offset": [1], "partition": pa.nulls(1, pa.int32())}, {"topic": "t"}, "row 0: partition is null"),
    ({"value": ["a"], "offset": [1], "partition": [-1]}, {"topic": "t"}, "partition must be 0 to 2147483647, not -1"),
    ({"value": ["a"], "offset": [1], "partition": [1], "topic": ["../x"]}, {}, r"invalid topic name '\.\./x'"),
    ({"value": ["a"], "offset": [1], "partition": [1]}, {"topic": "t", "num_partitions": 2}, "rows without offsets"),
    ({"value": ["a"], "partition": [5]}, {"topic": "t", "num_partitions": 2}, "partition"),
    ({"value": ["a"]}, {"topic": "t", "partition": 2, "num_partitions": 2}, "partition 2 must be less than num_part"),
    ({"value": ["a"], "topic": ["t"]}, {"topic_id": "9jeJK4hpQtWzlRClxg9Xjg"}, "topic_id requires topic"),
    ({"value": ["a"], "topic": ["t"]}, {"base_offset": 4}, "base_offset requires topic and partition"),
    ({"value": ["a", "b"], "offset": [3, 2], "partition": [1, 1]}, {"topic": "t"}, "t-1: .*offset 2 does not follow"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_what_is_refused_leaves_nothing(
    tmp_path: Path, rows: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, kc.KafkaCompError), match=message):
        kc.write(pa.table(rows), tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_partition_that_exists_stays_and_nothing_is_added(tmp_path: Path) -> None:
    kc.write(pa.table({"value": ["old"]}), tmp_path, topic="b")
    with pytest.raises(FileExistsError, match=r"b-0"):
        kc.write(pa.table({"value": ["1", "2"], "topic": ["a", "b"]}), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["b-0"]
    assert read(tmp_path, columns=["value"]).column(0).to_pylist() == [b"old"]


def test_the_errors_of_a_scan_come_as_they_are(tmp_path: Path) -> None:
    kc.write(
        pa.table({"value": ["x" * 500] * 50}), tmp_path / "in", topic="t", compression_type="none", batch_bytes=900
    )
    segment = next((tmp_path / "in" / "t-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[14250 + 100] ^= 1  # a value in the middle
    segment.write_bytes(data)
    with pytest.raises(kc.CorruptRecordError, match=r"t-0/0{20}\.log: "):
        kc.write(kc.scan(tmp_path / "in"), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
