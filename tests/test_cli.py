"""The command line, end to end: against kafka-dump-log's own words, on damage, on strange folders, on outputs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lz4.frame
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import kafkacomp as kc
from checksums import crc32c
from golden.lz4_reference import xxh32
from grouped import grouped
from kafkacomp import log, record
from kafkacomp._cli import main
from kafkacomp._storage.files import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    #: Runs the command with these arguments: exit status, standard output, standard error.
    Run: TypeAlias = Callable[..., tuple[int, str, str]]

TESTS = Path(__file__).resolve().parent
FULL = Path(os.environ.get("KAFKACOMP_VECTORS", TESTS.parent.parent / "shared" / "vectors"))
#: The full set where it is, else the part of it that is in the tree.
MODERN = next(root / "modern" for root in (FULL, TESTS / "vectors") if (root / "modern").is_dir())
SMALL = TESTS / "vectors" / "modern"
SEGMENT = SMALL / "restarts" / "restarts-0" / "00000000000000000000.log"

#: What follows the fields of a batch or record: contents, which kafka-dump-log decodes for internal topics.
_CONTENT = re.compile(r" (key|payload): .*")


@pytest.fixture(name="run")
def _run(run_with: Callable[[Callable[[list[str]], int]], Run]) -> Run:
    return run_with(main)


def _dumps() -> list[Path]:
    return sorted(MODERN.glob("*/*.expect/*.dump.txt.gz"))


@pytest.mark.parametrize("expected", _dumps(), ids=lambda path: f"{path.parent.stem}-{path.name[:20]}")
def test_dump_says_what_kafka_dump_log_says(expected: Path, run: Run) -> None:
    """Line by line, every field of batches, records and control records."""
    source = expected.parent.with_suffix("") / expected.name.removesuffix(".dump.txt.gz")
    lines = gzip.decompress(expected.read_bytes()).decode().splitlines()
    theirs = [_CONTENT.sub("", line) for line in lines if line.startswith(("baseOffset", "| offset"))]
    status, out, err = run("dump", "--deep", "--no-payload", "--format", "kafka", source)
    ours = [line for line in out.splitlines() if line.startswith(("baseOffset", "| offset"))]
    assert (status, err) == (0, "")
    assert ours == theirs
    assert bool(ours) == bool(source.stat().st_size)


def _side_files() -> Iterator[Path]:
    for kind in ("index", "timeindex", "txnindex", "snapshot"):
        yield from sorted(MODERN.glob(f"*/*.expect/*.{kind}.txt"))


def test_dump_of_side_files_says_what_kafka_dump_log_says(run: Run) -> None:
    """All of them in one go: indexes, transaction indexes and producer snapshots."""
    expected = list(_side_files())
    sources = [path.parent.with_suffix("") / path.name.removesuffix(".txt") for path in expected]
    assert len(sources) > 20
    status, out, err = run("dump", "--format", "kafka", *sources)
    assert (status, err) == (0, "")
    ours = re.split(r"^Dumping .*\n", out, flags=re.MULTILINE)[1:]
    for path, text in zip(expected, ours, strict=True):
        theirs = [line.strip() for line in path.read_text().splitlines()[1:]]
        if any("threw" in line for line in theirs):
            continue  # it reads the log along with the index, and stops at a preallocated log's zeros
        assert text.splitlines() == theirs, path


def test_dump_of_text_files(run: Run) -> None:
    """Checkpoints, metadata and the quorum's state, as JSON lines."""
    status, out, _ = run("dump", "--json", SMALL / "cluster-metadata" / "__cluster_metadata-0")
    assert status == 0
    rows = [json.loads(line) for line in out.splitlines()]
    kinds = {row["type"] for row in rows}
    assert kinds >= {"batch", "leader-epoch-checkpoint", "partition.metadata", "quorum-state", "index", "timeindex"}
    assert next(row for row in rows if row["type"] == "quorum-state")["leaderId"] == 1


