"""Batches of a window of a segment: where the first one begins, and all that begin before the window's end."""

from __future__ import annotations

import bisect
import functools
import os
from array import array
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkacomp import log, message_set
from kafkacomp._kafkacomp import BatchReader, format_of_content
from kafkacomp._storage.filesystem import open_local, read_local
from kafkacomp._storage.names import side_file
from kafkacomp.advice.formats import FORMATS, OLDEST
from kafkacomp.exceptions import CorruptRecordError, KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp.advice.sampling import Source, Window
    from kafkacomp.message_set import Message
    from kafkacomp.record import RecordBatch

__all__ = ["entries_of", "family_of", "newest_format", "read_window"]

_SIZE_OFFSET: Final = 8
_LOG_OVERHEAD: Final = 12
_MAGIC_OFFSET: Final = 16
_NEWEST_MAGIC: Final = 2
#: Headers are looked for in pieces of this size, and content is judged by as much.
_PIECE: Final = 1 << 16


class Opened(Protocol):
    """What reads a segment at positions."""

    def size(self) -> int:
        """Bytes."""

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read from a place."""


class _File:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read_at(self, nbytes: int, offset: int) -> bytes:
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        pieces = []
        while nbytes > 0:
            piece = os.read(self._descriptor, nbytes)
            if not piece:
                break
            pieces.append(piece)
            nbytes -= len(piece)
        return b"".join(pieces)


class _Bytes:
    def __init__(self, data: Any) -> None:  # noqa: ANN401 - whatever has the buffer protocol
        self._data = memoryview(data)

    def size(self) -> int:
        return self._data.nbytes

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return bytes(self._data[offset : offset + nbytes])


@contextmanager
def _opened(source: Source) -> Iterator[Opened]:
    if isinstance(source.source, str):
        with open_local(source.source) as file:
            yield _File(file.fileno())
    elif hasattr(source.source, "open_segment"):
        yield source.source.open_segment()
    else:
        yield _Bytes(source.source)


def family_of(source: Source) -> str:
    """``0.7`` or ``0.8+``: by the content, else by the name.

    Raises:
        ValueError: neither tells.
    """
    with _opened(source) as file:
        found = format_of_content(file.read_at(_PIECE, 0))
    return found or (OLDEST if source.name.endswith(".kafka") else "0.8+")


def newest_format(source: Source) -> str | None:
    """The message format of a segment's last batch, None without any; damage counts as the end."""
    if family_of(source) == OLDEST:
        return OLDEST
    newest = None
    with _opened(source) as file:
        end = file.size()
        try:
            for _, magic in _headers(file, _near(file, source, end), end):
                newest = FORMATS[str(magic)].name
        except CorruptRecordError:
            pass
    return newest


def read_window(window: Window, max_output_size: int) -> Iterator[RecordBatch]:
    """Iterate over the batches that begin in a window of a log of Kafka 0.8 or later.

    Raises:
        CorruptRecordError: bytes that are no batch, after the batches before them.
    """
    with _opened(window.source) as file:
        end = min(window.end, file.size())
        first = None
        for position, _ in _headers(file, _near(file, window.source, window.start), end):
            first = position
            if position >= window.start:
                break
        if first is None or first < window.start:
            return
        reader = BatchReader(file.read_at(end - first, first), max_output_size, verify_crc=False, origin=first)
        yield from reader
        if not reader.partial_bytes or reader.position >= end:
            return
        # The last one ends behind the window.
        last = reader.position
        size = _size_at(file, last)
        if last + size <= file.size():
            yield from BatchReader(file.read_at(size, last), max_output_size, verify_crc=False, origin=last)
        elif last == first:
            # A live log's last batch may be cut; one that is all there is is damage.
            raise CorruptRecordError(
                f"incomplete batch at byte {first}: {file.size() - first} of {size} bytes are there"
            )


def entries_of(window: Window) -> Iterator[Message]:
    """Iterate over the top-level messages that begin in a window of a log of Kafka 0.7.

    Raises:
        MessageSetError: as :func:`kafkacomp.message_set.read_messages`.
    """
    with _opened(window.source) as file:
        position, length = 0, file.size()
        while position < min(window.end, length):
            size = int.from_bytes(file.read_at(4, position), "big", signed=True) + 4
            if size <= 4 or position + size > length:  # noqa: PLR2004 - nothing but the size field
                if size <= 4:  # noqa: PLR2004
                    raise CorruptRecordError(f"{window.source.name}: no message at byte {position}")
                return
            if position >= window.start:
                for message, _ in message_set.read_messages(file.read_at(size, position), deep=False):
                    yield message
            position += size


def _near(file: Opened, source: Source, position: int) -> int:
    """Where a batch begins, at ``position`` or before: by the index, else the segment's first byte."""
    if position == 0 or source.base_offset is None:
        return 0
    try:
        known = isinstance(source.source, str)
        positions = (
            _local_positions(source.source, source.base_offset, source.modified) if known else _positions(source)
        )
    except (KafkaCompError, OSError, ValueError):
        return 0  # the segment itself shows it, only slower
    at = bisect.bisect_right(positions, position)
    found = positions[at - 1] if at else 0
    head = file.read_at(_MAGIC_OFFSET + 1, found)
    sound = len(head) > _MAGIC_OFFSET and head[_MAGIC_OFFSET] <= _NEWEST_MAGIC
    return found if sound else 0


def _positions(source: Source) -> array[int]:
    index = source.source.side_file("index") if hasattr(source.source, "side_file") else None
    entries = [] if index is None else log.read_offset_index(index, source.base_offset)
    return array("q", [entry.position for entry in entries])


@functools.lru_cache(maxsize=16)
def _local_positions(path: str, base_offset: int, _modified: int | None) -> array[int]:
    """Positions in a segment's index, which all windows of the segment need."""
    index = read_local(side_file(path, "index"))
    if index is None:
        return array("q")
    return array("q", [entry.position for entry in log.read_offset_index(index, base_offset)])


def _headers(file: Opened, position: int, end: int) -> Iterator[tuple[int, int]]:
    """Position and magic of the batches from a place where one begins; zeros, or what is cut, end them.

    Raises:
        CorruptRecordError: a size or magic that no batch has.
    """
    piece, origin = b"", position
    while position < end:
        at = position - origin
        if at + _MAGIC_OFFSET >= len(piece):
            piece, origin, at = file.read_at(_PIECE, position), position, 0
            if len(piece) <= _MAGIC_OFFSET:
                return
        size = int.from_bytes(piece[at + _SIZE_OFFSET : at + _LOG_OVERHEAD], "big", signed=True)
        if size == 0 and not any(piece[at : at + _MAGIC_OFFSET]):
            return
        magic = piece[at + _MAGIC_OFFSET]
        if size <= _MAGIC_OFFSET - _LOG_OVERHEAD or magic > _NEWEST_MAGIC:
            raise CorruptRecordError(f"no batch at byte {position}: size {size}, magic {magic}")
        yield position, magic
        position += size + _LOG_OVERHEAD


def _size_at(file: Opened, position: int) -> int:
    return int.from_bytes(file.read_at(_LOG_OVERHEAD, position)[_SIZE_OFFSET:], "big", signed=True) + _LOG_OVERHEAD
