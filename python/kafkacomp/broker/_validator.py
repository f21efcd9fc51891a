"""The checks of a current broker on append; the public names are in :mod:`kafkacomp.broker`."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import check_to_magic, checked_max_output_size, compression_type_of, integer, level_of
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType, TimestampType

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkacomp._types import CompressionTypeLike

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1
#: Kafka's default of ``max.message.bytes``: 1 MiB and the overhead of a batch's offset and size.
MAX_MESSAGE_BYTES = (1 << 20) + 12
#: Kafka's default of ``max.decompressed.message.bytes``, and the most that it may be.
MAX_DECOMPRESSED_MESSAGE_BYTES = 2**31 - 9


class AppendOrigin(enum.IntEnum):
    """Who appends records to a log (``AppendOrigin``).

    Attributes:
        REPLICATION: A follower, which copies the leader's log.
        COORDINATOR: The group or transaction coordinator.
        CLIENT: A producer.
        RAFT_LEADER: The leader of the metadata quorum.

    Example:
        >>> from kafkacomp import broker
        >>> broker.AppendOrigin.CLIENT
        <AppendOrigin.CLIENT: 2>
    """

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2
    RAFT_LEADER = 3


class BrokerCompressionType(enum.Enum):
    """``compression.type`` of a broker or topic (KIP-110).

    ``UNCOMPRESSED`` is what a producer calls ``none``; ``PRODUCER`` keeps the compression type of the producer.

    Example:
        >>> from kafkacomp import broker
        >>> broker.BrokerCompressionType.for_name("UNCOMPRESSED").name
        'UNCOMPRESSED'
    """

    UNCOMPRESSED = "uncompressed"
    ZSTD = "zstd"
    LZ4 = "lz4"
    SNAPPY = "snappy"
    GZIP = "gzip"
    PRODUCER = "producer"

    @classmethod
    def for_name(cls, name: str) -> BrokerCompressionType:
        """Find the compression type with this name, in any case.

        Raises:
            ValueError: the name is unknown; ``none`` exists only for producers.
        """
        try:
            return cls(name.lower())
        except ValueError:
            known = ", ".join(member.value for member in cls)
            raise ValueError(f"unknown broker compression type {name!r}: expected one of {known}") from None


def target_compression_type(
    config: str | BrokerCompressionType | None,
    source: CompressionTypeLike,
    *,
    broker: str | BrokerCompressionType = BrokerCompressionType.PRODUCER,
) -> CompressionType:
    """Return the compression type in which a broker stores batches of a producer.

    Args:
        config: The topic's ``compression.type``; ``None`` if the topic does not set it.
        source: The producer's compression type.
        broker: The broker's ``compression.type``, which is used if the topic does not set it.

    Raises:
        ValueError: an unknown name. Names are in lower case, and ``none`` exists only for producers.

    Example:
        >>> from kafkacomp import broker
        >>> [str(broker.target_compression_type(config, "gzip")) for config in ("producer", "uncompressed", "lz4")]
        ['gzip', 'none', 'lz4']
    """
    chosen = broker if config is None else config
    kind = compression_type_of_config(chosen)
    source = compression_type_of(source)
    if kind is BrokerCompressionType.PRODUCER:
        return source
    return CompressionType.NONE if kind is BrokerCompressionType.UNCOMPRESSED else CompressionType.for_name(kind.value)


def compression_type_of_config(value: str | BrokerCompressionType) -> BrokerCompressionType:
    """Find the type with the value of a configuration; ValueError for others, such as ``none``."""
    try:
        return BrokerCompressionType(value)
    except ValueError:
        known = ", ".join(member.value for member in BrokerCompressionType)
        raise ValueError(f"compression.type must be one of {known}, not {value!r}") from None


def _target(kind: CompressionType | BrokerCompressionType | str) -> CompressionType | BrokerCompressionType:
    """A codec, or PRODUCER, whose codec is the source's."""
    if isinstance(kind, BrokerCompressionType):
        kind = kind.value
    if kind == BrokerCompressionType.PRODUCER.value:
        return BrokerCompressionType.PRODUCER
    if kind == BrokerCompressionType.UNCOMPRESSED.value:
        return CompressionType.NONE
    return compression_type_of(kind)


