"""Log files and sets of Kafka 0.7: their messages as rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import message_set
from kafkacomp._cli.batches import Damage, bytes_fields, segment_of
from kafkacomp._kafkacomp import MessageChunks
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.files import SourceFile
    from kafkacomp.message_set import Message, MessageAndOffset

__all__ = ["Entry", "entries", "entry_row", "message_row", "placed"]

_SIZE_LENGTH = 4
_PLACE = re.compile(r"at byte \d+$")


class Entry(NamedTuple):
    """A top-level message."""

    #: The byte of the file at which it begins.
    position: int
    #: The position in the partition behind it.
    offset: int
    message: Message
    #: With its size: a set of its own.
    data: bytes

    def messages(self, max_output_size: int) -> Iterator[MessageAndOffset]:
        """The messages in it, of all levels, or itself."""
        start = self.offset - len(self.data)
        return message_set.read_messages(self.data, initial_offset=start, max_output_size=max_output_size)


def entries(source: SourceFile, initial_offset: int, *, may_be_cut: bool) -> Iterator[Entry | Damage]:
    """Iterate over the top-level messages of a file, chunk by chunk; damage comes last and ends them."""
    position = 0
    try:
        for origin, data in MessageChunks(segment_of(source)):
            start = 0
            for message, end in message_set.read_messages(data, deep=False):
                yield Entry(position, initial_offset + origin + end, message, data[start:end])
                start, position = end, origin + end
    except KafkaCompError as error:
        yield Damage(position, placed(error, position))
        return
    rest = source.size - position
    # A set's only message that is truncated is an error in any file, as for Kafka.
    if rest and (not may_be_cut or (not position and rest >= _SIZE_LENGTH)):
        yield Damage(position, f"message at byte {position}: truncated by the file's end, {rest} bytes are there")


def placed(error: KafkaCompError, position: int) -> str:
    """An error's text, which ends with the place in the bytes that were read, with the place in the file."""
    return _PLACE.sub(f"at byte {position}", str(error))


def entry_row(entry: Entry) -> dict[str, Any]:
    """A top-level message."""
    return {"position": entry.position} | _row(entry.message, entry.offset)


def message_row(message: Message, offset: int, *, payload: bool) -> dict[str, Any]:
    """A message that is no wrapper."""
    return _row(message, offset) | (bytes_fields("payload", message.payload) if payload else {})


def _row(message: Message, offset: int) -> dict[str, Any]:
    try:
        codec: str | None = str(message.compression_type)
    except KafkaCompError:
        codec = None  # 3, which there is not
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
