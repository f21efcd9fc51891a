"""Partition folders that kafkacomp wrote, in a real broker: it starts on them, and its clients get what belongs there.

The same folders are mounted twice, for a broker that trusts what it finds and for one that recovers its logs.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log, record
from livekafka import mounting
from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp.typing import IsolationLevel
    from livekafka.tools import ConsumedRecord

KAFKA = Path(__file__).resolve().parent
VECTORS = KAFKA.parent / "vectors"
MODERN = VECTORS / "modern"
OLD = VECTORS / "v07" / "broker" / "gz-0"
COLUMNS = ("offset", "timestamp", "timestampType", "key", "value", "headers")
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
TIMEOUT = 30.0
#: The producer's topic, and how much of it is written before the broker stops.
IDEMPOTENT = "idempotent"
SENT = 100

Row = dict[str, Any]


def golden(name: str) -> Path:
    """A partition folder that 4.3.1 wrote."""
    return MODERN / name / f"{name}-0"


def _write_in_segments(source: Path, target: Path) -> None:
    log.recompress(source, target, compression_type="zstd", segment_bytes=8000)


#: Topic -> its source, how the source is scanned for what is expected, and what writes the folder.
MOUNTED: dict[str, tuple[Path, dict[str, Any], Callable[[Path, Path], object]]] = {
    "open-lz4": (golden("txn-open"), {}, lambda s, t: log.recompress(s, t, compression_type="lz4")),
    "open-merged": (
        golden("txn-open"),
        {},
        lambda s, t: log.recompress(s, t, compression_type="zstd", merge=True, batch_bytes=5000, segment_bytes=20_000),
    ),
    "open-segments": (golden("txn-open"), {}, _write_in_segments),
    "compacted": (golden("compact-txn"), {}, lambda s, t: log.recompress(s, t, compression_type="gzip", merge=True)),
    "append-time": (
        golden("logappendtime-recompressed"),
        {},
        lambda s, t: log.recompress(s, t, compression_type="snappy"),
    ),
    "times": (
        golden("special-times"),
        {},
        lambda s, t: log.recompress(s, t, compression_type="zstd", compression_level=1),
    ),
    "plain": (golden("java-not-idempotent"), {}, lambda s, t: log.recompress(s, t, compression_type="none")),
    "written": (
        golden("restarts"),
        {},
        lambda s, t: kc.write(kc.scan(s), t.parent, topic="written", segment_bytes=9000),
    ),
    "migrated": (OLD, {}, lambda s, t: log.convert(s, t, 2)),
    "repaired": (golden("damaged-restarts-flipped-body"), {"on_error": "skip"}, log.repair),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Row]]:
    """What a consumer is to get of a mounted topic: what kafkacomp reads from the source."""
    # No scan of a log of Kafka 0.7 tells the offsets that its messages get.
    migrated = tmp_path_factory.mktemp("migrated") / OLD.name
    log.convert(OLD, migrated, 2)

    def read(topic: str, isolation_level: IsolationLevel, **more: Any) -> list[Row]:
        source, options, _ = MOUNTED[topic]
        source = migrated if source == OLD else source
        table = kc.scan(
            source, columns=COLUMNS, isolation_level=isolation_level, **grouped(**options, **more)
        ).read_all()
        at = table.schema.get_field_index("timestamp")
        rows: list[Row] = table.set_column(at, "timestamp", table["timestamp"].cast(pa.int64())).to_pylist()
        return rows

    return read


def row(consumed: ConsumedRecord) -> Row:
    """A consumed record in the shape of a scanned one."""
    headers = [{"key": name, "value": value} for name, value in consumed.headers] or None
    kind, time = consumed.timestamp_type, None if consumed.timestamp == -1 else consumed.timestamp
    return {
        "offset": consumed.offset, "timestamp": time, "timestampType": kind,
        "key": consumed.key, "value": consumed.value, "headers": headers,
    }  # fmt: skip


def producer(bootstrap: str) -> Producer:
    """An idempotent producer that waits for a broker that comes back."""
    config = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
    return Producer(config | {"reconnect.backoff.max.ms": 500, "max.in.flight": 1})


def send(sender: Producer, first: int) -> None:
    """Sends and waits for the acknowledgement of SENT records, in several batches."""
    errors: list[object] = []
    for number in range(first, first + SENT):
        sender.produce(
            IDEMPOTENT, str(number).encode(), partition=0, on_delivery=lambda e, _: errors.append(e) if e else None
        )
        if number % 10 == 9:
            assert sender.flush(TIMEOUT) == 0
    assert not errors


class Mounted:
    """A broker whose partitions were replaced."""

    def __init__(self, folder: Path) -> None:
        self.broker = Broker(folder / "broker")
        self.tools = Tools(self.broker.bootstrap, folder)
        self.topics = [*MOUNTED, IDEMPOTENT]
        self.sent = 0
        self.before: list[dict[str, Any]] = []
        self._scratch = folder / "scratch"
        self._running = False

    def begin(self) -> None:
        """Makes the topics and sends what the producer's topic has before it is replaced."""
        self.run()
        self.tools.create_topics([{"topic": topic} for topic in self.topics])
        self.producer = producer(self.broker.bootstrap)
        send(self.producer, 0)
        self.sent = SENT

    def run(self) -> None:
        """Starts the broker."""
        self.broker.start()
        self._running = True

    def stop(self) -> None:
        """Stops the broker cleanly."""
        if self._running:
            self._running = False
            self.broker.stop()

    def remount(self, *, clean: bool) -> None:
        """Replaces all partitions and starts the broker again."""
        self.before = self.tools.describe_producers([IDEMPOTENT])
        self.stop()
        ends = {}
        for topic, (source, _, write) in MOUNTED.items():
            folder = mounting.mount(self.broker, topic, lambda target, s=source, w=write: w(s, target))  # type: ignore[misc]
            ends[topic] = _end_offset(folder)
        own = self._scratch / str(time.monotonic_ns())
        log.recompress(self.broker.partition_folder(IDEMPOTENT), own, compression_type="lz4")
        mounting.mount(self.broker, IDEMPOTENT, own.rename)
        ends[IDEMPOTENT] = _end_offset(self.broker.partition_folder(IDEMPOTENT))
        if clean:
            mounting.trust(self.broker, ends)
        else:
            mounting.distrust(self.broker, list(ends))
        self.run()


