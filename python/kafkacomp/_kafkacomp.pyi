"""The Rust core. Private: use the package's modules."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, final

import pyarrow as pa
from typing_extensions import Buffer, CapsuleType, disjoint_base

from kafkacomp import lz4, zstd
from kafkacomp._batch_settings import BatchSettings
from kafkacomp._entries import (
    AbortedTxn,
    ControlRecord,
    LeaderEpochEntry,
    OffsetCheckpointEntry,
    OffsetPosition,
    PartitionMetadata,
    ProducerEntry,
    TimestampOffset,
)
from kafkacomp._storage.filesystem import FileSystem
from kafkacomp._storage.partition import (
    AbortedRange,
    BoundedPartition,
    Partition,
    Segment,
    Split,
    Transactions,
)
from kafkacomp._types import (
    ArrowColumn,
    ArrowRows,
    CompressionType,
    Headers,
    RecordColumns,
    StrPath,
    TimestampType,
)
from kafkacomp.arrow._cells import RecordFields
from kafkacomp.arrow._options import ScanSettings
from kafkacomp.arrow._report import MissingRange, MissingReason, ScanReport
from kafkacomp.broker._profile import TopicSettings
from kafkacomp.broker._validator import LogAppendInfo, ValidationResult, ValidatorConfig
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.log._info import Summaries
from kafkacomp.log._rewrite import Repair
from kafkacomp.log._rewrite_work import PartitionJob
from kafkacomp.log._verify import FileOffsets, Finding, PartitionToVerify, SegmentReport
from kafkacomp.lz4 import FrameOptions
from kafkacomp.message_set import MessageAndOffset
from kafkacomp.message_set._read import Converted, MappedPosition
from kafkacomp.tiered.keys import DataKey

__version__: str
DEFAULT_MAX_OUTPUT_SIZE: Final[int]
MAX_BATCH_BYTES: Final[int]
INTERNAL_TOPICS: Final[Sequence[str]]

#: Partitions, remote folders, files of logs, others, failures, decisions: see kafkacomp._storage.listing.
_Listing: TypeAlias = tuple[list[Any], list[Any], list[Any], list[Any], list[Any], list[str]]

def list_folder(
    filesystem: FileSystem, path: str, allowed: Callable[[str, int], bool] | None, may_vanish: bool
) -> _Listing: ...
def list_file(filesystem: FileSystem, path: str, size: int) -> _Listing: ...
def remote_folder_of(filesystem: FileSystem, path: str) -> tuple[Any, ...] | None: ...
def refuse_packed(filesystem: FileSystem, path: str) -> None: ...
def container_of(filesystem: FileSystem, path: str, size: int) -> str | None: ...
def container_in(head: bytes) -> str | None: ...
def glob_matches(filesystem: FileSystem, folder: str, pattern: str) -> list[tuple[str, bool, int]]: ...
def copies(partitions: list[tuple[str, int, str]]) -> list[tuple[str, int, list[str]]]: ...
def segment_offset(name: str) -> int | None: ...
def is_segment(name: str) -> bool: ...
def is_tiered_segment(name: str) -> bool: ...
def is_not_a_segment(name: str) -> bool: ...
def leading_offset(name: str) -> int | None: ...
def partition_of(folder: str) -> tuple[str, int] | None: ...
def owner_of(folder: str, name: str) -> tuple[str, int] | tuple[None, None]: ...
def last_snapshot(file_names: list[str]) -> int | None: ...
def kind_of(name: str) -> str | None: ...
def kind_of_file(name: str) -> str | None: ...
def check_side_file(kind: str, name: str, content: bytes) -> list[tuple[int, str]]: ...
def without_segment(name: str) -> str: ...

@final
class NamePattern:
    def __new__(cls, pattern: str) -> Self: ...
    def matches(self, name: str) -> bool: ...

@final
class ByName:
    def __new__(cls, topics: list[str] | None, partitions: list[int] | None) -> Self: ...
    def allows(self, topic: str, partition: int) -> bool: ...
    def choose(self, found: list[tuple[str | None, int | None]]) -> list[int]: ...

@final
class Inspected:
    def container(self) -> str | None: ...

def inspect(paths: list[str]) -> list[Inspected]: ...
def are_misnamed(segments: list[tuple[int | None, Inspected]]) -> bool: ...
def columns() -> list[str]: ...
def split_segment(source: Segment, split_bytes: int, log_format: str) -> list[Split]: ...
def is_message_set(source: Segment) -> bool: ...

@final
class ByteRange:
    __match_args__: Final = ("position", "data", "is_truncated")
    position: Final[int]
    data: Final[bytes]
    is_truncated: Final[bool]

def read_range(source: Segment, begin: int, end: int) -> ByteRange: ...
def newest_message_format(source: Segment) -> str | None: ...
def end_offset(source: Segment, log_format: str) -> int | None: ...
def log_end(source: Partition, log_format: str) -> int | None: ...
def judged_span(source: Partition, log_format: str) -> tuple[int, int] | None: ...
def continues_at(source: Partition, end: int, log_format: str) -> int | None: ...
def offset_for_time(
    source: Partition, timestamp: int, log_format: str, skip: bool, max_output_size: int
) -> int | None: ...

@final
class FoundTransactions:
    __match_args__: Final = ("transactions", "warnings")
    transactions: Final[Transactions]
    warnings: Final[list[str]]

def find_transactions(source: Partition, log_format: str, skip: bool) -> FoundTransactions: ...

@final
class LogFollower:
    """Reads the headers of the batches that were appended to a partition's log since the last call."""

    def __new__(cls, transactions: bool) -> LogFollower: ...
    def follow(self, source: Segment, is_new: bool, skip: bool) -> Literal["end", "truncated", "corrupt", "shrunk"]:
        """Read a segment: from its start if ``is_new``, otherwise from where the last call ended."""

    def aborted(self, start: int, end: int) -> list[AbortedRange]:
        """Return the aborted transactions that have offsets in this range."""

    def forget(self, offset: int) -> None:
        """Forget aborted transactions that end before this offset."""

    @property
    def position(self) -> int:
        """The byte of the segment at which the next batch begins."""

    @property
    def end_offset(self) -> int | None:
        """The offset after the last batch; ``None`` before the first."""

    @property
    def is_pending(self) -> bool:
        """Whether the last batch follows a gap, and another call must show that nothing below it is appended."""

    def take_disorder(self) -> tuple[int, int, int] | None:
        """Return the first batch since the last call that is not above those before it.

        Its position and first offset, and the offset that was expected.
        """

    def set_end_offset(self, end: int) -> None:
        """Set the end of the log, as all files of the partition show it."""

    @property
    def first_open(self) -> int | None:
        """The first offset of the earliest open transaction."""

