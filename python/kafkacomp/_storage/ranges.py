"""Read an object in ranges with few requests, and read ahead if reads are sequential.

A store answers a request after tens of milliseconds, even a small one. Reads at random positions fetch only the chunks
that they need. When reads become sequential, requests become larger, and several run concurrently.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkacomp._storage.chunks import plain_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp._storage.chunks import Chunk, ChunkIndex

#: The largest request, and the number of concurrent requests.
MAX_REQUEST = 16 << 20
MAX_REQUESTS = 4
#: Bytes that must be read sequentially before data is fetched ahead.
_AHEAD_FROM = 4 << 20
#: Decoded bytes that are cached.
_KEPT = 32 << 20


class File(Protocol):
    """A file for reads at positions."""

    def size(self) -> int:
        """Bytes of the file."""

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read up to this number of bytes at a position; the result is empty only at the end."""


def read_exactly(file: File, name: str, nbytes: int, offset: int) -> bytes:
    """Read this number of bytes: a short read is continued.

    Raises:
        OSError: EIO, if the object is shorter.
    """
    parts: list[bytes] = []
    there = 0
    while there < nbytes:
        part = file.read_at(nbytes - there, offset + there)
        if not part:
            raise OSError(
                errno.EIO, f"the object ends at byte {offset + there}: expected {nbytes} bytes from {offset} on", name
            )
        parts.append(part)
        there += len(part)
        if there > nbytes:
            raise ValueError(f"{name}: read_at({nbytes - there + len(part)}, ...) returned {len(part)} bytes")
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Block(NamedTuple):
    """The chunks that one request fetches."""

    first: int
    #: Exclusive.
    end: int
    content: Future[list[bytes]]


