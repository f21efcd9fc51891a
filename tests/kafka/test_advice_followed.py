"""The advice followed: what ``kafkacomp advise`` predicts, against what a live broker stores of the Java producer's.

Each kind of content is a topic of some megabytes, of which the advice sees half. Its recommendation and other measured
options are followed: by a producer with the lines of the advice, or, at today's batches, by the topic's
``compression.type``. Kafka's producer fills a batch by its estimate of the compressed size, which it learns in small
steps from 1 on; so it sends some records before those that are counted, and lingers until batches are full, as under
load.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice.recommend import CHANGE, LEAVE, LINGER, RAISE
from kafkacomp.advice.settings import TODAY, Settings
from livekafka import contents
from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kafkacomp.advice.report import TopicReport
    from kafkacomp.advice.topic import Cell
    from livekafka.contents import Record

TIME = 1_700_000_000_000
#: Bytes of a topic's keys, values and headers, and of its sample on disk.
TOPIC_BYTES, SAMPLE_BYTES = 8 << 20, 4 << 20
#: Bytes from which the producer learns, in batches that let it learn quickly; of single records it learns at once.
LEARNED_BYTES, LEARNING_BATCH = 2 << 20, 4096
LEARNED_SINGLES = 50
#: Records of a topic of single records: each takes a request of its own.
SINGLES = 1500
SIZES = (1, 4096, 16384, 65536, 262_144, 1 << 20)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = Settings(codecs=tuple(parse_codecs(",".join(CODECS))), batch_sizes=SIZES, sample_bytes=SAMPLE_BYTES)
#: Bytes a second at which every batch fills within a second.
FAST = 100e6
#: The worst error of a prediction, and how many of them may lie outside of their bounds.
WORST, OUTSIDE = 0.05, 0.10


class Case(NamedTuple):
    """An option to follow."""

    topic: str
    cell: Cell
    config: dict[str, str]
    #: Of the topic.
    configs: dict[str, str]


class Outcome(NamedTuple):
    """What came of it: shares of today's bytes."""

    name: str
    predicted: float
    low: float
    high: float
    stored: float

    @property
    def error(self) -> float:
        """Of the predicted bytes, a share of the stored ones."""
        return self.predicted / self.stored - 1

    @property
    def within(self) -> bool:
        """Whether the bounds hold."""
        return self.low <= self.stored <= self.high

    def __str__(self) -> str:
        """A line for people."""
        mark = "" if self.within else " OUTSIDE"
        return (
            f"{self.name}: predicted {self.predicted:.4f} ({self.low:.4f} to {self.high:.4f}), stored "
            f"{self.stored:.4f}, {self.error:+.2%}{mark}"
        )


def written(folder: Path, records: Sequence[Record], batch_bytes: int) -> Path:
    """The topic as it is today: uncompressed."""
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [[{"key": name, "value": value} for name, value in each.headers] for each in records]
    table = pa.table({
        "key": pa.array([each.key for each in records], pa.binary()),
        "value": pa.array([each.value for each in records], pa.binary()),
        "headers": pa.array(headers, kind),
        "timestamp": pa.array(range(TIME, TIME + len(records)), pa.int64()),
    })  # fmt: skip
    kc.write(table, folder, topic="today", partition=0, compression_type="none", batch_bytes=batch_bytes)
    return folder


def case_of(name: str, cell: Cell, lines: Sequence[str]) -> Case:
    """How an option is followed."""
    wait = {"linger.ms": "10000", "buffer.memory": str(128 << 20)}
    if cell.batch_size == TODAY:
        # The producers stay as they are, and the broker compresses their batches.
        configs = dict(line.split("=", 1) for line in lines)
        return Case(name, cell, {"compression.type": "none", "batch.size": "16384", **wait}, configs)
    config = dict(line.split("=", 1) for line in lines)
    return Case(name, cell, config | wait, {})


def option_lines(cell: Cell) -> list[str]:
    """The lines of an option that is not the advised one: the same as the advice's."""
    kind = str(cell.codec.type)
    if cell.batch_size == TODAY:
        return [f"compression.type={'uncompressed' if kind == 'none' else kind}"]
    level = [] if cell.codec.level is None else [f"compression.{kind}.level={cell.codec.level}"]
    return [f"compression.type={kind}", f"batch.size={cell.batch_size}", *level]


def advised_lines(topic: TopicReport) -> list[str]:
    """The lines of the advice."""
    place = "topic" if topic.chosen.batch_size == TODAY else "producer"
    return next(each.lines for each in topic.advice.lines if each.place == place)


def steps(cases: Sequence[Case], records: Sequence[Record]) -> Iterator[dict[str, object]]:
    """What the producer does for all cases, in one process."""
    for case in cases:
        learned = learning(case.cell, records)
        size = min(int(case.config.get("batch.size", "16384")), LEARNING_BATCH)
        yield {"step": "open", "config": case.config | {"batch.size": str(size), "linger.ms": "1000"}}
        for number, each in enumerate((*learned, *counted(case.cell, records))):
            if number == len(learned):
                yield {"step": "open", "config": case.config}
            yield {
                "topic": case.topic, "key": each.key, "value": each.value, "headers": each.headers,
                "timestamp": TIME + number,
            }  # fmt: skip


