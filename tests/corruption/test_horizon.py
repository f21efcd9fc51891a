"""Object stores: up to which size a partition is judged at a gap or at corrupt bytes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import fsspec
import pytest

import kafkacomp as kc
from corruption.inject import KINDS, applies, inject, intact
from corruption.logs import Log, all_logs, built
from missing_ranges import ranges_of
from test_gap_reasons import batch, losses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES = [(kind, log) for kind in KINDS for log in all_logs() if applies(kind, log)]
SOME = [
    found[number % len(found)]
    for number, kind in enumerate(KINDS)
    if (found := [each for each in CASES if each[0] == kind])
]
WARNING = "other segments were not searched for what is missing"


@pytest.fixture
def store() -> Iterator[str]:
    """A folder of fsspec's file system in memory."""
    filesystem = fsspec.filesystem("memory")
    yield "memory://horizon"
    filesystem.rm("/horizon", recursive=True)


def uploaded(folder: Path, store: str) -> str:
    """A copy of a partition's folder."""
    filesystem = fsspec.filesystem("memory")
    for path in folder.iterdir():
        filesystem.pipe_file(f"{store}/{folder.name}/{path.name}", path.read_bytes())
    return f"{store}/{folder.name}"


def answer(source: str | Path, *, skip: bool, horizon: int | None) -> tuple[list[int], object, str | None]:
    """Offsets, missing ranges, and the error without the name of its file."""
    offsets: list[int] = []
    reader = kc.scan(
        source,
        columns=["offset"],
        on_error="skip" if skip else "raise",
        options=kc.ScanOptions(horizon=horizon, threads=1),
    )
    try:
        for each in reader:
            offsets += each.column("offset").to_pylist()
    except (kc.KafkaCompError, OSError) as error:
        return offsets, None, type(error).__name__
    return offsets, ranges_of(reader.report.missing), None


@pytest.mark.parametrize(
    ("kind", "log"), [*SOME, *(pytest.param(*each, marks=pytest.mark.slow) for each in CASES)], ids=str
)
def test_without_a_horizon_a_store_gives_the_local_answer(tmp_path: Path, store: str, kind: str, log: Log) -> None:
    injected = inject(log, kind, random.Random(f"horizon {kind} {log.name}"))
    folder = injected.write(tmp_path)
    copy = uploaded(folder, store)
    for skip in (False, True):
        local = answer(folder, skip=skip, horizon=0)
        assert answer(copy, skip=skip, horizon=None) == local, (kind, skip)


def test_a_small_partition_is_judged(tmp_path: Path, store: str) -> None:
    """A gap of one segment is filled from another one; beyond the horizon, a warning says that this was not tried."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(0) + batch(10))
    (folder / f"{15:020}.log").write_bytes(batch(15) + batch(5) + batch(20))
    copy = uploaded(folder, store)
    everything = list(range(25))
    assert answer(folder, skip=True, horizon=0)[0] == everything
    assert answer(copy, skip=True, horizon=4 << 20)[0] == everything
    size = sum(each.stat().st_size for each in folder.iterdir())
    assert answer(copy, skip=True, horizon=size)[0] == everything


@pytest.mark.parametrize("skip", [False, True])
def test_a_warning_says_that_the_horizon_was_exceeded(store: str, tmp_path: Path, *, skip: bool) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(0) + batch(10))
    (folder / f"{15:020}.log").write_bytes(batch(15))
    copy = uploaded(folder, store)
    for horizon, warns in [(0, True), (1, True), (1000, False), (None, False)]:
        reader = kc.scan(copy, on_error="skip" if skip else "raise", options=kc.ScanOptions(horizon=horizon))
        assert reader.read_all().num_rows == 15
        assert losses(reader.report.missing) == [(5, 9, "gap")]
        assert [WARNING in each for each in reader.report.warnings] == [True] * warns, reader.report.warnings
    assert kc.scan(folder, options=kc.ScanOptions(horizon=0)).report.warnings == ()


def test_no_warning_of_a_compacted_or_intact_log(store: str, tmp_path: Path) -> None:
    for name, batches in {"c-0": [batch(0), batch(10), batch(20, (0, 4))], "i-0": [batch(0), batch(5)]}.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(b"".join(batches))
        reader = kc.scan(uploaded(folder, store), options=kc.ScanOptions(horizon=0))
        reader.read_all()
        assert reader.report.warnings == ()


def test_an_intact_log_is_read_once(tmp_path: Path, store: str) -> None:
    """Whatever the horizon, but for none, the bytes are read once."""
    copy = uploaded(intact(built(2, "none")).write(tmp_path), store)
    counts = []
    for horizon in (0, 1 << 40):
        reader = kc.scan(copy, options=kc.ScanOptions(horizon=horizon))
        reader.read_all()
        counts.append(reader.report.bytes_in)
    assert counts[0] == counts[1]
