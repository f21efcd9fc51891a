"""Prices, traffic, latency and what a broker does: the figures of ``kafkacomp advise`` worked out by hand."""

from __future__ import annotations

import itertools
import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import CompressionType
from kafkacomp._cli import main
from kafkacomp._codecs.levels import Codec, parse_codecs
from kafkacomp.advice import prices as price_files
from kafkacomp.advice.cost import DAYS_A_MONTH, KINDS, broker_seconds
from kafkacomp.advice.measure import Run
from kafkacomp.advice.settings import Settings
from kafkacomp.advice.topic import Cell

if TYPE_CHECKING:
    from kafkacomp.advice.report import Report

BENCHES = Path(__file__).resolve().parent.parent / "benches"
TIME = 1_700_000_000_000
QUICK = Settings(codecs=tuple(parse_codecs("none,lz4,zstd")), batch_sizes=(1, 16384))


@pytest.fixture(name="flights", scope="module")
def _flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Uncompressed, a record a second."""
    folder = tmp_path_factory.mktemp("logs")
    rows = list(itertools.islice(runpy.run_path(str(BENCHES / "flights.py"))["rows"](), 4001))
    table = pa.table({"value": rows, "timestamp": [TIME + at * 1000 for at in range(len(rows))]})
    kc.write(table, folder, topic="flights", partition=0, compression_type="none", batch_bytes=16384)
    return folder


def priced(text: str) -> tuple[price_files.Prices, list[str]]:
    """A price file and what is wrong with it."""
    wrong: list[str] = []
    return price_files.parse(text, "p.toml", wrong.append), wrong


def option(report: Report, codec: str) -> dict[str, Any]:
    """An option at today's boundaries."""
    found = report.to_dict()["topics"][0]["options"]
    return next(each for each in found if each["compressionType"] == codec and each["batchSize"] is None)


# ------------------------------------------------------------------------------------------------- the price file
def test_example_is_right(capfd: pytest.CaptureFixture[str]) -> None:
    """It is printed, has its date, and nothing in it is unknown."""
    assert main(["advise", "--example-prices"]) == 0
    text = capfd.readouterr().out
    assert text == price_files.example()
    found, wrong = priced(text)
    assert wrong == []
    assert found.date == "2026-11-21"
    assert set(found.prices) == set(KINDS.values())
    # What stands in comments is known, too.
    found, wrong = priced(text.replace("# gb_per_day", "gb_per_day").replace("# retention_days", "retention_days")
                          .replace("# [traffic", "[traffic").replace("# consumers", "consumers"))  # fmt: skip
    assert wrong == []
    assert found.topics["orders"].consumers == 5
    assert found.topics["orders"].replication_factor == 3


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[prices]\nstorge_gb_month = 1", "prices.storge_gb_month is an unknown key"),
        ("[prices]\nvcpu_hour = -1", "prices.vcpu_hour must not be negative"),
        ("[prices]\nvcpu_hour = nan", "prices.vcpu_hour must be finite"),
        ("[prices]\nvcpu_hour = '1'", "prices.vcpu_hour must be a number"),
        ("[prices]\nvcpu_hour = true", "prices.vcpu_hour must be a number"),
        ("prices = 3", "prices must be a table"),
        ("price = 3", "price is an unknown key"),
        ("currency = 3", "currency must be text"),
        ("[traffic]\nreplication_factor = 0", "traffic.replication_factor must be 1"),
        ("[traffic]\nconsumer = 2", "traffic.consumer is an unknown key"),
        ("[traffic.topics]\norders = 2", "traffic.topics.orders must be a table"),
        ("[traffic.topics.orders]\ngb_per_day = -2", "traffic.topics.orders.gb_per_day must not be negative"),
    ],
)
def test_bad_keys_are_named_and_the_rest_counts(text: str, named: str) -> None:
    """Each by its full name; a good key in the same file still counts."""
    found, wrong = priced(f"{text}\n[more]\nx = 1" if "[" in text else f"{text}\n[more]")
    assert any(each.startswith("p.toml: ") and named in each for each in wrong), wrong
    good, _ = priced("[prices]\nvcpu_hour = -1\nstorage_gb_month = 2")
    assert dict(good.prices) == {"storage_gb_month": 2.0}
    assert not any(value < 0 for value in found.prices.values())


