"""Batches and records of message formats 0, 1 and 2 (KIP-32, KIP-98).

``read_batches`` splits a buffer into batches and verifies their checksums; iterating over a batch decompresses it and
yields its records. Batches and records are immutable views: a field is copied when it is read.
:class:`RecordBatchBuilder` builds one batch record by record, :func:`build_batches` builds batches from Arrow columns,
:func:`convert` changes the message format.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self, cast

from kafkacomp import _kafkacomp
from kafkacomp._arguments import (
    BATCH_BYTES,
    DEFAULT_BATCH_BYTES,
    INT64,
    MAGICS,
    bytes_view,
    check_bools,
    checked_max_output_size,
    compression_type_of,
)
from kafkacomp._arguments import integer as _integer
from kafkacomp._batch_settings import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchSettings,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchReader, BatchStream, Record, RecordBatch
from kafkacomp._log_format import LogFormat, cannot_be_a_set, check_log_format, undecided
from kafkacomp._types import TimestampType
from kafkacomp.message_set import convert as convert_set
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkacomp._storage.partition import Source
    from kafkacomp._types import ArrowRows, CompressionTypeLike, Headers

__all__ = [
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchReader",
    "BatchStream",
    "Record",
    "RecordBatch",
    "RecordBatchBuilder",
    "TimestampType",
    "build_batches",
    "convert",
    "estimate_batch_size_upper_bound",
    "open_batches",
    "read_batches",
]


def read_batches(
    data: Buffer, *, verify_crc: bool = True, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
) -> BatchReader:
    """Iterate over the batches of a record set, in message formats 0, 1 and 2.

    Args:
        data: Bytes-like: a segment's content, the records of a fetch response or of a produce request. ``bytes`` are
            read in place, anything else is copied once.
        verify_crc: Whether checksums are verified.
        max_output_size: The most bytes that the records of one batch may decompress to.

    Returns:
        An iterator of :class:`RecordBatch`. It ends without an error at a batch that the end of ``data`` truncates,
        because Kafka truncates fetch responses (``partial_bytes`` is the number of these bytes), and at zero bytes, as
        in a preallocated file (``zero_bytes``).

    Raises:
        CorruptRecordError: while iterating, at a size or magic that no batch can have, at an incomplete batch after
            which intact batches follow, and with ``verify_crc`` at a batch with a wrong checksum. All batches before it
            are returned first; ``position`` is the byte at which it begins. To continue after a wrong checksum, use
            ``verify_crc=False`` and check ``RecordBatch.is_valid``.
        ValueError: ``max_output_size`` is not positive.
        TypeError: ``data`` is not bytes-like, or ``verify_crc`` is not a bool.

    Example:
        >>> from kafkacomp import record
        >>> import pyarrow as pa
        >>> data = record.build_batches(pa.table({"key": ["k"], "value": ["v"], "timestamp": [1_700_000_000_000]}))
        >>> for batch in record.read_batches(data):
        ...     print(batch.base_offset, batch.compression_type)
        ...     print([(each.offset, each.key, each.value) for each in batch])
        0 zstd
        [(0, b'k', b'v')]
    """
    given: object = data
    if isinstance(given, str | os.PathLike):
        raise TypeError(f"data must be bytes-like, not {type(given).__name__}: to read a file, use open_batches")
    check_bools(verify_crc=verify_crc)
    return BatchReader(data, checked_max_output_size(max_output_size), verify_crc)


def open_batches(
    source: Source,
    *,
    verify_crc: bool = True,
    may_be_truncated: bool = True,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> BatchStream:
    """Iterate over the batches of a file, with no more than a chunk of it in memory.

    >>> from kafkacomp import record
    >>> import io
    >>> builder = record.RecordBatchBuilder(base_offset=7)
    >>> _ = builder.append(b"value")
    >>> with record.open_batches(io.BytesIO(builder.build())) as batches:
    ...     [(batch.base_offset, [each.value for each in batch]) for batch in batches]
    [(7, [b'value'])]

    Args:
        source: A path or URL of one file, bytes, or a binary file object, which is read from its beginning.
        verify_crc: Whether checksums are verified.
        may_be_truncated: Whether the file may end within a batch, which ``partial_bytes`` then reports.
        max_output_size: The most bytes that the records of one batch may decompress to.

    Returns:
        An iterator of :class:`RecordBatch`, also a context manager that closes the file.

    Raises:
        ValueError: the source is not one file.
        OSError: the file cannot be read.
        CorruptRecordError: while iterating, with the position: a size or magic that no batch can have; an incomplete
            batch after which intact batches follow; with ``verify_crc`` a wrong checksum; without ``may_be_truncated``
            a batch that the end of the file truncates.
    """
    check_bools(verify_crc=verify_crc, may_be_truncated=may_be_truncated)
    found = [segment for partition in resolve(source) for segment in partition.segments]
    if len(found) != 1:
        raise ValueError(f"open_batches reads one file; the source has {len(found)}: use kafkacomp.LogDir or scan")
    return BatchStream(
        found[0], checked_max_output_size(max_output_size), verify_crc=verify_crc, may_be_truncated=may_be_truncated
    )


class RecordBatchBuilder(_kafkacomp.RecordBatchBuilder):
    """Build one batch of magic 2, or its equivalent in magic 0 and 1: a wrapper message, or uncompressed messages.

    It has the fields, rules and size estimates of Kafka's ``MemoryRecordsBuilder``. Records are encoded when they are
    appended; :meth:`build` compresses them in one pass, with the GIL released. May be used from several threads.

    Args:
        magic: The message format, 0, 1 or 2.
        compression_type: A :class:`CompressionType` or its name. Magic 0 and 1 have no zstd.
        compression_level: The compression type's level (KIP-390): gzip 1 to 9 and -1, lz4 1 to 17, zstd -131072 to 22.
            ``None``: Kafka's default.
        base_offset: The offset of the first record, unless that record has its own; 0 or more.
        timestamp_type: CREATE_TIME or LOG_APPEND_TIME; without effect in magic 0, which has no timestamps.
        log_append_time: The timestamp of all records, in milliseconds since the epoch; only with LOG_APPEND_TIME.
        producer_id: The id of an idempotent producer, which requires magic 2, ``producer_epoch`` and ``base_sequence``;
            -1 without one.
        producer_epoch: The producer's epoch; -1 without a producer id.
        base_sequence: The sequence number of the first record; -1 in control batches and without a producer id.
        is_transactional: Whether the batch belongs to a transaction of the producer; magic 2 only.
        is_control_batch: Whether the batch contains control records instead of data; magic 2 only.
        partition_leader_epoch: The epoch of the partition's leader; -1 without one. Magic 0 and 1 do not store it.
        delete_horizon_ms: The time from which compaction may remove the tombstones and markers of the batch, in
            milliseconds since the epoch (KIP-534); magic 2 only.
        write_limit: The size in bytes at which :attr:`is_full` becomes true and :meth:`has_room_for` false. The first
            record always has room.

    Raises:
        ValueError: the message format does not have a field, the codec does not have the level, or a number is out of
            the range of its field. :meth:`build` checks the producer id, epoch and sequence, which can be set later.

    Example:
        >>> from kafkacomp import record
        >>> builder = record.RecordBatchBuilder(compression_type="lz4", base_offset=7)
        >>> _ = builder.append(b"value", key=b"key", timestamp=1_700_000_000_000, headers={"h": b"1"})
        >>> (batch,) = record.read_batches(builder.build())
        >>> batch.base_offset, batch.records_count
        (7, 1)
    """

    def __new__(
        cls,
        magic: int = 2,
        compression_type: CompressionTypeLike = "zstd",
        compression_level: int | None = None,
        *,
        base_offset: int = 0,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control_batch: bool = False,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        delete_horizon_ms: int | None = None,
        write_limit: int = 2**31 - 1,
    ) -> Self:
        """Create a builder; the arguments are described in the class."""
        settings = BatchSettings(
            magic=magic,
            compression_type=compression_type,
            level=compression_level,
            base_offset=base_offset,
            timestamp_type=timestamp_type,
            log_append_time=log_append_time,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
            is_control_batch=is_control_batch,
            partition_leader_epoch=partition_leader_epoch,
            delete_horizon_ms=delete_horizon_ms,
            write_limit=write_limit,
        )
        return super().__new__(cls, settings)


def build_batches(
    rows: ArrowRows,
    *,
    magic: int = 2,
    compression_type: CompressionTypeLike = "zstd",
    compression_level: int | None = None,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    base_offset: int = 0,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Build batches from Arrow columns, without an object for each record.

    Args:
        rows: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a table, a data frame, a scan), with the
            column ``value`` (binary or string, or a dictionary of them) and optionally ``key`` (the same types),
            ``timestamp`` (of any unit, or int64 in milliseconds; null or -1 ms if a record has none), ``headers`` (a
            list of structs of string and binary, or a map), ``offset`` (int64; null for the next offset). Other columns
            are ignored.
        magic: As in :class:`RecordBatchBuilder`.
        compression_type: As in :class:`RecordBatchBuilder`.
        compression_level: As in :class:`RecordBatchBuilder`.
        batch_bytes: The most bytes of a batch, as a producer's ``batch.size``: compressed sizes are estimated as Kafka
            does, and the record to add counts as uncompressed. A larger record gets a batch of its own.
        base_offset: The first offset, unless the column ``offset`` has another one.
        timestamp_type: As in :class:`RecordBatchBuilder`.
        log_append_time: As in :class:`RecordBatchBuilder`.
        producer_id: As in :class:`RecordBatchBuilder`.
        producer_epoch: As in :class:`RecordBatchBuilder`.
        base_sequence: The sequence number of the first record; it increases with the offsets.
        is_transactional: As in :class:`RecordBatchBuilder`.
        partition_leader_epoch: As in :class:`RecordBatchBuilder`.

    Returns:
        The batches, one after another.

    Raises:
        ValueError: an argument is out of range; the column ``value`` is missing, or a column exists twice; or a row,
            which the message names, is not a valid record: its offset does not increase or is above 2^63 - 1, its
            timestamp is negative, or the key of a header is null.
        TypeError: a column has another type, or ``rows`` is not Arrow data.
        RecordTooLargeError: a record is larger than 2^31 - 1 bytes.

    Example:
        >>> from kafkacomp import record
        >>> import pyarrow as pa
        >>> data = record.build_batches(pa.table({"value": ["a", "b"]}), base_offset=5, batch_bytes=1)
        >>> [batch.base_offset for batch in record.read_batches(data)]
        [5, 6]
    """
    settings = BatchSettings(
        magic=magic,
        compression_type=compression_type,
        level=compression_level,
        base_offset=base_offset,
        timestamp_type=timestamp_type,
        log_append_time=log_append_time,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        partition_leader_epoch=partition_leader_epoch,
        write_limit=_integer("batch_bytes", batch_bytes, BATCH_BYTES),
    )
    return _kafkacomp.build_batches(arrow_rows(rows), settings)


