"""Streaming reads without starting Spark: logs that grow at any byte, roll, are deleted; restarts; limits; loss."""

from __future__ import annotations

import json
import random
import shutil
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given
from hypothesis import strategies as st

import kafkacomp as kc
from kafkacomp._kafkacomp import LogFollower
from kafkacomp._storage.partition import Segment
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError
from kafkacomp.spark import KafkaCompDataSource, _stream, _watch
from kafkacomp.spark._offsets import limited, read_offsets, write_offsets
from kafkacomp.spark._stream import HAS_LIMITS
from spark.growing import GrowingLog, Stream
from spark.test_plan import logs, transactional

if TYPE_CHECKING:
    from collections.abc import Iterator

MODERN = Path(__file__).resolve().parents[1] / "vectors" / "modern"
OFFSETS = st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(0, 12)), st.integers(0, 1 << 62))


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone is looked for again, but not for a second in each test."""
    monkeypatch.setattr(_watch, "PAUSE", 0.001)
    monkeypatch.setattr("kafkacomp.spark._read.PAUSE", 0.001)


def make(folder: Path, topic: str = "t", *, count: int = 300, seed: int = 1, **settings: Any) -> Path:
    random_ = random.Random(seed)
    values = [random_.randbytes(random_.choice([0, 10, 300])) for _ in range(count)]
    table = pa.table({"value": values, "timestamp": pa.array([each * 1000 for each in range(count)])})
    chosen = {"segment_bytes": 8000, "batch_bytes": 900, "compression_type": "zstd", **settings}
    return Path(kc.write(table, folder, topic=topic, **chosen).path)


def steps(size: int, count: int, seed: int) -> list[int]:
    return [*sorted(random.Random(seed).randrange(size) for _ in range(count)), size]


# ------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("reserved", [0, 20_000])
@pytest.mark.parametrize("restarts", [0, 0.5])
def test_every_offset_once_however_the_log_grows(tmp_path: Path, indexed: bool, reserved: int, restarts: float) -> None:
    """A batch is there when its last byte is; what is torn is waited for."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "t-0", indexed=indexed, reserved=reserved)
    log.show(0)
    random_ = random.Random(2)
    stream = Stream(tmp_path / "t-0", {"splitSize": "2000"})
    torn = 0
    for size in steps(log.size, 80, seed=3):
        log.show(size)
        if random_.random() < restarts:
            stream.restart()
        stream.run()
        assert stream.offsets() == log.offsets(size), size
        torn += size not in {0, log.size}
    assert stream.offsets() == list(range(300))
    assert torn
    assert stream.run() == []


def test_a_file_system_of_fsspec_that_remembers(tmp_path: Path) -> None:
    """Many keep what they listed: a stream must not be told of yesterday."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "logs" / "t-0")
    log.show(0)
    fsspec.register_implementation("remembering", Remembering, clobber=True)
    stream = Stream(f"remembering://{tmp_path / 'logs'}")
    for size in steps(log.size, 20, seed=7):
        log.show(size)
        stream.run()
        assert stream.offsets() == log.offsets(size)


class Remembering(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Local files, with listings that are kept until they are called invalid, as those of object stores are."""

    protocol = ("remembering",)

    def ls(self, path: str, detail: bool = False, **_: Any) -> Any:  # noqa: FBT002 - as in fsspec
        """As it was when it was asked first."""
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True)
        return self.dircache[path] if detail else [each["name"] for each in self.dircache[path]]

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget it."""
        if path is None:
            self.dircache.clear()
        else:
            self.dircache.pop(path, None)


def test_every_byte_of_a_torn_batch(tmp_path: Path) -> None:
    log = GrowingLog(make(tmp_path / "finished", count=20, segment_bytes=1 << 20), tmp_path / "t-0")
    log.show(0)
    stream = Stream(tmp_path / "t-0")
    for size in range(log.size + 1):
        log.show(size)
        assert stream.latest(stream.position or {}) == {"t": {"0": len(log.offsets(size))}}
    assert [offset for _, _, offset in stream.run()] == list(range(20))


def test_a_torn_batch_that_is_one_of_batches(tmp_path: Path) -> None:
    """A value may hold record batches: what lies inside a torn batch is none of the log's."""
    inner = logs(make(tmp_path / "inner", count=40, base_offset=1000))[0].read_bytes()
    table = pa.table({"value": [b"first", inner, inner]})
    report = kc.write(table, tmp_path / "finished", topic="t", compression_type="none", batch_bytes=500)
    for mode in ("FAILFAST", "DROPMALFORMED"):
        log = GrowingLog(Path(report.path), tmp_path / mode / "t-0")
        log.show(0)
        stream = Stream(tmp_path / mode, {"mode": mode})
        for size in (*range(0, log.size, 97), log.size):
            log.show(size)
            stream.run()
            assert stream.offsets() == log.offsets(size)


