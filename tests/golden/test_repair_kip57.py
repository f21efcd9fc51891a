"""KIP-57's one-time patch on real logs: with broken header checksums they are unreadable, repaired as they were.

Every log of LZ4 batches of magic 1 and 2 that a real broker wrote, its header checksums replaced by those of 0.8.2
or by odd ones, comes back from ``repair`` byte for byte. That Kafka reads it then is in tests/kafka/test_eras.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from header_checksums import Checksum, with_header_checksums
from kafkacomp import log, record

from .expect import legacy_files, modern_cases, segments

if TYPE_CHECKING:
    from pathlib import Path

MODERN = [
    segment
    for case in modern_cases()
    if not case.damaged
    for each in case.partitions()
    for segment in segments(each)
    if segment.suffix == ".log" and "lz4" in case.name
]
LEGACY = [
    file.path for file in legacy_files() if "lz4" in file.about.get("codecs", ()) and file.path.match("broker-*/*.log")
]


def partition(folder: Path, data: bytes) -> Path:
    """A partition folder with this content."""
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(data)
    return folder


def whole_batches(data: bytes) -> bytes:
    """Without a tail that is no batch."""
    return b"".join(data[b.position : b.position + b.size_in_bytes] for b in record.read_batches(data))


@pytest.mark.parametrize("checksum", ["broken", "neither"])
@pytest.mark.parametrize("kind", ["legacy", "modern"])
def test_repaired_logs_are_as_they_were(tmp_path: Path, kind: str, checksum: Checksum) -> None:
    seen = {1: 0, 2: 0}
    for number, source in enumerate({"legacy": LEGACY, "modern": MODERN}[kind]):
        right = whole_batches(source.read_bytes())
        broken, changed = with_header_checksums(right, checksum)
        if not changed:
            continue
        for magic in seen:
            seen[magic] += sum(b.magic == magic and b.compression_type == 3 for b in record.read_batches(right))
        folder = partition(tmp_path / f"broken-{number}" / "t-0", broken)
        with pytest.raises(kc.CorruptRecordError) as caught:
            for batch in record.read_batches(broken):
                list(batch)
        assert isinstance(caught.value.__cause__, kc.DecompressionError)
        report = log.repair(folder, tmp_path / f"whole-{number}" / "t-0")
        assert (report.fixed_batches, report.corrupt_ranges) == (changed, 0), source
        assert {repair.action for repair in report.repairs} == {"fixed"}
        (written,) = (tmp_path / f"whole-{number}" / "t-0").glob("*.log")
        assert written.read_bytes() == right, source
        # The slices of compacted logs do not begin at offset 0.
        assert all(finding.is_gap for finding in log.verify_segment(written).findings)
        # What needs no repair is not touched.
        again = log.repair(written.parent, tmp_path / f"again-{number}" / "t-0")
        assert (again.fixed_batches, again.repairs) == (0, ())
    assert (seen[1] > 0, seen[2] > 20) == (kind == "legacy", True)


def test_a_broken_checksum_does_not_hide_other_damage(tmp_path: Path) -> None:
    """A batch that is wrong elsewhere, too, is left out as it is."""
    source = next(path for path in LEGACY if with_header_checksums(path.read_bytes(), "broken")[1])
    broken, _ = with_header_checksums(whole_batches(source.read_bytes()), "broken")
    batch = next(b for b in record.read_batches(broken) if b.magic > 0 and b.compression_type == 3)
    data = bytearray(broken)
    data[batch.position + batch.size_in_bytes - 30] ^= 0xFF
    folder = partition(tmp_path / "broken" / "t-0", bytes(data))
    report = log.repair(folder, tmp_path / "whole" / "t-0")
    assert report.corrupt_ranges == 1
    (kept,) = [repair for repair in report.repairs if repair.action == "quarantined"]
    assert (kept.position, kept.length) == (batch.position, batch.size_in_bytes)