def arrow_rows(rows: object) -> ArrowRows:
    """Return the rows unchanged; TypeError if they are not Arrow data. Only for this package's modules."""
    if not hasattr(rows, "__arrow_c_stream__") and not hasattr(rows, "__arrow_c_array__"):
        expected = "Arrow data, such as a table of pyarrow or a data frame of polars (__arrow_c_stream__)"
        raise TypeError(f"rows must be {expected}, not {type(rows).__name__}")
    return cast("ArrowRows", rows)


def estimate_batch_size_upper_bound(
    value: Buffer | None,
    *,
    key: Buffer | None = None,
    headers: Headers = (),
    magic: int = 2,
    compression_type: CompressionTypeLike = "none",
) -> int:
    """Compute the upper bound that Kafka assumes for the size in bytes of a batch with this one record.

    It does not include the overhead of the codec (``AbstractRecords.estimateSizeInBytesUpperBound``).

    Args:
        value: The value; ``None`` for null.
        key: The key; ``None`` for null.
        headers: The headers: pairs of key and value, or a mapping.
        magic: The message format, 0, 1 or 2.
        compression_type: A :class:`kafkacomp.CompressionType` or its name.

    Raises:
        ValueError: the magic is unknown, or is 0 or 1 with zstd.
        TypeError: the value or key is not bytes-like, or the key of a header is not a string.

    Example:
        >>> from kafkacomp import record
        >>> record.estimate_batch_size_upper_bound(b"value", key=b"key")
        93
    """
    magic = _integer("magic", magic, MAGICS)
    return _kafkacomp.estimate_batch_size_upper_bound(
        magic, int(compression_type_of(compression_type)), value, key, headers
    )


