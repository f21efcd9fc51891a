"""Counts and times of ``LogDir.info`` are those of the records, or the summary says that they are not."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kafkacomp as kc
from golden.expect import label, roots
from golden.tiered import TieredCase, cases
from grouped import grouped
from healthy_logs import HealthyLog, MadeBatch, batch_of, random_log
from kafkacomp import message_set
from kafkacomp._cli.command import run
from kafkacomp.log._describe import describe_partition
from kafkacomp.tiered.resolve import TieredOptions
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkacomp._storage.partition import Partition
    from kafkacomp.log import LogDirInfo, PartitionInfo


def vectors() -> Iterator[object]:
    """The folders of partitions, and the files that are in no folder of a partition."""
    for name in ("modern", "modern-4.4", "internal", "legacy", "v07"):
        for root in roots(name):
            files = [*root.rglob("*.log"), *root.rglob("*.kafka")]
            for path in sorted({each.parent if each.stem.isdecimal() else each for each in files}):
                yield of_set(path, root, f"{label(root)}-{'/'.join(path.parts[-3:])}")


def of_set(case: object, root: Path, name: str) -> object:
    """A case of the small set of vectors, or of the full one, which is slow."""
    return pytest.param(case, id=name, marks=[] if label(root) == "small" else [pytest.mark.slow])


ONE_CASE = pytest.mark.parametrize("case", [of_set(each, each.cluster, str(each)) for each in cases()])


def scanned(source: Any, **options: Any) -> pa.Table:
    return pa.table(kc.scan(source, columns=["offset", "timestamp"], on_error="skip", **grouped(**options)))


def times_of(rows: pa.Table) -> tuple[int | None, int | None]:
    """The least and the greatest timestamp of the records that have one."""
    times = rows.column("timestamp").cast(pa.int64()).drop_null()
    times = times.filter(pc.not_equal(times, -1))
    return pc.min(times).as_py(), pc.max(times).as_py()


def by_format(found: LogDirInfo | PartitionInfo, name: str) -> Counter[tuple[str, str]]:
    return Counter({(each.message_format, each.compression_type): getattr(each, name) for each in found.counts})


def check_log(log: HealthyLog, folder: Path) -> None:
    """Compare what ``info`` says about a log with what was written into it."""
    folder = log.write(folder)
    wanted = log.contents()
    rows = scanned(folder)
    assert rows.num_rows == wanted.records.total()
    plain, deep = kc.LogDir(folder).info(), kc.LogDir(folder).info(deep=True)
    assert deep.is_exact
    for name in ("batches", "records", "stored_bytes", "records_bytes"):
        assert by_format(deep, name) == getattr(wanted, name), name
    assert (deep.records, deep.control_records) == (rows.num_rows, wanted.control_records)
    assert (deep.first_timestamp, deep.last_timestamp) == times_of(rows)
    assert (deep.first_timestamp, deep.last_timestamp) == (
        min(wanted.times, default=None), max(wanted.times, default=None),
    )  # fmt: skip
    with_time = len(wanted.times)
    if deep.first_timestamp is not None:
        assert scanned(folder, start_time=deep.first_timestamp).num_rows == with_time
    # A batch after a gap may have a wrong offset.
    has_gaps = any(each.reason == "gap" for each in plain.partitions[0].missing)
    assert plain.is_exact == (not log.has_wrappers and not log.has_overlaps and not has_gaps)
    if plain.is_exact:
        assert (plain.records, plain.control_records) == (rows.num_rows, wanted.control_records)
        for name in ("batches", "records", "stored_bytes"):
            assert by_format(plain, name) == getattr(wanted, name), name
    assert plain.records >= rows.num_rows


@pytest.mark.parametrize("seed", range(60))
def test_a_random_log(seed: int, tmp_path: Path) -> None:
    check_log(random_log(random.Random(f"info {seed}")), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_random_logs(part: int, tmp_path: Path) -> None:
    rng = random.Random(f"info, many logs {part}")
    for number in range(200):
        check_log(random_log(rng), tmp_path / str(number))


def test_bytes_of_formats_are_not_shared_out(tmp_path: Path) -> None:
    """Two formats with the same codec: each has its own bytes and ratio."""
    records = [(offset, 1_700_000_000_000 + offset) for offset in range(100)]
    compressible = batch_of(1, "lz4", records[:50], b"x" * 500)
    noise = random.Random(1).randbytes(500)
    other = batch_of(2, "lz4", records[50:51], noise)
    HealthyLog([(0, [compressible, other])]).write(tmp_path)
    found = {each.message_format: each for each in kc.LogDir(tmp_path).info(deep=True).counts}
    for each in (compressible, other):
        counts = found[str(each.magic)]
        assert (counts.batches, counts.records) == (1, len(each.records))
        assert (counts.stored_bytes, counts.records_bytes) == (len(each.data), each.records_bytes)
    assert (found["1"].ratio or 0) > 10
    assert (found["2"].ratio or 0) < 2


def test_a_marker_has_no_time_and_a_record_may_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The header has the timestamp of the first record of a batch; those after it may be earlier."""
    batch = batch_of(2, "none", [(0, 5000), (1, -1), (2, 3000), (3, 6000)], b"value")
    HealthyLog([(0, [batch, batch_of(2, "none", [(4, -1)], b"value")])]).write(tmp_path)
    plain, deep = kc.LogDir(tmp_path).info(), kc.LogDir(tmp_path).info(deep=True)
    assert (plain.first_timestamp, plain.last_timestamp, plain.is_verified) == (5000, 6000, False)
    assert (deep.first_timestamp, deep.last_timestamp, deep.is_verified) == (3000, 6000, True)
    assert run(["info", str(tmp_path)]) == 0
    assert "(of batch headers: records may be earlier)" in capsys.readouterr().out
    assert run(["info", "--deep", str(tmp_path)]) == 0
    assert "of batch headers" not in capsys.readouterr().out
    assert run(["info", "--deep", "--json", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["firstTimestamp"], found["isVerified"], found["topics"][0]["isVerified"]) == (3000, True, True)
    (segment,) = found["topics"][0]["partitions"][0]["files"]
    assert (segment["firstTimestamp"], segment["lastTimestamp"]) == (3000, 6000)


def test_a_log_without_timestamps(tmp_path: Path) -> None:
    HealthyLog([(0, [batch_of(2, "none", [(0, -1), (1, -1)], b"value")])]).write(tmp_path)
    for deep in (False, True):
        found = kc.LogDir(tmp_path).info(deep=deep)
        assert (found.first_timestamp, found.last_timestamp) == (None, None)


def overlapping() -> HealthyLog:
    """The second segment begins with the last batch of the first."""
    batches: list[MadeBatch] = [batch_of(2, "none", [(n, 1000 + n), (n + 1, 1001 + n)], b"value") for n in (0, 2, 4)]
    return HealthyLog([(0, batches[:2]), (2, batches[1:])], has_overlaps=True)


def test_overlapping_segments_are_not_counted_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlapping().write(tmp_path)
    plain, deep = kc.LogDir(tmp_path).info(), kc.LogDir(tmp_path).info(deep=True)
    assert (plain.records, plain.is_exact, plain.is_minimum) == (6, False, False)
    assert (deep.records, deep.is_exact) == (6, True)
    assert run(["info", str(tmp_path)]) == 0
    assert "about 6 records" in capsys.readouterr().out


def test_overlapping_segments_that_differ_are_no_exact_count(tmp_path: Path) -> None:
    log = overlapping()
    log.segments[1] = (2, [batch_of(2, "none", [(2, 7), (3, 8)], b"other"), *log.segments[1][1][1:]])
    log.write(tmp_path)
    assert not kc.LogDir(tmp_path).info().is_exact
    assert not kc.LogDir(tmp_path).info(deep=True).is_exact


def old_log(rng: random.Random, folder: Path) -> tuple[Path, dict[int, bytes], int]:
    """Write a partition of Kafka 0.7 with several codecs: its folder, its files, and its number of messages."""
    position, count, files = 0, 0, dict[int, bytes]()
    for _ in range(rng.randint(1, 3)):
        data = b""
        for _ in range(rng.randint(1, 6)):
            codec = rng.choice(["none", "gzip", "snappy"])
            messages = [b"message %d " % n * 9 for n in range(rng.randint(1, 50))]
            data += message_set.write_messages(messages, codec)
            count += len(messages)
        files[position] = data
        position += len(data)
    return write_old(files, folder), files, count


def write_old(files: dict[int, bytes], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for position, data in files.items():
        (folder / f"{position:020}.kafka").write_bytes(data)
    return folder


@pytest.mark.parametrize("seed", range(10))
def test_kafka_0_7(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrapper is at least one message; with ``deep`` they are counted."""
    folder, files, count = old_log(random.Random(f"old {seed}"), tmp_path / "t-0")
    plain, deep = kc.LogDir(folder).info(), kc.LogDir(folder).info(deep=True)
    has_wrappers = any(each.compression_type != "none" for each in plain.counts)
    assert (deep.records, deep.is_exact, deep.is_minimum) == (count, True, True)
    assert sum(each.stored_bytes for each in deep.counts) == sum(map(len, files.values()))
    assert plain.is_minimum
    assert plain.is_exact == (not has_wrappers)
    assert plain.records <= count
    assert run(["info", str(folder)]) == 0
    assert f"{'at least ' if has_wrappers else ''}{plain.records:,} record" in capsys.readouterr().out


def test_corrupt_kafka_0_7(tmp_path: Path) -> None:
    """Overwritten bytes, and a file that has the messages of the next one, too."""
    rng = random.Random("corrupt 0.7")
    for number in range(40):
        folder, files, _ = old_log(rng, tmp_path / f"{number}" / "t-0")
        name = rng.choice([*files])
        data = bytearray(files[name])
        if number % 2 and len(files) > 1:
            first, second, *_ = sorted(files)
            name, data = first, bytearray(files[first] + files[second])
        else:
            at = rng.randrange(len(data))
            data[at : at + 3] = rng.randbytes(len(data[at : at + 3]))
        (folder / f"{name:020}.kafka").write_bytes(data)
        rows = pa.table(
            kc.scan(folder, columns=["value"], on_error="skip", options=kc.ScanOptions(log_format="0.7"))
        ).num_rows
        plain, deep = kc.LogDir(folder).info(), kc.LogDir(folder).info(deep=True)
        reports = [each for part in deep.partitions if part.report for each in part.report.segments.values()]
        is_corrupt = any(each.corrupt_batches for each in reports)
        assert deep.records == rows or not deep.is_exact, number
        assert plain.records == rows or not plain.is_exact or is_corrupt, number
        assert plain.records <= rows or not plain.is_minimum or is_corrupt, number


def test_transactions_that_are_open_after_several_segments(tmp_path: Path) -> None:
    """One goes on in the second segment, one ends there, and one begins there after the end of another."""

    def of(producer_id: int, offset: int, *, is_end: bool = False) -> bytes:
        builder = kc.record.RecordBatchBuilder(
            base_offset=offset, producer_id=producer_id, producer_epoch=1, base_sequence=-1 if is_end else offset,
            is_transactional=True, is_control_batch=is_end,
        )  # fmt: skip
        if is_end:
            builder.append_end_txn_marker(is_commit=True, timestamp=offset)
        else:
            builder.append(b"value", timestamp=offset, offset=offset)
        return builder.build()

    (folder := tmp_path / "t-0").mkdir()
    (folder / f"{0:020}.log").write_bytes(of(1, 0) + of(2, 1) + of(3, 2))
    (folder / f"{3:020}.log").write_bytes(of(1, 3) + of(2, 4, is_end=True) + of(3, 5, is_end=True) + of(3, 6))
    for deep in (False, True):
        (partition,) = kc.LogDir(tmp_path).info(deep=deep).partitions
        assert [tuple(each) for each in partition.open_transactions] == [(1, 1, 0, 3, 0, 2), (3, 1, 6, 6, 6, 1)]


def check_partition(partition: Partition, *, is_intact: bool = True) -> None:
    """Compare both summaries of a partition with a scan."""
    rows = scanned(partition)
    deep, plain = describe_partition(partition, deep=True), describe_partition(partition)
    assert deep.report is not None
    is_corrupt = any(each.corrupt_batches for each in deep.report.segments.values())
    assert not is_intact or not is_corrupt
    assert deep.is_exact
    assert deep.records == rows.num_rows == sum(each.records for each in deep.counts)
    assert (deep.first_timestamp, deep.last_timestamp) == times_of(rows)
    if not is_corrupt:
        assert plain.records == rows.num_rows or not plain.is_exact
        assert plain.records <= rows.num_rows or not plain.is_minimum
        assert plain.corrupt_bytes == 0
        assert deep.open_transactions == plain.open_transactions
        assert deep.last_offset == plain.last_offset
    if deep.first_timestamp is not None:
        since = scanned(partition, start_time=deep.first_timestamp)
        with_time = pc.sum(pc.fill_null(pc.not_equal(rows.column("timestamp").cast(pa.int64()), -1), False))  # noqa: FBT003
        assert since.num_rows == with_time.as_py()


@pytest.mark.parametrize("path", list(vectors()))
def test_a_vector(path: Path) -> None:
    """Each file or folder of Kafka's own, also of those that were damaged."""
    for partition in resolve(str(path)):
        check_partition(partition, is_intact="damaged" not in str(path))


@ONE_CASE
def test_tiered_storage(case: TieredCase) -> None:
    """What a broker serves of the segments of several leaders."""
    known = TieredOptions.of(case.metadata, case.leader, case.keys)
    for partition in resolve(str(case.folder), tiered=known):
        check_partition(partition)
