"""Logs of Kafka 0.7 carried over to later formats: every message, its codec, and where commits lead."""

from __future__ import annotations

import csv
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

import kafkacomp as kc
from kafkacomp import log, message_set, record
from kafkacomp._cli import main

from .expect import roots
from .test_v07_scan import FOLDERS, by_folder, cases_of, deep

if TYPE_CHECKING:
    from pathlib import Path

NESTED = roots("v07")[0] / "broker" / "nested-0"
EMPTIES = roots("v07")[0] / "broker" / "empties-0"


def entries(folder: Path) -> list[tuple[int, int, list[bytes]]]:
    """Start and end of each top-level message in the partition, and the payloads in it."""
    found = []
    for path in sorted(folder.glob("*.kafka")):
        data, start = path.read_bytes(), int(path.stem)
        position = start
        for _, end in message_set.read_messages(data, initial_offset=start, deep=False):
            entry = data[position - start : end - start]
            found.append((position, end, [message.payload for message, _ in message_set.read_messages(entry)]))
            position = end
    return found


@by_folder
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_message_comes_over(folder: Path, magic: int, tmp_path: Path) -> None:
    """In order, at consecutive offsets, without key and timestamp; what is written is sound."""
    target = tmp_path / folder.name
    report = log.convert(folder, target, magic, first_offset=1000)
    wanted = [payload for case in cases_of(folder) for _, payload in deep(case)]
    table = pa.table(kc.scan(target, columns=["offset", "key", "value", "timestamp", "magic"]))
    assert table["value"].to_pylist() == wanted
    assert table["offset"].to_pylist() == list(range(1000, 1000 + len(wanted)))
    assert table["key"].null_count == len(wanted)
    assert set(pa.array(table["timestamp"].combine_chunks()).cast(pa.int64()).to_pylist()) <= {None}
    assert set(table["magic"].to_pylist()) <= {magic}
    assert report.bytes_in == sum(path.stat().st_size for path in folder.glob("*.kafka"))
    assert main(["verify", str(target)]) == 0


@by_folder
def test_wrappers_keep_their_codec(folder: Path, tmp_path: Path) -> None:
    """A batch for each compressed message that is not empty."""
    log.convert(folder, tmp_path / "t-0", 2)
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "t-0").glob("*.log")))
    ours = [batch.compression_type for batch in record.read_batches(data) if batch.compression_type]
    theirs = []
    for path in sorted(folder.glob("*.kafka")):
        for message, _ in message_set.read_messages(path.read_bytes(), deep=False):
            inside = message_set.read_messages(message_set.write_messages([message]))
            if message.compression_type and next(inside, None) is not None:
                theirs.append(message.compression_type)
    assert ours == theirs


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_commits_can_be_carried_over(folder: Path, suffix: str, tmp_path: Path) -> None:
    """Who goes on at the new offset reads what he would have read at the old position."""
    path = tmp_path / f"map{suffix}"
    log.convert(folder, tmp_path / "t-0", 2, offset_map=path, first_offset=7)
    if suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found = {int(row["position"]): int(row["offset"]) for row in rows}
    else:
        rows = parquet.read_table(path).to_pylist()
        found = {row["position"]: row["offset"] for row in rows}
    topic, _, partition = folder.name.rpartition("-")
    assert {(row["topic"], str(row["partition"])) for row in rows} == {(topic, partition)}
    assert len(found) == len(rows)
    offset, wanted = 7, {}
    for start, end, payloads in entries(folder):
        wanted[start] = offset
        offset += len(payloads)
        wanted[end] = offset
    assert found == wanted


def test_many_partitions(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command, a folder of partitions, one map; a map or a target that is there is not touched."""
    source = tmp_path / "logs"
    for each in (NESTED, EMPTIES):
        shutil.copytree(each, source / each.name)
    path = tmp_path / "map.csv"
    arguments = ["convert", "--to-magic", "2", "--offset-map", str(path), "--first-offset", "5", str(source)]
    assert main([*arguments, str(tmp_path / "new")]) == 0
    assert "2 partitions" in capfd.readouterr().out
    assert {row.split(",")[0] for row in path.read_text().splitlines()} == {"topic", "nested", "empties"}
    before = path.read_bytes()
    assert main([*arguments, str(tmp_path / "again")]) == 2
    assert path.read_bytes() == before
    assert not (tmp_path / "again").exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["logs", "map.csv", "new"]


def test_what_is_refused(tmp_path: Path) -> None:
    """Damage, undecided families, and what is only for the other family; nothing is left behind."""
    folder = tmp_path / "bad-0"
    shutil.copytree(NESTED, folder)
    (path,) = folder.glob("*.kafka")
    path.chmod(0o644)
    good = path.read_bytes()
    for data in (good[:-1], good[:-1] + bytes([good[-1] ^ 1])):
        path.write_bytes(data)
        with pytest.raises(kc.CorruptRecordError, match="at byte"):
            log.convert(folder, tmp_path / "t-0", 2, offset_map=tmp_path / "map.csv")
    with pytest.raises(kc.OutputLimitError):
        log.convert(NESTED, tmp_path / "t-0", 2, max_output_size=100)
    path.write_bytes(good)
    later = tmp_path / "later-0"
    log.convert(folder, later, 2)
    with pytest.raises(ValueError, match="for logs of Kafka"):
        log.convert(later, tmp_path / "t-0", 2, first_offset=1)
    with pytest.raises(ValueError, match="cannot be copied"):
        log.convert(folder, tmp_path / "t-0", 2, upgrade=False)
    with pytest.raises(ValueError, match="suffix"):
        log.convert(folder, tmp_path / "t-0", 2, offset_map=tmp_path / "map.txt")
    with pytest.raises(ValueError, match="format must"):
        log.convert(folder, tmp_path / "t-0", 2, log_format="0.8")  # type: ignore[arg-type]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad-0", "later-0"]
