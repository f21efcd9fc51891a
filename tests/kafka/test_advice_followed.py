"""The advice followed: what `kafkacomp advise` predicts beside what a live broker stores of the Java producer's.

Kafka's producer fills a batch by its estimate of the compressed size, which it learns in small steps from 1 on; so it
is given some records before those that are counted, and lingers until batches are full, as under load.
"""

from __future__ import annotations

import itertools
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkacomp import record
from kafkacomp.advise import advise
from kafkacomp.advise.settings import Settings
from kafkacomp.bench.spec import parse_codecs
from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp.advise.topic import Cell

BENCHES = Path(__file__).resolve().parent.parent.parent / "benches"
TIME = 1_700_000_000_000
#: Records by which the producer learns, and records that count.
LEARNING, COUNTED = 45_000, 25_000
#: Options beside the advised one.
SOME = (("gzip", -1, 16384), ("lz4", 9, 32768))
OTHERS = (("zstd", 3, 16384), ("snappy", None, 16384), ("none", None, 16384))
SETTINGS = Settings(
    codecs=tuple(parse_codecs("none,gzip,snappy,lz4,zstd:1,3")), batch_sizes=(1, 16384, 32768), sample_bytes=64 << 20
)


@pytest.fixture(name="rows", scope="module")
def _rows() -> list[bytes]:
    return list(itertools.islice(runpy.run_path(str(BENCHES / "flights.py"))["rows"](), LEARNING + COUNTED))


def steps(topic: str, rows: list[bytes], config: dict[str, str]) -> Iterator[dict[str, object]]:
    """What the producer does."""
    yield {"step": "open", "config": config}
    for at, row in enumerate(rows):
        if at == LEARNING:
            yield {"step": "flush"}
        yield {"topic": topic, "value": row, "timestamp": TIME + at}


def stored(folder: Path) -> int:
    """Bytes of the batches that hold the records that count."""
    size = 0
    for path in sorted(folder.glob("*.log")):
        for batch in record.read_batches(path.read_bytes()):
            size += batch.size_in_bytes if batch.base_offset >= LEARNING else 0
    return size


def producer_config(cell: Cell, lines: list[str]) -> dict[str, str]:
    """The lines of the advice, but for how long to wait; of other options the same lines, made here."""
    if not lines:
        lines = [f"compression.type={cell.codec.type}", f"batch.size={cell.batch_size}"]
        if cell.codec.level is not None:
            lines.append(f"compression.{cell.codec.type}.level={cell.codec.level}")
    config = dict(line.split("=", 1) for line in lines)
    return config | {"linger.ms": "10000", "buffer.memory": str(128 << 20)}


@pytest.mark.parametrize("others", [SOME, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
def test_predicted_bytes_are_stored(
    others: tuple[tuple[str, int | None, int], ...], rows: list[bytes], tmp_path: Path
) -> None:
    """Within 3%, for the advised option and others of every type."""
    with Broker(tmp_path) as broker:
        tools = Tools(broker.bootstrap, tmp_path)
        tools.create_topics([{"topic": "before"}])
        single = {"compression.type": "none", "batch.size": "0", "linger.ms": "0"}
        tools.produce(steps("before", rows[LEARNING:], single))
        report = advise(broker.partition_folder("before"), SETTINGS)
        topic = report.topics[0]
        assert topic.advice.verdict == "raise the batch size first"
        assert topic.advice.option is not None
        wanted = [(topic.advice.option, topic.advice.lines[0].lines)]
        for name, level, size in others:
            cells = topic.figures.cells
            found = next(
                cell for (codec, at), cell in cells.items() if (str(codec.type), codec.level, at) == (name, level, size)
            )
            wanted.append((found, []))
        wrong = []
        for number, (cell, lines) in enumerate(wanted):
            name = f"after-{number}"
            tools.create_topics([{"topic": name}])
            tools.produce(steps(name, rows, producer_config(cell, lines)))
            # Saving is of today's bytes, which are those of single records.
            predicted = topic.bytes_with(cell)
            real = stored(broker.partition_folder(name))
            found_out = f"{cell.codec} {cell.batch_size}: predicted {predicted:,.0f}, stored {real:,}"
            sys.stdout.write(f"{found_out}, {predicted / real - 1:+.2%}\n")
            if abs(predicted / real - 1) > 0.03:
                wrong.append(found_out)
    assert not wrong, wrong
