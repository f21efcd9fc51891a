"""Rates of ``kafkacomp advise``: what timestamps show, what they cannot show, and no money without a rate."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._cli import main
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice.rate import FileTimes, Stamps, rate_of
from kafkacomp.advice.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIME = 1_700_000_000_000
HOUR = 3_600_000
NONE = FileTimes()
QUICK = Settings(codecs=tuple(parse_codecs("none,lz4")), batch_sizes=(16384,))
PRICES = """
currency = "USD"
[prices]
storage_gb_month = 0.08
network_in_gb = 0.01
network_out_gb = 0.01
vcpu_hour = 0.04
[traffic]
replication_factor = 3
"""


def windows(times: list[int], size: int = 1000) -> list[Stamps]:
    """Some windows of one partition with these times in their order."""
    step = -(-len(times) // 4)
    return [Stamps(0, size, times[at : at + step]) for at in range(0, len(times), step)]


def even(hours: float, count: int = 240) -> list[int]:
    """Times at equal distances."""
    return [TIME + int(hours * HOUR * at / count) for at in range(count)]


def test_even_times_give_the_rate() -> None:
    """4,000 bytes in ten hours."""
    rate = rate_of(4000, windows(even(10)), NONE)
    assert rate.source == "timestamps"
    assert rate.bytes_per_second == pytest.approx(4000 / 36000, rel=0.02)
    assert rate.seconds == pytest.approx(36000, rel=0.02)


@pytest.mark.parametrize("wrong", [0, 1, -1, 2**62, TIME - 400 * 24 * HOUR, TIME + 400 * 24 * HOUR])
@pytest.mark.parametrize("count", [1, 5])
def test_single_wrong_times_change_nothing(wrong: int, count: int) -> None:
    """One of 240, or five: the rate stays within a few percent."""
    times = even(10)
    for at in range(count):
        times[17 + 41 * at] = wrong
    rate = rate_of(4000, windows(times), NONE)
    assert rate.bytes_per_second == pytest.approx(4000 / 36000, rel=0.06)


@pytest.mark.parametrize(
    ("times", "files", "word"),
    [
        ([TIME + at for at in range(40)], NONE, "less than an hour"),
        (even(0.9), NONE, "less than an hour"),
        ([-1] * 100, NONE, "no timestamps"),
        ([0] * 100, NONE, "before 2011"),
        ([], NONE, "no timestamps"),
        (random.Random(1).sample(even(10), 240), NONE, "do not rise"),
        (list(reversed(even(10))), NONE, "do not rise"),
        # Events of a year, written within four hours.
        (even(8760), FileTimes({0: [(TIME + 8760 * HOUR, 100), (TIME + 8764 * HOUR, 100)]}), "segment files"),
        # Later than the files: not the times of sending.
        (even(10), FileTimes({0: [(TIME - 24 * HOUR, 100)]}), "later than"),
    ],
    ids=["40-records", "54-minutes", "none", "zero", "empty", "random", "falling", "events", "future"],
)
def test_what_timestamps_cannot_show(times: list[int], files: FileTimes, word: str) -> None:
    """No rate, and the reason."""
    rate = rate_of(10**9, windows(times) if times else [], files)
    assert rate.bytes_per_second is None
    assert rate.source == "unknown"
    assert word in rate.why


def test_files_that_agree_are_named() -> None:
    """Two segments, changed five hours apart, each with half of the bytes of ten hours."""
    files = FileTimes({0: [(TIME + 5 * HOUR, 100), (TIME + 10 * HOUR, 100)]})
    rate = rate_of(4000, windows(even(10)), files)
    assert rate.bytes_per_second == pytest.approx(4000 / 36000, rel=0.02)
    assert "segment files agree" in rate.why


def test_clocks_of_several_producers() -> None:
    """Up to a minute apart, in two partitions of different ages: still times of sending."""
    rng = random.Random(7)
    shaken = [time + rng.randrange(-60_000, 60_000) for time in even(10)]
    both = [each._replace(partition=number) for number in (0, 1) for each in windows(shaken)]
    assert rate_of(8000, both, NONE).bytes_per_second == pytest.approx(8000 / 36000, rel=0.05)


def written(folder: Path, times: list[int]) -> Path:
    """A topic with a record at each of these times."""
    table = pa.table({"value": [b"value %06d " % at * 20 for at in range(len(times))], "timestamp": times})
    kc.write(table, folder, topic="t", partition=0, compression_type="none", batch_bytes=1000)
    return folder


def numbers_of_money(report: dict[str, Any]) -> list[float]:
    """Every amount of money in a report."""
    cells = [each for topic in report["topics"] for each in [topic["today"], *topic["options"]]]
    found = [money for each in cells for money in each["money"].values()]
    found += [money for each in ("today", "advised") for money in report["all"][each]["money"].values()]
    return [money for money in found if money is not None]


def test_no_money_without_a_rate(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """40 records within 39 ms: nothing is said of a month, in JSON, terminal or page; an assumed rate gives it."""
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    folder = written(tmp_path / "logs", [TIME + at for at in range(40)])
    arguments = ["advise", str(folder), "--prices", str(prices), "--codecs", "none,zstd", "--batch-sizes", "16k"]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert numbers_of_money(report) == []
    assert report["all"]["withoutRate"] == ["t"]
    assert report["topics"][0]["rate"]["bytesPerSecond"] is None
    page = tmp_path / "report.html"
    assert main([*arguments, "--html", str(page)]) == 0
    for text in (capfd.readouterr().out, page.read_text()):
        assert "USD a month" not in text
        assert "Cost unknown" in text
        assert "less than an hour" in text
    assert main([*arguments, "--json", "--assume-rate", "100k"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["topics"][0]["rate"]["bytesPerSecond"] == 102_400
    assert numbers_of_money(report)


def test_one_timestamp_of_zero(tmp_path: Path) -> None:
    """It changed 0.107 to 0.00007 a month."""
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    money = []
    for name, change in (("right", {}), ("wrong", {500: 0})):
        times = even(10, 2000)
        for at, time in change.items():
            times[at] = time
        report = kc.advise(written(tmp_path / name, times), QUICK, prices=prices)
        money.append(report.totals()["today"]["money"]["total"])
    assert money[1] == pytest.approx(money[0], rel=0.05)


def test_prices_by_path_and_both_forms_of_a_report(tmp_path: Path) -> None:
    """What Python users call: a path for prices, to_dict and to_html; wrong lines are among the problems."""
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES + "consumer = 3\n")
    report = kc.advise(written(tmp_path / "logs", even(10, 2000)), QUICK, prices=str(prices))
    assert any("traffic.consumer is an unknown key" in problem for problem in report.problems)
    assert json.loads(json.dumps(report.to_dict()))["prices"]["vcpu_hour"] == 0.04
    assert "USD a month" in report.to_html()
    with pytest.raises(FileNotFoundError):
        kc.advise(tmp_path / "logs", QUICK, prices=tmp_path / "missing.toml")


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_an_assumed_rate_is_a_positive_number(rate: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="assume_rate"):
        kc.advise(written(tmp_path, even(1, 10)), QUICK, assume_rate=rate)


def test_segments_of_a_folder(tmp_path: Path) -> None:
    """Timestamps of a year in files that were written within a day: their times decide against it."""
    table = pa.table({"value": [bytes(1000)] * 4000, "timestamp": even(8760, 4000)})
    kc.write(table, tmp_path, topic="t", partition=0, compression_type="none", segment_bytes=1 << 20)
    files = sorted(tmp_path.rglob("*.log"))
    assert len(files) > 2

    def dated(step: Callable[[int], float]) -> str:
        for number, file in enumerate(files):
            os.utime(file, ((TIME + 8760 * HOUR) / 1000, TIME / 1000 + step(number)))
        return kc.advise(tmp_path, QUICK).topics[0].about.rate.source

    assert dated(lambda number: 8760 * 3600 + number * 7200) == "unknown"
    assert dated(lambda number: 8760 * 3600 / len(files) * (number + 1)) == "timestamps"
