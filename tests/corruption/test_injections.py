"""Every kind of corruption in logs of every format and codec: what was not touched remains, the rest is named."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from corruption.asking import faults_of
from corruption.inject import KINDS, applies
from corruption.logs import all_logs
from corruption.tools import SPARK, TOOLS

if TYPE_CHECKING:
    from pathlib import Path

    from corruption.logs import Log

CASES = [(kind, log) for kind in KINDS for log in all_logs() if applies(kind, log)]


@pytest.mark.parametrize(("kind", "log"), CASES, ids=lambda value: str(value).replace(" ", "-"))
def test_kind(kind: str, log: Log, tmp_path: Path) -> None:
    """One injection of each kind into each log."""
    assert not faults_of(kind, log, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_random(part: int, tmp_path: Path) -> None:
    """10,000 injections of random kinds into random logs.

    Each is put to every tool, and to one of Spark's modes by turns: these take as long as all other tools together.
    """
    rng = random.Random(f"injections {part}")
    faults, modes = [], list(SPARK)
    for number in range(500):
        kind, log = rng.choice(CASES)
        folder = tmp_path / str(number)
        faults += faults_of(kind, log, f"random {part} {number}", folder, [*TOOLS, modes[number % len(modes)]])
        shutil.rmtree(folder)
    assert not faults
