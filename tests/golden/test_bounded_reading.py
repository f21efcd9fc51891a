"""A bounded reading of any vector is the filtered full reading, and misses only what that misses."""

from __future__ import annotations

import logging
import random

import pytest

from .bounds import Log, logs

#: How many random bounds all vectors get in the slow test.
MANY = 20_000
ALL = logs()
IN_TREE = [log for log in ALL if log.name.startswith("small")]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Corrupt vectors and vectors of tiered storage have warnings."""
    caplog.set_level(logging.CRITICAL, "kafkacomp")


def check(log: Log, rng: random.Random, *, steps: int, count: int) -> None:
    """Check a grid of bounds and random ones, as many as given."""
    for bounds in [*log.grid(steps), *(log.some_bounds(rng) for _ in range(count))]:
        threads = rng.choice([1, 2])
        log.check(bounds, log.read(bounds, on_error="skip", threads=threads))
        if log.is_intact:
            log.check(bounds, log.read(bounds, threads=3 - threads))


@pytest.mark.parametrize("log", IN_TREE, ids=lambda log: log.name)
def test_bounds(log: Log) -> None:
    check(log, random.Random(log.name), steps=2, count=2)


@pytest.mark.slow
@pytest.mark.parametrize("log", ALL, ids=lambda log: log.name)
def test_many_bounds(log: Log) -> None:
    check(log, random.Random(f"{log.name} again"), steps=12, count=-(-MANY // len(ALL)))


def test_partitions_together() -> None:
    """Several partitions in one scan have the rows and missing ranges that each has."""
    rng = random.Random(3)
    folders = [log for log in IN_TREE if log.name.startswith("small-modern/")]
    together = Log("together", [log.source for log in folders])
    for _ in range(20):
        bounds = together.some_bounds(rng)
        together.check(bounds, together.read(bounds, on_error="skip", threads=2))