def test_dump_json_has_all_of_a_record(run: Run) -> None:
    """Keys, values and headers come back as they are."""
    status, out, _ = run("dump", "--deep", "--json", SEGMENT)
    records = [json.loads(line) for line in out.splitlines() if '"type": "record"' in line]
    table = pa.table(kc.scan(SEGMENT)).to_pylist()
    assert status == 0
    assert len(records) == len(table)
    for ours, theirs in zip(records, table, strict=True):
        assert ours["offset"] == theirs["offset"]
        for name, column in (("key", "key"), ("payload", "value")):
            assert ours[name] == (None if theirs[column] is None else theirs[column].decode())
        assert ours["headerKeys"] == [header["key"] for header in theirs["headers"] or []]


def test_dump_csv_is_csv(run: Run) -> None:
    """Python's reader takes it."""
    status, out, _ = run("dump", "--format", "csv", SEGMENT)
    rows = list(csv.DictReader(out.splitlines()))
    assert status == 0
    assert len(rows) == 14
    assert rows[0]["baseOffset"] == "0"
    assert rows[0]["deleteHorizonMs"] == ""


def test_dump_csv_keeps_text_that_needs_quotes(tmp_path: Path, run: Run) -> None:
    """Line ends, quotes, commas, NUL and bytes that are not UTF-8: the cells are those of the JSON lines."""
    headers = pa.array([[("a,b", b'"1"'), ("n", None)], None, [], None], pa.map_(pa.string(), pa.binary()))
    keys, values = [b"a,b\r\n", b'say ""', None, b""], [b'"\n"', b"\x00\t ", b"\xff\xfe", None]
    rows = pa.table({"key": keys, "value": values, "headers": headers})
    source = tmp_path / "set, with a comma"
    source.write_bytes(record.build_batches(rows))
    _, text, _ = run("dump", "--deep", "--json", source)
    status, out, _ = run("dump", "--deep", "--format", "csv", source)
    assert status == 0
    shown: list[dict[str, str]] = []
    columns: list[str] = []
    for line in csv.reader(io.StringIO(out, newline="")):
        if not line:
            columns = []
        elif not columns:
            columns = line
        else:
            shown.append(dict(zip(columns, line, strict=True)))
    expected = [json.loads(line) for line in text.splitlines()]
    assert [row["keySize"] for row in expected[1:]] == [5, 6, -1, 0]
    assert shown == [{name: _csv_cell(row[name]) for name in row if name != "type"} for row in expected]


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def test_dump_of_several_chunks(tmp_path: Path, run: Run) -> None:
    """A file of several chunks, with a batch larger than a chunk, then zeros: the batches that one read of it has."""
    segment = tmp_path / "t-0" / "00000000000000000000.log"
    kc.write(
        pa.table({"value": [b"v" * 1000] * 3000 + [b"w" * 3_000_000, b"x"]}),
        tmp_path,
        topic="t",
        compression_type="none",
    )
    content = segment.read_bytes()
    expected = [(batch.position, batch.records_count) for batch in record.read_batches(content)]
    assert len(content) > 5 << 20
    segment.write_bytes(content + bytes(3 << 20))
    status, out, err = run("dump", "--json", segment)
    assert (status, err) == (0, "")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["position"], row["count"]) for row in rows] == expected


def test_dump_as_a_table_fits_the_eye(run: Run) -> None:
    """No line of batches is wider than 200 characters, and control bytes do not reach the terminal."""
    status, out, _ = run("dump", SMALL)
    assert status == 1  # the damaged ones are there
    assert max(map(len, out.splitlines())) < 260
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("mid-batch", "incomplete batch at byte 37843: 1449 of 2899 bytes are there"),
        ("flipped-body", "the checksum of the batch at byte 20751 is wrong"),
        ("garbage-tail", "byte 40742"),
    ],
)
def test_damage_is_named_and_the_rest_shown(kind: str, message: str, run: Run) -> None:
    """The file and the byte, and every batch that is sound."""
    folder = SMALL / f"damaged-restarts-{kind}" / f"damaged-restarts-{kind}-0"
    status, out, err = run("dump", folder)
    assert status == 1
    assert message in err
    assert str(folder) in err
    assert out.count("zstd") >= 13
    status, out, _ = run("verify", "--json", folder)
    report = json.loads(out)
    assert status == 1
    assert [error["file"] for error in report["errors"]] == [str(folder / "00000000000000000000.log")]
    assert report["counts"][0]["batches"] >= 13