def compress(data: Buffer, compression_type: int, level: int | None, magic: int) -> bytes: ...
def lz4_compress(data: Buffer, level: int | None, options: FrameOptions) -> bytes: ...
def decompress(data: Buffer, compression_type: int, checksum: str, max_output_size: int) -> bytes: ...
def decompress_into(data: Buffer, out: Buffer, compression_type: int, checksum: str) -> int: ...
def decompress_record_set(data: Buffer, compression_type: int, magic: int, max_output_size: int) -> bytes: ...
def zstd_frame_info(data: Buffer) -> zstd.FrameInfo: ...
def lz4_frame_info(data: Buffer) -> lz4.FrameInfo: ...
def read_offset_index(data: Buffer, base_offset: int, name: str | None) -> list[OffsetPosition]: ...
def read_time_index(data: Buffer, base_offset: int, name: str | None) -> list[TimestampOffset]: ...
def read_transaction_index(data: Buffer, base_offset: int, name: str | None) -> list[AbortedTxn]: ...
def read_producer_snapshot(data: Buffer, name: str | None) -> list[ProducerEntry]: ...
def read_leader_epoch_checkpoint(data: Buffer, name: str | None) -> list[LeaderEpochEntry]: ...
def read_offset_checkpoint(data: Buffer, name: str | None) -> list[OffsetCheckpointEntry]: ...
def read_partition_metadata(data: Buffer, name: str | None) -> PartitionMetadata: ...
def internal_tables() -> list[tuple[str, str, list[str]]]: ...
def internal_dump_line(
    topic: str, offset: int, key: bytes | None, value: bytes | None, show_secrets: bool
) -> tuple[str | None, str | None]: ...
def internal_json(
    topic: str,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    is_control: bool,
    show_secrets: bool,
) -> str: ...
def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord: ...

