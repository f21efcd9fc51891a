"""Side files of 20 GiB, which are sparse: none is read, and what they are next to is read as usual."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkacomp.log import LogPartition
    from kafkacomp.typing import IsolationLevel

SIZE = 20 << 30
NAME = f"{0:020}"
#: Each side file, and what reads it alone.
READERS: dict[str, Callable[[str], object]] = {
    f"{NAME}.index": log.read_offset_index,
    f"{NAME}.timeindex": log.read_time_index,
    f"{NAME}.txnindex": log.read_transaction_index,
    f"{NAME}.snapshot": log.read_producer_snapshot,
    "leader-epoch-checkpoint": log.read_leader_epoch_checkpoint,
    "partition.metadata": log.read_partition_metadata,
}
#: The properties of the object model that read one.
PROPERTIES: dict[str, Callable[[LogPartition], object]] = {
    f"{NAME}.index": lambda partition: partition.segments[0].offset_index,
    f"{NAME}.timeindex": lambda partition: partition.segments[0].time_index,
    f"{NAME}.txnindex": lambda partition: partition.segments[0].transaction_index,
    f"{NAME}.snapshot": lambda partition: partition.producers,
    "leader-epoch-checkpoint": lambda partition: partition.leader_epochs,
    "partition.metadata": lambda partition: partition.topic_id,
}


@pytest.fixture(params=["local", "pyarrow", "fsspec"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition of 200 records in batches of ten."""
    kc.write(pa.table({"value": [b"v" * 100] * 200}), str(tmp_path), topic="t", batch_bytes=1000)
    return tmp_path / "t-0"


def grow(folder: Path, name: str) -> Path:
    path = folder / name
    with path.open("ab") as file:
        file.truncate(SIZE)
    assert path.stat().st_blocks * 512 < SIZE
    return path


@pytest.mark.parametrize("name", READERS)
def test_reading_one(folder: Path, name: str) -> None:
    path = grow(folder, name)
    with pytest.raises(OSError, match="more than 256 MiB") as raised:
        READERS[name](str(path))
    assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(path))


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_object_model(folder: Path, name: str) -> None:
    grow(folder, name)
    (partition,) = kc.LogDir(str(folder.parent)).partitions
    with pytest.raises(OSError, match="more than 256 MiB"):
        PROPERTIES[name](partition)


@pytest.mark.parametrize("name", [f"{NAME}.{suffix}" for suffix in ("index", "timeindex", "txnindex")])
@pytest.mark.parametrize(
    "isolation_level", [pytest.param("read_uncommitted", marks=pytest.mark.slow), "read_committed"]
)
def test_a_scan_goes_without(folder: Path, name: str, isolation_level: IsolationLevel, scheme: str) -> None:
    grow(folder, name)
    filesystem = None
    if scheme == "pyarrow":
        filesystem = pytest.importorskip("pyarrow.fs").LocalFileSystem()
    elif scheme == "fsspec":
        filesystem = pytest.importorskip("fsspec").filesystem("file")
    reader = kc.scan(
        str(folder), columns=["offset"], start_offset=150, isolation_level=isolation_level, store=filesystem
    )
    assert sum(pa.record_batch(batch).num_rows for batch in reader) == 50


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_verifying(folder: Path, suffix: str) -> None:
    """An error in the report; everything else is checked."""
    path = grow(folder, f"{NAME}.{suffix}")
    report = log.verify_segment(str(folder / f"{NAME}.log"))
    (finding,) = report.findings
    assert (finding.file, finding.is_error, report.errors) == (suffix, True, 1)
    assert "more than 256 MiB" in finding.message
    assert sum(counts.records for counts in report.by_compression_type.values()) == 200
    (finding,) = log.verify_partition(folder).findings
    assert (finding.file, finding.is_error) == (str(path), True)


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_verifying_other_file_systems(folder: Path, suffix: str) -> None:
    pytest.importorskip("fsspec")
    grow(folder, f"{NAME}.{suffix}")
    (partition,) = kc.LogDir(f"local://{folder.parent}").partitions
    (finding,) = partition.verify().findings
    assert "more than 256 MiB" in finding.message


def test_verifying_with_a_huge_leader_epoch_checkpoint(folder: Path) -> None:
    """The segments are checked without it, as without a corrupt one."""
    grow(folder, "leader-epoch-checkpoint")
    assert log.verify_partition(folder).is_intact


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata", f"{NAME}.snapshot"])
@pytest.mark.parametrize("use", ["repair", "recompress"])
def test_rewriting(folder: Path, tmp_path: Path, name: str, use: str) -> None:
    path = grow(folder, name)
    target = tmp_path / "out" / "t-0"
    with pytest.raises(OSError, match="more than 256 MiB") as raised:
        if use == "repair":
            log.repair(str(folder), str(target))
        else:
            log.recompress(str(folder), str(target), compression_type="zstd")
    assert raised.value.filename == str(path)
    assert not target.exists()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("command", ["dump", "verify"])
def test_the_command(folder: Path, name: str, command: str) -> None:
    path = grow(folder, name)
    call = [sys.executable, "-m", "kafkacomp", command, str(path if command == "dump" else folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=120, env=os.environ)
    assert done.returncode == (3 if command == "dump" else 1), done.stdout
    assert "more than 256 MiB" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["quorum-state", "meta.properties"])
@pytest.mark.parametrize(
    "content", [b'{"a":[' + b"{}," * 1_000_000 + b"0]}", b"", b"\xff"], ids=["many", "sparse", "bytes"]
)
def test_a_file_of_a_few_lines_with_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    """Each byte would take thirty in memory."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(content)
        file.truncate(SIZE if content == b"" else len(content))
    assert main(["dump", str(path)]) == 1
    expected = "not UTF-8 text at byte 0" if content == b"\xff" else "bytes: at most 1,048,576 are read"
    assert expected in capsys.readouterr().err
