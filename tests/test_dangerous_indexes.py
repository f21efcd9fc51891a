"""What ``verify`` says of index files that a broker should not load: untrimmed, incomplete or stale."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from golden.expect import roots
from kafkacomp import log, record
from kafkacomp._cli.command import run

if TYPE_CHECKING:
    from collections.abc import Iterable

MODERN = Path(__file__).parent / "vectors" / "modern"
ENTRY = struct.Struct(">hqqqq")


def batch(first: int, timestamp: int = 1000) -> bytes:
    """A batch of ten records."""
    builder = record.RecordBatchBuilder(base_offset=first)
    for offset in range(10):
        builder.append(value=b"v" * 900, timestamp=timestamp + offset if timestamp else 0)
    return bytes(builder.build())


def written(folder: Path, *, timestamp: int = 1000) -> Path:
    """A partition of three segments with the indexes that a broker would write."""
    partition = folder / "t-0"
    partition.mkdir()
    for base in (0, 50, 100):
        batches = [batch(at, timestamp and timestamp + at) for at in range(base, base + 50, 10)]
        size = len(batches[0])
        name = partition / f"{base:020}"
        name.with_suffix(".log").write_bytes(b"".join(batches))
        name.with_suffix(".index").write_bytes(struct.pack(">4i", 19, size, 39, 3 * size))
        entries = [(19, timestamp + base + 19), (39, timestamp + base + 39)] if timestamp else [(9, 0)]
        times = b"".join(struct.pack(">qi", time, offset) for offset, time in entries)
        last = struct.pack(">qi", timestamp + base + 49, 49) if timestamp else b""
        name.with_suffix(".timeindex").write_bytes(times + last)
    return partition


def warnings(partition: Path) -> list[tuple[str, int, str]]:
    """File, position and text of the warnings; there is no error."""
    report = log.verify_partition(partition)
    assert not [each for each in report.findings if each.is_error]
    assert report.is_intact
    return [(Path(each.file).name, each.position, each.message) for each in report.findings]


# ----------------------------------------------------------------------------------------------------- untrimmed


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("zeros", [1, 2, 5000])
@pytest.mark.parametrize("keeps", [True, False], ids=["entries", "all-zero"])
def test_zeros_at_the_end_of_a_closed_index(tmp_path: Path, suffix: str, zeros: int, keeps: bool) -> None:
    """A warning that says what happens and what to delete, for each closed segment; none for the last one."""
    partition = written(tmp_path)
    assert warnings(partition) == []
    size = 8 if suffix == "index" else 12
    entries = 0
    for base in (50, 100):
        path = partition / f"{base:020}.{suffix}"
        content = path.read_bytes() if keeps else b""
        entries = len(content)
        path.write_bytes(content + bytes(zeros * size))
    ((name, position, message),) = warnings(partition)
    assert (name, position) == (f"{50:020}.{suffix}", entries)
    assert message.startswith(f"{zeros * size} zero bytes ")
    assert "KAFKA-10207" in message
    assert ("KAFKA-19200" in message) == (suffix == "timeindex")
    assert f"Delete {50:020}.index and {50:020}.timeindex " in message


def test_what_is_to_be_deleted_helps(tmp_path: Path) -> None:
    """Without an .index a broker rebuilds all indexes of the segment."""
    partition = written(tmp_path)
    for suffix in ("index", "timeindex"):
        path = partition / f"{50:020}.{suffix}"
        path.write_bytes(bytes(24000))
    assert [name for name, *_ in warnings(partition)] == [f"{50:020}.index", f"{50:020}.timeindex"]
    partition.joinpath(f"{50:020}.index").unlink()
    assert warnings(partition) == []


def test_the_only_entry_of_records_of_1970_is_zero(tmp_path: Path) -> None:
    """A time index of twelve zero bytes is right if the segment's greatest timestamp is 0, and only then."""
    partition = written(tmp_path, timestamp=0)
    for base in (0, 50, 100):
        partition.joinpath(f"{base:020}.timeindex").write_bytes(bytes(12))
    assert warnings(partition) == []
    other = tmp_path / "other"
    other.mkdir()
    partition = written(other)
    partition.joinpath(f"{50:020}.timeindex").write_bytes(bytes(12))
    assert [name for name, *_ in warnings(partition)] == [f"{50:020}.timeindex"]


