"""Logs of Kafka 0.7 through ``kafkacomp.scan``: rows, bounds, families, damage, threads, the cap."""

from __future__ import annotations

import base64
import gzip
import shutil
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped

from .expect import roots
from .test_v07 import CASES, Case, by_name

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = sorted({case.path.parent for case in CASES if case.path.suffix == ".kafka"})
NESTED = roots("v07")[0] / "broker" / "nested-0"
COLUMNS = ["offset", "value", "position"]
by_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")


def until_error(source: Any, **options: Any) -> tuple[list[tuple[Any, ...]], BaseException | None, kc.ScanReport]:
    """The rows before an error, and the error."""
    options.setdefault("columns", COLUMNS)
    scan = kc.scan(source, **grouped(**options))
    rows: list[tuple[Any, ...]] = []
    try:
        for batch in pa.RecordBatchReader.from_stream(scan):
            rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    except (pa.ArrowException, OSError):
        assert scan.error is not None
        return rows, scan.error, scan.report
    return rows, None, scan.report


def deep(case: Case) -> list[tuple[int, bytes]]:
    """Offset and payload of each message, by Kafka."""
    return [(line["offset"], base64.b64decode(line["payload"])) for line in case.lines() if line["t"] == "deep"]


def entries(case: Case) -> list[int]:
    """Where the top-level entries begin."""
    return [line["position"] for line in case.lines() if line["t"] == "shallow"]


def cases_of(folder: Path) -> list[Case]:
    """A folder's files in order."""
    return sorted((case for case in CASES if case.path.parent == folder), key=lambda case: case.path.name)


def set_of(*payloads: bytes, codec: int = 0) -> bytes:
    """A message set, or a wrapper around it."""
    body = b""
    for payload in payloads:
        message = struct.pack(">BBI", 1, codec, zlib.crc32(payload)) + payload
        body += struct.pack(">i", len(message)) + message
    return body


@by_name
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_kafkas_messages(case: Case, threads: int) -> None:
    """Every file by itself, the format given."""
    lines = case.lines()
    initial = lines[0]["initial_offset"]
    rows, error, _ = until_error(case.path.read_bytes(), log_format="0.7", threads=threads)
    wanted = deep(case)
    assert [(offset + initial, value) for offset, value, _ in rows[: len(wanted)]] == wanted
    (end,) = [line for line in lines if line["t"] == "deep_end"]
    if end["error"] is None:
        assert error is None
        assert len(rows) == len(wanted)
        assert {position for _, _, position in rows} <= set(entries(case))
    elif error is None:
        # A set whose only entry is cut: what a fetch cuts is no damage.
        assert end["error"]["class"].endswith("InvalidMessageSizeException")
        assert not rows
    else:
        assert isinstance(error, kc.MessageSetError)


@by_folder
def test_a_folder_is_a_log(folder: Path) -> None:
    """Found by its content; offsets are positions in the partition."""
    wanted = [message for case in cases_of(folder) for message in deep(case)]
    table = pa.table(kc.scan(folder))
    assert table.column_names == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
    ]
    topic, _, partition = folder.name.rpartition("-")
    found = list(zip(table["offset"].to_pylist(), table["value"].to_pylist(), strict=True))
    assert found == wanted
    reader = kc.scan(folder, columns=["offset"])
    list(reader)
    assert not reader.report.missing
    for name in ("key", "timestamp", "headers"):
        assert table[name].null_count == len(wanted)
    if wanted:
        assert table["topic"].unique().to_pylist() == [topic]
        assert table["partition"].unique().to_pylist() == [int(partition)]
        assert table["timestampType"].unique().to_pylist() == [-1]
    assert (
        pa.table(kc.scan(folder, isolation_level="read_committed"))["offset"].to_pylist() == table["offset"].to_pylist()
    )
    for batch in pa.RecordBatchReader.from_stream(kc.scan(folder, options=kc.ScanOptions(batch_rows=7))):
        assert batch.num_rows <= 7


@by_folder
def test_bounds_are_positions_of_entries(folder: Path) -> None:
    """An entry that begins inside comes whole."""
    starts: list[tuple[int, int]] = []
    for case in cases_of(folder):
        initial = case.lines()[0]["initial_offset"]
        rows, _, _ = until_error(case.path.read_bytes(), log_format="0.7")
        starts += [(initial + position, initial + offset) for offset, _, position in rows]
    for start, end in ((0, 0), (1, 2000), (2611, 30_000), (40_643, 1 << 40), (50_000, 50_001)):
        wanted = [offset for position, offset in starts if start <= position < end]
        table = pa.table(kc.scan(folder, start_offset=start, end_offset=end))
        assert table["offset"].to_pylist() == wanted


@by_name
def test_the_family_is_found_by_content(case: Case) -> None:
    """A whole and sound first entry decides; nothing else is guessed."""
    lines = case.lines()
    shallow = [line for line in lines if line["t"] == "shallow"]
    data = case.path.read_bytes()
    if not data:
        assert pa.table(kc.scan(data)).num_rows == 0
    elif shallow and any(line["payload_size"] for line in shallow[:1]):
        rows, _, _ = until_error(data)
        assert len(rows) >= len(deep(case))
        assert rows or not deep(case)
    else:
        _, error, report = until_error(data)
        decided = error is None or isinstance(error, kc.KafkaCompError)
        assert decided or (isinstance(error, ValueError) and "format=" in str(error)), (error, report)


