"""``kafkacomp advise``: what it says where the answer is known, what is there today, and bad input."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import runpy
import threading
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa
import pytest
from pyarrow import parquet

import kafkacomp as kc
from kafkacomp import record
from kafkacomp._cli import main
from kafkacomp._codecs.levels import Codec, parse_codecs
from kafkacomp.advice import measure
from kafkacomp.advice.compressing import compress, java_size, java_zstd
from kafkacomp.advice.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    #: Runs the command with these arguments: exit status, standard output, standard error.
    Run: TypeAlias = Callable[..., tuple[int, str, str]]
    #: The same with --json: the report.
    Advise: TypeAlias = Callable[..., dict[str, Any]]

TESTS = Path(__file__).resolve().parent
VECTORS = TESTS / "vectors"
TIME = 1_700_000_000_000
QUICK = ("--codecs", "none,snappy,lz4,zstd:1,3", "--batch-sizes", "1,16k,64k")


@pytest.fixture(name="run")
def _run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        status = main(["advise", *(str(argument) for argument in arguments)])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return run


@pytest.fixture(name="advise")
def _advise(run: Run) -> Advise:
    def advise(*arguments: object, status: int = 0) -> dict[str, Any]:
        found, out, err = run(*arguments, "--json", *(() if "--codecs" in arguments else QUICK))
        assert found == status, err
        report: dict[str, Any] = json.loads(out)
        return report

    return advise


@pytest.fixture(name="flights", scope="module")
def _flights() -> list[bytes]:
    rows = runpy.run_path(str(TESTS.parent / "benches" / "flights.py"))["rows"]
    return list(itertools.islice(rows(), 8000))


def topic(
    folder: Path, name: str, values: Iterable[bytes], *, codec: str = "none", level: int | None = None,
    batch: int = 16384, step: int = 1,
) -> Path:  # fmt: skip
    """A partition of these values, in batches of this size; ``step`` ms between records."""
    listed = list(values)
    times = [TIME + at * step for at in range(len(listed))]
    table = pa.table({"value": listed, "timestamp": times})
    kc.write(table, folder, topic=name, partition=0, compression_type=codec, compression_level=level, batch_bytes=batch)
    return folder


def only(report: dict[str, Any]) -> dict[str, Any]:
    """The report's one topic."""
    assert len(report["topics"]) == 1
    found: dict[str, Any] = report["topics"][0]
    return found


def cell(found: dict[str, Any], codec: str, level: int | None = None, size: int | None = None) -> dict[str, Any]:
    """A topic's measured option."""
    return next(
        each
        for each in found["options"]
        if (each["compressionType"], each["codecLevel"], each["batchSize"]) == (codec, level, size)
    )


