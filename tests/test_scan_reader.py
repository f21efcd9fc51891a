"""``kc.scan`` as a new user meets it: every kind of source, every taker of the reader, bounds, progress, logging.

What comes out is held against the consumer elsewhere (``tests/golden``); here the same rows must come by every way.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.expect import SMALL
from golden.reading import DEFAULT_COLUMNS, ON_DEMAND_COLUMNS
from grouped import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESTARTS = SMALL / "modern" / "restarts" / "restarts-0"
TXN_OPEN = SMALL / "modern" / "txn-open" / "txn-open-0"
FIRST = "00000000000000000000"
SEGMENT = RESTARTS / f"{FIRST}.log"
UUID = "Zm9vYmFyYmF6cXV4cXV1eA"  # as Kafka writes ids: 22 of the 64 characters
ROWS = ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"]


def table(source: Any, **options: Any) -> pa.Table:
    """The rows of a scan."""
    return pa.table(kc.scan(source, **grouped(**options)))


def rows(source: Any, **options: Any) -> pa.Table:
    """The rows of a scan without what tells sources apart."""
    return table(source, columns=[name for name in ROWS if name not in {"topic", "partition"}], **options)


WANTED = rows(SEGMENT)


# ------------------------------------------------------------------------------------------ sources


@pytest.fixture
def memory() -> Iterator[Any]:
    """Fsspec's file system in memory, empty again afterwards."""
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.rm("/", recursive=True)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer])
def test_bytes(kind: Callable[[bytes], Any]) -> None:
    """Bytes-like objects of any kind; topic and partition come from a mapping."""
    source = kind(SEGMENT.read_bytes())
    assert rows(source).equals(WANTED)
    named = table({("mine", 7): source}, columns=["topic", "partition"])
    assert set(named.column("topic").to_pylist()) == {"mine"}
    assert set(named.column("partition").to_pylist()) == {7}
    assert table(source, columns=["topic", "partition"]).column("topic").null_count == WANTED.num_rows


@pytest.mark.parametrize("kind", [str, Path, lambda path: f"file://{path}"])
def test_segment_and_folders(kind: Callable[[Path], Any], tmp_path: Path) -> None:
    """A segment, its partition folder, and a log folder with other partitions in it."""
    assert rows(kind(SEGMENT)).equals(WANTED)
    assert rows(kind(RESTARTS)).equals(WANTED)
    for topic in ("a", "b.c", "with-dash"):
        shutil.copytree(RESTARTS, tmp_path / f"{topic}-11")
    shutil.copytree(TXN_OPEN, tmp_path / "a-2")
    found = table(kind(tmp_path), columns=["topic", "partition", "offset"]).group_by(["topic", "partition"])
    counts = found.aggregate([("offset", "count")]).to_pylist()
    each = WANTED.num_rows
    assert {(row["topic"], row["partition"]): row["offset_count"] for row in counts} == {
        ("a", 11): each,
        ("b.c", 11): each,
        ("with-dash", 11): each,
        ("a", 2): table(TXN_OPEN, columns=["offset"]).num_rows,
    }


def test_urls_of_files(tmp_path: Path) -> None:
    """Of this host alone, and whole: a name may have what other URLs end at."""
    folder = tmp_path / "100% #1?" / "restarts-0"
    shutil.copytree(RESTARTS, folder)
    for url in (f"file://{folder.as_posix()}", f"FILE://localhost{quote(folder.as_posix())}"):
        assert rows(url).equals(WANTED)
    with pytest.raises(ValueError, match="file://elsewhere/x names the host elsewhere"):
        rows("file://elsewhere/x")


def test_a_url_that_nothing_is_at() -> None:
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '/nothing/here'"):
        rows("memory://nothing/here")


def test_several_sources() -> None:
    """A list is read in its order, and may mix paths and bytes."""
    twice = rows([SEGMENT, SEGMENT.read_bytes()])
    assert twice.equals(pa.concat_tables([WANTED, WANTED]).combine_chunks())
    assert rows(iter([str(RESTARTS)])).equals(WANTED)


def test_segments_of_a_partition_named_one_by_one() -> None:
    """They are one partition: a transaction of one that ends in the other is still told."""
    segments = sorted(TXN_OPEN.glob("*.log"), reverse=True)
    assert len(segments) > 1
    wanted = rows(TXN_OPEN, isolation_level="read_committed")
    assert rows(segments, isolation_level="read_committed").equals(wanted)


def copied(filesystem: Any, folder: Path, target: str) -> None:
    for path in folder.iterdir():
        filesystem.pipe_file(f"{target}/{path.name}", path.read_bytes())


