"""What decides between two readings of a batch: other segments, their names, and the end of the offset index."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.tools import recompress, repair, scan_skip, scan_strict, spark_drop_loss, spark_failfast, verify
from golden.expect import roots
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
    builder = RecordBatchBuilder(2, base_offset=0)
    for offset in range(8):
        builder.append(value=b"another value", timestamp=1000, offset=offset)
    where = written(tmp_path, {0: batches[:2], 16: [*batches[2:], bytes(builder.build())]})
    with pytest.raises(kc.CorruptRecordError, match=r"0016\.log"):
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


@pytest.mark.parametrize(("broker", "old", "new"), [("broker-0.10.0.1", 65, 254), ("broker-0.10.2.2", 125, 204)])
def test_name_above_the_only_batch(broker: str, old: int, new: int, tmp_path: Path) -> None:
    """Of a compacted segment: the name is wrong, and every tool delivers the batch."""
    paths = [path for root in roots("legacy") for path in (root / broker).glob("cmp-snappy.*.log")]
    if not paths:
        pytest.skip("this log is not here")
    intact, where = tmp_path / "intact" / "topic-0", tmp_path / "topic-0"
    for folder, name in ((intact, old), (where, new)):
        folder.mkdir(parents=True)
        for path in paths:
            base = int(path.name.split(".")[1])
            shutil.copy(path, folder / f"{name if base == old else base:020}.log")
    wanted = scan_strict(intact).rows
    for tool in (scan_strict, scan_skip, repair, recompress):
        answer = tool(where)
        assert (answer.error, answer.rows) == (None, wanted), tool.__name__
        assert answer.warnings or tool is recompress
    answer = verify(where)
    assert (answer.status, [file for file, _ in answer.faults]) == (1, [f"{new:020}.log"])


def test_corrupt_in_one_file_and_intact_in_another(tmp_path: Path) -> None:
    """The copy of the batch beside it shows that the batch of the second file belongs to the log."""
    batches = [batch(first, first + 7) for first in range(0, 40, 8)]
    broken = bytearray(batches[1])
    broken[-1] ^= 1
    where = written(tmp_path, {0: [batches[0], bytes(broken), *batches[2:]], 8: batches[1:3]})
    answer = repair(where)
    assert offsets(answer.rows) == list(range(40))
    assert not answer.missing


def test_holes_that_a_later_file_would_fill(tmp_path: Path) -> None:
    """Each file has the offsets from its name to the next one: the first file hides nothing of the second one."""
    first = [batch(0, 15), batch(16, 19), batch(24, 31)]
    where = written(tmp_path, {0: first, 16: [batch(16, 23), batch(24, 31)]})
    for tool in (scan_strict, repair, recompress):
        answer = tool(where)
        assert answer.error is None
        assert offsets(answer.rows) == list(range(32))
        assert not answer.missing


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
