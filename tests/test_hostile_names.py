"""Names and payloads that a terminal would obey, and special files with the names of segments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log, record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FIRST = "0" * 20
#: Colours, the title of a window, C1's introducer, the other direction, a line of its own, DEL, half of a pair.
EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202egnp.exe\u2066\n\r\b\x7f"
UNSAFE = set("\x1b\x07\x9b\u202e\u2066\r\b\x7f\x00")


def segment(value: bytes = b"value") -> bytes:
    builder = record.RecordBatchBuilder(base_offset=0)
    builder.append(value, key=value, timestamp=0, headers=[(value.decode(errors="replace"), value)])
    return bytes(builder.build())


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command; it may not wait for anything."""
    command = [sys.executable, "-m", "kafkacomp", *map(str, arguments)]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, check=False, stdin=subprocess.DEVNULL
    )


@pytest.fixture(params=["", os.fsdecode(b"\xff\xfe")], ids=["controls", "bytes"])
def evil(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A log folder whose own name, and that of a topic, a terminal would obey."""
    folder: Path = tmp_path / (EVIL + request.param)
    (folder / f"{EVIL}-0").mkdir(parents=True)
    (folder / f"{EVIL}-0" / f"{FIRST}.log").write_bytes(segment(EVIL.encode()))
    return folder


def is_safe(text: str) -> bool:
    return not UNSAFE & set(text)


@pytest.mark.parametrize("options", [("dump", "--deep"), ("dump", "--deep", "--format", "kafka"), ("verify",)])
@pytest.mark.parametrize("corrupt", [False, True])
def test_output_for_people(evil: Path, options: tuple[str, ...], corrupt: bool) -> None:
    path = evil / f"{EVIL}-0" / f"{FIRST}.log"
    if corrupt:
        path.write_bytes(path.read_bytes()[:-3] + b"\0\0\0")
        (evil / f"{EVIL}-0" / "12.log").touch()
    done = run(*options, evil)
    assert done.returncode == int(corrupt), done.stderr
    assert is_safe(done.stdout + done.stderr)
    assert "\\x1b" in done.stdout + done.stderr
    if not corrupt:
        assert not done.stderr


@pytest.mark.parametrize("options", [("dump", "--deep", "--json"), ("verify", "--json")])
def test_json_stays_json(evil: Path, options: tuple[str, ...]) -> None:
    done = run(*options, evil)
    assert done.returncode == 0, done.stderr
    assert is_safe(done.stdout)
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if options[0] == "verify":
        assert [each["topic"] for each in found[0]["counts"]] == [EVIL]
    else:
        assert {each["file"] for each in found} == {str(evil / f"{EVIL}-0" / f"{FIRST}.log")}
        assert [each["payload"] for each in found if each["type"] == "record"] == [EVIL]


def test_other_commands(evil: Path, tmp_path: Path) -> None:
    """Errors of export, reports of rewrites, tables of advise, wrong use, a missing file."""
    calls: list[Sequence[object]] = [
        ("recompress", evil, tmp_path / f"out{EVIL}"),
        ("repair", evil, tmp_path / f"repaired{EVIL}"),
        ("export", evil, "--output", tmp_path / f"{EVIL}.csv"),
        ("export", evil, "--output", tmp_path / f"{EVIL}.unknown"),
        ("export", evil / "nothing", "--output", tmp_path / "x.csv"),
        ("advise", evil, "--codecs", "none,lz4"),
        ("dump", evil / "nothing"),
        ("dump", "--format", EVIL.replace("\x00", ""), evil),
        ("validate", evil / f"{EVIL}-0" / f"{FIRST}.log"),
        ("info", evil),
        ("info", "--by=partition", "--deep", evil),
        ("diff", evil, evil / "nothing"),
        ("diff", evil, evil / f"{EVIL}-0"),
        ("tiered", evil),
        ("verify", evil / "nothing"),
        ("dump", "--deep", "--format", "csv", tmp_path / "nothing"),
    ]
    for call in calls:
        done = run(*call)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.stdout + done.stderr
        assert is_safe(done.stdout + done.stderr), call
    assert run("dump", "--deep", "--format", "csv", evil).returncode == 0


def special(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "/dev/tty")


@pytest.mark.parametrize("kind", ["fifo", "device", "terminal"])
def test_special_files_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    """Nothing waits for a writer, and nothing reads without an end."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{FIRST}.log").write_bytes(segment())
    path = folder / f"{1:020}.log"
    special(path, kind)
    for source in (tmp_path, folder, path):
        for options in (("verify",), ("dump",), ("export", "--output", tmp_path / "x.csv"), ("diff", tmp_path)):
            done = run(options[0], source, *options[1:])
            assert done.returncode == 3, done.stderr
            assert f"{path}: not a regular file" in done.stderr
    done = run("info", folder)
    assert done.returncode == 1
    assert f"{path}: [Errno 22] not a regular file" in done.stdout
    done = run("validate", path)
    assert done.returncode == 3
    assert f"{path}: not a regular file" in done.stderr
    done = run("advise", folder, "--codecs", "none", "--batch-sizes", "1")
    assert done.returncode == 1
    assert f"{path}: not a regular file" in done.stderr
    calls = [
        lambda: log.verify_segment(path),
        lambda: log.detect_log_format(path),
        lambda: log.recompress(folder, tmp_path / "out-0"),
        lambda: list(kc.scan(folder)),
        lambda: list(kc.scan(path)),
    ]
    for call in calls:
        with pytest.raises(OSError, match="not a regular file") as raised:
            call()  # type: ignore[no-untyped-call]
        assert str(raised.value.filename) == str(path)


def test_a_device_has_no_prices(tmp_path: Path) -> None:
    done = run("advise", tmp_path, "--prices", "/dev/zero")
    assert done.returncode == 2
    assert "/dev/zero: more than" in done.stderr


@pytest.mark.parametrize("name", ["index", "timeindex", "txnindex", "snapshot"])
def test_special_files_beside_a_segment(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{FIRST}.log").write_bytes(segment())
    path = folder / f"{FIRST}.{name}"
    special(path, "fifo")
    done = run("dump", folder)
    assert done.returncode == 3
    assert str(path) in done.stderr
    done = run("verify", folder)
    assert done.returncode == 3
    assert str(path) in done.stderr
    special(tmp_path / "replication-offset-checkpoint", "fifo")
    assert pa.table(kc.scan(folder)).num_rows == 1
