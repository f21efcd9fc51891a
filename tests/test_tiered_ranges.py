"""What is fetched of objects: counted, with a file system that takes its time."""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.tiered import TieredCase, cases
from kafkacomp import record
from kafkacomp._storage.chunks import ChunkIndex, plain_chunks
from kafkacomp._storage.ranges import MAX_REQUESTS, RangeFile, read_exactly

if TYPE_CHECKING:
    from collections.abc import Callable


class Counting:
    """A file whose content is a function of the position; each read takes a while."""

    def __init__(self, size: int, latency: float = 0.0, most: int | None = None) -> None:
        self._size = size
        self._latency = latency
        self._most = most
        self._lock = threading.Lock()
        self.requests: list[tuple[int, int]] = []
        self.under_way = 0
        self.most_under_way = 0

    def size(self) -> int:
        """Bytes of the file."""
        return self._size

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """So many bytes at a position."""
        with self._lock:
            self.requests.append((offset, nbytes))
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        time.sleep(self._latency)
        with self._lock:
            self.under_way -= 1
        end = min(offset + min(nbytes, self._most or nbytes), self._size)
        return content(offset, end)

    @property
    def fetched(self) -> int:
        """Bytes that were asked for."""
        return sum(nbytes for _, nbytes in self.requests)


BLOCK = bytes(range(251)) * 67