@pytest.mark.parametrize("path", sorted(MODERN.iterdir()), ids=lambda path: path.name)
def test_verify_finds_damage_where_it_is_and_nowhere_else(path: Path, run: Run) -> None:
    """Every real log is sound with all its indexes."""
    if path.is_file():
        return
    status, out, err = run("verify", "--json", *(each for each in path.iterdir() if each.suffix != ".expect"))
    report = json.loads(out)
    damaged = path.name.startswith("damaged") and not path.name.endswith("zero-tail")
    assert (status, err) == (int(damaged), "")
    assert bool(report["errors"]) == damaged
    # Zeros at the end may be batches that were not written.
    assert len(report["warnings"]) == path.name.endswith("zero-tail")
    assert report["segments"] > 0


def test_verify_prints_a_summary(run: Run) -> None:
    """Topic, codec and counts for people."""
    status, out, _ = run("verify", SMALL / "restarts" / "restarts-0")
    assert status == 0
    assert re.search(r"restarts +zstd +14 +600 +40,742", out)
    assert "0 errors, 0 warnings" in out


def test_verify_holds_indexes_against_the_log(tmp_path: Path, run: Run) -> None:
    """An index that leads elsewhere, one that is damaged, one without its log."""
    (tmp_path / "t-0").mkdir()
    copy = tmp_path / "t-0" / SEGMENT.name
    copy.write_bytes(SEGMENT.read_bytes())
    entries = log.read_offset_index(SEGMENT.with_suffix(".index"))
    wrong = entries[0].offset.to_bytes(4, "big") + (entries[0].position + 1).to_bytes(4, "big")
    copy.with_suffix(".index").write_bytes(wrong)
    copy.with_suffix(".timeindex").write_bytes(b"\1" * 13)
    status, _, _ = run("verify", copy.parent)
    assert status == 1
    status, out, _ = run("verify", "--json", copy.parent)
    assert [(Path(e["file"]).suffix, e["position"]) for e in json.loads(out)["errors"]] == [
        (".index", 0),
        (".timeindex", 12),
    ]
    copy.unlink()
    copy.with_suffix(".timeindex").unlink()
    status, out, _ = run("verify", copy.parent)
    assert status == 1
    assert "00000000000000000000.log does not exist" in out


def _with_records(compression_type: kc.CompressionType, payload: bytes) -> bytes:
    """The first batch of the segment with other compressed records, its size and checksum right."""
    head = bytearray(bytes(next(iter(kc.record.read_batches(SEGMENT.read_bytes()))))[:61])
    head[8:12] = (61 - 12 + len(payload)).to_bytes(4, "big")
    head[22] = head[22] & ~7 | compression_type
    body = bytes(head[21:]) + payload
    return bytes(head[:17]) + crc32c(body).to_bytes(4, "big") + body


def _odd_payloads() -> dict[str, tuple[kc.CompressionType, bytes, bool]]:
    batch = bytes(next(iter(kc.record.read_batches(SEGMENT.read_bytes()))))
    records = kc.decompress(batch[61:], "zstd")
    frame = lz4.frame.compress(records, content_checksum=True, store_size=True)
    plain = lz4.frame.compress(records, content_checksum=False, store_size=False)
    return {
        "sound": (kc.CompressionType.LZ4, frame, False),
        "content checksum": (kc.CompressionType.LZ4, frame[:-1] + bytes([frame[-1] ^ 1]), True),
        "content size": (kc.CompressionType.LZ4, _with_size(frame, len(records) + 1), True),
        "after the end mark": (kc.CompressionType.LZ4, plain + b"???", True),
        "after the gzip member": (kc.CompressionType.GZIP, gzip.compress(records) + b"???", True),
    }


def _with_size(frame: bytes, size: int) -> bytes:
    """The frame with another content size, its header checksum right."""
    head = frame[:6] + size.to_bytes(8, "little")
    return head + bytes([(xxh32(head[4:]) >> 8) & 0xFF]) + frame[15:]


@pytest.mark.parametrize("name", _odd_payloads())
def test_verify_warns_of_what_only_kafka_reads(name: str, tmp_path: Path, run: Run) -> None:
    """A warning with the byte, not an error: dump shows every record all the same."""
    compression_type, payload, is_odd = _odd_payloads()[name]
    path = tmp_path / SEGMENT.name
    path.write_bytes(_with_records(compression_type, payload))
    status, out, _ = run("verify", "--json", path)
    report = json.loads(out)
    assert (status, report["errors"]) == (0, [])
    assert len(report["warnings"]) == is_odd
    assert report["counts"][0]["records"] == 42
    assert all("though Kafka reads it" in warning["message"] for warning in report["warnings"])
    assert run("dump", "--deep", path)[0] == 0


