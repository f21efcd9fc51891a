"""``python -m kafkacomp.bench``: each kind of input, its outputs, peers held to equal results, and wrong use.

Figures are not looked at, only what they are about: a sample is one pass and there are few rounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import kafkacomp as kc
from kafkacomp import CompressionType
from kafkacomp._codecs.levels import Codec, parse_codecs, parse_sizes
from kafkacomp.bench import main, peers, preset
from kafkacomp.bench.command import parse_threads
from kafkacomp.bench.peers.codecs import Zlib
from kafkacomp.bench.timing import Samples, Timing
from kafkacomp.bench.workload import cut, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Run: TypeAlias = Callable[..., tuple[int, str, str]]

TESTS = Path(__file__).resolve().parent
LOG_FOLDER = TESTS / "vectors" / "modern" / "restarts"
SEGMENT = LOG_FOLDER / "restarts-0" / "00000000000000000000.log"
SCHEMA = json.loads(resources.files("kafkacomp.bench").joinpath("schema.json").read_text())
QUICK = ("--rounds", "2", "--sample-ms", "0")


@pytest.fixture(name="run")
def _run(run_with: Callable[[Callable[[list[str]], int]], Run]) -> Run:
    return run_with(main)


@pytest.fixture(name="report")
def _report(run: Run) -> Callable[..., dict[str, Any]]:
    def report(*arguments: object) -> dict[str, Any]:
        status, out, err = run(*arguments, *QUICK, "--json")
        assert status == 0, err
        made: dict[str, Any] = json.loads(out)
        jsonschema.validate(made, SCHEMA)
        return made

    return report


@pytest.fixture(name="lines")
def _lines(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(b'{"id":%d,"name":"%s"}\n' % (i, b"abc" * (i % 7)) for i in range(300)))
    return path


# ------------------------------------------------------------------------------------------------ inputs
def test_sample(report: Callable[..., dict[str, Any]]) -> None:
    """Without arguments: all five codecs, all stages."""
    made = report()
    assert [each["kind"] for each in made["inputs"]] == ["lines"]
    seen = {(each["compression_type"], each["stage"]) for each in made["results"]}
    stages = ("compress", "decompress", "build", "iterate", "arrow")
    assert seen == {(str(kind), stage) for kind in CompressionType for stage in stages}
    assert made["versions"]["kafkacomp"] == kc.__version__
    assert made["command"].startswith("python -m kafkacomp.bench --rounds 2")
    assert not made["left_out"]


def test_sample_is_made_by_its_script(tmp_path: Path) -> None:
    """The shipped sample is what the script makes."""
    out = tmp_path / "sample.gz"
    script = TESTS.parent / "tools" / "make_bench_sample.py"
    subprocess.run([sys.executable, script, out], check=True, stdout=subprocess.DEVNULL, timeout=60)
    shipped = resources.files("kafkacomp.bench").joinpath("sample/orders.jsonl.gz").read_bytes()
    assert kc.gzip.decompress(out.read_bytes()) == kc.gzip.decompress(shipped)


def test_segment_has_its_real_batches(report: Callable[..., dict[str, Any]]) -> None:
    made = report(SEGMENT, "--codecs", "zstd")
    batches = list(kc.record.read_batches(SEGMENT.read_bytes()))
    result = made["results"][0]
    assert (result["batch_bytes"], made["inputs"][0]["kind"]) == ("stored", "segment")
    assert result["records"] == sum(1 for batch in batches for _ in batch)
    assert result["batches"] == len([batch for batch in batches if list(batch)])


def test_log_folder(report: Callable[..., dict[str, Any]]) -> None:
    made = report(LOG_FOLDER, "--codecs", "lz4", "--each", "--batch-bytes", "stored,4k,whole")
    names = [each["name"] for each in made["inputs"]]
    assert names == [str(path) for path in sorted(LOG_FOLDER.glob("*/*.log")) if path.stat().st_size]
    assert {each["input"] for each in made["results"]} == set(names)
    assert {each["batch_bytes"] for each in made["results"]} == {"stored", 4096, "whole"}


def test_any_file(report: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """Pieces of a file have no records, so there is nothing to build or read."""
    path = tmp_path / "any"
    path.write_bytes(bytes(range(256)) * 100)
    made = report(path, "--codecs", "none,snappy", "--batch-bytes", "1000,16k,whole")
    assert {each["stage"] for each in made["results"]} == {"compress", "decompress"}
    assert {each["batches"] for each in made["results"]} == {26, 2, 1}
    assert set(made["left_out"]) == {"build", "iterate", "arrow"}
    assert all(each["records"] is None and each["bytes"] == 25600 for each in made["results"])


def test_zip_archive(report: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        archive.writestr("a", b"a" * 1000)
        archive.writestr("b", b"b" * 2000)
    made = report(tmp_path / "corpus.zip", "--codecs", "zstd:1")
    assert [(each["name"], each["bytes"]) for each in made["inputs"]] == [
        ("corpus.zip:a", 1000),
        ("corpus.zip:b", 2000),
    ]


def test_lines_and_limit(report: Callable[..., dict[str, Any]], lines: Path) -> None:
    made = report(lines, "--codecs", "none", "--limit", "4000", "--stages", "iterate")
    assert made["inputs"][0]["bytes"] == 4000
    assert made["inputs"][0]["bytes_left_out"] == lines.stat().st_size - 4000
    assert made["results"][0]["records"] == lines.read_bytes()[:4000].count(b"\n") + 1
    assert report(lines, "--codecs", "none", "--records", "none")["inputs"][0]["kind"] == "file"


def test_threads(report: Callable[..., dict[str, Any]], lines: Path) -> None:
    made = report(lines, "--codecs", "lz4", "--threads", "1,2", "--batch-bytes", "500")
    assert {each["stage"] for each in made["results"] if each["threads"] == 2} == {"compress", "decompress", "arrow"}
    assert "build on several threads" in made["left_out"]


# ------------------------------------------------------------------------------------------------ outputs
def test_json_and_table_have_the_same_results(run: Run, lines: Path, tmp_path: Path) -> None:
    json_to = tmp_path / "out.json"
    status, out, _ = run(lines, *QUICK, "--codecs", "gzip:1-3,zstd:-5,3", "--json", json_to)
    assert status == 0
    made = json.loads(json_to.read_text())
    jsonschema.validate(made, SCHEMA)
    assert len(made["results"]) == 5 * 5
    for codec in ("gzip:1", "gzip:2", "gzip:3", "zstd:-5", "zstd:3"):
        assert f"\n{codec} " in out
    assert made["command"] in out
    assert made["machine"]["cpu"] in out
    assert f"kafkacomp {kc.__version__}" in out


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")])
def test_plot(run: Run, lines: Path, tmp_path: Path, suffix: str, begins: bytes) -> None:
    path = tmp_path / f"out{suffix}"
    assert run(lines, *QUICK, "--codecs", "lz4,zstd:1-2", "--plot", path)[0] == 0
    data = path.read_bytes()
    assert data.lstrip().startswith(begins)
    assert suffix == ".png" or b"zstd:2" in data
    assert b"<script src" not in data


# ------------------------------------------------------------------------------------------------ peers
def test_peers_are_compared_on_equal_outputs(report: Callable[..., dict[str, Any]], lines: Path) -> None:
    """Every Python peer takes part at every codec it has, and at gzip's own level as the clients write it."""
    made = report(lines, "--compare", ",".join(peers.NAMES), "--codecs", "none,gzip:2,9,snappy,lz4,zstd")
    assert not made["wrong_results"]
    seen = {(each["by"], each["compression_type"]) for each in made["results"] if each["stage"] == "decompress"}
    clients = {(name, kind) for name in ("aiokafka", "kafka-python") for kind in ("gzip", "snappy", "lz4", "zstd")}
    libraries = {("zlib", "gzip"), ("isal", "gzip"), ("lz4", "lz4"), ("zstandard", "zstd")}
    cramjam = {("cramjam", kind) for kind in ("gzip", "snappy", "lz4", "zstd")}
    ours = {("kafkacomp", str(kind)) for kind in CompressionType}
    assert seen == clients | libraries | cramjam | ours
    for stage in ("iterate", "build"):
        by = {each["by"] for each in made["results"] if each["stage"] == stage}
        assert by == {"kafkacomp", "aiokafka", "kafka-python"}
    assert all((each["times_kafkacomp"] is None) == (each["by"] == "kafkacomp") for each in made["results"])
    assert set(peers.NAMES) < set(made["versions"])