@pytest.mark.parametrize("first_offset", [5 << 32, (6 << 32) + (1 << 24), 0, 7, 1 << 62])
def test_later_logs_that_begin_like_empty_messages(first_offset: int) -> None:
    """An 0.8 log whose first offset is that of an empty message of 0.7."""
    body = struct.pack(">BBii", 0, 0, -1, 5) + b"value"
    message = struct.pack(">qiI", first_offset, len(body) + 4, zlib.crc32(body)) + body
    table = pa.table(kc.scan(message, columns=["offset", "value", "magic"]))
    assert table.to_pylist() == [{"offset": first_offset, "value": b"value", "magic": 0}]


def test_empty_messages_only() -> None:
    assert pa.table(kc.scan(set_of(b"", b"", b"")))["value"].to_pylist() == [b"", b"", b""]


def test_undecided_is_said(tmp_path: Path) -> None:
    """Nothing whole: the caller, or the file's name, must say."""
    cut = set_of(b"a payload")[:-1]
    with pytest.raises((ValueError, pa.ArrowException), match="format="):
        pa.table(kc.scan(cut))
    assert pa.table(kc.scan(cut, options=kc.ScanOptions(log_format="0.7"))).num_rows == 0
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.kafka").write_bytes(set_of(b"first") + set_of(b"damaged")[:-1] + b"x" + set_of(b"third"))
    rows, error, _ = until_error(folder)
    assert [value for _, value, _ in rows] == [b"first"]
    assert isinstance(error, kc.MessageSetError)
    assert (error.kind, error.position) == ("crc", 15)
    rows, error, report = until_error(folder, on_error="skip")
    assert [value for _, value, _ in rows] == [b"first", b"third"]
    assert error is None
    assert [(skipped.position, skipped.length) for skipped in report.skipped] == [(15, 17)]


def test_files_of_both_families_side_by_side(tmp_path: Path) -> None:
    """A log folder in which some topics are old."""
    shutil.copytree(NESTED, tmp_path / "old-0", ignore=shutil.ignore_patterns("*.gz"))
    kc.write(pa.table({"value": [b"new"]}), tmp_path, topic="new")
    table = pa.table(kc.scan(tmp_path, columns=["topic", "value"]))
    assert set(table["topic"].to_pylist()) == {"old", "new"}
    with pytest.raises(Exception, match="old-0"):
        pa.table(kc.scan(tmp_path, options=kc.ScanOptions(log_format="0.8+")))


def test_on_demand_columns() -> None:
    wrapper = gzip.compress(set_of(b"one", b"two"), mtime=0)
    data = set_of(b"plain") + set_of(wrapper, codec=1)
    table = pa.table(kc.scan(data, columns=["value", "magic", "compressionType", "position", "baseOffset", "offset"]))
    end = len(data)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (b"plain", 1, "none", 0, 0, 15),
        (b"one", 1, "gzip", 15, 15, 15),
        (b"two", 1, "gzip", 15, 15, end),
    ]


def test_damage_inside_a_wrapper() -> None:
    """Good messages come first, then the error; where damage is stepped over, an entry comes whole or not at all."""
    inner = set_of(b"good") + set_of(b"bad")[:-1] + b"X"
    data = set_of(gzip.compress(inner), codec=1) + set_of(b"behind")
    rows, error, _ = until_error(data)
    assert [value for _, value, _ in rows] == [b"good"]
    assert isinstance(error, kc.MessageSetError)
    rows, error, report = until_error(data, on_error="skip")
    assert ([value for _, value, _ in rows], error) == ([b"behind"], None)
    assert [skipped.position for skipped in report.skipped] == [0]


def test_checksums_can_be_left_unverified() -> None:
    data = set_of(b"first") + set_of(b"second")[:-1] + b"X"
    assert until_error(data)[1] is not None
    assert [value for _, value, _ in until_error(data, verify_crc=False)[0]] == [b"first", b"seconX"]


def test_bombs_cost_no_more_than_the_cap() -> None:
    bomb = set_of(gzip.compress(set_of(bytes(64 << 20))), codec=1)
    _, error, _ = until_error(bomb, max_output_size=1 << 20)
    assert isinstance(error, kc.KafkaCompError)
    nested = set_of(b"x")
    for _ in range(80):
        nested = set_of(gzip.compress(nested), codec=1)
    _, error, _ = until_error(nested)
    assert isinstance(error, kc.MessageSetError)


@pytest.mark.parametrize("bit", range(0, 8 * 60, 7))
def test_bit_flips(bit: int) -> None:
    """An error, a warning, or the same data; but the attributes, which no checksum covers, decide what is a wrapper."""
    if bit // 8 in {5, 28}:
        return
    data = bytearray(set_of(b"first payload") + set_of(gzip.compress(set_of(b"one", b"two"), mtime=0), codec=1))
    wanted = [b"first payload", b"one", b"two"]
    data[bit // 8 % len(data)] ^= 1 << (bit % 8)
    rows, error, report = until_error(bytes(data), log_format="0.7")
    found = [value for _, value, _ in rows]
    assert found == wanted[: len(found)]
    assert len(found) == 3 or error is not None or report.warnings
    rows, _, _ = until_error(bytes(data), log_format="0.7", on_error="skip")
    assert all(value in wanted for _, value, _ in rows)
