"""Ctrl-C and SIGTERM end every command; those that write leave nothing of what they were writing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from golden.expect import SMALL
from golden.tiered import cases
from kafkacomp import message_set, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

BATCHES = (SMALL / "modern" / "restarts" / "restarts-0" / "00000000000000000000.log").read_bytes()

#: Text is in base64: not every header is UTF-8, and a command that meets one ends with an error.
EXPORTS: dict[str, tuple[str, ...]] = {
    "export parquet": ("export", "{log}", "-o", "{target}/x.parquet"),
    "export csv": ("export", "{log}", "--bytes", "base64", "-o", "{target}/x.csv"),
    "export jsonl": ("export", "{log}", "--bytes", "base64", "-o", "{target}/x.jsonl"),
}
REWRITES: dict[str, tuple[str, ...]] = {
    "recompress": ("recompress", "{log}/t-0", "{target}/t-0"),
    "recompress a directory": ("recompress", "{log}", "{target}/logs"),
    "convert": ("convert", "--to-magic", "1", "{log}/t-0", "{target}/t-0"),
    "convert a directory": ("convert", "--to-magic", "1", "{log}", "{target}/logs"),
}
REPAIRS: dict[str, tuple[str, ...]] = {
    "repair": ("repair", "{log}/t-0", "{target}/t-0"),
    "repair a directory": ("repair", "{log}", "{target}/logs"),
}

#: A shell starts what runs in the background with SIGINT ignored.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kafkacomp._cli import main
sys.exit(main(sys.argv[1:]))
"""


def interrupted(command: list[str], target: Path, number: signal.Signals) -> tuple[int, str]:
    """Send the signal once the command has begun to write; the exit status and standard error."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        while not os.listdir(target):  # noqa: PTH208 - names are enough
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(number)
        return process.wait(), process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def check(command: list[str], target: Path, number: signal.Signals) -> None:
    status, err = interrupted(command, target, number)
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], err
    assert "Traceback" not in err
    assert os.listdir(target) == []  # noqa: PTH208 - as above


def endless(folder: Path) -> Path:
    """A segment that ends in a terabyte of zeros, as a preallocated file does: to read it would take hours."""
    source = folder / "t-0" / "00000000000000000000.log"
    source.parent.mkdir(parents=True)
    with source.open("wb") as file:
        file.write(BATCHES)
        file.truncate(1 << 40)
    return source


def arguments(command: tuple[str, ...], folder: Path) -> list[str]:
    (folder / "target").mkdir()
    return [each.format(log=folder / "logs", target=folder / "target") for each in command]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("command", EXPORTS)
def test_nothing_is_left_of_an_export(tmp_path: Path, command: str, number: signal.Signals) -> None:
    source = endless(tmp_path / "logs")
    check(arguments(EXPORTS[command], tmp_path), tmp_path / "target", number)
    assert source.stat().st_size == 1 << 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("command", REWRITES)
def test_nothing_is_left_of_a_rewritten_log(tmp_path: Path, command: str, number: signal.Signals) -> None:
    """The source is small, and 4 GiB when it is decompressed."""
    builder = record.RecordBatchBuilder(compression_type="gzip")
    builder.append(bytes(1 << 20))
    batch = builder.build()
    source = tmp_path / "logs" / "t-0" / "00000000000000000000.log"
    source.parent.mkdir(parents=True)
    # No checksum covers the base offset.
    source.write_bytes(b"".join(struct.pack(">q", offset) + batch[8:] for offset in range(4096)))
    check(arguments(REWRITES[command], tmp_path), tmp_path / "target", number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("command", [*REWRITES, *REPAIRS])
def test_nothing_is_left_before_a_log_is_rewritten(tmp_path: Path, command: str, number: signal.Signals) -> None:
    """Segments are read before the first one is written."""
    source = endless(tmp_path / "logs")
    check_reading(arguments((REWRITES | REPAIRS)[command], tmp_path), tmp_path, number)
    assert not list((tmp_path / "target").iterdir())
    assert source.stat().st_size == 1 << 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_no_offset_map_is_left(tmp_path: Path, number: signal.Signals) -> None:
    source = tmp_path / "logs" / "t-0" / "00000000000000000000.kafka"
    source.parent.mkdir(parents=True)
    source.write_bytes(message_set.write_messages([b"x"]) * 3_000_000)
    target = tmp_path / "target"
    target.mkdir()
    command = ["convert", "--to-magic", "2", "--offset-map", f"{target}/map.csv", str(source.parent), f"{target}/t-0"]
    check(command, target, number)


#: Commands that read, with the number of partitions. With several partitions, `info` and `verify` use threads.
READS = [
    ("verify", 1, signal.SIGINT),
    ("verify", 3, signal.SIGINT),
    ("verify", 3, signal.SIGTERM),
    ("info", 1, signal.SIGINT),
    ("info", 3, signal.SIGINT),
    ("info --deep", 3, signal.SIGTERM),
    ("dump", 1, signal.SIGINT),
    ("diff", 1, signal.SIGINT),
    ("export -o - --format jsonl --bytes base64", 1, signal.SIGINT),
]

#: The signal comes from the process itself: two seconds after the imports, when the command reads.
READ_PROGRAM = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from kafkacomp._cli import command, main
timer = threading.Timer(2, os.kill, (os.getpid(), int(sys.argv[1])))
timer.daemon = True
timer.start()
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("command", "partitions", "number"), READS, ids=[f"{each[0]}-{each[1]}-{each[2].name}" for each in READS]
)
def test_commands_that_read(tmp_path: Path, command: str, partitions: int, number: signal.Signals) -> None:
    """Each would take hours; `subprocess.run` ends it after a minute."""
    for partition in range(partitions):
        source = tmp_path / f"t-{partition}" / "00000000000000000000.log"
        source.parent.mkdir()
        with source.open("wb") as file:
            file.write(BATCHES)
            file.truncate(1 << 40)
    paths = [str(tmp_path)] * (2 if command == "diff" else 1)
    check_reading([*command.split(), *paths], tmp_path, number)


def check_reading(command: list[str], folder: Path, number: signal.Signals) -> None:
    program = [sys.executable, "-c", READ_PROGRAM, str(int(number)), *command]
    done = subprocess.run(
        program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=60, cwd=folder
    )
    assert done.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], done.stderr
    assert "Traceback" not in done.stderr


def many_record_sets(folder: Path) -> list[str]:
    """One file is read as a whole and has at most 2 GiB: it takes many files to take hours."""
    builder = record.RecordBatchBuilder(compression_type="none")
    builder.append(random.Random(1).randbytes(1 << 20))
    (folder / "set").write_bytes(builder.build())
    options = ["--compression-type", "gzip", "--max-message-bytes", str(2**31 - 1)]
    return ["validate", *options, *["set"] * 20_000]


def endless_metadata(folder: Path) -> list[str]:
    """The last segment of the remote log metadata ends in a terabyte of zeros."""
    case = cases()[0]
    metadata = folder / "__remote_log_metadata-0"
    shutil.copytree(case.metadata / metadata.name, metadata)
    with max(metadata.glob("*.log")).open("r+b") as file:
        file.truncate(1 << 40)
    return ["tiered", "--remote-log-metadata", str(folder), str(case.storage)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("prepared", [many_record_sets, endless_metadata], ids=["validate", "tiered"])
def test_commands_that_read_other_files(
    tmp_path: Path, prepared: Callable[[Path], list[str]], number: signal.Signals
) -> None:
    check_reading(prepared(tmp_path), tmp_path, number)
