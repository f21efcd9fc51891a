"""`LogDir`, `LogPartition` and `LogSegment` over logs of real brokers, and `record.open_batches`."""

from __future__ import annotations

import io
import pickle
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record
from kafkacomp.exceptions import CorruptRecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

VECTORS = Path(__file__).parent / "vectors"
MODERN = sorted({path.parent for path in (VECTORS / "modern").rglob("*.log") if "damaged" not in str(path)})


def batches_of(data: bytes) -> list[bytes]:
    return [bytes(batch) for batch in record.read_batches(data, verify_crc=False)]


@pytest.fixture(name="logs")
def _logs(tmp_path: Path) -> kc.LogDir:
    """A log directory with several topics, written here."""
    for topic, partition, count in (("orders", 0, 5), ("orders", 3, 40), ("orders-dlq", 0, 2), ("users", 1, 7)):
        times = [1_700_000_000_000 + 10 * row for row in range(count)]
        rows = {"value": [f"{topic} {row}" for row in range(count)], "timestamp": times}
        kc.write(pa.table(rows), tmp_path, topic=topic, partition=partition, batch_bytes=200, segment_bytes=600)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 3 30\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 3 4\n")
    return kc.LogDir(tmp_path)


def test_a_directory_is_a_mapping_of_its_partitions(logs: kc.LogDir) -> None:
    assert repr(logs) == f"LogDir({logs.path!r})"
    assert logs.topics == ("orders", "orders-dlq", "users")
    assert list(logs) == [("orders", 0), ("orders", 3), ("orders-dlq", 0), ("users", 1)]
    assert len(logs) == len(logs.partitions) == 4
    assert ("orders", 3) in logs
    assert ("orders", 4) not in logs
    assert [] not in logs  # type: ignore[comparison-overlap]
    assert repr(logs) == f"LogDir({logs.path!r}, 3 topics, 4 partitions)"
    with pytest.raises(KeyError, match=r"no partition \('orders', 1\) in .*: expected one of orders-0, orders-3"):
        logs["orders", 1]


def test_a_directory_is_listed_when_it_is_first_used(tmp_path: Path) -> None:
    logs = kc.LogDir(tmp_path / "later")
    with pytest.raises(FileNotFoundError):
        logs.topics  # noqa: B018
    kc.write(pa.table({"value": ["a"]}), tmp_path / "later", topic="t")
    assert logs.topics == ("t",)


def test_what_is_known_of_a_partition(logs: kc.LogDir) -> None:
    partition = logs["orders", 3]
    assert (partition.topic, partition.partition, partition.path) == ("orders", 3, f"{logs.path}/orders-3")
    assert (partition.start_offset, partition.end_offset, partition.high_watermark) == (4, 40, 30)
    assert logs["orders", 0].high_watermark is None
    assert partition.size == sum(path.stat().st_size for path in Path(partition.path).glob("*.log"))
    assert len(partition.segments) > 1
    assert [each.base_offset for each in partition.segments] == sorted(
        int(path.stem) for path in Path(partition.path).glob("*.log")
    )
    assert partition.leader_epochs == [kc.log.LeaderEpochEntry(0, 0)]
    assert partition.producers == []
    assert partition.verify().is_intact
    assert repr(partition).startswith("LogPartition('orders', 3, offsets 4 to 40, ")


def test_topics_are_selected_by_globs(logs: kc.LogDir) -> None:
    scanned = pa.table(logs.scan(topics=["orders*"], columns=["topic", "partition", "offset"]))
    assert set(scanned.column("topic").to_pylist()) == {"orders", "orders-dlq"}
    assert scanned.num_rows == 47
    assert pa.table(logs.scan(topics=["users", "orders-dlq"])).num_rows == 9
    assert pa.table(logs.scan(partitions=[3])).num_rows == 40
    assert pa.table(kc.scan(logs)).num_rows == 54
    with pytest.raises(ValueError, match=r"no topic matches 'order': expected one of orders, orders-dlq, users"):
        logs.scan(topics=["order"])
    with pytest.raises(ValueError, match=r"no topic has a partition 9: expected one of \[1\]"):
        logs.scan(topics=["users"], partitions=[9])
    with pytest.raises(TypeError, match="topics must be a collection of names, not the string 'users'"):
        logs.scan(topics="users")