@dataclass(frozen=True, kw_only=True)
class ValidatorConfig:
    """The settings of a topic and its broker that validation depends on.

    Attributes:
        source_compression_type: The compression type of the records that were sent, or its name:
            ``LogAppendInfo.source_compression``.
        target_compression_type: The compression type to store, or its name; or a topic's ``compression.type``, where
            ``producer`` keeps the source's.
        compression_level: The level for recompressing; ``None`` for Kafka's default.
        compacted: Whether the topic is compacted, so that every record needs a key.
        to_magic: The topic's message format, 0 to 2.
        timestamp_type: ``message.timestamp.type``: CREATE_TIME or LOG_APPEND_TIME.
        timestamp_before_max_ms: ``message.timestamp.before.max.ms``.
        timestamp_after_max_ms: ``message.timestamp.after.max.ms``.
        partition_leader_epoch: The epoch that batches of magic 2 get.
        origin: Who appends the records.
        inter_broker_protocol_version: ``inter.broker.protocol.version`` of the broker, such as "2.0"; below 2.1 zstd is
            refused. ``None`` is the newest.
        max_decompressed_message_bytes: ``max.decompressed.message.bytes`` of Kafka 4.4: the most bytes that a record of
            a compressed batch may have; a larger one is an :class:`kafkacomp.InvalidRecordError`. The default is
            Kafka's, no limit.
        max_output_size: The most bytes that one batch may decompress to.

    Raises:
        ValueError: a value is not valid in Kafka's configuration, or the codec does not have the level.

    Example:
        >>> from kafkacomp import broker
        >>> config = broker.ValidatorConfig(
        ...     source_compression_type="gzip", target_compression_type="producer", compacted=True
        ... )
        >>> config.to_magic, config.origin.name
        (2, 'CLIENT')
    """

    source_compression_type: CompressionTypeLike
    target_compression_type: CompressionType | BrokerCompressionType | str
    compression_level: int | None = None
    compacted: bool = False
    to_magic: int = 2
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = MAX_LONG
    timestamp_after_max_ms: int = MAX_LONG
    partition_leader_epoch: int = 0
    origin: AppendOrigin = AppendOrigin.CLIENT
    inter_broker_protocol_version: str | None = None
    max_decompressed_message_bytes: int = MAX_DECOMPRESSED_MESSAGE_BYTES
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE

    def __post_init__(self) -> None:
        """Convert names to enum members, and check the ranges of numbers."""
        put = object.__setattr__
        put(self, "source_compression_type", compression_type_of(self.source_compression_type))
        put(self, "target_compression_type", _target(self.target_compression_type))
        put(self, "origin", AppendOrigin(self.origin))
        put(self, "timestamp_type", TimestampType(self.timestamp_type))
        if self.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
            raise ValueError("timestamp_type must be CREATE_TIME or LOG_APPEND_TIME")
        check_to_magic(self.to_magic)
        integer("timestamp_before_max_ms", self.timestamp_before_max_ms, (0, MAX_LONG))
        integer("timestamp_after_max_ms", self.timestamp_after_max_ms, (0, MAX_LONG))
        integer("partition_leader_epoch", self.partition_leader_epoch, (-MAX_INT - 1, MAX_INT))
        level_of(self.compression_level, (-MAX_INT - 1, MAX_INT))
        integer(
            "max_decompressed_message_bytes", self.max_decompressed_message_bytes, (1, MAX_DECOMPRESSED_MESSAGE_BYTES)
        )
        checked_max_output_size(self.max_output_size)
        _kafkacomp.Validator(self)  # which knows the codecs' levels and the versions


