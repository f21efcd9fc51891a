"""Groups of a dead broker resume in another cluster at exactly the same records.

The procedure is that of docs/how-to/recover-consumer-groups.md: `kafkacomp groups --reset-file` on the dead broker's
disk, then `kafka-consumer-groups --reset-offsets --from-file` in the cluster to which the logs were restored.
"""

from __future__ import annotations

import csv
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kafkacomp as kc
from livekafka import maven
from livekafka.broker import JAVA_OPTIONS, Broker
from livekafka.tools import Tools

TIMEOUT = 30.0
TOPIC = "orders"
PARTITIONS = 3
#: How far each group has read each partition.
READ: dict[str, list[int | None]] = {
    "billing": [10, 20, 30],
    'a "quoted", group': [0, 50, 99],
    "one-partition": [None, 7, None],
}
#: The Maven project with kafka-consumer-groups.
TOOLS_PROJECT = Path(__file__).resolve().parent / "dump"
TOOLS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def _create_topic(broker: Broker, folder: Path) -> None:
    folder.mkdir()
    Tools(broker.bootstrap, folder).create_topics([{"topic": TOPIC, "partitions": PARTITIONS}])


def _fill(broker: Broker, folder: Path) -> None:
    _create_topic(broker, folder)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(100):
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, value=f"{partition}: {number}".encode(), partition=partition)
    assert producer.flush(TIMEOUT) == 0
    for group, offsets in READ.items():
        consumer = _consumer(broker, group)
        places = [TopicPartition(TOPIC, at, offset) for at, offset in enumerate(offsets) if offset is not None]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()


def _consumer(broker: Broker, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
        }
    )


def _resumes_at(broker: Broker, group: str, partition: int) -> bytes:
    """The value of the first record that the group gets from a partition."""
    consumer = _consumer(broker, group)
    try:
        [place] = consumer.committed([TopicPartition(TOPIC, partition)], TIMEOUT)
        consumer.assign([place])
        message = consumer.poll(TIMEOUT)
        assert message is not None, (group, partition, place)
        assert message.error() is None
        return message.value() or b""
    finally:
        consumer.close()


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_groups_resume_at_the_same_records(tmp_path: Path, end: str) -> None:
    dead = Broker(tmp_path / "dead")
    dead.start()
    try:
        _fill(dead, tmp_path / "dead-tools")
        if end == "stopped":
            dead.stop()
    finally:
        dead.kill()

    lines = tmp_path / "offsets.csv"
    command = [sys.executable, "-m", "kafkacomp", "groups", str(dead.log_dir), "--reset-file", str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with lines.open(newline="", encoding="utf-8") as file:
        written = {(group, topic, int(at)): int(offset) for group, topic, at, offset in csv.reader(file)}
    assert written == {
        (group, TOPIC, at): offset
        for group, offsets in READ.items()
        for at, offset in enumerate(offsets)
        if offset is not None
    }
    printed = next(line for line in done.stdout.splitlines() if line.startswith("kafka-consumer-groups.sh"))

    restored = Broker(tmp_path / "restored")
    with restored:
        _create_topic(restored, tmp_path / "tools")
    for partition in range(PARTITIONS):
        folder = restored.partition_folder(TOPIC, partition)
        metadata = (folder / "partition.metadata").read_bytes()
        shutil.rmtree(folder)
        shutil.copytree(dead.partition_folder(TOPIC, partition), folder)
        (folder / "partition.metadata").write_bytes(metadata)
    (restored.log_dir / ".kafka_cleanshutdown").unlink()
    with restored:
        arguments = shlex.split(printed.replace("HOST:9092", restored.bootstrap))[1:]
        class_path = maven.class_path(TOOLS_PROJECT, "process-resources")
        tool = ["java", *JAVA_OPTIONS, "-cp", class_path, TOOLS, *arguments]
        reset = subprocess.run(tool, capture_output=True, text=True, check=False, timeout=120)
        assert reset.returncode == 0, reset.stdout + reset.stderr
        assert "WARN" not in reset.stdout
        for group, offsets in READ.items():
            for partition, offset in enumerate(offsets):
                if offset is not None:
                    assert _resumes_at(restored, group, partition) == f"{partition}: {offset}".encode()


def test_offsets_outside_the_restored_log_are_refused(tmp_path: Path) -> None:
    with Broker(tmp_path / "dead") as dead:
        _fill(dead, tmp_path / "tools")
    rows = kc.scan(dead.partition_folder(TOPIC, 2), end_offset=50)
    shutil.copytree(dead.log_dir, tmp_path / "short")
    shutil.rmtree(tmp_path / "short" / f"{TOPIC}-2")
    kc.write(rows, tmp_path / "short")
    lines = tmp_path / "offsets.csv"
    command = [sys.executable, "-m", "kafkacomp", "groups", str(tmp_path / "short"), "--reset-file", str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "offset 99 is outside the log, which has 0 to 50" in done.stderr
    assert not lines.exists()
