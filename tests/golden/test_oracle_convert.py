"""The down-conversions of the oracle: what comes out is what came out of Kafka's ``MemoryRecords.downConvert``."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

import kafkacomp as kc
from kafkacomp import record

from .expect import SMALL, OracleCase, oracle_cases
from .oracle import Verdict, compare_batch, intended_batches, read
from .validating import RULES, intended

CASES = oracle_cases("convert")

# How often each intended difference decides something in the full set (seed 1001): always another error for what is
# an error in Kafka too.
FULL_SET_RULES = {"batch below its format's overhead": 1, "claimed memory": 1}


def convert(case: OracleCase) -> bytes:
    """The case's own arguments."""
    return record.convert(case.data, case.config["to_magic"], first_offset=case.config["first_offset"])


def compare(case: OracleCase) -> Verdict:
    """Compares what comes out with Kafka's answer."""
    verdict = Verdict()
    outcome = case.outcome
    try:
        converted = convert(case)
    except kc.KafkaCompError as error:
        verdict.check_error("conversion", error, outcome.get("err"))
        rule = intended(case.data, outcome.get("err"))
        if verdict.differences and rule is not None and not outcome["ok"]:
            return Verdict(rules=Counter([rule]))
        return verdict
    verdict.check_error("conversion", None, outcome.get("err"))
    if not outcome["ok"]:
        return verdict
    if outcome["exact"]:
        verdict.check("size", len(converted), outcome["size"])
        verdict.check("SHA-256", hashlib.sha256(converted).hexdigest(), outcome["sha"])
    # Compressed bytes are another library's: everything else must be the same.
    case = replace(case, data=converted, outcome=outcome["read"])
    batches, broken = intended_batches(case, verdict)
    reading = read(converted)
    verdict.check("batches", len(reading.batches), len(batches))
    verdict.check_error("reading", reading.error, broken)
    for found, expected in zip(reading.batches, batches, strict=False):
        free = {} if outcome["exact"] else {"size", "crc"}
        compare_batch(case, found, {k: v for k, v in expected.items() if k not in free}, verdict)
    return verdict


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: OracleCase) -> None:
    """The same batches with the same fields and records, the same bytes where nothing is compressed, the same error."""
    verdict = compare(case)
    assert not verdict.differences, f"{case.what} {case.config}\n" + "\n".join(verdict.differences)


def test_intended_differences_are_counted() -> None:
    """The rules that excuse a difference are few, named, and apply as often as was looked at."""
    full = [case for case in CASES if not case.root.is_relative_to(SMALL)]
    counted: Counter[str] = Counter()
    for case in full or CASES:
        counted += compare(case).rules
    assert counted.keys() <= RULES.keys()
    if full:
        assert dict(counted) == FULL_SET_RULES
