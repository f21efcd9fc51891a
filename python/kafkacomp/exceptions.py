"""All exceptions of the package; :class:`KafkaCompError` is their base.

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
    """A record that a broker refuses, and the reason."""

    #: The index of the record in its batch, from 0.
    batch_index: int
    #: The reason, as Kafka's message.
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
    """Data that cannot be compressed."""


class DecompressionError(KafkaCompError, ValueError):
    """Compressed data that are corrupt."""


class TruncatedError(DecompressionError, EOFError):
    """Compressed data that end inside a frame; also an EOFError."""


class OutputLimitError(DecompressionError):
    """Data that decompress to more bytes than the limit; raise ``max_output_size`` to allow them."""

    #: The limit in bytes.
    limit: int | None = None


class CorruptRecordError(KafkaCompError, ValueError):
    """Kafka's CorruptRecordException: a wrong checksum, size or magic, or records that do not decompress."""

    error_code = 2


class MessageSetError(CorruptRecordError):
    """A message set of Kafka 0.7 that Kafka 0.7 refuses."""

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
    """An error for which Kafka has no code: it answers -1."""

    error_code = -1
