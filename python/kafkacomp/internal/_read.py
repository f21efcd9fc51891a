"""Open the partitions of an internal topic, and start a scan that makes a table of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from kafkacomp._arguments import OFFSETS, check_bools, check_progress, checked_threads, integer, one_of
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, internal_tables
from kafkacomp._storage.names import parent_of
from kafkacomp._storage.partition import BoundedPartition, Partition, Segment
from kafkacomp.arrow._options import ON_ERROR, ScanOptions, ScanSettings
from kafkacomp.arrow._reader import ScanReader
from kafkacomp.arrow._scan import find, milliseconds

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Mapping

    from kafkacomp._storage.partition import Source

#: The topic of each table, and its views, the default first.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (topic, tuple(views)) for name, topic, views in internal_tables()
}
#: Offset and epoch in the name of a snapshot of the metadata log.
_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint")


class ReadOptions(TypedDict, total=False):
    """The options of all tables.

    Attributes:
        as_of: Read the state at this time: milliseconds since the epoch, or a datetime with a time zone. The records
            before the first one with a later timestamp count.
        as_of_offset: Instead of a time: the records below this offset of each partition count.
        partitions: Read only these partitions of the internal topic.
        on_error: ``raise`` ends at the first corrupt batch; ``skip`` continues after it. Rows that a lost record may
            have changed have ``mayBeStale``.
        threads: Decoding threads; default: one per core.
        max_output_size: The most bytes that the records of one batch may decompress to.
        store: The store or file system of the source, as in :func:`kafkacomp.scan`.
        storage_options: Options with which fsspec opens URLs, as in :func:`kafkacomp.scan`.
        progress: Called as ``progress(bytes_done, bytes_total)``.
    """

    as_of: int | dt.datetime | None
    as_of_offset: int | None
    partitions: Iterable[int] | None
    on_error: Literal["raise", "skip"]
    threads: int | None
    max_output_size: int
    store: object
    storage_options: Mapping[str, object] | None
    progress: Callable[[int, int], object] | None


_NAMES = frozenset(ReadOptions.__annotations__)


def read(table: str, view: str, source: Source, *, show_secrets: bool, options: ReadOptions) -> ScanReader:
    """Start reading a view of a table.

    Raises:
        ValueError, TypeError: an argument has an unknown name or value.
        FileNotFoundError: a path does not exist.
    """
    topic, views = TABLES[table]
    if unknown := options.keys() - _NAMES:
        raise TypeError(f"{table}() got an unexpected keyword argument {min(unknown)!r}")
    one_of("view", view, views)
    on_error = options.get("on_error", "raise")
    one_of("on_error", on_error, ON_ERROR)
    check_bools(show_secrets=show_secrets)
    progress = options.get("progress")
    check_progress(progress)
    as_of = milliseconds("as_of", options.get("as_of"))
    as_of_offset = options.get("as_of_offset")
    if as_of_offset is not None:
        integer("as_of_offset", as_of_offset, OFFSETS)
        if as_of is not None:
            raise ValueError("as_of and as_of_offset are two ways to name a point: give one")
    found = find(
        source,
        topics=[topic],
        partitions=options.get("partitions"),
        store=options.get("store"),
        storage_options=options.get("storage_options"),
    )
    if table == "cluster_metadata" and view != "log":
        found = [*_snapshots(found), *found]
    reading = ScanOptions(
        include_control=True,
        log_format="0.8+",
        horizon=None,
        max_output_size=options.get("max_output_size", DEFAULT_MAX_OUTPUT_SIZE),
        threads=options.get("threads"),
    )
    settings = ScanSettings(
        columns=[],
        start_time=None,
        end_time=None,
        isolation_level="read_uncommitted",
        on_error=on_error,
        threads=checked_threads(reading.threads),
        options=reading,
    )
    query: dict[str, object] = {
        "table": table, "view": view, "as_of": as_of, "as_of_offset": as_of_offset, "show_secrets": show_secrets,
    }  # fmt: skip
    total = sum(segment.size for each in found for segment in each.segments)
    bounded = [BoundedPartition(each, None, None) for each in found]
    return ScanReader(bounded, settings, total, progress, query=query)


def _snapshots(logs: list[Partition]) -> list[Partition]:
    """The snapshots next to the segments of the metadata log, each as a partition named after its file."""
    folders = {parent_of(each.segments[0].source) for each in logs if isinstance(each.segments[0].source, str)}
    files = (file for folder in sorted(folders) for file in sorted(Path(folder).iterdir()))
    return [
        Partition(file.name, 0, [Segment(str(file), str(file), file.stat().st_size)])
        for file in files
        if _SNAPSHOT.fullmatch(file.name)
    ]
