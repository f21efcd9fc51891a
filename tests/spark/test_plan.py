"""Tasks of a batch read, without starting Spark: pieces of segments, what is not opened, offsets, times, paths."""

from __future__ import annotations

import datetime as dt
import json
import operator
import pickle
import random
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import fs

import kafkacomp as kc
from grouped import grouped
from kafkacomp._storage.discovery import find_in
from kafkacomp._storage.partition import AbortedRange
from kafkacomp._storage.remote_files import Remote
from kafkacomp._storage.stores import ArrowStore
from kafkacomp.record import RecordBatchBuilder
from kafkacomp.spark import KafkaCompDataSource
from kafkacomp.spark._options import parse
from kafkacomp.spark._plan import Pruning, SegmentPartition, _Aborted, plan, split_segment
from kafkacomp.spark._pushdown import pruning_of
from kafkacomp.spark._read import KafkaCompReader, read_task
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkacomp.typing import IsolationLevel

#: Where no vector has a log that is cut: every one of them.
LOGS = sorted(
    {
        path.parent
        for path in (Path(__file__).resolve().parents[1] / "vectors" / "modern").rglob("*.log")
        if not path.parent.parent.name.startswith("damaged")
    }
)


def reader_of(path: Path | str, **options: str) -> KafkaCompReader:
    source = KafkaCompDataSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    assert isinstance(reader, KafkaCompReader)
    return reader


def tasks_of(reader: KafkaCompReader) -> list[SegmentPartition]:
    return [each for each in reader.partitions() if isinstance(each, SegmentPartition)]


def tasks(path: Path | str, **options: str) -> list[SegmentPartition]:
    return tasks_of(reader_of(path, **options))


def rows(path: Path | str, **options: str) -> list[dict[str, Any]]:
    """All rows, task by task; reader and tasks travel as Spark sends them."""
    reader = pickle.loads(pickle.dumps(reader_of(path, **options)))  # noqa: S301 - our own
    found: list[dict[str, Any]] = []
    for task in pickle.loads(pickle.dumps(tasks_of(reader))):  # noqa: S301 - our own
        offsets = [row for batch in reader.read(task) for row in batch.to_pylist()]
        if offsets and "offset" in offsets[0]:
            known = [row["offset"] for row in offsets if row["offset"] is not None]
            assert known == sorted(known)
        found += offsets
    return found


def offsets(path: Path | str, **options: str) -> list[int]:
    return [row["offset"] for row in rows(path, columns="offset", **options)]


def scanned(path: Path, **arguments: Any) -> list[int]:
    return pa.table(kc.scan(path, columns=["offset"], **grouped(**arguments)))["offset"].to_pylist()  # type: ignore[no-any-return]


def make(folder: Path, topic: str = "t", *, count: int = 5000, segment_bytes: int = 1 << 30, seed: int = 1) -> Path:
    """A log of uncompressed records of several sizes, time rising by a second each."""
    random_ = random.Random(seed)
    values = [random_.randbytes(random_.choice([0, 10, 300, 5000])) for _ in range(count)]
    table = pa.table({"value": values, "timestamp": pa.array([each * 1000 for each in range(count)])})
    report = kc.write(table, folder, topic=topic, compression_type="none", segment_bytes=segment_bytes)
    return Path(report.path)


def forbid(segments: Iterable[Path]) -> None:
    """Put something in the place of files that cannot be opened by anybody, root neither."""
    for path in segments:
        path.unlink()
        with socket.socket(socket.AF_UNIX) as endpoint:
            endpoint.bind(str(path))


def logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


# ------------------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("split", [1, 30_000, 100_000, 1_000_000])
def test_pieces_hold_every_record_once(tmp_path: Path, split: int, indexed: bool) -> None:
    folder = make(tmp_path, count=2000)
    if not indexed:
        folder.joinpath(f"{0:020}.index").unlink()
    pieces = [each.partition.segments[0].range or (0, 0) for each in tasks(folder, splitSize=str(split))]
    size = logs(folder)[0].stat().st_size
    assert [begin for begin, _ in pieces] == [0, *(end for _, end in pieces[:-1])]
    assert pieces[-1][1] == size
    assert offsets(folder, splitSize=str(split)) == list(range(2000))
    if split > 1:  # near: a batch is 16 KB
        assert all(split <= end - begin < split + 20_000 for begin, end in pieces[:-1])
        assert abs(len(pieces) - size / split) <= 1 + size * 16_384 / split**2


