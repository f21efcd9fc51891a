"""A stream over the folder of a broker that is being produced to: every offset once.

Segments roll and are deleted behind the stream, transactions end, a topic is added, and the query's processes are
killed and started again in the middle.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).resolve().parent
TIMEOUT = 120.0
Record = tuple[str, int, int, bytes]


class Producing(threading.Thread):
    """Produces until told to stop; `records` are those that a committed reader sees, with the broker's offsets."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        from confluent_kafka import Producer  # noqa: PLC0415 - only these tests need it

        common = {"bootstrap.servers": bootstrap, "linger.ms": 5, "compression.type": "lz4"}
        self.plain = Producer(common)
        self.transactional = Producer({**common, "transactional.id": "stream"})
        self.transactional.init_transactions(TIMEOUT)
        self.random = random.Random(6)
        self.topics = ["plain"]
        self.records: list[Record] = []
        self.error: Exception | None = None
        self.told_to_stop = threading.Event()
        self.number = 0

    def run(self) -> None:
        """Rounds of plain batches and a transaction each; the last transaction stays open."""
        try:
            while not self.told_to_stop.is_set():
                for topic in list(self.topics):
                    self.send(self.plain, topic, self.records)
                self.transaction(self.random.random() < 0.6)
                time.sleep(0.02)
            self.transactional.begin_transaction()
            self.send(self.transactional, "transactions", [])
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def transaction(self, is_commit: bool) -> None:
        """Some records, and their end."""
        mine: list[Record] = []
        self.transactional.begin_transaction()
        for _ in range(self.random.randrange(1, 4)):
            self.send(self.transactional, "transactions", mine)
            time.sleep(0.03)
        if is_commit:
            self.transactional.commit_transaction(TIMEOUT)
            self.records += mine
        else:
            self.transactional.abort_transaction(TIMEOUT)

    def send(self, producer: Any, topic: str, records: list[Record]) -> None:
        """One or a few batches, and wait for the broker's answer."""

        def delivered(error: object, message: Any) -> None:
            if error is not None:
                raise RuntimeError(f"not delivered: {error}")
            records.append((message.topic(), message.partition(), message.offset(), message.key()))

        for _ in range(self.random.randrange(1, 30)):
            key = b"%d" % self.number
            self.number += 1
            partition = self.random.randrange(2) if topic == "plain" else 0
            value = self.random.randbytes(self.random.choice([0, 100, 20_000]))
            producer.produce(topic, value=value, key=key, partition=partition, on_delivery=delivered)
        assert producer.flush(TIMEOUT) == 0

    def finish(self) -> list[Record]:
        """Stop; what a committed reader is to have seen."""
        self.told_to_stop.set()
        self.join(TIMEOUT)
        if self.error is not None:
            raise self.error
        return self.records


class Following:
    """A query; started again, it goes on at its checkpoint."""

    def __init__(self, logs: Path, folder: Path, **options: str) -> None:
        self.folder = folder
        names = {name: str(folder / name) for name in ("out", "checkpoint", "stop", "result")}
        self.request = json.dumps({"logs": str(logs), "options": options, **names})
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """In a process group of its own: the JVM and its Python workers."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "livekafka.following"],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(self.request)
        self.process.stdin.close()

    def kill(self) -> None:
        """End all of it at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def committed(self) -> dict[str, dict[str, int]]:
        """Where the last batch ended that is done."""
        commits = self.folder / "checkpoint" / "commits"
        done = [int(each.name) for each in commits.glob("*") if each.name.isdigit()] if commits.exists() else []
        if not done:
            return {}
        *_, last = (self.folder / "checkpoint" / "offsets" / str(max(done))).read_text().splitlines()
        return dict(json.loads(last))

    def rows(self) -> list[Record]:
        """Let it read what is left, and end."""
        (self.folder / "stop").touch()
        assert self.process is not None
        assert self.process.wait(TIMEOUT) == 0
        table = pa.ipc.open_file(self.folder / "result").read_all()
        return [(row["topic"], row["partition"], row["offset"], row["key"]) for row in table.to_pylist()]


@contextlib.contextmanager
def broker_with_short_retention(folder: Path) -> Iterator[Broker]:
    """A broker that looks twice a second for what is to be deleted."""
    broker = Broker(folder)
    with broker._configuration.open("a") as properties:
        properties.write("log.retention.check.interval.ms=500\nlog.segment.delete.delay.ms=500\n")
    with broker:
        yield broker


def wait_for(condition: Callable[[], object], what: str, *processes: subprocess.Popen[str] | None) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert all(each is None or each.poll() is None for each in processes), f"the query ended before {what}"
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def delete_what_was_read(bootstrap: str, read: dict[str, dict[str, int]]) -> None:
    """Let the broker delete the segments that lie before these offsets."""
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - only these tests need it
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - as above

    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [TopicPartition("plain", int(number), offset) for number, offset in read["plain"].items()]
    for future in admin.delete_records(wanted).values():
        future.result(TIMEOUT)


@pytest.mark.slow
def test_every_offset_once(tmp_path: Path) -> None:
    """The stream reads committed records while they come; nothing is lost to the deletions, nothing comes twice."""
    with broker_with_short_retention(tmp_path / "broker") as broker:
        tools = Tools(broker.bootstrap, tmp_path)
        rolling = {"segment.bytes": str(1 << 20)}
        tools.create_topics(
            [
                {"topic": "plain", "partitions": 2, "configs": rolling},
                {"topic": "transactions", "configs": rolling},
            ]
        )
        topics = {"subscribe": "plain,transactions,late", "isolationLevel": "read_committed"}
        following = Following(broker.log_dir, tmp_path, **topics)
        producing = Producing(broker.bootstrap)
        producing.start()
        try:
            following.start()
            folder = broker.partition_folder("plain")

            def segments() -> list[str]:
                return sorted(each.name for each in folder.glob("*.log"))

            wait_for(lambda: len(segments()) > 2, "segments that rolled", following.process)
            second = int(segments()[1].removesuffix(".log"))
            wait_for(
                lambda: following.committed().get("plain", {}).get("0", 0) > second,
                "a batch beyond the first segment",
                following.process,
            )
            following.kill()
            before = producing.number
            delete_what_was_read(broker.bootstrap, following.committed())
            wait_for(lambda: int(segments()[0].removesuffix(".log")) > 0, "segments that are deleted")
            tools.create_topics([{"topic": "late"}])
            producing.topics.append("late")
            following.start()
            wait_for(
                lambda: "late" in following.committed(), "a batch with the topic that was added", following.process
            )
            assert producing.number > before
            rolled = segments()[-1]

            def is_deleted() -> bool:
                delete_what_was_read(broker.bootstrap, following.committed())
                return segments()[0] >= rolled

            wait_for(is_deleted, "more segments that are deleted", following.process)
            wanted = producing.finish()
            rows = following.rows()
        finally:
            producing.told_to_stop.set()
            following.kill()
    assert not [row for row, count in Counter(rows).items() if count > 1]
    assert sorted(rows) == sorted(wanted)
    assert {topic for topic, *_ in rows} == {"plain", "transactions", "late"}
