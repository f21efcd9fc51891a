"""Several batches in the place of others in a log of transactions: committed records are delivered, and no others.

A batch in the place of others would begin or end a transaction of its producer too early or too late.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Batch = tuple[int, int, bytes]
Log = list[Batch]


def _batch(base: int, count: int, producer: int | None, is_commit: bool | None = None) -> Batch:
    builder = record.RecordBatchBuilder(
        compression_type="none",
        base_offset=base,
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1 if producer is None else 0,
        base_sequence=-1 if producer is None or is_commit is not None else base,
        is_transactional=producer is not None,
        is_control_batch=is_commit is not None,
    )
    if is_commit is None:
        for offset in range(base, base + count):
            builder.append(b"value %d" % offset)
    else:
        builder.append_end_txn_marker(is_commit)
    return base, base + count - 1, builder.build()


def log_of(seed: int, batches: int = 300, *, base: int = 0) -> tuple[Log, set[int]]:
    """Interleaved transactions of three producers, which end, and the offsets of aborted records and markers."""
    rng = random.Random(f"transactions {seed}")
    offset, made = base, Log()
    opened: dict[int, list[int]] = {}
    hidden: set[int] = set()
    while len(made) < batches or opened:
        producer = rng.choice([1, 2, 3, None])
        if producer in opened and (rng.random() < 0.3 or len(made) >= batches):
            is_commit = rng.random() < 0.5
            offsets = opened.pop(producer)
            hidden |= {offset} | (set() if is_commit else set(offsets))
            made.append(_batch(offset, 1, producer, is_commit))
        elif len(made) < batches:
            count = rng.randrange(1, 4)
            if producer is not None:
                opened.setdefault(producer, []).extend(range(offset, offset + count))
            made.append(_batch(offset, count, producer))
        offset = made[-1][1] + 1 if made else base
    return made, hidden


def _over(to: int, source: int, count: int) -> Callable[[Log], None]:
    def overwrite(log: Log) -> None:
        log[to : to + count] = log[source : source + count]

    return overwrite


def _swapped(log: Log) -> None:
    log[60:90], log[200:230] = log[200:230], log[60:90]


def _foreign(log: Log) -> None:
    log[60:90] = log_of(99, base=5_000)[0][:30]


KINDS: dict[str, Callable[[Log], None]] = {
    "later run": _over(60, 200, 30),
    "two by later ones": _over(60, 200, 2),
    "the next run": _over(60, 90, 30),
    "a run that overlaps": _over(60, 75, 30),
    "earlier run": _over(200, 60, 30),
    "two by earlier ones": _over(200, 60, 2),
    "foreign run": _foreign,
    "swapped runs": _swapped,
}


def wanted(intact: Log, changed: Log, hidden: set[int]) -> tuple[set[int], set[int]]:
    """The offsets that must be delivered, and those that may be.

    Only transactions whose end is in place are certain: if it is lost, the producer's next one appears to be the end.
    """
    places = {batch: place for place, batch in enumerate(intact)}
    is_moved = {batch for place, batch in enumerate(changed) if places.get(batch) != place}
    there = set(changed)
    certain, possible = set(), set()
    lost_of: dict[int, bool] = {}
    for batch in reversed(intact):
        first, last, data = batch
        producer = int.from_bytes(data[43:51], "big", signed=True)
        is_control = bool(data[22] & 0x20)
        if is_control:
            lost_of[producer] = batch not in there or batch in is_moved
            continue
        offsets = {*range(first, last + 1)} - hidden
        is_transactional = bool(data[22] & 0x10)
        if not is_transactional or not lost_of[producer]:
            possible |= offsets
            if batch in there and changed[places[batch]] == batch:
                certain |= offsets
        else:
            possible |= {*range(first, last + 1)}
    return certain, possible


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_transactions_keep_their_ends(
    kind: str, seed: int, threads: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever runs are out of place."""
    caplog.set_level("CRITICAL", "kafkacomp")
    intact, hidden = log_of(seed)
    changed = list(intact)
    KINDS[kind](changed)
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(b"".join(data for _, _, data in changed))
    reader = kc.scan(
        tmp_path / "t-0",
        columns=["offset"],
        isolation_level="read_committed",
        on_error="skip",
        options=kc.ScanOptions(threads=threads),
    )
    found = pa.table(reader)["offset"].to_pylist()
    certain, possible = wanted(intact, changed, hidden)
    assert found == sorted(set(found))
    assert not certain - set(found)
    assert not set(found) - possible
