"""Counts of ``LogDir.info`` against those that Kafka's own classes gave for the vectors."""

from __future__ import annotations

from collections import Counter

import pytest

import kafkacomp as kc

from .expect import ModernCase, modern_cases

#: Folders with snapshots of the metadata log have files that are no segments.
CASES = [case for case in modern_cases() if not case.damaged and case.name != "cluster-metadata"]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("deep", [False, True])
def test_counts(case: ModernCase, deep: bool) -> None:
    """Segments, bytes, batches by compression type, records and control records."""
    found = kc.LogDir(case.folder).info(deep=deep)
    about = case.about
    codecs: Counter[str] = Counter()
    for each in found.counts:
        codecs[each.compression_type] += each.batches
    assert codecs == about["codecs"]
    assert (found.segments_count, found.size) == (about["segments"], about["logBytes"])
    assert (found.records, found.control_records) == (about["records"] - about["control"], about["control"])
    assert found.is_exact
    assert (found.corrupt_bytes, found.errors) == (0, [])
