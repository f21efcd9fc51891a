"""Message sets of Kafka 0.7, whose offsets are byte positions and whose compressed messages nest.

Kafka 0.7's magic 0 and 1 are other formats than those that :mod:`kafkacomp.record` reads: a caller must know
which family the bytes are of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import BATCH_BYTES, DEFAULT_BATCH_BYTES, MAGICS, OFFSETS, checked_max_output_size, integer
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, Message, MessageReader

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Converted",
    "Message",
    "MessageAndOffset",
    "MessageReader",
    "convert",
    "read_messages",
    "valid_bytes",
]

_FIRST_OFFSETS = (0, 2**62 - 1)


class MessageAndOffset(NamedTuple):
    """A message, and the offset to fetch from next, which is what a consumer commits."""

    #: The message.
    message: Message
    #: Behind the message's entry; inside a compressed message its start, but for the last message in it.
    offset: int


class Converted(NamedTuple):
    """A message set in a later format."""

    #: The batches end to end.
    data: bytes
    #: Positions that a consumer may have committed, each with the offset of the first message from there on: where a
    #: top-level message begins, a compressed one's start with its first message's offset; at last the set's end.
    offset_map: list[tuple[int, int]]


def read_messages(
    data: Buffer,
    *,
    initial_offset: int = 0,
    deep: bool = True,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> MessageReader:
    """Iterate over the messages of a set of Kafka 0.7, as its own iterators do.

    Args:
        data: Bytes-like: a log file's content, or the set in a fetch answer or a produce request. ``bytes`` are
            read in place, anything else is copied once.
        initial_offset: The offset of the first byte: the number in the log file's name, or the one asked for.
        deep: Open compressed messages, however deep they nest (to 64 levels). Otherwise they are handed out
            as they are.
        max_output_size: The most bytes that one top-level message may decompress to, all levels together.

    Returns:
        An iterator of :class:`MessageAndOffset`. An entry that is cut by the end of ``data`` ends it without an
        error if another is before it, as do fewer than four bytes.

    Raises:
        MessageSetError: while iterating, where Kafka's iterator throws; ``kind`` tells what, ``position`` the
            byte at which the top-level message begins. All good messages before it have been given, also those
            in the same compressed message of which Kafka's look-ahead loses the last. Nothing follows it.
        OutputLimitError: while iterating, when a compressed message holds more than ``max_output_size`` bytes.
        ValueError: ``initial_offset`` or ``max_output_size`` is none.
    """
    return MessageReader(
        data, integer("initial_offset", initial_offset, OFFSETS), deep, checked_max_output_size(max_output_size)
    )


def valid_bytes(data: Buffer, initial_offset: int = 0) -> int:
    """How many bytes at the front are whole top-level messages: Kafka's ``validBytes``, the shallow end less the start.

    Args:
        data: Bytes-like, as in :func:`read_messages`.
        initial_offset: The offset of the first byte. The number of bytes is the same for every one.

    Raises:
        MessageSetError: what the shallow iterator raises. Damage inside compressed messages is not seen.
        ValueError: ``initial_offset`` is none.
    """
    integer("initial_offset", initial_offset, OFFSETS)
    return _kafkacomp.valid_bytes(data)


def convert(
    data: Buffer,
    to_magic: int,
    *,
    initial_offset: int = 0,
    first_offset: int = 0,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> Converted:
    """Carry a message set over to a later format, as :func:`kafkacomp.log.convert` does with a whole log.

    Messages get consecutive offsets, no key and no timestamp. A compressed message becomes one batch with its codec,
    whatever is nested in it; plain messages are joined to batches of at most ``batch_bytes``.

    Args:
        data: As :func:`read_messages` takes it. An entry that is cut by the end is left out if another is before it.
        to_magic: The format to come to, 0, 1 or 2 as :mod:`kafkacomp.record` means them.
        initial_offset: The position of the first byte, as in :func:`read_messages`.
        first_offset: The first message's offset in the new format, to 2^62 - 1.
        batch_bytes: The most bytes of a batch made of plain messages; a larger message has its own.
        max_output_size: The most bytes that one top-level message may decompress to, all levels together.

    Raises:
        MessageSetError: damage, as :func:`read_messages` says it.
        OutputLimitError: a compressed message holds more than ``max_output_size`` bytes.
        ValueError: an argument is out of range.
    """
    return Converted(
        *_kafkacomp.migrate_set(
            data,
            integer("to_magic", to_magic, MAGICS),
            integer("initial_offset", initial_offset, OFFSETS),
            integer("first_offset", first_offset, _FIRST_OFFSETS),
            integer("batch_bytes", batch_bytes, BATCH_BYTES),
            checked_max_output_size(max_output_size),
        )
    )
