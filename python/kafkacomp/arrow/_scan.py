"""Read log segments as a stream of Arrow record batches."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from kafkacomp._arguments import (
    OFFSETS,
    check_progress,
    checked_columns,
    checked_threads,
    integer,
    one_of,
)
from kafkacomp._kafkacomp import columns as _all_columns
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.partition import BoundedPartition
from kafkacomp._storage.selection import ByName
from kafkacomp.arrow._options import ISOLATION_LEVELS, ON_ERROR, ScanOptions, ScanSettings, check_options
from kafkacomp.arrow._reader import ScanReader
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafkacomp._storage.partition import Partition, Source
    from kafkacomp._types import StrPath
    from kafkacomp.arrow._options import IsolationLevel, Offsets, OnError
    from kafkacomp.tiered.source import Tiered

#: Every column that a scan can build.
COLUMNS: tuple[str, ...] = tuple(_all_columns())
#: The default columns: those of Spark's Kafka source with headers.
DEFAULT_COLUMNS: tuple[str, ...] = COLUMNS[:8]

#: The arguments of :func:`find`.
LOCATION: frozenset[str] = frozenset({"topics", "partitions", *(each.name for each in fields(SourceOptions))})
#: The most partitions that an error lists.
_SHOWN = 10
#: The default ``options``.
_OPTIONS = ScanOptions()


def scan(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    topics: Iterable[str] | None = None,
    partitions: Iterable[int] | None = None,
    start_offset: Offsets = None,
    end_offset: Offsets = None,
    start_time: int | dt.datetime | None = None,
    end_time: int | dt.datetime | None = None,
    isolation_level: IsolationLevel = "read_uncommitted",
    on_error: OnError = "raise",
    known_losses: StrPath | Sequence[StrPath] = (),
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Callable[[int, int], object] | None = None,
    options: ScanOptions = _OPTIONS,
) -> ScanReader:
    """Read Kafka's log segments as a stream of Arrow record batches, without a broker.

    Args:
        source: Bytes-like or a binary file object (a record set); the path of a segment, a partition's folder, a log
            directory, or tiered storage (``<topic>-<topic id>/<partition>/<offset>-<uuid>.log``); a URL of one of these
            on a file system of pyarrow or fsspec; a :class:`kafkacomp.LogDir` or one of its parts; a collection of such
            sources; or a mapping of ``(topic, partition)`` to a source whose folder does not name them. Paths and URLs
            may have wildcards: ``*``, ``?``, ``[ab]``, ``[!a]`` and ``{a,b}``, which do not match slashes, and ``**``
            for any number of folders.
        columns: The columns to build, in this order: names from ``kafkacomp.arrow.COLUMNS``.
            Default: key, value, topic, partition, offset, timestamp, timestampType, headers.
        topics: Read only these topics: names, or globs such as ``orders-*``.
        partitions: Read only partitions with these numbers.
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
        known_losses: Local paths of loss files, besides those in the folders of the partitions, as in
            :func:`kafkacomp.log.verify_partition`; ``report.known_losses`` has what they make known.
        store: The file system of the paths in ``source``: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of URLs in ``source`` and ``tiered``, such as
            credentials and an endpoint; not together with ``store``.
        tiered: For tiered storage: what its files do not show, and the keys of those that are encrypted.
        progress: A callable, called as ``progress(bytes_done, bytes_total)`` after each Arrow batch.
        options: How it reads: threads, sizes of batches, types of columns, limits.

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
    check_options(options)
    check_progress(progress)
    first_ms = milliseconds("start_time", start_time)
    end_ms = milliseconds("end_time", end_time)
    if first_ms is not None and end_ms is not None and first_ms > end_ms:
        raise ValueError(f"start_time {first_ms} is after end_time {end_ms}: swap them")
    losses = loss_files_of(known_losses)
    found = find(
        source, topics=topics, partitions=partitions, store=store, storage_options=storage_options, tiered=tiered
    )
    settings = ScanSettings(
        columns=list(DEFAULT_COLUMNS) if columns is None else checked_columns(columns, COLUMNS),
        start_time=first_ms,
        end_time=end_ms,
        isolation_level=isolation_level,
        on_error=on_error,
        threads=checked_threads(options.threads),
        options=options,
    )
    total = sum(segment.size for each in found for segment in each.segments)
    sources = _with_bounds(found, start_offset, end_offset)
    return ScanReader(sources, settings, total, progress, losses)


def find(
    source: Source,
    *,
    topics: Iterable[str] | None = None,
    partitions: Iterable[int] | None = None,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
) -> list[Partition]:
    """List the partitions of a source: the arguments are those of :func:`scan`."""
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    return opening.resolve(source, choice=ByName.of(topics, partitions))


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
