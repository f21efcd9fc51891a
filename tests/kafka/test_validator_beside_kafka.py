"""kafkacomp.broker.LogValidator beside Kafka's own, of 3.9 and 4.3, over random record sets and configurations.

The seed is random and printed when a test fails; KAFKACOMP_SEED sets it, KAFKACOMP_CASES the number of cases.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from golden.oracle import Verdict
from golden.validating import (
    RULES,
    compare_renumbered,
    config_of,
    content_digest,
    has_empty_lz4_block,
    has_unused_length_symbol,
    intended,
)
from kafkacomp import broker
from livekafka import validator

if TYPE_CHECKING:
    from pathlib import Path

PIECE = 50_000
CLASSES = {
    "CorruptRecordException": kc.CorruptRecordError,
    "InvalidRecordException": kc.InvalidRecordError,
    "InvalidTimestampException": kc.InvalidTimestampError,
    "KafkaException": kc.CorruptRecordError,
    "SnappyError": kc.CorruptRecordError,
    "UnsupportedCompressionTypeException": kc.UnsupportedCompressionTypeError,
    "UnsupportedForMessageFormatException": kc.UnsupportedForMessageFormatError,
}

#: Exceptions that are errors of a codec here: of which class, and the rule.
IN_CODEC = {
    "BufferUnderflowException": (kc.TruncatedError, "lz4 block checksum cut"),
    "NegativeArraySizeException": (kc.DecompressionError, "snappy block near 2^31"),
}


def compare(case: validator.Case) -> Verdict:
    """Compares one case with the answer of 3.9, and that with the answer of 4.3."""
    verdict = Verdict()
    answer = case.answers["3.9"]
    if answer != case.answers["4.3"] and answer.error != "UnsupportedCompressionTypeException":
        # 4.x knows no brokers below 2.1; everything else must be the same.
        verdict.check("Kafka 4.3", case.answers["4.3"], answer)
    cfg = case.cfg
    found, failure = None, None
    try:
        found = broker.LogValidator(config_of(cfg)).validate_messages_and_assign_offsets(
            case.data, cfg["offset"], cfg["now"]
        )
    except kc.KafkaCompError as error:
        failure = error
    rule = intended(case.data, None if answer.error is None else {"c": answer.error, "m": "skipped"})
    if rule is not None:
        verdict.rules[rule] += 1
        if rule == "skipped keys" and found is not None:
            compare_renumbered(case.data, cfg, found, verdict)
        return verdict
    cause, excuse = IN_CODEC.get(answer.error or "", (None, ""))
    if cause is not None and isinstance(getattr(failure, "__cause__", None), cause):
        verdict.rules[excuse] += 1
        return verdict
    if answer.error == "KafkaException" and not isinstance(failure, kc.CorruptRecordError):
        with contextlib.suppress(kc.KafkaCompError):
            for rule, holds in (
                ("gzip length symbols", has_unused_length_symbol),
                ("lz4 empty block", has_empty_lz4_block),
            ):
                if holds(case.data):
                    verdict.rules[rule] += 1
                    return verdict
    wanted = None if answer.error is None else CLASSES.get(answer.error, kc.UnknownServerError)
    verdict.check(f"error ({failure!r}, Kafka {answer.error})", None if failure is None else type(failure), wanted)
    errors = tuple(error.batch_index for error in getattr(failure, "record_errors", ()))
    verdict.check("record errors", errors, answer.record_errors)
    if found is not None and answer.stored is not None:
        stored = answer.stored
        same = validator.Stored(
            found.log_append_time_ms,
            found.max_timestamp_ms,
            found.next_offset,
            found.message_size_maybe_changed,
            found.record_validation_stats.temporary_memory_bytes,
            found.record_validation_stats.num_records_converted,
            stored.exact,
            content_digest(found.validated_records, exact=stored.exact),
        )
        verdict.check("stored", same, stored)
    return verdict


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_same_as_kafka(tmp_path: Path, count: int) -> None:
    """Zero differences but for the rules."""
    first = int(os.environ.get("KAFKACOMP_SEED", random.randrange(1 << 40)))
    count = int(os.environ.get("KAFKACOMP_CASES", count))
    rules: Counter[str] = Counter()
    accepted = 0
    for piece, start in enumerate(range(0, count, PIECE)):
        seed = first + piece
        for number, case in enumerate(validator.cases(seed, min(PIECE, count - start), tmp_path)):
            verdict = compare(case)
            rules += verdict.rules
            accepted += case.answers["3.9"].stored is not None
            assert not verdict.differences, f"seed {seed}, case {number}: {case.cfg}\n" + "\n".join(verdict.differences)
    assert rules.keys() <= RULES.keys()
    # The generator must not drift to where nothing is accepted.
    assert accepted > count / 4