def convert(
    data: Buffer,
    to_magic: int,
    *,
    first_offset: int = 0,
    upgrade: bool = False,
    log_format: LogFormat = "auto",
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> bytes:
    """Change the message format of a record set.

    Without ``upgrade`` this is Kafka's ``MemoryRecords.downConvert``: batches above ``to_magic`` are converted down to
    it, others are copied unchanged. Headers, producer ids, sequences and leader epochs are lost, and with
    ``to_magic=0`` the timestamps; control batches are dropped. Compression types are kept, at their default levels, and
    LZ4 frames get the header checksum of the message format (KIP-57). Checksums are not verified.

    Message sets of Kafka 0.7, whose magic 0 and 1 are other formats, require ``upgrade``: see
    :func:`kafkacomp.message_set.convert`, which also returns the offsets that byte positions become.

    Args:
        data: Bytes-like: batches of any formats, or a message set of 0.7. A batch that the end of ``data`` truncates is
            left out.
        to_magic: The message format of the result: 0, 1 or 2.
        first_offset: When uncompressed batches of magic 2 are converted down, records before this offset are dropped.
            For a message set of 0.7: the first message's offset.
        upgrade: Whether batches below ``to_magic`` are converted, too: each wrapper becomes one batch with its
            compression type, a run of uncompressed messages becomes batches of at most ``batch_bytes``. Offsets, gaps,
            keys, values and the order are kept; timestamps of magic 0 become -1. The checksums of these batches must be
            correct.
        log_format: ``0.7``, ``0.8+`` or ``auto``: see :func:`kafkacomp.log.detect_log_format`. Content that
            both log formats could have is refused with ``upgrade``; without it, it is read as ``0.8+``, because Kafka's
            function does not know 0.7.
        batch_bytes: With ``upgrade``: the most bytes of a batch that is made of uncompressed messages.
        max_output_size: The most bytes that the records of one batch may decompress to.

    Raises:
        UnsupportedCompressionTypeError: a zstd batch would be converted below magic 2 (code 76).
        CorruptRecordError, InvalidRecordError, UnknownServerError, OutputLimitError: as from :func:`read_batches` and
            from iterating over a batch (without ``upgrade``, any incomplete batch is the end, as in Kafka);
            ``UnknownServerError`` also for records that a batch cannot contain (offsets that do not increase, negative
            timestamps).
        MessageSetError: the message set of 0.7 is corrupt.
        ValueError: an argument is out of range; the data are a message set of 0.7 and ``upgrade`` is false; the content
            does not determine the log format.

    Example:
        >>> from kafkacomp import record
        >>> import pyarrow as pa
        >>> data = record.build_batches(pa.table({"value": ["a"]}), compression_type="gzip")
        >>> [batch.magic for batch in record.read_batches(record.convert(data, 1))]
        [1]
    """
    check_log_format(log_format)
    content = data if isinstance(data, bytes) else bytes_view("data", data).tobytes()
    found = _kafkacomp.format_of_content(content) if log_format == "auto" else log_format
    if found is None and upgrade and not cannot_be_a_set(content):
        raise undecided("these bytes")
    if found == "0.7":
        if not upgrade:
            raise ValueError(
                "a message set of Kafka 0.7 cannot be copied, because no later format contains it: use upgrade=True"
            )
        return convert_set(
            content, to_magic, first_offset=first_offset, batch_bytes=batch_bytes, max_output_size=max_output_size
        ).data
    return _kafkacomp.convert(
        content,
        _integer("to_magic", to_magic, MAGICS),
        _integer("first_offset", first_offset, INT64),
        upgrade,
        _integer("batch_bytes", batch_bytes, BATCH_BYTES),
        checked_max_output_size(max_output_size),
    )
