"""Every door keeps the promises of the map of a log: 300 damaged logs, and 3,000 in the slow tests.

``python -m promises.doors NUMBER`` in the folder ``tests`` repeats a case.
"""

from __future__ import annotations

import logging

import pytest

from promises.cases import case
from promises.doors import faults

#: The cases of a test.
PART = 10


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings about what is wrong are expected here."""
    caplog.set_level(logging.CRITICAL, "kafkacomp")


@pytest.mark.parametrize(
    "part", [pytest.param(each, marks=[] if each < 30 else [pytest.mark.slow]) for each in range(300)]
)
def test_the_doors_keep_the_promises(part: int) -> None:
    assert faults(range(part * PART, (part + 1) * PART)) == []


def test_a_case_is_the_same_for_the_same_number() -> None:
    """Whatever was made before."""
    alone = [case(number).disk for number in (37, 12)]
    made = [case(number) for number in (12, 37)]
    assert [[(each.name, each.units) for each in disk] for disk in alone] == [
        [(each.name, each.units) for each in made[place].disk] for place in (1, 0)
    ]
