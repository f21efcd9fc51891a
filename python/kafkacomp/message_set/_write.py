"""Writing as Kafka 0.7 does: message sets, what a producer's settings compress, a partition's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp import _kafkacomp
from kafkacomp._arguments import OFFSETS, PARTITIONS, compression_type_of, integer
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

__all__ = ["ProducerCompression", "verify_message_size", "write_log", "write_messages"]

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
    """Make a message set as Kafka 0.7 writes it: magic 1, and with a codec one compressed message around all.

    Args:
        messages: Payloads (bytes-like), each of which becomes a message, and messages that were read, which are taken
            as they are. Compressed ones among these nest: that is how MirrorMaker made sets in sets.
        compression_type: ``none``, ``gzip`` or ``snappy``, or the :class:`kafkacomp.CompressionType`.
        compression_level: gzip's level, -1 or 1 to 9.

    Returns:
        The set; no bytes for no messages, whatever the codec.

    Raises:
        ValueError: a codec that 0.7 does not have, or a level that the codec does not have.
        RecordTooLargeError: a message over 2^31 - 1 bytes.
    """
    return _kafkacomp.write_message_set_of(messages, int(compression_type_of(compression_type)), compression_level)


def verify_message_size(data: Buffer, max_message_size: int = _MAX_MESSAGE_SIZE) -> None:
    """Refuse a set that has too large a message, as producers and, from 0.7.2 on, brokers do (``max.message.size``).

    What counts is the payload of top-level messages, so of a wrapper the compressed bytes.

    Raises:
        MessageSetError: of the kind ``message_too_large``; or what the shallow iterator raises.
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
    """What the settings ``compression.codec`` and ``compressed.topics`` of a 0.7 producer compress."""

    #: ``compression.codec``.
    codec: CompressionType = CompressionType.NONE
    #: ``compressed.topics``; none is every topic. The sync producer does not look at it.
    compressed_topics: tuple[str, ...] = ()

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ProducerCompression:
        """Read the settings as 0.7 does.

        The codec is a number, without spaces. Topics stand between commas; empty ones are dropped, spaces are kept.

        Raises:
            ValueError: no number (Kafka's NumberFormatException), or one that is no codec (UnknownCodecException).
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
        """The codec of a topic's sets.

        Args:
            topic: The topic.
            producer_type: ``sync`` (0.7's default), which compresses every topic, or ``async``, which compresses those
                that are listed, or all if none is.
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
    """Append sets to a new partition ``target/topic-partition`` as a broker of 0.7.2 does.

    A set is appended as it came, less what its end cuts. Before it a new file is begun if the last one has grown beyond
    ``log_file_size``; a file's name is the position at which it begins. The folder appears whole or not at all.

    Args:
        sets: Message sets, each of them one produce request's.
        target: A local folder, made if it is not there.
        topic: The topic's name.
        partition: The partition's number.
        initial_offset: The position at which the first file begins.
        log_file_size: ``log.file.size``.
        max_message_size: See :func:`verify_message_size`.

    Returns:
        The names of the files.

    Raises:
        FileExistsError: the partition's folder is there.
        MessageSetError: a set that a broker refuses; nothing is written then.
        ValueError: a position, size or name that cannot be.
    """
    from pathlib import Path  # noqa: PLC0415 - `import kafkacomp` does without

    check_topic(topic)
    partition = integer("partition", partition, PARTITIONS)
    initial_offset = integer("initial_offset", initial_offset, OFFSETS)
    integer("log_file_size", log_file_size, (1, OFFSETS[1]))
    parent = Path(local_folder(target))
    parent.mkdir(parents=True, exist_ok=True)
    staged = _kafkacomp.StagedFolder(str(parent / f"{topic}-{partition}"))
    folder, start, size = Path(str(staged.folder)), initial_offset, 0
    names = [f"{start:020}.kafka"]
    try:
        file = (folder / names[0]).open("xb")
        try:
            for each in sets:
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