def _end_offset(folder: Path) -> int:
    last = max(folder.glob("*.snapshot"), default=None) if list(folder.glob("*.log")) else None
    assert last is not None
    return int(last.stem)


@pytest.fixture(scope="module")
def begun() -> Iterator[Mounted]:
    with tempfile.TemporaryDirectory(prefix="kafkacomp-written-") as folder:
        mounted = Mounted(Path(folder))
        try:
            mounted.begin()
            yield mounted
            mounted.stop()
        finally:
            mounted.broker.kill()


@pytest.fixture(scope="module", params=["clean", "recovered"])
def mounted(begun: Mounted, request: pytest.FixtureRequest) -> Mounted:
    begun.remount(clean=request.param == "clean")
    return begun


@pytest.fixture(scope="module")
def consumed(mounted: Mounted) -> dict[tuple[str, str], list[Row]]:
    """By isolation level and topic, what KafkaConsumer gets."""
    found: dict[tuple[str, str], list[Row]] = {(level, t): [] for level in ISOLATION_LEVELS for t in MOUNTED}
    for level in ISOLATION_LEVELS:
        for each in mounted.tools.consume(MOUNTED, level):
            found[level, each.topic].append(row(each))
    return found


@pytest.mark.parametrize("isolation_level", ISOLATION_LEVELS)
@pytest.mark.parametrize("topic", MOUNTED)
def test_consumers_get_what_belongs_there(
    consumed: dict[tuple[str, str], list[Row]], expected: Callable[..., list[Row]], topic: str, isolation_level: str
) -> None:
    rows = expected(topic, isolation_level)
    assert consumed[isolation_level, topic] == rows
    assert rows


