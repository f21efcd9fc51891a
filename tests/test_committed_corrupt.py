"""read_committed in corrupt logs: what the pass for transactions leaves out is what the scan leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from faulty_files import Faulty, unreadable
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
    reader = kc.scan(url, columns=["offset"], isolation_level="read_committed", **options)  # type: ignore[arg-type]
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