class RecordValidationStats(NamedTuple):
    """Counts of a validation (``RecordValidationStats``).

    Attributes:
        temporary_memory_bytes: The bytes of uncompressed records that were read or written, as Kafka counts them.
        num_records_converted: The number of records that were rebuilt, for any reason.
    """

    temporary_memory_bytes: int
    num_records_converted: int


@dataclass(frozen=True)
class ValidationResult:
    """The result of validating a record set that the broker accepts.

    Attributes:
        validated_records: The record set that a broker would store.
        max_timestamp_ms: The greatest timestamp, in milliseconds; -1 without one.
        log_append_time_ms: The time of the append, in milliseconds.
        next_offset: The offset after the last record.
        message_size_maybe_changed: Whether the records were rebuilt; otherwise only header bytes differ from the input.
        record_validation_stats: The bytes that were decompressed, and the number of records that were rebuilt.
    """

    validated_records: bytes
    max_timestamp_ms: int
    log_append_time_ms: int
    next_offset: int
    message_size_maybe_changed: bool
    record_validation_stats: RecordValidationStats


class LogValidator:
    """Check record sets and assign their offsets, as a broker does (``LogValidator``).

    May be used from several threads, one at a time. If records need not be rebuilt, their keys and values are not read.

    Example:
        >>> from kafkacomp import broker, record
        >>> import pyarrow as pa
        >>> sent = record.build_batches(pa.table({"value": ["a"]}), compression_type="gzip")
        >>> config = broker.ValidatorConfig(source_compression_type="gzip", target_compression_type="zstd")
        >>> result = broker.LogValidator(config).validate_messages_and_assign_offsets(sent, 40)
        >>> (batch,) = record.read_batches(result.validated_records)
        >>> batch.base_offset, str(batch.compression_type)
        (40, 'zstd')
    """

    def __init__(self, config: ValidatorConfig) -> None:
        """Create a validator for a topic with these settings.

        Raises:
            TypeError: ``config`` is not a :class:`ValidatorConfig`.
        """
        if not isinstance(config, ValidatorConfig):
            raise TypeError(f"config must be a ValidatorConfig, not {type(config).__name__}")
        self._config = config
        self._validator = _kafkacomp.Validator(config)

    @property
    def config(self) -> ValidatorConfig:
        """The settings of the topic and its broker."""
        return self._config

    def validate_messages_and_assign_offsets(
        self, records: Buffer, offset: int = 0, now: int | None = None
    ) -> ValidationResult:
        """Check a record set, and assign offsets to its records from ``offset`` on.

        Checksums of batches are not verified here: a broker calls :func:`analyze_and_validate_records` first, which
        verifies them.

        Args:
            records: A produce request's record set, bytes-like. It is not changed.
            offset: The first record's offset.
            now: The time of the append, in milliseconds since the epoch; default: the current time.

        Raises:
            InvalidRecordError: the batches break a rule, or records do (``record_errors``).
            InvalidTimestampError: records have timestamps that the topic does not allow (``record_errors``).
            UnsupportedForMessageFormatError: transactions or producer ids for a topic of format 0 or 1.
            UnsupportedCompressionTypeError: zstd on brokers below 2.1.
            CorruptRecordError: a wrong size, magic or inner checksum, or records that do not decompress.
            UnknownServerError: an error for which Kafka has no code, such as headers for a topic of format 0 or 1.
            OutputLimitError: a batch decompresses to more than ``max_output_size``.
            ValueError: ``offset`` or ``now`` does not fit into 64 bits.
        """
        now = time.time_ns() // 1_000_000 if now is None else now
        integer("offset", offset, (-MAX_LONG - 1, MAX_LONG))
        integer("now", now, (-MAX_LONG - 1, MAX_LONG))
        return self._validator.validate(records, offset, now)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by configuration."""
        return type(self), (self._config,)


@dataclass(frozen=True)
class LogAppendInfo:
    """What the headers of a record set declare: the result of :func:`analyze_and_validate_records` (``LogAppendInfo``).

    Attributes:
        first_offset: The first batch's base offset; -1 if its header does not have it (magic 0 and 1), and without
            batches.
        last_offset: The last batch's last offset; -1 without batches.
        last_offset_of_first_batch: The first batch's last offset; -1 without batches.
        last_leader_epoch: The last batch's leader epoch; ``None`` if it has none.
        max_timestamp: The greatest ``max_timestamp`` of a batch, in milliseconds; -1 without timestamps.
        source_compression: The last compressed batch's codec; NONE without compressed batches.
        valid_bytes: The bytes of the complete batches, which the broker appends.
    """

    first_offset: int
    last_offset: int
    last_offset_of_first_batch: int
    last_leader_epoch: int | None
    max_timestamp: int
    source_compression: CompressionType
    valid_bytes: int

    @property
    def first_or_last_offset_of_first_batch(self) -> int:
        """The first offset, or the first batch's last offset if the first is unknown."""
        return self.first_offset if self.first_offset >= 0 else self.last_offset_of_first_batch