@final
class VerifiedPartition:
    @property
    def segments(self) -> list[tuple[int, SegmentReport]]: ...
    @property
    def unread(self) -> list[tuple[int, str]]: ...
    @property
    def missing(self) -> tuple[MissingRange, ...]: ...
    @property
    def more_missing(self) -> int: ...
    @property
    def covered_offsets_count(self) -> int: ...
    def gaps(
        self, known: Sequence[tuple[int, int]], hint: str | None
    ) -> tuple[tuple[MissingRange, ...], tuple[int, Finding] | None]:
        """Return what is missing, and the one error about gaps that are not among the known offsets."""

def verify_partition(partition: PartitionToVerify, progress: Callable[[int], object] | None) -> VerifiedPartition: ...
def format_of_content(source: object) -> Literal["0.7", "0.8+"] | None: ...

@final
class MissingOffsets:
    __match_args__: Final = ("file", "first_offset", "last_offset", "reason")
    file: Final[int]
    first_offset: Final[int]
    last_offset: Final[int]
    reason: Final[MissingReason]

@final
class Overlap:
    __match_args__: Final = ("earlier", "later", "first_offset", "last_offset")
    earlier: Final[int]
    later: Final[int]
    first_offset: Final[int]
    last_offset: Final[int]

@final
class PartitionOffsets:
    __match_args__: Final = ("missing", "more_missing", "covered", "overlaps")
    missing: Final[list[MissingOffsets]]
    more_missing: Final[int]
    covered: Final[int]
    overlaps: Final[list[Overlap]]

def partition_offsets(
    files: Sequence[FileOffsets], topic: str | None, cleaned_to: int | None, reached: int | None
) -> PartitionOffsets: ...
def reached_end(source: Partition, end: int) -> int | None: ...

@final
class AdjacentBatch:
    __match_args__: Final = ("last_offset", "crc", "first_timestamp", "last_timestamp")
    last_offset: Final[int]
    crc: Final[int]
    first_timestamp: Final[int]
    last_timestamp: Final[int]

def adjacent_batches(
    source: Partition, ranges: Sequence[tuple[int, int]]
) -> list[tuple[AdjacentBatch | None, AdjacentBatch | None]]: ...
def judged_offsets(source: Partition) -> tuple[int | None, int | None, list[MissingRange], int] | None: ...
def summarize_partition(source: Partition, log_format: str, progress: Callable[[int], object] | None) -> Summaries: ...

@final
class WrittenLog:
    __match_args__: Final = ("segments", "batches", "bytes", "log_start_offset", "log_end_offset")
    segments: Final[int]
    batches: Final[int]
    bytes: Final[int]
    log_start_offset: Final[int]
    log_end_offset: Final[int]

@final
class StopFlag:
    def __new__(cls) -> StopFlag: ...
    def set(self) -> None: ...
    def obey(self) -> None: ...

def remove_abandoned(target: StrPath) -> None: ...

@final
class StagedFolder:
    def __new__(cls, target: str) -> Self: ...
    @property
    def folder(self) -> str | None: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...

@final
class PartitionFindings:
    __match_args__: Final = ("missing", "more_missing", "compacted_to", "warnings")
    missing: Final[tuple[MissingRange, ...]]
    more_missing: Final[int]
    compacted_to: Final[int | None]
    warnings: Final[list[str]]

@final
class RewrittenPartition:
    __match_args__: Final = ("folder", "findings")
    folder: Final[NewLog]
    findings: Final[PartitionFindings]

