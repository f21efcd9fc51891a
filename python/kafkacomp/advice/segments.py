"""Read the batches that begin in a window of a segment. The core finds their boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp._kafkacomp import BatchReader, newest_message_format, read_range
from kafkacomp.exceptions import CorruptRecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp.advice.sampling import Source, Window
    from kafkacomp.record import RecordBatch


def newest_format(source: Source) -> str | None:
    """Return the message format of a segment's last batch: 0, 1, 2 or 0.7; None without a batch.

    A corrupt batch counts as the segment's end.

    Raises:
        ValueError: neither the content nor the name shows the log format.
    """
    return newest_message_format(source.source)


def read_window(window: Window, max_output_size: int) -> Iterator[RecordBatch]:
    """Iterate over the batches that begin in a window of a log of Kafka 0.8 or later.

    Raises:
        CorruptRecordError: the bytes after the last batch are not a batch.
    """
    found = read_range(window.source.source, window.start, window.end)
    if found.is_truncated and not found.data:
        # A live log's last batch may be incomplete; a window that has nothing else shows nothing of the topic.
        raise CorruptRecordError(f"incomplete batch at byte {found.position}, where the segment ends")
    yield from BatchReader(found.data, max_output_size, verify_crc=False, origin=found.position)
