"""Brokers of each era, which store or refuse a record set; the public names are in :mod:`kafkacomp.broker`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_max_output_size, integer
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import TimestampType
from kafkacomp.broker._validator import (
    MAX_DECOMPRESSED_MESSAGE_BYTES,
    MAX_INT,
    MAX_LONG,
    MAX_MESSAGE_BYTES,
    BrokerCompressionType,
    compression_type_of_config,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MESSAGE_FORMAT = re.compile(r"(\d+)\.(\d+)(\.\d+)*(-IV\d+)?")
_FIRST_WITH_MAGIC_1 = (0, 10)
_FIRST_WITH_MAGIC_2 = (0, 11)


class TopicSettings(NamedTuple):
    """The arguments of :meth:`BrokerProfile.append`, checked."""

    compression_type: str
    compacted: bool
    message_format: int | None
    timestamp_type: TimestampType
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    max_message_size: int
    max_decompressed_message_bytes: int
    offset: int
    now: int
    partition_leader_epoch: int
    produce_version: int | None
    max_output_size: int


class BrokerProfile:
    """A broker of a given version: the bytes that it stores for a record set, or the error with which it refuses it.

    The answers of 0.8.2.2, 0.9.0.1, 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.1.1, 2.8.2 and 3.9.1 were observed on brokers of
    these versions; those of 4.3 and 4.4 were taken from the ``LogValidator`` of 4.3.1 and 4.4.0. Checks that need more
    than the record set are not made: of transactional ids, of a producer's sequence numbers, and of a null record set.

    Example:
        >>> from kafkacomp import broker, record
        >>> import pyarrow as pa
        >>> sent = record.build_batches(pa.table({"value": ["a"]}), compression_type="gzip")
        >>> stored = broker.BrokerProfile("2.8").append(sent, compression_type="lz4", offset=40)
        >>> [(batch.base_offset, str(batch.compression_type)) for batch in record.read_batches(stored)]
        [(40, 'lz4')]
    """

    #: The versions that have a profile, from the oldest to the newest.
    NAMES: Final = tuple(_kafkacomp.profile_names())

    def __init__(self, version: str) -> None:
        """Choose the profile of a version in :attr:`NAMES`, with or without a patch version ("2.8.2"); "4.x" is 4.4.

        Raises:
            ValueError: the version has no profile.
            TypeError: the version is not a string.
        """
        given: object = version
        if not isinstance(given, str):
            raise TypeError(f"version must be a str such as '2.8', not {type(given).__name__}")
        name = _kafkacomp.profile_name(version)
        if name is None:
            raise ValueError(f"no profile of broker version {version!r}: expected one of {', '.join(self.NAMES)}, 4.x")
        self._name = name

    @property
    def name(self) -> str:
        """The version of the profile."""
        return self._name

    def append(
        self,
        records: Buffer,
        *,
        compression_type: str | BrokerCompressionType = "producer",
        compacted: bool = False,
        message_format_version: str | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        timestamp_before_max_ms: int = MAX_LONG,
        timestamp_after_max_ms: int = MAX_LONG,
        max_message_size: int = MAX_MESSAGE_BYTES,
        max_decompressed_message_bytes: int = MAX_DECOMPRESSED_MESSAGE_BYTES,
        offset: int = 0,
        now: int | None = None,
        partition_leader_epoch: int = 0,
        produce_version: int | None = None,
        max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    ) -> bytes:
        """Return the bytes that the broker stores when a producer sends ``records``; they may be empty.

        Settings that a broker of this version does not have are ignored, as by the broker.

        Args:
            records: A produce request's record set, bytes-like. It is not changed.
            compression_type: ``compression.type``; 0.8.2 does not have it.
            compacted: Whether ``cleanup.policy`` contains compact.
            message_format_version: ``message.format.version``, from 0.10.0 to 2.8; ``None`` for the broker's default.
            timestamp_type: ``message.timestamp.type``, from 0.10.0 on.
            timestamp_before_max_ms: ``message.timestamp.before.max.ms``; before 3.6
                ``message.timestamp.difference.max.ms``.
            timestamp_after_max_ms: ``message.timestamp.after.max.ms``, from 3.6 on.
            max_message_size: ``max.message.bytes``.
            max_decompressed_message_bytes: ``max.decompressed.message.bytes``, from 4.4 on: the most bytes that a
                record of a compressed batch may have, 1 to 2^31 - 9. The default is Kafka's, no limit.
            offset: The offset of the first record.
            now: The time of the append, in milliseconds since the epoch; default: the current time.
            partition_leader_epoch: The leader epoch that batches of magic 2 get.
            produce_version: The version of the produce request; ``None``: checks that depend on it are left out.
            max_output_size: The most bytes that one batch may decompress to.

        Raises:
            KafkaCompError: the broker refuses the records; ``error_code`` is the code that it answers, or ``None`` if
                it closes the connection instead.
            ValueError: an argument is not a valid setting.

        Example:
            >>> import kafkacomp as kc
            >>> batch = kc.record.RecordBatchBuilder(compression_type="zstd")
            >>> batch.append(b"value")
            >>> try:
            ...     kc.broker.BrokerProfile("2.8").append(batch.build(), produce_version=6)
            ... except kc.KafkaCompError as error:
            ...     print(error.error_code, type(error).__name__)
            76 UnsupportedCompressionTypeError
        """
        timestamp_type = TimestampType(timestamp_type)
        if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
            raise ValueError("timestamp_type must be CREATE_TIME or LOG_APPEND_TIME")
        settings = TopicSettings(
            compression_type_of_config(compression_type).value,
            compacted,
            None if message_format_version is None else _magic(message_format_version),
            timestamp_type,
            integer("timestamp_before_max_ms", timestamp_before_max_ms, (0, MAX_LONG)),
            integer("timestamp_after_max_ms", timestamp_after_max_ms, (0, MAX_LONG)),
            integer("max_message_size", max_message_size, (0, MAX_INT)),
            integer(
                "max_decompressed_message_bytes", max_decompressed_message_bytes, (1, MAX_DECOMPRESSED_MESSAGE_BYTES)
            ),
            integer("offset", offset, (0, MAX_LONG)),
            time.time_ns() // 1_000_000 if now is None else integer("now", now, (0, MAX_LONG)),
            integer("partition_leader_epoch", partition_leader_epoch, (-1, MAX_INT)),
            None if produce_version is None else integer("produce_version", produce_version, (0, 100)),
            checked_max_output_size(max_output_size),
        )
        return _kafkacomp.profile_append(self._name, settings, records)

    def __repr__(self) -> str:
        """Return the constructor's call."""
        return f"BrokerProfile({self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name."""
        return type(self), (self._name,)


def _magic(version: str) -> int:
    """The magic of a ``message.format.version``."""
    matched = _MESSAGE_FORMAT.fullmatch(version)
    if matched is None:
        raise ValueError(f"invalid message_format_version {version!r}: expected a version of Kafka such as 0.10.2")
    numbers = int(matched[1]), int(matched[2])
    return 2 if numbers >= _FIRST_WITH_MAGIC_2 else 1 if numbers >= _FIRST_WITH_MAGIC_1 else 0
