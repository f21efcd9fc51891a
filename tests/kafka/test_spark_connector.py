"""The rows of Spark's own Kafka connector, from the broker, beside ours, from the broker's log folder.

The logs of old brokers are put into a broker of today, which serves them as they are.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from livekafka import live, mounting, topics
from livekafka.broker import Broker
from livekafka.spark import COLUMNS, Source, read_both, with_nulls
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from livekafka.live import LiveLog
    from livekafka.spark import Both

#: Topic by log: message formats 0, 1, 2, all of them in one log, and every codec that the old ones had.
OLD = {
    name: name.replace("/", ".")
    for name in (
        "broker-0.8.2.2/sp-gzip",
        "broker-0.8.2.2/sp-none",
        "broker-0.8.2.2/sp-snappy",
        "broker-0.9.0.1/sp-gzip",
        "broker-0.10.0.1/ct-lz4",
        "broker-0.10.0.1/lat-none",
        "broker-0.10.0.1/v0lat-snappy",
        "broker-0.11.0.3/ct01103-snappy",
        "upgrade/4-after-1.1.1/up-lz4",
    )
}


@pytest.fixture(scope="module")
def old_logs(small_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that holds the logs of its predecessors."""
    folder: Path = tmp_path_factory.mktemp("old")
    broker = Broker(folder)
    with broker:
        Tools(broker.bootstrap, folder).create_topics([{"topic": topic, "configs": {}} for topic in OLD.values()])
    for name, topic in OLD.items():

        def write(target: Path, log: Path = small_vectors / "legacy" / f"{name}.log") -> None:
            target.mkdir()
            shutil.copyfile(log, target / f"{0:020}.log")

        mounting.mount(broker, topic, write)
    mounting.distrust(broker, [*OLD.values()])
    with broker:
        yield broker


def bounds(log: LiveLog) -> dict[str, dict[str, str]]:
    """Times within the topics, which hold them in no order; where none is as late, a partition is read from its end."""
    chosen = (topics.SEGMENTS, topics.LOG_APPEND_TIME, topics.COMPACTED, next(iter(topics.JAVA)))
    late = {"startingOffsetsByTimestampStrategy": "latest"}
    times = sorted(
        record.timestamp
        for topic in chosen
        for partition in log.partitions(topic)
        for record in log.records("read_uncommitted", partition)
        if record.timestamp >= 0
    )
    reads = {}
    for name, part in (("half", 0.5), ("late", 0.9)):
        time = str(times[int(len(times) * part)] + 1)
        reads[f"{name}-start"] = {"startingTimestamp": time, **late}
        reads[f"{name}-end"] = {"endingTimestamp": time}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for topic in chosen:
        for index, partition in enumerate(log.partitions(topic)):
            records = log.records("read_uncommitted", partition)
            starts.setdefault(topic, {})[str(partition[1])] = -2 if index else records[len(records) // 3].offset
            ends.setdefault(topic, {})[str(partition[1])] = -1 if index else records[len(records) // 2].offset
    reads["offsets"] = {"startingOffsets": json.dumps(starts), "endingOffsets": json.dumps(ends)}
    return {name: {**options, "subscribe": ",".join(chosen)} for name, options in reads.items()}


@pytest.fixture(scope="module")
def both(
    live_log: LiveLog, old_logs: Broker, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Both], dict[str, Both]]:
    """What both sides read: of the filled broker, and of the one with old logs."""
    live_log.run()
    folder: Path = tmp_path_factory.mktemp("both")
    sources = [
        Source(live_log.broker.bootstrap, str(live_log.log_dir), [*topics.ALL], bounds(live_log)),
        Source(old_logs.bootstrap, str(old_logs.log_dir), [*OLD.values()], {}),
    ]
    new, old = read_both(folder, sources)
    return new, old


@pytest.mark.parametrize("level", live.ISOLATION_LEVELS)
def test_rows_are_the_connectors(both: tuple[dict[str, Both], dict[str, Both]], live_log: LiveLog, level: str) -> None:
    """Every codec, three clients, transactions, compaction, LogAppendTime, headers: to the last field."""
    connector, ours = both[0][level]
    assert connector.num_rows == sum(
        len(live_log.records(level, partition)) for topic in topics.ALL for partition in live_log.partitions(topic)
    )
    assert ours.schema.types == connector.schema.types
    assert ours.schema.names == connector.schema.names == [*COLUMNS]
    assert ours.equals(with_nulls(connector))


def test_bounds_are_the_connectors(both: tuple[dict[str, Both], dict[str, Both]]) -> None:
    """Offsets by partition, and the offsets that times stand for, as a broker answers."""
    new, _ = both
    sizes = set()
    for name in new.keys() - {*live.ISOLATION_LEVELS}:
        connector, ours = new[name]
        assert 0 < connector.num_rows < new["read_uncommitted"].connector.num_rows, name
        assert ours.equals(with_nulls(connector)), name
        sizes.add(connector.num_rows)
    assert len(sizes) >= 3


@pytest.mark.parametrize("level", live.ISOLATION_LEVELS)
def test_old_formats_differ_in_a_time_that_is_not_there(
    both: tuple[dict[str, Both], dict[str, Both]], level: str
) -> None:
    """Messages without a timestamp, such as all of format 0: null here, -1 ms there. All else is the same."""
    connector, ours = both[1][level]
    of_format_0 = pc.equal(connector["timestampType"], -1)
    assert 0 < pc.sum(of_format_0).as_py() < connector.num_rows
    assert set(connector["timestamp"].cast(pa.int64()).filter(of_format_0).to_pylist()) == {-1000}
    assert ours.equals(with_nulls(connector))


def test_premise_levels_differ(both: tuple[dict[str, Both], dict[str, Both]]) -> None:
    new, _ = both
    assert new["read_committed"].connector.num_rows < new["read_uncommitted"].connector.num_rows
