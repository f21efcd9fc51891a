"""Segments and partitions that were found, and what is known of them: what the core is given to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias

from kafkacomp._storage.checkpoints import CLEANED, HIGH_WATERMARK, LOG_START, OffsetCheckpoints
from kafkacomp._storage.filesystem import read_local
from kafkacomp._storage.names import parent_of, side_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from kafkacomp._storage.remote import RemoteFolder

__all__ = [
    "AbortedRange",
    "BoundedPartition",
    "Partition",
    "Segment",
    "SegmentSource",
    "Source",
    "Split",
    "SplitBoundaries",
    "SplitBoundary",
    "Transactions",
]


#: What a log is read from: bytes, a path or URL, a binary file object, parts of the model, or a collection of them.
Source: TypeAlias = "Buffer | str | os.PathLike[str] | BinaryIO | SegmentSource | Partition | Iterable[Source]"


class SegmentSource(Protocol):
    """A log directory, partition or segment of the model."""

    def _resolved(self) -> list[Partition]: ...


class SplitBoundary(NamedTuple):
    """The batch at a split boundary of a segment."""

    #: Its offset field.
    offset: int
    #: Its size in bytes.
    size: int
    #: Its first offset; ``None`` if the header does not give it.
    first_offset: int | None


class SplitBoundaries(NamedTuple):
    """How a split of a segment is recognized, if the file is replaced meanwhile."""

    #: The batch at its beginning; ``None`` at the segment's own.
    begin: SplitBoundary | None
    #: The batch after its end; ``None`` at the segment's own.
    end: SplitBoundary | None
    #: The segment's length when it was found.
    length: int
    #: Where the next segment begins, if there is one.
    next_base: int | None


class Split(NamedTuple):
    """A part of a segment."""

    #: The byte at which it begins.
    start: int
    #: The byte after its last one.
    stop: int
    #: The batch at its beginning; ``None`` at the segment's.
    boundary: SplitBoundary | None


class AbortedRange(NamedTuple):
    """The offsets of an aborted transaction."""

    producer_id: int
    #: The offset of its first record.
    first_offset: int
    #: The offset of its abort marker.
    last_offset: int


class Transactions(NamedTuple):
    """What a committed reader sees of a partition."""

    #: The first offset that is not stable; ``None``: all are.
    last_stable_offset: int | None
    #: Transactions whose records it does not see.
    aborted: list[AbortedRange]


@dataclass
class Segment:
    """One segment to read."""

    #: Path, URL or name, for messages and the ``segment`` column.
    name: str
    #: What the core opens: a local path, bytes, or an object with ``open_segment`` and ``side_file``.
    source: Any
    #: Length in bytes when it was found.
    size: int
    #: Where it begins: the offset in its name; ``None`` where offsets need not rise (captured record sets).
    base_offset: int | None = None
    #: Only the batches that begin in this range of bytes.
    range: tuple[int, int] | None = None
    #: How the range is found again if the file is replaced meanwhile.
    boundaries: SplitBoundaries | None = None
    #: Whether a broker may still be writing it.
    active: bool = False
    #: Which of its offsets belong to the log: the first, and the one after the last. Where this is known, the
    #: partition's segments are read in their order, and not compared.
    offsets: tuple[int, int] | None = None
    #: The offset in its name, where its batches show that this is not where it begins.
    named_offset: int | None = None

    @property
    def first_offset(self) -> int | None:
        """The first offset that is read from it, as far as that is known before it is opened."""
        return self.base_offset if self.offsets is None else self.offsets[0]

    def side_file(self, suffix: str) -> bytes | None:
        """Read the file with this suffix next to the segment; ``None`` if it does not exist."""
        if isinstance(self.source, str):
            return read_local(side_file(self.source, suffix))
        return self.source.side_file(suffix) if hasattr(self.source, "side_file") else None

    def neighbour(self, name: str) -> bytes | None:
        """Read another file of the segment's folder; ``None`` if it does not exist."""
        if isinstance(self.source, str):
            return read_local(f"{parent_of(self.source)}/{name}")
        return self.source.neighbour(name) if hasattr(self.source, "neighbour") else None


@dataclass
class Partition:
    """The segments of one partition in offset order."""

    topic: str | None
    partition: int | None
    segments: list[Segment] = field(default_factory=list)
    #: Segments that are only asked about transactions.
    context: list[Segment] = field(default_factory=list)
    #: What a committed reader sees, if it was found before.
    transactions: Transactions | None = None
    #: Those of the log directory that the partition's folder is in.
    checkpoints: OffsetCheckpoints | None = field(default=None, repr=False, compare=False)
    #: Nothing below this offset is part of the log, whatever its segments have.
    begins: int | None = None
    #: The folder of remote storage that the segments are in; they are decided about by :mod:`kafkacomp.tiered.resolve`.
    remote: RemoteFolder | None = field(default=None, repr=False, compare=False)
    #: The id of the topic, if the segments are in remote storage.
    topic_id: str | None = None
    #: What would decide between segments that have different records at the same offset, as a sentence of the error.
    deciding: str | None = None

    @property
    def log_start_offset(self) -> int | None:
        """The offset below which a broker serves nothing, by ``log-start-offset-checkpoint``.

        A broker has an entry there only for a partition whose log starts after its first segment's base offset.
        """
        return self._checkpoint(LOG_START)

    @property
    def high_watermark(self) -> int | None:
        """The offset from which on consumers see nothing, by ``replication-offset-checkpoint``."""
        return self._checkpoint(HIGH_WATERMARK)

    @property
    def cleaned_to(self) -> int | None:
        """The offset below which compaction has removed records, by ``cleaner-offset-checkpoint``."""
        return self._checkpoint(CLEANED)

    def _checkpoint(self, name: str) -> int | None:
        if self.checkpoints is None or self.topic is None or self.partition is None:
            return None
        return self.checkpoints.offset(name, self.topic, self.partition)


@dataclass(frozen=True)
class BoundedPartition:
    """A partition from one offset to another."""

    partition: Partition
    #: The first offset; ``None``: from the beginning.
    start_offset: int | None
    #: The offset after the last one; ``None``: to the end.
    end_offset: int | None
