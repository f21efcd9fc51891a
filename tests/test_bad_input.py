"""A broker's folder holds more than segments, and users point at the wrong thing: ``kc.scan`` says what is wrong.

Each test is a sentence of the demand: what is no segment is skipped or read as what it is; a missing path, an empty
folder, a file that is no segment, an index without its log, a segment cut anywhere and a topic folder with a strange
name get a message that names the file, and the byte where there is one; good batches around damage are delivered.
"""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.expect import SMALL
from grouped import grouped
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable

RESTARTS = SMALL / "modern" / "restarts" / "restarts-0"
COMPACT = SMALL / "modern" / "compact" / "compact-0"
FIRST = "00000000000000000000"
LOG = f"{FIRST}.log"
DATA = (RESTARTS / LOG).read_bytes()
BATCHES = [(batch.position, batch.size_in_bytes, [r.offset for r in batch]) for batch in record.read_batches(DATA)]
OFFSETS = [offset for _, _, offsets in BATCHES for offset in offsets]


def offsets(source: Any, **options: Any) -> list[int]:
    """The offsets that a scan gives."""
    found: list[int] = pa.table(kc.scan(source, columns=["offset"], **grouped(**options))).column("offset").to_pylist()
    return found


def until_error(source: Any, **options: Any) -> tuple[list[int], Exception | None, kc.ScanReport]:
    """The offsets that a scan gives before it fails, the exception that it keeps, and its report."""
    scan = kc.scan(source, columns=["offset"], **grouped(**options))
    found: list[int] = []
    try:
        for batch in pa.RecordBatchReader.from_stream(scan):
            found += batch.column("offset").to_pylist()
    except (pa.ArrowException, OSError):
        assert scan.error is not None
        return found, scan.error, scan.report
    return found, None, scan.report


def partition(folder: Path, name: str = "topic-0", data: bytes = DATA) -> Path:
    """A partition folder with one segment."""
    made = folder / name
    made.mkdir(parents=True)
    (made / LOG).write_bytes(data)
    return made


# ------------------------------------------------------------------------------------------ wrong sources


@pytest.mark.parametrize("name", ["missing", "missing/topic-0", f"missing/topic-0/{LOG}"])
@pytest.mark.parametrize("kind", [str, Path])
def test_missing_path(tmp_path: Path, name: str, kind: Callable[[Path], Any]) -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / name))):
        kc.scan(kind(tmp_path / name))


