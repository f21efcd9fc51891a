"""What a scan says of offsets that are missing, repeated or misplaced, of overlapping files and invisible records."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.record.util import calc_crc32c

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log as kafka_log
from kafkacomp._cli.command import run
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Losses = list[tuple[int, int, str]]

threads = pytest.mark.parametrize("threads", [1, 2, 4])
magics = pytest.mark.parametrize(("magic", "codec"), [(2, "none"), (2, "lz4"), (1, "gzip"), (1, "none"), (0, "gzip")])
EACH = 5


def batch(first: int, count: int = EACH, *, magic: int = 2, codec: str = "none", size: int = 40) -> bytes:
    """Records with offsets from ``first`` on."""
    builder = RecordBatchBuilder(magic, codec, base_offset=first)
    for offset in range(first, first + count):
        builder.append(value=f"{offset:012}".encode() * (size // 12 + 1), timestamp=1000 + offset)
    return bytes(builder.build())


def log(folder: Path, segments: Mapping[int, Iterable[bytes]]) -> Path:
    """A partition's folder with these segments."""
    partition = folder / "t-0"
    partition.mkdir(parents=True, exist_ok=True)
    for base, batches in segments.items():
        (partition / f"{base:020}.log").write_bytes(b"".join(batches))
    return partition


def run_of(first: int, end: int, **options: Any) -> list[bytes]:
    """Batches of five records each, from ``first`` to the one before ``end``."""
    return [batch(at, **options) for at in range(first, end, EACH)]


def moved(data: bytes, offset: int) -> bytes:
    """A batch with another offset field."""
    return struct.pack(">q", offset) + data[8:]


def read(source: Any, **options: Any) -> tuple[list[int], kc.ScanReport, BaseException | None]:
    """The offsets of a scan, what it reports, and its error."""
    options.setdefault("columns", ["offset"])
    reader = kc.scan(source, **grouped(**options))
    offsets: list[int] = []
    error = None
    try:
        for each in reader:
            offsets += each.column("offset").to_pylist()
    except (kc.KafkaCompError, OSError) as raised:
        error = raised
    return offsets, reader.report, error


def losses(report: kc.ScanReport | kafka_log.PartitionReport | kafka_log.RewriteReport) -> Losses:
    """Missing offsets and why."""
    return [(each.first_offset, each.last_offset, each.reason) for each in report.missing]


# ------------------------------------------------------------------------------------------------------ gaps


