"""The command on bad input: status 1 for damage and 2 for wrong use, a message with file and byte, no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from golden.expect import SMALL
from kafkacomp import record
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RESTARTS = SMALL / "modern" / "restarts" / "restarts-0"
FIRST = "00000000000000000000"
LOG = f"{FIRST}.log"
DATA = (RESTARTS / LOG).read_bytes()
BATCHES = [(batch.position, batch.size_in_bytes) for batch in record.read_batches(DATA)]
FINE, CORRUPT, WRONG_USE = 0, 1, 2
COMMANDS = ["dump", "verify", "export"]


@dataclass(frozen=True)
class Outcome:
    """What the command did."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything it said."""
        return self.out + self.err


def run(*arguments: object) -> Outcome:
    """Runs the command in this interpreter: an exception that it lets out fails the test, and so does a panic."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(map(str, arguments)))
    return Outcome(status, out.getvalue(), err.getvalue())


def run_alone(*arguments: object) -> Outcome:
    """Runs ``python -m kafkacomp``."""
    done = subprocess.run(
        [sys.executable, "-m", "kafkacomp", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def command(name: str, source: Path, *options: object) -> Outcome:
    """One of the three on a source; what ``export`` writes goes beside the source."""
    if name == "export":
        target = source.parent / "exported.parquet"
        outcome = run(name, source, "-o", target, *options)
        assert target.exists() == (outcome.status == FINE or "skip" in options)
        assert not [path for path in source.parent.iterdir() if path.name.startswith("exported") and path != target]
        target.unlink(missing_ok=True)
        return outcome
    return run(name, *options, source)


def partition(folder: Path, name: str = "topic-0", data: bytes = DATA) -> Path:
    """A partition folder with one segment."""
    made = folder / name
    made.mkdir(parents=True)
    (made / LOG).write_bytes(data)
    return made


def test_as_a_program(tmp_path: Path) -> None:
    """The interpreter's own exit status and streams, for each of the three outcomes."""
    made = partition(tmp_path, data=DATA[:1000])
    for arguments in (["dump", RESTARTS], ["verify", made], ["dump", made], ["verify", tmp_path / "missing"], ["dump"]):
        assert run_alone(*arguments) == run(*arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_path(tmp_path: Path, name: str) -> None:
    outcome = command(name, tmp_path / "missing")
    assert outcome.status == WRONG_USE
    assert str(tmp_path / "missing") in outcome.err


@pytest.mark.parametrize("name", COMMANDS)
def test_empty_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    outcome = command(name, tmp_path / "empty")
    assert outcome.status == WRONG_USE
    assert str(tmp_path / "empty") in outcome.err


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("content", [b"a,b\n1,2\n3,4\n5,6\n7,8\n", b"\xff" * 400])
def test_file_that_is_no_segment(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    outcome = command(name, path)
    assert outcome.status in {CORRUPT, WRONG_USE}
    assert str(path) in outcome.said
    assert "byte 0" in outcome.said


@pytest.mark.parametrize("name", ["verify", "export"])
def test_index_without_its_log(tmp_path: Path, name: str) -> None:
    """It holds no records and is sound or not without them; the message names the file that is missing or alone."""
    folder = tmp_path / "topic-0"
    folder.mkdir()
    shutil.copyfile(RESTARTS / f"{FIRST}.index", folder / f"{FIRST}.index")
    outcome = command(name, folder)
    assert outcome.status in {CORRUPT, WRONG_USE}
    assert f"{FIRST}." in outcome.said


def test_index_without_its_log_is_dumped(tmp_path: Path) -> None:
    """What an index says can be shown without its log."""
    copy = tmp_path / f"{FIRST}.index"
    shutil.copyfile(RESTARTS / copy.name, copy)
    outcome = run("dump", "--json", copy)
    assert outcome.status == FINE
    assert [json.loads(line)["offset"] for line in outcome.out.splitlines()]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("cut", [3, 14, 1000, BATCHES[5][0] + 13, len(DATA) - 1])
def test_segment_cut_anywhere(tmp_path: Path, name: str, cut: int) -> None:
    made = partition(tmp_path, data=DATA[:cut])
    begins = max(position for position, _ in BATCHES if position <= cut)
    outcome = command(name, made)
    assert outcome.status == CORRUPT
    assert str(made / LOG) in outcome.said
    assert f"byte {begins}" in outcome.said
    if name == "dump":
        # Good batches before the damage have been shown.
        shown = run("dump", "--json", made).out.splitlines()
        assert len(shown) == sum(position + size <= cut for position, size in BATCHES)


@pytest.mark.parametrize("number", [0, 7, 13])
def test_damaged_batch(tmp_path: Path, number: int) -> None:
    """Dump and verify go on behind it; export writes nothing, or with skip all but the damaged batch."""
    position, size = BATCHES[number]
    data = bytearray(DATA)
    data[position + 80] ^= 4
    made = partition(tmp_path, data=bytes(data))
    for name in COMMANDS:
        outcome = command(name, made)
        assert outcome.status == CORRUPT
        assert str(made / LOG) in outcome.said
        assert f"byte {position}" in outcome.said
    lines = [json.loads(line) for line in run("dump", "--json", made).out.splitlines()]
    assert [line["position"] for line in lines if line["isvalid"]] == [at for at, _ in BATCHES if at != position]
    report = json.loads(run("verify", "--json", made).out)
    assert report["ok"] is False
    assert report["corruptBatches"] == 1
    assert report["unreadableBytes"] == size
    target = tmp_path / "out.parquet"
    outcome = run("export", made, "-o", target, "--on-error", "skip")
    assert outcome.status == CORRUPT
    assert f"byte {position}" in outcome.err
    lost = {r.offset for batch in record.read_batches(DATA) if batch.position == position for r in batch}
    assert pq.read_table(target).column("offset").to_pylist() == [o for o in range(600) if o not in lost]


def clutter(made: Path) -> Iterable[Path]:
    """What a broker leaves in a partition's folder besides its log."""
    for suffix in ("log.deleted", "log.swap", "log.cleaned", "index.deleted", "timeindex.swap", "txnindex.cleaned"):
        yield made / f"00000000000000000900.{suffix}"


def test_log_folder_of_a_broker(tmp_path: Path) -> None:
    """Checkpoints, locks, marked folders and files on their way out are passed over or read as what they are."""
    root = tmp_path / "logs"
    made = partition(root, "a.b_c-d-0")
    for path in clutter(made):
        path.write_bytes(b"\x07" * 100)
    (made / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n", encoding="ascii")
    (made / "partition.metadata").write_text(
        "version: 0\ntopic_id: " + "GdpOpXw-R8Gxo9iYylffHQ" + "\n", encoding="ascii"
    )
    for mark in ("delete", "future", "stray"):
        partition(root, f"gone-0.0123456789abcdef0123456789abcdef-{mark}", DATA[:5000])
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (root / name).write_text("0\n1\na.b_c-d 0 600\n", encoding="ascii")
    (root / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n", encoding="ascii")
    for name in (".lock", ".kafka_cleanshutdown", "cleaner-offset-checkpoint"):
        (root / name).write_text("0\n0\n" if "cleaner" in name else "", encoding="ascii")
    (root / "lost+found").mkdir()
    verified = run("verify", "--json", root)
    assert verified.status == FINE, verified.said
    report = json.loads(verified.out)
    assert {counts["topic"] for counts in report["counts"]} == {"a.b_c-d"}
    assert sum(counts["records"] for counts in report["counts"]) == 600
    dumped = run("dump", "--json", root)
    assert dumped.status == FINE, dumped.said
    batches = [line for line in map(json.loads, dumped.out.splitlines()) if line["type"] == "batch"]
    assert len(batches) == len(BATCHES)
    target = tmp_path / "out.parquet"
    assert run("export", root, "-o", target).status == FINE
    assert pq.read_table(target).num_rows == 600


@pytest.mark.parametrize("folder", ["strange", "topic-x", "with space", "ünïcode"])
def test_topic_folder_with_a_strange_name(tmp_path: Path, folder: str) -> None:
    """Named itself, its segments are read."""
    made = partition(tmp_path, folder)
    for name in COMMANDS:
        assert command(name, made).status == FINE


@pytest.mark.parametrize(
    "kind", ["leader-epoch-checkpoint", "partition.metadata", f"{FIRST}.index", f"{FIRST}.timeindex"]
)
def test_damaged_side_file(tmp_path: Path, kind: str) -> None:
    """Dump of it and verify of its folder say so, and where."""
    made = partition(tmp_path)
    path = made / kind
    content = b"\xff" * 24 if kind.endswith("index") else b"0\nseven\n\xff\xfe\n"
    path.write_bytes(content)
    for outcome in (run("dump", path), run("verify", made)):
        assert outcome.status == CORRUPT
        assert str(path) in outcome.said
        assert "byte" in outcome.said


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["dump"],
        ["verify"],
        ["export"],
        ["export", RESTARTS],
        ["dump", "--no-such-option", RESTARTS],
        ["dump", "--format", "xml", RESTARTS],
        ["verify", "--threads", "0", RESTARTS],
        ["export", RESTARTS, "-o", "out.unknown"],
        ["export", RESTARTS, "-o", "out.csv", "--columns", "nope"],
        ["export", RESTARTS, "-o", "out.csv", "--start-time", "yesterday"],
        ["export", RESTARTS, "-o", "out.csv", "--start-time", "2020-01-01T00:00:00"],
        ["export", RESTARTS, "-o", "out.csv", "--isolation-level", "serializable"],
        ["export", RESTARTS, "-o", "/no/such/folder/out.csv"],
    ],
)
def test_wrong_use(arguments: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 2, a message, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert outcome.status == WRONG_USE
    assert outcome.said.strip()
    assert list(tmp_path.iterdir()) == []


def test_export_never_overwrites_what_it_reads(tmp_path: Path) -> None:
    """Neither its input nor a file that is there already."""
    made = partition(tmp_path)
    for target in (made / LOG, made):
        outcome = run("export", made, "-o", target, "--format", "csv", "--force")
        assert outcome.status == WRONG_USE
        assert (made / LOG).read_bytes() == DATA
    there = tmp_path / "there.csv"
    there.write_text("mine", encoding="ascii")
    assert run("export", made, "-o", there, "--bytes", "hex").status == WRONG_USE
    assert there.read_text(encoding="ascii") == "mine"
    assert run("export", made, "-o", there, "--bytes", "hex", "--force").status == FINE
    assert there.read_text(encoding="utf-8") != "mine"
