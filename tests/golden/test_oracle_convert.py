"""The down-conversions of the oracle: what comes out is what came out of Kafka's ``MemoryRecords.downConvert``."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

import kafkacomp as kc
from kafkacomp import record

from .expect import SMALL, OracleCase, oracle_cases
from .oracle import RULES, Verdict, compare_batch, intended_batches, read

CASES = oracle_cases("convert")

# How often each intended difference decides something in the full set (seed 1001).
FULL_SET_RULES: dict[str, int] = {}


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
        return verdict
    verdict.check_error("conversion", None, outcome.get("err"))
    if not outcome["ok"]:
        return verdict
    if outcome["exact"]:
        verdict.check("size", len(converted), outcome["size"])
        verdict.check("SHA-256", hashlib.sha256(converted).hexdigest(), outcome["sha"])
    # Compressed bytes are another library's: everything else must be the same.
    case = replace(case, data=converted, outcome=outcome["read"])
    batches, error = intended_batches(case, verdict)
    reading = read(converted)
    verdict.check("batches", len(reading.batches), len(batches))
    verdict.check_error("reading", reading.error, error)
    for found, expected in zip(reading.batches, batches, strict=False):
        free = {} if outcome["exact"] else {"size", "crc"}
        compare_batch(case, found, {k: v for k, v in expected.items() if k not in free}, verdict)
    return verdict


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: OracleCase) -> None:
    """The same batches with the same fields and records, the same bytes where nothing is compressed, the same error."""
    verdict = compare(case)
    assert not verdict.differences, f"{case.what} {case.config}\n" + "\n".join(verdict.differences)
