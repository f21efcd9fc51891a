"""Folders with names that are not Unicode: files in them are read and written as in any other folder."""

from __future__ import annotations

import logging
import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of files are bytes")

NAME = f"{0:020}"
ROWS = pa.table({"value": pa.array([b"v" * 100] * 200, pa.binary())})


@pytest.fixture(params=["plain", os.fsdecode(b"\xff\xfe")], ids=["Unicode", "bytes"])
def logs(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A log directory with all of its files; each test must find the same in both."""
    folder: Path = tmp_path / request.param
    kc.write(ROWS, folder, topic="t", batch_bytes=1000, segment_bytes=4000, compression_type="none")
    (folder / "log-start-offset-checkpoint").write_text("0\n1\nt 0 50\n")
    (folder / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (folder / "t-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (folder / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    assert len(list((folder / "t-0").glob("*.log"))) > 3
    return folder


def test_checkpoints_count(logs: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert pa.table(kc.scan(logs)).num_rows == 200
        assert pa.table(kc.scan(logs, options=kc.ScanOptions(visible_only=True))).num_rows == 150
    assert not caplog.text


REWRITES: dict[str, Callable[[Path, Path], object]] = {
    "recompress": lambda source, target: log.recompress(source, target, compression_type="lz4"),
    "repair": log.repair,
    "convert": lambda source, target: log.convert(source, target, to_magic=1),
}


@pytest.mark.parametrize("name", REWRITES)
@pytest.mark.parametrize("part", ["", "t-0"])
def test_rewrites(logs: Path, name: str, part: str) -> None:
    target = logs.parent / (logs.name + "-out") / "t-0"
    REWRITES[name](logs / part, target if part else target.parent)
    assert pa.table(kc.scan(target)).num_rows == 200
    assert log.read_leader_epoch_checkpoint(target / "leader-epoch-checkpoint") or name == "convert"


def test_side_files(logs: Path) -> None:
    folder = logs / "t-0"
    assert log.read_leader_epoch_checkpoint(folder / "leader-epoch-checkpoint")
    assert log.read_offset_checkpoint(logs / "log-start-offset-checkpoint")[0].offset == 50
    assert log.read_partition_metadata(folder / "partition.metadata").topic_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    log.read_offset_index(folder / f"{NAME}.index")
    log.read_time_index(folder / f"{NAME}.timeindex")
    (partition,) = kc.LogDir(logs).partitions
    assert [entry.epoch for entry in partition.leader_epochs] == [0]
    assert sum(len(segment.offset_index or ()) for segment in partition.segments) >= 0
    (folder / f"{NAME}.index").write_bytes(struct.pack(">ii", -5, 0))
    with pytest.raises(kc.CorruptRecordError, match=f"{NAME}.index"):
        log.read_offset_index(folder / f"{NAME}.index")


def test_verifying_looks_at_other_segments(logs: Path) -> None:
    """A batch that another segment has is a repeated one, not a corrupt one."""
    folder = logs / "t-0"
    first, _, third, *_ = sorted(folder.glob("*.log"))
    batch = next(iter(kc.record.read_batches(first.read_bytes())))
    with third.open("ab") as file:
        file.write(bytes(batch))
    report = log.verify_partition(folder).segments[str(third)]
    assert (report.corrupt_batches, report.repeated_batches) == (0, 1)


@pytest.mark.parametrize("command", ["info", "dump", "verify", "advise", "export", "diff", "tiered"])
def test_commands(logs: Path, command: str) -> None:
    more = {
        "export": ["--output", str(logs.parent / "x.csv")],
        "diff": [str(logs / "t-0")],
        "advise": ["--codecs", "none,lz4"],
    }.get(command, [])
    source = logs / "t-0" if command == "diff" else logs
    call = [sys.executable, "-m", "kafkacomp", command, str(source), *more]
    done = subprocess.run(
        call, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "PYTHONUTF8": "1"}
    )
    assert done.returncode == (2 if command == "tiered" else 0), done.stderr
    assert "codec can't encode" not in done.stdout + done.stderr
