"""Which partition a key goes to: as kafka-python's and Kafka's own partitioner say."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from kafka.partitioner.default import murmur2

from kafkacomp import _kafkacomp, record
from kafkacomp._batch_settings import BatchSettings

if TYPE_CHECKING:
    from pathlib import Path

    from kafkacomp._kafkacomp import StagedFile


def stage(folder: Path, rows: dict[str, pa.Array], **routing: Any) -> list[StagedFile]:
    settings = BatchSettings(magic=2, compression_type="none", level=None, partition_leader_epoch=0, write_limit=1000)
    options = {"topic": "t", "partitions": None, "known": {}, "start": 0} | routing
    files = _kafkacomp.StagedBatches(settings, folder / "task", *options.values())
    files.push(pa.table(rows))
    return files.finish()


@pytest.mark.parametrize("partitions", [1, 2, 7, 1000, 2**31 - 1])
@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())]
)
def test_keys_go_where_kafka_sends_them(tmp_path: Path, partitions: int, kind: pa.DataType) -> None:
    seeded = random.Random(partitions)
    keys = [b"", *(seeded.randbytes(size) for size in range(70)), *(seeded.randbytes(4) for _ in range(30))]
    array = pa.array(keys).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(keys, kind)
    files = stage(tmp_path, {"key": array, "value": pa.array(keys)}, partitions=partitions)
    found = {row: each.partition for each in files for row in _keys(each.path)}
    assert found == {key: (murmur2(key) & 0x7FFFFFFF) % partitions for key in keys}
    assert sum(each.records for each in files) == len(keys)


def _keys(path: Path) -> list[bytes]:
    return [each.key or b"" for batch in record.read_batches(path.read_bytes()) for each in batch]


def test_rows_without_a_key_stay_for_a_batch_and_go_round(tmp_path: Path) -> None:
    values = pa.array([b"x" * 92] * 1000)
    files = stage(tmp_path, {"value": values, "key": pa.nulls(1000, pa.binary())}, partitions=4, start=6)
    counts = Counter({each.partition: each.records for each in files})
    assert set(counts) == set(range(4))
    assert max(counts.values()) - min(counts.values()) <= 11
    assert [each.partition for each in files] == [2, 3, 0, 1]


def test_a_topic_has_as_many_partitions_as_it_is_known_to_have(tmp_path: Path) -> None:
    rows = {
        "topic": pa.array(["old", "new", "old", "new"] * 50),
        "key": pa.array([str(n) for n in range(200)]),
        "value": pa.array([None] * 200, pa.binary()),
    }
    files = stage(tmp_path, rows, topic=None, known={"old": 3})
    assert {(each.topic, each.partition) for each in files} == {("old", 0), ("old", 1), ("old", 2), ("new", 0)}


@pytest.mark.parametrize(
    ("rows", "routing", "message"),
    [
        ({"topic": ["a", None]}, {}, "row 1: the topic is null"),
        ({}, {}, "row 0: the topic is null"),
        ({"topic": ["a", "b/c"]}, {}, 'row 1: invalid topic name "b/c"'),
        ({"topic": ["", ""]}, {}, "row 0: invalid topic name"),
        ({"topic": ["x" * 250, ""]}, {}, "row 0: invalid topic name"),
        ({"topic": ["..", ""]}, {}, "row 0: invalid topic name"),
        ({"partition": [0, -1]}, {"topic": "t"}, "row 1: partition -1 is out of range"),
        ({"partition": [3, 4]}, {"topic": "t", "partitions": 4}, "row 1: partition 4 is out of range: there are 4"),
    ],
)
def test_rows_that_go_nowhere(tmp_path: Path, rows: dict[str, Any], routing: dict[str, Any], message: str) -> None:
    columns = {name: pa.array(values, pa.int32() if name == "partition" else None) for name, values in rows.items()}
    with pytest.raises(ValueError, match=message):
        stage(tmp_path, {"value": pa.array([b"1", b"2"]), **columns}, **({"topic": None} | routing))


def test_columns_of_wrong_types(tmp_path: Path) -> None:
    for name, array in (("topic", pa.array([1])), ("partition", pa.array([1], pa.int64()))):
        with pytest.raises(TypeError, match=f"column {name} cannot be of type Int64"):
            stage(tmp_path, {"value": pa.array([b"1"]), name: array}, topic=None)