@threads
@magics
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_gaps_between_batches_and_segments(
    tmp_path: Path, magic: int, codec: str, threads: int, on_error: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A gap is no error: a line in the log, and an entry that names the segment."""
    form = {"magic": magic, "codec": codec}
    folder = log(
        tmp_path,
        {
            0: run_of(0, 40, **form) + run_of(50, 100, **form),
            100: run_of(110, 150, **form),
            300: run_of(300, 320, **form),
        },
    )
    offsets, report, error = read(folder, threads=threads, on_error=on_error)
    assert error is None
    assert offsets == [*range(40), *range(50, 100), *range(110, 150), *range(300, 320)]
    names = [str(folder / f"{base:020}.log") for base in (0, 100, 100)]
    gaps = [(40, 49), (100, 109), (150, 299)]
    assert report.missing == tuple(
        kc.arrow.MissingRange("t", 0, *gap, name, "gap") for gap, name in zip(gaps, names, strict=True)
    )
    assert caplog.messages == ["missing: t-0: offsets 40 to 49 (gap), 100 to 109 (gap), 150 to 299 (gap)"]
    bounded, report, _ = read(folder, threads=threads, start_offset=45, end_offset=200)
    assert bounded == [*range(50, 100), *range(110, 150)]
    assert losses(report) == [(45, 49, "gap"), (100, 109, "gap"), (150, 199, "gap")]


@threads
def test_gaps_at_every_place_of_a_chunk(tmp_path: Path, threads: int) -> None:
    """Chunks end anywhere between the batches around gaps."""
    batches = [batch(at, size=2000) for at in range(0, 3000, EACH)]
    without = set(range(3, len(batches), 7))
    folder = log(tmp_path, {0: (each for number, each in enumerate(batches) if number not in without)})
    offsets, report, _ = read(folder, threads=threads)
    lost = [(number * EACH, number * EACH + EACH - 1, "gap") for number in sorted(without)]
    assert losses(report) == [each for each in lost if each[1] < 2999]
    assert len(offsets) == 3000 - len(without) * EACH


def test_gaps_that_compaction_explains(tmp_path: Path) -> None:
    """The cleaner's checkpoint, or a batch with fewer records than offsets."""
    folder = log(tmp_path, {0: run_of(0, 40) + run_of(50, 100), 200: run_of(200, 220)})
    tmp_path.joinpath("cleaner-offset-checkpoint").write_text("0\n1\nt 0 100\n", encoding="utf-8")
    assert losses(read(folder)[1]) == [(40, 49, "compacted"), (100, 199, "gap")]
    tmp_path.joinpath("cleaner-offset-checkpoint").unlink()
    builder = RecordBatchBuilder(2, "none", base_offset=40)
    for offset in (40, 44):
        builder.append(value=b"x", timestamp=1, offset=offset)
    folder = log(tmp_path, {0: [*run_of(0, 40), bytes(builder.build()), *run_of(50, 100)], 200: run_of(200, 220)})
    assert losses(read(folder)[1]) == [(45, 49, "compacted"), (100, 199, "compacted")]


def test_the_cleaner_has_not_been_above_its_checkpoint(tmp_path: Path) -> None:
    """A segment that was deleted there was not compacted away, by every tool."""
    builder = RecordBatchBuilder(2, "none", base_offset=40)
    for offset in (40, 44):
        builder.append(value=b"x", timestamp=1, offset=offset)
    folder = log(tmp_path, {0: [*run_of(0, 40), bytes(builder.build()), *run_of(50, 100)], 200: run_of(200, 220)})
    tmp_path.joinpath("cleaner-offset-checkpoint").write_text("0\n1\nt 0 100\n", encoding="utf-8")
    wanted = [(45, 49, "compacted"), (100, 199, "gap")]
    assert losses(read(folder)[1]) == wanted
    verified = kafka_log.verify_partition(folder)
    assert losses(verified) == wanted
    assert [each.first_offset for each in verified.findings if each.is_error] == [100]
    assert losses(kafka_log.repair(folder, tmp_path / "out" / "t-0")) == wanted


# ----------------------------------------------------------------------------------------- zeros and empty files


@threads
@pytest.mark.parametrize("from_batch", [0, 3])
def test_zeros_in_a_segment_that_another_follows(tmp_path: Path, threads: int, from_batch: int) -> None:
    """Only the last segment may be preallocated."""
    batches = run_of(0, 50)
    whole = b"".join(batches)
    begin = sum(len(each) for each in batches[:from_batch])
    folder = log(tmp_path, {0: [whole[:begin], bytes(len(whole) - begin)], 50: run_of(50, 100)})
    offsets, _, error = read(folder, threads=threads)
    assert offsets == list(range(from_batch * EACH))
    assert isinstance(error, kc.CorruptRecordError)
    assert f"byte {begin}" in str(error)
    offsets, report, error = read(folder, threads=threads, on_error="skip")
    assert error is None
    assert offsets == [*range(from_batch * EACH), *range(50, 100)]
    assert losses(report) == [(from_batch * EACH, 49, "corrupt")]
    (skipped,) = report.skipped
    assert (skipped.position, skipped.length, skipped.first_offset, skipped.last_offset) == (
        begin, len(whole) - begin, from_batch * EACH, 49,
    )  # fmt: skip
    assert skipped.reason == "corrupt"
    assert "zero bytes" in skipped.message


def test_zeros_without_missing_offsets(tmp_path: Path) -> None:
    """They replace nothing, or were preallocated in the last segment: a warning for each."""
    folder = log(tmp_path, {0: [*run_of(0, 50), bytes(5000)], 50: [*run_of(50, 100), bytes(5000)]})
    offsets, report, error = read(folder)
    assert (offsets, error, report.missing) == (list(range(100)), None, ())
    assert ["zero bytes" in each for each in report.warnings] == [True, True]


def test_an_empty_segment_between_others(tmp_path: Path) -> None:
    """Its offsets are missing, and there are no bytes that could be corrupt."""
    folder = log(tmp_path, {0: run_of(0, 50), 50: [], 100: run_of(100, 150)})
    offsets, report, error = read(folder)
    assert error is None
    assert offsets == [*range(50), *range(100, 150)]
    assert [(*each[2:4], Path(each.segment).stem, each.reason) for each in report.missing] == [
        (50, 99, f"{50:020}", "gap")
    ]


# ------------------------------------------------------------------------------------------- repeated, misplaced


@threads
@magics
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_repeated_batches_come_once(tmp_path: Path, magic: int, codec: str, threads: int, on_error: str) -> None:
    """Directly after one another, and an older copy later."""
    batches = run_of(0, 100, magic=magic, codec=codec)
    folder = log(tmp_path, {0: [*batches[:3], batches[2], *batches[3:8], batches[1], batches[2], *batches[8:]]})
    offsets, report, error = read(folder, threads=threads, on_error=on_error)
    assert error is None
    assert (offsets, report.missing, report.skipped) == (list(range(100)), (), ())
    assert sum("repeat" in warning for warning in report.warnings) == 2


#: A compressed message of magic 1 does not state its first offset: a small change passes for a gap.
FLIPPED = [(2, codec, bit) for codec in ("none", "lz4") for bit in (0, 3, 6, 20, 40, 62)] + [
    (1, "gzip", bit) for bit in (20, 40, 62)
]


@threads
@pytest.mark.parametrize("bit", [0, 20, 40, 62])
def test_the_offset_of_a_compressed_message_of_format_0_does_not_matter(tmp_path: Path, threads: int, bit: int) -> None:
    """Its messages have their own, which a consumer takes; verify warns."""
    batches = run_of(0, 300, magic=0, codec="gzip")
    batches[40] = moved(batches[40], struct.unpack(">q", batches[40][:8])[0] ^ (1 << bit))
    folder = log(tmp_path, {0: batches})
    offsets, report, error = read(folder, threads=threads)
    assert (offsets, report.missing, error) == (list(range(300)), (), None)
    verified = kafka_log.verify_partition(folder)
    assert [each.is_error for each in verified.findings] == [False]


@threads
@pytest.mark.parametrize(("magic", "codec", "bit"), FLIPPED)
def test_a_flipped_bit_of_an_offset(tmp_path: Path, magic: int, codec: str, threads: int, bit: int) -> None:
    """An error says where it is; otherwise its neighbours determine it, unless the segment could have the other one."""
    batches = run_of(0, 300, magic=magic, codec=codec)
    place = 40
    batches[place] = moved(batches[place], struct.unpack(">q", batches[place][:8])[0] ^ (1 << bit))
    first, last = place * EACH, place * EACH + EACH - 1
    folder = log(tmp_path, {0: batches})
    begin = sum(len(each) for each in batches[:place])
    offsets, _, error = read(folder, threads=threads)
    assert isinstance(error, kc.CorruptRecordError), error
    assert f"byte {begin} " in str(error)
    assert offsets == list(range(first))
    offsets, report, error = read(folder, threads=threads, on_error="skip")
    assert error is None
    if bit != 20:
        assert (offsets, losses(report), report.skipped) == ([*range(300)], [], ())
        assert any(f"byte {begin} " in warning for warning in report.warnings)
        return
    assert offsets == [*range(first), *range(last + 1, 300)]
    assert losses(report) == [(first, last, "corrupt")]
    (skipped,) = report.skipped
    assert (skipped.position, skipped.first_offset, skipped.last_offset) == (begin, first, last)


@threads
def test_captured_record_sets_may_repeat_offsets(tmp_path: Path, threads: int) -> None:
    """Bytes, and files whose name is no segment's."""
    data = batch(10) + batch(0) + batch(0) + batch(50)
    wanted = [*range(10, 15), *range(5), *range(5), *range(50, 55)]
    path = tmp_path / "captured.bin"
    path.write_bytes(data)
    for source in (data, path):
        offsets, report, error = read(source, threads=threads)
        assert (offsets, report.missing, error) == (wanted, (), None)


# ------------------------------------------------------------------------------------------------------ overlap


def tiered(folder: Path, files: list[tuple[int, str, list[bytes]]]) -> Path:
    """A partition's folder in tiered storage."""
    partition = folder / f"t-{'A' * 22}" / "0"
    partition.mkdir(parents=True)
    for base, letter, batches in files:
        (partition / f"{base:020}-{letter * 22}.log").write_bytes(b"".join(batches))
    return partition


@threads
@pytest.mark.parametrize("letters", ["BC", "CB"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_overlapping_files_are_read_once(tmp_path: Path, threads: int, letters: str, on_error: str) -> None:
    """Whatever the order of the ids in their names; differently framed and compressed, they still agree."""
    short, long = run_of(0, 130), [batch(at, 20, codec="zstd") for at in range(0, 220, 20)]
    for number, files in enumerate(
        [[(0, letters[0], short), (0, letters[1], long)], [(0, letters[0], long), (100, letters[1], run_of(100, 250))]]
    ):
        folder = tiered(tmp_path / str(number), files)
        offsets, report, error = read(folder, threads=threads, on_error=on_error)
        assert error is None
        assert offsets == list(range(250 if number else 220))
        assert report.missing == ()
        (warning,) = report.warnings
        assert all(path.name in warning for path in folder.iterdir())


@threads
@pytest.mark.parametrize("letters", ["BC", "CB"])
def test_overlapping_files_that_disagree(tmp_path: Path, threads: int, letters: str) -> None:
    """Strict reading names both files and the offset; otherwise the first one's records are read."""
    other = batch(45).replace(b"47", b"XX")
    other = other[:17] + struct.pack(">I", _crc32c(other[21:])) + other[21:]
    files = [(0, letters[0], run_of(0, 100)), (0, letters[1], [*run_of(0, 45), other, *run_of(50, 60)])]
    folder = tiered(tmp_path, files)
    offsets, _, error = read(folder, threads=threads)
    assert offsets == list(range(100))
    assert isinstance(error, kc.CorruptRecordError)
    assert all(path.name in str(error) for path in folder.iterdir())
    assert "offset 47" in str(error)
    offsets, report, error = read(folder, threads=threads, on_error="skip", columns=["offset", "value"])
    assert (offsets, error) == (list(range(100)), None)
    assert any("offset 47" in warning for warning in report.warnings)


def _crc32c(data: bytes) -> int:
    from aiokafka.record.util import calc_crc32c  # noqa: PLC0415 - one test needs it

    return int(calc_crc32c(data))


# ---------------------------------------------------------------------------------- limits, storage, vanished files


@threads
def test_a_limit_is_no_corruption(tmp_path: Path, threads: int) -> None:
    """Listed as what it is, with the offsets."""
    large = batch(50, codec="gzip", size=100_000)
    folder = log(tmp_path, {0: [*run_of(0, 50, codec="gzip"), large, *run_of(55, 100, codec="gzip")]})
    offsets, report, error = read(folder, threads=threads, on_error="skip", max_output_size=10_000)
    assert error is None
    assert offsets == [*range(50), *range(55, 100)]
    assert losses(report) == [(50, 54, "limit")]
    assert [(each.reason, each.first_offset, each.last_offset) for each in report.skipped] == [("limit", 50, 54)]
    assert isinstance(read(folder, threads=threads, max_output_size=10_000)[2], kc.OutputLimitError)


@threads
def test_a_segment_that_vanishes(tmp_path: Path, threads: int) -> None:
    """Its offsets are named; a strict scan ends with FileNotFoundError."""
    segments = {0: run_of(0, 50), 50: run_of(50, 100), 100: run_of(100, 150)}
    for on_error in ("skip", "raise"):
        folder = log(tmp_path / on_error, segments)
        reader = kc.scan(folder, columns=["offset"], on_error=on_error, options=kc.ScanOptions(threads=threads))
        (folder / f"{50:020}.log").unlink()
        if on_error == "raise":
            with pytest.raises(FileNotFoundError):
                list(reader)
            continue
        offsets = [offset for each in reader for offset in each.column("offset").to_pylist()]
        assert offsets == [*range(50), *range(100, 150)]
        assert losses(reader.report) == [(50, 99, "vanished")]
        assert [each.reason for each in reader.report.skipped] == ["vanished"]


# ------------------------------------------------------------------------------------------- what consumers see


@threads
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_records_that_consumers_do_not_see(tmp_path: Path, threads: int, codec: str) -> None:
    """Counted, and left out on request."""
    folder = log(tmp_path, {0: run_of(0, 50, codec=codec), 50: run_of(50, 100, codec=codec)})
    tmp_path.joinpath("log-start-offset-checkpoint").write_text("0\n1\nt 0 23\n", encoding="utf-8")
    tmp_path.joinpath("replication-offset-checkpoint").write_text("0\n1\nt 0 72\n", encoding="utf-8")
    for visible_only in (False, True):
        offsets, report, error = read(folder, threads=threads, visible_only=visible_only)
        assert error is None
        assert offsets == list(range(23, 72) if visible_only else range(100))
        assert (report.records_below_log_start, report.records_above_high_watermark) == (23, 28)
        assert report.missing == ()
    _, report, _ = read(folder, threads=threads, start_offset=20, end_offset=75)
    assert (report.records_below_log_start, report.records_above_high_watermark) == (3, 3)


@threads
@pytest.mark.parametrize("at", [0, 90])
def test_a_negative_record_count_that_consumers_do_not_see(tmp_path: Path, threads: int, at: int) -> None:
    """A broker sends no batch outside the visible offsets, so no consumer fails; a scan of all records does."""
    bad = bytearray(batch(at))
    struct.pack_into(">i", bad, 57, -1)
    struct.pack_into(">I", bad, 17, calc_crc32c(bytes(bad[21:])))
    batches = [bytes(bad) if first == at else batch(first) for first in range(0, 100, EACH)]
    folder = log(tmp_path, {0: batches})
    tmp_path.joinpath("log-start-offset-checkpoint").write_text("0\n1\nt 0 23\n", encoding="utf-8")
    tmp_path.joinpath("replication-offset-checkpoint").write_text("0\n1\nt 0 72\n", encoding="utf-8")
    offsets, report, error = read(folder, threads=threads, visible_only=True)
    assert error is None
    assert offsets == list(range(23, 72))
    assert report.records_below_log_start == (23 if at else 18)
    assert report.records_above_high_watermark == (23 if at else 28)
    assert isinstance(read(folder, threads=threads)[2], kc.InvalidRecordError)


def test_offsets_below_the_high_watermark_after_the_end(tmp_path: Path) -> None:
    """The log was longer once."""
    folder = log(tmp_path, {0: run_of(0, 50)})
    tmp_path.joinpath("replication-offset-checkpoint").write_text("0\n1\nt 0 72\n", encoding="utf-8")
    assert losses(read(folder)[1]) == [(50, 71, "gap")]
    assert losses(read(folder, end_offset=30)[1]) == []


def test_export_reports_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text and as JSON, each gap once."""
    folder = log(tmp_path, {0: run_of(0, 50), 100: run_of(100, 150)})
    target = tmp_path / "out.jsonl"
    assert run(["export", str(folder), "-o", str(target), "--json"]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["missing"] == [
        {
            "topic": "t",
            "partition": 0,
            "firstOffset": 50,
            "lastOffset": 99,
            "segment": str(folder / f"{0:020}.log"),
            "reason": "gap",
        }
    ]
    assert err == "kafkacomp: missing: t-0: offsets 50 to 99 (gap)\n"
