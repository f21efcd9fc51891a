"""Batches and records of message formats 0, 1 and 2 (KIP-32, KIP-98).

``read_batches`` cuts a buffer into batches; iterating over a batch decompresses it and gives its records.
Both are frozen views: nothing is copied but what is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkacomp._codec import checked_max_output_size
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchReader, Record, RecordBatch
from kafkacomp._types import TimestampType

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchReader",
    "Record",
    "RecordBatch",
    "TimestampType",
    "read_batches",
]

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1


def read_batches(buf: Buffer, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> BatchReader:
    """Iterate over the batches of a record set, whatever their formats.

    Args:
        buf: Bytes-like: a segment's content, a fetch answer's or a produce request's records. ``bytes`` are
            read in place, anything else is copied once.
        max_output_size: The most bytes that the records of one batch may decompress to.

    Returns:
        An iterator of :class:`RecordBatch`. A batch that is cut by the end of ``buf`` ends it without an error,
        as Kafka cuts fetch answers (``partial_bytes`` tells), and so do zero bytes (``zero_bytes``).

    Raises:
        CorruptRecordError: while iterating, at a size or magic that no batch can have. The batches before it
            have been given. Checksums are not looked at: see ``RecordBatch.ensure_valid``.
        ValueError: ``max_output_size`` is not positive.
    """
    return BatchReader(buf, checked_max_output_size(max_output_size))
