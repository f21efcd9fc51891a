"""What ``info`` says about corrupt logs: an exact count is the number of records that a reader gets."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from corruption.counts import differences
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
    return [f"{log.name}, {kind} ({seed}): {injected.what}: {each}" for each in differences(where)]


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
