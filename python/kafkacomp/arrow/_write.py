"""``kafkacomp.write``: Arrow columns into a partition's folder that a broker mounts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import DEFAULT_BATCH_BYTES, OFFSETS, PARTITIONS, SEGMENT_BYTES, integer
from kafkacomp._storage.filesystem import local_folder
from kafkacomp._storage.names import check_topic
from kafkacomp._types import CompressionType
from kafkacomp.record import arrow_rows, batch_settings

if TYPE_CHECKING:
    from kafkacomp._types import ArrowRows

__all__ = ["WriteReport", "write"]

_DEFAULT_SEGMENT_BYTES = 1 << 30  # a broker's segment.bytes


@dataclass(frozen=True)
class WriteReport:
    """What was written."""

    #: The partition's folder.
    path: str
    segments: int
    batches: int
    records: int
    #: Bytes of the segments.
    bytes_out: int
    #: The first segment's name: the first record's offset.
    log_start_offset: int
    #: One more than the last record's offset.
    log_end_offset: int


def write(
    stream: ArrowRows,
    directory: str | os.PathLike[str],
    *,
    topic: str,
    partition: int = 0,
    topic_id: str | None = None,
    base_offset: int = 0,
    compression_type: CompressionType | str = CompressionType.ZSTD,
    level: int | None = None,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES,
) -> WriteReport:
    """Write records to ``directory/topic-partition`` as a broker would have, in message format 2.

    Beside the segments stand their indexes, a producer snapshot at the end and before the last segment, the leader
    epochs and, if ``topic_id`` is given, ``partition.metadata``: a broker that has the topic can be stopped, given the
    folder, and started. The folder appears whole or not at all, also if the process is killed: until it is done it has
    another name, which no broker and no scan takes for a log.

    Args:
        stream: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a table, a data frame, a scan), with the
            column ``value`` (binary or string, or a dictionary of them), and if there are any ``key`` (the same),
            ``timestamp`` (of any unit, or int64 in milliseconds), ``headers`` (a list of structs of string and binary,
            or a map) and ``offset`` (int64, rising; null: the offset that follows). Other columns are not looked at.
        directory: A local folder, made if it is not there.
        topic: The topic's name.
        partition: The partition's number, from 0.
        topic_id: The topic's id as Kafka prints it, 22 characters.
        base_offset: The first record's offset, if it does not bring one.
        compression_type: A :class:`CompressionType` or its name.
        level: The codec's level (KIP-390); None is Kafka's default.
        batch_bytes: A batch takes no further record that would make it larger, with compression by Kafka's estimate.
        segment_bytes: A segment is closed before it would grow beyond this, unless one batch is larger.

    Returns:
        What was written.

    Raises:
        FileExistsError: the partition's folder is there already; it stays as it is.
        OSError: the disk is full, or the like; nothing is left.
        ValueError: an argument, or a row (named) that cannot be a record: an offset that goes back, a negative
            timestamp, a header key that is null. No ``value``, or two columns of one of the names.
        OffsetsOutOfOrderError: an offset of 2^63 - 1, which no offset can follow.
        TypeError: a column of another type; not Arrow at all.
        RecordTooLargeError: a record over 2^31 - 1 bytes.
    """
    check_topic(topic)
    partition = integer("partition", partition, PARTITIONS)
    integer("segment_bytes", segment_bytes, SEGMENT_BYTES)
    integer("base_offset", base_offset, OFFSETS)
    folder = local_folder(directory)
    target = os.path.join(folder, f"{topic}-{partition}")  # noqa: PTH118 - as given
    if os.path.lexists(target):
        raise FileExistsError(17, "File exists", target)
    settings = batch_settings(
        magic=2, compression_type=compression_type, level=level, base_offset=base_offset, batch_bytes=batch_bytes
    )
    segments, batches, size, start, end, records = _kafkacomp.write_log(
        arrow_rows(stream), target, settings, segment_bytes, topic_id
    )
    return WriteReport(target, segments, batches, records, size, start, end)