@final
class NewLog:
    @property
    def folder(self) -> Path | None: ...
    @property
    def gaps(self) -> list[tuple[int, int]]: ...
    def write(self, name: str, content: bytes) -> None: ...
    def publish(self) -> WrittenLog | None: ...
    def discard(self) -> None: ...

@final
class RepairedPartition:
    __match_args__: Final = (
        "folder",
        "repairs",
        "more_repairs",
        "fixed_batches",
        "restored_batches",
        "repeated_batches",
        "corrupt_ranges",
        "corrupt_bytes",
        "zero_tail_bytes",
        "first_open_offset",
        "findings",
    )
    folder: Final[NewLog]
    repairs: Final[tuple[Repair, ...]]
    more_repairs: Final[int]
    fixed_batches: Final[int]
    restored_batches: Final[int]
    repeated_batches: Final[int]
    corrupt_ranges: Final[int]
    corrupt_bytes: Final[int]
    zero_tail_bytes: Final[int]
    first_open_offset: Final[int | None]
    findings: Final[PartitionFindings]

def recompress_partition(
    job: PartitionJob, compression_type: int, level: int | None, merge_bytes: int | None, threads: int
) -> RewrittenPartition: ...
def convert_partition(job: PartitionJob, to_magic: int, upgrade: bool, batch_bytes: int) -> RewrittenPartition: ...
def repair_partition(job: PartitionJob, quarantine: str | None) -> RepairedPartition: ...
def analyze_and_validate_records(
    records: Buffer,
    origin: int,
    require_offsets_monotonic: bool,
    leader_epoch: int,
    max_message_size: int | None,
    max_output_size: int,
) -> LogAppendInfo: ...
def profile_append(broker: str, topic: TopicSettings, records: Buffer) -> bytes: ...
def profile_names() -> list[str]: ...
def profile_name(version: str) -> str | None: ...

@disjoint_base
class Compressor:
    """The base class of the compressors."""

    CONTINUE: Final = 0
    FLUSH_BLOCK: Final = 1
    FLUSH_FRAME: Final = 2
    def __new__(
        cls, compression_type: int, level: int | None, magic: int, lz4_options: FrameOptions | None = None
    ) -> Self: ...
    @property
    def last_mode(self) -> int: ...
    def compress(self, data: Buffer, mode: int = 0) -> bytes: ...
    def flush(self, mode: int = 2) -> bytes: ...

@disjoint_base
class Decompressor:
    """The base class of the decompressors."""

    def __new__(
        cls, compression_type: int, checksum: str, magic: int | None, max_output_size: int | None, frames: bool
    ) -> Self: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: Buffer, max_length: int = -1) -> bytes: ...
    def finish(self) -> None: ...

@final
class Validator:
    def __new__(cls, config: ValidatorConfig) -> Self: ...
    def validate(self, records: Buffer, offset: int, now: int) -> ValidationResult: ...

def write_message_set_of(messages: Iterable[Buffer | Message], compression_type: int, level: int | None) -> bytes: ...
def partition_format(job: PartitionJob) -> Literal["0.7", "0.8+"] | None: ...
def migrate_partition(
    job: PartitionJob,
    to_magic: int,
    first_offset: int,
    batch_bytes: int,
    mapped: Callable[[list[MappedPosition]], object] | None,
) -> RewrittenPartition: ...
def migrate_set(
    data: Buffer, to_magic: int, initial_offset: int, first_offset: int, batch_bytes: int, max_output_size: int
) -> Converted: ...
def valid_bytes(data: Buffer) -> int: ...
def build_batches(rows: ArrowRows, settings: BatchSettings) -> bytes: ...
def write_log(
    rows: ArrowRows, target: str, settings: BatchSettings, segment_bytes: int, topic_id: str | None
) -> tuple[NewLog, int]: ...