def test_premise_there_are_aborted_transactions_and_an_open_one(
    mounted: Mounted, expected: Callable[..., list[Row]]
) -> None:
    for topic in ("open-lz4", "compacted"):
        assert len(expected(topic, "read_committed")) < len(expected(topic, "read_uncommitted"))
    assert any(each["transactionStart"] >= 0 for each in mounted.tools.describe_producers(["open-merged"]))


@pytest.mark.parametrize("topic", MOUNTED)
def test_fetches_by_offset_and_by_timestamp(mounted: Mounted, expected: Callable[..., list[Row]], topic: str) -> None:
    """What right indexes are needed for. A broker looks a timestamp up in the time index, then reads on from there."""
    rows = expected(topic, "read_uncommitted")
    # Markers have timestamps too, and brokers do not pass them over.
    timed = expected(topic, "read_uncommitted", include_control=True)
    config = {"bootstrap.servers": mounted.broker.bootstrap, "group.id": "none", "log_level": 0}
    quick = {"fetch.wait.max.ms": 5, "fetch.queue.backoff.ms": 5, "isolation.level": "read_uncommitted"}
    consumer = Consumer(config | quick)
    try:
        for each in rows[:: max(1, len(rows) // 12)]:
            consumer.assign([TopicPartition(topic, 0, each["offset"])])
            message = consumer.poll(TIMEOUT)
            assert message is not None
            assert (message.offset(), message.key(), message.value()) == (each["offset"], each["key"], each["value"])
            if each["timestamp"] is None:
                continue
            asked = TopicPartition(topic, 0, each["timestamp"])
            (found,) = consumer.offsets_for_times([asked], timeout=TIMEOUT)
            times = ((r["offset"], r["timestamp"]) for r in timed if r["timestamp"] is not None)
            assert found.offset == next(offset for offset, time in times if time >= each["timestamp"])
    finally:
        consumer.close()


def test_an_idempotent_producer_goes_on_where_its_sequence_stood(mounted: Mounted) -> None:
    # The broker knows the producer as it did before, from the snapshot or from the log.
    assert mounted.tools.describe_producers([IDEMPOTENT]) == mounted.before
    (known,) = mounted.before
    assert known["lastSequence"] == mounted.sent - 1
    send(mounted.producer, mounted.sent)
    mounted.sent += SENT
    segments = sorted(mounted.broker.partition_folder(IDEMPOTENT).glob("*.log"))
    batches = [batch for segment in segments for batch in record.read_batches(segment.read_bytes())]
    assert {(batch.producer_id, batch.producer_epoch) for batch in batches} == {(known["producerId"], 0)}
    assert [r.sequence for batch in batches for r in batch] == list(range(mounted.sent))
    assert [r.value for batch in batches for r in batch] == [str(n).encode() for n in range(mounted.sent)]


def test_kafka_dump_log_finds_nothing_wrong(tmp_path: Path) -> None:
    files = []
    for topic, (source, _, write) in MOUNTED.items():
        write(source, tmp_path / f"{topic}-0")
        folder = tmp_path / f"{topic}-0"
        files += [path for kind in ("index", "timeindex") for path in sorted(folder.glob(f"*.{kind}"))]
        assert list(folder.glob("*.log"))
    sane = mounting.dump_log(KAFKA / "dump", files, "--index-sanity-check")
    dumping = [f"Dumping {path}" for path in files]
    # The tool names an offset index that is empty, but not a time index: that of a log without timestamps passes.
    empty = [path for path in files if path.suffix == ".index" and not path.stat().st_size]
    verdicts = [f"{path} {'is empty' if path in empty else 'passed sanity check'}." for path in files]
    assert [line for line in sane if line not in dumping] == verdicts
    verified = mounting.dump_log(KAFKA / "dump", files, "--verify-index-only")
    assert [line for line in verified if not line.endswith(" is empty.")] == dumping
