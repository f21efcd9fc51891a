"""Files of Kafka 0.7 that do not follow one another: their offsets are the positions of bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.tools import command
from golden.expect import roots
from grouped import grouped
from kafkacomp import log, message_set

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Files = dict[int, bytes]
LOGS = ["gz-0", "plain-0"]


def intact(name: str) -> Files:
    """The files of a real log by the position in their names."""
    folders = [root / "broker" / name for root in roots("v07")]
    paths = max((sorted(folder.glob("*.kafka")) for folder in folders), key=len)
    if len(paths) < 3:
        pytest.skip(f"{name} has {len(paths)} files here")
    return {int(path.stem): path.read_bytes() for path in paths}


def entries(data: bytes) -> list[int]:
    """Where its entries begin."""
    found, position = [], 0
    while position + 4 <= len(data):
        found.append(position)
        position += 4 + int.from_bytes(data[position : position + 4], "big")
    return found


def values(files: Files) -> list[bytes]:
    """What the messages of files hold, each file by itself."""
    return [bytes(message.payload) for data in files.values() for message, _ in message_set.read_messages(data)]


def write(files: Files, folder: Path) -> Path:
    """Write a partition."""
    folder.mkdir(parents=True)
    for position, data in files.items():
        (folder / f"{position:020}.kafka").write_bytes(data)
    return folder


def scan(folder: Path, **options: str) -> tuple[list[bytes], kc.ScanReport]:
    """The values, and the report."""
    reader = kc.scan(folder, columns=["value"], **grouped(**options))
    return [value for batch in reader for value in batch.column("value").to_pylist()], reader.report


def missing(report: kc.ScanReport | log.RewriteReport) -> list[tuple[int, int, str]]:
    """First and last position, and the reason."""
    return [(each.first_offset, each.last_offset, each.reason) for each in report.missing]


def verified(folder: Path) -> tuple[int, list[tuple[int, int, str]], int]:
    """Exit status, what is missing, and the number of errors."""
    status, out, _ = command("verify", folder, "--json", "--threads", "1")
    report = json.loads(out)
    named = [(each["firstOffset"], each["lastOffset"], each["reason"]) for each in report["missing"]]
    return status, named, len(report["errors"])


@pytest.mark.parametrize("name", LOGS)
def test_intact(name: str, tmp_path: Path) -> None:
    """Nothing is missing, and no two files have a position in common."""
    files = intact(name)
    folder = write(files, tmp_path / "t-0")
    assert scan(folder)[0] == values(files)
    assert verified(folder) == (0, [], 0)
    report = log.verify_partition(folder)
    assert (report.findings, report.missing) == ((), ())
    converted = log.convert(folder, tmp_path / "out" / "t-0", to_magic=2)
    assert (converted.missing, converted.warnings) == ((), ())


def without_second(files: Files) -> tuple[Files, Files]:
    """A file between two is deleted."""
    second = sorted(files)[1]
    left = {position: data for position, data in files.items() if position != second}
    return left, left


def at_a_message(files: Files) -> tuple[Files, Files]:
    """A closed file is truncated between two messages."""
    first = min(files)
    places = entries(files[first])
    left = files | {first: files[first][: places[len(places) // 2]]}
    return left, left


def emptied(files: Files) -> tuple[Files, Files]:
    """A closed file has no bytes."""
    left = files | {sorted(files)[1]: b""}
    return left, left


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("change", [without_second, at_a_message, emptied], ids=lambda each: each.__name__)
def test_gap(change: Callable[[Files], tuple[Files, Files]], name: str, tmp_path: Path) -> None:
    """Every tool names the positions; nothing is corrupt, so that each reads on."""
    files = intact(name)
    left, _ = change(files)
    folder = write(left, tmp_path / "t-0")
    second, third = sorted(files)[1:3]
    gap = (len(left[0]), second - 1, "gap") if change is at_a_message else (second, third - 1, "gap")
    for on_error in ("raise", "skip"):
        found, report = scan(folder, on_error=on_error)
        assert (found, missing(report)) == (values(left), [gap])
    assert verified(folder) == (1, [gap], 1)
    status, out, err = command("export", folder, "-o", tmp_path / "rows.jsonl", "--json", "--columns", "offset")
    assert (status, [each["reason"] for each in json.loads(out)["missing"]]) == (1, ["gap"])
    assert "missing" in err
    converted = log.convert(folder, tmp_path / "out" / "t-0", to_magic=2, allow_missing=True)
    assert (missing(converted), len(converted.warnings)) == ([gap], 1)
    assert scan(tmp_path / "out" / "t-0")[0] == values(left)


@pytest.mark.parametrize("name", LOGS)
def test_truncated_within_a_message(name: str, tmp_path: Path) -> None:
    """Strict reading and conversion stop; the rest names every byte up to the next file."""
    files = intact(name)
    first, second = sorted(files)[:2]
    place = entries(files[first])[-1]
    folder = write(files | {first: files[first][:-3]}, tmp_path / "t-0")
    with pytest.raises(kc.CorruptRecordError):
        scan(folder)
    with pytest.raises(kc.CorruptRecordError):
        log.convert(folder, tmp_path / "out" / "t-0", to_magic=2)
    left = files | {first: files[first][:place]}
    named = [(place, second - 1, "corrupt")]
    found, report = scan(folder, on_error="skip")
    assert (found, missing(report)) == (values(left), named)
    assert verified(folder) == (1, named, 1)


@pytest.mark.parametrize("name", LOGS)
def test_zeroed_file(name: str, tmp_path: Path) -> None:
    """Zeros are no messages: 0.7 does not preallocate files."""
    files = intact(name)
    second, third = sorted(files)[1:3]
    folder = write(files | {second: bytes(len(files[second]))}, tmp_path / "t-0")
    named = [(second, third - 1, "corrupt")]
    found, report = scan(folder, on_error="skip")
    left = {position: data for position, data in files.items() if position != second}
    assert (found, missing(report)) == (values(left), named)
    assert verified(folder) == (1, named, 1)
    with pytest.raises(kc.CorruptRecordError):
        scan(folder)


@pytest.mark.parametrize("name", LOGS)
def test_copied_file(name: str, tmp_path: Path) -> None:
    """The first file has the second one's messages, too: each is delivered and converted once."""
    files = intact(name)
    first, second = sorted(files)[:2]
    folder = write(files | {first: files[first] + files[second]}, tmp_path / "t-0")
    for on_error in ("raise", "skip"):
        found, report = scan(folder, on_error=on_error)
        assert (found, missing(report)) == (values(files), [])
        assert report.warnings
    status, named, errors = verified(folder)
    assert (status, named, errors) == (1, [], 1)
    converted = log.convert(folder, tmp_path / "out" / "t-0", to_magic=2)
    assert (missing(converted), len(converted.warnings)) == ([], 1)
    assert scan(tmp_path / "out" / "t-0")[0] == values(files)