def test_missing_path_among_good_ones(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        kc.scan([RESTARTS, tmp_path / "nowhere"])


def test_missing_segment_is_named_as_python_does(tmp_path: Path) -> None:
    """The text of an error of the system, without the code that Python writes before it."""
    with pytest.raises(FileNotFoundError) as raised:
        kc.log.verify_segment(tmp_path / LOG)
    assert str(raised.value) == f"[Errno 2] No such file or directory: '{tmp_path / LOG}'"


@pytest.mark.parametrize("content", [[], ["leader-epoch-checkpoint"], ["meta.properties", ".lock"]])
def test_folder_without_segments(tmp_path: Path, content: list[str]) -> None:
    for name in content:
        (tmp_path / name).write_text("0\n0\n", encoding="ascii")
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        kc.scan(tmp_path)


@pytest.mark.parametrize("content", [b"a,b,c\n1,2,3\n4,5,6\n7,8,9\n", b"PAR2" + bytes(range(256)), b"\xff" * 4096])
def test_file_that_is_no_segment(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    found, error, _ = until_error(path)
    assert found == []
    # It may as well be of Kafka 0.7 as of a later one.
    assert isinstance(error, kc.CorruptRecordError) or "format=" in str(error)
    assert getattr(error, "position", 0) == 0
    assert str(path) in str(error)
    assert re.search(r"\bbyte 0\b", str(error))


def test_file_shorter_than_a_header(tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"hello")
    found, error, _ = until_error(path)
    assert found == []
    assert isinstance(error, kc.CorruptRecordError)
    assert str(path) in str(error)


def test_empty_segment_is_no_error(tmp_path: Path) -> None:
    """A segment that was just rolled is empty; a broker's folder often ends with one."""
    made = partition(tmp_path)
    (made / "00000000000000000600.log").touch()
    assert offsets(made) == OFFSETS
    assert offsets(made / "00000000000000000600.log") == []


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex", "snapshot"])
def test_side_file_in_place_of_its_segment(tmp_path: Path, suffix: str) -> None:
    made = tmp_path / "topic-0"
    made.mkdir()
    side = made / f"{FIRST}.{suffix}"
    side.write_bytes(bytes(16))
    with pytest.raises(ValueError, match=re.escape(str(side))):
        kc.scan(side)


def test_index_without_its_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Alone it is a folder without segments; beside good segments it is named and left out."""
    alone = tmp_path / "alone-0"
    alone.mkdir()
    shutil.copyfile(RESTARTS / f"{FIRST}.index", alone / f"{FIRST}.index")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        with pytest.raises(FileNotFoundError, match=re.escape(str(alone))) as raised:
            kc.scan(alone)
        assert f"{FIRST}.index" in str(raised.value)
        caplog.clear()
        made = partition(tmp_path)
        orphan = made / "00000000000000000777.index"
        shutil.copyfile(RESTARTS / f"{FIRST}.index", orphan)
        assert offsets(made) == OFFSETS
        assert orphan.name in caplog.text


@pytest.mark.parametrize("source", [5, None, 1.5, object()])
def test_source_of_a_wrong_type(source: Any) -> None:
    with pytest.raises(TypeError, match="source"):
        kc.scan(source)


@pytest.mark.parametrize("source", [[], "nosuchscheme://bucket/topic-0"])
def test_source_with_a_wrong_value(source: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        kc.scan(source)


# ------------------------------------------------------------------------------------- a segment cut anywhere


def cuts() -> list[int]:
    """Around every border of the first batches, of their heads and headers, and in between."""
    near = {
        position + by for position, _, _ in BATCHES[:4] for by in (-1, 0, 1, 7, 8, 11, 12, 16, 17, 20, 21, 60, 61, 62)
    }
    middle = {position + size // 2 for position, size, _ in BATCHES}
    return sorted(cut for cut in near | middle | {len(DATA) - 1} if 0 < cut < len(DATA))


@pytest.mark.parametrize("cut", cuts())
def test_segment_cut_anywhere(tmp_path: Path, cut: int) -> None:
    """Whole batches before the cut come, then the message names the file and where the cut batch begins."""
    made = partition(tmp_path, data=DATA[:cut])
    whole = [offset for position, size, inside in BATCHES if position + size <= cut for offset in inside]
    last = max((position for position, _, _ in BATCHES if position <= cut), default=0)
    at_border = any(position == cut for position, _, _ in BATCHES)
    for source in (made, made / LOG):
        found, error, _ = until_error(source)
        assert found == whole
        if at_border:
            assert error is None
        else:
            assert isinstance(error, kc.CorruptRecordError)
            assert error.position == last
            assert str(made / LOG) in str(error)
            assert re.search(rf"\bbyte {last}\b", str(error))
        reader = kc.scan(source, columns=["offset"], on_error="skip")
        assert pa.table(reader).column("offset").to_pylist() == whole
        ranges = [(Path(entry.file), entry.position, entry.length) for entry in reader.report.skipped]
        assert ranges == ([] if at_border else [(made / LOG, last, cut - last)])


@pytest.mark.parametrize("at", [0, 5, 9, 16, 17, 40, 70, 1000])
@pytest.mark.parametrize("number", [0, 6, 13])
def test_damage_in_any_batch(tmp_path: Path, number: int, at: int) -> None:
    """Batches before the damage are delivered in any case, those after it with skip."""
    position, size, _ = BATCHES[number]
    data = bytearray(DATA)
    data[position + min(at, size - 1)] ^= 0x55
    made = partition(tmp_path, data=bytes(data))
    before = [offset for _, _, inside in BATCHES[:number] for offset in inside]
    after = [offset for _, _, inside in BATCHES[number + 1 :] for offset in inside]
    found, error, report = until_error(made)
    skipping = kc.scan(made, columns=["offset"], on_error="skip")
    kept = pa.table(skipping).column("offset").to_pylist()
    if at in {0, 5}:
        # The base offset is under no checksum: a batch that moved is still a batch, or out of order.
        assert found[: len(before)] == before
        assert kept[: len(before)] == before
        assert kept[len(kept) - len(after) :] == after
        return
    assert found == before
    assert error is not None
    assert str(made / LOG) in str(error)
    assert f"byte {position}" in str(error)
    assert kept == before + after
    (entry,) = skipping.report.skipped
    assert (Path(entry.file), entry.position, entry.length) == (made / LOG, position, size)
    assert entry.reason
    assert not report.skipped


@pytest.mark.parametrize("threads", [1, 2])
def test_damage_in_one_of_several_segments(tmp_path: Path, threads: int) -> None:
    """Order and delivery do not depend on threads: everything before the damage, nothing behind it, or all but it."""
    source = SMALL / "modern" / "compact-txn" / "compact-txn-0"
    good = offsets(source)
    made = tmp_path / source.name
    shutil.copytree(source, made, copy_function=shutil.copyfile)
    names = sorted(path.name for path in made.glob("*.log"))
    damaged = made / names[2]
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.chmod(0o644)
    damaged.write_bytes(data)
    (batch,) = [
        b
        for b in record.read_batches(damaged.read_bytes(), verify_crc=False)
        if b.position <= len(data) // 2 < b.position + b.size_in_bytes
    ]
    found, error, _ = until_error(made, threads=threads)
    assert found == [offset for offset in good if offset < batch.base_offset]
    assert error is not None
    assert str(damaged) in str(error)
    kept = offsets(made, threads=threads, on_error="skip")
    assert kept == [offset for offset in good if not batch.base_offset <= offset <= batch.last_offset]


def test_several_damaged_places_are_each_reported(tmp_path: Path) -> None:
    data = bytearray(DATA)
    for number in (1, 2, 7):
        data[BATCHES[number][0] + 30] ^= 1
    made = partition(tmp_path, data=bytes(data))
    reader = kc.scan(made, columns=["offset"], on_error="skip")
    kept = pa.table(reader).column("offset").to_pylist()
    assert kept == [o for number, (_, _, inside) in enumerate(BATCHES) if number not in {1, 2, 7} for o in inside]
    skipped = {at for entry in reader.report.skipped for at in range(entry.position, entry.position + entry.length)}
    lost = {at for number in (1, 2, 7) for at in range(BATCHES[number][0], BATCHES[number][0] + BATCHES[number][1])}
    assert skipped == lost


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff" * 13, b"\xff" * 4096, bytes(range(256)) * 9, bytes(10_000)])
def test_damaged_index_changes_no_record(tmp_path: Path, kind: str, content: bytes) -> None:
    """An index is a help, not a truth: bounds give the same rows with a broken one, or a message names it."""
    made = partition(tmp_path)
    (made / f"{FIRST}.{kind}").write_bytes(content)
    bounds: tuple[dict[str, Any], ...] = (
        {},
        {"start_offset": 300},
        {"start_offset": 300, "end_offset": 310},
        {"start_time": 1384622555420},
    )
    for options in bounds:
        expected = offsets(RESTARTS, **options)
        found, error, _ = until_error(made, **options)
        assert found == expected if error is None else f"{FIRST}.{kind}" in str(error)


# ------------------------------------------------------------------------- what else lies in a broker's folders

CLUTTER = {
    "recovery-point-offset-checkpoint": b"0\n1\ntopic 0 600\n",
    "replication-offset-checkpoint": b"0\n1\ntopic 0 600\n",
    "log-start-offset-checkpoint": b"0\n0\n",
    "cleaner-offset-checkpoint": b"0\n0\n",
    "meta.properties": b"version=1\ncluster.id=abc\nnode.id=1\n",
    ".lock": b"",
    ".kafka_cleanshutdown": b"",
    "bootstrap.checkpoint": b"",
}


def test_files_of_a_partition_folder_that_are_no_segments(tmp_path: Path) -> None:
    """Deleted, swapped in, half cleaned, checkpoints, snapshots, locks: the log is what it was."""
    made = partition(tmp_path)
    for suffix in ("deleted", "swap", "cleaned"):
        for kind in ("log", "index", "timeindex", "txnindex"):
            (made / f"{FIRST}.{kind}.{suffix}").write_bytes(DATA[:5000])
            (made / f"00000000000000000900.{kind}.{suffix}").write_bytes(b"\x01" * 100)
    for name in (
        "leader-epoch-checkpoint",
        "partition.metadata",
        f"{FIRST}.snapshot",
        "0000.log~",
        ".hidden",
        "notes.txt",
    ):
        (made / name).write_bytes(b"0\n1\n0 0\n")
    (made / "remote_log_snapshot").mkdir()
    assert offsets(made) == OFFSETS
    assert offsets(tmp_path) == OFFSETS


@pytest.mark.parametrize("suffix", ["log.deleted", "log.swap", "log.cleaned"])
def test_set_aside_segments_can_be_read_when_named(tmp_path: Path, suffix: str) -> None:
    """Pointed at, such a file is read as what it is: batches."""
    made = partition(tmp_path)
    (made / LOG).rename(made / f"{FIRST}.{suffix}")
    assert offsets(made / f"{FIRST}.{suffix}") == OFFSETS


def test_log_folder_of_a_broker(tmp_path: Path) -> None:
    """Partitions by name and number; marked folders, checkpoints and locks are passed over."""
    names = ["a.b_c-d-e-0", "a.b_c-d-e-10", "a.b_c-d-e-9", "__consumer_offsets-49", "x--1", "7-7", "-dash-3"]
    for name in names:
        partition(tmp_path, name)
    for mark in ("delete", "future", "stray"):
        partition(tmp_path, f"gone-0.0123456789abcdef0123456789abcdef-{mark}")
    for name, content in CLUTTER.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "empty-5").mkdir()
    table = pa.table(kc.scan(tmp_path, columns=["topic", "partition", "offset"]))
    found = set(zip(table.column("topic").to_pylist(), table.column("partition").to_pylist(), strict=True))
    assert found == {(name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in names}
    assert table.num_rows == len(names) * len(OFFSETS)
    numbers = [
        n for t, n in zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True) if t == "a.b_c-d-e"
    ]
    assert sorted(numbers) == numbers


@pytest.mark.parametrize(
    "name", ["strange", "topic-", "topic-x", "topic-1x", "topic-99999999999", "ünïcode", "with space"]
)
def test_topic_folder_with_a_strange_name(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Named itself it is read, without topic and partition or with those given; among others it is skipped by name."""
    made = partition(tmp_path / "log", name)
    columns = ["topic", "partition", "offset"]
    sources: dict[tuple[str | None, int | None], Any] = {(None, None): made, ("t", 4): {("t", 4): made}}
    for owner, source in sources.items():
        table = pa.table(kc.scan(source, columns=columns))
        assert table.column("offset").to_pylist() == OFFSETS
        assert set(table.column("topic").to_pylist()) == {owner[0]}
        assert set(table.column("partition").to_pylist()) == {owner[1]}
    partition(tmp_path / "log", "good-2")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        table = pa.table(kc.scan(tmp_path / "log", columns=columns))
    assert set(table.column("topic").to_pylist()) == {"good"}
    assert name in caplog.text


def test_segments_with_strange_names(tmp_path: Path) -> None:
    """A segment that was renamed is read when named; in a folder only Kafka's names count."""
    path = tmp_path / "backup of segment (1).log"
    path.write_bytes(DATA)
    assert offsets(path) == OFFSETS
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        kc.scan(tmp_path)


def test_a_folder_where_a_segment_should_be(tmp_path: Path) -> None:
    """A directory with a segment's name is not opened as one."""
    made = partition(tmp_path)
    (made / "00000000000000000600.log").mkdir()
    assert offsets(made) == OFFSETS


def test_files_may_be_of_any_kind_in_a_list(tmp_path: Path) -> None:
    """Segments, folders, bytes and copies side by side."""
    made = partition(tmp_path)
    assert offsets([made, DATA, made / LOG, COMPACT]) is not None


def test_a_used_reader_says_what_to_do() -> None:
    reader = kc.scan(RESTARTS)
    pa.table(reader)
    with pytest.raises(ValueError, match=r"kafkacomp\.scan again"):
        pa.table(reader)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_segment_that_goes_away_during_the_scan(tmp_path: Path, on_error: Literal["raise", "skip"]) -> None:
    """Deleted between scan and read: an error that names it, or with skip an entry of the report."""
    made = partition(tmp_path)
    scan = kc.scan(made, columns=["offset"], on_error=on_error)
    (made / LOG).unlink()
    try:
        found = pa.table(scan).num_rows
    except (pa.ArrowException, OSError) as raised:
        message = str(raised)
    else:
        # If it was opened before it went, it is read whole.
        message = scan.report.skipped[0].file if not found else ""
    assert message == "" or str(made / LOG) in message