@pytest.mark.parametrize("case", ["compact", "compact-txn", "txn-open", "kafkajs-snappy", "special-times"])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_logs_of_real_brokers(tmp_path: Path, case: str, level: Any) -> None:
    """Gaps that compaction left, transaction markers; never past an open transaction, never back."""
    folder = MODERN / case / f"{case}-0"
    log = GrowingLog(folder, tmp_path / f"{case}-0")
    log.show(0)
    stream = Stream(tmp_path, {"isolationLevel": level})
    for size in steps(log.size, 25, seed=4):
        log.show(size)
        if size % 2:
            stream.restart()
        stream.run()
    wanted = pa.table(kc.scan(folder, columns=["offset"], isolation_level=level))["offset"].to_pylist()
    assert stream.offsets() == wanted


@pytest.mark.parametrize("segments", [1, 5])
def test_read_committed_sees_what_is_stable(tmp_path: Path, segments: int) -> None:
    """At each moment: what a committed reader of the whole batches sees, and nothing of it twice."""
    transactional(tmp_path / "finished", segments=segments)
    log = GrowingLog(tmp_path / "finished", tmp_path / "logs" / "t-0")
    log.show(0)
    stream = Stream(tmp_path / "logs", {"isolationLevel": "read_committed"})
    open_ = 0
    for size in steps(log.size, 40, seed=5):
        log.show(size)
        if size % 3 == 0:
            stream.restart()
        stream.run()
        whole = tmp_path / "whole" / "t-0"
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir(parents=True)
        rest = size
        for path, data in log.segments:
            end = max((b.position + b.size_in_bytes for b in kc.record.read_batches(data[: max(rest, 0)])), default=0)
            (whole / path.name).write_bytes(data[:end])
            rest -= len(data)
        wanted = pa.table(kc.scan(whole, columns=["offset"], isolation_level="read_committed"))["offset"].to_pylist()
        assert stream.offsets() == wanted, size
        open_ += bool(wanted and wanted[-1] < log.offsets(size)[-1] - 100)
    assert open_, "no open transaction was met"