@pytest.mark.parametrize("name", LOGS)
def test_start_of_the_next_file_at_the_end(name: str, tmp_path: Path) -> None:
    """A message that the file's end truncates, and that the next file has: nothing is lost."""
    files = intact(name)
    first, second = sorted(files)[:2]
    folder = write(files | {first: files[first] + files[second][:40]}, tmp_path / "t-0")
    found, report = scan(folder, on_error="skip")
    assert (found, missing(report)) == (values(files), [])
    assert report.skipped
    assert verified(folder)[:2] == (1, [])


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("shift", [-1, -7])
def test_file_within_the_one_before(name: str, shift: int, tmp_path: Path) -> None:
    """A wrong name: no message begins where the file before ends. Strict tools stop; the rest names what is lost."""
    files = intact(name)
    second, third = sorted(files)[1:3]
    moved = {position + (shift if position == second else 0): data for position, data in files.items()}
    folder = write(moved, tmp_path / "t-0")
    with pytest.raises(kc.KafkaCompError, match="record"):
        scan(folder)
    with pytest.raises(kc.KafkaCompError, match="different records"):
        log.convert(folder, tmp_path / "out" / "t-0", to_magic=2)
    found, report = scan(folder, on_error="skip")
    begins = entries(files[second])[1] + second + shift
    left = files | {second: files[second][entries(files[second])[1] :]}
    assert found == values(left)
    assert missing(report) == [(second, begins - 1, "corrupt"), (third + shift, third - 1, "gap")]
    assert verified(folder)[0] == 1
