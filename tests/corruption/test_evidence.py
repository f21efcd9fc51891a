"""What decides between two readings of a batch: earlier segments, the time index, the end of the offset index."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.tools import recompress, repair, scan_skip, scan_strict, spark_drop_loss, spark_failfast, verify
from golden.expect import roots
from kafkacomp import log as kafka_log
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def batch(first: int, last: int, *, magic: int = 2, codec: str = "none", without: Iterable[int] = ()) -> bytes:
    """Records with the offsets from the first one to the last one, without some."""
    builder = RecordBatchBuilder(magic, codec, base_offset=first)
    for offset in sorted(set(range(first, last + 1)) - set(without)):
        builder.append(value=b"value %d" % offset, timestamp=1000 + offset, offset=offset)
    return bytes(builder.build())


def written(folder: Path, segments: dict[int, list[bytes]]) -> Path:
    """A partition with these segments."""
    where = folder / "topic-0"
    where.mkdir()
    for base, batches in segments.items():
        (where / f"{base:020}.log").write_bytes(b"".join(batches))
    return where


def offsets(rows: Iterable[tuple[int, bytes | None]] | None) -> list[int]:
    """Those of rows."""
    return [offset for offset, _ in rows or ()]


@pytest.mark.parametrize(("magic", "codec"), [(2, "none"), (2, "lz4"), (1, "gzip"), (0, "snappy")])
def test_copy_from_another_segment_at_the_end(magic: int, codec: str, tmp_path: Path) -> None:
    """A bit of its base offset would make it the next batch: the first segment shows that it is there twice."""
    batches = [batch(first, first + 7, magic=magic, codec=codec) for first in range(0, 32, 8)]
    where = written(tmp_path, {0: batches[:2], 16: [*batches[2:], batches[0]]})
    for tool in (scan_strict, scan_skip, spark_failfast, repair):
        answer = tool(where)
        assert (answer.error, offsets(answer.rows)) == (None, list(range(32))), tool.__name__
        assert not answer.missing


def test_another_batch_at_the_end(tmp_path: Path) -> None:
    """The same offsets as a batch of the first segment, and other records: no copy."""
    batches = [batch(first, first + 7) for first in range(0, 32, 8)]
    where = written(tmp_path, {0: batches[:2], 16: [*batches[2:], batch(0, 7, codec="gzip")]})
    with pytest.raises(kc.CorruptRecordError, match="states offsets 0 to 7"):
        list(kc.scan(where))


def test_overlap_after_a_gap(tmp_path: Path) -> None:
    """The first segment's last batch is the second one's first: each segment is read to its end, as by a broker."""
    first = [batch(0, 7, without=[2]), batch(16, 23)]
    where = written(tmp_path, {0: first, 16: [first[1], batch(24, 31)]})
    wanted = [0, 1, *range(3, 8), *range(16, 32)]
    for tool in (scan_strict, scan_skip, repair, recompress):
        answer = tool(where)
        assert (answer.error, offsets(answer.rows), answer.missing) == (None, wanted, [(8, 15, "compacted")])
    assert scan_strict(where).warnings
    assert offsets(spark_failfast(where).rows) == wanted


def test_swapped_batches_of_which_one_differs_in_a_bit_from_offsets_of_the_other(tmp_path: Path) -> None:
    """Offset 6 would be 4 with another bit, which the batch has that it changed places with."""
    where = written(tmp_path, {0: [batch(6, 6), batch(5, 5), batch(0, 4)], 7: [batch(7, 14)]})
    answer = repair(where)
    assert (answer.error, offsets(answer.rows), answer.missing) == (None, list(range(15)), [])
    assert recompress(where).error is not None
    assert verify(where).status == 1


@pytest.mark.parametrize(("broker", "old", "new"), [("broker-0.10.0.1", 65, 254)])
def test_name_above_the_only_batch(broker: str, old: int, new: int, tmp_path: Path) -> None:
    """Of a compacted segment: renamed, or its batch altered by one bit. It is called corrupt by every tool."""
    where = tmp_path / "topic-0"
    where.mkdir()
    paths = [path for root in roots("legacy") for path in (root / broker).glob("cmp-snappy.*.log")]
    if not paths:
        pytest.skip("this log is not here")
    for path in paths:
        base = int(path.name.split(".")[1])
        shutil.copy(path, where / f"{new if base == old else base:020}.log")
    name = f"{new:020}.log"
    with pytest.raises(kc.CorruptRecordError, match=name):
        list(kc.scan(where))
    assert scan_skip(where).faults == [(name, 0)]
    answer = verify(where)
    assert (answer.status, [file for file, _ in answer.faults]) == (1, [name])
    report = kafka_log.repair(where, tmp_path / "out" / "topic-0")
    assert [(each.action, each.position) for each in report.repairs] == [("quarantined", 0)]


def test_name_above_a_batch_that_continues_another_segment(tmp_path: Path) -> None:
    """The only batch of a segment begins where another one ends: its name is wrong, and every tool delivers it."""
    where = tmp_path / "topic-0"
    where.mkdir()
    paths = [path for root in roots("legacy") for path in (root / "broker-0.10.2.2").glob("cmp-snappy.*.log")]
    if not paths:
        pytest.skip("this log is not here")
    for path in paths:
        base = int(path.name.split(".")[1])
        shutil.copy(path, where / f"{204 if base == 125 else base:020}.log")
    for tool in (scan_strict, scan_skip, repair, recompress):
        answer = tool(where)
        assert answer.error is None
        assert len(answer.rows or ()) == 88, tool.__name__
        assert not answer.named & set(range(125, 155))
    answer = verify(where)
    assert (answer.status, [file for file, _ in answer.faults]) == (1, [f"{204:020}.log"])


def test_corrupt_in_one_file_and_intact_in_another(tmp_path: Path) -> None:
    """A repair writes what brokers read: the first file's records. It names what it does not take from the second."""
    batches = [batch(first, first + 7) for first in range(0, 40, 8)]
    broken = bytearray(batches[1])
    broken[-1] ^= 1
    where = written(tmp_path, {0: [batches[0], bytes(broken), *batches[2:]], 8: batches[1:3]})
    answer = repair(where)
    assert offsets(answer.rows) == [*range(8), *range(16, 40)]
    assert answer.missing == [(8, 15, "corrupt")]


