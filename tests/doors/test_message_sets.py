"""Logs of Kafka 0.7 through the doors that read them; docs/corruption-tools.md says which do not."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING

import pytest

from doors.answers import Answer, Source
from doors.compare import of_readers
from doors.copies import COPIES
from doors.readers import READERS, scanned, streamed
from doors.reporters import dumped_messages
from golden.expect import label, roots
from golden.test_v07_scan import set_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDERS = sorted({path.parent for root in roots("v07") for path in root.rglob("*.kafka")})
MANY = [folder for folder in FOLDERS if len(list(folder.glob("*.kafka"))) > 2]


def id_of(folder: Path) -> str:
    return f"{label(folder)}-{folder.parent.name}-{folder.name}"


def is_chosen(folder: Path) -> bool:
    """Whether its tests are not slow."""
    return label(folder) == "small" and folder.name in {"gz-0", "nested-0"}


def copied(folder: Path, target: Path) -> Source:
    shutil.copytree(folder, target / folder.name)
    return Source(target / folder.name, target)


def differences(source: Source) -> list[str]:
    """As :func:`doors.compare.differences`: the copy has other offsets, and the same values in the same order."""
    lenient, strict = READERS["scan, skip"](source), scanned(source)
    found = of_readers(source, lenient, strict)
    converted = COPIES["convert"](source)
    if (converted.error is None) != (strict.error is None):
        found.append(f"convert: {converted.error!r}; scan: {strict.error!r}")
    elif converted.error is None and _values(converted) != _values(lenient):
        found.append("convert writes other values")
    if strict.error is None and dumped_messages(source) != lenient.rows:
        found.append("dump shows other messages")
    for name in ("repair", "recompress"):
        if not isinstance(COPIES[name](source).error, ValueError):
            found.append(f"{name} does not refuse a log of 0.7")
    if not isinstance(streamed(source).error, ValueError):
        found.append("a stream does not refuse a log of 0.7")
    return found


def _values(answer: Answer) -> list[bytes]:
    return [content for *_, content in answer.rows or []]


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(each, id=id_of(each), marks=[] if label(each) == "small" else [pytest.mark.slow])
        for each in FOLDERS
    ],
)
def test_folders_of_brokers(folder: Path, tmp_path: Path) -> None:
    assert differences(copied(folder, tmp_path)) == []


def remove_a_file(files: list[Path]) -> None:
    files[1].unlink()


def flip_a_bit(files: list[Path]) -> None:
    data = bytearray(files[1].read_bytes())
    data[len(data) // 2] ^= 1
    files[1].write_bytes(data)


def truncate_a_closed_file(files: list[Path]) -> None:
    files[1].write_bytes(files[1].read_bytes()[:-10])


def truncate_the_last_file(files: list[Path]) -> None:
    files[-1].write_bytes(files[-1].read_bytes()[:-10])


def enlarge_a_size(files: list[Path]) -> None:
    data = bytearray(files[-1].read_bytes())
    data[middle_of(bytes(data))] ^= 0x40
    files[-1].write_bytes(data)


def insert_foreign_bytes(files: list[Path]) -> None:
    data = files[-1].read_bytes()
    at = middle_of(data)
    files[-1].write_bytes(data[:at] + b"\x01" * 61 + data[at:])


def middle_of(data: bytes) -> int:
    """Where a message begins that is not the last one, if there are several."""
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return starts[(len(starts) - 1) // 2]


DAMAGES = [truncate_the_last_file, enlarge_a_size, insert_foreign_bytes]
DAMAGES_OF_SEVERAL = [remove_a_file, flip_a_bit, truncate_a_closed_file]
DAMAGED = [(folder, damage) for folder in FOLDERS for damage in DAMAGES] + [
    (folder, damage) for folder in MANY for damage in DAMAGES_OF_SEVERAL
]


@pytest.mark.parametrize(
    ("folder", "damage"),
    [
        pytest.param(
            *each, id=f"{id_of(each[0])}-{each[1].__name__}", marks=[] if is_chosen(each[0]) else [pytest.mark.slow]
        )
        for each in DAMAGED
    ],
)
def test_damage(folder: Path, damage: Callable[[list[Path]], None], tmp_path: Path) -> None:
    source = copied(folder, tmp_path)
    damage(sorted(source.path.glob("*.kafka")))
    assert differences(source) == []


@pytest.mark.parametrize(
    "left_out", [5, pytest.param(60, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.slow)]
)
def test_nothing_inside_a_truncated_wrapper_is_a_message(left_out: int, tmp_path: Path) -> None:
    """If gzip stores data as they are, its output contains the messages themselves."""
    inner = set_of(*(b"value %d" % number * 5 for number in range(20)))
    wrapper = set_of(gzip.compress(inner, 0), codec=1)
    folder = tmp_path / "topic-0"
    folder.mkdir()
    (folder / f"{0:020}.kafka").write_bytes((set_of(b"first") + wrapper)[:-left_out])
    source = Source(folder, tmp_path)
    assert [offset for offset, *_ in READERS["scan, skip"](source).rows or []] == [len(set_of(b"first"))]
    assert differences(source) == []
