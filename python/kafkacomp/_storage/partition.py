"""Segments and partitions as discovery finds them and the core reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from kafkacomp._storage.checkpoints import CLEANED, HIGH_WATERMARK, LOG_START, RECOVERY_POINT, OffsetCheckpoints
from kafkacomp._storage.filesystem import read_local
from kafkacomp._storage.losses import compacted_to, own_loss_file
from kafkacomp._storage.names import parent_of, side_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer

    from kafkacomp._kafkacomp import Inspected
    from kafkacomp._storage.listing import Listing
    from kafkacomp._storage.loss_file import LossFile
    from kafkacomp._storage.remote import RemoteFolder
    from kafkacomp.exceptions import CorruptRecordError

#: Sources of a log: bytes, a path or URL, a binary file object, an object of the model, or a collection of these.
Source: TypeAlias = "Buffer | str | os.PathLike[str] | BinaryIO | SegmentSource | Partition | Iterable[Source] | Named"
#: Sources without a name of their own, by the topic and partition to which they belong.
Named: TypeAlias = "Mapping[tuple[str, int], Source]"


@runtime_checkable
class SegmentSource(Protocol):
    """A log directory, partition or segment of the model."""

    def _listed(self) -> Listing:
        """Its partitions, whose segments need not have been opened."""

    def _place(self) -> str:
        """Its path in its file system."""


class SplitBoundary(NamedTuple):
    """The batch at a split boundary of a segment."""

    #: Its offset field.
    offset: int
    #: Its size in bytes.
    size: int
    #: Its first offset; ``None`` if the header does not give it.
    first_offset: int | None


class SplitBoundaries(NamedTuple):
    """The batches by which a split of a segment is recognized if the file is replaced."""

    #: The batch at its beginning; ``None`` at the beginning of the segment.
    begin: SplitBoundary | None
    #: The batch after its end; ``None`` at the end of the segment.
    end: SplitBoundary | None
    #: The segment's length in bytes when it was found.
    length: int
    #: The base offset of the next segment, if there is one.
    next_base: int | None


class Split(NamedTuple):
    """A part of a segment."""

    #: The position of its first byte.
    start: int
    #: The position after its last byte.
    stop: int
    #: The batch at its beginning; ``None`` at the beginning of the segment.
    boundary: SplitBoundary | None


class AbortedRange(NamedTuple):
    """The offsets of an aborted transaction."""

    producer_id: int
    #: The offset of its first record.
    first_offset: int
    #: The offset of its abort marker.
    last_offset: int


class Transactions(NamedTuple):
    """The transactions of a partition that concern a committed reader."""

    #: The first offset that is not stable; ``None`` if all are.
    last_stable_offset: int | None
    #: Aborted transactions, whose records it does not return.
    aborted: list[AbortedRange]


class ReachedOffsets(NamedTuple):
    """The offsets that a log had reached, by the files next to its segments."""

    #: All records below it were written to disk.
    recovery_point: int | None
    high_watermark: int | None
    #: The greatest offset in the name of a producer snapshot.
    snapshot: int | None


@dataclass
class Segment:
    """A segment to read."""

    #: Path, URL or name, for messages and the ``segment`` column.
    name: str
    #: The object that the core opens: a local path, bytes, or an object with ``open_segment`` and ``side_file``.
    source: Any
    #: Length in bytes when it was found.
    size: int
    #: The offset in its name; ``None`` for captured record sets, whose offsets need not increase.
    base_offset: int | None = None
    #: If given, only the batches that begin in this range of bytes are read.
    range: tuple[int, int] | None = None
    #: How the range is found again if the file is replaced.
    boundaries: SplitBoundaries | None = None
    #: Whether a broker may still be writing it.
    active: bool = False
    #: Its valid offsets in tiered storage: the first, and the one after the last. If they are known, the partition's
    #: segments are read in their order without comparing them.
    offsets: tuple[int, int] | None = None
    #: What shows which transactions were aborted in it, and which are open after it: the headers of its ``batches``;
    #: its ``indexes``, as a broker has copied them to tiered storage; its ``snapshot`` alone, where it is known that
    #: none was aborted.
    transactions_in: Literal["batches", "indexes", "snapshot"] = "batches"
    #: The local file that was opened to see what it is, kept for the first reader.
    inspected: Inspected | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the open file."""
        return self.__dict__ | {"inspected": None}

    @property
    def first_offset(self) -> int | None:
        """The first offset that is read from it, if known before it is opened."""
        return self.base_offset if self.offsets is None else self.offsets[0]

    def side_file(self, suffix: str) -> bytes | None:
        """Read the file with this suffix next to the segment; ``None`` if it does not exist."""
        if isinstance(self.source, str):
            return read_local(side_file(self.source, suffix))
        return self.source.side_file(suffix) if hasattr(self.source, "side_file") else None

    def leader_epoch_checkpoint(self) -> bytes | None:
        """Read the checkpoint of its folder or, in tiered storage, its own; ``None`` if neither exists."""
        own = self.neighbour("leader-epoch-checkpoint")
        return self.side_file("leader_epoch_checkpoint") if own is None else own

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
    #: Segments that are read only for their transactions, and to recognize known losses.
    context: list[Segment] = field(default_factory=list)
    #: The transactions, if they were determined before.
    transactions: Transactions | None = None
    #: The offset checkpoints of the log directory that contains the partition's folder.
    checkpoints: OffsetCheckpoints | None = field(default=None, repr=False, compare=False)
    #: The log start offset: lower offsets in the segments are not part of the log.
    begins: int | None = None
    #: The folder of remote storage that contains the segments; :mod:`kafkacomp.tiered.resolve` chooses from them.
    remote: RemoteFolder | None = field(default=None, repr=False, compare=False)
    #: The id of the topic, if the segments are in remote storage.
    topic_id: str | None = None
    #: The part of an error message that names the arguments to give if segments have different records at one offset.
    deciding: str | None = None
    #: Whether the first batch of a segment has offsets that it should not have by its name.
    is_misnamed: bool = False
    #: Whether the segments were opened, to refuse packed ones and to see whether they are misnamed.
    is_checked: bool = field(default=False, repr=False, compare=False)
    #: The objects of segments in remote storage that could not be opened, with the errors, until they are reported.
    failures: list[tuple[str, CorruptRecordError | OSError]] = field(default_factory=list, repr=False, compare=False)
    #: Whether its folder may have a loss file.
    has_loss_file: bool = False
    #: The greatest offset in the name of a producer snapshot in its folder.
    snapshot: int | None = None
    #: Whether later segments of its log may exist that are not among these.
    is_part: bool = False

    @cached_property
    def loss_file(self) -> LossFile | None:
        """The loss file in its folder."""
        return own_loss_file(self) if self.has_loss_file else None

    @property
    def log_start_offset(self) -> int | None:
        """The log start offset in ``log-start-offset-checkpoint``, below which a broker returns no records.

        The file has an entry only for a partition whose log starts after the base offset of its first segment.
        """
        return self._checkpoint(LOG_START)

    @property
    def high_watermark(self) -> int | None:
        """The high watermark in ``replication-offset-checkpoint``, from which on consumers get no records."""
        return self._checkpoint(HIGH_WATERMARK)

    @property
    def reached(self) -> ReachedOffsets:
        """The offsets that its log had reached: if it ends before one of them, records are missing."""
        if self.is_part:
            return ReachedOffsets(None, None, None)
        return ReachedOffsets(self._checkpoint(RECOVERY_POINT), self.high_watermark, self.snapshot)

    @property
    def cleaned_to(self) -> int | None:
        """The offset in ``cleaner-offset-checkpoint`` or the loss file, below which compaction has removed records."""
        found = self._checkpoint(CLEANED)
        if found is not None or self.loss_file is None:
            return found
        return compacted_to(self, [self.loss_file])

    def _checkpoint(self, name: str) -> int | None:
        if self.checkpoints is None or self.topic is None or self.partition is None:
            return None
        return self.checkpoints.offset(name, self.topic, self.partition)


@dataclass(frozen=True)
class BoundedPartition:
    """A partition from one offset to another."""

    partition: Partition
    #: The first offset; ``None`` for the beginning of the log.
    start_offset: int | None
    #: The offset after the last one; ``None`` for the end of the log.
    end_offset: int | None
