"""The index files of a segment and producer snapshots: their entries, and functions that read them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._storage.filesystem import read_side_file
from kafkacomp._storage.names import leading_offset

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import Buffer

    PathOrBytes: TypeAlias = str | os.PathLike[str] | Buffer

__all__ = [
    "AbortedTxn",
    "OffsetPosition",
    "PathOrBytes",
    "ProducerEntry",
    "TimestampOffset",
    "content_of",
    "read_offset_index",
    "read_producer_snapshot",
    "read_time_index",
    "read_transaction_index",
]


class OffsetPosition(NamedTuple):
    """An entry of ``.index``."""

    #: The last offset of a batch.
    offset: int
    #: The byte of the segment at which that batch begins.
    position: int


class TimestampOffset(NamedTuple):
    """An entry of ``.timeindex``."""

    #: The greatest timestamp up to the offset, ms.
    timestamp: int
    #: The offset that has it.
    offset: int


class AbortedTxn(NamedTuple):
    """An entry of ``.txnindex``: an aborted transaction."""

    version: int
    producer_id: int
    #: The transaction's first offset.
    first_offset: int
    #: The offset of its abort marker.
    last_offset: int
    #: The partition's last stable offset after it.
    last_stable_offset: int


@dataclass(frozen=True)
class ProducerEntry:
    """What a producer ``.snapshot`` knows of one producer."""

    producer_id: int
    producer_epoch: int
    #: -1 where the producer has written nothing since its last transaction ended.
    last_sequence: int
    #: -1 likewise.
    last_offset: int
    #: The last batch's last offset less its first.
    offset_delta: int
    #: The greatest timestamp of the last batch, ms.
    timestamp: int
    #: Of the last marker; -1 without.
    coordinator_epoch: int
    #: Where the open transaction begins; ``None`` without.
    current_txn_first_offset: int | None
    #: The first sequence of the last batch, -1 without.
    first_sequence: int


def read_offset_index(source: PathOrBytes, base_offset: int | None = None) -> list[OffsetPosition]:
    """Read an ``.index``; the zero tail of a preallocated one is left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: entries that are incomplete, negative or out of order.
        ValueError: no base offset in the name.
    """
    data, name = content_of(source)
    return [OffsetPosition(*e) for e in _kafkacomp.read_offset_index(data, _base_offset(source, base_offset), name)]


def read_time_index(source: PathOrBytes, base_offset: int | None = None) -> list[TimestampOffset]:
    """Read a ``.timeindex``; the zero tail of a preallocated one is left out.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: entries that are incomplete, negative or out of order.
        ValueError: no base offset in the name.
    """
    data, name = content_of(source)
    return [TimestampOffset(*e) for e in _kafkacomp.read_time_index(data, _base_offset(source, base_offset), name)]


def read_transaction_index(source: PathOrBytes, base_offset: int | None = None) -> list[AbortedTxn]:
    """Read a ``.txnindex``; an incomplete last entry is left out, as Kafka does.

    Args:
        source: The file or its content.
        base_offset: The segment's base offset; default: from the file's name.

    Raises:
        CorruptRecordError: an unknown version, or a transaction that ends before the segment.
        ValueError: no base offset in the name.
    """
    data, name = content_of(source)
    return [AbortedTxn(*e) for e in _kafkacomp.read_transaction_index(data, _base_offset(source, base_offset), name)]


def read_producer_snapshot(source: PathOrBytes) -> list[ProducerEntry]:
    """Read a producer ``.snapshot``.

    Raises:
        CorruptRecordError: an unknown version, a wrong checksum, or a wrong length.
    """
    data, name = content_of(source)
    entries = []
    for (producer, epoch, sequence, last, delta, time, coordinator, first), first_sequence in (
        _kafkacomp.read_producer_snapshot(data, name)
    ):  # fmt: skip
        open_since = first if first >= 0 else None
        entries.append(
            ProducerEntry(producer, epoch, sequence, last, delta, time, coordinator, open_since, first_sequence)
        )
    return entries


def content_of(source: PathOrBytes) -> tuple[Buffer, str | None]:
    if isinstance(source, str | os.PathLike):
        return read_side_file(source), os.fspath(source).encode("utf-8", "backslashreplace").decode()
    return source, None


def _base_offset(source: PathOrBytes, base_offset: int | None) -> int:
    if base_offset is not None:
        return base_offset
    if isinstance(source, str | os.PathLike):
        offset = leading_offset(Path(source).name)
        if offset is not None:
            return offset
        raise ValueError(f"{os.fspath(source)}: the name does not begin with a base offset; give base_offset")
    raise ValueError("base_offset is needed with the content of an index")
