"""A batch ends at missing offsets, in whatever writes a log: inside it, they would look like compaction."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

TIME = 1_700_000_000_000


def batch(offsets: Sequence[int], magic: int, codec: str, first: int | None = None) -> bytes:
    """A batch with these offsets; of a wrapper, or a plain message."""
    builder = kc.record.RecordBatchBuilder(magic, codec, base_offset=offsets[0] if first is None else first)
    for offset in offsets:
        builder.append(b"value %d" % offset, key=b"key", timestamp=-1 if magic == 0 else TIME + offset, offset=offset)
    return builder.build()


def batches(magic: int, codec: str, count: int, size: int = 4) -> list[bytes]:
    """Batches with the offsets from 0 on; without a codec, formats 0 and 1 have one message in each."""
    size = 1 if codec == "none" and magic < 2 else size
    return [batch(range(first, first + size), magic, codec) for first in range(0, count, size)]


def folder_of(path: Path, segments: dict[int, Iterable[bytes]]) -> Path:
    path.mkdir(parents=True)
    for base, pieces in segments.items():
        (path / f"{base:020}.log").write_bytes(b"".join(pieces))
    return path


def missing(folder: Path) -> list[tuple[int, int, str]]:
    return [each[2:4] + each[5:] for each in log.verify_partition(folder).missing]


def without_file(folder: Path) -> Path:
    """The folder, without its loss file."""
    (folder / "kafkacomp-repair.json").unlink(missing_ok=True)
    return folder


def offsets(folder: Path) -> list[int]:
    return pa.table(kc.scan(folder, columns=["offset"]))["offset"].to_pylist()  # type: ignore[no-any-return]


FORMATS = [(0, "none"), (0, "gzip"), (0, "snappy"), (1, "none"), (1, "lz4"), (1, "gzip"), (2, "none"), (2, "zstd")]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_a_converted_log_lacks_what_its_source_lacks(tmp_path: Path, magic: int, codec: str) -> None:
    rng = random.Random(f"{magic} {codec}")
    for turn in range(3):
        pieces = batches(magic, codec, 200)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(1, len(pieces) - 2)
            del pieces[at : at + rng.randrange(1, 5)]
        source = folder_of(tmp_path / f"{turn}" / "t-0", {0: pieces})
        lost = missing(source)
        assert lost
        for to_magic in (0, 1, 2) if codec != "zstd" else (2,):
            target = tmp_path / f"{turn}-{to_magic}" / "t-0"
            log.convert(source, target, to_magic, allow_missing=True)
            assert missing(without_file(target)) == lost
            assert offsets(target) == offsets(source)
        for compression in ("gzip", "none"):
            for merge in (False, True):
                target = tmp_path / f"{turn}-{compression}-{merge}" / "t-0"
                log.recompress(source, target, compression_type=compression, merge=merge, allow_missing=True)
                assert missing(without_file(target)) == lost
                assert offsets(target) == offsets(source)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_a_missing_segment_stays_a_gap(tmp_path: Path, magic: int, codec: str) -> None:
    pieces = batches(magic, codec, 60)
    third = len(pieces) // 3
    source = folder_of(tmp_path / "source" / "t-0", {0: pieces[:third], 40: pieces[2 * third :]})
    for segment_bytes in (None, 1 << 20):
        target = tmp_path / f"new-{segment_bytes}" / "t-0"
        log.convert(source, target, 2, segment_bytes=segment_bytes, allow_missing=True)
        assert missing(without_file(target)) == missing(source) == [(20, 39, "gap")]


@pytest.mark.parametrize("magic", [0, 1])
def test_compacted_wrappers_keep_their_holes(tmp_path: Path, magic: int) -> None:
    pieces = [batch([0, 1, 2, 3], magic, "gzip"), batch([5, 8, 9], magic, "gzip"), batch([12, 13, 20], magic, "gzip")]
    source = folder_of(tmp_path / "source" / "t-0", {0: pieces})
    target = tmp_path / "new" / "t-0"
    log.convert(source, target, 2)
    converted = record.read_batches((target / f"{0:020}.log").read_bytes())
    assert [(each.base_offset, each.last_offset, each.records_count) for each in converted] == [
        (0, 3, 4),
        (5, 9, 3),
        (12, 20, 3),
    ]
    expected = [(4, 4, "compacted"), (10, 11, "compacted")]
    assert missing(target) == missing(source) == expected
    assert missing(without_file(target)) == expected


@pytest.mark.parametrize("to_magic", [0, 1, 2])
def test_the_offset_of_the_cleaner_is_carried_on(tmp_path: Path, to_magic: int) -> None:
    """The messages of a compacted log of 0.8 show nothing; what is above the checkpoint's offset is lost."""
    pieces = [batch([offset], 0, "none") for offset in (0, 1, 5, 7, 8, 30, 31, 40)]
    logs = tmp_path / "logs"
    source = folder_of(logs / "t-0", {0: pieces})
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 31\n")
    expected = [(2, 4, "compacted"), (6, 6, "compacted"), (9, 29, "compacted"), (32, 39, "gap")]
    assert missing(source) == expected
    folder = source
    writers: tuple[Callable[[Path, Path], object], ...] = (
        lambda old, new: log.convert(old, new, to_magic, allow_missing=True),
        lambda old, new: log.recompress(old, new, compression_type="gzip"),
        log.repair,
    )
    for number, write in enumerate(writers):
        target = tmp_path / str(number) / "t-0"
        write(folder, target)
        assert missing(target) == expected
        reader = kc.scan(target)
        assert sum(rows.num_rows for rows in reader) == len(pieces)
        assert [each[2:4] + each[5:] for each in reader.report.missing] == expected
        file = json.loads((target / "kafkacomp-repair.json").read_text())
        assert file["compactedTo"] == 31
        assert [(each["firstOffset"], each["lastOffset"]) for each in file["losses"]] == [(32, 39)]
        folder = target