# ------------------------------------------------------------------------------------- where the answer is known
def test_json_rows_compress(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Uncompressed rows of JSON: compress, by most of the bytes, and lines to set."""
    found = only(advise(topic(tmp_path, "flights", flights)))
    advice = found["advice"]
    assert advice["verdict"] == "change"
    assert advice["option"]["compressionType"] == "zstd"
    assert advice["option"]["savingLow"] > 0.7
    places = {each["place"]: each["lines"] for each in advice["configuration"]}
    assert "compression.type=zstd" in places["producer"]
    assert places.keys() == {"producer", "topic", "broker"}


@pytest.mark.parametrize("kind", ["random", "uuid-bytes", "uuid-text", "gzip", "base64"])
def test_what_cannot_be_compressed_is_left(kind: str, tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """High entropy, random identifiers in both forms, compressed payloads."""
    rng = random.Random(5)
    make: dict[str, Callable[[], list[bytes]]] = {
        "random": lambda: [rng.randbytes(rng.randrange(100, 400)) for _ in range(3000)],
        "uuid-bytes": lambda: [uuid.UUID(int=rng.getrandbits(128), version=4).bytes for _ in range(20000)],
        "uuid-text": lambda: [str(uuid.UUID(int=rng.getrandbits(128), version=4)).encode() for _ in range(20000)],
        "gzip": lambda: [gzip.compress(b"".join(flights[at : at + 20])) for at in range(0, 8000, 10)],
        "base64": lambda: [__import__("base64").b64encode(rng.randbytes(300)) for _ in range(2000)],
    }
    found = only(advise(topic(tmp_path, kind, make[kind]())))
    advice = found["advice"]
    assert advice["verdict"] == "leave it", advice["headline"]
    assert advice["option"] is None
    assert advice["configuration"] == []
    words = {"gzip": "compressed already (gzip)", "uuid-text": "hexadecimal", "base64": "base64"}
    assert words.get(kind, "entropy of the values is too high") in advice["headline"]


def test_one_record_a_batch(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """The default batch.size would hold many more, and the rate fills it: linger.ms is what to raise."""
    found = only(advise(topic(tmp_path, "single", flights[:4000], batch=1), "--assume-rate", "1m"))
    advice = found["advice"]
    assert found["today"]["batch"]["recordsMean"] == 1
    assert advice["verdict"] == "raise linger.ms first"
    assert advice["option"]["batchSize"] == 16384
    assert advice["option"]["saving"] > 0.75
    producer = advice["configuration"][0]["lines"]
    assert not any(line.startswith("batch.size=") for line in producer)
    (linger,) = [int(line.partition("=")[2]) for line in producer if line.startswith("linger.ms=")]
    assert advice["option"]["fillMs"] <= linger <= 1000
    # Compression by itself does next to nothing.
    assert cell(found, "zstd", 3)["saving"] < 0.3


def test_batches_that_do_not_fill_are_not_advised(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """At a record a second a batch would wait for minutes, and of a few seconds of records nobody knows: named only."""
    folder = topic(tmp_path, "single", flights[:4000], batch=1)
    for options, word in ((("--assume-rate", "300"), "minutes to fill"), ((), "less than an hour")):
        found = only(advise(folder, *options))
        assert found["advice"]["verdict"] in {"change", "leave it"}
        assert found["advice"]["option"] is None or found["advice"]["option"]["batchSize"] is None
        reasons = [reason for reason in found["advice"]["reasons"] if word in reason]
        assert len(reasons) == 1, found["advice"]
        assert "would save" in reasons[0]


def test_larger_than_the_default(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Where only more than the default batch.size brings it, batch.size is named, and linger.ms with it."""
    folder = topic(tmp_path, "single", flights[:4000], batch=1)
    advice = only(advise(folder, "--assume-rate", "20m", "--codecs", "none,lz4,zstd", "--batch-sizes", "1,128k"))[
        "advice"
    ]
    assert advice["verdict"] == "raise the batch size first"
    producer = advice["configuration"][0]["lines"]
    assert "batch.size=131072" in producer
    assert any(line.startswith("linger.ms=") for line in producer)


def test_internal_topics_are_left_out(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """Nobody sets the properties of their producers; --internal-topics or a path to one asks for them."""
    topic(tmp_path, "flights", flights[:500])
    for name in ("__consumer_offsets", "__transaction_state", "__cluster_metadata"):
        topic(tmp_path, name, flights[:500])
    quick = ("--codecs", "none,lz4", "--batch-sizes", "16k", "--json")
    status, out, err = run(tmp_path, *quick)
    report = json.loads(out)
    assert (status, [each["topic"] for each in report["topics"]]) == (0, ["flights"])
    assert set(report["internalTopics"]) == {"__consumer_offsets", "__transaction_state", "__cluster_metadata"}
    assert "__cluster_metadata" in err
    assert len(json.loads(run(tmp_path, "--internal-topics", *quick)[1])["topics"]) == 4
    named = json.loads(run(tmp_path / "__cluster_metadata-0", *quick)[1])
    assert [each["topic"] for each in named["topics"]] == ["__cluster_metadata"]
    (tmp_path / "flights-0").rename(tmp_path.parent / "flights-0")
    status, _, err = run(tmp_path, *quick)
    assert status == 2
    assert "internal" in err


#: About what a core takes to compress a byte by level of zstd, ns; lz4 takes 1.2.
ZSTD_NS = {1: 3.0, 2: 3.2, 3: 3.7, 4: 5.4, 5: 7.8}


@pytest.fixture(name="steady_clock")
def _steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is counted by bytes and levels, not measured, so that a busy machine gives the same advice."""
    local = threading.local()

    def thread_time_ns() -> int:
        return int(getattr(local, "now", 0))

    def counted(data: bytes, codec: Codec, magic: int) -> bytes:
        local.now = thread_time_ns() + len(data) * ZSTD_NS.get(codec.level or 0, 1.2)
        return compress(data, codec, magic)

    monkeypatch.setattr(measure, "time", SimpleNamespace(thread_time_ns=thread_time_ns))
    monkeypatch.setattr(measure, "compress", counted)


@pytest.mark.usefixtures("steady_clock")
def test_already_well_compressed(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """A topic at zstd 3 is seen to be one, its own point makes today's bytes, and it is left."""
    folder = topic(tmp_path, "flights", flights, codec="zstd", level=3, batch=200_000)
    found = only(advise(folder, "--codecs", "none,lz4,zstd:1-5", "--batch-sizes", "16k"))
    today = found["today"]
    assert (today["compressionType"], today["level"]["level"], today["level"]["sameBytes"]) == ("zstd", 3, True)
    assert abs(cell(found, "zstd", 3)["saving"]) < 0.01
    assert abs(cell(found, "zstd", 3)["sampleBytes"] / found["sample"]["bytes"] - 1) < 0.01
    assert found["advice"]["verdict"] == "leave it", found["advice"]


@pytest.mark.parametrize(("codec", "level"), [("gzip", 9), ("gzip", 1), ("zstd", 7), ("zstd", -3), ("lz4", 12)])
def test_level_shows(codec: str, level: int, tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Each level leaves other bytes."""
    found = only(advise(topic(tmp_path, "t", flights[:2000], codec=codec, level=level)))
    assert found["today"]["level"]["level"] == level
    assert found["today"]["level"]["sameBytes"]


@pytest.mark.parametrize(
    ("name", "codec", "level"),
    [("java-not-idempotent", "snappy", None), ("restarts", "zstd", 3), ("topic-gzip-from-lz4", "gzip", 9)],
)
def test_batches_of_real_producers(name: str, codec: str, level: int | None, advise: Advise) -> None:
    """The same codec and level makes as many bytes as Java's, within 1%; its gzip to the byte."""
    found = only(advise(VECTORS / "modern" / name, "--codecs", "none,gzip:9,snappy,zstd", "--batch-sizes", "16k"))
    assert found["today"]["compressionType"] == codec
    assert abs(cell(found, codec, level)["saving"]) < 0.01
    if level is not None:
        assert found["today"]["level"]["level"] == level
        assert found["today"]["level"]["sameBytes"] == (codec == "gzip")


def test_zstd_makes_the_bytes_of_java() -> None:
    """Single records of Kafka's producer: the same frames, and their size without making them."""
    codec, count = Codec(kc.CompressionType.ZSTD, 3), 0
    for path in sorted((VECTORS / "modern" / "single-record-batches").rglob("*.log")):
        for batch in record.read_batches(path.read_bytes()):
            if batch.compression_type is not kc.CompressionType.ZSTD:
                continue
            packed = batch.stored_records
            plain = kc.decompress(packed, "zstd")
            assert java_zstd(plain, 3) == packed
            assert java_size(compress(plain, codec, 2), codec) == len(packed)
            count += 1
    assert count > 10


def test_stored_records_of_every_message_format() -> None:
    """What a codec decompresses; a plain message of magic 0 and 1 is a record itself."""
    for magic in (0, 1, 2):
        builders = [record.RecordBatchBuilder(magic, kind) for kind in ("gzip", "none")]
        for builder in builders:
            builder.append(b"value", timestamp=0)
        packed, plain = (next(record.read_batches(builder.build())) for builder in builders)
        assert kc.decompress(packed.stored_records, "gzip") == plain.stored_records
        assert plain.stored_records == (bytes(plain) if magic < 2 else bytes(plain)[61:])


def test_changed_mixture(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Several types in one topic: each with its bytes, and the advice is for all."""
    part = tmp_path / "mixed-0"
    part.mkdir()
    data = b""
    for at, codec in enumerate(("none", "snappy", "zstd") * 10):
        builder = record.RecordBatchBuilder(2, codec, base_offset=at * 100)
        for row in range(100):
            builder.append(flights[at * 100 + row], timestamp=TIME + at * 100 + row)
        data += builder.build()
    (part / f"{0:020}.log").write_bytes(data)
    found = only(advise(tmp_path))
    assert set(found["today"]["types"]) == {"none", "snappy", "zstd"}
    assert sum(each["bytes"] for each in found["today"]["types"].values()) == len(data)
    assert found["advice"]["option"]["compressionType"] == "zstd"


# ------------------------------------------------------------------------------------------------- the sample
def test_same_seed_same_figures(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """All but times and the machine; another seed takes another sample."""
    folder = topic(tmp_path, "flights", flights * 3)
    arguments = (folder, "--sample-bytes", "2m", "--codecs", "none,zstd", "--batch-sizes", "16k")

    def sizes(*more: str) -> list[tuple[int, float]]:
        found = only(advise(*arguments, *more))
        return [(each["sampleBytes"], each["saving"]) for each in found["options"]]

    assert sizes() == sizes("--seed", "0")
    assert any(sizes() != sizes("--seed", str(seed)) for seed in range(1, 6))


def test_the_sample_speaks_for_the_whole(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """A fifth of a topic whose second half is random predicts the whole's bytes, within its own spread and some."""
    rng = random.Random(3)
    values = flights * 2 + [rng.randbytes(265) for _ in range(16000)]
    folder = topic(tmp_path, "halves", values)
    arguments = (folder, "--codecs", "none,zstd", "--batch-sizes", "16k")
    whole = cell(only(advise(*arguments, "--sample-bytes", "100m")), "zstd", 3)["saving"]
    part = only(advise(*arguments, "--sample-bytes", "3m"))
    assert part["sample"]["share"] < 0.5
    for guess in (cell(part, "zstd", 3), cell(part, "zstd", 3, 16384)):
        assert guess["savingLow"] < whole < guess["savingHigh"]


def test_without_an_index(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Batches are found by their headers then: the same figures."""
    folder = topic(tmp_path, "flights", flights * 2)
    arguments = (folder, "--sample-bytes", "2m", "--codecs", "none,lz4", "--batch-sizes", "16k")
    with_index = [each["sampleBytes"] for each in only(advise(*arguments))["options"]]
    for path in folder.rglob("*.index"):
        path.unlink()
    assert [each["sampleBytes"] for each in only(advise(*arguments))["options"]] == with_index


# --------------------------------------------------------------------------------------------------- all inputs
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_old_formats(magic: int, codec: str, tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """Measured in their own format; zstd, which they do not have, is named and the rest goes on."""
    part = tmp_path / "old-0"
    part.mkdir()
    data, at = b"", 0
    while at < 3000:
        builder = record.RecordBatchBuilder(magic, codec, base_offset=at)
        for _ in range(50):
            builder.append(flights[at], timestamp=-1 if magic == 0 else TIME + at)
            at += 1
        data += builder.build()
    (part / f"{0:020}.log").write_bytes(data)
    found = only(advise(tmp_path))
    assert found["messageFormat"] == str(magic)
    assert found["today"]["compressionType"] == codec
    assert {each["compressionType"] for each in found["options"]} == {"none", "snappy", "lz4", codec}
    assert set(found["refused"]) == {"zstd:1", "zstd:3"}
    assert "format 2" in found["refused"]["zstd:3"]
    assert found["today"]["sampleBytes"] == len(data)
    if codec == "gzip":
        assert found["today"]["level"] == {"level": -1, "sameBytes": True, "difference": 0.0}
        # Java's library against our own, which wrote these.
        assert abs(cell(found, "gzip", -1)["saving"]) < 0.04
    else:
        assert cell(found, "none")["saving"] == 0


def test_upgraded_partition(advise: Advise) -> None:
    """Formats 0, 1 and 2 in one segment: what comes next is format 2, and so is what is measured."""
    segments = sorted((VECTORS / "legacy" / "upgrade").rglob("*.log"))
    assert segments
    report = advise(*segments)
    assert {each["messageFormat"] for each in report["topics"]} == {"2"}
    assert all(each["today"]["sampleBytes"] for each in report["topics"])


@pytest.mark.parametrize("broker", ["broker-0.9.0.1/sp-gzip.log", "broker-1.1.1/f010111-gzip.log"])
def test_levels_of_old_producers(broker: str, advise: Advise) -> None:
    """Java's gzip has not changed its bytes since: zlib's default level makes the same."""
    found = only(advise(VECTORS / "legacy" / broker))
    assert found["today"]["level"] == {"level": -1, "sameBytes": True, "difference": 0.0}
    assert cell(found, "gzip", -1)["saving"] == 0


def test_logs_of_kafka_07_are_not_measured(capfd: pytest.CaptureFixture[str]) -> None:
    """They are named as a problem, with the command that makes them measurable."""
    files = sorted((VECTORS / "v07" / "broker").rglob("*.kafka"))
    assert main(["advise", str(files[0]), *QUICK]) == 1
    out, err = capfd.readouterr()
    assert "a log of Kafka 0.7, which is not measured: convert it with kafkacomp convert" in out + err


def test_json_lines_and_parquet(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """The same records in any kind of file: the same bytes, and advice as for a topic."""
    lines = tmp_path / "events.jsonl"
    lines.write_bytes(b"\n".join(flights) + b"\n")
    values, rows = tmp_path / "values.parquet", tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"value": flights, "timestamp": list(range(TIME, TIME + len(flights)))}), values)
    parquet.write_table(pa.Table.from_pylist([json.loads(row) for row in flights]), rows)
    found = {each["topic"]: each for each in advise(lines, values, rows)["topics"]}
    sizes = {name: cell(each, "zstd", 3)["sampleBytes"] for name, each in found.items()}
    assert found["events"]["sample"]["records"] == len(flights)
    assert abs(sizes["values"] / sizes["events"] - 1) < 0.02
    assert abs(sizes["rows"] / sizes["events"] - 1) < 0.02
    assert not found["events"]["isLog"]
    assert {each["advice"]["verdict"] for each in found.values()} == {"change"}


def test_a_url_and_bytes(tmp_path: Path, flights: list[bytes]) -> None:
    """The same figures from another file system, and of a segment's bytes."""
    folder = topic(tmp_path, "flights", flights)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/advise", recursive=True)
    # All of it: which windows are a part of it depends on the topic's name, which bytes do not have.
    settings = Settings(tuple(parse_codecs("none,lz4")), (16384,), sample_bytes=8 << 20)
    data = (folder / "flights-0" / f"{0:020}.log").read_bytes()
    found = [kc.advise(source, settings).topics[0] for source in (folder, "memory://advise", data)]
    assert len({topic.figures.total.size for topic in found}) == 1
    assert len({topic.figures.size for topic in found}) == 1


def test_keys_and_headers_count(tmp_path: Path, advise: Advise) -> None:
    """They are part of what is compressed, and of what is built anew."""
    rng = random.Random(1)
    keys = [rng.randbytes(16) for _ in range(2000)]
    headers = [[{"key": "trace", "value": rng.randbytes(16)}] for _ in range(2000)]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    table = pa.table({"key": keys, "value": [b"v"] * 2000, "headers": pa.array(headers, kind)})
    kc.write(table, tmp_path, topic="t", partition=0, compression_type="none")
    found = only(advise(tmp_path))
    assert cell(found, "none", size=16384)["bytesPerRecord"] > 38
    assert cell(found, "zstd", 3)["bytesPerRecord"] > 32


# ------------------------------------------------------------------------------------------------- bad input
def test_no_batches(tmp_path: Path, run: Run) -> None:
    """Said by name: wrong use if there is nothing else."""
    part = tmp_path / "empty-0"
    part.mkdir()
    (part / f"{0:020}.log").write_bytes(b"")
    status, _, err = run(tmp_path)
    assert status == 2
    assert "no batches: empty" in err


def test_paths_without_segments_are_wrong_usage(tmp_path: Path, run: Run) -> None:
    """As in every other command; a path without segments among others is a problem of the report."""
    (tmp_path / "empty").mkdir()
    for paths in (["empty"], ["missing"], ["empty", "missing"]):
        status, out, err = run(*(tmp_path / each for each in paths))
        assert (status, out) == (2, "")
        assert str(tmp_path / paths[0]) in err.splitlines()[-1]


def test_no_change_to_more_bytes_without_prices(tmp_path: Path, advise: Advise, flights: list[bytes]) -> None:
    """A codec that is faster, but makes more bytes, is not advised; docs/advise.md has the rule."""
    for codec, level in (("gzip", 1), ("zstd", 19), ("gzip", 9), ("zstd", 1)):
        found = only(advise(topic(tmp_path / f"{codec}{level}", "t", flights, codec=codec, level=level)))
        if found["advice"]["verdict"] == "change":
            option = found["advice"]["option"]
            assert option["saving"] >= 0, found["advice"]["headline"]
            assert option["saving"] >= 0.05 or "of the processor time" in found["advice"]["headline"]


def test_an_empty_topic_among_others(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """Named; nothing is wrong with it."""
    topic(tmp_path, "flights", flights[:500])
    part = tmp_path / "empty-0"
    part.mkdir()
    (part / f"{0:020}.log").write_bytes(bytes(4096))
    status, out, err = run(tmp_path, *QUICK)
    assert status == 0
    assert "empty: no batches" in err
    assert "flights" in out


def test_an_unreadable_topic_among_good_ones(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """Named, with the byte; the rest goes on."""
    topic(tmp_path, "flights", flights[:500])
    bad = topic(tmp_path, "bad", flights[:500]) / "bad-0" / f"{0:020}.log"
    data = bytearray(bad.read_bytes())
    data[200] ^= 1
    bad.write_bytes(data[:5000] + bytes([255]) * 5000)
    (tmp_path / "noise-0").mkdir()
    (tmp_path / "noise-0" / f"{0:020}.log").write_bytes(random.Random(1).randbytes(10_000))
    status, out, err = run(tmp_path, "--json", *QUICK)
    report = json.loads(out)
    assert status == 1
    assert [each["topic"] for each in report["topics"]] == ["flights"]
    assert "bad-0" in err
    assert "noise-0" in err
    assert report["problems"]


def test_damage_within_a_topic(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """A batch whose checksum is wrong is left out and named; the others count."""
    path = topic(tmp_path, "flights", flights[:2000]) / "flights-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(data)
    status, out, err = run(tmp_path, "--json", *QUICK)
    found = only(json.loads(out))
    assert status == 1
    assert "flights-0" in err
    assert len(data) - 40_000 < found["sample"]["bytes"] < len(data)
    assert found["problems"]


def test_missing_path_among_good_ones(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """Named; the rest goes on."""
    status, out, err = run(topic(tmp_path, "flights", flights[:500]), tmp_path / "nothing", *QUICK)
    assert status == 1
    assert "nothing" in err
    assert "flights" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--codecs", "brotli"), ("--codecs", "zstd:99"), ("--batch-sizes", "stored"), ("--sample-bytes", "1k,2k"),
        ("--sample-bytes", "x"), ("--replication-factor", "0"), ("--max-latency-ms", "0"), ("--consumers", "-1"),
        ("--compression-type", "none"), ("--prices", "missing.toml"), ("--assume-rate", "fast"),
        ("--assume-rate", "0"), ("--time-budget", "0"), (),
    ],
)  # fmt: skip
def test_wrong_use(arguments: tuple[str, ...], run: Run) -> None:
    """Exit status 2, and a message about the option."""
    paths = ("x",) if arguments else ()
    status, out, err = run(*paths, *arguments)
    assert (status, out) == (2, "")
    assert err


def test_terminal_table(tmp_path: Path, run: Run, flights: list[bytes]) -> None:
    """Every codec and size has a line, the advice stands below."""
    status, out, err = run(topic(tmp_path, "flights", flights[:3000]), *QUICK)
    assert (status, err) == (0, "")
    for word in (
        "flights",
        "stored",
        "1 record",
        "16 KiB",
        "64 KiB",
        "zstd:1",
        "with the advice",
        "compression.type=zstd",
    ):
        assert word in out
    assert max(map(len, out.splitlines())) <= 200


def test_progress(tmp_path: Path, flights: list[bytes]) -> None:
    """It rises to the total, which is the sample's bytes."""
    topic(tmp_path, "flights", flights * 2)
    seen: list[tuple[int, int]] = []
    settings = Settings(tuple(parse_codecs("none,lz4")), (16384,), sample_bytes=3 << 20)
    report = kc.advise(tmp_path, settings, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > report.topics[0].figures.windows > 2  # wide windows, too
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 2 << 20
