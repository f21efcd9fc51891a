"""The exit statuses of docs/command-line.md, of each command that can have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.expect import SMALL
from kafkacomp import record
from kafkacomp._cli import main
from kafkacomp._cli.command import cli
from kafkacomp._cli.signals import TerminatedError

#: Arguments with which a command succeeds, and those with which it finds something corrupt, missing or different.
RUNS: dict[str, tuple[str, str]] = {
    "info": ("{intact}", "--deep {corrupt}"),
    "dump": ("--deep {intact}", "--deep {corrupt}"),
    "verify": ("{intact}", "{corrupt}"),
    "diff": ("{intact} {intact}", "{intact} {corrupt}"),
    "export": ("{intact} -o {new}.parquet", "{corrupt} -o {new}.parquet"),
    "recompress": ("{intact} {new}", "{corrupt} {new}"),
    "convert": ("--to-magic 1 {intact} {new}", "--to-magic 1 {corrupt} {new}"),
    "repair": ("{intact} {new}", "{corrupt} {new}"),
    "validate": ("{batch}", "{corrupt_batch}"),
    "tiered": ("{remote}", "{corrupt_remote}"),
    "advise": ("{intact}", "{intact} {corrupt}"),
}


@pytest.fixture(name="places", scope="module")
def _places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("places")
    rows = pa.table({"key": ["k"] * 3, "value": ["value"] * 3})
    for name in ("intact", "corrupt"):
        kc.write(rows, folder / name, topic="t", compression_type="none", batch_bytes=1)
    segment = folder / "corrupt" / "t-0" / "00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    content[len(content) // 2 + 20] ^= 255
    segment.write_bytes(content)
    batch = record.build_batches(rows)
    (folder / "batch").write_bytes(batch)
    (folder / "corrupt_batch").write_bytes(batch[:-1] + b"?")
    stored = next((SMALL / "tiered" / "aiven-plain").rglob("*.rsm-manifest"))
    for name in ("remote", "corrupt_remote"):
        (folder / name).mkdir()
        for each in stored.parent.glob(f"{stored.stem}.*"):
            shutil.copy(each, folder / name)
    (folder / "corrupt_remote" / stored.name).write_bytes(stored.read_bytes()[:-9])
    names = ("intact", "corrupt", "batch", "corrupt_batch", "remote", "corrupt_remote")
    return {name: folder / name for name in names}


def arguments(command: str, which: int, places: dict[str, Path], tmp_path: Path) -> list[str]:
    return [command, *RUNS[command][which].format(**places, new=tmp_path / "new").split()]


def test_every_command_is_here() -> None:
    assert RUNS.keys() == cli.commands.keys()


@pytest.mark.parametrize("command", RUNS)
def test_0_success_and_1_corrupt(
    command: str, places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for status in (1, 0):
        (tmp_path / str(status)).mkdir()
        assert main(arguments(command, status, places, tmp_path / str(status))) == status, capsys.readouterr().err


@pytest.mark.parametrize("command", RUNS)
def test_2_wrong_usage(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = dict.fromkeys(
        ("intact", "corrupt", "batch", "corrupt_batch", "remote", "corrupt_remote"), tmp_path / "missing"
    )
    for wrong in ([command, "--no-such-option"], arguments(command, 0, given, tmp_path)):
        assert main(wrong) == 2
        assert capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (TerminatedError(), 143), (MemoryError(), 3)]
)
@pytest.mark.parametrize("command", RUNS)
def test_130_interrupted_143_terminated_3_out_of_memory(
    command: str,
    error: BaseException,
    status: int,
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """tests/test_cli_signals.py sends the signals to the commands that write."""

    def fail(**_: object) -> int:
        raise error

    monkeypatch.setattr(cli.commands[command], "callback", fail)
    assert main(arguments(command, 0, places, tmp_path)) == status


def status_with(stdout: int, command: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kafkacomp", *command], stdout=stdout, stderr=subprocess.PIPE, check=False, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
@pytest.mark.parametrize("command", RUNS)
def test_3_the_disk_is_full(command: str, places: dict[str, Path], tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        status, err = status_with(full, arguments(command, 0, places, tmp_path))
    finally:
        os.close(full)
    assert status == 3
    assert "No space left on device" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("command", RUNS)
def test_141_the_pipe_is_closed(command: str, places: dict[str, Path], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        status, err = status_with(writer, arguments(command, 0, places, tmp_path))
    finally:
        os.close(writer)
    assert (status, err) == (141, "")
