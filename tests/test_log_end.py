"""The end of a log: what other files show that it had after its last batch is missing, in every door."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from checksums import crc32c
from doors.answers import Source
from doors.compare import differences
from kafkacomp import log
from kafkacomp._cli.command import run
from test_gap_reasons import batch, losses, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: A log of offsets 0 to 119 in batches of five, in segments of 40.
SEGMENTS = {base: [batch(first) for first in range(base, base + 40, 5)] for base in (0, 40, 80)}
SIZE = len(batch(0))


def index(entries: int) -> bytes:
    """The offset index of the last segment, with an entry for each batch but the first."""
    return b"".join(struct.pack(">ii", 5 * number + 4, number * SIZE) for number in range(1, entries + 1))


#: A snapshot of no producers.
NO_PRODUCERS = struct.pack(">hIi", 1, crc32c(struct.pack(">i", 0)), 0)
#: What shows that the log had 120 offsets: by its name, how it is written next to a partition.
WITNESSES: dict[str, Callable[[Path], object]] = {
    "recovery point": lambda path: (path.parent / "recovery-point-offset-checkpoint").write_text(
        f"0\n1\n{path.name[:-2]} 0 120\n"
    ),
    "high watermark": lambda path: (path.parent / "replication-offset-checkpoint").write_text(
        f"0\n1\n{path.name[:-2]} 0 120\n"
    ),
    "producer snapshot": lambda path: (path / f"{120:020}.snapshot").write_bytes(NO_PRODUCERS),
    "leader epoch": lambda path: (path / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 120\n"),
    "offset index": lambda path: (path / f"{80:020}.index").write_bytes(index(7)),
    "preallocated offset index": lambda path: (path / f"{80:020}.index").write_bytes(index(7) + bytes(8000)),
    "time index": lambda path: (
        (path / f"{80:020}.index").write_bytes(index(2)),
        (path / f"{80:020}.timeindex").write_bytes(struct.pack(">qiqi", 1085, 9, 1115, 39)),
    ),
}


def zeroed(data: bytes) -> bytes:
    """The last two batches zeroed."""
    return data[: -2 * SIZE] + bytes(2 * SIZE)


def altered(data: bytes) -> bytes:
    """A byte of each of the last two batches altered."""
    last = bytearray(data)
    last[-SIZE - 5] ^= 1
    last[-5] ^= 1
    return bytes(last)


#: What is done to the last segment, the first offset that is missing then, and the reason.
DAMAGE: dict[str, tuple[Callable[[bytes], bytes], int, str]] = {
    "truncated": (lambda data: data[: -2 * SIZE], 110, "gap"),
    "truncated within a batch": (lambda data: data[: -2 * SIZE + 20], 110, "corrupt"),
    "empty": (lambda _: b"", 80, "gap"),
    "zeroed": (zeroed, 110, "corrupt"),
    "altered": (altered, 110, "corrupt"),
}


def damaged(folder: Path, witness: str | None, damage: str) -> Path:
    """The partition of a log, of which the last segment was damaged."""
    partition = written(folder, "orders", SEGMENTS)
    if witness is not None:
        WITNESSES[witness](partition)
    last = partition / f"{80:020}.log"
    last.write_bytes(DAMAGE[damage][0](last.read_bytes()))
    return partition


@pytest.mark.parametrize(
    ("witness", "damage"),
    # An index shows nothing without an entry for a batch that is left.
    [(witness, damage) for witness in WITNESSES for damage in DAMAGE if damage != "empty" or "index" not in witness],
)
def test_every_door_names_it(tmp_path: Path, witness: str, damage: str) -> None:
    partition = damaged(tmp_path, witness, damage)
    _, first, reason = DAMAGE[damage]
    report = log.verify_partition(partition)
    assert losses(report.missing) == [(first, 119, reason)]
    reader = kc.scan(partition, on_error="skip")
    assert sum(each.num_rows for each in reader) == first
    assert losses(reader.report.missing) == [(first, 119, reason)]
    assert differences(Source(partition, tmp_path)) == []
    assert run(["verify", str(partition)]) == 1
    # Headers do not show that content was altered.
    assert run(["info", str(partition)]) == (0 if damage == "altered" else 1)
    assert run(["info", "--deep", str(partition)]) == 1


@pytest.mark.parametrize("witness", WITNESSES)
def test_an_intact_log_has_nothing_to_report(tmp_path: Path, witness: str, caplog: pytest.LogCaptureFixture) -> None:
    partition = written(tmp_path, "orders", SEGMENTS)
    WITNESSES[witness](partition)
    reader = kc.scan(partition)
    assert sum(each.num_rows for each in reader) == 120
    assert (reader.report.missing, reader.report.warnings) == ((), ())
    assert log.verify_partition(partition).missing == ()
    assert caplog.messages == []
    # Nor has any of its segments by itself.
    for path in sorted(partition.glob("*.log")):
        reader = kc.scan(path)
        assert sum(each.num_rows for each in reader) == 40
        assert reader.report.missing == ()
        assert tuple(log.verify_segment(path).missing) == ()


def test_the_finding_says_what_shows_it(tmp_path: Path) -> None:
    expected = {
        "recovery point": "the recovery point is 120",
        "high watermark": "the high watermark is 120",
        "producer snapshot": "there is a producer snapshot at offset 120",
        "leader epoch": "a leader epoch begins at offset 120",
        "time index": "the time index has an entry for offset 119",
    }
    for number, (witness, text) in enumerate(expected.items()):
        report = log.verify_partition(damaged(tmp_path / str(number), witness, "truncated"))
        messages = [each.message for each in report.findings if each.is_error]
        assert f"the log had reached offset 120: {text}; offsets 110 to 119 are missing" in messages, messages


@pytest.mark.parametrize("damage", ["truncated", "zeroed", "altered"])
def test_bounds(tmp_path: Path, damage: str) -> None:
    """What is missing at the end is cut to the bounds, like what is missing elsewhere."""
    partition = damaged(tmp_path, "recovery point", damage)
    reason = DAMAGE[damage][2]
    for start in (0, 50, 109, 110, 115, 119, 120):
        for end in (None, 60, 110, 111, 117, 120, 130):
            if end is not None and end <= start:
                continue
            reader = kc.scan(partition, start_offset=start, end_offset=end, on_error="skip")
            reader.read_all()
            first, last = max(start, 110), min(119, 119 if end is None else end - 1)
            wanted = [(first, last, reason)] if first <= last else []
            assert losses(reader.report.missing) == wanted, (start, end)


def test_zeros_alone_are_a_warning(tmp_path: Path) -> None:
    """Unless the file was preallocated, as its index shows."""
    partition = damaged(tmp_path, None, "zeroed")
    text = (
        f"{2 * SIZE} zero bytes at the end of the log, from byte {6 * SIZE} on: preallocated, or batches that were not "
        "written to disk"
    )
    path = partition / f"{80:020}.log"
    reader = kc.scan(partition)
    assert reader.read_all().num_rows == 110
    assert (reader.report.missing, reader.report.warnings) == ((), (f"{path}: {text}",))
    report = log.verify_partition(partition)
    assert [(each.message, each.is_error) for each in report.findings] == [(text, False)]
    assert report.missing == ()
    (partition / f"{80:020}.index").write_bytes(index(5) + bytes(80))
    reader = kc.scan(partition)
    assert reader.read_all().num_rows == 110
    assert reader.report.warnings == ()
    assert log.verify_partition(partition).findings == ()


def test_an_index_of_another_segment_shows_nothing(tmp_path: Path) -> None:
    partition = damaged(tmp_path, None, "truncated")
    wrong = bytearray(index(20))
    wrong[3] += 1
    (partition / f"{80:020}.index").write_bytes(wrong)
    assert log.verify_partition(partition).missing == ()
    assert kc.scan(partition).report.missing == ()


def test_only_the_cleaner_explains_it(tmp_path: Path) -> None:
    """Compaction never reaches the last segment, unless the cleaner's checkpoint says so."""
    partition = damaged(tmp_path, "recovery point", "truncated")
    for cleaned_to, wanted in [
        (115, [(110, 114, "compacted"), (115, 119, "gap")]),
        (120, [(110, 119, "compacted")]),
        (0, [(110, 119, "gap")]),
    ]:
        (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {cleaned_to}\n")
        assert losses(log.verify_partition(partition).missing) == wanted
        reader = kc.scan(partition)
        reader.read_all()
        assert losses(reader.report.missing) == wanted
        work = tmp_path / str(cleaned_to)
        work.mkdir()
        assert differences(Source(partition, work)) == []


def test_a_repaired_log_is_green(tmp_path: Path) -> None:
    for damage in DAMAGE:
        partition = damaged(tmp_path / damage, "recovery point", damage)
        target = tmp_path / damage / "target"
        report = log.repair(partition, target)
        assert losses(report.missing) == [(DAMAGE[damage][1], 119, DAMAGE[damage][2])]
        assert log.verify_partition(next(target.glob("**/*.log")).parent).is_intact