def test_scans_of_the_parts_give_the_rows_of_the_whole(logs: kc.LogDir) -> None:
    partition = logs["orders", 3]
    whole = pa.table(kc.scan(partition.path)).drop_columns([])
    assert pa.table(partition.scan()).equals(whole)
    assert (
        pa.concat_tables(pa.table(each.scan()) for each in partition.segments)
        .combine_chunks()
        .equals(whole.combine_chunks())
    )


def test_pickles_have_paths_and_no_handles(logs: kc.LogDir) -> None:
    assert len(pickle.dumps(logs)) < 300
    for each in (logs["orders", 3], logs["orders", 3].segments[-1]):
        copied: Any = pickle.loads(pickle.dumps(each))  # noqa: S301 - our own
        assert copied == each
        assert hash(copied) == hash(each)
        assert pa.table(copied.scan()).equals(pa.table(each.scan()))
        assert len(pickle.dumps(each)) < 10_000


@pytest.mark.parametrize("folder", MODERN, ids=lambda path: path.name)
def test_segments_have_the_batches_of_their_file(folder: Path) -> None:
    for partition in kc.LogDir(folder).partitions:
        for segment in partition.segments:
            found = [bytes(batch) for batch in segment.batches(verify_crc=False)]
            assert found == batches_of(Path(segment.path).read_bytes())
            indexes = ((segment.offset_index, "index"), (segment.time_index, "timeindex"))
            for entries, suffix in indexes:
                assert (entries is not None) == Path(segment.path).with_suffix(f".{suffix}").exists()
            times = [batch.max_timestamp for batch in segment.batches(verify_crc=False) if batch.max_timestamp >= 0]
            assert segment.max_timestamp == max(times, default=None)


def test_a_log_of_0_7_has_messages(tmp_path: Path) -> None:
    data = kc.message_set.write_messages([b"one", b"two"])
    kc.message_set.write_log([data], tmp_path, topic="old", partition=0)
    partition = kc.LogDir(tmp_path)["old", 0]
    assert partition.end_offset == len(data)
    assert pa.table(partition.scan(columns=["value"])).column("value").to_pylist() == [b"one", b"two"]
    with pytest.raises(ValueError, match=r"a log of Kafka 0\.7 has messages, not batches"):
        partition.segments[0].batches()


def test_a_url_is_a_directory_as_well(logs: kc.LogDir) -> None:
    """The folder through fsspec, whose files are read at positions."""
    remote = kc.LogDir(f"local://{logs.path}")
    assert list(remote) == list(logs)
    for mine, theirs in zip(logs.partitions, remote.partitions, strict=True):
        assert (mine.start_offset, mine.end_offset, mine.size) == (theirs.start_offset, theirs.end_offset, theirs.size)
        assert mine.high_watermark == theirs.high_watermark
        assert mine.leader_epochs == theirs.leader_epochs
        assert [each.max_timestamp for each in mine.segments] == [each.max_timestamp for each in theirs.segments]
        for own, other in zip(mine.segments, theirs.segments, strict=True):
            assert [bytes(each) for each in own.batches()] == [bytes(each) for each in other.batches()]
            assert own.offset_index == other.offset_index
            assert own.time_index == other.time_index


# ------------------------------------------------------------------------------------------------- open_batches
class Unseekable(io.RawIOBase):
    """As a pipe or the answer of a web server."""

    def __init__(self, data: bytes) -> None:
        self._inner = io.BytesIO(data)

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        return self._inner.read(size)


def sources(path: Path) -> Iterator[Any]:
    yield path
    yield str(path)
    yield path.as_uri()
    yield path.read_bytes()
    yield io.BytesIO(path.read_bytes())
    yield Unseekable(path.read_bytes())
    yield path.open("rb")


