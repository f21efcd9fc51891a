"""``kafkacomp.spark.advise``: the command's own figures, from executors."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice.prices import parse
from kafkacomp.advice.settings import Settings
from kafkacomp.spark import advise

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SETTINGS = Settings(codecs=tuple(parse_codecs("none,lz4,zstd")), batch_sizes=(1, 16384), sample_bytes=2 << 20, seed=7)
#: What hangs on how long things took: names of such figures end or begin so.
TIMED = ("econds", "Ms", "month", "money", "advi", "all")


@pytest.fixture(name="logs", scope="module")
def _logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two topics of several partitions, and a folder that is no log."""
    folder = tmp_path_factory.mktemp("logs")
    rng = random.Random(2)
    for partition in range(3):
        rows = [b'{"id":%d,"name":"customer %d"}' % (at, rng.randrange(50)) for at in range(40_000)]
        kc.write(pa.table({"value": rows}), folder, topic="rows", partition=partition, compression_type="none")
        noise = [rng.randbytes(200) for _ in range(1000)]
        kc.write(pa.table({"value": noise}), folder, topic="noise", partition=partition, compression_type="none")
    return folder


def without_times(found: Any) -> Any:
    """A report without what differs from run to run."""
    if isinstance(found, dict):
        return {name: without_times(each) for name, each in found.items() if not any(part in name for part in TIMED)}
    return [without_times(each) for each in found] if isinstance(found, list) else found


def test_same_report_as_here(spark: SparkSession, logs: Path) -> None:
    """The same sample, the same bytes, the same advice; a row for each option."""
    frame, report = advise(spark, str(logs), SETTINGS)
    here = kc.advise(logs, SETTINGS)
    ours, theirs = without_times(report.to_dict()), without_times(here.to_dict())
    assert ours == theirs
    rows = frame.collect()
    assert {row.topic for row in rows} == {"rows", "noise"}
    assert sum(row.stored for row in rows) == 2
    assert len(rows) == 2 + sum(len(topic["options"]) for topic in ours["topics"])
    verdicts = {row.topic: row.verdict for row in rows}
    assert verdicts["noise"] == "leave it"
    assert verdicts["rows"] == "change"
    assert [row.topic for row in rows if row.advised] == ["rows"]


def test_tasks_run_at_the_same_time(spark: SparkSession, logs: Path) -> None:
    """One job for all tasks, not one after another for each."""
    context = spark.sparkContext
    context.setJobGroup("advice", "")
    try:
        advise(spark, str(logs), Settings(codecs=SETTINGS.codecs, batch_sizes=(16384,), sample_bytes=8 << 20, seed=7))
        jobs = context.statusTracker().getJobIdsForGroup("advice")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # removes it
    assert 1 <= len(jobs) <= 2


def test_what_is_wrong_comes_back(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """Damage that an executor meets, and a path that is not there, are named; nothing at all is an error."""
    bad = tmp_path / "bad-0"
    bad.mkdir()
    data = bytearray((logs / "noise-0" / f"{0:020}.log").read_bytes())
    data[100] ^= 1
    (bad / f"{0:020}.log").write_bytes(data)
    prices = parse("[prices]\nstorage_gb_month = 1", "p", print)
    frame, report = advise(
        spark, [str(tmp_path), str(tmp_path / "nothing")], SETTINGS, prices=prices, max_latency_ms=5, assume_rate=1000
    )
    assert any("bad-0" in problem for problem in report.problems)
    assert any("nothing" in problem for problem in report.problems)
    assert frame.filter("moneyPerMonth is not null").count() > 0
    (tmp_path / "empty-0").mkdir()
    (tmp_path / "empty-0" / f"{0:020}.log").write_bytes(b"")
    with pytest.raises(ValueError, match="no batches: empty"):
        advise(spark, str(tmp_path / "empty-0"), SETTINGS)
