"""Topics with unusual timestamps or little data do not end the advice for others, and too little data gets none."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiokafka.record.util import calc_crc32c

import kafkacomp as kc
from kafkacomp import record
from kafkacomp._cli.command import run
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice import Settings, measure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kafkacomp.advice import TopicReport

TIME = 1_700_000_000_000
QUICK = Settings(codecs=tuple(parse_codecs("none,lz4,zstd")), batch_sizes=(1, 16384), time_budget=0.2)


def values(count: int) -> list[bytes]:
    chosen = random.Random(count)
    cities = ("Leipzig", "Halle", "Jena")
    return [json.dumps({"order": at, "city": chosen.choice(cities), "state": "paid"}).encode() for at in range(count)]


def segment(folder: Path, topic: str, times: Sequence[int], batch: int = 100) -> None:
    """A partition of these times; kc.write takes only those that a producer may send."""
    made, listed = bytearray(), values(len(times))
    for at in range(0, len(times), batch):
        builder = record.RecordBatchBuilder(2, "none", base_offset=at)
        for value, time in zip(listed[at : at + batch], times[at : at + batch], strict=True):
            builder.append(value, timestamp=time)
        made += builder.build()
    (folder / f"{topic}-0").mkdir(parents=True)
    (folder / f"{topic}-0" / f"{0:020}.log").write_bytes(made)


def topics(folder: Path) -> dict[str, TopicReport]:
    report = kc.advise(folder, QUICK)
    assert report.problems == []
    return {each.figures.name: each for each in report.topics}


def test_timestamps_that_are_no_dates(tmp_path: Path) -> None:
    """Microseconds instead of milliseconds, one garbage value, the least and the greatest that Kafka stores."""
    ordinary = [TIME + at * 1000 for at in range(800)]
    segment(tmp_path, "ordinary", ordinary)
    segment(tmp_path, "microseconds", [time * 1000 for time in ordinary])
    segment(tmp_path, "one", [*ordinary[:-1], 2**62])
    segment(tmp_path, "greatest", [2**63 - 1] * 800)
    segment(tmp_path, "none", [-1] * 800)
    found = topics(tmp_path)
    assert {name: each.advice.verdict for name, each in found.items()} == dict.fromkeys(found, "change")
    assert found["microseconds"].about.rate.bytes_per_second is None
    json.dumps(kc.advise(tmp_path, QUICK).to_dict())


def test_timestamps_below_minus_one(tmp_path: Path) -> None:
    """A record may have one (as a delta to its batch's first timestamp); no broker since 0.10.2 takes it."""
    segment(tmp_path, "ordinary", [TIME + at * 1000 for at in range(800)])
    builder = record.RecordBatchBuilder()
    builder.append(b"first", timestamp=1000)
    builder.append(b"second", timestamp=2000)
    made = bytearray(builder.build())
    made[27:35] = (-500).to_bytes(8, "big", signed=True)  # baseTimestamp
    made[35:43] = (500).to_bytes(8, "big", signed=True)  # maxTimestamp
    made[17:21] = calc_crc32c(bytes(made[21:])).to_bytes(4, "big")
    (tmp_path / "negative-0").mkdir()
    (tmp_path / "negative-0" / f"{0:020}.log").write_bytes(made)
    found = topics(tmp_path)
    assert found.keys() == {"ordinary", "negative"}
    assert found["ordinary"].advice.verdict == "change"


def test_headers_of_a_topic_that_went_back_to_an_older_format(tmp_path: Path) -> None:
    """The last batches decide the format, which has no headers; those of earlier batches do not end the advice."""
    for magic in (0, 1):
        folder = tmp_path / f"magic{magic}-0"
        folder.mkdir()
        made = bytearray()
        for at, value in enumerate(values(800)):
            is_old = at >= 400
            builder = record.RecordBatchBuilder(magic if is_old else 2, "none", base_offset=at)
            builder.append(value, timestamp=-1 if magic == 0 else TIME + at, headers=[] if is_old else [("h", b"1")])
            made += builder.build()
        (folder / f"{0:020}.log").write_bytes(made)
    assert set(topics(tmp_path)) == {"magic0", "magic1"}


def test_rows_of_parquet_whose_timestamps_are_no_dates(tmp_path: Path) -> None:
    rows = pa.table({"city": ["Leipzig"] * 500, "at": pa.array([2**62] * 500, pa.timestamp("ms"))})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (found,) = kc.advise(tmp_path / "rows.parquet", QUICK).topics
    assert found.figures.total.records == 500


@pytest.mark.parametrize("kind", [RuntimeError, OverflowError, pa.ArrowNotImplementedError])
def test_an_error_in_one_topic_is_a_line_of_the_report(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "bad"):
        segment(tmp_path, name, [TIME + at * 1000 for at in range(800)])
    real = measure._at_todays_bounds

    def failing(*arguments: object) -> None:
        if arguments[3].topic == "bad":  # type: ignore[attr-defined]
            raise kind("no such luck")
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(measure, "_at_todays_bounds", failing)
    report = kc.advise(tmp_path, QUICK, threads=1)
    assert [each.figures.name for each in report.topics] == ["good"]
    (line,) = report.problems
    assert "bad-0" in line
    assert f"{kind.__name__}: no such luck" in line


@pytest.mark.parametrize(
    ("records", "batch", "lacks"),
    [
        (2, 1, "2 records in 2 batches"),
        (2, 2, "2 records in 1 batch;"),
        (3000, 1000, "3,000 records in 3 batches"),
        (31, 1, "31 records in 31 batches"),
    ],
)
def test_too_little_data_for_advice(records: int, batch: int, lacks: str, tmp_path: Path) -> None:
    segment(tmp_path, "little", [TIME + at for at in range(records)], batch)
    advice = topics(tmp_path)["little"].advice
    assert (advice.verdict, advice.option, advice.spread, advice.lines) == ("too little data", None, None, [])
    assert lacks in advice.headline
    assert "needs at least 32 records and 8 batches" in advice.headline
    report = kc.advise(tmp_path, QUICK)
    assert report.totals()["toChange"] == 0
    # The savings that are shown claim no precision either.
    cells = [cell for topic in report.topics for cell in topic.figures.cells.values()]
    assert cells
    assert {topic.figures.saving(cell)[1] for topic in report.topics for cell in cells} == {None}


def test_too_little_data_has_a_reason_and_no_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table with savings would look like advice."""
    segment(tmp_path, "little", [TIME, TIME + 1], 1)
    assert run(["advise", str(tmp_path), "--codecs", "zstd", "--batch-sizes", "16k"]) == 0
    shown = capsys.readouterr().out
    assert shown.split("\n\n", 1)[0].strip().startswith("little: too little data: the sample has 2 records")
    assert "zstd" not in shown
    segment(tmp_path, "much", [TIME + at for at in range(1000)], 10)
    assert run(["advise", str(tmp_path), "--codecs", "zstd", "--batch-sizes", "16k"]) == 0
    shown = capsys.readouterr().out
    assert ("\nmuch: " in f"\n{shown}", shown.count("little: "), "zstd" in shown) == (True, 1, True)


def test_few_records_of_a_file_of_records(tmp_path: Path) -> None:
    """Its batches are made by the advice, so only its records count."""
    (tmp_path / "few.jsonl").write_bytes(b"\n".join(values(31)))
    (tmp_path / "enough.jsonl").write_bytes(b"\n".join(values(500)))
    report = kc.advise([tmp_path / "few.jsonl", tmp_path / "enough.jsonl"], QUICK)
    assert {each.figures.name: each.advice.verdict for each in report.topics} == {
        "few": "too little data",
        "enough": "change",
    }
