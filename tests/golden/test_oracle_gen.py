"""The random and damaged record sets of the oracle: Kafka's verdict and content, case by case."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

from .expect import SMALL, OracleCase, oracle_cases
from .oracle import RULES, Verdict, compare, deep_records, read
from .reading import plain

CASES = oracle_cases("gen")

# How often each intended difference decides something in the full set (seed 1001). A change here is a change of
# behaviour: look at the cases before touching the numbers.
FULL_SET_RULES = {
    "zero tail": 49,
    "length near 2^31": 2,
    "batch below its format's overhead": 6,
    "linked lz4 blocks": 1,
    "further lz4 frame": 3,
    "wrong size": 1,
}


@cache
def verdict_of(case: OracleCase) -> Verdict:
    """Each case is compared once."""
    return compare(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: OracleCase) -> None:
    """The same batches and fields, the same records in the same order before an error, the same kind of error."""
    verdict = verdict_of(case)
    assert not verdict.differences, f"{case.what}\n" + "\n".join(verdict.differences)


def test_intended_differences_are_counted() -> None:
    """The rules that excuse a difference are few, named, and apply as often as was looked at."""
    full = [case for case in CASES if not case.root.is_relative_to(SMALL)]
    counted: Counter[str] = Counter()
    for case in full or CASES:
        counted += verdict_of(case).rules
    assert counted.keys() <= RULES.keys()
    if full:
        assert dict(counted) == FULL_SET_RULES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scan_agrees_with_iteration(case: OracleCase) -> None:
    """The Arrow path gives the same records as the iterators, up to the first batch that is not sound."""
    reading = read(case.data)
    sound: list[record.Record] = []
    complaint = reading.error is not None
    partial: list[record.Record] = []
    for batch in reading.batches:
        records, error = deep_records(batch)
        if error is not None or not batch.is_valid:
            complaint, partial = True, records
            break
        sound += records
    scan = kc.scan(case.data, columns=["offset", "key", "value"], options=kc.ScanOptions(include_control=True))
    reader = pa.RecordBatchReader.from_stream(scan)
    rows: list[tuple[int, bytes | None, bytes | None]] = []
    raised: Exception | None = None
    try:
        for piece in reader:
            rows += zip(*(piece.column(name).to_pylist() for name in ("offset", "key", "value")), strict=True)
    except (pa.ArrowException, OSError, kc.KafkaCompError) as error:
        raised = error
    wanted = [(r.offset, plain(r.key), plain(r.value)) for r in sound]
    assert rows[: len(wanted)] == wanted
    # Records of the unsound batch that stand before its fault may come or not; nothing else may.
    extra = [(r.offset, plain(r.key), plain(r.value)) for r in partial]
    assert rows[len(wanted) :] == extra[: len(rows) - len(wanted)]
    if complaint:
        assert raised is not None
