"""The parts of the model of a log: a partition has segments, a segment has batches."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchStream
from kafkacomp._storage.discovery import check
from kafkacomp._storage.listing import Listing
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.names import basename, parent_of
from kafkacomp._text import count_text
from kafkacomp.log._check import CheckOptions, check_partition, check_segment
from kafkacomp.log._checkpoint_files import read_leader_epoch_checkpoint, read_partition_metadata
from kafkacomp.log._describe import describe_partition
from kafkacomp.log._side_files import read_offset_index, read_producer_snapshot, read_time_index, read_transaction_index
from kafkacomp.log._verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp._entries import AbortedTxn, LeaderEpochEntry, OffsetPosition, ProducerEntry, TimestampOffset
    from kafkacomp._storage.partition import Partition, Segment
    from kafkacomp._types import StrPath
    from kafkacomp.log._info import PartitionInfo
    from kafkacomp.log._verify import PartitionReport, SegmentReport

#: The timestamp of a batch without records or of magic 0.
_NO_TIMESTAMP = -1


class LogPartition(Verbs):
    """A partition of a log directory.

    >>> import kafkacomp as kc
    >>> partition = kc.LogDir(example)["orders", 3]
    >>> partition.start_offset, partition.end_offset, partition.size
    (0, 5, 181)
    """

    def __init__(self, found: Partition) -> None:
        self._partition = found

    @property
    def _found(self) -> Partition:
        """The partition, after its segments were looked at."""
        check(self._partition, keeps_open=False)
        return self._partition

    @property
    def _opened(self) -> Partition:
        """The same for what reads all segments next: it need not open them again."""
        check(self._partition)
        return self._partition

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self._partition.topic or ""

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self._partition.partition or 0

    @property
    def path(self) -> str:
        """The folder that contains the segments."""
        return parent_of(self._partition.segments[0].name)

    @cached_property
    def segments(self) -> tuple[LogSegment, ...]:
        """The segments in offset order, as a broker would load them when it starts."""
        return tuple(LogSegment(self._found, index) for index in range(len(self._found.segments)))

    @property
    def size(self) -> int:
        """The size of all segments in bytes, when they were listed."""
        return sum(each.size for each in self._partition.segments)

    @property
    def start_offset(self) -> int:
        """The log start offset: that of ``log-start-offset-checkpoint``, or the base offset of the first segment."""
        known = (self._found.log_start_offset, self._found.begins, self._found.segments[0].first_offset)
        return max(each or 0 for each in known)

    @cached_property
    def end_offset(self) -> int | None:
        """The log end offset: one more than the last offset; ``None`` if the end of the last segment is corrupt."""
        return _kafkacomp.log_end(self._found, "auto")

    @property
    def high_watermark(self) -> int | None:
        """The high watermark in ``replication-offset-checkpoint``; ``None`` if the file has no entry."""
        return self._found.high_watermark

    @property
    def leader_epochs(self) -> list[LeaderEpochEntry]:
        """The entries of ``leader-epoch-checkpoint``, in tiered storage of the last segment; empty without one."""
        content = self._found.segments[-1].leader_epoch_checkpoint()
        return [] if content is None else read_leader_epoch_checkpoint(content)

    @property
    def producers(self) -> list[ProducerEntry]:
        """The entries of the last producer snapshot; empty if there is none."""
        for each in reversed(self._found.segments):
            content = each.side_file("snapshot")
            if content is not None:
                return read_producer_snapshot(content)
        return []

    @property
    def topic_id(self) -> str | None:
        """The topic's id in ``partition.metadata`` or the remote storage; ``None`` if neither has it."""
        content = self._found.segments[0].neighbour("partition.metadata")
        return self._found.topic_id if content is None else read_partition_metadata(content).topic_id

    def verify(
        self, *, known_losses: StrPath | Sequence[StrPath] = (), max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
    ) -> PartitionReport:
        """Check every batch and record of all segments, as :func:`kafkacomp.log.verify_partition` does.

        Example:
            >>> import kafkacomp as kc
            >>> report = kc.LogDir(example)["orders", 3].verify()
            >>> report.is_intact, report.missing
            (True, ())
        """
        options = CheckOptions(max_output_size=max_output_size, known_losses=loss_files_of(known_losses))
        return check_partition(self._opened, options)

    def info(self, *, deep: bool = False, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> PartitionInfo:
        """Summarize the content of the partition; the options are those of :meth:`LogDir.info`.

        Example:
            >>> import kafkacomp as kc
            >>> found = kc.LogDir(example)["orders", 3].info()
            >>> [(each.message_format, each.compression_type, each.records) for each in found.counts]
            [('2', 'none', 5)]
        """
        checked_max_output_size(max_output_size)
        return describe_partition(self._opened, deep=deep, max_output_size=max_output_size)

    def _place(self) -> str:
        return self.path

    def _listed(self) -> Listing:
        return Listing([self._partition])

    def __repr__(self) -> str:
        found = count_text(len(self._found.segments), "segment")
        end = "?" if self.end_offset is None else self.end_offset
        return (
            f"LogPartition({self.topic!r}, {self.partition}, offsets {self.start_offset} to {end}, "
            f"{found}, {count_text(self.size, 'byte')})"
        )

    def __reduce__(self) -> tuple[type[LogPartition], tuple[Partition]]:
        return LogPartition, (self._found,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogPartition) and self._found == other._found

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.path))


