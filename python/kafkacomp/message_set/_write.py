"""Write message sets and partitions as Kafka 0.7 does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp import _kafkacomp
from kafkacomp._arguments import OFFSETS, PARTITIONS, compression_type_of, integer, items_of, level_of
from kafkacomp._storage.filesystem import local_folder
from kafkacomp._storage.names import check_topic
from kafkacomp._types import CompressionType
from kafkacomp.exceptions import MessageSetError
from kafkacomp.message_set._read import read_messages, valid_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer

    from kafkacomp._kafkacomp import Message
    from kafkacomp._types import CompressionTypeLike, StrPath

_CODECS: Final = {0: CompressionType.NONE, 1: CompressionType.GZIP, 2: CompressionType.SNAPPY}
_INT = re.compile(r"[+-]?[0-9]+")
_INT32 = 2**31
_MAX_MESSAGE_SIZE = 1_000_000  # max.message.size
_LOG_FILE_SIZE = 512 << 20  # log.file.size


def write_messages(
    messages: Iterable[Buffer | Message],
    compression_type: CompressionTypeLike = "none",
    *,
    compression_level: int | None = None,
) -> bytes:
    """Build a message set of magic 1, as Kafka 0.7 does.

    With a codec, all messages are in one compressed message.

    Args:
        messages: Payloads (bytes-like), each of which becomes a message; and messages that were read, which are copied
            unchanged. Compressed messages among these become nested, as with MirrorMaker.
        compression_type: ``none``, ``gzip`` or ``snappy``, or the :class:`kafkacomp.CompressionType`.
        compression_level: gzip's level, -1 or 1 to 9.

    Returns:
        The set; it is empty if there are no messages, even with a codec.

    Raises:
        ValueError: Kafka 0.7 does not have the codec, or the codec does not have the level.
        RecordTooLargeError: a message is larger than 2^31 - 1 bytes.

    Example:
        >>> from kafkacomp import message_set
        >>> data = message_set.write_messages([b"a", b"b"], "snappy")
        >>> [each.message.payload for each in message_set.read_messages(data)]
        [b'a', b'b']
    """
    level = level_of(compression_level)
    given = items_of("messages", messages, "payloads (bytes-like) and messages")
    return _kafkacomp.write_message_set_of(given, int(compression_type_of(compression_type)), level)


def verify_message_size(data: Buffer, max_message_size: int = _MAX_MESSAGE_SIZE) -> None:
    """Check that no message of a set is too large, as producers and, from 0.7.2 on, brokers do (``max.message.size``).

    The size is that of the payload of top-level messages, which for a wrapper are compressed bytes.

    Raises:
        MessageSetError: a message is too large (``kind`` is ``message_too_large``), or the set is corrupt, as in
            :func:`read_messages` without ``deep``.

    Example:
        >>> from kafkacomp import message_set
        >>> message_set.verify_message_size(message_set.write_messages([b"payload"]), 1_000_000)
    """
    position = 0
    for message, end in _kafkacomp.MessageReader(data, 0, False, 1):  # noqa: FBT003
        size = len(message.payload)
        if size > max_message_size:
            error = MessageSetError(f"payload size of {size} larger than {max_message_size}, at byte {position}")
            error.kind, error.position = "message_too_large", position
            raise error
        position = end


@dataclass(frozen=True)
class ProducerCompression:
    """The settings ``compression.codec`` and ``compressed.topics`` of a producer of Kafka 0.7.

    Attributes:
        codec: The compression type of ``compression.codec``.
        compressed_topics: The topics in ``compressed.topics``; empty means every topic. The sync producer ignores it.

    Example:
        >>> from kafkacomp import message_set
        >>> properties = {"compression.codec": "1", "compressed.topics": "orders"}
        >>> settings = message_set.ProducerCompression.from_properties(properties)
        >>> [str(settings.compression_type(topic, producer_type="async")) for topic in ("orders", "clicks")]
        ['gzip', 'none']
    """

    codec: CompressionType = CompressionType.NONE
    compressed_topics: tuple[str, ...] = ()

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ProducerCompression:
        """Parse the settings as Kafka 0.7 does.

        The codec is a number without spaces. Topics are separated by commas; empty names are dropped, spaces are kept.

        Raises:
            ValueError: the codec is not a number (Kafka's NumberFormatException), or unknown (UnknownCodecException).
        """
        number = properties.get("compression.codec", "0")
        if not _INT.fullmatch(number) or not -_INT32 <= int(number) < _INT32:
            raise ValueError(f'For input string: "{number}"')
        codec = _CODECS.get(int(number))
        if codec is None:
            raise ValueError(f"{int(number)} is an unknown compression codec")
        topics = properties.get("compressed.topics", "").split(",")
        return cls(codec, tuple(topic for topic in topics if topic))

    def compression_type(self, topic: str, *, producer_type: str = "sync") -> CompressionType:
        """Return the compression type of a topic's message sets.

        Args:
            topic: The topic.
            producer_type: ``sync`` (0.7's default), which compresses every topic, or ``async``, which compresses the
                listed topics, or all if the list is empty.
        """
        if producer_type not in {"sync", "async"}:
            raise ValueError(f"producer_type must be sync or async, not {producer_type!r}")
        if producer_type == "sync" or not self.compressed_topics or topic in self.compressed_topics:
            return self.codec
        return CompressionType.NONE


def write_log(
    sets: Iterable[Buffer],
    target: StrPath,
    *,
    topic: str,
    partition: int = 0,
    initial_offset: int = 0,
    log_file_size: int = _LOG_FILE_SIZE,
    max_message_size: int = _MAX_MESSAGE_SIZE,
) -> list[str]:
    """Write message sets to a new partition ``target/<topic>-<partition>``, as a broker of 0.7.2 does.

    A set is appended unchanged, except for a truncated message at its end. A new file begins before a set if the last
    one is larger than ``log_file_size``; a file is named by the position at which it begins. The folder appears
    complete or not at all.

    Args:
        sets: Message sets, each the content of one produce request.
        target: A local folder, created if it does not exist.
        topic: The topic's name.
        partition: The partition's number.
        initial_offset: The position at which the first file begins.
        log_file_size: ``log.file.size``.
        max_message_size: See :func:`verify_message_size`.

    Returns:
        The names of the files.

    Raises:
        FileExistsError: the partition's folder exists.
        MessageSetError: a broker would refuse a set; nothing is written.
        ValueError: a position or size is out of range, or a name is not allowed.

    Example:
        >>> from kafkacomp import message_set
        >>> message_set.write_log([message_set.write_messages([b"payload"])], target, topic="orders", partition=0)
        ['00000000000000000000.kafka']

        ``target`` is a folder.
    """
    from pathlib import Path  # noqa: PLC0415 - `import kafkacomp` does not need it

    check_topic(topic)
    partition = integer("partition", partition, PARTITIONS)
    initial_offset = integer("initial_offset", initial_offset, OFFSETS)
    integer("log_file_size", log_file_size, (1, OFFSETS[1]))
    integer("max_message_size", max_message_size, OFFSETS)
    given = items_of("sets", sets, "message sets (bytes-like)")
    parent = Path(local_folder(target))
    parent.mkdir(parents=True, exist_ok=True)
    staged = _kafkacomp.StagedFolder(str(parent / f"{topic}-{partition}"))
    folder, start, size = Path(str(staged.folder)), initial_offset, 0
    names = [f"{start:020}.kafka"]
    try:
        file = (folder / names[0]).open("xb")
        try:
            for each in given:
                data = bytes(each)
                verify_message_size(data, max_message_size)
                for _ in read_messages(data):
                    pass
                if size > log_file_size:
                    file.close()
                    start, size = start + size, 0
                    names.append(f"{start:020}.kafka")
                    file = (folder / names[-1]).open("xb")
                size += file.write(data[: valid_bytes(data)])
        finally:
            file.close()
        staged.publish()
    finally:
        staged.discard()
    return names
