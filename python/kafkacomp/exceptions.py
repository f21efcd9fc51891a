"""All exceptions of the package; ``KafkaCompError`` is their base.

``error_code`` is Kafka's code, if Kafka has one for the error. Errors about bytes have ``position``, the byte of the
buffer or file at which the corrupt batch, message or frame begins, and, when a file is read, ``segment``, its name. All
exceptions can be pickled.

>>> import kafkacomp as kc
>>> try:
...     kc.decompress(b"not gzip", "gzip")
... except kc.DecompressionError as error:
...     print(error.error_code, type(error).__mro__[1].__name__, error.position)
None KafkaCompError 0
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "CompressionError",
    "CorruptRecordError",
    "DataLossError",
    "DecompressionError",
    "EncryptionKeyError",
    "InvalidRecordError",
    "InvalidTimestampError",
    "KafkaCompError",
    "MessageSetError",
    "OffsetsOutOfOrderError",
    "OutputLimitError",
    "RecordError",
    "RecordTooLargeError",
    "TruncatedError",
    "UnknownServerError",
    "UnsupportedCompressionTypeError",
    "UnsupportedForMessageFormatError",
]


class RecordError(NamedTuple):
    """A record that a broker refuses, and the reason.

    Attributes:
        batch_index: The index of the record in its batch, from 0.
        message: The reason, as Kafka's message.
    """

    batch_index: int
    message: str


class KafkaCompError(Exception):
    """The base of all exceptions of this package.

    Attributes:
        error_code: Kafka's error code, or ``None`` where Kafka has none (``org.apache.kafka.common.protocol.Errors``).
        position: The byte of the buffer or file at which the corrupt batch, message or frame begins, or ``None``.
        segment: The file that was read, or ``None``.
        row: The row of an Arrow column, from 0, or ``None``.

    Example:
        >>> import kafkacomp as kc
        >>> batch = kc.record.RecordBatchBuilder()
        >>> batch.append(b"value")
        >>> try:
        ...     kc.broker.BrokerProfile("2.8").append(batch.build(), max_message_size=10)
        ... except kc.KafkaCompError as error:
        ...     print(error.error_code, type(error).__name__)
        10 RecordTooLargeError
    """

    error_code: int | None = None
    position: int | None = None
    segment: str | None = None
    row: int | None = None


class CompressionError(KafkaCompError, ValueError):
    """Data that the codec cannot compress."""


class DecompressionError(KafkaCompError, ValueError):
    """Compressed data that are corrupt, or not in the format of the codec."""


class TruncatedError(DecompressionError, EOFError):
    """Compressed data that end inside a frame; also an ``EOFError``.

    Example:
        >>> import kafkacomp as kc
        >>> try:
        ...     kc.decompress(kc.compress(b"content", "gzip")[:10], "gzip")
        ... except kc.TruncatedError as error:
        ...     print(isinstance(error, EOFError))
        True
    """


class OutputLimitError(DecompressionError):
    """Data that decompress to more bytes than the limit; raise ``max_output_size`` to allow them.

    Attributes:
        limit: The limit in bytes.

    Example:
        >>> import kafkacomp as kc
        >>> try:
        ...     kc.decompress(kc.compress(bytes(1000), "zstd"), "zstd", max_output_size=100)
        ... except kc.OutputLimitError as error:
        ...     print(error.limit)
        100
    """

    limit: int | None = None


class CorruptRecordError(KafkaCompError, ValueError):
    """Kafka's CorruptRecordException: a wrong checksum, size or magic, or records that do not decompress.

    Example:
        >>> import kafkacomp as kc
        >>> batch = kc.record.RecordBatchBuilder()
        >>> batch.append(b"value")
        >>> try:
        ...     list(kc.record.read_batches(batch.build()[:-1] + b"?"))
        ... except kc.CorruptRecordError as error:
        ...     print(error.error_code, error.position)
        2 0
    """

    error_code = 2


class MessageSetError(CorruptRecordError):
    """A corrupt or too large message set of Kafka 0.7.

    Attributes:
        kind: ``invalid_message_size``, ``entry_too_small``, ``unknown_magic``, ``crc``, ``unknown_codec``,
            ``decompression`` or ``message_too_large``.
    """

    kind: str | None = None


class DataLossError(KafkaCompError):
    """A complete copy that lacks data of its source; ``allow_missing=True`` accepts it.

    Functions that make a copy raise it after they have finished: :func:`kafkacomp.log.recompress`,
    :func:`kafkacomp.log.convert`, :func:`kafkacomp.write` with the rows of a scan, and ``kafkacomp.spark.export``.
    Offsets that log compaction removed are not missing.

    Attributes:
        report: What the function returns with ``allow_missing=True``; its ``missing`` are the ranges of offsets.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"offset": [0, 1, 5], "value": ["a", "b", "c"]})
        >>> folder = kc.write(rows, target, topic="orders", partition=0, batch_bytes=1).path
        >>> try:
        ...     kc.log.recompress(folder, f"{target}/smaller")
        ... except kc.DataLossError as error:
        ...     print([(each.first_offset, each.last_offset, each.reason) for each in error.report.missing])
        [(2, 4, 'gap')]
    """

    def __init__(self, message: str = "", report: Any = None) -> None:  # noqa: ANN401 - the report of any function
        super().__init__(message)
        self.report = report


class EncryptionKeyError(KafkaCompError, ValueError):
    """The private key of an encrypted segment is missing, is not a private key, or is that of another key pair."""


class RecordTooLargeError(KafkaCompError):
    """Kafka's RecordTooLargeException: a record or batch that is larger than a topic or the format allows."""

    error_code = 10


class InvalidTimestampError(KafkaCompError):
    """Kafka's InvalidTimestampException: records whose timestamps the topic does not allow.

    Attributes:
        record_errors: The refused records; at most the first 100,000.
    """

    error_code = 32
    record_errors: tuple[RecordError, ...] = ()


class UnsupportedForMessageFormatError(KafkaCompError):
    """Kafka's UnsupportedForMessageFormatException: a feature that the topic's message format does not have."""

    error_code = 43


class UnsupportedCompressionTypeError(KafkaCompError):
    """Kafka's UnsupportedCompressionTypeException: zstd in a message format, or for a broker, that does not have it."""

    error_code = 76


class InvalidRecordError(KafkaCompError):
    """Kafka's InvalidRecordException: a batch or record that violates a rule of its message format or topic.

    Attributes:
        record_errors: The refused records; at most the first 100,000.

    Example:
        >>> import kafkacomp as kc
        >>> batch = kc.record.RecordBatchBuilder()
        >>> batch.append(b"no key")
        >>> try:
        ...     kc.broker.BrokerProfile("2.8").append(batch.build(), compacted=True)
        ... except kc.InvalidRecordError as error:
        ...     print(error.error_code, [each.batch_index for each in error.record_errors])
        87 [0]
    """

    error_code = 87
    record_errors: tuple[RecordError, ...] = ()


class OffsetsOutOfOrderError(KafkaCompError):
    """Kafka's OffsetsOutOfOrderException: offsets that do not increase."""

    error_code = -1


class UnknownServerError(KafkaCompError):
    """An error for which Kafka has no code of its own; a broker answers ``UNKNOWN_SERVER_ERROR``, -1."""

    error_code = -1
