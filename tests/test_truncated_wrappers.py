"""Real wrappers of formats 0 and 1 that are truncated or have a hole: no message inside is taken for a batch."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption.tools import spark_drop
from golden.expect import FULL, SMALL
from kafkacomp import log, record

if TYPE_CHECKING:
    from pathlib import Path

#: Segments with wrappers; the base offset is in the name, or 0.
VECTORS = {
    f"{path.parent.name}/{path.name}": path
    for root in (FULL, SMALL)
    for codec in ("snappy", "gzip", "lz4")
    for path in sorted((root / "legacy").glob(f"broker-*/*{codec}*.log"))
}
SAMPLE = [name for name in sorted(VECTORS) if "snappy" in name and name.startswith(("broker-0.8", "broker-0.10.0"))]
Rows = set[tuple[int, "bytes | None", "bytes | None"]]
#: A truncation, or a hole in a range of bytes.
Damage = tuple[int, "int | None"]
#: The header of a message with the lengths of key and value.
HEADER = 34


def base_of(path: Path) -> int:
    digits = path.name.removesuffix(".log").rpartition(".")[2]
    return int(digits) if digits.isdigit() else 0


def read(source: Path | bytes) -> Rows:
    table = pa.table(
        kc.scan(source, columns=["offset", "key", "value"], on_error="skip", options=kc.ScanOptions(log_format="0.8+"))
    )
    return set(zip(*(table[name].to_pylist() for name in ("offset", "key", "value")), strict=True))


def strict(source: Path | bytes) -> Rows:
    rows: Rows = set()
    try:
        for batch in kc.scan(source, columns=["offset", "key", "value"], options=kc.ScanOptions(log_format="0.8+")):
            rows |= set(zip(*(pa.record_batch(batch)[name].to_pylist() for name in range(3)), strict=True))
    except kc.KafkaCompError:
        pass
    return rows


def batch_starts(data: bytes) -> list[int]:
    starts, at = [], 0
    while at + 12 <= len(data):
        starts.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return starts


def damaged(data: bytes, begin: int, end: int | None) -> bytes:
    """The data up to ``begin``, or with a hole up to ``end``."""
    return data[:begin] if end is None else data[:begin] + b"\x07" * (end - begin) + data[end:]


def check_bytes(name: str, damages: list[Damage]) -> None:
    data = VECTORS[name].read_bytes()
    truth = read(data)
    last = batch_starts(data)[-1]
    for damage in damages:
        begin, end = damage
        if begin < HEADER and end is not None and last < end < last + 8:
            continue  # Bytes have no name, and the last batch is the only one with an offset.
        left = damaged(data, begin, end)
        assert read(left) <= truth, (name, *damage)
        assert strict(left) <= truth, (name, *damage)


def check_log(name: str, folder: Path, damages: list[Damage]) -> None:
    path = VECTORS[name]
    data = path.read_bytes()
    truth = read(data)
    offsets = {offset for offset, _, _ in truth}
    # Of control batches, and of batches of magic 2 whose last records compaction has removed.
    last_offsets = offsets | {batch.last_offset for batch in record.read_batches(data)}
    for number, damage in enumerate(damages):
        left, place = damaged(data, *damage), (name, *damage)
        partition = folder / str(number) / "t-0"
        partition.mkdir(parents=True)
        segment = partition / f"{base_of(path):020}.log"
        segment.write_bytes(left)
        assert read(partition) <= truth, place
        assert strict(partition) <= truth, place
        report = log.verify_segment(segment)
        assert report.last_offset is None or report.last_offset in last_offsets, place
        target = folder / str(number) / "repaired" / "t-0"
        try:
            log.repair(partition, target)
        except kc.KafkaCompError:
            continue
        assert read(target) <= truth, place
        answer = spark_drop(partition, split_size=max(300, len(left) // 3))
        assert {offset for offset, _ in answer.rows or []} <= offsets, place


def some(name: str, count: int) -> list[Damage]:
    """Truncations, holes anywhere, and holes that end within the offset of a later batch."""
    data, rng = VECTORS[name].read_bytes(), random.Random(name)
    size = len(data)
    cuts: list[Damage] = [(rng.randrange(1, size), None) for _ in range(count)]
    starts = [rng.randrange(1, size) for _ in range(count)]
    holes: list[Damage] = [(start, min(size, start + rng.choice((20, 200, 4096)))) for start in starts]
    later = batch_starts(data)[1:]
    ends = [rng.choice(later) + rng.randrange(1, 8) for _ in range(count if later else 0)]
    return cuts + holes + [(max(1, end - rng.choice((20, 200, 4096))), end) for end in ends]


@pytest.mark.parametrize("name", SAMPLE[:8])
def test_nothing_that_was_not_in_the_log(name: str, tmp_path: Path) -> None:
    check_bytes(name, some(name, 20))
    check_log(name, tmp_path, some(name, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(VECTORS))
def test_nothing_at_many_truncations_and_holes(name: str, tmp_path: Path) -> None:
    size = VECTORS[name].stat().st_size
    check_bytes(name, [(cut, None) for cut in range(max(1, size - 20_000), size, 97)] + some(name, 40))
    check_log(name, tmp_path, some(name, 3))


def test_offsets_far_above_the_base_offset(tmp_path: Path) -> None:
    """Compaction before KAFKA-6264 made segments that a broker of today splits: they are read, and verify warns."""
    offsets = [0, 1, 2**31 + 5, 2**31 + 9, 2**32]
    built = [record.RecordBatchBuilder(1, "gzip", base_offset=offset) for offset in offsets]
    for builder in built:
        builder.append(b"value")
    segment = tmp_path / "t-0" / f"{0:020}.log"
    segment.parent.mkdir()
    segment.write_bytes(b"".join(builder.build() for builder in built))
    for on_error in ("raise", "skip"):
        reader = kc.scan(segment.parent, columns=["offset"], on_error=on_error)
        assert pa.table(reader)["offset"].to_pylist() == offsets
    report = log.verify_segment(segment)
    assert report.corrupt_batches == 0
    (text,) = [each.message for each in report.findings if "2^31" in each.message]
    assert f"offset {offsets[-1]}" in text
    # One such offset alone is not believed.
    segment.write_bytes(b"".join(builder.build() for builder in built[:3]))
    assert pa.table(kc.scan(segment.parent, columns=["offset"], on_error="skip"))["offset"].to_pylist() == [0, 1]
