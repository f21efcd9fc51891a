"""What can go wrong, in one tree.

Every class knows Kafka's error code where Kafka has one. Errors about bytes carry ``position``, the byte
of the buffer or file at which the failing batch, message or frame begins, and, where a file is read,
``segment``, its name. All exceptions pickle.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "CompressionError",
    "CorruptRecordError",
    "DecompressionError",
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
    """A record that a broker refuses."""

    #: Which record of its batch, from 0.
    batch_index: int
    #: Why.
    message: str


class KafkaCompError(Exception):
    """The base of all exceptions of this package."""

    #: Kafka's error code, or ``None`` where Kafka has none (``org.apache.kafka.common.protocol.Errors``).
    error_code: int | None = None
    #: The byte at which the failing element begins, or ``None``.
    position: int | None = None
    #: The file that was read, or ``None``.
    segment: str | None = None
    #: The row of an Arrow column, from 0, or ``None``.
    row: int | None = None


class CompressionError(KafkaCompError, ValueError):
    """Data that cannot be compressed as asked."""


class DecompressionError(KafkaCompError, ValueError):
    """Compressed data that do not decode."""


class TruncatedError(DecompressionError, EOFError):
    """Compressed data that end inside a frame."""


class OutputLimitError(DecompressionError):
    """Decompressing would give more bytes than allowed."""

    #: The cap in bytes.
    limit: int | None = None


class CorruptRecordError(KafkaCompError, ValueError):
    """Kafka's CorruptRecordException: a wrong checksum, size or magic, or records that do not decompress."""

    error_code = 2


class MessageSetError(CorruptRecordError):
    """A message set of Kafka 0.7 that its own code refuses."""

    #: invalid_message_size, entry_too_small, unknown_magic, crc, unknown_codec, decompression or message_too_large.
    kind: str | None = None


class RecordTooLargeError(KafkaCompError):
    """Kafka's RecordTooLargeException."""

    error_code = 10


class InvalidTimestampError(KafkaCompError):
    """Kafka's InvalidTimestampException."""

    error_code = 32
    #: The refused records, the first 100,000 of them.
    record_errors: tuple[RecordError, ...] = ()


class UnsupportedForMessageFormatError(KafkaCompError):
    """Kafka's UnsupportedForMessageFormatException."""

    error_code = 43


class UnsupportedCompressionTypeError(KafkaCompError):
    """Kafka's UnsupportedCompressionTypeException."""

    error_code = 76


class InvalidRecordError(KafkaCompError):
    """Kafka's InvalidRecordException: a batch whose content breaks its format's rules."""

    error_code = 87
    #: The refused records, the first 100,000 of them.
    record_errors: tuple[RecordError, ...] = ()


class OffsetsOutOfOrderError(KafkaCompError):
    """Kafka's OffsetsOutOfOrderException."""

    error_code = -1


class UnknownServerError(KafkaCompError):
    """Whatever else Kafka answers -1 to."""

    error_code = -1