def content(start: int, end: int) -> bytes:
    first = start // len(BLOCK) * len(BLOCK)
    return (BLOCK * ((end - first) // len(BLOCK) + 1))[start - first : end - first]


def opened(file: Counting, chunk_size: int | None = None) -> RangeFile:
    chunks = plain_chunks(file.size())
    if chunk_size is not None:
        count = -(-file.size() // chunk_size)
        chunks = ChunkIndex(chunk_size, file.size(), chunk_size, file.size() - (count - 1) * chunk_size)
    return RangeFile(file, "object", chunks)


def test_all_of_a_gibibyte_in_order() -> None:
    """At most 1.02 times the object, at most a request for 8 MiB, several under way, and not too many."""
    size = 1 << 30
    file = Counting(size, latency=0.002)
    reading = opened(file)
    position = 0
    while position < size:
        position += len(reading.read_at(4 << 20, position))
    assert file.fetched <= 1.02 * size
    assert len(file.requests) <= size / (8 << 20)
    assert 2 <= file.most_under_way <= MAX_REQUESTS + 1


@pytest.mark.parametrize("step", [1, 1000, 70_000, 1 << 20, 5_000_000])
@pytest.mark.parametrize("chunk_size", [None, 999, 65_536])
def test_what_is_read_is_what_is_there(step: int, chunk_size: int | None) -> None:
    size = min(step * 2000, 20_000_000) + 17
    reading = opened(Counting(size), chunk_size)
    position, found = 0, []
    while part := reading.read_at(step, position):
        found.append(part)
        position += len(part)
    assert b"".join(found) == content(0, size)


def test_random_positions_fetch_what_they_need() -> None:
    file = Counting(64 << 20)
    reading = opened(file)
    for position in (50 << 20, 3 << 20, 33 << 20, 20 << 20):
        assert reading.read_at(1000, position + 5) == content(position + 5, position + 1005)
    assert file.fetched == 4 << 20
    assert reading.read_at(10, 64 << 20) == b""
    assert reading.read_at(100, (64 << 20) - 7) == content((64 << 20) - 7, 64 << 20)


def test_back_and_forth() -> None:
    """Jumps after reading ahead: what is under way is left, and the bytes are right."""
    file = Counting(200 << 20, latency=0.001)
    reading = opened(file)
    for start in (0, 100 << 20, 30 << 20, 150 << 20, 0):
        for position in range(start, start + (24 << 20), 3 << 20):
            assert reading.read_at(3 << 20, position) == content(position, position + (3 << 20))


def test_a_short_read_is_resumed() -> None:
    file = Counting(3 << 20, most=100_000)
    assert read_exactly(file, "object", 1 << 20, 77) == content(77, 77 + (1 << 20))
    reading = opened(file)
    assert reading.read_at(2 << 20, 5) == content(5, 5 + (2 << 20))


def test_an_object_that_ends_before() -> None:
    """It is an error, and not the end."""

    class Shorter(Counting):
        def read_at(self, nbytes: int, offset: int) -> bytes:
            return super().read_at(nbytes, offset) if offset < 1_500_000 else b""

    reading = opened(Shorter(3 << 20, most=100_000))
    with pytest.raises(OSError, match="the object ends at byte") as raised:
        reading.read_at(2 << 20, 0)
    assert raised.value.errno == 5


def segment(size: int, value_size: int = 3000) -> bytes:
    """A segment of about so many bytes, a batch for 16 KiB."""
    data, offset = [], 0
    total = 0
    values = [os.urandom(value_size) for _ in range(5)]
    while total < size:
        builder = record.RecordBatchBuilder(base_offset=offset)
        for _ in range(5):
            builder.append(values[offset % 5], timestamp=offset)
            offset += 1
        data.append(bytes(builder.build()))
        total += len(data[-1])
    return b"".join(data)


def index_of(data: bytes) -> bytes:
    """Its offset index: an entry for each batch but the first."""
    batches = (batch for batch in record.read_batches(data) if batch.position)
    return b"".join(batch.last_offset.to_bytes(4, "big") + batch.position.to_bytes(4, "big") for batch in batches)


class Opener:
    """A segment in memory behind a counting range file."""

    def __init__(self, data: bytes, chunk_size: int) -> None:
        self.file = Stored(data)
        self._index = index_of(data)
        self._chunk_size = chunk_size

    def open_segment(self) -> RangeFile:
        """As the core calls it."""
        size = len(self.file.data)
        count = -(-size // self._chunk_size)
        chunks = ChunkIndex(self._chunk_size, size, self._chunk_size, size - (count - 1) * self._chunk_size)
        return RangeFile(self.file, "object", chunks)

    def side_file(self, suffix: str) -> bytes | None:
        """As the core calls it."""
        return self._index if suffix == "index" else None


class Stored:
    """Bytes whose reads are counted."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.requests: list[int] = []

    def size(self) -> int:
        """Bytes of the file."""
        return len(self.data)

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """So many bytes at a position."""
        self.requests.append(nbytes)
        return self.data[offset : offset + nbytes]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_percent_of_the_offsets(threads: int) -> None:
    """Of an object of 64 MiB with chunks of 1 MiB at most 5% is fetched."""
    from kafkacomp._storage.partition import Partition, Segment  # noqa: PLC0415 - for this test only

    data = segment(64 << 20)
    count = sum(batch.records_count or 0 for batch in record.read_batches(data, verify_crc=False))
    for place in (0.0, 0.31, 0.5, 0.77, 0.985):
        opener = Opener(data, 1 << 20)
        partition = Partition("t", 0, [Segment("t", opener, len(data), base_offset=0)])
        start, end = int(count * place), int(count * (place + 0.01))
        reader = kc.scan(
            partition, columns=["offset"], start_offset=start, end_offset=end, options=kc.ScanOptions(threads=threads)
        )
        assert pa.table(reader)["offset"].to_pylist() == [*range(start, end)]
        assert sum(opener.file.requests) <= 0.05 * len(data), place


def test_a_read_of_a_partition_fetches_its_objects_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk of each object is fetched once where all is read."""
    from kafkacomp._storage import filesystem  # noqa: PLC0415 - private names

    case: TieredCase = next(case for case in cases() if case.name == "gold-a-plain-txn-0")
    fetched: dict[str, int] = {}
    original: Callable[..., Any] = filesystem._Local.open

    class Watched:
        def __init__(self, file: Any, path: str) -> None:
            self._file, self._path = file, path

        def size(self) -> int:
            return int(self._file.size())

        def read_at(self, nbytes: int, offset: int) -> bytes:
            data: bytes = self._file.read_at(nbytes, offset)
            fetched[self._path] = fetched.get(self._path, 0) + len(data)
            return data

    monkeypatch.setattr(filesystem._Local, "open", lambda self, path: Watched(original(self, path), path))
    pa.table(kc.scan(case.folder))
    logs = {path: size for path, size in fetched.items() if path.endswith(".log")}
    assert logs == {str(path): path.stat().st_size for path in case.folder.glob("*.log")}


# ----------------------------------------------------------------------------------------------- a range server

MIB = 1 << 20
TOPIC_ID, SEGMENT_ID = "A" * 22, "B" * 22
STEM = f"{0:020}-{SEGMENT_ID}"


class RangeServer:
    """A web server with a segment in Aiven's layout, whose batches of one record are made as they are read."""

    def __init__(self, batches: int, latency: float, batch_bytes: int = MIB, chunk_bytes: int = 4 * MIB) -> None:
        probe = record.RecordBatchBuilder(compression_type="none")
        probe.append(b"v" * (batch_bytes - 100), timestamp=1)
        builder = record.RecordBatchBuilder(compression_type="none")
        builder.append(b"v" * (2 * batch_bytes - 100 - len(probe.build())), timestamp=1)
        self.batch = bytes(builder.build())
        assert len(self.batch) == batch_bytes
        self.count, self.size, self.chunk_bytes, self.latency = batches, batches * batch_bytes, chunk_bytes, latency
        self.requests: list[int] = []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()
        handler = type("Handler", (_Ranges,), {"served": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/t-{TOPIC_ID}/0/{STEM}.log"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def manifest(self) -> bytes:
        """The segment's manifest: chunks that are plain copies."""
        chunk = self.chunk_bytes
        identity = {"topicIdPartition": {"topicId": TOPIC_ID, "topicPartition": {"topic": "t", "partition": 0}}}
        index, nothing = ({"position": 0, "size": size} for size in (len(self.index()), 0))
        return json.dumps(
            {
                "version": "1",
                "chunkIndex": {"type": "fixed", "originalChunkSize": chunk, "originalFileSize": self.size,
                               "transformedChunkSize": chunk, "finalTransformedChunkSize": chunk},
                "segmentIndexes": {"offset": index, "timestamp": nothing},
                "compression": False,
                "remoteLogSegmentMetadata": {
                    "remoteLogSegmentId": identity | {"id": SEGMENT_ID}, "startOffset": 0,
                    "endOffset": self.count - 1, "maxTimestampMs": 1, "brokerId": 0, "eventTimestampMs": 1,
                    "segmentLeaderEpochs": {"0": 0},
                },
            }
        ).encode()  # fmt: skip

    def index(self) -> bytes:
        """The offset index, which is all that ``.indexes`` has."""
        size = len(self.batch)
        return b"".join(
            number.to_bytes(4, "big") + (number * size).to_bytes(4, "big") for number in range(1, self.count)
        )

    def log(self, start: int, end: int) -> bytes:
        """Bytes of the segment: the same batch with other base offsets, which no checksum covers."""
        size = len(self.batch)
        numbers = range(start // size, -(-end // size))
        data = b"".join(number.to_bytes(8, "big") + self.batch[8:] for number in numbers)
        return data[start - numbers.start * size : end - numbers.start * size]


class _Ranges(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: RangeServer

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is logged."""

    def _answer(self, *, body: bool) -> None:
        served, name = self.served, self.path.rpartition("/")[2]
        if name == f"{STEM}.log":
            self._log(body=body)
            return
        links = "".join(f'<a href="{STEM}.{suffix}">x</a>' for suffix in ("log", "indexes", "rsm-manifest"))
        contents = {
            "0": links.encode(),
            f"{STEM}.rsm-manifest": served.manifest(),
            f"{STEM}.indexes": served.index(),
        }
        content = contents.get(name)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if body:
            self.wfile.write(content or b"")

    def _log(self, *, body: bool) -> None:
        served, wanted = self.served, self.headers.get("Range")
        start, end = 0, served.size
        if wanted is not None:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or served.size - 1) + 1, served.size)
        if body:
            with served.lock:
                served.requests.append(end - start)
                served.under_way += 1
                served.most_under_way = max(served.most_under_way, served.under_way)
            time.sleep(served.latency)
        self.send_response(200 if wanted is None else 206)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start))
        if wanted is not None:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{served.size}")
        self.end_headers()
        if body:
            self.wfile.write(served.log(start, end))
            with served.lock:
                served.under_way -= 1


@pytest.mark.slow
def test_a_gibibyte_from_a_range_server() -> None:
    """At most 1.02 times the object, at most a request for 8 MiB, several at once."""
    with RangeServer(1024, latency=0.05) as server:
        reader = kc.scan(server.url, columns=["offset"])
        assert pa.table(reader)["offset"].to_pylist() == [*range(1024)]
    assert sum(server.requests) <= 1.02 * server.size
    assert len(server.requests) <= server.size / (8 * MIB)
    assert server.most_under_way >= 2


def test_a_few_offsets_from_a_range_server() -> None:
    """One percent of the offsets of 400 MiB is in two chunks of 4 MiB."""
    with RangeServer(400, latency=0.02) as server:
        reader = kc.scan(server.url, columns=["offset"], start_offset=100, end_offset=104)
        assert pa.table(reader)["offset"].to_pylist() == [100, 101, 102, 103]
    assert sum(server.requests) <= 0.05 * server.size


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("chunk_bytes", [MIB, 256 << 10, 64 << 10])
def test_one_percent_from_a_range_server(chunk_bytes: int, threads: int) -> None:
    """Of an object of 64 MiB at most 5%, wherever the offsets are, in few requests."""
    with RangeServer(4096, latency=0.005, batch_bytes=16 << 10, chunk_bytes=chunk_bytes) as server:
        assert server.size == 64 * MIB
        for place in (0.0, 0.31, 0.5, 0.77, 0.985):
            start, end = int(4096 * place), int(4096 * (place + 0.01))
            reader = kc.scan(
                server.url,
                columns=["offset"],
                start_offset=start,
                end_offset=end,
                options=kc.ScanOptions(threads=threads),
            )
            server.requests.clear()
            assert pa.table(reader)["offset"].to_pylist() == [*range(start, end)]
            assert sum(server.requests) <= 0.05 * server.size, (place, server.requests)
            assert len(server.requests) <= 8, (place, server.requests)
