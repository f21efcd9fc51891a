"""Message sets of Kafka 0.7, whose offsets are byte positions and whose compressed messages nest.

Kafka 0.7's magic 0 and 1 are not the formats of the same magic that :mod:`kafkacomp.record` reads: the caller must know
which of the two log formats the bytes have.
"""

from __future__ import annotations

from kafkacomp._kafkacomp import Message, MessageReader
from kafkacomp.message_set._read import Converted, MappedPosition, MessageAndOffset, convert, read_messages, valid_bytes
from kafkacomp.message_set._write import ProducerCompression, verify_message_size, write_log, write_messages

__all__ = [
    "Converted",
    "MappedPosition",
    "Message",
    "MessageAndOffset",
    "MessageReader",
    "ProducerCompression",
    "convert",
    "read_messages",
    "valid_bytes",
    "verify_message_size",
    "write_log",
    "write_messages",
]