class RangeFile:
    """A file whose chunks are fetched when they are needed, and decoded."""

    #: Reads of fewer bytes are not cheaper.
    worth_reading = 128 << 10

    def __init__(
        self, file: File, name: str, chunks: ChunkIndex, decode: Callable[[bytes, Chunk], bytes] | None = None
    ) -> None:
        """Read the chunks of ``file``, and decode them with ``decode`` if it is given."""
        self._file = file
        self._name = name
        self._chunks = chunks
        self._decode = decode
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._ahead: list[_Block] = []
        self._pool: ThreadPoolExecutor | None = None
        #: The end of the last read, and the number of bytes read sequentially before it.
        self._next = 0
        self._run = 0

    def __del__(self) -> None:
        """Stop fetching."""
        if (pool := getattr(self, "_pool", None)) is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def chunk_size(self) -> int:
        """Bytes that are fetched together; a good granularity for split boundaries."""
        return self._chunks.chunk_size

    def size(self) -> int:
        """Bytes of the segment."""
        if self._decode is None:
            return self._file.size()
        return self._chunks.file_size

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read this number of bytes at a position; fewer only at the end.

        Raises:
            OSError: EIO, if a chunk is missing or cannot be decoded; or the error of the file system.
        """
        with self._lock:
            end = min(offset + nbytes, self._chunks.file_size)
            if offset >= end:
                return b""
            self._follow(offset, end)
            first, last = self._chunks.at(offset), self._chunks.at(end - 1)
            self._fetch(first, last)
            self._fetch_ahead(last + 1)
            parts = [self._chunk(number) for number in range(first, last + 1)]
            begin = first * self._chunks.chunk_size
            if len(parts) == 1:
                return parts[0][offset - begin : end - begin]
            parts[0] = parts[0][offset - begin :]
            parts[-1] = parts[-1][: end - last * self._chunks.chunk_size]
            return b"".join(parts)

    def _follow(self, offset: int, end: int) -> None:
        # Small steps back or forward still count as sequential.
        if self._next - (1 << 20) <= offset <= self._next + (1 << 20):
            self._run += max(end - self._next, 0)
            self._next = max(self._next, end)
        else:
            self._run, self._next = end - offset, end
            for block in self._ahead:
                block.content.cancel()
            self._ahead = [block for block in self._ahead if not block.content.cancelled()]

    def _fetch(self, first: int, last: int) -> None:
        """Start requests for those of these chunks that are neither cached nor requested, one for each gap."""
        for number, end in self._gaps(first, last + 1, MAX_REQUEST):
            if first == number and end > last:
                for place, content in enumerate(self._load(number, end)):
                    self._keep(number + place, content)
            else:
                self._start(number, end)

    def _fetch_ahead(self, number: int) -> None:
        if self._run < _AHEAD_FROM:
            return
        request = min(self._run, MAX_REQUEST)
        requests = MAX_REQUESTS if request == MAX_REQUEST else 2
        for first, end in self._gaps(number, self._chunks.count, request):
            if len(self._ahead) >= requests:
                return
            self._start(first, end)

    def _gaps(self, number: int, stop: int, most: int) -> Iterator[tuple[int, int]]:
        """Divide the chunks that are neither cached nor requested into requests of up to ``most`` bytes."""
        while number < stop:
            if self._is_there(number):
                number += 1
                continue
            end, size = number, 0
            while end < stop and not self._is_there(end):
                size += self._chunks.chunk(end).stored_size
                if end > number and size > most:
                    break
                end += 1
            yield number, end
            number = end

    def _start(self, first: int, end: int) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MAX_REQUESTS, "kafkacomp-range")
        self._ahead.append(_Block(first, end, self._pool.submit(self._load, first, end)))

    def _load(self, first: int, end: int) -> list[bytes]:
        """Fetch and decode chunks."""
        chunks = [self._chunks.chunk(number) for number in range(first, end)]
        begin, stop = chunks[0].stored_position, chunks[-1].stored_position + chunks[-1].stored_size
        data = read_exactly(self._file, self._name, stop - begin, begin)
        if self._decode is None and len(chunks) == 1:
            return [data]
        view = memoryview(data)
        found = []
        for chunk in chunks:
            start = chunk.stored_position - begin
            stored = bytes(view[start : start + chunk.stored_size])
            found.append(stored if self._decode is None else self._decode(stored, chunk))
        return found

    def _is_there(self, number: int) -> bool:
        return number in self._kept or any(block.first <= number < block.end for block in self._ahead)

    def _chunk(self, number: int) -> bytes:
        kept = self._kept.get(number)
        if kept is None:
            block = next(block for block in self._ahead if block.first <= number < block.end)
            self._ahead.remove(block)
            for place, content in enumerate(block.content.result()):
                self._keep(block.first + place, content)
            kept = self._kept[number]
        self._kept.move_to_end(number)
        while self._kept_bytes > _KEPT and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            if oldest >= number:
                break  # not read yet
            self._kept_bytes -= len(self._kept.pop(oldest))
        return kept

    def _keep(self, number: int, content: bytes) -> None:
        if number not in self._kept:
            self._kept[number] = content
            self._kept_bytes += len(content)


class AheadFile:
    """A file without chunks: after enough sequential reads, the following bytes are fetched ahead."""

    def __init__(self, file: File, name: str) -> None:
        """Read ``file``."""
        self._file = file
        self._name = name
        self._lock = threading.Lock()
        self._next = 0
        self._run = 0
        self._ranges: RangeFile | None = None

    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size()

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read up to this number of bytes at a position; the result is empty only at the end."""
        ranges = self._reading_on(nbytes, offset)
        if ranges is not None:
            try:
                return ranges.read_at(nbytes, offset)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                # Reading ahead failed; only an error of the bytes that were requested matters.
        return self._file.read_at(nbytes, offset)

    def _reading_on(self, nbytes: int, offset: int) -> RangeFile | None:
        """The file that fetches ahead, if this read continues earlier ones."""
        with self._lock:
            # A batch that was truncated by the end of a read is read again, so reads may overlap.
            follows = self._next - nbytes <= offset <= self._next
            self._run = self._run + max(offset + nbytes - self._next, 0) if follows else nbytes
            self._next = offset + nbytes
            if self._run < _AHEAD_FROM:
                return None
            if self._ranges is None:
                self._ranges = RangeFile(self._file, self._name, plain_chunks(self._file.size()))
            return self._ranges