def test_a_folder_of_a_broker(tmp_path: Path, run: Run) -> None:
    """Files on their way out or in, locks and folders that are no log are passed over."""
    content = SEGMENT.read_bytes()
    for folder in ("a-b.c-12", "a-0.0123456789abcdef-delete", "a-0.0123456789abcdef-stray", "no_partition"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / SEGMENT.name).write_bytes(content)
    for suffix in ("index.deleted", "log.swap", "log.cleaned", "txnindex.tmp", "unknown"):
        (tmp_path / "a-b.c-12" / f"00000000000000000000.{suffix}").write_bytes(b"x")
    for name in (".lock", ".kafka_cleanshutdown"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "meta.properties").write_text("#\nversion=1\nnode.id=1\n")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\na-b.c 12 600\n")
    status, out, err = run("dump", "--json", tmp_path)
    assert status == 0
    told = [line for line in err.splitlines() if ": not read: " in line]
    assert [line.partition(": not read: ")[0][-31:] for line in told] == [": 00000000000000000000.log.swap"]
    skipped = [line for line in err.splitlines() if ": skipped: " in line]
    assert [Path(line.partition(": skipped: ")[0]).name[-6:] for line in skipped] == ["delete", "-stray", "tition"]
    files = {json.loads(line)["file"] for line in out.splitlines()}
    expected = {
        "a-b.c-12/" + SEGMENT.name,
        "meta.properties",
        "recovery-point-offset-checkpoint",
    }
    assert {str(Path(file).relative_to(tmp_path)) for file in files} == expected
    assert [file.owner for file in find([tmp_path / "a-b.c-12"])] == [("a-b.c", 12)]


def test_what_is_no_log(tmp_path: Path, run: Run) -> None:
    """A missing path and an empty folder are wrong use; a file that is no segment is corrupt."""
    for command in (["dump"], ["verify"], ["export", "--output", tmp_path / "x.parquet"]):
        status, _, err = run(*command, tmp_path / "nowhere")
        assert status == 2
        assert str(tmp_path / "nowhere") in err
        empty = tmp_path / "empty"
        empty.mkdir(exist_ok=True)
        status, _, err = run(*command, empty)
        assert status == 2
        assert str(empty) in err
        noise = tmp_path / "noise.log"
        noise.write_bytes(b"This is no segment, and was never one; it goes on for a while, to be sure of that." * 3)
        status, out, err = run(*command, noise)
        assert status == 1
        assert str(noise) in out + err
        assert "byte 0" in out + err
    assert not (tmp_path / "x.parquet").exists()
    assert run()[0] == 2
    assert run("dump", "--format", "xml", SEGMENT)[0] == 2
    assert run("--help")[0] == 0
    assert kc.__version__ in run("--version")[1]


def test_every_cut_of_a_segment_ends_well(tmp_path: Path, run: Run) -> None:
    """A cut inside a batch is an error with its byte; at a border, or where zeros of a whole head are left, none."""
    content = SEGMENT.read_bytes()
    borders = [batch.position for batch in kc.record.read_batches(content)]
    path = tmp_path / SEGMENT.name
    for cut in [*range(130), *range(borders[1] - 3, borders[1] + 20), len(content) - 1]:
        path.write_bytes(content[:cut])
        status, _, err = run("dump", path)
        rest = content[max(b for b in borders if b <= cut) : cut]
        inside = 0 < len(rest) < 12 or any(rest)
        assert status == int(inside), (cut, err)
        assert ("incomplete batch at byte" in err) == inside