@final
class StagedFile:
    __match_args__: Final = ("topic", "partition", "path", "bytes", "batches", "records")
    topic: Final[str]
    partition: Final[int]
    path: Final[Path]
    bytes: Final[int]
    batches: Final[int]
    records: Final[int]

@final
class StagedBatches:
    """Writes rows as batches to files, one for each topic and partition."""

    def __new__(
        cls,
        settings: BatchSettings,
        prefix: Path,
        topic: str | None,
        partitions: int | None,
        known: dict[str, int],
        start: int,
    ) -> Self: ...
    def push(self, rows: ArrowRows) -> None: ...
    def finish(self) -> list[StagedFile]: ...

def assemble_log(
    staged: list[Path], target: Path, existing: Path | None, segment_bytes: int, topic_id: str | None
) -> WrittenLog: ...
def convert(
    data: Buffer, to_magic: int, first_offset: int, upgrade: bool, batch_bytes: int, max_output_size: int
) -> bytes: ...
def estimate_batch_size_upper_bound(
    magic: int, compression_type: int, value: Buffer | None, key: Buffer | None, headers: Headers | None
) -> int: ...

@disjoint_base
class RecordBatchBuilder:
    def __new__(cls, settings: BatchSettings) -> Self: ...
    def append(
        self,
        value: Buffer | None,
        *,
        key: Buffer | None = None,
        timestamp: int = -1,
        headers: Headers | None = None,
        offset: int | None = None,
    ) -> None:
        """Append a record at the next offset, or at ``offset``; ``timestamp`` is in milliseconds, -1 without one.

        Raises ``ValueError`` for an offset that does not increase or is more than 2^31 - 1 above the base offset, for
        a negative timestamp other than -1, for headers before magic 2, for a control batch, and after the batch was
        built; ``TypeError`` if the value or key is not bytes-like; ``RecordTooLargeError`` if the record or the batch
        would be larger than 2^31 - 1 bytes. The builder does not change in these cases.
        """

    def append_control_record(
        self, control_type: int, value: Buffer, *, timestamp: int = -1, offset: int | None = None
    ) -> None:
        """Append a control record of this type (0 abort, 1 commit, 2 leader change, ...) to a control batch."""

    def append_end_txn_marker(
        self, is_commit: bool, *, coordinator_epoch: int = 0, timestamp: int = -1, offset: int | None = None
    ) -> None:
        """Append the marker that ends the producer's transaction; the batch must be a transactional control batch."""

    def append_arrow(self, rows: ArrowRows) -> int:
        """Append rows of Arrow columns, as for ``build_batches``, until the batch is full; return their number."""

    def build(self) -> bytes:
        """Build the batch; without records the result is empty. No records can be appended afterwards.

        Raises ``ValueError`` for a transactional batch without a producer id, for a producer id without an epoch or
        sequence or before magic 2, and after ``abort``. Further calls return the same bytes.
        """

    def abort(self) -> None:
        """Discard the records."""

    def override_last_offset(self, last_offset: int) -> None:
        """Set the batch's last offset, as in a batch whose last records were removed by compaction."""

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Set the producer state, which may be unknown at first; raises ``ValueError`` after the batch was built."""

    def reopen_and_rewrite_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Set the producer state of a batch that was built, as a producer does before it resends the batch."""

    def has_room_for(
        self, value: Buffer | None, *, key: Buffer | None = None, timestamp: int = -1, headers: Headers | None = None
    ) -> bool:
        """Whether the batch would stay within ``write_limit`` with this record at its uncompressed size."""

    def has_room_for_bytes(self, size: int) -> bool:
        """Whether the batch would stay within ``write_limit`` with this many more bytes."""

    def set_estimated_compression_ratio(self, ratio: float) -> None:
        """Set the ratio for size estimates, at first 1; raises ``ValueError`` if it is not finite or negative."""

    @property
    def magic(self) -> int:
        """The message format."""

    @property
    def compression_type(self) -> CompressionType:
        """The compression type."""

    @property
    def base_offset(self) -> int:
        """The offset of the first record."""

    @property
    def next_offset(self) -> int:
        """The offset that follows the last record."""

    @property
    def producer_id(self) -> int:
        """The producer id; -1 without one."""

    @property
    def producer_epoch(self) -> int:
        """The producer epoch; -1 without one."""

    @property
    def base_sequence(self) -> int:
        """The sequence number of the first record; -1 without one."""

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""

    @property
    def is_control_batch(self) -> bool:
        """Whether the batch is a control batch, which contains only control records."""

    @property
    def records_count(self) -> int:
        """The number of records appended so far."""

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp so far in milliseconds; -1 in magic 0."""

    @property
    def shallow_offset_of_max_timestamp(self) -> int:
        """The offset of the largest timestamp, or the last one if all records form one batch; -1 without timestamps."""

    @property
    def compression_ratio(self) -> float:
        """Compressed divided by uncompressed bytes, without the header; 1.0 before the batch is built."""

    @property
    def estimated_size_in_bytes(self) -> int:
        """The size of the batch: exact if it is built or not compressed, otherwise estimated by the ratio, plus 5%."""

    @property
    def uncompressed_bytes_written(self) -> int:
        """The size of the header and of the records before compression, in bytes."""

    @property
    def max_allowed_bytes(self) -> int:
        """The most bytes that records may take within ``write_limit``."""

    @property
    def is_full(self) -> bool:
        """Whether ``write_limit`` is reached, or the batch was built or aborted."""

    @property
    def is_closed(self) -> bool:
        """Whether the batch is built."""

@final
class MessageChunk:
    __match_args__: Final = ("position", "data")
    position: Final[int]
    data: Final[bytes]

@final
class MessageChunks:
    def __new__(cls, source: Segment) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> MessageChunk: ...

@final
class MessageReader(Iterator[MessageAndOffset]):
    """An iterator over the messages of a set of Kafka 0.7: see :func:`kafkacomp.message_set.read_messages`."""

    def __new__(cls, data: Buffer, initial_offset: int, deep: bool, max_output_size: int) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> MessageAndOffset: ...

@final
class Message:
    """A message of Kafka 0.7: a read-only view of the set that it was read from."""

    def __bytes__(self) -> bytes:
        """The message as stored, from the magic on, without its size."""

    @property
    def magic(self) -> int:
        """0, the format without compression, or 1."""

    @property
    def attributes(self) -> int | None:
        """The attributes byte as stored, 0 to 255; None in magic 0, which has none."""

    @property
    def compression_type(self) -> CompressionType:
        """NONE, GZIP or SNAPPY; raises ``MessageSetError`` (unknown_codec) for codec 3."""

    @property
    def crc(self) -> int:
        """The checksum as stored: CRC-32 of the payload only."""

    @property
    def is_valid(self) -> bool:
        """Whether the stored checksum is correct."""

    @property
    def size_in_bytes(self) -> int:
        """The message's size with its header, without the four bytes of the size field."""

    @property
    def payload(self) -> bytes:
        """The payload that the producer sent; for a compressed message, the compressed set."""

