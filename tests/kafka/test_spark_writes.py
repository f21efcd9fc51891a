"""What Spark writes into a stopped broker's folder: the broker starts on it, and clients read what was written.

Topics that are new, and one that the broker has filled before; once trusting what it finds, once recovering its logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kafkacomp as kc
from livekafka import mounting, spark_write
from livekafka.broker import Broker
from livekafka.spark import Source, read_both, with_nulls
from livekafka.spark_write import Job
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from livekafka.spark import Both

pytestmark = pytest.mark.slow

TIMEOUT = 30.0
PARTITIONS = 3
SENT = 50
JOBS = [
    Job(0, 3000, 4, {"topic": "keyed", "segment.bytes": "20k", "batch.size": "2000"}),
    Job(3000, 3500, 3, {"topic": "keyed", "compression.type": "lz4"}),
    Job(0, 400, 2, {"topic": "continued", "compression.type": "gzip", "numPartitions": "1"}),
    Job(0, 10, 1, {"topic": "plain", "compression.type": "none", "numPartitions": "1"}),
]
COUNTS = {"keyed": 3500, "continued": SENT + 400, "plain": 10}


def send(bootstrap: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for value in values:
        producer.produce(topic, value.encode(), partition=0)
    assert producer.flush(TIMEOUT) == 0


@pytest.fixture(scope="module", params=["clean", "recovered"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder: Path = tmp_path_factory.mktemp("written")
    broker = Broker(folder)
    with broker:
        topics: list[dict[str, Any]] = [{"topic": topic, "configs": {}} for topic in ("continued", "plain")]
        topics.append({"topic": "keyed", "configs": {}, "partitions": PARTITIONS})
        Tools(broker.bootstrap, folder).create_topics(topics)
        send(broker.bootstrap, "continued", [f"sent {number}" for number in range(SENT)])
    spark_write.write(broker.log_dir, JOBS)
    if request.param == "recovered":
        mounting.distrust(broker, ["continued", "plain", "keyed"])
    with broker:
        yield broker


@pytest.fixture(scope="module")
def both(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Both]:
    folder: Path = tmp_path_factory.mktemp("both")
    (found,) = read_both(folder, [Source(broker.bootstrap, str(broker.log_dir), [*COUNTS], {})])
    return found


def test_the_connector_reads_what_was_written(both: dict[str, Both]) -> None:
    for found in both.values():
        assert found.kafkacomp.equals(with_nulls(found.connector))
    rows = both["read_committed"].connector.to_pylist()
    assert {topic: sum(row["topic"] == topic for row in rows) for topic in COUNTS} == COUNTS
    assert {row["partition"] for row in rows if row["topic"] == "keyed"} == set(range(PARTITIONS))
    written = {row["timestamp"].timestamp(): row for row in rows if row["topic"] == "keyed"}
    for number in range(3500):
        row = written[1_700_000_000 + number / 1000]
        assert row["key"] == (None if number % 10 == 0 else f"key {number % 100}".encode())
        assert row["value"] == (None if number % 7 == 0 else f"value {number}".encode())
        headers = [{"key": "id", "value": str(number).encode()}, {"key": "none", "value": None}]
        assert row["headers"] == (None if number % 3 == 0 else headers)


def test_the_log_goes_on(broker: Broker, both: dict[str, Both]) -> None:
    """The broker appends behind what was written, and finds records by their time."""
    before = both["read_uncommitted"].connector.to_pylist()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "log_level": 0})
    try:
        for topic in COUNTS:
            send(broker.bootstrap, topic, ["the last"])
            rows = [row for row in before if (row["topic"], row["partition"]) == (topic, 0)]
            offsets = [row["offset"] for row in rows]
            assert offsets == list(range(len(offsets)))
            consumer.assign([TopicPartition(topic, 0, len(offsets))])
            message = consumer.poll(TIMEOUT)
            assert message is not None
            assert (message.offset(), message.value()) == (len(offsets), b"the last")
            wanted = rows[-1]["timestamp"]
            asked = TopicPartition(topic, 0, round(wanted.timestamp() * 1000))
            (found,) = consumer.offsets_for_times([asked], timeout=TIMEOUT)
            assert found.offset == next(row["offset"] for row in rows if row["timestamp"] >= wanted)
    finally:
        consumer.close()
    assert pa.table(kc.scan(broker.partition_folder("plain"), columns=("offset",))).num_rows == 11