@pytest.mark.parametrize("folder", MODERN[::4], ids=lambda path: path.name)
def test_batches_of_any_source(folder: Path) -> None:
    path = min(folder.glob("*.log"))
    expected = batches_of(path.read_bytes())
    for source in sources(path):
        with record.open_batches(source, verify_crc=False) as stream:
            assert [bytes(batch) for batch in stream] == expected
            assert stream.partial_bytes == 0
        assert next(stream, None) is None


def big_file(tmp_path: Path) -> tuple[Path, int]:
    """Small batches and some that are larger than what is read at once."""
    built = []
    for index in range(60):
        builder = record.RecordBatchBuilder(compression_type="none", base_offset=index)
        builder.append(bytes([index]) * (3 << 20 if index % 20 == 7 else 5000))
        built.append(builder.build())
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(built))
    return path, len(built)


def test_batches_larger_than_a_chunk_come_whole(tmp_path: Path) -> None:
    path, count = big_file(tmp_path)
    with record.open_batches(path) as stream:
        positions = [(batch.position, batch.size_in_bytes, (next(iter(batch)).value or b"")[:1]) for batch in stream]
    assert [value for *_, value in positions] == [bytes([index]) for index in range(count)]
    assert [position for position, *_ in positions][1:] == [at + size for at, size, _ in positions][:-1]


def test_a_truncated_end_is_reported_or_refused(tmp_path: Path) -> None:
    path, count = big_file(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-10])
    stream = record.open_batches(path)
    assert len(list(stream)) == count - 1
    assert stream.partial_bytes == len(data) - 10 - stream.position > 0
    strict = record.open_batches(path, may_be_truncated=False)
    with pytest.raises(CorruptRecordError, match="incomplete batch at byte") as caught:
        list(strict)
    assert str(path) in str(caught.value)


def test_a_wrong_checksum_is_raised_at_its_batch(tmp_path: Path) -> None:
    path, count = big_file(tmp_path)
    data = bytearray(path.read_bytes())
    data[6000] ^= 1  # in the second batch
    path.write_bytes(data)
    found: list[record.RecordBatch] = []
    with pytest.raises(CorruptRecordError) as caught:
        found.extend(record.open_batches(path))
    assert len(found) == 1
    assert caught.value.position == found[0].size_in_bytes
    assert len(list(record.open_batches(path, verify_crc=False))) == count


def test_open_batches_wants_one_file(tmp_path: Path, logs: kc.LogDir) -> None:
    with pytest.raises(ValueError, match="open_batches reads one file; the source has"):
        record.open_batches(logs.path)
    with pytest.raises(FileNotFoundError):
        record.open_batches(tmp_path / "absent.log")


# ------------------------------------------------------------------------------------------------- file objects
@pytest.mark.parametrize("folder", MODERN[::4], ids=lambda path: path.name)
def test_a_scan_of_a_file_object_is_that_of_its_bytes(folder: Path) -> None:
    path = min(folder.glob("*.log"))
    expected = pa.table(kc.scan({("t", 0): path.read_bytes()}, columns=["offset", "key", "value"]))
    for source in list(sources(path))[4:]:
        assert pa.table(kc.scan({("t", 0): source}, columns=["offset", "key", "value"])).equals(expected)


def test_text_files_and_other_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"")
    with path.open(encoding="utf-8") as file, pytest.raises(TypeError, match="must be binary: open it with mode 'rb'"):
        kc.scan(file)
    with pytest.raises(TypeError, match="a binary file object, a LogDir, LogPartition or LogSegment"):
        kc.scan(5)  # type: ignore[arg-type] # that is what is refused


@pytest.mark.parametrize("kind", ["zip", "gztar", "bztar", "xztar", "tar"])
def test_archives_are_refused_by_name(kind: str, logs: kc.LogDir, tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "backup"), kind, logs.path))
    sources: tuple[Any, ...] = (archive, archive.read_bytes(), archive.open("rb"), archive.as_uri())
    for source in sources:
        with pytest.raises(ValueError, match=r"this is an? .*(archive|file), not a log segment: \w+"):
            kc.scan(source)


def test_a_table_is_refused_by_name(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"value": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="this is a Parquet file, not a log segment: it is a table, not a log"):
        kc.scan(tmp_path / "t.parquet")
