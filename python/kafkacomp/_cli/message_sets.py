"""Convert messages of Kafka 0.7 to rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import message_set
from kafkacomp._cli.batches import Corruption, bytes_fields, segment_of
from kafkacomp._kafkacomp import MessageChunks
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.files import SourceFile
    from kafkacomp.message_set import Message, MessageAndOffset

_SIZE_LENGTH = 4
_PLACE = re.compile(r"at byte \d+$")


class Entry(NamedTuple):
    """A top-level message."""

    #: Its position in the file.
    position: int
    #: The offset after it: a position in the partition.
    offset: int
    message: Message
    #: Its bytes with the size field, which are a message set.
    data: bytes

    def messages(self, max_output_size: int) -> Iterator[MessageAndOffset]:
        """The messages in it, of all levels, or the message itself if it is not compressed."""
        start = self.offset - len(self.data)
        return message_set.read_messages(self.data, initial_offset=start, max_output_size=max_output_size)


def entries(source: SourceFile, initial_offset: int, *, may_be_truncated: bool) -> Iterator[Entry | Corruption]:
    """Iterate over a file's top-level messages in chunks; corruption is yielded last and ends the iteration."""
    position = 0
    try:
        for chunk in MessageChunks(segment_of(source)):
            start = 0
            for message, end in message_set.read_messages(chunk.data, deep=False):
                position_after = chunk.position + end
                yield Entry(position, initial_offset + position_after, message, chunk.data[start:end])
                start, position = end, position_after
    except KafkaCompError as error:
        yield Corruption(position, placed(error, position))
        return
    rest = source.size - position
    # As in Kafka, a truncated message is an error if it is the only one.
    if rest and (not may_be_truncated or (not position and rest >= _SIZE_LENGTH)):
        yield Corruption(position, f"message at byte {position}: truncated by the file's end after {rest} bytes")


def placed(error: KafkaCompError, position: int) -> str:
    """Replace the position at the end of an error's text, which is relative to a chunk, by that in the file."""
    return _PLACE.sub(f"at byte {position}", str(error))


def entry_row(entry: Entry) -> dict[str, Any]:
    """Convert a top-level message."""
    return {"position": entry.position} | _row(entry.message, entry.offset)


def message_row(message: Message, offset: int, *, payload: bool) -> dict[str, Any]:
    """Convert a message that is not a wrapper."""
    return _row(message, offset) | (bytes_fields("payload", message.payload) if payload else {})


def _row(message: Message, offset: int) -> dict[str, Any]:
    try:
        codec: str | None = str(message.compression_type)
    except KafkaCompError:
        codec = None  # 3, an id that Kafka does not have
    return {
        "offset": offset,
        "size": message.size_in_bytes,
        "magic": message.magic,
        "attributes": message.attributes,
        "compresscodec": codec,
        "crc": message.crc,
        "isvalid": message.is_valid,
        "payloadSize": len(message.payload),
    }
