"""What the tests of the builder share: formats and codecs, and a look at what was built."""

from __future__ import annotations

import pytest

from kafkacomp import CompressionType, record

#: Every codec of every format.
CODECS = [(magic, codec) for magic in (0, 1, 2) for codec in CompressionType if codec != 4 or magic == 2]
each = pytest.mark.parametrize(("magic", "codec"), CODECS, ids=[f"{magic}-{codec}" for magic, codec in CODECS])
#: Bytes of offset and size in front of a message of magic 0 and 1.
LOG_OVERHEAD = 12


def records(data: bytes) -> list[record.Record]:
    """All records of valid batches."""
    found = []
    for batch in record.read_batches(data):
        found += list(batch)
    return found


def only_batch(data: bytes) -> record.RecordBatch:
    """The one batch."""
    (batch,) = record.read_batches(data)
    assert batch.size_in_bytes == len(data)
    return batch
