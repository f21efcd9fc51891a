"""What the binding returns: frozen values with names, equality and a useful repr."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp
from kafkacomp._batch_settings import BatchSettings
from kafkacomp.log import _rewrite_work
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = BatchSettings(magic=2, compression_type="none", level=None, partition_leader_epoch=0, write_limit=1 << 14)


def staged(folder: Path) -> _kafkacomp.StagedFile:
    files = _kafkacomp.StagedBatches(SETTINGS, folder / "x", "t", 1, {}, 0)
    files.push(pa.table({"value": [b"a", b"b"]}))
    (file,) = files.finish()
    return file


def test_staged_files_and_logs_are_values(tmp_path: Path) -> None:
    (tmp_path / "y").mkdir()
    file, again = staged(tmp_path), staged(tmp_path / "y")
    assert (file.topic, file.partition, file.batches, file.records) == ("t", 0, 1, 2)
    assert file.bytes == file.path.stat().st_size
    assert file != again
    log = _kafkacomp.assemble_log([file.path], tmp_path / "t-0", None, 1 << 20, None)
    same = _kafkacomp.assemble_log([file.path], tmp_path / "t-1", None, 1 << 20, None)
    assert log == same
    expected = f"WrittenLog(segments=1, batches=1, bytes={file.bytes}, log_start_offset=0, log_end_offset=2)"
    assert repr(log) == expected
    match log:
        case _kafkacomp.WrittenLog(segments, batches):
            assert (segments, batches) == (1, 1)
        case _:
            pytest.fail(repr(log))
    for value, name in ((log, "segments"), (file, "path")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)
    with pytest.raises(TypeError):
        type(log)()


def test_a_repaired_partition_is_a_value(tmp_path: Path) -> None:
    kc.write(pa.table({"value": [b"x" * 100] * 100}), tmp_path, topic="t", partition=0, batch_bytes=1000)
    segment = tmp_path / "t-0" / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    (partition,) = resolve(str(tmp_path / "t-0"))
    job = _rewrite_work.PartitionJob(partition, None, None, None, str(tmp_path / "new"), None, 1 << 30, None)
    repaired = _kafkacomp.repair_partition(job, None)
    (repair,) = repaired.repairs
    assert isinstance(repair, kc.log.Repair)
    assert (repair.file, repair.action) == (str(segment), "dropped")
    (missing,) = repaired.findings.missing
    assert isinstance(missing, kc.arrow.MissingRange)
    assert missing[:2] == ("t", 0)
    assert (missing.first_offset, missing.last_offset) == (repair.first_offset, repair.last_offset)
    assert "more_repairs=0, fixed_batches=0" in repr(repaired)
    log = repaired.folder.publish()
    assert log is not None
    assert repaired.folder.publish() is None
    assert log.log_end_offset == 100


def test_public_results_are_instances_of_the_documented_classes(tmp_path: Path) -> None:
    kc.write(pa.table({"value": [b"x"] * 3}), tmp_path, topic="t", partition=0)
    folder = tmp_path / "t-0"
    report: Any = kc.log.verify_segment(folder / f"{0:020}.log")
    assert isinstance(report, kc.log.SegmentReport)
    assert sum(counts.records for counts in report.by_compression_type.values()) == 3
    assert isinstance(report.findings, tuple)
    (epoch,) = kc.log.read_leader_epoch_checkpoint(folder / "leader-epoch-checkpoint")
    assert epoch == kc.log.LeaderEpochEntry(0, 0)
    (partition,) = resolve(str(folder))
    assert _kafkacomp.split_segment(partition.segments[0], 1 << 20, "0.8+")[0].start == 0
    assert _kafkacomp.find_transactions(partition, "0.8+", False).transactions == (None, [])  # noqa: FBT003
    scanned = kc.scan(folder)
    assert sum(batch.num_rows for batch in scanned) == 3
    assert copy.copy(scanned.report) == scanned.report
    assert json.dumps(scanned.report.missing) == "[]"