def test_fsspec_url(memory: Any) -> None:
    """A URL that only fsspec knows: segment, partition folder, log folder, with side files."""
    copied(memory, RESTARTS, "/logs/restarts-0")
    copied(memory, TXN_OPEN, "/logs/txn-open-3")
    assert rows(f"memory://logs/restarts-0/{FIRST}.log").equals(WANTED)
    assert rows("memory://logs/restarts-0").equals(WANTED)
    committed = rows("memory://logs/txn-open-3", isolation_level="read_committed", threads=2)
    assert committed.equals(rows(TXN_OPEN, isolation_level="read_committed"))
    partitions = table("memory://logs", columns=["topic", "partition"])
    assert set(zip(*partitions.to_pydict().values(), strict=True)) == {("restarts", 0), ("txn-open", 3)}
    bounded = rows("memory://logs/restarts-0", start_offset=100, end_offset=120)
    assert bounded.column("offset").to_pylist() == list(range(100, 120))


def test_fsspec_url_that_leads_nowhere(memory: Any) -> None:
    """The message names what was looked for."""
    memory.mkdir("/empty")
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        kc.scan("memory://nothing-here")
    with pytest.raises(FileNotFoundError, match="empty"):
        kc.scan("memory://empty")
    with pytest.raises(ValueError, match="no file system for nonsense://"):
        kc.scan("nonsense://bucket/topic-0")


def test_pyarrow_url(tmp_path: Path) -> None:
    """A URL that pyarrow's file systems know: a chain of them, here over a local folder."""
    from kafkacomp._storage import filesystem  # noqa: PLC0415 - only here
    from kafkacomp._storage.remote_files import Remote  # noqa: PLC0415 - as above
    from kafkacomp._storage.stores import ArrowStore  # noqa: PLC0415 - as above

    shutil.copytree(TXN_OPEN, tmp_path / "txn-open-0")
    subtree = Remote(ArrowStore(pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())))
    opened, path = filesystem._open_pyarrow(tmp_path.as_uri())
    assert isinstance(opened, Remote)
    assert isinstance(opened.store, ArrowStore)
    assert [entry.is_dir for entry in opened.list(path)] == [True]
    entry = subtree.info("txn-open-0")
    assert entry.is_dir
    with pytest.raises(FileNotFoundError, match="gone"):
        subtree.info("gone")


def tiered(root: Path, topic: str = "orders-2024") -> Path:
    """Plain segments as tiered storage lays them out."""
    folder = root / f"{topic}-{UUID}" / "4"
    folder.mkdir(parents=True)
    for path in TXN_OPEN.iterdir():
        if path.stem.isdigit() and path.suffix in {".log", ".index", ".timeindex", ".txnindex"}:
            shutil.copy(path, folder / f"{path.stem}-{UUID[4:]}{int(path.stem) % 10_000:04}{path.suffix}")
    return folder


def test_tiered_layout(tmp_path: Path) -> None:
    """Topic and partition come from the layout, transactions from its index."""
    folder = tiered(tmp_path)
    for source in (tmp_path, folder.parent, folder):
        assert rows(source).equals(rows(TXN_OPEN))
        assert rows(source, isolation_level="read_committed").equals(rows(TXN_OPEN, isolation_level="read_committed"))
        names = table(source, columns=["topic", "partition"])
        assert set(zip(*names.to_pydict().values(), strict=True)) == {("orders-2024", 4)}
    one = min(folder.glob("*.log"))
    assert set(table(one, columns=["topic"]).column("topic").to_pylist()) == {"orders-2024"}


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        ({"version": "1", "compression": True, "chunkIndex": {}}, "originalFileSize"),
        ({"version": "1", "compression": False, "encryption": {"dataKey": "x"}}, "dataKey"),
        ({"version": "1", "compression": False}, "chunkIndex"),
    ],
)
def test_tiered_manifest(manifest: dict[str, Any], fault: str, tmp_path: Path) -> None:
    """A manifest that does not tell how to read the segment is refused by name before anything is read."""
    folder = tiered(tmp_path)
    segment = min(folder.glob("*.log"))
    segment.with_suffix(".rsm-manifest").write_text(json.dumps(manifest))
    for source in (tmp_path, segment):
        with pytest.raises(kc.CorruptRecordError, match=rf"{segment.stem}\.rsm-manifest: .*{fault}"):
            kc.scan(source)


# ------------------------------------------------------------------------------------------ takers


