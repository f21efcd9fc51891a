"""The segments of a real broker, as kafkacomp reads them, against what Kafka's own consumer and FileRecords read.

Everything is compared twice: in the folder of the running broker, and after it has stopped cleanly.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from livekafka import live, topics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from livekafka.live import LiveLog, Partition
    from livekafka.tools import Batch, ConsumedRecord

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "leaderEpoch", "key", "value", "headers")
BATCH_COLUMNS = (
    "baseOffset",
    "position",
    "magic",
    "compressionType",
    "producerId",
    "producerEpoch",
    "sequence",
    "isTransactional",
    "isControl",
)

Row = dict[str, Any]


@pytest.fixture(scope="module", params=["running", "stopped"])
def log(live_log: LiveLog, request: pytest.FixtureRequest) -> LiveLog:
    """The filled broker, running or stopped; all tests of one state run before those of the other."""
    if request.param == "running":
        live_log.run()
    else:
        live_log.stop()
    return live_log


def scan(source: Path | list[Path], **options: Any) -> list[Row]:
    """The rows of a scan; timestamps as the integers that Kafka has."""
    table = pa.table(kc.scan(source, columns=[*COLUMNS, *options.pop("more", ())], **grouped(**options)))
    timestamps = table.schema.get_field_index("timestamp")
    assert table.schema.field("timestamp").type == pa.timestamp("ms", tz="UTC")
    rows: list[Row] = table.set_column(timestamps, "timestamp", table["timestamp"].cast(pa.int64())).to_pylist()
    return rows


def expected(record: ConsumedRecord) -> Row:
    """The row that a consumed record must come out as: no timestamp and no headers are null."""
    headers = [{"key": name, "value": value} for name, value in record.headers]
    row = dict(zip(COLUMNS, (*record[:-1], headers or None), strict=True))
    return row | {"timestamp": None if record.timestamp == -1 else record.timestamp}


def by_partition(rows: list[Row]) -> dict[Partition, list[Row]]:
    """The rows of each partition, in the order in which they came."""
    split: dict[Partition, list[Row]] = {}
    for row in rows:
        split.setdefault((row["topic"], row["partition"]), []).append(row)
    return split


def folders(log: LiveLog, topic: str) -> list[Path]:
    """The partition folders of a topic."""
    return [log.broker.partition_folder(*partition) for partition in log.partitions(topic)]


@pytest.mark.parametrize("isolation_level", live.ISOLATION_LEVELS)
@pytest.mark.parametrize("topic", topics.ALL)
def test_partition_folders_equal_consumer(log: LiveLog, topic: str, isolation_level: str) -> None:
    read = by_partition(scan(folders(log, topic), isolation_level=isolation_level))
    for partition in log.partitions(topic):
        assert read.pop(partition, []) == [expected(record) for record in log.records(isolation_level, partition)]
    assert not read


@pytest.mark.parametrize("isolation_level", live.ISOLATION_LEVELS)
@pytest.mark.parametrize("threads", [1, None])
def test_whole_log_folder_equals_consumer(log: LiveLog, isolation_level: str, threads: int | None) -> None:
    """All topics at once, with .deleted files, checkpoints and the broker's own topics among them."""
    read = by_partition(scan(log.log_dir, isolation_level=isolation_level, options=kc.ScanOptions(threads=threads)))
    assert {topic for topic, _ in read if not topic.startswith("__")} == set(topics.ALL)
    for topic in topics.ALL:
        for partition in log.partitions(topic):
            assert read.get(partition, []) == [expected(record) for record in log.records(isolation_level, partition)]


@pytest.mark.parametrize("topic", topics.ALL)
def test_batches_equal_file_records(log: LiveLog, topic: str) -> None:
    """Batch by batch, control records too, against Kafka's own reader of segment files."""
    for segment in log.segments(topic):
        read = scan(segment, more=BATCH_COLUMNS, options=kc.ScanOptions(include_control=True))
        assert read == [row for batch in log.dumped[segment] for row in _dumped(batch, topic, segment)]


def _dumped(batch: Batch, topic: str, segment: Path) -> Iterator[Row]:
    """The rows of a dumped batch."""
    whole = {name: batch[name] for name in ("timestampType", "leaderEpoch", *BATCH_COLUMNS) if name in batch}
    whole |= {"topic": topic, "partition": int(segment.parent.name.rpartition("-")[2])}
    for record in batch["records"]:
        headers = [{"key": name, "value": value} for name, value in record["headers"]] or None
        time = None if record["timestamp"] == -1 else record["timestamp"]
        row = whole | record | {"headers": headers, "timestamp": time}
        yield {name: row[name] for name in (*COLUMNS, *BATCH_COLUMNS)}