class LogSegment(Verbs):
    """A segment of a partition, and the index files next to it.

    >>> import kafkacomp as kc
    >>> segment = kc.LogDir(example)["orders", 3].segments[-1]
    >>> segment.base_offset, segment.size
    (0, 181)
    >>> for batch in segment.batches():
    ...     print(batch.base_offset, batch.records_count, batch.compression_type)
    0 5 none
    >>> segment.verify().is_intact
    True
    """

    def __init__(self, partition: Partition, index: int) -> None:
        self._partition = partition
        self._index = index

    @property
    def _found(self) -> Segment:
        return self._partition.segments[self._index]

    @property
    def base_offset(self) -> int | None:
        """The offset in the file's name (in Kafka 0.7 the position of its first byte); ``None`` if it has none."""
        return self._found.base_offset

    @property
    def path(self) -> str:
        """The path of the file in its file system."""
        return self._found.name

    @property
    def size(self) -> int:
        """The length in bytes, when the segment was listed."""
        return self._found.size

    @property
    def offset_index(self) -> list[OffsetPosition] | None:
        """The entries of ``.index``; ``None`` if it does not exist."""
        content = self._found.side_file("index")
        return None if content is None else read_offset_index(content, self._found.base_offset or 0)

    @property
    def time_index(self) -> list[TimestampOffset] | None:
        """The entries of ``.timeindex``; ``None`` if it does not exist."""
        content = self._found.side_file("timeindex")
        return None if content is None else read_time_index(content, self._found.base_offset or 0)

    @property
    def transaction_index(self) -> list[AbortedTxn] | None:
        """The entries of ``.txnindex``; ``None`` if it does not exist."""
        content = self._found.side_file("txnindex")
        return None if content is None else read_transaction_index(content, self._found.base_offset or 0)

    @cached_property
    def max_timestamp(self) -> int | None:
        """The greatest timestamp, in milliseconds; ``None`` if no batch has one.

        It is read from the time index; for the last segment, or without an index, from the headers of the batches.
        """
        entries = self.time_index
        known, position = _NO_TIMESTAMP, 0
        if entries:
            known = max(each.timestamp for each in entries)
            if not self._found.active:
                return known
            indexed = (each.position for each in self.offset_index or () if each.offset <= entries[-1].offset)
            position = max(indexed, default=0)
        with self._open(position=position) as batches:
            known = max(known, *(batch.max_timestamp for batch in batches), _NO_TIMESTAMP)
        return known if known > _NO_TIMESTAMP else None

    def batches(self, *, verify_crc: bool = True, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> BatchStream:
        """Iterate over the batches, with no more than a chunk of the segment in memory.

        Iterating over a batch decompresses its records. In the last segment of a partition, the iteration ends without
        an error at a truncated batch.

        Args:
            verify_crc: Whether checksums are verified.
            max_output_size: The most bytes that the records of one batch may decompress to.

        Returns:
            An iterator of :class:`kafkacomp.record.RecordBatch`, also a context manager that closes the file.

        Raises:
            ValueError: the segment is of Kafka 0.7, which has messages instead of batches.
            CorruptRecordError: while iterating, at a corrupt batch.

        Example:
            >>> import kafkacomp as kc
            >>> segment = kc.LogDir(example)["orders", 3].segments[0]
            >>> [record.value for batch in segment.batches() for record in batch][:2]
            [b'order 0', b'order 1']
        """
        return self._open(verify_crc=verify_crc, max_output_size=max_output_size)

    def _open(
        self, *, verify_crc: bool = False, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE, position: int = 0
    ) -> BatchStream:
        found = self._found
        if _kafkacomp.is_message_set(found):
            raise ValueError(f"{self.path}: a log of Kafka 0.7 has messages, not batches: use scan")
        return BatchStream(
            found,
            checked_max_output_size(max_output_size),
            verify_crc=verify_crc,
            may_be_truncated=found.active,
            position=position,
        )

    def verify(self, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> SegmentReport:
        """Check every batch and the index files, as :func:`kafkacomp.log.verify_segment` does."""
        return check_segment(self._found, self._partition, max_output_size=max_output_size)

    def _place(self) -> str:
        return self.path

    def _listed(self) -> Listing:
        owner = self._partition
        context = [each for each in owner.segments if each is not self._found]
        return Listing([replace(owner, segments=[self._found], context=context, failures=[])])

    def __repr__(self) -> str:
        return f"LogSegment({basename(self.path)!r}, {count_text(self.size, 'byte')})"

    def __reduce__(self) -> tuple[type[LogSegment], tuple[Partition, int]]:
        return LogSegment, (self._partition, self._index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogSegment) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self.path)