def test_takers_of_the_reader() -> None:
    """pyarrow, polars, DuckDB and pandas take the reader as it is."""
    count = WANTED.num_rows
    assert pa.table(kc.scan(RESTARTS)).column_names == DEFAULT_COLUMNS
    assert pl.DataFrame(kc.scan(RESTARTS)).height == count
    reader = kc.scan(RESTARTS)
    found = duckdb.from_arrow(reader).aggregate('count(*), sum("offset")').fetchall()
    assert found == [(count, sum(WANTED.column("offset").to_pylist()))]
    frame = pd.DataFrame.from_arrow(kc.scan(RESTARTS))
    assert frame["offset"].tolist() == WANTED.column("offset").to_pylist()
    assert frame["value"].tolist() == WANTED.column("value").to_pylist()
    assert str(frame["timestamp"].dt.tz) == "UTC"


USES: dict[str, Callable[[Any], Any]] = {
    "pyarrow": pa.table,
    "polars": pl.DataFrame,
    "duckdb": lambda reader: duckdb.from_arrow(reader).aggregate("count(*)").fetchall(),
    "pandas": pd.DataFrame.from_arrow,
    "iteration": list,
}


@pytest.mark.parametrize("first", USES)
@pytest.mark.parametrize("second", USES)
def test_a_second_use_says_what_to_do(first: str, second: str) -> None:
    """A reader is read once; the message says to scan again. At its end it stays at its end."""
    reader = kc.scan(RESTARTS)
    USES[first](reader)
    assert reader.closed
    with pytest.raises(Exception, match=r"call kafkacomp\.scan again"):
        USES[second](reader)


def test_an_iterator_at_its_end_stays_there() -> None:
    """As Python's protocol has it."""
    reader = kc.scan(RESTARTS)
    assert next(iter(reader)).num_rows
    assert sum(batch.num_rows for batch in reader) < WANTED.num_rows + 1
    assert next(reader, None) is None
    assert next(reader, None) is None


def test_the_schema_is_there_before_the_rows() -> None:
    """Asking for the schema does not use the reader up."""
    reader = kc.scan(RESTARTS, columns=["offset", "value"])
    assert pa.schema(reader).names == ["offset", "value"]
    assert pa.table(reader).num_rows == WANTED.num_rows


# ------------------------------------------------------------------------------------------ columns


def test_projection_builds_what_is_asked_for() -> None:
    """Every column by itself is what it is beside the others, in the order asked for."""
    names = [*DEFAULT_COLUMNS, *ON_DEMAND_COLUMNS]
    whole = table(TXN_OPEN, columns=names)
    for name in names:
        assert table(TXN_OPEN, columns=[name]).column(0).combine_chunks().equals(whole.column(name).combine_chunks())
    assert table(TXN_OPEN, columns=names[::-1]).column_names == names[::-1]


def test_nothing_is_copied_without_key_value_and_headers() -> None:
    """The columns' bytes do not depend on the values' size."""
    reader = kc.scan(SEGMENT, columns=["offset", "timestamp", "timestampType", "partition"])
    size = pa.table(reader).nbytes
    assert size <= WANTED.num_rows * (8 + 8 + 4 + 4 + 1) + 1000
    assert reader.report.bytes_out <= size + 1000


# ------------------------------------------------------------------------------------------ bounds