def test_holes_that_leave_their_batches_stay_compacted(tmp_path: Path) -> None:
    """Wrappers become messages: what shows that their offsets were compacted is the loss file alone."""
    pieces = [batch([0, 3, 4], 1, "gzip"), batch([5, 8, 9], 1, "gzip")]
    source = folder_of(tmp_path / "source" / "t-0", {0: pieces})
    target = tmp_path / "new" / "t-0"
    log.recompress(source, target, compression_type="none")
    assert missing(target) == [(1, 2, "compacted"), (6, 7, "compacted")]
    assert log.verify_partition(target).is_intact


def test_written_rows_end_a_batch_at_missing_offsets(tmp_path: Path) -> None:
    rng = random.Random(50)
    for turn in range(10):
        chosen = sorted(rng.sample(range(300), 200))
        rows = pa.table({"offset": chosen, "value": [f"value {offset}" for offset in chosen]})
        chunked = pa.concat_tables(rows.slice(at, 17) for at in range(0, 200, 17))
        expected = [(one + 1, other - 1, "gap") for one, other in pairwise(chosen) if other > one + 1]
        folder = tmp_path / str(turn)
        options: dict[str, Any] = {"compression_type": rng.choice(["none", "snappy", "zstd"])}
        report = kc.write(chunked, folder, topic="t", partition=0, batch_bytes=rng.choice([1, 200, 1 << 20]), **options)
        assert missing(folder / "t-0") == expected
        assert offsets(folder / "t-0") == chosen
        assert report.log_start_offset == chosen[0]
        columns = {"topic": ["t"] * 200, "partition": [3] * 200}
        kc.write(pa.table({**columns, "offset": chosen, "value": rows["value"]}), folder, **options)
        assert missing(folder / "t-3") == expected
        built = record.read_batches(record.build_batches(rows, **options))
        assert all(each.records_count == each.last_offset - each.base_offset + 1 for each in built)


def test_a_batch_that_was_begun_takes_missing_offsets() -> None:
    """Who builds one batch decides what is in it."""
    builder = record.RecordBatchBuilder()
    rows = pa.table({"offset": [0, 5], "value": ["a", "b"]})
    assert builder.append_arrow(rows) == 2
    (built,) = record.read_batches(builder.build())
    assert (built.base_offset, built.last_offset, built.records_count) == (0, 5, 2)