def test_partitions_that_come(tmp_path: Path) -> None:
    finished = [make(tmp_path / "finished", topic, seed=seed) for seed, topic in enumerate(("a", "a-b", "c"))]
    logs_ = [GrowingLog(folder, tmp_path / "shown" / folder.name) for folder in finished]
    for log in logs_:
        log.shown.rmdir()
    stream = Stream(tmp_path / "shown", {"startingOffsets": "latest"})
    assert stream.position == {}
    for number, log in enumerate(logs_):
        log.shown.mkdir()
        stream.run()  # a folder that has no segment yet
        for each in logs_[: number + 1]:
            each.show(each.size * (number + 1) // len(logs_))
        stream.run()
    for log in logs_:
        assert [offset for topic, _, offset in stream.rows if topic == log.shown.name[:-2]] == log.offsets(log.size)
    assert sorted({(topic, partition) for topic, partition, _ in stream.rows}) == [("a", 0), ("a-b", 0), ("c", 0)]


def test_topics_that_are_asked_for(tmp_path: Path) -> None:
    """One that is not there yet is waited for."""
    make(tmp_path, "other")
    stream = Stream(tmp_path, {"subscribe": "orders"})
    assert stream.run() == []
    make(tmp_path, "orders", count=5)
    assert stream.run() == [("orders", 0, each) for each in range(5)]


# ------------------------------------------------------------------------------------- what a look costs


class CountingFile:
    """A file of a file system of Python's, that remembers what was read of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads: list[tuple[int, int]] = []

    def open_segment(self) -> CountingFile:
        """Itself."""
        return self

    def side_file(self, suffix: str) -> None:
        """None is there."""
        raise AssertionError(f"{suffix} is not needed")

    def size(self) -> int:
        """Its length."""
        return self.path.stat().st_size

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Some of its bytes."""
        data = self.path.read_bytes()[offset : offset + nbytes]
        self.reads.append((offset, len(data)))
        return data


def test_a_look_reads_what_is_new(tmp_path: Path) -> None:
    log = GrowingLog(make(tmp_path / "finished", count=3000, segment_bytes=1 << 30), tmp_path / "t-0")
    log.show(log.size * 9 // 10)
    file = CountingFile(logs(tmp_path / "t-0")[0])
    follower = LogFollower(False)  # noqa: FBT003 - a position of the core's
    source = Segment(str(file.path), file, file.size(), base_offset=0, active=True)
    assert follower.follow(source, True, False) in {"end", "truncated"}  # noqa: FBT003
    before = follower.position
    assert before > 100_000
    file.reads.clear()
    assert follower.follow(source, False, False) in {"end", "truncated"}  # noqa: FBT003
    assert sum(length for _, length in file.reads) <= 2000  # nothing, or the head of a torn batch
    log.show(log.size)
    file.reads.clear()
    assert follower.follow(source, False, False) == "end"  # noqa: FBT003
    assert follower.end_offset == 3000
    assert min(offset for offset, _ in file.reads) == before


def test_a_batch_reads_what_is_new(tmp_path: Path) -> None:
    """A task begins where the last batch ended, also where no index would tell."""
    log = GrowingLog(make(tmp_path / "finished", segment_bytes=1 << 30), tmp_path / "t-0", indexed=False)
    log.show(log.size // 2)
    stream = Stream(tmp_path / "t-0")
    stream.run()
    assert stream.position is not None
    log.show(log.size)
    (task,) = stream.reader.partitions(stream.position, stream.latest(stream.position))
    (piece,) = task.value.segments
    assert piece.range[0] >= log.size // 2 - 2000
    assert piece.range[1] == log.size


# ------------------------------------------------------------------------------------- where it begins


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"startingOffsets": "earliest"}, 0),
        ({"startingOffsets": '{"t": {"0": 120}}'}, 120),
        ({"startingOffsets": '{"t": {"0": -2}}'}, 0),
        ({"startingOffsets": '{"t": {"0": -1}}'}, 300),
        ({"startingOffsets": "latest"}, 300),
        ({"startingTimestamp": "77000"}, 77),
        ({"startingTimestamp": "76001"}, 77),
        ({"startingOffsetsByTimestamp": '{"t": {"0": 5000}}'}, 5),
        ({"startingTimestamp": "300000", "startingOffsetsByTimestampStrategy": "latest"}, 300),
    ],
)
def test_where_a_stream_begins(tmp_path: Path, options: dict[str, str], first: int) -> None:
    make(tmp_path)
    stream = Stream(tmp_path, options)
    assert stream.position == {"t": {"0": first}}
    stream.run()
    assert stream.offsets() == list(range(first, 300))


def test_a_stream_begins_at_the_end_by_itself(tmp_path: Path) -> None:
    """As Spark's Kafka source does; a partition that comes later is read from its beginning."""
    make(tmp_path)
    source = KafkaCompDataSource({"path": str(tmp_path)})
    assert source.streamReader(source.schema()).initialOffset() == {"t": {"0": 300}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": '{"t": {"0": 5, "1": 5}}'}, "startingOffsets names t-1, which the source does not have"),
        ({"startingOffsets": "{}"}, "startingOffsets has no t-0; every partition must be named"),
        ({"startingOffsets": '{"t": {"0": 301}}'}, "startingOffsets: offset 301 of t-0 is out of range: the log ends"),
        ({"startingTimestamp": "300000"}, "t-0 has no record with the starting timestamp 300000 or later"),
        ({"startingOffsets": "middle"}, "startingOffsets must be earliest, latest or JSON"),
        ({"endingOffsets": "latest"}, "endingOffsets is an option of spark.read, not of spark.readStream"),
        ({"endingTimestamp": "5"}, "endingTimestamp is an option of spark.read, not"),
        ({"pathGlobFilter": "*"}, "pathGlobFilter is an option of spark.read, not"),
        ({"filterPushdown": "true"}, "filterPushdown is an option of spark.read, not"),
        ({"mode": "PERMISSIVE"}, "mode PERMISSIVE is for spark.read"),
        ({"logFormat": "0.7"}, "logFormat 0.7: the offsets of these logs are byte positions"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be a number from 1"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss must be one of true, false"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, str], message: str) -> None:
    make(tmp_path)
    with pytest.raises(ValueError, match=message):
        Stream(tmp_path, {"columns": "topic,partition,offset", **options})