def analyze_and_validate_records(
    records: Buffer,
    *,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    ignore_record_size: bool = False,
    require_offsets_monotonic: bool = True,
    leader_epoch: int = 0,
    max_message_size: int = MAX_MESSAGE_BYTES,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> LogAppendInfo:
    """Check a record set as a broker does first (``UnifiedLog.analyzeAndValidateRecords``).

    Nothing is decompressed unless offsets are out of order: as in Kafka, the error then lists all offsets, and a batch
    that does not decompress is an error of its own.

    Args:
        records: The record set, bytes-like. A truncated batch at its end is left out without an error.
        origin: Who appends the records.
        ignore_record_size: Whether batches may be larger than ``max_message_size``.
        require_offsets_monotonic: Whether the last offset of each batch must be above that of the batch before it. A
            leader, which assigns offsets, does not require it.
        leader_epoch: The leader epoch of the replica that appends.
        max_message_size: ``max.message.bytes``.
        max_output_size: The most bytes that one batch may decompress to.

    Raises:
        CorruptRecordError: a wrong size, magic or checksum.
        InvalidRecordError: a client's batch of magic 2 does not begin at offset 0, or a quorum leader's batch is of
            another epoch.
        RecordTooLargeError: a batch is larger than ``max_message_size``.
        OffsetsOutOfOrderError: offsets do not increase.
        UnknownServerError: an unknown compression type.
        ValueError: an argument is out of range.

    Example:
        >>> from kafkacomp import broker, record
        >>> import pyarrow as pa
        >>> sent = record.build_batches(pa.table({"value": ["a"]}), compression_type="gzip")
        >>> info = broker.analyze_and_validate_records(sent)
        >>> info.first_offset, info.last_offset, str(info.source_compression)
        (0, 0, 'gzip')
    """
    integer("leader_epoch", leader_epoch, (-MAX_INT - 1, MAX_INT))
    integer("max_message_size", max_message_size, (0, MAX_INT))
    return _kafkacomp.analyze_and_validate_records(
        records,
        AppendOrigin(origin),
        require_offsets_monotonic,
        leader_epoch,
        None if ignore_record_size else max_message_size,
        checked_max_output_size(max_output_size),
    )


def trim_invalid_bytes(records: Buffer, info: LogAppendInfo) -> bytes:
    """Drop bytes that are not appended: a truncated batch at the end, and batches above the replica's leader epoch.

    Example:
        >>> from kafkacomp import broker, record
        >>> import pyarrow as pa
        >>> sent = record.build_batches(pa.table({"value": ["a"]}), compression_type="gzip")
        >>> info = broker.analyze_and_validate_records(sent + sent[:20])
        >>> broker.trim_invalid_bytes(sent + sent[:20], info) == sent
        True
    """
    if not isinstance(info, LogAppendInfo):
        raise TypeError(f"info must be a LogAppendInfo, not {type(info).__name__}")
    with memoryview(records) as view:
        return bytes(view.cast("B")[: info.valid_bytes])