def test_dump_says_that_texts_are_truncated(tmp_path: Path, run: Run) -> None:
    """Once, with the option that shows them completely; nothing where no text is truncated."""
    kc.write(pa.table({"value": [b"v" * 200, b"w" * 200]}), tmp_path, topic="t")
    status, out, err = run("dump", "--deep", tmp_path)
    assert (status, err) == (0, "")
    assert out.endswith("\ntexts that end with … are truncated: --json shows them completely\n")
    assert "vvv… (200 characters)" in out
    status, out, err = run("dump", "--deep", "--json", tmp_path)
    assert (status, err) == (0, "")
    assert "v" * 200 in out
    assert "truncated" not in run("dump", tmp_path)[1]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_export_writes_what_scan_gives(suffix: str, tmp_path: Path, run: Run) -> None:
    """Every format holds every row."""
    source = SMALL / "restarts" / "restarts-0"
    target = tmp_path / f"out.{suffix}"
    # The headers of this topic are no UTF-8.
    columns = ["offset", "key", "value", "timestamp"] + ["headers"] * (suffix in {"parquet", "arrow"})
    status, out, err = run("export", source, "--output", target, "--columns", ",".join(columns))
    assert (status, err) == (0, "")
    assert "600 records" in out
    expected = pa.table(kc.scan(source, columns=columns))
    assert list(tmp_path.iterdir()) == [target]
    if suffix == "parquet":
        assert parquet.read_table(target).to_pylist() == expected.to_pylist()
    elif suffix == "arrow":
        assert ipc.open_file(target).read_all().equals(expected)
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in target.read_text().splitlines()]
        assert [row["offset"] for row in rows] == expected["offset"].to_pylist()
        values = [None if value is None else value.decode() for value in expected["value"].to_pylist()]
        assert [row["value"] for row in rows] == values
        assert [row["timestamp"] for row in rows] == expected["timestamp"].cast(pa.int64()).to_pylist()
    else:
        with target.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["offset"]) for row in rows] == expected["offset"].to_pylist()
        assert [row["value"] for row in rows] == [(value or b"").decode() for value in expected["value"].to_pylist()]


def test_export_takes_the_options_of_scan(tmp_path: Path, run: Run) -> None:
    """Bounds, isolation level, control records."""
    source = SMALL / "txn-open"
    target = tmp_path / "x.parquet"
    for options, arguments in (
        (("--isolation-level", "read_committed"), {"isolation_level": "read_committed"}),
        (("--include-control", "--start-offset", 100, "--end-offset", 300),
         {"include_control": True, "start_offset": 100, "end_offset": 300}),
        (("--start-time", "2013-02-04T13:00:00Z"), {"start_time": 1359982800000}),
    ):  # fmt: skip
        folder = source / "txn-open-0"
        assert run("export", folder, "--output", target, "--force", "--columns", "offset", *options)[0] == 0
        expected = pa.table(kc.scan(folder, columns=["offset"], **grouped(**arguments)))
        assert parquet.read_table(target).equals(expected)
        assert expected.num_rows


def test_export_of_damage(tmp_path: Path, run: Run) -> None:
    """raise: no file. skip: the rest, and what was left out."""
    folder = SMALL / "damaged-restarts-flipped-body" / "damaged-restarts-flipped-body-0"
    target = tmp_path / "x.jsonl"
    status, _, err = run("export", folder, "--output", target, "--bytes", "hex")
    assert status == 1
    assert "byte 20751" in err
    assert list(tmp_path.iterdir()) == []
    status, out, err = run("export", folder, "--output", target, "--bytes", "hex", "--on-error", "skip", "--json")
    assert status == 1
    assert "skipped" in err
    report = json.loads(out)
    assert report["records"] == len(target.read_text().splitlines()) < 600
    assert report["skipped"][0]["position"] == 20751


def test_export_to_the_longest_name(tmp_path: Path, run: Run) -> None:
    """The file under way has a name of its own length, and is gone afterwards."""
    target = tmp_path / f"{'x' * 251}.csv"
    status, _, err = run("export", SEGMENT, "--output", target, "--bytes", "base64")
    assert status == 0, err
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_export_overwrites_nothing(tmp_path: Path, run: Run) -> None:
    """Neither an existing file without --force, nor its input with it, nor anything on failure."""
    target = tmp_path / "x.csv"
    target.write_text("mine")
    status, _, err = run("export", SEGMENT, "--output", target)
    assert (status, target.read_text()) == (2, "mine")
    assert "--force" in err
    segment = tmp_path / SEGMENT.name
    segment.write_bytes(SEGMENT.read_bytes())
    for source in (segment, tmp_path):
        status, _, err = run("export", source, "--output", segment, "--format", "csv", "--force")
        assert status == 2
        assert "one of the files to read" in err
    assert segment.read_bytes() == SEGMENT.read_bytes()
    random = SMALL / "one-byte-values" / "one-byte-values-0"
    status, _, err = run("export", random, "--output", target, "--force")
    assert (status, target.read_text()) == (2, "mine")
    assert "--bytes base64" in err
    assert run("export", SEGMENT, "--output", target, "--force", "--columns", "key,value,topic")[0] == 0
    assert target.read_text().startswith("key,value,topic")
    assert run("export", random, "--output", tmp_path / "y.jsonl", "--bytes", "base64")[0] == 0
    assert run("export", random, "--output", tmp_path / "z.xls")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([SEGMENT.name, "x.csv", "y.jsonl"])