@pytest.mark.parametrize("folder", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_pieces_of_real_logs(folder: Path, level: IsolationLevel) -> None:
    """Whatever brokers wrote: transactions that lie in several pieces, compaction, several formats."""
    wanted = pa.table(kc.scan(folder, isolation_level=level, options=kc.ScanOptions(timestamp_unit="us")))
    reader = reader_of(folder, splitSize="2000", isolationLevel=level, includeHeaders="true")
    found = [batch for task in tasks_of(reader) for batch in reader.read(task)]
    assert pa.Table.from_batches(found, schema=wanted.schema).equals(wanted)


@pytest.mark.parametrize("name", ["0.8.2.2/sp-snappy", "0.9.0.1/sp-gzip", "0.10.0.1/ct-lz4", "0.11.0.3/f0901103-lz4"])
def test_pieces_of_old_formats(small_vectors: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "old-0"
    folder.mkdir()
    shutil.copyfile(small_vectors / "legacy" / f"broker-{name}.log", folder / f"{0:020}.log")
    assert len(tasks(folder, splitSize="500")) > 2
    assert offsets(folder, splitSize="500") == scanned(folder)


def test_pieces_of_kafka_0_7(small_vectors: Path) -> None:
    folder = next(path.parent for path in sorted((small_vectors / "v07").rglob("*.kafka")))
    whole = pa.table(kc.scan(folder, columns=["offset", "value"])).to_pylist()
    assert len(tasks(folder, splitSize="300")) > 1
    assert rows(folder, splitSize="300", columns="offset,value") == whole


@pytest.mark.parametrize("seed", range(20))
def test_pieces_with_an_index_that_lies(tmp_path: Path, seed: int) -> None:
    """An index is checked against the segment: what it says can cost, never change what is read."""
    folder = make(tmp_path, count=500, seed=seed)
    index = folder / f"{0:020}.index"
    content = bytearray(index.read_bytes())
    random_ = random.Random(seed)
    for _ in range(random_.choice([1, 10, 200])):
        content[random_.randrange(len(content))] = random_.randrange(256)
    if seed % 2:  # in order, so that it is taken for one, but of other places
        step = random_.randrange(1, 3000)
        entries = range(1, len(content) // 8)
        content = bytearray(b"".join((each * 3).to_bytes(4) + (each * step).to_bytes(4) for each in entries))
    index.write_bytes(content)
    assert offsets(folder, splitSize="20000") == list(range(500))


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_damage_is_left_out_once(tmp_path: Path, seed: int, indexed: bool, mode: str) -> None:
    """Damage anywhere, sizes too: the pieces leave out what a scan of the whole leaves out, each once."""
    folder = make(tmp_path, count=500, seed=seed)
    log, random_ = logs(folder)[0], random.Random(seed)
    content = bytearray(log.read_bytes())
    batches = [each.position for each in kc.record.read_batches(bytes(content))]
    for _ in range(3):
        at = random_.choice(
            [random_.randrange(len(content)), random_.choice(batches) + random_.choice([8, 11, 16, 17])]
        )
        content[at] ^= 1 << random_.randrange(8)
    log.write_bytes(content)
    if not indexed:
        folder.joinpath(f"{0:020}.index").unlink()
    reader = kc.scan(folder, columns=["offset"], on_error="skip")
    wanted = pa.table(reader)["offset"].to_pylist()
    found = rows(folder, splitSize="20000", mode=mode, columns="offset,topic,segment,position,value,_corrupt_record")
    assert [row["offset"] for row in found if row["_corrupt_record"] is None] == wanted
    damage = [row for row in found if row["_corrupt_record"] is not None]
    skipped = [
        {
            "segment": str(log),
            "position": each.position,
            "length": each.length,
            "firstOffset": each.first_offset,
            "lastOffset": each.last_offset,
            "reason": "corrupt",
            "message": each.message,
        }
        for each in reader.report.skipped
    ]
    if mode == "DROPMALFORMED":
        assert not damage
        return
    assert sorted((json.loads(row["_corrupt_record"]) for row in damage), key=lambda each: each["position"]) == skipped
    assert all(
        (row["topic"], row["segment"], row["offset"], row["value"]) == ("t", str(log), None, None) for row in damage
    )
    assert sorted(row["position"] for row in damage) == [each["position"] for each in skipped]


def test_a_small_segment_is_not_opened_to_be_cut(tmp_path: Path) -> None:
    folder = make(tmp_path, count=200)
    forbid(logs(folder))
    assert len(tasks(folder)) == 1
    (partition,) = resolve(str(make(tmp_path / "other")))
    size = partition.segments[0].size
    for split in (size, size * 2 // 3 + 1):
        assert len(split_segment(partition.segments[0], parse({"path": "p", "splitSize": str(split)}))) == 1


# ------------------------------------------------------------------------------------- transactions


def transactional(folder: Path, *, segments: int = 1) -> list[int]:
    """A log of transactions of three producers that lie in and over one another; the offsets a consumer reads."""
    random_ = random.Random(segments)
    batches: list[tuple[int, bytes]] = []
    open_: dict[int, list[int]] = {}
    committed: list[int] = []
    offset = 0
    while offset < 3000:
        producer = random_.choice([7, 8, 9, -1])
        if producer in open_ and random_.random() < 0.2:
            is_commit = random_.random() < 0.5
            numbers = open_.pop(producer)
            committed += numbers if is_commit else []
            batches.append((offset, _marker(offset, producer, is_commit)))
            offset += 1
            continue
        count = random_.randrange(1, 20)
        plain: dict[str, Any] = (
            {} if producer < 0 else {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        )
        builder = RecordBatchBuilder(base_offset=offset, is_transactional=producer >= 0, **plain)
        for each in range(count):
            builder.append(b"%d" % (offset + each), timestamp=each)
        batches.append((offset, builder.build()))
        numbers = list(range(offset, offset + count))
        committed += numbers if producer < 0 else []
        if producer >= 0:
            open_[producer] = open_.get(producer, []) + numbers
        offset += count
    stable = min((numbers[0] for numbers in open_.values()), default=offset)
    folder.mkdir(parents=True)
    size = -(-len(batches) // segments)
    for start in range(0, len(batches), size):
        piece = batches[start : start + size]
        (folder / f"{piece[0][0]:020}.log").write_bytes(b"".join(data for _, data in piece))
    return sorted(each for each in committed if each < stable)


def _marker(offset: int, producer: int, is_commit: bool) -> bytes:
    builder = RecordBatchBuilder(
        base_offset=offset, producer_id=producer, producer_epoch=0, is_transactional=True, is_control_batch=True
    )
    builder.append_end_txn_marker(is_commit=is_commit, timestamp=0)
    return builder.build()


@pytest.mark.parametrize("segments", [1, 2, 7])
@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_transactions_over_pieces(tmp_path: Path, segments: int, mode: str) -> None:
    folder = tmp_path / "t-0"
    wanted = transactional(folder, segments=segments)
    options = {"isolationLevel": "read_committed", "splitSize": "1500", "mode": mode}
    assert len(tasks(folder, **options)) > 10
    assert offsets(folder, **options) == wanted
    assert scanned(folder, isolation_level="read_committed") == wanted
    start = json.dumps({"t": {"0": 1000}})
    assert offsets(folder, startingOffsets=start, **options) == [each for each in wanted if each >= 1000]


def test_tasks_know_of_their_transactions_alone(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    transactional(folder, segments=7)
    found = tasks(folder, isolationLevel="read_committed")
    everything = {entry for each in found for entry in (each.partition.transactions or (None, []))[1]}
    assert all(len((each.partition.transactions or (None, []))[1]) < len(everything) for each in found)


# ------------------------------------------------------------------------------------- offsets


class Counted(list[int]):
    """Counts what is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        Counted.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("shape", ["short", "one over all", "nested", "of one length"])
def test_aborted_transactions_are_found_without_a_look_at_all(shape: str) -> None:
    """Many transactions, many ranges: n log n looks, and what a search one by one finds."""
    total, width = 20_000, 10
    number = {"short": 0, "one over all": total, "nested": total, "of one length": 5_000}[shape]
    transactions = [AbortedRange(n, n, n + 3) for n in range(0, total, 2)]
    if shape == "one over all":
        transactions.append(AbortedRange(-1, 0, number))
    elif shape == "nested":
        transactions += [AbortedRange(total + n, n, number - n) for n in range(50)]
    elif shape == "of one length":
        transactions = [AbortedRange(n, n, n + number) for n in range(total // 2, total // 2 + 500)]
    aborted = _Aborted(transactions)
    aborted._latest = Counted(aborted._latest)
    Counted.looks, results = 0, 0
    for start in range(0, total, width):
        found = aborted.reaching_into(start, start + width)
        results += len(found)
        if start % 1000 == 0:
            naive = [each for each in transactions if each[2] >= start and each[1] < start + width]
            assert sorted(found) == sorted(naive)
            assert [each[2] for each in found] == sorted(each[2] for each in found)
    assert Counted.looks <= (results + total // width) * 2 * 16
    assert sorted(aborted.reaching_into(None, None)) == sorted(transactions)
    assert _Aborted([]).reaching_into(0, 10) == []


def test_segments_outside_the_offsets_are_not_opened(tmp_path: Path) -> None:
    folder = make(tmp_path, count=2000, segment_bytes=200_000)
    files = logs(folder)
    assert len(files) > 10
    bases = [int(each.stem) for each in files]
    start, end = bases[4] + 3, bases[6]
    forbid(files[:4] + files[6:])
    bounds = {
        "startingOffsets": json.dumps({"t": {"0": start}}),
        "endingOffsets": json.dumps({"t": {"0": end}}),
    }
    assert offsets(folder, splitSize="50000", **bounds) == list(range(start, end))


def test_topics_that_are_not_asked_for_are_not_opened(tmp_path: Path) -> None:
    for name in ("orders", "orders-eu", "payments"):
        make(tmp_path, name, count=100)
    forbid(logs(tmp_path / "payments-0") + logs(tmp_path / "orders-eu-0"))
    for options in (
        {"subscribe": "orders"},
        {"topic": "orders"},
        {"subscribePattern": "order."},
        {"assign": '{"orders": [0]}'},
    ):
        assert offsets(tmp_path, **options) == list(range(100)), options
    assert tasks(tmp_path, subscribePattern="order") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"subscribe": "orders,refunds"},
            "subscribe: the source does not have refunds: expected some of orders, payments",
        ),
        ({"topic": "refunds"}, "topic: the source does not have refunds: expected some of orders, payments"),
        (
            {"assign": '{"orders": [0, 3]}'},
            "assign: the source does not have orders-3: expected some of orders-0, payments-0",
        ),
        ({"partition": "3"}, "partition: the source does not have 3: expected some of 0"),
    ],
)
def test_what_is_asked_for_and_not_there(tmp_path: Path, options: dict[str, str], message: str) -> None:
    make(tmp_path, "orders", count=1)
    make(tmp_path, "payments", count=1)
    with pytest.raises(ValueError, match=message):
        tasks(tmp_path, **options)


@pytest.mark.parametrize("name", ["startingOffsets", "endingOffsets"])
def test_an_offset_out_of_range(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path, count=300, segment_bytes=100_000)
    (first, second, *_) = logs(folder)
    first.unlink()
    base = int(second.stem)

    def at(offset: int, **options: str) -> list[int]:
        return offsets(folder, **{name: json.dumps({"t": {"0": offset}}), **options})

    for offset in (base, base + 1, 299, 300):
        assert at(offset) == list(range(offset, 300) if name == "startingOffsets" else range(base, offset))
    with pytest.raises(ValueError, match=f"{name}: offset {base - 1} of t-0 is out of range: the log begins at {base}"):
        at(base - 1)
    with pytest.raises(ValueError, match=f"{name}: offset 301 of t-0 is out of range: the log ends at 300"):
        at(301)
    everything = list(range(base, 300))
    assert at(base - 1, failOnDataLoss="false") == (everything if name == "startingOffsets" else [])
    assert at(301, failOnDataLoss="false") == ([] if name == "startingOffsets" else everything)


def test_the_end_of_a_log_that_is_reserved_or_cut(tmp_path: Path) -> None:
    """Zeros that a broker reserved, and a batch that it is writing, do not hide where the log ends."""
    folder = make(tmp_path, count=100)
    log = logs(folder)[0]
    whole = log.read_bytes()
    for tail in (b"", bytes(100_000), whole[:200]):
        log.write_bytes(whole + tail)
        with pytest.raises(ValueError, match="the log ends at 100"):
            tasks(folder, startingOffsets='{"t": {"0": 101}}')
        assert tasks(folder, startingOffsets='{"t": {"0": 100}}')


# ------------------------------------------------------------------------------------- times


def test_times_lead_to_offsets(tmp_path: Path) -> None:
    folder = make(tmp_path, count=2000, segment_bytes=200_000)
    for time, offset in ((0, 0), (1, 1), (1000, 1), (777_000, 777), (777_001, 778), (1_999_000, 1999)):
        assert offsets(folder, startingTimestamp=str(time)) == list(range(offset, 2000))
        assert offsets(folder, endingTimestamp=str(time)) == list(range(offset))
        by_partition = {"startingOffsetsByTimestamp": json.dumps({"t": {"0": time}})}
        assert offsets(folder, **by_partition) == list(range(offset, 2000))
    assert offsets(folder, endingTimestamp="1999001") == list(range(2000))
    with pytest.raises(ValueError, match="t-0 has no record with the starting timestamp 1999001 or later; with"):
        tasks(folder, startingTimestamp="1999001")
    assert offsets(folder, startingTimestamp="1999001", startingOffsetsByTimestampStrategy="latest") == []
    # The first of these counts, as in the Kafka source.
    both = {"startingTimestamp": "5000", "startingOffsets": '{"t": {"0": 9}}'}
    assert offsets(folder, **both) == list(range(5, 2000))


def test_segments_after_the_times_are_not_opened(tmp_path: Path) -> None:
    """Of those before, the headers are read: a time index on the local disk may be wrong, and is a hint only."""
    folder = make(tmp_path, count=2000, segment_bytes=200_000)
    files = logs(folder)
    bases = [int(each.stem) for each in files]
    forbid(files[7:])
    found = offsets(folder, startingTimestamp=str(bases[4] * 1000 + 1), endingTimestamp=str(bases[6] * 1000 + 1))
    assert found == list(range(bases[4] + 1, bases[6] + 1))


@pytest.mark.parametrize("indexed", [True, False])
def test_times_that_do_not_rise(tmp_path: Path, indexed: bool) -> None:
    """The first record that is late enough, and all behind it, however early they are: as a broker answers."""
    random_ = random.Random(3)
    times = [random_.randrange(1_000_000) for _ in range(3000)]
    table = pa.table({"value": [b"x" * 100] * 3000, "timestamp": pa.array(times)})
    folder = Path(
        kc.write(table, tmp_path, topic="t", segment_bytes=30_000, batch_bytes=1000, compression_type="none").path
    )
    assert len(logs(folder)) > 5
    if not indexed:
        for path in (*folder.glob("*.timeindex"), *folder.glob("*.index")):
            path.unlink()
    for time in (0, 500_000, 999_000, sorted(times)[-2], max(times)):
        first = next(index for index, each in enumerate(times) if each >= time)
        assert offsets(folder, startingTimestamp=str(time)) == list(range(first, 3000))


def test_offsets_and_times_by_partition(tmp_path: Path) -> None:
    make(tmp_path, "a", count=50)
    make(tmp_path, "b", count=50)
    with pytest.raises(ValueError, match="startingOffsetsByTimestamp has no b-0; every partition must be named"):
        tasks(tmp_path, startingOffsetsByTimestamp='{"a": {"0": 5}}')
    bounds = {"startingOffsets": '{"a": {"0": 45}, "b": {"0": -2}}', "endingOffsets": '{"a": {"0": -1}, "b": {"0": 5}}'}
    found = [(row["topic"], row["offset"]) for row in rows(tmp_path, columns="topic,offset", **bounds)]
    assert found == [*(("a", each) for each in range(45, 50)), *(("b", each) for each in range(5))]
    assert offsets(tmp_path, subscribe="a", startingOffsets='{"a": {"0": 49}}') == [49]


# ------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("scheme", ["", "file://", "local://"])
def test_paths_with_wildcards(tmp_path: Path, scheme: str) -> None:
    for broker in ("one", "two"):
        for topic in ("orders", "orders-eu", "payments"):
            make(tmp_path / broker, topic, count=10)
        (tmp_path / broker / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    (tmp_path / "one" / "orders-empty").mkdir()

    def found(pattern: str, **options: str) -> list[str]:
        folders = [
            Path(each.partition.segments[0].name).parent for each in tasks(f"{scheme}{tmp_path}/{pattern}", **options)
        ]
        return ["/".join(each.parts[-2:]) for each in folders]

    assert found("*/orders-*") == ["one/orders-0", "one/orders-eu-0", "two/orders-0", "two/orders-eu-0"]
    assert found("o*/orders-[0-9]") == ["one/orders-0"]
    assert found("{one,two}/{orders,payments}-0") == [
        "one/orders-0",
        "one/payments-0",
        "two/orders-0",
        "two/payments-0",
    ]
    assert found("two/payments-?") == ["two/payments-0"]
    assert found("*/[^o]*-0") == ["one/payments-0", "two/payments-0"]
    assert found("one/*") == ["one/orders-0", "one/orders-eu-0", "one/payments-0"]
    assert found("*/orders-0/*") == ["one/orders-0", "two/orders-0"]
    assert found("*/payments-0/*.log") == ["one/payments-0", "two/payments-0"]
    assert found("*", subscribe="payments") == ["one/payments-0", "two/payments-0"]
    with pytest.raises(FileNotFoundError, match=r"nothing matches this path: '.*/\*/refunds-\*'"):
        found("*/refunds-*")
    with pytest.raises(FileNotFoundError, match=r"no Kafka log segments in the matches of this path: '.*orders-em\*'"):
        found("one/orders-em*")


def test_a_name_with_wildcards_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "backup[1]"
    make(folder, count=5)
    assert offsets(folder) == list(range(5))


def test_files_by_name(tmp_path: Path) -> None:
    """Segments by their files' names; in what is left out, transactions may still end."""
    folder = make(tmp_path, count=1000, segment_bytes=200_000)
    names = [each.name for each in logs(folder)]
    for pattern in (names[1], "*[13579].log", f"{{{names[0]},{names[2]}}}"):
        found = [Path(each.partition.segments[0].name).name for each in tasks(folder, pathGlobFilter=pattern)]
        assert found == [name for name in names if name in pattern or (name[-5] in "13579" and "*" in pattern)]
    assert tasks(folder, pathGlobFilter="*.kafka") == []
    for pattern in ("[0", "{a", "{a,{b}.log"):
        with pytest.raises(ValueError, match="has a bracket or brace that is not closed"):
            tasks(folder, pathGlobFilter=pattern)
    other = tmp_path / "txn-0"
    wanted = transactional(other, segments=7)
    base, following = (int(each.stem) for each in logs(other)[2:4])
    found_offsets = offsets(other, pathGlobFilter=f"{base:020}*", isolationLevel="read_committed")
    assert found_offsets == [each for each in wanted if base <= each < following]


def test_several_paths(tmp_path: Path) -> None:
    paths = [str(make(tmp_path / name, name, count=5)) for name in ("a", "b")]
    source = KafkaCompDataSource({"paths": json.dumps(paths), "columns": "topic,offset"})
    reader = source.reader(source.schema())
    found = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]  # type: ignore[union-attr]
    assert found == [{"topic": name, "offset": each} for name in "ab" for each in range(5)]


def test_a_file_system_of_pyarrow_is_opened_in_the_task(tmp_path: Path) -> None:
    folder = make(tmp_path, count=1000)
    (partition,) = find_in(Remote(ArrowStore(fs.LocalFileSystem())), str(folder))
    options = parse({"path": "p", "columns": "offset", "splitSize": "100000"})
    pieces = split_segment(partition.segments[0], options)
    assert len(pieces) > 5
    found = []
    for piece in pieces:
        partition.segments = [piece]
        task = pickle.loads(pickle.dumps(SegmentPartition(partition, None, None)))  # noqa: S301 - our own
        found += [row["offset"] for batch in read_task(options, task) for row in batch.to_pylist()]
    assert found == list(range(1000))


# ------------------------------------------------------------------------------------- a query's filters


@pytest.mark.spark_since("4.1")
def test_filters_leave_out_nothing_that_they_let_through() -> None:
    """Random filters against random records: what is pruned does not match, and something is pruned."""
    from pyspark.sql import datasource as ds  # noqa: PLC0415 - older ones have no filters

    random_ = random.Random(11)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "EqualTo": operator.eq,
        "EqualNullSafe": operator.eq,
        "GreaterThan": operator.gt,
        "GreaterThanOrEqual": operator.ge,
        "LessThan": operator.lt,
        "LessThanOrEqual": operator.le,
        "In": lambda found, wanted: found in wanted,
    }

    def value(name: str) -> Any:
        if name == "topic":
            return random_.choice("abc")
        number = random_.randrange(10)
        return epoch + dt.timedelta(microseconds=number * 700) if name == "timestamp" else number

    pruned = 0
    for _ in range(3000):
        filters: list[Any] = [ds.IsNotNull(("offset",)), ds.StringStartsWith(("topic",), ""), ds.IsNull(("key",))]
        chosen = []
        for _ in range(random_.randrange(1, 4)):
            name, kind = random_.choice(["topic", "partition", "offset", "timestamp"]), random_.choice([*tests])
            wanted = (value(name), value(name)) if kind == "In" else value(name)
            chosen.append((name, kind, wanted))
            filters.append(getattr(ds, kind)((name,), wanted))
        record = {name: value(name) for name in ("topic", "partition", "offset", "timestamp")}
        left = pruning_of(filters)
        time = (record["timestamp"] - epoch) // dt.timedelta(milliseconds=1)
        is_read = (
            (left.topics is None or record["topic"] in left.topics)
            and (left.partitions is None or record["partition"] in left.partitions)
            and (left.start_offset is None or left.start_offset <= record["offset"])
            and (left.end_offset is None or record["offset"] < left.end_offset)
            and (left.start_timestamp is None or left.start_timestamp <= time)
            and (left.end_timestamp is None or time < left.end_timestamp)
        )
        matches = all(tests[kind](record[name], wanted) for name, kind, wanted in chosen)
        assert is_read or not matches, (filters, record, left)
        pruned += not is_read
    assert pruned > 1000


def test_filters_on_the_offsets_of_0_7_rule_out_nothing(small_vectors: Path) -> None:
    """An entry begins before the offsets of its records; the filter is evaluated by Spark."""
    folder = next(path.parent for path in sorted((small_vectors / "v07").rglob("*.kafka")))
    options = parse({"path": str(folder)})
    whole = plan(options)
    assert [vars(each) for each in plan(options, Pruning(start_offset=100, end_offset=101))] == [
        vars(each) for each in whole
    ]
    assert plan(options, Pruning(topics=frozenset(["no-such-topic"]))) == []
