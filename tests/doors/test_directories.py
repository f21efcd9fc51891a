"""The answer about a directory of partitions is the sum of the answers about its folders, through every door."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import kafkacomp as kc
from corruption.inject import KINDS, applies, inject
from corruption.logs import all_logs, built
from corruption.tools import command
from doors.answers import COLUMNS, Row, Source, row_of
from doors.compare import may_grow
from doors.copies import COPIES
from doors.readers import LENIENT, READERS, scanned
from doors.reporters import described, verified
from golden.expect import SMALL
from missing_ranges import Range, ranges_of
from spark.growing import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Owner = tuple[str, int]
Rows = dict[Owner, list[Row]]
Ranges = dict[Owner, list[Range]]

OWNED = ["topic", "partition", *COLUMNS]
INTACT = ["restarts-0", "compact-txn-0", "logappendtime-recompressed-0", "prealloc-zstd-0", "txn-open-0"]
DAMAGED = ["damaged-restarts-flipped-body-0", "damaged-restarts-garbage-tail-0"]
#: Corrupt and missing data in two partitions of one topic.
INJECTED = ["flipped bit: crc", "middle segment deleted"]
#: What only a directory has, or what is no number that can be added.
NO_SUM = {"isExact", "isMinimum", "isVerified", "firstTimestamp", "lastTimestamp", "ratio", "counts", "topics"}


def directory(folder: Path, *, is_readable: bool) -> Path:
    """A log directory; with corrupt partitions unless strict readers are to read all of it."""
    target = folder / "logs"
    target.mkdir()
    found = {path.name: path for path in (SMALL / "modern").glob("*/*-*") if path.is_dir()}
    for name in INTACT if is_readable else [*INTACT, *DAMAGED]:
        shutil.copytree(found[name], target / name)
    for number, kind in enumerate(INJECTED[is_readable:]):
        injected = inject(built(2, "lz4"), kind, random.Random(f"directory {kind}"))
        injected.write(folder / str(number)).rename(target / f"topic-{number}")
    return target


def random_directory(folder: Path, rng: random.Random) -> Path:
    """Partitions of a few topics with random damage."""
    target = folder / "logs"
    target.mkdir()
    kinds = sorted(KINDS)
    for number in range(5):
        log = rng.choice(all_logs())
        kind = rng.choice([each for each in kinds if applies(each, log)])
        written = inject(log, kind, rng).write(folder / str(number))
        written.rename(target / f"topic-{number % 3}-{number}")
    return target


def owner_of(folder: Path) -> Owner:
    """Topic and partition of a folder."""
    topic, _, partition = folder.name.rpartition("-")
    return topic, int(partition)


def owned(batches: Iterable[Any]) -> Rows:
    """The rows of Arrow batches by partition."""
    found: Rows = {}
    for batch in batches:
        for row in batch.to_pylist():
            found.setdefault((row["topic"], row["partition"]), []).append(row_of(*(row[name] for name in COLUMNS)))
    return found


def owned_ranges(missing: Iterable[Any]) -> Ranges:
    """Missing ranges by partition."""
    found: dict[Owner, list[Any]] = {}
    for each in missing:
        owner = (each["topic"], each["partition"]) if isinstance(each, dict) else (each.topic, each.partition)
        found.setdefault(owner, []).append(each)
    return {owner: ranges_of(ranges) for owner, ranges in found.items()}


def by_folder(root: Path, work: Path) -> tuple[Rows, Ranges]:
    """The rows and missing ranges of each folder by itself, where there are any."""
    answers = {owner_of(path): READERS["scan, skip"](Source(path, work)) for path in sorted(root.iterdir())}
    rows = {owner: each.rows for owner, each in answers.items() if each.rows}
    return rows, {owner: each.missing for owner, each in answers.items() if each.missing}


def check_readers(root: Path, work: Path) -> None:
    """Everything that delivers rows or names what is missing."""
    rows, missing = by_folder(root, work)
    for source in (root, kc.LogDir(root)):
        reader = kc.scan(source, columns=OWNED, on_error="skip")
        assert (owned(reader), owned_ranges(reader.report.missing)) == (rows, missing)
    assert owned(kc.polars.scan(root, on_error="skip").select(OWNED).collect().to_arrow().to_batches()) == rows
    target = work / "rows.parquet"
    _, out, _ = command("export", root, "-o", target, "--json", "--columns", ",".join(OWNED), "--on-error", "skip")
    assert owned(pq.ParquetFile(target).iter_batches()) == rows
    assert owned_ranges(json.loads(out)["missing"]) == missing
    assert owned_ranges(kc.LogDir(root).verify().missing) == missing
    for split_size in ("300", "4k", "1g"):
        assert owned(spark_batches(root, splitSize=split_size)) == rows
    stream = Stream(root, LENIENT)
    stream.run()
    found: dict[Owner, list[int]] = {}
    for topic, partition, offset in stream.rows:
        found.setdefault((topic, partition), []).append(offset)
    for path in root.iterdir():
        alone = Source(path, work)
        if not may_grow(alone, scanned(alone).error):
            assert found.pop(owner_of(path), []) == [row[0] for row in rows.get(owner_of(path), [])]
    assert all(offsets == [row[0] for row in rows[owner]][: len(offsets)] for owner, offsets in found.items())


def spark_batches(root: Path, **options: str) -> Iterable[Any]:
    """A batch read of Spark's data source."""
    from kafkacomp.spark import KafkaCompDataSource  # noqa: PLC0415 - takes a second

    source = KafkaCompDataSource({"path": str(root), "columns": ",".join(OWNED), **LENIENT, **options})
    reader: Any = source.reader(source.schema())
    return (batch for task in reader.partitions() for batch in reader.read(task))


