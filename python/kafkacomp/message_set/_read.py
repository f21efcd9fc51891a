"""Message sets of Kafka 0.7, whose offsets are byte positions and whose compressed messages nest.

Magic 0 and 1 of Kafka 0.7 are not the formats of the same magic that :mod:`kafkacomp.record` reads: the caller must
know which of the two log formats the bytes have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import BATCH_BYTES, DEFAULT_BATCH_BYTES, MAGICS, OFFSETS, checked_max_output_size, integer
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, Message, MessageReader

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FIRST_OFFSETS = (0, 2**62 - 1)


class MessageAndOffset(NamedTuple):
    """A message, and the offset to fetch from next, which is what a consumer commits.

    Attributes:
        message: The message.
        offset: The position after the message's entry. For messages inside a compressed message, except the last one:
            the position of the compressed message.

    Example:
        >>> from kafkacomp import message_set
        >>> for message, offset in message_set.read_messages(message_set.write_messages([b"first", b"second"])):
        ...     print(message.payload, offset)
        b'first' 15
        b'second' 31
    """

    message: Message
    offset: int


class MappedPosition(NamedTuple):
    """A position in a log of Kafka 0.7 that a consumer may have committed, and the offset to commit instead.

    Attributes:
        position: The byte position.
        offset: The new offset of the first message at or after this position.
    """

    position: int
    offset: int


class Converted(NamedTuple):
    """A message set that was converted to a later format.

    Attributes:
        data: The batches end to end.
        offset_map: The starts of top-level messages and the end of the set, with the offsets that replace them.

    Example:
        >>> from kafkacomp import message_set
        >>> converted = message_set.convert(message_set.write_messages([b"first", b"second"]), 2)
        >>> [(each.position, each.offset) for each in converted.offset_map]
        [(0, 0), (15, 1), (31, 2)]
    """

    data: bytes
    offset_map: list[MappedPosition]


def read_messages(
    data: Buffer, *, initial_offset: int = 0, deep: bool = True, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
) -> MessageReader:
    """Iterate over the messages of a message set of Kafka 0.7, as its own iterators do.

    Args:
        data: Bytes-like: a log file's content, or the set in a fetch response or a produce request. ``bytes`` are
            read in place, anything else is copied once.
        initial_offset: The offset of the first byte: the number in the log file's name, or the requested offset.
        deep: Whether the messages inside compressed messages are read, at any depth up to 64 levels. Otherwise
            compressed messages are returned without being decompressed.
        max_output_size: The most bytes that one top-level message may decompress to, all levels together.

    Returns:
        An iterator of :class:`MessageAndOffset`. It ends without an error at a truncated entry at the end of ``data``
        if another entry precedes it, and if fewer than four bytes are left.

    Raises:
        MessageSetError: while iterating, where Kafka's iterator throws. ``kind`` names the fault, ``position`` is the
            first byte of the top-level message. All valid messages before it are returned first, including the last one
            before it in the same compressed message, which Kafka's look-ahead loses. The iteration then ends.
        OutputLimitError: while iterating, if a compressed message decompresses to more than ``max_output_size`` bytes.
        ValueError: ``initial_offset`` or ``max_output_size`` is out of range.

    Example:
        >>> from kafkacomp import message_set
        >>> data = message_set.write_messages([b"first", b"second"], "gzip")
        >>> [(each.offset, each.message.payload) for each in message_set.read_messages(data)]
        [(0, b'first'), (64, b'second')]
    """
    return MessageReader(
        data, integer("initial_offset", initial_offset, OFFSETS), deep, checked_max_output_size(max_output_size)
    )


def valid_bytes(data: Buffer, initial_offset: int = 0) -> int:
    """Count the bytes of the complete top-level messages at the beginning of a set (Kafka's ``validBytes``).

    Args:
        data: Bytes-like, as in :func:`read_messages`.
        initial_offset: The offset of the first byte; the result does not depend on it.

    Raises:
        MessageSetError: as raised by :func:`read_messages` without ``deep``. Corruption inside compressed messages is
            not detected.
        ValueError: ``initial_offset`` is out of range.

    Example:
        >>> from kafkacomp import message_set
        >>> data = message_set.write_messages([b"first", b"second"])
        >>> len(data), message_set.valid_bytes(data[:-1])
        (31, 15)
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
    """Convert a message set to a later format, as :func:`kafkacomp.log.convert` does for a log.

    Messages get consecutive offsets, no key and no timestamp. A compressed message becomes one batch with its
    compression type, at any depth of nesting; uncompressed messages are joined to batches of at most ``batch_bytes``.

    Args:
        data: As for :func:`read_messages`. An entry that the end truncates is left out if another one precedes it.
        to_magic: The message format of the result: 0, 1 or 2, as in :mod:`kafkacomp.record`.
        initial_offset: The position of the first byte, as in :func:`read_messages`.
        first_offset: The first message's offset in the new format, 0 to 2^62 - 1.
        batch_bytes: The most bytes of a batch that is made of uncompressed messages; a larger message gets its own
            batch.
        max_output_size: The most bytes that one top-level message may decompress to, all levels together.

    Raises:
        MessageSetError: the set is corrupt, as in :func:`read_messages`.
        OutputLimitError: a compressed message decompresses to more than ``max_output_size`` bytes.
        ValueError: an argument is out of range.

    Example:
        >>> from kafkacomp import message_set
        >>> from kafkacomp import record
        >>> converted = message_set.convert(message_set.write_messages([b"first", b"second"]), 2)
        >>> [each.value for batch in record.read_batches(converted.data) for each in batch]
        [b'first', b'second']
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
