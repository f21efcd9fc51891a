"""read_committed in corrupt logs: what the pass for transactions leaves out is what the scan leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from faulty_files import Faulty, unreadable
from grouped import grouped
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = f"{0:020}"


def data(base: int, producer: int | None = None, count: int = 10) -> bytes:
    """A batch of so many records, of a transaction if it has a producer."""
    transactional = producer is not None
    builder = record.RecordBatchBuilder(
        compression_type="none",
        base_offset=base,
        producer_id=producer if producer is not None else -1,
        producer_epoch=0 if transactional else -1,
        base_sequence=base if transactional else -1,
        is_transactional=transactional,
    )
    for _ in range(count):
        builder.append(b"v" * 1_000)
    return builder.build()


def marker(base: int, producer: int, *, is_commit: bool) -> bytes:
    """What ends a transaction."""
    builder = record.RecordBatchBuilder(
        compression_type="none",
        base_offset=base,
        producer_id=producer,
        producer_epoch=0,
        is_transactional=True,
        is_control_batch=True,
    )
    builder.append_end_txn_marker(is_commit)
    return builder.build()


def eio(start: int, end: int) -> Callable[[str, int, int, bytes], bytes]:
    """The storage does not return these bytes."""

    def fault(_path: str, begin: int, until: int, content: bytes) -> bytes:
        if begin < end and start < until:
            raise unreadable()
        return content

    return fault


def offsets(url: str, **options: object) -> list[int]:
    reader = kc.scan(url, columns=["offset"], isolation_level="read_committed", **grouped(**options))
    found: list[int] = pa.table(reader)["offset"].to_pylist()
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_a_transaction_after_unreadable_bytes(threads: int, caplog: pytest.LogCaptureFixture) -> None:
    """Where the storage does not return a batch, the transactions after it are found as well."""
    caplog.set_level("CRITICAL", "kafkacomp")
    batches = [
        data(0, count=40),
        data(40, 1),
        marker(50, 1, is_commit=False),
        data(51, 2),
        marker(61, 2, is_commit=True),
        data(62),
    ]
    url = Faulty.fill({NAME: b"".join(batches)})
    assert offsets(url) == [*range(40), *range(51, 61), *range(62, 72)]
    Faulty.fault = eio(8_192, 12_288)
    assert offsets(url, on_error="skip", threads=threads) == [*range(51, 61), *range(62, 72)]


def moved(batch: bytes, offset: int) -> bytes:
    """The batch with another base offset, which no checksum covers."""
    return offset.to_bytes(8, "big") + batch[8:]


#: One transaction of a producer that is committed, one that is aborted, and another one that is committed.
THREE = [
    data(0, 1),
    marker(10, 1, is_commit=True),
    data(11, 1),
    marker(21, 1, is_commit=False),
    data(22, 1),
    marker(32, 1, is_commit=True),
]


@pytest.mark.parametrize(
    ("number", "offset", "lost"),
    [
        (2, 3, []),
        (2, 11 + (1 << 20), [(11, 20)]),
        (3, 5, []),
        (3, 21 + (1 << 40), []),
    ],
)
def test_an_altered_base_offset_changes_no_other_batch(
    number: int, offset: int, lost: list[tuple[int, int]], caplog: pytest.LogCaptureFixture
) -> None:
    """It would move the transaction's begin or end past others: they would be left out, or aborted ones delivered."""
    caplog.set_level("CRITICAL", "kafkacomp")
    batches = list(THREE)
    batches[number] = moved(batches[number], offset)
    url = Faulty.fill({NAME: b"".join(batches)})
    reader = kc.scan(url, columns=["offset"], isolation_level="read_committed", on_error="skip")
    assert pa.table(reader)["offset"].to_pylist() == [*range(10), *range(22, 32)]
    assert [(each.first_offset, each.last_offset) for each in reader.report.missing] == lost


def test_an_altered_base_offset_in_an_open_transaction(caplog: pytest.LogCaptureFixture) -> None:
    """The last stable offset stays after the batches that precede the transaction."""
    caplog.set_level("CRITICAL", "kafkacomp")
    url = Faulty.fill({NAME: data(0) + moved(data(10, 1), 2) + data(20, 1)})
    assert offsets(url, on_error="skip") == [*range(10)]


def test_altered_base_offsets_of_every_batch_by_every_bit(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever bit it is: no aborted record is delivered, and every committed one of the other batches.

    A marker whose offset may be right where it is not is lost, as if its bytes were: its transaction is not known to be
    committed, and records of an aborted one are not known to be aborted.
    """
    caplog.set_level("CRITICAL", "kafkacomp")
    committed = {*range(10), *range(22, 32), *range(33, 43)}
    last = [data(33)]
    for number, batch in enumerate(THREE):
        for bit in range(63):
            base = int.from_bytes(batch[:8], "big")
            batches = THREE + last
            batches[number] = moved(batch, base ^ (1 << bit))
            found = set(offsets(Faulty.fill({NAME: b"".join(batches)}), on_error="skip", threads=1))
            count = 10 if number % 2 == 0 else 1
            altered = base ^ (1 << bit)
            if number % 2 and 43 <= altered < 1 << 31:
                continue
            assert found - {*range(base, base + count)} == committed - {*range(base, base + count)}, (number, bit)