def test_holes_that_a_later_file_would_fill(tmp_path: Path) -> None:
    """An interrupted compaction: the first file is read to its end, and what it has no more is named, as by a scan."""
    first = [batch(0, 15), batch(16, 19), batch(24, 31)]
    where = written(tmp_path, {0: first, 16: [batch(16, 23), batch(24, 31)]})
    for tool in (scan_strict, repair, recompress):
        answer = tool(where)
        assert answer.error is None
        assert offsets(answer.rows) == [*range(20), *range(24, 32)]
        assert answer.missing == [(20, 23, "gap")]


# ------------------------------------------------------------------------------------------ the time index


def with_indexes(where: Path, position: int, offset: int, times: list[tuple[int, int]]) -> None:
    """Indexes of the first segment."""
    (where / f"{0:020}.index").write_bytes(struct.pack(">ii", offset, position))
    (where / f"{0:020}.timeindex").write_bytes(b"".join(struct.pack(">qi", *each) for each in times))


def test_a_removed_batch_is_not_taken_for_an_altered_one(tmp_path: Path) -> None:
    """The offset index has the removed batch where the last one stands; the time index has another timestamp."""
    first = batch(0, 15)
    where = written(tmp_path, {0: [first, batch(24, 31)]})
    with_indexes(where, len(first), 23, [(1023, 23)])
    answer = repair(where)
    assert offsets(answer.rows) == [*range(16), *range(24, 32)]
    assert answer.missing == [(16, 23, "gap")]
    # Without it, both are possible.
    (where / f"{0:020}.timeindex").unlink()
    shutil.rmtree(tmp_path / "repaired")
    assert offsets(repair(where).rows) == list(range(24))


@pytest.mark.parametrize("bit", [4, 5, 40, 62])
def test_the_time_index_restores_the_last_batch(bit: int, tmp_path: Path) -> None:
    """Its greatest timestamp has an entry, as after a clean stop."""
    batches = [batch(0, 7), batch(8, 15)]
    altered = (8 | 1 << bit).to_bytes(8, "big") + batches[1][8:]
    where = written(tmp_path, {0: [batches[0], altered]})
    assert verify(where).named or bit > 30
    (where / f"{0:020}.timeindex").write_bytes(struct.pack(">qi", 1015, 15))
    answer = verify(where)
    assert (answer.status, answer.named) == (1, set())
    assert offsets(repair(where).rows) == list(range(16))


# ------------------------------------------------------------------------------------------ truncation


def compacted(folder: Path, kept: int) -> Path:
    """A compacted log whose first segment has an index with an entry for each of its five batches but the first."""
    batches = [batch(first, first + 7, without=[first + 2]) for first in range(0, 40, 8)]
    where = written(folder, {0: batches[:kept], 50: [batch(50, 59, without=[52])]})
    position, index = 0, b""
    for each in batches:
        if position:
            index += struct.pack(">ii", struct.unpack_from(">q", each)[0] + 7, position)
        position += len(each)
    (where / f"{0:020}.index").write_bytes(index)
    return where


def test_truncation_between_two_batches(tmp_path: Path) -> None:
    """Compaction would have rewritten the index: the reason is ``gap``, and ``verify`` reports an error."""
    where = compacted(tmp_path, 3)
    for tool in (scan_strict, scan_skip, verify, repair, recompress):
        answer = tool(where)
        assert (answer.error, answer.missing) == (None, [(24, 49, "gap")]), tool.__name__
    assert verify(where).status == 1
    assert any("its offset index has an entry for offset 31 after that" in each for each in scan_strict(where).warnings)
    for tool in (spark_failfast, spark_drop_loss):
        assert "offsets 24 to 49 are missing" in str(tool(where).error)


def test_an_intact_compacted_log(tmp_path: Path) -> None:
    """The gap after its last batch is compaction's."""
    where = compacted(tmp_path, 5)
    for tool in (scan_strict, verify, repair, recompress):
        answer = tool(where)
        assert (answer.error, answer.missing) == (None, [(40, 49, "compacted")]), tool.__name__
    assert verify(where).status == 0


def test_an_index_of_before_compaction(tmp_path: Path) -> None:
    """No entry agrees with a batch: it shows nothing."""
    where = compacted(tmp_path, 3)
    index = (where / f"{0:020}.index").read_bytes()
    moved = b"".join(
        struct.pack(">ii", offset, position + 1000) for offset, position in struct.iter_unpack(">ii", index)
    )
    (where / f"{0:020}.index").write_bytes(moved)
    assert scan_strict(where).missing == [(24, 49, "compacted")]