def test_no_toml() -> None:
    with pytest.raises(ValueError, match=r"p\.toml: "):
        priced("[prices")


def test_bad_prices_in_the_command(flights: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Named, exit status 1, and the report with what is good."""
    file = tmp_path / "prices.toml"
    file.write_text('currency = "EUR"\n[prices]\nstorage_gb_month = 10\nvcpu_hour = -3\nnetwork = 1\n')
    options = ["--codecs", "none,zstd", "--batch-sizes", "16k", "--prices", str(file), "--json"]
    status = main(["advise", str(flights), *options])
    out, err = capfd.readouterr()
    report = json.loads(out)
    assert status == 1
    assert "prices.vcpu_hour must not be negative" in err
    assert "prices.network is an unknown key" in err
    today = report["topics"][0]["today"]["money"]
    assert today["storage"] == pytest.approx(report["topics"][0]["bytesOnDisk"] / 1e9 * 10)
    assert today["cpuProducers"] is None
    assert today["total"] == today["storage"]
    file.write_text("[prices")
    assert main(["advise", str(flights), *options]) == 2
    assert "prices.toml" in capfd.readouterr().err


# ---------------------------------------------------------------------------------------------------- the amounts
def test_a_month_worked_out_by_hand(flights: Path) -> None:
    """Each kind from its definition, on the report's own figures."""
    text = "[prices]\nstorage_gb_month = 2\nnetwork_in_gb = 3\nnetwork_replication_gb = 5\nnetwork_out_gb = 7\n"
    text += "vcpu_hour = 11\n[traffic]\nreplication_factor = 3\nconsumers = 4\ngb_per_day = 100\nretention_days = 7\n"
    found, wrong = priced(text)
    assert not wrong
    report = kc.advise(flights, QUICK, prices=found)
    made = option(report, "zstd")
    factor = 1 - made["saving"]
    sent = 100 * DAYS_A_MONTH * factor
    month = made["month"]
    assert month["storage"] == pytest.approx(100 * 7 * factor * 3)
    assert month["networkIn"] == pytest.approx(sent)
    assert month["networkReplication"] == pytest.approx(sent * 2)
    assert month["networkOut"] == pytest.approx(sent * 4)
    topic = report.topics[0].figures
    plain = 100 * DAYS_A_MONTH * topic.total.plain / topic.total.size
    assert month["cpuProducers"] == pytest.approx(plain * made["compressSecondsPerGB"] / 3600)
    assert month["cpuBrokers"] == pytest.approx(plain * made["decompressSecondsPerGB"] / 3600)
    assert month["cpuConsumers"] == pytest.approx(4 * plain * made["decompressSecondsPerGB"] / 3600)
    prices = dict(zip(KINDS, (2, 3, 5, 7, 11, 11, 11), strict=True))
    assert made["money"]["total"] == pytest.approx(sum(month[kind] * price for kind, price in prices.items()))
    size = made["bytesOnWire"]["in"]
    assert size == pytest.approx(topic.size * factor)
    assert made["bytesOnDisk"] == pytest.approx(3 * size)
    assert made["bytesOnWire"] == pytest.approx({"in": size, "replication": 2 * size, "out": 4 * size})
    assert report.topics[0].advice.verdict == "change"


def test_rate_by_timestamps(flights: Path) -> None:
    """4,001 records in 4,000 seconds."""
    report = kc.advise(flights, QUICK, prices=priced("[prices]\nnetwork_in_gb = 1")[0])
    made = option(report, "none")
    a_second = report.topics[0].figures.size / 4000
    assert made["month"]["networkIn"] == pytest.approx(a_second * 86400 * DAYS_A_MONTH / 1e9, rel=0.05)
    size = next(each for each in report.to_dict()["topics"][0]["options"] if each["batchSize"] == 16384)
    assert size["fillMs"] == pytest.approx(size["recordsPerBatch"] * 1000, rel=0.05)


def test_money_decides(flights: Path) -> None:
    """Dear processors and cheap bytes: leave it. The other way round: compress."""
    traffic = "\n[traffic]\ngb_per_day = 100\nretention_days = 7\n"
    dear = priced(f"[prices]\nstorage_gb_month = 0.000001\nvcpu_hour = 1000{traffic}")[0]
    cheap = priced(f"[prices]\nstorage_gb_month = 10\nvcpu_hour = 0.01{traffic}")[0]
    left = kc.advise(flights, QUICK, prices=dear).topics[0].advice
    assert left.verdict == "leave it"
    assert "no codec lowers the cost by 5%" in left.headline
    chosen = kc.advise(flights, QUICK, prices=cheap).topics[0].advice
    assert chosen.option is not None
    assert chosen.option.codec.type is CompressionType.ZSTD


def test_latency_limit(flights: Path) -> None:
    """A limit that nothing meets: leave it, and the figure of the quickest; one that is wide changes nothing."""
    advice = kc.advise(flights, QUICK, max_latency_ms=0.0001).topics[0].advice
    assert advice.verdict == "leave it"
    assert "latency limit of 0.0001 ms is not met" in advice.headline
    assert "adds" in advice.headline
    assert kc.advise(flights, QUICK, max_latency_ms=1000).topics[0].advice.verdict == "change"


def test_broker_by_the_rules_of_the_validator() -> None:
    """In place records are read once; another type is decompressed and compressed anew; nothing is free only plain."""

    def cell(name: str, compress: int, decompress: int) -> Cell:
        run = Run(1000, 1000, 500, 10, 1, compress * 1000, decompress * 1000)
        return Cell(Codec(CompressionType.for_name(name)), 0, {0: [run]})

    none, lz4, zstd = cell("none", 0, 0), cell("lz4", 2, 1), cell("zstd", 5, 3)
    assert broker_seconds(none, none) == 0
    assert broker_seconds(zstd, zstd) == 3
    assert broker_seconds(lz4, zstd) == 1 + 5
    assert broker_seconds(none, zstd) == 5
    assert broker_seconds(zstd, none) == 3


def test_lines_where_the_topic_has_its_own_type(flights: Path) -> None:
    """A topic with compression.type=gzip would compress again what producers compressed: it is to be set, too."""
    lines = kc.advise(flights, QUICK, compression_type="gzip").topics[0].advice.lines
    assert [each.place for each in lines] == ["producer", "topic"]
    assert lines[1].lines == ["compression.type=producer"]
    with pytest.raises(ValueError, match="compression"):
        kc.advise(flights, QUICK, compression_type="none")


def test_totals(flights: Path, tmp_path: Path) -> None:
    """All topics together are the sum of each."""
    table = pa.table({"value": [b"x" * 100] * 2000})
    kc.write(table, tmp_path, topic="other", partition=0, compression_type="none")
    report = kc.advise([flights, tmp_path], QUICK)
    totals = report.totals()
    assert totals["topics"] == 2
    assert totals["today"]["bytes"] == sum(topic.figures.size for topic in report.topics)
    assert totals["advised"]["bytes"] < totals["today"]["bytes"] / 4
    assert set(totals["byCodec"]) == {"none", "lz4:9", "zstd:3"}


def test_a_topic_whose_traffic_is_not_known(flights: Path) -> None:
    """Formats without timestamps: no money of it, the others' counts, and it is named; an assumed rate gives it."""
    old = Path(__file__).resolve().parent / "vectors" / "legacy" / "broker-0.9.0.1" / "sp-gzip.log"
    prices = priced("[prices]\nstorage_gb_month = 1\nnetwork_in_gb = 1")[0]
    alone = kc.advise(flights, QUICK, prices=prices).totals()
    both = kc.advise([flights, old], QUICK, prices=prices).totals()
    assert alone["withoutRate"] == []
    assert both["withoutRate"] == ["sp-gzip.log"]
    assert both["today"]["money"] == alone["today"]["money"]
    assumed = kc.advise([flights, old], QUICK, prices=prices, assume_rate=1000)
    assert {topic.figures.name: topic.about.rate.source for topic in assumed.topics} == {
        "flights": "timestamps",
        "sp-gzip.log": "assumed",
    }
    assert assumed.totals()["today"]["money"]["storage"] > alone["today"]["money"]["storage"]
    # A codec that one topic cannot have: that topic stays as it is.
    assert both["byCodec"]["zstd:3"]["bytes"] > alone["byCodec"]["zstd:3"]["bytes"]