def test_as_a_module_and_into_a_pipe() -> None:
    """``python -m kafkacomp`` works, and a reader that has enough is no error."""
    command = [sys.executable, "-m", "kafkacomp"]
    done = subprocess.run([*command, "verify", str(SEGMENT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    dump = subprocess.Popen(
        [*command, "dump", "--deep", "--json", str(SMALL)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert dump.stdout is not None
    assert dump.stderr is not None
    dump.stdout.readline()
    dump.stdout.close()
    assert b"Traceback" not in dump.stderr.read()
    dump.stderr.close()
    assert dump.wait() == 141


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without click the command says what to install."""
    monkeypatch.setitem(sys.modules, "click", None)
    for name in [name for name in sys.modules if name.startswith("kafkacomp._cli.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["dump"]) == 2
    assert "pip install 'kafkacomp[cli]'" in capsys.readouterr().err


def test_export_of_some_topics(tmp_path: Path, run: Run) -> None:
    """--topics is a filter, --topic a label for what has no name."""
    for topic in ("orders", "orders-dlq", "users"):
        kc.write(pa.table({"value": [topic]}), tmp_path / "logs", topic=topic)
    assert run("export", tmp_path / "logs", "--topics", "orders*", "--output", tmp_path / "a.jsonl")[0] == 0
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["topic"] for row in rows] == ["orders", "orders-dlq"]
    assert run("export", tmp_path / "logs", "--topics", "users, orders", "--output", tmp_path / "b.jsonl")[0] == 0
    assert len((tmp_path / "b.jsonl").read_text().splitlines()) == 2
    status, _, err = run("export", tmp_path / "logs", "--topics", "order", "--output", tmp_path / "c.jsonl")
    assert status == 2
    assert "topics: no topic matches 'order': expected one of orders, orders-dlq, users" in err


def test_a_label_is_no_filter(tmp_path: Path, run: Run) -> None:
    """--topic and --partition for folders with other names are an error that names the filters."""
    kc.write(pa.table({"value": ["a", "b"], "topic": ["orders", "users"], "partition": [1, 2]}), tmp_path / "logs")
    target = ("--output", tmp_path / "x.jsonl", "--force")
    label = ("--topic", "orders", "--partition", "1")
    for given in (label[:2], label[2:]):
        status, _, err = run("export", tmp_path / "logs", *given, *target)
        assert (status, "give both" in err) == (2, True)
    status, _, err = run("export", tmp_path / "logs", *label, *target)
    assert status == 2
    assert "source has ('orders', 1) for another partition: " in err
    assert "is of users-2; to choose partitions, use topics=" in err
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    # A folder of this name has the label already, and a segment elsewhere gets it.
    (segment,) = (tmp_path / "logs" / "orders-1").glob("*.log")
    copied = shutil.copy(segment, tmp_path)
    for source in (segment, copied):
        assert run("export", source, "--topic", "orders", "--partition", "1", *target)[0] == 0
        (row,) = map(json.loads, (tmp_path / "x.jsonl").read_text().splitlines())
        assert (row["topic"], row["partition"]) == ("orders", 1)


def test_offsets_that_cannot_be(tmp_path: Path, run: Run) -> None:
    for options, message in (
        (("--start-offset=-5",), "--start-offset"),
        (("--start-offset", "9", "--end-offset", "5"), "--start-offset 9 is above --end-offset 5"),
    ):
        status, _, err = run("export", SEGMENT, "--output", tmp_path / "x.csv", *options)
        assert status == 2
        assert message in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_status_3() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kafkacomp", "dump", "--json", str(SEGMENT)], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
