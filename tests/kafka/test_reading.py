"""Record sets of all kinds, whole and damaged, read by kafkacomp and by Kafka's own MemoryRecords.

How many are read is ``KAFKACOMP_READING_CASES`` in the slow test (a million unless told otherwise), and
``KAFKACOMP_SEED`` repeats a run: a failure names the seed.
"""

from __future__ import annotations

import os
import random
import struct
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import record_sets
from golden.expect import OracleCase
from golden.lz4_reference import STORED, stored_frame
from golden.oracle import RULES, compare
from kafkacomp.record import RecordBatchBuilder
from livekafka.reading import Comparison, compare_reading, outcomes

CHUNK = 20_000
# The reading of a batch goes on differently where a codec's stream fails behind a large record; that is rare.
MOST_IN_PIECES = 0.0005


def run_chunk(seed: int, count: int) -> Comparison:
    """One seed's cases, in a process of their own."""
    with TemporaryDirectory(prefix="kafkacomp-reading-") as folder:
        return compare_reading(seed, count, Path(folder))


@pytest.mark.parametrize("count", [4000, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_same_as_kafka(count: int | None) -> None:
    """The same batches, fields, records and kinds of error, but for the named rules."""
    seed = int(os.environ.get("KAFKACOMP_SEED", random.randrange(1 << 32)))
    count = count or int(os.environ.get("KAFKACOMP_READING_CASES", "1_000_000"))
    counts = [min(CHUNK, count - start) for start in range(0, count, CHUNK)]
    seeds = range(seed, seed + len(counts))
    total = Comparison()
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(counts)), mp_context=get_context("spawn")) as processes:
        for chunk_seed, comparison in zip(seeds, processes.map(run_chunk, seeds, counts), strict=True):
            where = f"KAFKACOMP_SEED={chunk_seed}"
            assert not comparison.differences, f"{where}: {len(comparison.differences)}, {comparison.differences[:5]}"
            total.add(comparison)
    print(f"{total.cases} record sets from seed {seed} on, no difference but by rule: {dict(total.rules)}")  # noqa: T201
    assert total.cases == count
    assert total.rules.keys() <= RULES.keys()
    assert total.rules["pieces of a damaged stream"] <= max(8, MOST_IN_PIECES * count)


def test_an_lz4_block_without_content(tmp_path: Path) -> None:
    """After it, Java's varint reads on: only where the next block is damaged, that is another error than here."""
    builder = RecordBatchBuilder(2, "none")
    for _ in range(2):
        builder.append(value=b"E")
    batch = bytearray(builder.build())
    batch[22] |= 3
    begin = record_sets.RECORD_BATCH_OVERHEAD
    half = len(batch[begin:]) // 2
    first, second = (
        struct.pack("<I", len(piece) | STORED) + piece for piece in (batch[begin : begin + half], batch[begin + half :])
    )
    header = stored_frame(b"", whole=False)
    empty = struct.pack("<I", 1) + b"\0"
    middle = header + first + empty
    payloads = {
        "end": middle + bytes(4),
        "content": middle + second + bytes(4),
        "damaged": middle + bytes([0xFF, 0xFF, 0xFF, 0x7F]),
        "cut": middle,
        "cut after content": middle + second,
    }
    span = record_sets.Span(begin, len(batch))
    cases = [record_sets.with_payload(bytes(batch), span, payload) for payload in payloads.values()]
    rules = {}
    for name, case, outcome in zip(payloads, cases, outcomes(cases, tmp_path), strict=True):
        verdict = compare(OracleCase(tmp_path, 0, case, (), outcome))
        assert verdict.differences == [], name
        assert len(outcome["batches"][0]["recs"]) == 1, name
        rules[name] = dict(verdict.rules)
    by_rule = {"lz4 block without content": 1}
    assert rules == {"end": {}, "content": {}, "damaged": by_rule, "cut": by_rule, "cut after content": {}}