def test_bad_sources(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Stream(tmp_path / "nowhere")
    folder = make(tmp_path)
    (tmp_path / "copy").mkdir()
    shutil.copytree(folder, tmp_path / "copy" / "t-0")
    with pytest.raises(ValueError, match=r"t-0 is there twice, .*copy/t-0.* and .*/t-0/"):
        Stream(tmp_path)
    lone = tmp_path / "captured.log"
    shutil.copyfile(logs(folder)[0], lone)
    with pytest.raises(ValueError, match=r"the partition of .*captured\.log is unknown"):
        Stream(lone)
    with pytest.raises(ValueError, match=r"captured.log: a stream needs segments named by"):
        Stream(lone, {"topic": "t", "partition": "0"})


def test_logs_of_0_7_are_refused(tmp_path: Path) -> None:
    """Their offsets are positions, and several messages may have the same."""
    folder = tmp_path / "old-0"
    folder.mkdir()
    stream = Stream(tmp_path)
    message = struct.pack(">BBI", 1, 0, zlib.crc32(b"payload")) + b"payload"
    for name in (f"{0:020}.kafka", f"{0:020}.log"):
        (folder / name).write_bytes(struct.pack(">i", len(message)) + message)
        with pytest.raises(ValueError, match=r"old-0 is a log of Kafka 0\.7"):
            stream.run()
        (folder / name).unlink()


@pytest.mark.parametrize("content", ["5", '{"a": 5}', '{"a": {"x": 5}}', '{"a": {"0": "5"}}', '[{"a": 1}]'])
def test_a_checkpoint_of_something_else(tmp_path: Path, content: str) -> None:
    make(tmp_path)
    with pytest.raises(ValueError, match="offsets are not those of a kafkacomp stream"):
        Stream(tmp_path).reader.partitions(json.loads(content), {"t": {"0": 5}})


# ------------------------------------------------------------------------------------- what is gone


def behind(tmp_path: Path, **options: str) -> tuple[GrowingLog, Stream, int]:
    """A stream that has read some offsets when the segment that it is in is deleted; the first that is left."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "logs" / "t-0")
    log.show(3000)
    stream = Stream(tmp_path / "logs", options)
    stream.run()
    assert 0 < len(stream.rows) < 100
    log.show(log.size)
    return log, stream, log.delete_first()


def test_deleted_segments_are_an_error_that_says_which_offsets(tmp_path: Path) -> None:
    _, stream, first = behind(tmp_path)
    read = len(stream.rows)
    message = f"t-0: offsets {read} to {first - 1} are missing: the log begins at {first}.*failOnDataLoss=false"
    for _ in range(2):
        with pytest.raises(KafkaCompError, match=message):
            stream.run()
        stream.restart()


def test_deleted_segments_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, stream, first = behind(tmp_path, failOnDataLoss="false")
    read = len(stream.rows)
    stream.run()
    assert stream.offsets() == [*range(read), *range(first, 300)]
    assert f"t-0: offsets {read} to {first - 1} are missing" in caplog.text
    assert stream.run() == []


def test_deleted_segments_that_were_read(tmp_path: Path) -> None:
    """Retention behind the stream is no loss, also while the stream is down."""
    log = GrowingLog(make(tmp_path / "finished", count=1000), tmp_path / "t-0")
    log.show(0)
    stream = Stream(tmp_path / "t-0")
    deleted = 0
    for size in steps(log.size, 30, seed=8):
        log.show(size)
        stream.run()
        while len(logs(tmp_path / "t-0")) > 2:
            log.delete_first()
            deleted += 1
        stream.restart()
    assert stream.offsets() == list(range(1000))
    assert deleted > 3


@pytest.mark.parametrize("is_loss_an_error", [True, False])
def test_a_segment_that_goes_between_plan_and_task(tmp_path: Path, is_loss_an_error: bool) -> None:
    folder = make(tmp_path)
    stream = Stream(tmp_path, {"failOnDataLoss": json.dumps(is_loss_an_error)})
    assert stream.position is not None
    tasks = stream.reader.partitions(stream.position, stream.latest(stream.position))
    first, second, *_ = logs(folder)
    first.unlink()
    if is_loss_an_error:
        message = rf"t-0: offsets 0 to {int(second.stem) - 1} are missing: .*{first.name} was deleted"
        with pytest.raises(KafkaCompError, match=message):
            stream.read_tasks(tasks)
    else:
        assert [offset for _, _, offset in stream.read_tasks(tasks)] == list(range(int(second.stem), 300))


def test_segments_that_compaction_merges_between_plan_and_task(tmp_path: Path) -> None:
    """What stood in a segment that is gone stands in the one before: nothing is lost."""
    folder = make(tmp_path)
    stream = Stream(tmp_path)
    assert stream.position is not None
    tasks = stream.reader.partitions(stream.position, stream.latest(stream.position))
    first, second, third, *_ = logs(folder)
    first.write_bytes(first.read_bytes() + second.read_bytes() + third.read_bytes())
    for each in (second, third):
        each.unlink()
        each.with_suffix(".index").unlink()
    assert [offset for _, _, offset in stream.read_tasks(tasks)] == list(range(300))


def test_a_partition_that_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path, "a")
    make(tmp_path, "b", count=10)
    strict, lenient = Stream(tmp_path), Stream(tmp_path, {"failOnDataLoss": "false"})
    for stream in (strict, lenient):
        stream.run()
    shutil.rmtree(tmp_path / "a-0")
    with pytest.raises(KafkaCompError, match="a-0: the offsets from 300 on are missing: the partition was deleted"):
        strict.run()
    lenient.run()
    assert lenient.position == {"b": {"0": 10}}
    assert not HAS_LIMITS or "a-0: the offsets from 300 on are missing" in caplog.text
    make(tmp_path, "a", count=3)
    assert lenient.run() == [("a", 0, each) for each in range(3)]


def test_the_whole_folder_goes(tmp_path: Path) -> None:
    folder = make(tmp_path)
    stream = Stream(folder)
    stream.run()
    shutil.rmtree(folder)
    with pytest.raises(KafkaCompError, match="t-0: the offsets from 300 on are missing"):
        stream.run()


def test_a_log_that_is_truncated(tmp_path: Path) -> None:
    """As a broker does that lost an election: what was read is read by nobody again."""
    log = GrowingLog(make(tmp_path / "finished", segment_bytes=1 << 30), tmp_path / "logs" / "t-0")
    log.show(log.size)
    strict, lenient = Stream(tmp_path / "logs"), Stream(tmp_path / "logs", {"failOnDataLoss": "false"})
    for stream in (strict, lenient):
        stream.run()
    log.show(log.size // 2)
    left = len(log.offsets(log.size // 2))
    with pytest.raises(KafkaCompError, match=f"t-0: the log ends at offset {left}, before 300: it was truncated"):
        strict.run()
    assert lenient.run() == []
    log.show(log.size)
    lenient.run()
    assert lenient.offsets() == [*range(300), *range(left, 300)]


def test_a_new_partition_that_has_lost_its_beginning(tmp_path: Path) -> None:
    make(tmp_path, "a", count=5)
    strict, lenient = Stream(tmp_path), Stream(tmp_path, {"failOnDataLoss": "false"})
    make(tmp_path, "b", count=5, base_offset=100)
    with pytest.raises(KafkaCompError, match="b-0, which is new,: offsets 0 to 99 are missing: the log begins at 100"):
        strict.run()
    lenient.run()
    assert lenient.rows == [*(("a", 0, each) for each in range(5)), *(("b", 0, each) for each in range(100, 105))]


# ------------------------------------------------------------------------------------- damage


def damaged(tmp_path: Path, at: int) -> tuple[GrowingLog, list[int]]:
    """A log with a changed byte in its second batch; the offsets of that batch."""
    finished = make(tmp_path / "finished", segment_bytes=1 << 30)
    path = logs(finished)[0]
    data = bytearray(path.read_bytes())
    _, second, *_ = kc.record.read_batches(bytes(data))
    data[second.position + at] ^= 0xFF
    path.write_bytes(data)
    log = GrowingLog(finished, tmp_path / "t-0")
    return log, list(range(second.base_offset, second.last_offset + 1))


@pytest.mark.parametrize("at", [16, 70], ids=["header", "body"])
def test_damage_is_an_error_or_left_out(tmp_path: Path, at: int) -> None:
    log, bad = damaged(tmp_path, at)
    log.show(log.size)
    position = next(iter(kc.record.read_batches(log.segments[0][1]))).size_in_bytes
    with pytest.raises(CorruptRecordError, match=rf"0\.log: .*byte {position}"):
        Stream(tmp_path / "t-0").run()
    stream = Stream(tmp_path / "t-0", {"mode": "DROPMALFORMED"})
    stream.run()
    assert stream.offsets() == [each for each in range(300) if each not in bad]


def test_damage_at_the_end_is_waited_for(tmp_path: Path) -> None:
    """Nothing tells a torn batch in a reserved file from a damaged one, until another batch follows."""
    log, bad = damaged(tmp_path, 70)
    ends = [
        batch.position + batch.size_in_bytes for batch in kc.record.read_batches(log.segments[0][1], verify_crc=False)
    ]
    log.show(ends[1])
    stream = Stream(tmp_path / "t-0", {"mode": "DROPMALFORMED"})
    stream.run()
    assert stream.offsets() == list(range(bad[0]))
    log.show(ends[2])
    third = list(kc.record.read_batches(log.segments[0][1], verify_crc=False))[2]
    stream.run()
    assert stream.offsets() == [*range(bad[0]), *range(third.base_offset, third.last_offset + 1)]


# ------------------------------------------------------------------------------------- limits


@given(start=OFFSETS, end=OFFSETS, most=st.integers(1, 1 << 40))
def test_a_limit_is_kept_and_used_up(
    start: dict[tuple[str, int], int], end: dict[tuple[str, int], int], most: int
) -> None:
    begin = {key: start.get(key, 0) for key in end}
    found = limited(begin, end, most)
    backlog = {key: max(0, end[key] - begin[key]) for key in end}
    taken = {key: max(0, found[key] - begin[key]) for key in end}
    assert found.keys() == end.keys()
    assert all(taken[key] <= backlog[key] for key in end)
    assert all(found[key] == end[key] for key in end if end[key] <= begin[key])
    assert sum(taken.values()) == min(most, sum(backlog.values()))
    if most >= len(end):
        assert all(taken[key] > 0 for key in end if backlog[key])
    assert read_offsets(json.loads(json.dumps(write_offsets(found)))) == found


@pytest.mark.spark_since("4.2")
def test_batches_of_limited_size(tmp_path: Path) -> None:
    """In several batches, none larger than said, to where the logs ended when the query began and not further."""
    log = GrowingLog(make(tmp_path / "finished"), tmp_path / "logs" / "t-0")
    log.show(log.size * 3 // 4)
    make(tmp_path / "logs", "u", count=7)
    stream = Stream(tmp_path / "logs", {"maxOffsetsPerTrigger": "41"})
    reader: Any = stream.reader
    assert reader.getDefaultReadLimit().max_rows == 41
    reader.prepareForTriggerAvailableNow()
    there = [("t", 0, offset) for offset in log.offsets(log.size * 3 // 4)] + [("u", 0, each) for each in range(7)]
    log.show(log.size)
    sizes = list(_drain(stream, 41))
    assert sorted(stream.rows) == there
    assert sizes == [41] * (len(there) // 41) + [len(there) % 41]
    stream.restart()
    list(_drain(stream, 41))
    assert sorted(stream.rows) == [("t", 0, each) for each in range(300)] + [("u", 0, each) for each in range(7)]
    assert reader.reportLatestOffset() == {"t": {"0": 300}, "u": {"0": 7}}


def _drain(stream: Stream, limit: int) -> Iterator[int]:
    while rows := stream.run(limit):
        yield len(rows)


def test_limits_need_a_newer_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stream, "HAS_LIMITS", False)
    with pytest.raises(ValueError, match=r"maxOffsetsPerTrigger needs PySpark 4\.2 or later, and 4\."):
        Stream(tmp_path, {"maxOffsetsPerTrigger": "5"})
