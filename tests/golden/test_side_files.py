"""The files beside segments, as Kafka's DumpLogSegments printed them, and the check of segments against them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from kafkacomp import log, record

from .expect import ModernCase, expectations, modern_batches, modern_cases, segments
from .reading import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = modern_cases()
WHOLE = [case for case in CASES if not case.damaged]
DAMAGED = [case for case in CASES if case.damaged]
FIELD = re.compile(r"(\w+): (OptionalLong\.empty|OptionalLong\[-?\d+\]|-?\d+)")


def by_name(cases: list[ModernCase]) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", cases, ids=str)


def number(text: str) -> int | None:
    """A number as Java prints it, or as an OptionalLong."""
    return None if text == "OptionalLong.empty" else int(text.removeprefix("OptionalLong[").removesuffix("]"))


def dumped(side_file: Path) -> list[dict[str, int | None]] | None:
    """The lines that DumpLogSegments printed for a file; None where it printed nothing."""
    path = expectations(side_file.parent) / f"{side_file.name}.txt"
    if not path.exists():
        return None
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith("Dumping ")
    if any(line.startswith("DumpLogSegments threw ") for line in lines):
        # It looks into the segment first, and gives up at a preallocated tail.
        return None
    rows = [{name: number(text) for name, text in FIELD.findall(line)} for line in lines]
    assert all(rows), lines
    return rows


def side_files(case: ModernCase, suffix: str) -> Iterator[tuple[Path, list[dict[str, int | None]]]]:
    """The files of one kind, with what was printed for them."""
    for partition in case.partitions():
        for path in sorted(partition.glob(f"*{suffix}")):
            rows = dumped(path)
            if rows is None and case.live:
                # The same folder, copied once more when it was closed, has all these entries and maybe one more.
                closed = Path(str(path).replace("-live/", "/"))
                rows = (dumped(closed) or [])[: len(log.read_time_index(path))] if closed.exists() else None
                if rows is None:
                    continue
            elif rows is None:
                assert path.stat().st_size == 0, path
            yield path, rows or []


@by_name(WHOLE)
def test_offset_index(case: ModernCase) -> None:
    """Every entry, and that it points at the batch whose last offset it names."""
    for path, rows in side_files(case, ".index"):
        entries = log.read_offset_index(path)
        assert [{"offset": e.offset, "position": e.position} for e in entries] == rows, path
        assert log.read_offset_index(path.read_bytes(), int(path.stem)) == entries
        lines, _ = modern_batches(path.with_suffix(".log"))
        batches = {(line["lastOffset"], line["position"]) for line in lines}
        assert {tuple(entry) for entry in entries} <= batches, path


@by_name(WHOLE)
def test_time_index(case: ModernCase) -> None:
    """Every entry."""
    for path, rows in side_files(case, ".timeindex"):
        entries = log.read_time_index(path)
        assert [{"timestamp": e.timestamp, "offset": e.offset} for e in entries] == rows, path


@by_name([case for case in WHOLE if case.about["readCommitted"]])
def test_transaction_index(case: ModernCase) -> None:
    """Every aborted transaction."""
    for path, rows in side_files(case, ".txnindex"):
        found = [
            {
                "version": txn.version,
                "producerId": txn.producer_id,
                "firstOffset": txn.first_offset,
                "lastOffset": txn.last_offset,
                "lastStableOffset": txn.last_stable_offset,
            }
            for txn in log.read_transaction_index(path)
        ]
        assert found == rows, path


@by_name(WHOLE)
def test_producer_snapshot(case: ModernCase) -> None:
    """Every producer's entry; what it has written since its last transaction only where Kafka prints it."""
    for path, rows in side_files(case, ".snapshot"):
        entries = log.read_producer_snapshot(path)
        assert len(entries) == len(rows), path
        for entry, row in zip(entries, rows, strict=True):
            found: dict[str, int | None] = {
                "producerId": entry.producer_id,
                "producerEpoch": entry.producer_epoch,
                "coordinatorEpoch": entry.coordinator_epoch,
                "currentTxnFirstOffset": entry.current_txn_first_offset,
                "lastTimestamp": entry.timestamp,
            }
            if "lastOffset" in row:
                found |= {
                    "firstSequence": entry.first_sequence,
                    "lastSequence": entry.last_sequence,
                    "lastOffset": entry.last_offset,
                    "offsetDelta": entry.offset_delta,
                    "timestamp": entry.timestamp,
                }
            else:
                assert entry.last_offset == entry.last_sequence == -1
            assert found == row, path


