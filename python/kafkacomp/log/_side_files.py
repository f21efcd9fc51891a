"""Read the index files of a segment and producer snapshots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import OFFSETS, PATH_OR_BYTES, bytes_view, integer, path_text
from kafkacomp._storage.filesystem import read_side_file
from kafkacomp._storage.names import leading_offset

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import Buffer

    from kafkacomp._entries import AbortedTxn, OffsetPosition, ProducerEntry, TimestampOffset

    PathOrBytes: TypeAlias = str | os.PathLike[str] | Buffer


def read_offset_index(source: PathOrBytes, base_offset: int | None = None) -> list[OffsetPosition]:
    """Read an offset index (``.index``): the positions of batches by offset.

    Zeros at the end of a preallocated file are left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: an entry is incomplete, negative or out of order.
        ValueError: the name has no base offset, and ``base_offset`` is not given.

    Example:
        >>> from kafkacomp import log
        >>> log.read_offset_index(bytes.fromhex("00000005 00000100"), 100)
        [OffsetPosition(offset=105, position=256)]
    """
    data, name = content_of(source)
    return _kafkacomp.read_offset_index(data, _base_offset(source, base_offset), name)


def read_time_index(source: PathOrBytes, base_offset: int | None = None) -> list[TimestampOffset]:
    """Read a time index (``.timeindex``): the offsets of records by timestamp.

    Zeros at the end of a preallocated file are left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: an entry is incomplete, negative or out of order.
        ValueError: the name has no base offset, and ``base_offset`` is not given.

    Example:
        >>> from kafkacomp import log
        >>> log.read_time_index(bytes.fromhex("0000018bcfe56800 00000005"), 100)
        [TimestampOffset(timestamp=1700000000000, offset=105)]
    """
    data, name = content_of(source)
    return _kafkacomp.read_time_index(data, _base_offset(source, base_offset), name)


def read_transaction_index(source: PathOrBytes, base_offset: int | None = None) -> list[AbortedTxn]:
    """Read a transaction index (``.txnindex``): the aborted transactions of a segment.

    An incomplete last entry is left out, as in Kafka.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: an unknown version, or a transaction that ends before the segment.
        ValueError: the name has no base offset, and ``base_offset`` is not given.

    Example:
        >>> from kafkacomp import log
        >>> entry = b"".join(field.to_bytes(8, "big") for field in (7, 100, 104, 105))
        >>> log.read_transaction_index(bytes(2) + entry, 100)
        [AbortedTxn(version=0, producer_id=7, first_offset=100, last_offset=104, last_stable_offset=105)]
    """
    data, name = content_of(source)
    return _kafkacomp.read_transaction_index(data, _base_offset(source, base_offset), name)


def read_producer_snapshot(source: PathOrBytes) -> list[ProducerEntry]:
    """Read a producer snapshot (``.snapshot``): the sequence numbers and open transactions of producers.

    Args:
        source: The file or its content.

    Raises:
        CorruptRecordError: an unknown version, a wrong checksum, or a wrong length.

    Example:
        >>> from pathlib import Path
        >>> from kafkacomp import log
        >>> (snapshot,) = Path(example, "orders-3").glob("*.snapshot")
        >>> log.read_producer_snapshot(snapshot)
        []

        ``example`` is a log directory; its records have no producer id.
    """
    return _kafkacomp.read_producer_snapshot(*content_of(source))


def content_of(source: PathOrBytes) -> tuple[Buffer, str | None]:
    if isinstance(source, str | os.PathLike):
        return read_side_file(path := path_text("source", source)), path.encode("utf-8", "backslashreplace").decode()
    bytes_view("source", source, PATH_OR_BYTES)
    return source, None


def _base_offset(source: PathOrBytes, base_offset: int | None) -> int:
    if base_offset is not None:
        return integer("base_offset", base_offset, OFFSETS)
    if isinstance(source, str | os.PathLike):
        offset = leading_offset(Path(source).name)
        if offset is not None:
            return offset
        raise ValueError(f"{os.fspath(source)}: the name does not begin with a base offset: give base_offset")
    raise ValueError("the content of an index does not contain its base offset: give base_offset")