def test_timestamp_bounds() -> None:
    """By record, start inclusive and end exclusive; ms or aware datetimes, and naive ones are refused."""
    times = sorted(WANTED.column("timestamp").cast(pa.int64()).to_pylist())
    start, end = times[len(times) // 4], times[3 * len(times) // 4]
    wanted = [time for time in times if start <= time < end]
    assert wanted
    moments = [
        dt.datetime.fromtimestamp(time // 1000, dt.UTC) + dt.timedelta(milliseconds=time % 1000)
        for time in (start, end)
    ]
    for low, high in ((start, end), moments):
        found = rows(RESTARTS, start_time=low, end_time=high)
        assert sorted(found.column("timestamp").cast(pa.int64()).to_pylist()) == wanted
    elsewhere = moments[0].astimezone(dt.timezone(dt.timedelta(hours=5, minutes=30)))
    assert rows(RESTARTS, start_time=elsewhere).equals(rows(RESTARTS, start_time=start))
    with pytest.raises(ValueError, match="a datetime with a time zone, or milliseconds"):
        kc.scan(RESTARTS, start_time=moments[0].replace(tzinfo=None))
    with pytest.raises(ValueError, match=f"start_time {end} is after end_time {start}"):
        kc.scan(RESTARTS, start_time=end, end_time=start)


@pytest.mark.parametrize("name", ["start_offset", "end_offset", "start_time", "end_time"])
def test_negative_bounds_are_refused(name: str) -> None:
    below: dict[str, Any] = {name: -1}
    with pytest.raises(ValueError, match=f"{name} must be 0 to"):
        kc.scan(RESTARTS, **grouped(**below))
    if name.endswith("timestamp"):
        with pytest.raises(ValueError, match=f"{name} must be 1970-01-01T00:00:00Z or later, not 1969"):
            kc.scan(RESTARTS, **grouped(**(below | {name: dt.datetime(1969, 12, 31, tzinfo=dt.UTC)})))


def test_offset_bounds_by_partition(tmp_path: Path) -> None:
    """A mapping bounds the partitions that it names and no other; one that is not there is an error."""
    for number in (0, 1):
        shutil.copytree(RESTARTS, tmp_path / f"t-{number}")
    bounds = {"start_offset": {("t", 0): 10}, "end_offset": {("t", 0): 15}}
    found = table(tmp_path, columns=["partition", "offset"], **bounds).to_pydict()
    pairs = list(zip(found["partition"], found["offset"], strict=True))
    assert [offset for number, offset in pairs if number == 0] == list(range(10, 15))
    assert [offset for number, offset in pairs if number == 1] == WANTED.column("offset").to_pylist()
    with pytest.raises(ValueError, match=r"\('t', 2\)"):
        kc.scan(tmp_path, start_offset={("t", 2): 0})


def test_bounds_are_found_without_decompressing() -> None:
    """Batches outside the bounds are neither decompressed nor counted."""
    reader = kc.scan(RESTARTS, columns=["offset"], start_offset=500, end_offset=510)
    assert pa.table(reader).num_rows == 10
    assert reader.report.batches <= 2
    assert reader.report.bytes_in < SEGMENT.stat().st_size / 4


# ------------------------------------------------------------------------------------------ live folders


def test_a_segment_that_grows(tmp_path: Path) -> None:
    """A cut batch at the end of the last segment is damage, unless the broker is still writing it."""
    data = SEGMENT.read_bytes()
    starts = [batch.position for batch in kc.record.read_batches(data)]
    folder = tmp_path / "t-0"
    folder.mkdir()
    log = folder / SEGMENT.name
    cut = starts[2] + 30
    log.write_bytes(data[:cut])
    grow = (
        "import sys, time\n"
        "with open(sys.argv[1], 'ab') as log:\n"
        "    print('ready', flush=True)\n"
        "    for byte in range(400):\n"
        "        log.write(b'x'); log.flush(); time.sleep(0.005)\n"
    )
    with subprocess.Popen([sys.executable, "-c", grow, str(log)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        wanted = sum(batch.records_count or 0 for batch in kc.record.read_batches(data[: starts[2]]))
        assert table(folder, columns=["offset"]).num_rows == wanted
        writer.kill()
    log.write_bytes(data[:cut])
    with pytest.raises(Exception, match=f"{SEGMENT.name}.*byte {starts[2]}"):
        table(folder, columns=["offset"])


# ------------------------------------------------------------------------------------------ progress, logging


def test_progress() -> None:
    """Bytes done never fall and end at the total; an exception of the callback comes through as it is."""
    calls: list[tuple[int, int]] = []
    pa.table(
        kc.scan(
            RESTARTS, progress=lambda done, total: calls.append((done, total)), options=kc.ScanOptions(batch_rows=50)
        )
    )
    size = SEGMENT.stat().st_size
    assert len(calls) > 3
    assert {total for _, total in calls} == {size}
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == size

    class Enough(Exception):  # noqa: N818 - the caller's own
        pass

    def stop(_done: int, _total: int) -> None:
        raise Enough

    reader = kc.scan(RESTARTS, progress=stop)
    with pytest.raises(Enough):
        list(reader)


def test_warnings_go_to_logging(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """What is passed over or left out is logged under the name kafkacomp, and nothing is printed."""
    shutil.copytree(RESTARTS, tmp_path / "t-0")
    shutil.copytree(RESTARTS, tmp_path / "no number")
    data = bytearray(SEGMENT.read_bytes())
    data[len(data) // 2] ^= 0x55
    (tmp_path / "t-0" / SEGMENT.name).write_bytes(data)
    with caplog.at_level(logging.INFO, logger="kafkacomp"):
        reader = kc.scan(tmp_path, on_error="skip", columns=["offset"])
        found = pa.table(reader).num_rows
    assert found < WANTED.num_rows
    (skipped,) = reader.report.skipped
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("kafkacomp")]
    assert any("no number" in message for message in messages)
    assert any(SEGMENT.name in message and str(skipped.position) in message for message in messages), messages


def test_report() -> None:
    """What was read is counted."""
    reader = kc.scan(RESTARTS)
    pa.table(reader)
    report = reader.report
    assert report.records == WANTED.num_rows
    assert report.batches == len(list(kc.record.read_batches(SEGMENT.read_bytes())))
    assert report.bytes_in == SEGMENT.stat().st_size
    assert report.bytes_out > 0
    assert not report.skipped
