"""The model of a log: a log directory has partitions, a partition has segments, a segment has batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, checked_threads, path_text
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, BatchStream
from kafkacomp._storage.names import basename, parent_of
from kafkacomp._storage.partition import Partition
from kafkacomp._storage.selection import select
from kafkacomp._text import count_text
from kafkacomp.arrow import scan
from kafkacomp.log._check import check_partition, check_segment
from kafkacomp.log._checkpoint_files import read_leader_epoch_checkpoint, read_partition_metadata
from kafkacomp.log._describe import describe, describe_partition
from kafkacomp.log._side_files import read_offset_index, read_producer_snapshot, read_time_index, read_transaction_index
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    import os

    from kafkacomp._entries import AbortedTxn, LeaderEpochEntry, OffsetPosition, ProducerEntry, TimestampOffset
    from kafkacomp._storage.partition import Segment
    from kafkacomp._types import StrPath
    from kafkacomp.arrow._reader import ScanReader
    from kafkacomp.log._info import LogDirInfo, PartitionInfo
    from kafkacomp.log._verify import PartitionReport, SegmentReport

#: The timestamp of a batch without records or of magic 0.
_NO_TIMESTAMP = -1
#: The most partitions that an error lists.
_SHOWN = 10


class LogDir(Mapping[tuple[str, int], "LogPartition"]):
    """A log directory of a broker: a mapping of ``(topic, partition)`` to :class:`LogPartition`.

    The directory is listed once, at the first use; create another ``LogDir`` to see files that were added since. Only
    the arguments are pickled.

    >>> import kafkacomp as kc
    >>> logs = kc.LogDir(example)
    >>> logs.topics
    ('orders',)
    >>> logs["orders", 3].end_offset
    5
    >>> for partition in logs.values():
    ...     print(partition)
    LogPartition('orders', 3, offsets 0 to 5, 1 segment, 181 bytes)

    Args:
        path: A folder that contains folders ``<topic>-<partition>``, one of these folders, or a segment; or the URL of
            one of them on a file system of pyarrow or fsspec. All arguments are those of :func:`kafkacomp.scan`.
        filesystem: The file system of the path: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL.
        remote_log_metadata: For tiered storage: a folder with the partitions of ``__remote_log_metadata``.
        local_log_dir: For tiered storage: the log directory of the partitions' leader.
        encryption_keys: For tiered storage: private keys by the ids of their key pairs.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        filesystem: object = None,
        storage_options: Mapping[str, object] | None = None,
        remote_log_metadata: object = None,
        local_log_dir: StrPath | None = None,
        encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None,
    ) -> None:
        self._path = path_text("path", path)
        self._options = SourceOptions(
            filesystem=filesystem,
            storage_options=storage_options,
            remote_log_metadata=remote_log_metadata,
            local_log_dir=local_log_dir,
            encryption_keys=encryption_keys,
        )

    @property
    def path(self) -> str:
        """The path or URL as given."""
        return self._path

    @cached_property
    def _partitions(self) -> dict[tuple[str, int], LogPartition]:
        found = {}
        for each in self._options.resolve(self._path):
            if each.topic is None or each.partition is None:
                segment = each.segments[0].name
                raise ValueError(
                    f"{segment}: the folder's name is not <topic>-<partition>: read it with kafkacomp.scan"
                )
            found[each.topic, each.partition] = LogPartition(each)
        return found

    @property
    def partitions(self) -> tuple[LogPartition, ...]:
        """All partitions, by topic and number.

        Raises:
            FileNotFoundError: the path does not exist, or contains no segments.
        """
        return tuple(self._partitions.values())

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics."""
        return tuple(dict.fromkeys(topic for topic, _ in self._partitions))

    def __getitem__(self, key: tuple[str, int]) -> LogPartition:
        """Return the partition ``(topic, number)``; a KeyError lists those that exist."""
        try:
            return self._partitions[key]
        except KeyError:
            known = ", ".join(f"{topic}-{number}" for topic, number in list(self._partitions)[:_SHOWN])
            more = ", ..." if len(self._partitions) > _SHOWN else ""
            given: object = key
            how = "" if isinstance(given, tuple) else "give topic and partition, as in logs['orders', 3]; "
            raise KeyError(f"no partition {key!r} in {self._path}: {how}expected one of {known}{more}") from None

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def select(
        self, topics: Iterable[str] | None = None, partitions: Iterable[int] | None = None
    ) -> list[LogPartition]:
        """Return the partitions of these topics and with these numbers.

        Args:
            topics: Names or globs such as ``orders-*``. Default: all topics.
            partitions: Numbers of partitions. Default: all of them.

        Raises:
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).select(topics=["ord*"])
            [LogPartition('orders', 3, offsets 0 to 5, 1 segment, 181 bytes)]
        """
        return [
            self._partitions[each.topic or "", each.partition or 0]
            for each in select(self._resolved(), topics, partitions)
        ]

    def scan(self, **options: Any) -> ScanReader:  # noqa: ANN401 - those of kafkacomp.scan
        """Read records as Arrow; the options are those of :func:`kafkacomp.scan`.

        >>> import kafkacomp as kc
        >>> for batch in kc.LogDir(example).scan(topics=["ord*"], columns=["offset"]):
        ...     print(batch.column("offset").to_pylist())
        [0, 1, 2, 3, 4]
        """
        return scan(self, **options)

    def info(
        self,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[int] | None = None,
        deep: bool = False,
        threads: int | None = None,
        max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    ) -> LogDirInfo:
        """Summarize the content of the log directory from the headers of its batches.

        If the batches are of magic 2 and have 16 KiB, less than 1% of a segment is read. The number of records in
        compressed messages of magic 0 and 1 is estimated from their offsets.

        >>> import kafkacomp as kc
        >>> found = kc.LogDir(example).info()
        >>> found.records, found.is_exact, found.first_timestamp, found.last_timestamp
        (5, True, 1700000000000, 1700000000004)
        >>> [(each.topic, each.segments_count, each.size) for each in found.topics]
        [('orders', 1, 181)]

        Args:
            topics: Names or globs such as ``orders-*``. Default: all topics.
            partitions: Numbers of partitions. Default: all of them.
            deep: Whether every batch is verified and the readable records are counted, instead of reading headers only.
            threads: The most partitions that are summarized at the same time; default: one per core that the process
                may use.
            max_output_size: With ``deep``: the most bytes that the records of one batch may decompress to.

        Raises:
            FileNotFoundError: the path does not exist, or contains no segments.
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
        """
        chosen = [each for found in self.select(topics, partitions) for each in found._resolved()]  # noqa: SLF001 - ours
        checked_max_output_size(max_output_size)
        return describe(chosen, checked_threads(threads), deep=deep, max_output_size=max_output_size)

    def _resolved(self) -> list[Partition]:
        return [each for partition in self.partitions for each in partition._resolved()]  # noqa: SLF001 - ours

    def __repr__(self) -> str:
        if "_partitions" not in self.__dict__:
            return f"LogDir({self._path!r})"
        return f"LogDir({self._path!r}, {count_text(len(self.topics), 'topic')}, {count_text(len(self), 'partition')})"

    def __reduce__(self) -> tuple[partial[LogDir], tuple[str]]:
        return partial(LogDir, **vars(self._options)), (self._path,)


class LogPartition:
    """A partition of a log directory.

    >>> import kafkacomp as kc
    >>> partition = kc.LogDir(example)["orders", 3]
    >>> partition.start_offset, partition.end_offset, partition.size
    (0, 5, 181)
    >>> partition.first_timestamp, partition.last_timestamp
    (1700000000000, 1700000000004)
    """

    def __init__(self, found: Partition) -> None:
        self._found = found

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self._found.topic or ""

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self._found.partition or 0

    @property
    def path(self) -> str:
        """The folder that contains the segments."""
        return parent_of(self._found.segments[0].name)

    @cached_property
    def segments(self) -> tuple[LogSegment, ...]:
        """The segments in offset order, as a broker would load them when it starts."""
        return tuple(LogSegment(self._found, index) for index in range(len(self._found.segments)))

    @property
    def size(self) -> int:
        """The size of all segments in bytes, when they were listed."""
        return sum(each.size for each in self._found.segments)

    @property
    def start_offset(self) -> int:
        """The log start offset: that of ``log-start-offset-checkpoint``, or the base offset of the first segment."""
        known = (self._found.log_start_offset, self._found.begins, self._found.segments[0].first_offset)
        return max(each or 0 for each in known)

    @cached_property
    def end_offset(self) -> int | None:
        """The log end offset: one more than the last offset; ``None`` if the end of the last segment is corrupt."""
        last = self._found.segments[-1]
        end = _kafkacomp.end_offset(last, "auto")
        return end if end is None or last.offsets is None else min(end, last.offsets[1])

    @property
    def high_watermark(self) -> int | None:
        """The high watermark in ``replication-offset-checkpoint``; ``None`` if the file has no entry."""
        return self._found.high_watermark

    @cached_property
    def first_timestamp(self) -> int | None:
        """The timestamp of the first record that has one, in milliseconds; ``None`` if no record does."""
        for segment in self.segments:
            for batch in segment.batches():
                if batch.max_timestamp > _NO_TIMESTAMP:
                    return next((each.timestamp for each in batch if each.timestamp > _NO_TIMESTAMP), None)
        return None

    @cached_property
    def last_timestamp(self) -> int | None:
        """The greatest timestamp, in milliseconds; ``None`` if no batch has one."""
        return max((time for each in self.segments if (time := each.max_timestamp) is not None), default=None)

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

    def scan(self, **options: Any) -> ScanReader:  # noqa: ANN401 - those of kafkacomp.scan
        """Read the records as Arrow; the options are those of :func:`kafkacomp.scan`.

        Example:
            >>> import kafkacomp as kc
            >>> reader = kc.LogDir(example)["orders", 3].scan(columns=["value"], start_offset=4)
            >>> [batch["value"].to_pylist() for batch in reader]
            [[b'order 4']]
        """
        return scan(self, **options)

    def verify(self, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> PartitionReport:
        """Check every batch and record of all segments, as :func:`kafkacomp.log.verify_partition` does.

        Example:
            >>> import kafkacomp as kc
            >>> report = kc.LogDir(example)["orders", 3].verify()
            >>> report.is_intact, report.missing
            (True, ())
        """
        return check_partition(self._found, max_output_size=max_output_size)

    def info(self, *, deep: bool = False, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> PartitionInfo:
        """Summarize the content of the partition; the options are those of :meth:`LogDir.info`.

        Example:
            >>> import kafkacomp as kc
            >>> found = kc.LogDir(example)["orders", 3].info()
            >>> [(each.message_format, each.compression_type, each.records) for each in found.counts]
            [('2', 'none', 5)]
        """
        checked_max_output_size(max_output_size)
        return describe_partition(self._found, deep=deep, max_output_size=max_output_size)

    def _resolved(self) -> list[Partition]:
        return [self._found]

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


class LogSegment:
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

    def scan(self, **options: Any) -> ScanReader:  # noqa: ANN401 - those of kafkacomp.scan
        """Read the records as Arrow; the options are those of :func:`kafkacomp.scan`."""
        return scan(self, **options)

    def verify(self, *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE) -> SegmentReport:
        """Check every batch and the index files, as :func:`kafkacomp.log.verify_segment` does."""
        owner = self._partition.topic, self._partition.partition
        return check_segment(self._found, owner, max_output_size=max_output_size)

    def _resolved(self) -> list[Partition]:
        owner = self._partition
        context = [each for each in owner.segments if each is not self._found]
        return [Partition(owner.topic, owner.partition, [self._found], context, None, owner.checkpoints)]

    def __repr__(self) -> str:
        return f"LogSegment({basename(self.path)!r}, {count_text(self.size, 'byte')})"

    def __reduce__(self) -> tuple[type[LogSegment], tuple[Partition, int]]:
        return LogSegment, (self._partition, self._index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogSegment) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self.path)