def learning(cell: Cell, records: Sequence[Record]) -> Sequence[Record]:
    """The last of the records."""
    if cell.batch_size == 1:
        return records[-LEARNED_SINGLES:]
    found, done = [], 0
    for each in reversed(records):
        found.append(each)
        done += each.payload
        if done >= LEARNED_BYTES:
            break
    return found


def counted(cell: Cell, records: Sequence[Record]) -> Sequence[Record]:
    """All records; of single ones some from the whole log, since neighbours make no difference."""
    return records[:: -(-len(records) // SINGLES)] if cell.batch_size == 1 else records


def stored(folder: Path, first: int) -> int:
    """Bytes of the batches that begin at this offset or later."""
    size = 0
    for path in sorted(folder.glob("*.log")):
        for batch in record.read_batches(path.read_bytes()):
            size += batch.size_in_bytes if batch.base_offset >= first else 0
    return size


def followed(
    broker: Broker, tools: Tools, topic: TopicReport, cases: Sequence[Case], records: Sequence[Record]
) -> list[Outcome]:
    """Produce every case and compare. What is wrong is produced once more.

    On a busy machine a topic was once 7% larger than at other times: how full the producer makes a batch also
    depends on which batches are sent before it begins. A wrong prediction is wrong again.
    """
    outcomes = follow(broker, tools, topic, cases, records)
    again = [case._replace(topic=f"{case.topic}-again") for case, outcome in zip(cases, outcomes, strict=True)
             if abs(outcome.error) > WORST]  # fmt: skip
    if not again:
        return outcomes
    right = [outcome for outcome in outcomes if abs(outcome.error) <= WORST]
    return right + follow(broker, tools, topic, again, records)


def follow(
    broker: Broker, tools: Tools, topic: TopicReport, cases: Sequence[Case], records: Sequence[Record]
) -> list[Outcome]:
    """Produce every case and compare."""
    tools.create_topics([{"topic": case.topic, "configs": case.configs} for case in cases])
    tools.produce(steps(cases, records))
    today = topic.figures.size / sum(each.payload for each in records)
    found = []
    for case in cases:
        saving, spread = topic.figures.saving(case.cell)
        assert spread is not None
        payload = sum(each.payload for each in counted(case.cell, records))
        share = stored(broker.partition_folder(case.topic), len(learning(case.cell, records))) / (payload * today)
        size = "today" if case.cell.batch_size == TODAY else case.cell.batch_size
        name = f"{case.topic} {case.cell.codec} {size}"
        found.append(Outcome(name, 1 - saving, 1 - spread.high, 1 - spread.low, share))
    return found


def chosen(number: int, kind: str, topic: TopicReport, *, every: bool) -> Iterator[Case]:
    """Options of a kind of content: every one, or each batch size with another codec."""
    codecs = {str(codec.type): codec for codec in SETTINGS.codecs}
    for at, size in enumerate((TODAY, *SIZES)):
        names = CODECS if every else (CODECS[(at + number) % len(CODECS)],)
        for name in names:
            cell = topic.figures.cells[codecs[name], size]
            yield case_of(f"{kind}-{name}-{size}", cell, option_lines(cell))


@pytest.mark.parametrize(
    "every",
    [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
    ids=["some", "every"],
)
def test_predicted_bytes_are_stored(every: bool, tmp_path: Path) -> None:
    """Six kinds of content, from one record a batch to 1 MiB: errors below 5%, bounds that hold nine times in ten."""
    outcomes: list[Outcome] = []
    verdicts: set[str] = set()
    with Broker(tmp_path / "broker") as broker:
        tools = Tools(broker.bootstrap, tmp_path)
        for number, kind in enumerate(contents.KINDS):
            records = contents.records(kind, TOPIC_BYTES)
            cases: list[Case] = []
            for name, batch_bytes in (("single", 1), ("full", 16384)):
                folder = written(tmp_path / f"{kind}-{name}", records, batch_bytes)
                topic = kc.advise(folder, SETTINGS, assume_rate=FAST).topics[0]
                verdicts.add(topic.advice.verdict)
                cases = []
                if topic.advice.option is not None:
                    cell = topic.advice.option
                    cases.append(case_of(f"{kind}-{name}-advised", cell, advised_lines(topic)))
                if name == "full":
                    cases += chosen(number, kind, topic, every=every)
                if cases and (name == "full" or cases[0].cell.batch_size != TODAY):
                    outcomes += followed(broker, tools, topic, cases, records)
                    sys.stdout.writelines(f"{each}\n" for each in outcomes[-len(cases) :])
                    sys.stdout.flush()
    wrong = [str(each) for each in outcomes if abs(each.error) > WORST]
    outside = [str(each) for each in outcomes if not each.within]
    sys.stdout.write(f"{len(outcomes)} options: worst {max(abs(each.error) for each in outcomes):.2%}, "
                     f"{len(outside)} outside of their bounds\n")  # fmt: skip
    assert not wrong, "\n".join(wrong)
    assert len(outside) <= OUTSIDE * len(outcomes), "\n".join(outside)
    assert verdicts <= {CHANGE, LEAVE, LINGER, RAISE}
    assert {CHANGE, LINGER} <= verdicts