def test_the_command_warns_and_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For a folder, and for one file of it."""
    partition = written(tmp_path)
    partition.joinpath(f"{0:020}.timeindex").write_bytes(bytes(120))
    for path in (partition, partition / f"{0:020}.log"):
        assert run(["verify", str(path)]) == 0
        assert "KAFKA-10207" in "".join(capsys.readouterr())


# --------------------------------------------------------------------------------------------------- transactions


class Marker(NamedTuple):
    """An abort marker after records of its transaction."""

    offset: int
    producer_id: int
    first_offset: int


def transactional(folder: Path, ends: Iterable[int] = ()) -> tuple[Path, list[Marker]]:
    """The log of the vector txn-open as segments that begin at these offsets, with indexes, and its abort markers."""
    source = MODERN / "txn-open" / "txn-open-0"
    batches = [each for path in sorted(source.glob("*.log")) for each in record.read_batches(path.read_bytes())]
    partition = folder / "t-0"
    partition.mkdir(parents=True)
    bases = sorted({0, *ends})
    markers: list[Marker] = []
    opened: dict[int, int] = {}
    for each in batches:
        if not each.is_control_batch and each.is_transactional:
            opened.setdefault(each.producer_id, each.base_offset)
        elif each.is_control_batch:
            first = opened.pop(each.producer_id, None)
            (item,) = each
            kind = log.parse_control_record(bytes(item.key or b""), bytes(item.value or b"")).type
            if kind == "ABORT" and first is not None:
                markers.append(Marker(each.base_offset, each.producer_id, first))
    for base, end in zip(bases, [*bases[1:], 2**62], strict=True):
        name = partition / f"{base:020}"
        content = b"".join(bytes(each) for each in batches if base <= each.base_offset < end)
        name.with_suffix(".log").write_bytes(content)
        name.with_suffix(".index").write_bytes(b"")
        inside = [each for each in markers if base <= each.offset < end]
        name.with_suffix(".txnindex").write_bytes(b"".join(map(entry, inside)))
    return partition, markers


def entry(marker: Marker) -> bytes:
    """The entry of an aborted transaction."""
    return ENTRY.pack(0, marker.producer_id, marker.first_offset, marker.offset, marker.offset + 1)


def test_markers_without_an_entry(tmp_path: Path) -> None:
    """An index that is empty, missing, or lacks one entry: a warning that names the marker."""
    partition, markers = transactional(tmp_path)
    assert markers
    path = partition / f"{0:020}.txnindex"
    content = path.read_bytes()
    assert warnings(partition) == []
    for at, marker in enumerate(markers):
        left = content[: at * ENTRY.size] + content[(at + 1) * ENTRY.size :]
        path.write_bytes(left)
        ((name, position, message),) = warnings(partition)
        assert (name, position) == (path.name, len(left))
        assert f"producer {marker.producer_id} that the marker at offset {marker.offset} aborts" in message
        assert f"Delete {0:020}.index and {0:020}.txnindex " in message
    for is_there in (True, False):
        path.write_bytes(b"")
        if not is_there:
            path.unlink()
        ((name, position, message),) = warnings(partition)
        assert (name, position) == (path.name, 0)
        assert f"marker at offset {markers[0].offset} aborts" in message
        assert (f"nor for {len(markers) - 1} more" in message) == (len(markers) > 1)
    partition.joinpath(f"{0:020}.index").unlink()
    assert warnings(partition) == []


def test_a_transaction_that_begins_in_an_earlier_segment(tmp_path: Path) -> None:
    """Its entry is in the index of the segment with the marker, wherever the segments end between the two."""
    _, markers = transactional(tmp_path / "whole")
    for number, marker in enumerate(markers):
        partition, _ = transactional(tmp_path / str(number), [marker.offset])
        assert warnings(partition) == []
        path = partition / f"{marker.offset:020}.txnindex"
        content = path.read_bytes()
        path.write_bytes(content[ENTRY.size :])
        ((name, _, message),) = warnings(partition)
        assert name == path.name
        assert f"producer {marker.producer_id} that the marker at offset {marker.offset} aborts" in message
        # In the index of the segment with the records it is an entry of a marker after the end.
        earlier = partition / f"{0:020}.txnindex"
        earlier.write_bytes(earlier.read_bytes() + content[: ENTRY.size])
        assert [name for name, *_ in warnings(partition)] == [earlier.name, path.name]
        # Nothing is said of the transaction if the segment with its records is missing: it may have been another one.
        partition.joinpath(f"{0:020}.log").unlink()
        assert not [each for each in log.verify_partition(partition).findings if path.name in each.file]


def test_aborts_of_empty_transactions_have_no_entry(tmp_path: Path) -> None:
    """With the records of a transaction, its entry goes: compaction removes both."""
    partition, markers = transactional(tmp_path)
    batches = record.read_batches(partition.joinpath(f"{0:020}.log").read_bytes())
    offsets = {each.offset for each in markers}
    kept = [each for each in batches if each.is_control_batch or not each.is_transactional]
    for path in partition.iterdir():
        path.unlink()
    for number, one in enumerate(each for each in kept if each.base_offset in offsets):
        name = tmp_path / f"u-{number}" / f"{one.base_offset:020}"
        name.parent.mkdir()
        name.with_suffix(".log").write_bytes(bytes(one))
        name.with_suffix(".index").write_bytes(b"")
        assert warnings(name.parent) == []


def test_entries_of_markers_after_the_end(tmp_path: Path) -> None:
    """A log that was truncated between two batches: the entries of what is gone would be taken for other records."""
    partition, markers = transactional(tmp_path)
    path = partition / f"{0:020}.log"
    last = markers[-1]
    batches = record.read_batches(path.read_bytes())
    path.write_bytes(b"".join(bytes(each) for each in batches if each.last_offset < last.offset))
    ((name, position, message),) = warnings(partition)
    assert (name, position) == (f"{0:020}.txnindex", (len(markers) - 1) * ENTRY.size)
    assert f"its marker, offset {last.offset}, is after the end of the segment, offset {last.offset - 1}" in message
    assert f"Delete {0:020}.index and {0:020}.txnindex " in message


# ------------------------------------------------------------------------------------------------- what is intact


def partitions() -> list[Path]:
    """The partitions' folders of the log directories of all vector sets."""
    sets = ("modern", "modern-4.4", "legacy", "internal", "tiered", "tiered-4.4", "v07")
    segments = {each for name in sets for root in roots(name) for each in root.rglob("*.log")}
    segments |= {each for root in roots("v07") for each in root.rglob("*.kafka")}
    folders = {each.parent for each in segments if "storage" not in each.parts}
    return sorted(each for each in folders if each.name.rpartition("-")[2].isdigit())


def test_no_warning_on_what_brokers_wrote() -> None:
    """Indexes of brokers of all versions: closed segments are trimmed, and aborted transactions have their entries."""
    folders = partitions()
    assert len(folders) > 30
    found = [each for folder in folders for each in log.verify_partition(folder).findings]
    warnings = [(each.file, each.message) for each in found if not each.is_error]
    assert [each for each in warnings if each[0].endswith("index")] == []


def test_recompressed_logs_are_not_dangerous(tmp_path: Path) -> None:
    """What kafkacomp writes has trimmed indexes and all entries."""
    for number, case in enumerate(("txn-open/txn-open-0", "compact-txn/compact-txn-0")):
        source = tmp_path / str(number) / "t-0"
        shutil.copytree(MODERN / case, source)
        target = tmp_path / str(number) / "out" / "t-0"
        log.recompress(source, target, compression_type="zstd", segment_bytes=10_000)
        assert not [each for each in log.verify_partition(target).findings if "index" in Path(each.file).suffix]