def test_a_peer_with_another_result_is_found(run: Run, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Zlib, "decompressor", lambda *_: lambda data: data)
    monkeypatch.setattr(Zlib, "compressor", lambda *_: lambda _: kc.compress(b"other", "gzip"))
    status, out, err = run(lines, *QUICK, "--codecs", "gzip", "--compare=zlib", "--json")
    made = json.loads(out)
    assert status == 1
    assert set(made["wrong_results"]) == {"zlib compress gzip:-1", "zlib decompress gzip:-1"}
    assert "wrong result: zlib compress gzip:-1: its result differs from kafkacomp's" in err
    assert {each["by"] for each in made["results"]} == {"kafkacomp"}


def test_a_missing_peer(run: Run, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error if it was named, a line in the report if not."""
    monkeypatch.setitem(sys.modules, "isal", None)
    status, _, err = run(lines, *QUICK, "--compare", "isal")
    assert (status, "isal is not installed: pip install isal" in err) == (2, True)
    status, out, _ = run(lines, *QUICK, "--codecs", "gzip:1", "--stages", "decompress", "--compare", "--json")
    assert (status, set(json.loads(out)["left_out"]) >= {"isal"}) == (0, True)


# ------------------------------------------------------------------------------------------------ presets
def test_zstd_readme(report: Callable[..., dict[str, Any]], lines: Path) -> None:
    made = report(lines, "--preset", "zstd-readme")["preset"]
    rows = {row["name"]: row for row in made["rows"]}
    assert rows["zstd 1.5.1 -1"]["ratio published"] == 2.887
    measured = {name for name, row in rows.items() if row["ratio measured"] is not None}
    assert set(rows) - measured == {"quicklz 1.5.0 -1", "lzf 3.6 -1"}
    assert all(row["agrees"] is None for row in rows.values())
    assert "may differ from the published ones" in made["notes"][0]
    assert rows["brotli 1.0.9 -0"]["by"].startswith("brotli")


# ------------------------------------------------------------------------------------------------ wrong use
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--codecs", "brotli"], "invalid compression type 'brotli'"),
        (["--codecs", "zstd:23"], "zstd has the levels -131072 to 22, not 23"),
        (["--codecs", "gzip:0-9"], "gzip has the levels 1 to 9, or -1, not 0"),
        (["--codecs", "snappy:1"], "snappy has no levels"),
        (["--codecs", "lz4:fast"], "'fast' is not a level of lz4: expected a number"),
        (["--codecs", "gzip:9-1"], "begins above its end: swap them"),
        (["--codecs", "gzip:"], "no level after the colon"),
        (["--batch-bytes", "16q"], "'16q' is not a size"),
        (["--batch-bytes", "stored"], "only segments have stored batches"),
        (["--threads", "0"], "'0' is not a number of threads: expected 1 to"),
        (["--stages", "encrypt"], "unknown stage 'encrypt'"),
        (["--compare", "gzip2"], "unknown peer 'gzip2'"),
        (["--preset", "other"], "'other' is not 'zstd-readme'"),
        (["--preset", "zstd-readme", "--codecs", "lz4"], "--preset has its own codecs, stages and peers"),
        (["--plot", "out.gif"], "does not end in .png or .svg or .html"),
        (["--json", "segment.log"], "does not end in .json"),
        (["no-such-file"], "no-such-file: No such file or directory"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_wrong_use(run: Run, arguments: list[str], message: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in " ".join(err.split())


def test_bad_files(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert run(empty)[0] == 2
    assert run(tmp_path)[0] == 2  # a folder without segments
    data = bytearray(SEGMENT.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    damaged = tmp_path / "t-0" / SEGMENT.name
    damaged.parent.mkdir()
    damaged.write_bytes(data)
    status, _, err = run(damaged, *QUICK)
    assert (status, err.count(str(damaged))) == (1, 1)
    flipped = bytearray(SEGMENT.read_bytes())
    flipped[70] ^= 1
    damaged.write_bytes(flipped)
    status, _, err = run(damaged, *QUICK)
    assert (status, err.count(str(damaged))) == (1, 1)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Without the extra, the command and the picture say how to get it."""
    for module, arguments in (("rich", []), ("altair", ["--plot", str(tmp_path / "out.png")])):
        program = (
            f"import sys; sys.modules[{module!r}] = None; from kafkacomp.bench import main; sys.exit(main({arguments}))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert "pip install 'kafkacomp[bench]'" in done.stderr
        assert module in done.stderr


def test_specifications() -> None:
    gzip, zstd = CompressionType.GZIP, CompressionType.ZSTD
    assert parse_codecs("gzip:1-3") == [Codec(gzip, 1), Codec(gzip, 2), Codec(gzip, 3)]
    assert parse_codecs("zstd:-5,1,3, gzip") == [Codec(zstd, -5), Codec(zstd, 1), Codec(zstd, 3), Codec(gzip, -1)]
    assert [codec.level for codec in parse_codecs("zstd:-2-2")] == [-2, -1, 0, 1, 2]
    assert parse_codecs("none,none") == [Codec(CompressionType.NONE)]
    assert parse_sizes("1,16k,1MB,whole,stored") == [1, 16384, 1 << 20, "whole", "stored"]
    assert parse_threads("1,2,2") == [1, 2]


def test_rounds_are_paired() -> None:
    """The ratio is that of neighbours, not of medians."""
    ours, theirs = Samples(), Samples()
    for wall, factor in ((1.0, 2.0), (10.0, 2.0), (100.0, 3.0)):
        ours.add(Timing(wall, None), 1)
        theirs.add(Timing(wall * factor, None), 1)
    assert theirs.ratio_to(ours) == 2.0


def test_ratios_agree_or_not_on_the_whole_corpus(lines: Path) -> None:
    """Only a corpus of the published size is held against the published ratios, and only in the same format."""
    published = preset.load_table()
    workload = cut("corpus", load([lines], records="none", limit=1 << 20), "whole")
    published["corpus_bytes"] = workload.size
    published["row"][0]["ratio"] = workload.size / len(kc.compress(lines.read_bytes(), "zstd", compression_level=1))
    made = preset.compare(published, workload, rounds=1, least=0.0, advance=lambda _steps, _what: None)
    agrees = {row["name"]: row["agrees"] for row in made.rows}
    assert agrees["zstd 1.5.1 -1"] is True
    assert agrees["zlib 1.2.11 -1"] is False
    assert agrees["lz4 as Kafka frames it"] is None
    assert not made.notes
