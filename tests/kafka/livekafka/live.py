"""A broker with filled topics, and what a real consumer read from them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from livekafka import topics
from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from livekafka.tools import Batch, ConsumedRecord

ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
COMPACTION_TIMEOUT = 60.0

Partition = tuple[str, int]


class LiveLog:
    """Starts a broker, fills its topics, waits for compaction, reads everything with KafkaConsumer and FileRecords.

    `consumed` holds, by isolation level and partition, the records in the order in which the consumer got them;
    `dumped` the batches of each segment. Nothing is written afterwards, so both hold for the stopped broker too.
    """

    def __init__(self, folder: Path) -> None:
        self.broker = Broker(folder / "broker")
        self.tools = Tools(self.broker.bootstrap, folder)
        self.consumed: dict[str, dict[Partition, list[ConsumedRecord]]] = {}
        self.dumped: dict[Path, list[Batch]] = {}
        self._running = False

    @property
    def log_dir(self) -> Path:
        """The broker's log folder."""
        return self.broker.log_dir

    def partitions(self, topic: str) -> list[Partition]:
        """The partitions of a topic that have a folder."""
        names = sorted(path.name for path in self.log_dir.glob(f"{topic}-*"))
        split = (name.rpartition("-") for name in names)
        return [(name, int(partition)) for name, _, partition in split if name == topic]

    def segments(self, topic: str) -> list[Path]:
        """The segment files of all partitions of a topic."""
        folders = (self.broker.partition_folder(*partition) for partition in self.partitions(topic))
        return [segment for folder in folders for segment in sorted(folder.glob("*.log"))]

    def records(self, isolation_level: str, partition: Partition) -> list[ConsumedRecord]:
        """What the consumer got from a partition."""
        return self.consumed[isolation_level].get(partition, [])

    def run(self) -> None:
        """Lets the broker run, if it does not."""
        if not self._running:
            self.broker.start()
            self._running = True

    def stop(self) -> None:
        """Stops the broker cleanly, if it runs."""
        if self._running:
            self._running = False
            self.broker.stop()

    def __enter__(self) -> Self:
        """Starts the broker and fills it."""
        try:
            self.run()
            self.tools.create_topics(topics.definitions())
            topics.fill(self.tools, self.broker.bootstrap)
            self._wait_for_compaction()
            for level in ISOLATION_LEVELS:
                by_partition = self.consumed.setdefault(level, {})
                for record in self.tools.consume(topics.ALL, level):
                    by_partition.setdefault((record.topic, record.partition), []).append(record)
            self.dumped = self.tools.dump(segment for topic in topics.ALL for segment in self.segments(topic))
        except BaseException:
            self.broker.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the broker; without ceremony after a failure."""
        if error is None:
            self.stop()
        else:
            self.broker.kill()

    def _wait_for_compaction(self) -> None:
        """Waits until all but the active segment is clean: from then on the cleaner leaves the folder alone."""
        checkpoint = self.log_dir / "cleaner-offset-checkpoint"
        folder = self.broker.partition_folder(topics.COMPACTED)
        deadline = time.monotonic() + COMPACTION_TIMEOUT
        while True:
            active = max(int(segment.stem) for segment in folder.glob("*.log"))
            lines = checkpoint.read_text().split("\n") if checkpoint.exists() else []
            if f"{topics.COMPACTED} 0 {active}" in lines and active > 0:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{folder} was not compacted up to {active}: {lines}")
            time.sleep(0.2)
