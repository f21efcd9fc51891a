"""Read log segments as a stream of Arrow record batches."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from kafkacomp._arguments import (
    OFFSETS,
    check_bools,
    check_progress,
    checked_columns,
    checked_max_output_size,
    checked_threads,
    integer,
    one_of,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, MAX_BATCH_BYTES
from kafkacomp._kafkacomp import columns as _all_columns
from kafkacomp._log_format import LogFormat, check_log_format
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.partition import BoundedPartition
from kafkacomp._storage.selection import ByName
from kafkacomp.arrow._reader import ScanReader
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from kafkacomp._storage.partition import Partition, Source
    from kafkacomp._types import StrPath

    Offsets: TypeAlias = int | Mapping[tuple[str, int], int] | None

#: Every column that a scan can build.
COLUMNS: tuple[str, ...] = tuple(_all_columns())
#: The default columns: those of Spark's Kafka source with headers.
DEFAULT_COLUMNS: tuple[str, ...] = COLUMNS[:8]

BinaryType = Literal["binary", "large_binary", "binary_view"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
OnError = Literal["raise", "skip"]
#: The arguments of :func:`find`.
LOCATION: frozenset[str] = frozenset(
    {"topics", "partitions", "topic", "partition", *(each.name for each in fields(SourceOptions))}
)
#: The most partitions that an error lists.
_SHOWN = 10
TimestampUnit = Literal["s", "ms", "us", "ns", "int64"]
#: What these types allow; a scan checks against them, and ``get_args`` is not called for each.
BINARY_TYPES, ISOLATION_LEVELS, ON_ERROR, TIMESTAMP_UNITS = map(
    get_args, (BinaryType, IsolationLevel, OnError, TimestampUnit)
)


def scan(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    topics: Iterable[str] | None = None,
    partitions: Iterable[int] | None = None,
    topic: str | None = None,
    partition: int | None = None,
    start_offset: Offsets = None,
    end_offset: Offsets = None,
    start_time: int | dt.datetime | None = None,
    end_time: int | dt.datetime | None = None,
    isolation_level: IsolationLevel = "read_uncommitted",
    on_error: OnError = "raise",
    visible_only: bool = False,
    include_control: bool = False,
    batch_rows: int = 65536,
    arrow_batch_bytes: int = 8 << 20,
    threads: int | None = None,
    timestamp_unit: TimestampUnit = "ms",
    binary_type: BinaryType = "binary",
    verify_crc: bool = True,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    log_format: LogFormat = "auto",
    horizon: int | None = 4 << 20,
    known_losses: StrPath | Sequence[StrPath] = (),
    remote_log_metadata: object = None,
    local_log_dir: str | os.PathLike[str] | None = None,
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None,
    filesystem: object = None,
    storage_options: Mapping[str, object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ScanReader:
    """Read Kafka's log segments as a stream of Arrow record batches, without a broker.

    Args:
        source: Bytes-like or a binary file object (a record set); the path of a segment, a partition's folder, a log
            directory, or tiered storage (``<topic>-<topic id>/<partition>/<offset>-<uuid>.log``); a URL of one of these
            on a file system of pyarrow or fsspec; a :class:`kafkacomp.LogDir` or one of its parts; or a collection of
            such sources.
        columns: The columns to build, in this order: names from ``kafkacomp.arrow.COLUMNS``.
            Default: key, value, topic, partition, offset, timestamp, timestampType, headers.
        topics: Read only these topics: names, or globs such as ``orders-*``.
        partitions: Read only partitions with these numbers.
        topic: The topic of segments whose folder is not named ``<topic>-<partition>``; if a folder has another topic in
            its name, ValueError is raised. To select topics, use ``topics``.
        partition: The partition of such segments. To select partitions, use ``partitions``.
        start_offset: The first offset, inclusive: for all partitions, or by ``(topic, partition)``. 0 or more.
        end_offset: The end, exclusive: for all partitions, or by ``(topic, partition)``. Not below ``start_offset``.
        start_time: The first timestamp, inclusive: milliseconds since the epoch, or an aware datetime. If a bound is
            given, records without a timestamp are left out. Segments whose batch headers are all earlier are not read,
            until a batch has records that are later than its header shows.
        end_time: The end, exclusive. Not before ``start_time``.
        isolation_level: ``read_committed`` leaves out records of aborted transactions, and all records from the first
            open transaction on, as a consumer does.
        on_error: ``raise`` ends the scan at the first error, after the rows before it. ``skip`` continues with the next
            intact batch if batches are corrupt or exceed a limit, if the storage does not return bytes (EIO), or if
            segments were deleted; the report lists the ranges that were left out.
        visible_only: Whether records that consumers do not see are left out: those below the log start offset, and from
            the high watermark on, according to the checkpoint files of the log directory. The report counts them in any
            case.
        include_control: Whether control records are rows.
        batch_rows: The most rows of an Arrow batch.
        arrow_batch_bytes: The most bytes of column data of an Arrow batch; one larger record gets a batch of its own.
        threads: Decoding threads; default: one per core that the process may use. The order is the same for any number.
            The thread that reads the result is one of them if all sources are local files or in memory.
        timestamp_unit: The unit of the timestamp column, or ``int64`` for milliseconds since the epoch as integers. A
            timestamp out of the unit's range becomes the nearest one in the range; ``report.clamped_timestamps`` counts
            them. A record without a timestamp, which Kafka stores as -1, has null.
        binary_type: The Arrow type of keys, values and header values. With ``binary_view`` values are not copied: they
            are views of the decompressed Kafka batches or, if these are not compressed, of the chunks that were read.
            An Arrow batch keeps at most four times the bytes of its rows in memory: if rows refer to less than a
            quarter of a buffer, their values are copied. Values of compressed batches of Kafka 0.7 are always copied.
            pyarrow, polars, DuckDB and pandas take views, Spark does not. ``large_binary`` has 64-bit offsets.
        verify_crc: Whether checksums are verified.
        max_output_size: The most bytes that the records of one batch may decompress to.
        log_format: ``0.7``, ``0.8+``, or ``auto``, which detects it from the content of each segment or, if that does
            not decide, from its name (``.kafka`` or ``.log``). In logs of 0.7, an offset is the byte position in the
            partition from which to fetch next; messages in a wrapper have the position of the wrapper, except the last
            one. Bounds are positions of top-level entries, of which all messages are returned. Key, headers and
            timestamp are null.
        horizon: In object stores, where reading takes requests: which batches belong to a partition is judged by all of
            its segments at a gap or at corrupt bytes only if they together have at most so many bytes; otherwise a
            warning says that other segments were not searched for what is missing. ``None`` judges each partition
            before it is read, with the same result as in a local file system.
        known_losses: Local paths of loss files, besides those in the folders of the partitions, as in
            :func:`kafkacomp.log.verify_partition`; ``report.known_losses`` has what they make known.
        remote_log_metadata: For tiered storage: a folder with the partitions of ``__remote_log_metadata``, such as a
            broker's log directory. Only segments that were completely copied and not deleted are read.
        local_log_dir: For tiered storage: the log directory of the partitions' leader, or the partition's folder in it.
            Its leader epochs determine the valid offsets of remote segments, and its checkpoint the log start offset;
            from its first offset on, its own segments are read.
        encryption_keys: Private keys for segments that Aiven's plugin has encrypted, by the ids of
            ``encryption.key.pairs``: each is the path or the content of a PEM file.
        filesystem: The file system of the paths in ``source``: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of URLs in ``source``, ``remote_log_metadata``
            and ``local_log_dir``, such as credentials and an endpoint; not together with ``filesystem``.
        progress: A callable, called as ``progress(bytes_done, bytes_total)`` after each Arrow batch.

    Returns:
        A reader with ``__arrow_c_stream__``: pass it to ``pyarrow.table``, ``polars.DataFrame``,
        ``duckdb.from_arrow`` or ``pandas.DataFrame.from_arrow``. It can be read once. Iterating over it yields
        ``pyarrow.RecordBatch`` objects and raises this library's exceptions; an Arrow stream passes on only their text,
        and ``error`` has the exception. ``report`` has the counts and the ranges that were left out.

    Raises:
        FileNotFoundError: a path does not exist, or contains no segments.
        ValueError, TypeError: an argument has an unknown value, is out of range or of another type; an encryption key
            is missing or wrong; a file in ``known_losses`` is not a loss file; or neither the content nor the name of a
            segment determines its ``log_format``.
        CorruptRecordError, InvalidRecordError, OutputLimitError, OSError: while reading; the message has the file and
            the byte.

    Example:
        >>> import kafkacomp as kc
        >>> kc.scan(example, columns=["offset"], start_offset=3).read_all()["offset"].to_pylist()
        [3, 4]

    See Also:
        :class:`kafkacomp.LogDir`, which lists topics, partitions and segments; :func:`kafkacomp.arrow.filter_rows`,
        which chooses rows by key, value or header; :func:`kafkacomp.write`.
    """
    one_of("isolation_level", isolation_level, ISOLATION_LEVELS)
    one_of("on_error", on_error, ON_ERROR)
    one_of("timestamp_unit", timestamp_unit, TIMESTAMP_UNITS)
    one_of("binary_type", binary_type, BINARY_TYPES)
    check_log_format(log_format)
    check_bools(visible_only=visible_only, include_control=include_control, verify_crc=verify_crc)
    integer("batch_rows", batch_rows, (1, 2**31 - 1))
    integer("arrow_batch_bytes", arrow_batch_bytes, (1, MAX_BATCH_BYTES))
    checked_max_output_size(max_output_size)
    if horizon is not None:
        integer("horizon", horizon, (0, 2**63 - 1))
    threads = checked_threads(threads)
    check_progress(progress)
    first_ms = milliseconds("start_time", start_time)
    end_ms = milliseconds("end_time", end_time)
    if first_ms is not None and end_ms is not None and first_ms > end_ms:
        raise ValueError(f"start_time {first_ms} is after end_time {end_ms}: swap them")
    losses = loss_files_of(known_losses)
    found = find(
        source,
        topics=topics,
        partitions=partitions,
        topic=topic,
        partition=partition,
        remote_log_metadata=remote_log_metadata,
        local_log_dir=local_log_dir,
        encryption_keys=encryption_keys,
        filesystem=filesystem,
        storage_options=storage_options,
    )
    settings = {
        "columns": list(DEFAULT_COLUMNS) if columns is None else checked_columns(columns, COLUMNS),
        "start_time": first_ms,
        "end_time": end_ms,
        "read_committed": isolation_level == "read_committed",
        "skip": on_error == "skip",
        "visible_only": visible_only,
        "include_control": include_control,
        "batch_size": batch_rows,
        "batch_bytes": arrow_batch_bytes,
        "threads": threads,
        "timestamp_unit": timestamp_unit,
        "binary_type": binary_type,
        "verify_crc": verify_crc,
        "max_output_size": max_output_size,
        "format": log_format,
        "horizon": horizon,
    }
    total = sum(segment.size for each in found for segment in each.segments)
    sources = _with_bounds(found, start_offset, end_offset)
    return ScanReader(sources, settings, total, progress, losses)


def find(
    source: Source,
    *,
    topics: Iterable[str] | None = None,
    partitions: Iterable[int] | None = None,
    topic: str | None = None,
    partition: int | None = None,
    **opening: Any,  # noqa: ANN401 - the fields of SourceOptions
) -> list[Partition]:
    """List the partitions of a source: the arguments are those of :func:`scan`.

    Raises:
        ValueError: a folder names another topic or partition than ``topic`` and ``partition``, which do not filter.
    """
    found = SourceOptions(**opening).resolve(source, topic, partition, choice=ByName.of(topics, partitions))
    for name, given in (("topic", topic), ("partition", partition)):
        named = [] if given is None else [getattr(each, name) for each in found if getattr(each, name) != given]
        if named:
            rule = f"{name} is for segments whose folder does not name one; to choose {name}s, use {name}s"
            raise ValueError(f"{name} {given!r}: the source has the {name} {named[0]!r}: {rule}")
    return found


def _with_bounds(partitions: list[Partition], start: Offsets, end: Offsets) -> list[BoundedPartition]:
    bounds: tuple[tuple[str, object], ...] = (("start_offset", start), ("end_offset", end))
    for name, bound in bounds:
        if bound is None or isinstance(bound, int):
            _offset(name, bound)
        elif isinstance(bound, Mapping):
            known = {(each.topic, each.partition) for each in partitions}
            for key, value in bound.items():
                _offset(name, value)
                if key not in known:
                    some = ", ".join(map(repr, sorted(known, key=str)[:_SHOWN]))
                    raise ValueError(f"{name}: no partition {key!r} in the source: expected some of {some}")
        else:
            message = f"{name} must be an int or a mapping of (topic, partition) to int, not {type(bound).__name__}"
            raise TypeError(message)
    bounded = [BoundedPartition(each, bound_of(start, each), bound_of(end, each)) for each in partitions]
    for each in bounded:
        if each.start_offset is not None and each.end_offset is not None and each.start_offset > each.end_offset:
            raise ValueError(f"start_offset {each.start_offset} is above end_offset {each.end_offset}: swap them")
    return bounded


def bound_of(bound: Offsets, partition: Partition) -> int | None:
    """The bound of a partition."""
    if bound is None or isinstance(bound, int):
        return bound
    if partition.topic is None or partition.partition is None:
        return None
    return bound.get((partition.topic, partition.partition))


def _offset(name: str, value: object) -> None:
    if value is not None:
        integer(name, value, OFFSETS)


def milliseconds(name: str, time: int | dt.datetime | None) -> int | None:
    """Check a bound of time, and convert it to milliseconds.

    Raises:
        ValueError: it is before 1970, or has no time zone.
        TypeError: neither an int nor a datetime.
    """
    given: object = time
    if not isinstance(given, int | dt.datetime | None):
        expected = "milliseconds since the epoch, or a datetime with a time zone"
        raise TypeError(f"{name} must be {expected}, not {type(given).__name__}")
    if not isinstance(time, dt.datetime):
        _offset(name, time)
        return time
    if time.tzinfo is None:
        raise ValueError(f"{name} must be a datetime with a time zone, or milliseconds since the epoch")
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    # Rounded up to the next millisecond.
    rounded = -((epoch - time) // dt.timedelta(milliseconds=1))
    if rounded < 0:
        raise ValueError(f"{name} must be 1970-01-01T00:00:00Z or later, not {time.isoformat()}")
    return rounded