def check_reports(root: Path, work: Path) -> None:
    """Each number is the sum of those of the folders."""
    folders = [Source(path, work) for path in sorted(root.iterdir())]
    whole = verified(Source(root, work)).counts
    parts = [verified(each).counts for each in folders]
    assert numbers(whole) == sum(map(numbers, parts), Counter())
    for name in ("errors", "warnings", "missing", "files"):
        assert without_order(whole[name]) == without_order([one for part in parts for one in part[name]]), name
    assert by_codec([whole]) == by_codec(parts)
    assert whole["ok"] == all(part["ok"] for part in parts)
    for options in ([], ["--deep"]):
        status, out, _ = command("info", root, "--json", *options)
        info = json.loads(out)
        described_ones = [described(each, *options).counts for each in folders]
        assert status == max(each["status"] for each in described_ones)
        assert numbers(info) - Counter(bytesRead=info["bytesRead"]) == sum(map(sums, described_ones), Counter())
        partitions = [one for topic in info["topics"] for one in topic["partitions"]]
        assert without_order(partitions) == without_order([without_status(each) for each in described_ones])
        times = [
            [each[name] for each in described_ones if each[name] is not None]
            for name in ("firstTimestamp", "lastTimestamp")
        ]
        assert (info["firstTimestamp"], info["lastTimestamp"]) == (min(times[0]), max(times[1]))
        assert info["isExact"] == all(each["isExact"] for each in described_ones)


def by_codec(reports: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """The counts of batches and records by topic and codec."""
    found: Counter[tuple[str, str, str]] = Counter()
    for each in (counts for report in reports for counts in report["counts"]):
        for name, number in numbers(each).items():
            found[each["topic"], each["compressionType"], name] += number
    return found


def numbers(report: dict[str, Any]) -> Counter[str]:
    """What can be added."""
    return Counter(
        {
            name: each
            for name, each in report.items()
            if type(each) is int and name not in NO_SUM | {"status", "partition"}
        }
    )


def sums(partition: dict[str, Any]) -> Counter[str]:
    """The numbers of a partition that its directory has, too."""
    found = numbers(partition)
    for name in ("firstOffset", "lastOffset", "logStartOffset", "highWatermark", "moreMissing"):
        del found[name]
    return found


def without_status(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in counts.items() if name != "status"}


def without_order(items: list[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in items)


@pytest.mark.parametrize("is_readable", [False, True])
def test_readers(is_readable: bool, tmp_path: Path) -> None:
    check_readers(directory(tmp_path, is_readable=is_readable), tmp_path)


@pytest.mark.parametrize("is_readable", [False, True])
def test_reports(is_readable: bool, tmp_path: Path) -> None:
    check_reports(directory(tmp_path, is_readable=is_readable), tmp_path)


def test_dump(tmp_path: Path) -> None:
    root = directory(tmp_path, is_readable=False)
    for options in ([], ["--deep"]):
        _, whole, _ = command("dump", root, "--json", *options)
        parts = [command("dump", path, "--json", *options)[1] for path in sorted(root.iterdir())]
        assert sorted(whole.splitlines()) == sorted(line for part in parts for line in part.splitlines())


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str, tmp_path: Path) -> None:
    """The copy of a directory has the folders that the copies of its folders are."""
    root = directory(tmp_path, is_readable=name != "repair")
    whole = COPIES[name](Source(root, tmp_path))
    assert whole.error is None
    files: dict[str, dict[str, bytes]] = {}
    for path in sorted(root.iterdir()):
        work = tmp_path / "alone" / path.name
        work.mkdir(parents=True)
        assert COPIES[name](Source(path, work)).error is None
        (written,) = work.iterdir()
        files[path.name] = contents(written)
    (target,) = (path for path in tmp_path.iterdir() if path.name.startswith(name[:6]) and path.is_dir())
    assert {path.name: contents(path) for path in target.iterdir() if path.is_dir()} == files


def contents(folder: Path) -> dict[str, bytes]:
    """The log files of a partition."""
    return {path.name: path.read_bytes() for path in folder.glob("*.log")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_directories(seed: int, tmp_path: Path) -> None:
    root = random_directory(tmp_path, random.Random(f"directory {seed}"))
    check_readers(root, tmp_path)
    check_reports(root, tmp_path)
