"""What ``info`` says about corrupt logs: an exact count is the number of records that a reader gets."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from corruption.inject import KINDS, applies, inject
from corruption.logs import all_logs

if TYPE_CHECKING:
    from pathlib import Path

    from corruption.logs import Log

CASES = [(kind, log) for kind in KINDS for log in all_logs() if applies(kind, log)]


def faults_of(kind: str, log: Log, seed: object, folder: Path) -> list[str]:
    """Inject once, and list what ``info`` calls exact although a scan gets something else."""
    injected = inject(log, kind, random.Random(f"info {seed} {kind} {log.name}"))
    where = injected.write(folder)
    rows = pa.table(kc.scan(where, columns=["offset", "timestamp"], on_error="skip"))
    times = [each for each in rows.column("timestamp").cast(pa.int64()).to_pylist() if each not in {None, -1}]
    span = (min(times, default=None), max(times, default=None))
    plain, deep = kc.LogDir(where).info(), kc.LogDir(where).info(deep=True)
    found = []
    if deep.is_exact and (deep.records, deep.first_timestamp, deep.last_timestamp) != (rows.num_rows, *span):
        found.append(f"deep: {deep.records} records, {deep.first_timestamp} to {deep.last_timestamp}")
    # Headers do not show that the content of a batch is corrupt.
    reports = [report for each in deep.partitions if each.report for report in each.report.segments.values()]
    is_content_corrupt = any(each.corrupt_batches for each in reports)
    if plain.is_exact and plain.records != rows.num_rows and not is_content_corrupt:
        found.append(f"headers: {plain.records} records")
    return [f"{log.name}, {kind} ({seed}): {injected.what}: {each}; read: {rows.num_rows}, {span}" for each in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind(kind: str, tmp_path: Path) -> None:
    """Each kind of corruption in a few logs."""
    rng = random.Random(f"info {kind}")
    faults = []
    for number, log in enumerate(rng.sample([log for each, log in CASES if each == kind], 3)):
        faults += faults_of(kind, log, number, tmp_path / str(number))
    assert not faults


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_random(part: int, tmp_path: Path) -> None:
    """5,000 injections of random kinds into random logs."""
    rng = random.Random(f"info injections {part}")
    faults = []
    for number in range(500):
        faults += faults_of(*rng.choice(CASES), f"{part} {number}", tmp_path / str(number))
    assert not faults