@final
class BatchReader:
    """An iterator over the batches of a buffer: see :func:`kafkacomp.record.read_batches`."""

    def __new__(cls, data: Buffer, max_output_size: int, verify_crc: bool, origin: int = 0) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> RecordBatch: ...
    @property
    def position(self) -> int:
        """The byte at which the next batch begins; at the end, the byte at which reading stopped."""

    @property
    def partial_bytes(self) -> int:
        """The number of bytes of a truncated batch at the end; 0 before the end, and without such a batch."""

    @property
    def zero_bytes(self) -> int:
        """The number of zero bytes after the last batch, as in a preallocated file; 0 before the end."""

@final
class BatchStream:
    """An iterator over the batches of a file, read chunk by chunk: see :func:`kafkacomp.record.open_batches`."""

    def __new__(
        cls, source: Segment, max_output_size: int, *, verify_crc: bool, may_be_truncated: bool, position: int = 0
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> RecordBatch: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def close(self) -> None:
        """Close the file, which ends the iteration."""

    @property
    def position(self) -> int:
        """The byte at which the next batch begins; at the end, the byte at which reading stopped."""

    @property
    def partial_bytes(self) -> int:
        """The number of bytes of a truncated batch at the end; 0 before the end, and without such a batch."""

@final
class RecordBatch:
    """A batch of magic 2, or a message of magic 0 or 1 (a wrapper if it is compressed).

    A read-only view of the buffer that it was read from. Iterating over it decompresses it and returns its records. An
    invalid record raises an error where Kafka's own iterator throws, after the records before it:
    ``InvalidRecordError`` (87), ``CorruptRecordError`` (2; with the codec's ``DecompressionError`` as its cause),
    ``OutputLimitError``, ``UnknownServerError`` (-1).
    """

    def __iter__(self) -> RecordIterator: ...
    def __bytes__(self) -> bytes: ...
    def columns(self) -> RecordColumns:
        """Decompress the batch and return offsets, timestamps, keys and values of all records as lists.

        For records of up to a few hundred bytes this is two to four times as fast as iterating; for larger records,
        both spend most of their time on decompression and copying: see ``to_arrow``. For many batches, use
        ``kafkacomp.scan``. Raises the same errors as iterating.
        """

    def to_arrow(self) -> pa.RecordBatch:
        """Decompress the batch and return all records as a ``pyarrow.RecordBatch``.

        Its columns are offset (int64), timestamp (milliseconds, UTC; null if a record has none), key and value
        (``binary_view``). Keys and values are not copied out of the decompressed bytes, so this is at least twice as
        fast as iterating, also for large records. Raises the same errors as iterating, and an error that names the
        extra if pyarrow is not installed.
        """

    def ensure_valid(self) -> None:
        """Raise ``CorruptRecordError`` if the checksum is wrong."""

    @property
    def is_valid(self) -> bool:
        """Whether the checksum is correct: CRC-32C from the attributes (magic 2), CRC-32 from the magic (0, 1)."""

    @property
    def magic(self) -> int:
        """The message format: 0, 1 or 2."""

    @property
    def position(self) -> int:
        """The byte of the buffer at which the batch begins."""

    @property
    def size_in_bytes(self) -> int:
        """The size of the batch, including the offset and size fields."""

    @property
    def stored_records(self) -> bytes:
        """The records as stored: compressed if the batch is compressed.

        In magic 2 they follow the header. In magic 0 and 1 they are the value of a wrapper; an uncompressed message is
        a record itself.
        """

    @property
    def base_offset(self) -> int:
        """The first offset. A wrapper of magic 0 or 1 is decompressed to determine the offset of its first message."""

    @property
    def last_offset(self) -> int:
        """The last offset according to the header, which compaction does not change."""

    @property
    def crc(self) -> int:
        """The checksum as stored."""

    @property
    def attributes(self) -> int:
        """The attributes as stored: 16 bits in magic 2, 8 bits in magic 0 and 1."""

    @property
    def compression_type(self) -> CompressionType:
        """The compression type; raises ``UnknownServerError`` for an id that Kafka does not know."""

    @property
    def timestamp_type(self) -> TimestampType:
        """The timestamp type; NO_TIMESTAMP_TYPE for magic 0."""

    @property
    def base_timestamp(self) -> int:
        """The base of the timestamps, ms, or the delete horizon. Magic 1: the message's timestamp; magic 0: -1."""

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp according to the header in milliseconds; -1 without one."""

    @property
    def records_count(self) -> int | None:
        """The number of records that the header declares; None in magic 0 and 1, whose headers do not have it."""

    @property
    def partition_leader_epoch(self) -> int:
        """The leader epoch of the partition; -1 without one."""

    @property
    def producer_id(self) -> int:
        """The producer id; -1 without one."""

    @property
    def producer_epoch(self) -> int:
        """The producer epoch; -1 without one."""

    @property
    def base_sequence(self) -> int:
        """The sequence number of the first record; -1 without one."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; -1 without one."""

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction (KIP-98)."""

    @property
    def is_control_batch(self) -> bool:
        """Whether its records are control records, which consumers do not see."""

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may remove tombstones and markers, ms (KIP-534); None without one."""

@final
class RecordIterator(Iterator[Record]):
    """An iterator over the records of a batch."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Record: ...
    def __length_hint__(self) -> int: ...

@final
class Record:
    """One record. Records are compared by their fields, and can be hashed and pickled.

    A record of a batch refers to the batch's bytes; each field is decoded on access.
    """

    def __new__(
        cls,
        value: Buffer | None,
        *,
        key: Buffer | None = None,
        offset: int = 0,
        timestamp: int = -1,
        timestamp_type: int = 0,
        sequence: int = -1,
        headers: Headers | None = None,
        is_valid: bool | None = None,
    ) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[bytes | None], dict[str, Any]]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def offset(self) -> int:
        """The absolute offset."""

    @property
    def timestamp(self) -> int:
        """Milliseconds since the epoch; -1, ``kafkacomp.record.NO_TIMESTAMP``, if the record has none."""

    @property
    def timestamp_type(self) -> TimestampType:
        """The timestamp type."""

    @property
    def sequence(self) -> int:
        """The sequence number; -1 without a producer id."""

    @property
    def key(self) -> bytes | None:
        """The key; None for null."""

    @property
    def value(self) -> bytes | None:
        """The value; None for null."""

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """The key and value of each header, in order; invalid UTF-8 in a key becomes U+FFFD, as in Java."""

    @property
    def is_valid(self) -> bool | None:
        """Whether the message's checksum is correct (magic 0 and 1); None in magic 2, where only batches have one."""

@final
class ArrowArray:
    """An Arrow array that ``pyarrow.array``, ``polars.Series`` and similar functions import without a copy."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_array__(self, requested_schema: CapsuleType | None = None) -> tuple[CapsuleType, CapsuleType]: ...

def decompress_cells(
    data: ArrowColumn,
    compression_type: int | ArrowColumn,
    magic: int | ArrowColumn,
    bad_is_null: bool,
    max_output_size: int,
) -> ArrowArray: ...
def compress_cells(
    data: ArrowColumn,
    compression_type: int | ArrowColumn,
    level: int | ArrowColumn | None,
    magic: int | ArrowColumn,
    bad_is_null: bool,
) -> ArrowArray: ...
def json_lines(rows: ArrowRows) -> bytes: ...
def parse_cells(data: ArrowColumn, fields: RecordFields, bad_is_null: bool, max_output_size: int) -> ArrowArray: ...

@disjoint_base
class ScanReader:
    """The base of :class:`kafkacomp.arrow.ScanReader`, without what needs pyarrow."""

    def __new__(
        cls,
        sources: list[BoundedPartition],
        settings: ScanSettings,
        total_bytes: int,
        progress: Callable[[int, int], object] | None,
        warn_of_losses: Callable[[ScanReport], object],
        query: dict[str, Any] | None = None,
    ) -> Self: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> pa.RecordBatch:
        """Return the next batch; raises the errors of the scan."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...
    def close(self) -> None:
        """Stop the scan and free its memory and files."""

    @property
    def closed(self) -> bool:
        """Whether the scan was exported as a stream, read to its end or closed."""

    @property
    def error(self) -> KafkaCompError | OSError | None:
        """The exception that ended the scan, of which an Arrow stream passes on only the text; None without one."""

    @property
    def num_rows(self) -> int | None:
        """The number of rows, once all were read, also by a consumer of the stream; None before."""

    @property
    def report(self) -> ScanReport:
        """The counts and findings of the scan so far."""

@final
class ChunkDecoder:
    """Decodes the chunks of a segment in tiered storage; ValueError if the key does not decrypt the data key."""

    def __new__(cls, key: DataKey | None) -> ChunkDecoder: ...
    def decode(self, data: Buffer, size: int, compressed: bool) -> bytes:
        """Return the content of a chunk; raises ValueError or DecompressionError if it is not ``size`` bytes long."""