@pytest.mark.parametrize("topic", [topics.SEGMENTS, topics.COMPACTED, topics.LOG_APPEND_TIME])
def test_offset_bounds_cut_what_the_consumer_read(log: LiveLog, topic: str) -> None:
    """Bounds within segments, with the indexes of a live or a closed log."""
    records = log.records("read_uncommitted", (topic, 0))
    for start, end in ((len(records) // 5, -len(records) // 7), (1, 2), (-2, -1)):
        bounds = records[start].offset, records[end].offset
        read = scan(folders(log, topic), start_offset=bounds[0], end_offset=bounds[1])
        assert read == [expected(record) for record in records if bounds[0] <= record.offset < bounds[1]]


def test_timestamp_bounds_cut_what_the_consumer_read(log: LiveLog) -> None:
    records = log.records("read_uncommitted", (topics.SEGMENTS, 0))
    ordered = sorted(record.timestamp for record in records)
    start, end = ordered[len(ordered) // 3], ordered[len(ordered) // 2]
    read = scan(folders(log, topics.SEGMENTS), start_time=start, end_time=end)
    assert read == [expected(record) for record in records if start <= record.timestamp < end]


def test_premise_consumer_got_records_from_every_partition(live_log: LiveLog) -> None:
    partitions = [partition for topic in topics.ALL for partition in live_log.partitions(topic)]
    assert len(partitions) == len(topics.ALL) + len(topics.JAVA) + len(topics.TRANSACTIONS)
    for level in live.ISOLATION_LEVELS:
        assert all(len(live_log.records(level, partition)) >= 30 for partition in partitions)


@pytest.mark.parametrize(("topic", "codec"), topics.ONE_CODEC.items())
def test_premise_codec_is_on_disk(live_log: LiveLog, topic: str, codec: str) -> None:
    """The broker has kept, or for the recompressed topics made, the codec that the topic's name promises."""
    batches = [batch for segment in live_log.segments(topic) for batch in live_log.dumped[segment]]
    found = {batch["compressionType"] for batch in batches if not batch["isControl"]}
    # librdkafka and aiokafka send a batch as it is where compression does not make it smaller.
    assert codec in found
    assert found <= {codec, "none"}


def test_premise_transactions_were_aborted_and_left_open(live_log: LiveLog) -> None:
    """Each of these topics shows read_committed less; the open ones nothing from their last stable offset on."""
    for topic in topics.WITH_ABORTED:
        partitions = live_log.partitions(topic)
        everything, committed = (
            sum(len(live_log.records(level, partition)) for partition in partitions) for level in live.ISOLATION_LEVELS
        )
        assert 0 < committed < everything
    for topic in topics.OPEN:
        assert live_log.records("read_committed", (topic, 0))[-1].offset < 60


def test_premise_markers_carry_a_later_epoch(live_log: LiveLog) -> None:
    """As KIP-890 has it: a marker's epoch is the one after that of the transaction it ends."""
    for topic in topics.TRANSACTIONS:
        for segment in live_log.segments(topic):
            epochs: dict[int, int] = {}
            for batch in live_log.dumped[segment]:
                if batch["isControl"]:
                    assert batch["producerEpoch"] == epochs[batch["producerId"]] + 1
                elif batch["isTransactional"]:
                    epochs[batch["producerId"]] = batch["producerEpoch"]
            assert epochs


def test_premise_compaction_left_its_traces(live_log: LiveLog) -> None:
    """Emptied batches, delete horizons, gaps, and a first batch above the segment's name."""
    batches = live_log.dumped[live_log.broker.partition_folder(topics.COMPACTED) / f"{0:020}.log"]
    assert any(not batch["records"] for batch in batches)
    assert any(batch["deleteHorizonMs"] is not None for batch in batches)
    assert any(after["baseOffset"] > before["lastOffset"] + 1 for before, after in itertools.pairwise(batches))
    assert batches[0]["baseOffset"] > 0


def test_premise_several_segments(live_log: LiveLog) -> None:
    assert len(live_log.segments(topics.SEGMENTS)) > 2
