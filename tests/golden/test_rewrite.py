"""Logs of 4.3.1 written anew: recompressed to every codec, merged or not, the same is read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log

from .expect import roots

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    "key", "value", "offset", "timestamp", "timestampType", "headers", "leaderEpoch", "producerId", "producerEpoch",
    "isTransactional", "isControl",
)  # fmt: skip
FOLDERS = [
    folder
    for root in roots("modern")
    for folder in sorted(root.glob("*/*"))
    if folder.is_dir() and not folder.name.startswith("damaged-") and list(folder.glob("*.log"))
]
DAMAGED = [folder for root in roots("modern") for folder in sorted(root.glob("damaged-*/*-0")) if folder.is_dir()]


def read(folder: Path, *more: str, **options: Any) -> pa.Table:
    return pa.table(kc.scan(folder, columns=[*COLUMNS, *more], **grouped(include_control=True, **options)))


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_recompressed_logs_read_the_same(tmp_path: Path, codec: str, merge: bool) -> None:
    for number, folder in enumerate(FOLDERS):
        target = tmp_path / str(number) / folder.name
        log.recompress(folder, target, compression_type=codec, merge=merge)
        more = () if merge else ("sequence", "baseOffset")
        assert read(target, *more).equals(read(folder, *more)), folder
        assert not any(log.verify_segment(segment).errors for segment in target.glob("*.log")), folder


def test_repaired_logs_hold_what_can_be_read(tmp_path: Path) -> None:
    assert DAMAGED
    for number, folder in enumerate(DAMAGED):
        target = tmp_path / str(number) / folder.name
        report = log.repair(folder, target)
        assert read(target).equals(read(folder, on_error="skip")), folder
        for segment in target.glob("*.log"):
            assert all(finding.is_gap for finding in log.verify_segment(segment).findings), folder
        kept = target / "kafkacomp-quarantine.bin"
        assert (kept.stat().st_size if kept.exists() else 0) == report.corrupt_bytes
        assert kept.exists() == (report.corrupt_ranges > 0)


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    with pytest.raises(FileExistsError):
        log.recompress(FOLDERS[0], tmp_path / "t-0")
    with pytest.raises(kc.CorruptRecordError):
        log.recompress(DAMAGED[0], tmp_path / "u-0")
    with pytest.raises(ValueError, match="levels"):
        log.recompress(FOLDERS[0], tmp_path / "u-0", compression_type="gzip", compression_level=10)
    assert [path.name for path in tmp_path.iterdir()] == ["t-0"]
