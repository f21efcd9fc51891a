"""What a broker does with random and damaged record sets: Kafka's LogValidator and UnifiedLog, case by case."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from .expect import SMALL, OracleCase, oracle_cases
from .validating import RULES, compare_analysis, compare_validation

if TYPE_CHECKING:
    from .oracle import Verdict

VALIDATE = oracle_cases("validate")
ANALYZE = oracle_cases("analyze")

# How often each intended difference decides something in the full set (seed 1001). A change here is a change of
# behaviour: look at the cases before touching the numbers.
FULL_SET_RULES = {
    "skipped keys": 26,
    "length near 2^31": 3,
    "batch below its format's overhead": 3,
    "claimed memory": 1,
}


@cache
def validated(case: OracleCase) -> Verdict:
    """Each case is compared once."""
    return compare_validation(case.data, case.config, case.outcome)


@cache
def analyzed(case: OracleCase) -> Verdict:
    """Each case is compared once."""
    return compare_analysis(case.data, case.config, case.outcome)


@pytest.mark.parametrize("case", VALIDATE, ids=str)
def test_validate(case: OracleCase) -> None:
    """The same verdict, error and refused records; the same bytes, or content where they were compressed anew."""
    verdict = validated(case)
    assert not verdict.differences, f"{case.what} {case.config}\n" + "\n".join(verdict.differences)


@pytest.mark.parametrize("case", ANALYZE, ids=str)
def test_analyze(case: OracleCase) -> None:
    """The same facts of the headers, or the same error; the same bytes are trimmed."""
    verdict = analyzed(case)
    assert not verdict.differences, f"{case.what} {case.config}\n" + "\n".join(verdict.differences)


def test_intended_differences_are_counted() -> None:
    """The rules that excuse a difference are few, named, and apply as often as was looked at."""
    cases = [case for case in VALIDATE + ANALYZE if not case.root.is_relative_to(SMALL)]
    counted: Counter[str] = Counter()
    for case in cases or VALIDATE + ANALYZE:
        counted += (validated if case.config.keys() >= {"src"} else analyzed)(case).rules
    assert counted.keys() <= RULES.keys()
    if cases:
        assert dict(counted) == FULL_SET_RULES
