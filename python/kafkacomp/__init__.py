"""Kafka's compression and record layer: every format, every codec, straight into Arrow and Spark."""

from __future__ import annotations

from kafkacomp import exceptions, gzip, lz4, message_set, record, snappy, zstd
from kafkacomp._codec import compress, decompress
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, __version__
from kafkacomp._open import open  # noqa: A004 - the name of the standard library's
from kafkacomp._types import CompressionType
from kafkacomp._write import WriteReport, write
from kafkacomp.arrow import ScanReport, SkippedRange, scan
from kafkacomp.exceptions import (
    CompressionError,
    CorruptRecordError,
    DecompressionError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaCompError,
    MessageSetError,
    OffsetsOutOfOrderError,
    OutputLimitError,
    RecordTooLargeError,
    TruncatedError,
    UnknownServerError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)

__all__ = [
    "DEFAULT_MAX_OUTPUT_SIZE",
    "CompressionError",
    "CompressionType",
    "CorruptRecordError",
    "DecompressionError",
    "InvalidRecordError",
    "InvalidTimestampError",
    "KafkaCompError",
    "MessageSetError",
    "OffsetsOutOfOrderError",
    "OutputLimitError",
    "RecordTooLargeError",
    "ScanReport",
    "SkippedRange",
    "TruncatedError",
    "UnknownServerError",
    "UnsupportedCompressionTypeError",
    "UnsupportedForMessageFormatError",
    "WriteReport",
    "__version__",
    "compress",
    "decompress",
    "exceptions",
    "gzip",
    "lz4",
    "message_set",
    "open",
    "record",
    "scan",
    "snappy",
    "write",
    "zstd",
]