@by_name(WHOLE)
def test_checkpoints_and_metadata(case: ModernCase) -> None:
    """Leader epochs fit the batches; the topic id has its 22 characters."""
    for partition in case.partitions():
        if not (partition / "leader-epoch-checkpoint").exists():
            continue
        epochs = log.read_leader_epoch_checkpoint(partition / "leader-epoch-checkpoint")
        assert epochs == sorted(epochs)
        starts = {entry.epoch: entry.start_offset for entry in epochs}
        for segment in segments(partition):
            for batch in record.read_batches(segment.read_bytes()):
                if segment.suffix == ".log" and batch.partition_leader_epoch in starts:
                    assert batch.last_offset >= starts[batch.partition_leader_epoch]
        metadata = log.read_partition_metadata(partition / "partition.metadata")
        assert metadata.version == 0
        assert len(metadata.topic_id) == 22


@by_name([case for case in WHOLE if case.about["control"]])
def test_control_records(case: ModernCase) -> None:
    """Every control record has a type and its schema's fields."""
    for partition in case.partitions():
        for segment in segments(partition):
            lines, _ = modern_batches(segment)
            types = [
                [log.parse_control_record(plain(item.key), plain(item.value)).type for item in batch]
                for batch in record.read_batches(segment.read_bytes())
                if batch.is_control_batch
            ]
            assert types == [line["controlTypes"] for line in lines if "controlTypes" in line]


@by_name(WHOLE)
def test_verify_finds_nothing(case: ModernCase) -> None:
    """What a broker wrote is sound, indexes included."""
    for partition in case.partitions():
        for segment in segments(partition):
            lines, _ = modern_batches(segment)
            report = log.verify_segment(segment)
            assert not report.errors, report.findings
            assert not report.corrupt_batches
            assert sum(counts.batches for counts in report.by_compression_type.values()) == len(lines)
            assert sum(counts.records for counts in report.by_compression_type.values()) == sum(
                line["count"] for line in lines
            )
            end = lines[-1]["position"] + lines[-1]["sizeInBytes"] if lines else 0
            assert report.zero_tail_bytes == segment.stat().st_size - end


@by_name(DAMAGED)
def test_verify_finds_the_damage(case: ModernCase) -> None:
    """One damaged place, named by its byte; a tail of zeros is none."""
    (segment,) = segments(case.partitions()[0])
    lines, stop = modern_batches(segment)
    report = log.verify_segment(segment)
    if "zero-tail" in case.name:
        assert not report.errors
        assert report.zero_tail_bytes == 4096
        return
    assert report.errors
    bad = [line["position"] for line in lines if not line["valid"]] or [stop["position"] if stop else -1]
    assert {finding.position for finding in report.findings if finding.is_error} == set(bad)
    assert report.corrupt_batches == 1


def sizes(path: Path) -> Iterator[bytes]:
    """A file cut anywhere, and with each of its first bits flipped."""
    data = path.read_bytes()[:400]
    for cut in range(len(data)):
        yield data[:cut]
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("*.index", log.read_offset_index),
        ("*.timeindex", log.read_time_index),
        ("*.txnindex", log.read_transaction_index),
        ("*.snapshot", log.read_producer_snapshot),
        ("leader-epoch-checkpoint", log.read_leader_epoch_checkpoint),
        ("partition.metadata", log.read_partition_metadata),
    ],
)
def test_damaged_side_files(name: str, read: Any) -> None:
    """Any damage is an error that says where, or other entries; never worse."""
    (case,) = [case for case in CASES if case.name == "compact-txn"][:1]
    path = max(case.partitions()[0].glob(name), key=lambda path: path.stat().st_size)
    arguments = (int(path.stem),) if "index" in name else ()
    for data in sizes(path):
        try:
            read(data, *arguments)
        except kc.CorruptRecordError as error:
            raised = error
        else:
            continue
        assert isinstance(raised.position, int)
        assert 0 <= raised.position <= len(data)
