"""The intact logs that corruption is injected into: built ones and real ones, of every message format and codec."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from corruption.framing import Batch, frames
from golden.expect import SMALL
from kafkacomp import record

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Log", "all_logs", "built", "index_files", "real", "rebuilt_values"]

#: Message format -> codecs that Kafka has for it.
CODECS = {
    0: ("none", "gzip", "snappy", "lz4"),
    1: ("none", "gzip", "snappy", "lz4"),
    2: ("none", "gzip", "snappy", "lz4", "zstd"),
}
#: Real segments, none of them compacted: case -> file.
_REAL = {
    "v0 none": "legacy/broker-0.8.2.2/sp-none.log",
    "v0 gzip": "legacy/broker-0.8.2.2/sp-gzip.log",
    "v0 snappy": "legacy/broker-0.8.2.2/sp-snappy.log",
    "v0 lz4": "legacy/broker-0.10.0.1/f09-lz4.log",
    "v1 none": "legacy/broker-0.10.0.1/lat-none.log",
    "v1 lz4": "legacy/broker-0.10.0.1/ct-lz4.log",
    "v1 gzip": "legacy/broker-2.8.2/f010-gzip.log",
    "v1 snappy": "legacy/broker-2.8.2/f010-snappy.log",
    "v2 gzip": "legacy/broker-2.8.2/ct-gzip.log",
    "v2 snappy": "legacy/broker-3.9.1/ct-snappy.log",
    "v2 lz4": "modern/librdkafka-lz4/librdkafka-lz4-0/00000000000000000000.log",
    "v2 zstd": "modern/restarts/restarts-0/00000000000000000000.log",
    "v2 one byte": "modern/one-byte-values/one-byte-values-0/00000000000000000000.log",
}
_COMPACTED = {"v2 compacted": "modern/compact/compact-0"}


@dataclass(frozen=True)
class Log:
    """An intact partition."""

    name: str
    segments: tuple[tuple[Batch, ...], ...]
    is_compacted: bool = False

    @property
    def batches(self) -> tuple[Batch, ...]:
        """All of them in order."""
        return tuple(batch for segment in self.segments for batch in segment)

    def __str__(self) -> str:
        """Name the log in test ids."""
        return self.name.replace(" ", "-")


@cache
def built(magic: int, codec: str, *, segments: int = 4, batches: int = 5) -> Log:
    """A log of small batches with several records each; of magic 0 and 1 without codec, messages by themselves."""
    offset, found = 0, list[Batch]()
    made: list[list[Batch]] = []
    for number in range(segments):
        made.append([])
        for place in range(batches):
            count = 1 if magic < 2 and codec == "none" else 2 + (number + place) % 4
            batch = _built_batch(magic, codec, offset, count, len(found), b"value")
            found.append(batch)
            made[-1].append(batch)
            offset += count
    return Log(f"built v{magic} {codec}", tuple(map(tuple, made)))


def _built_batch(magic: int, codec: str, offset: int, count: int, number: int, text: bytes) -> Batch:
    epoch = 3 if magic == 2 else record.NO_PARTITION_LEADER_EPOCH
    builder = record.RecordBatchBuilder(magic, codec, base_offset=offset, partition_leader_epoch=epoch)
    records = []
    for each in range(offset, offset + count):
        value = b"%s %d " % (text, each) + b"abcdefgh" * 3
        builder.append(value, key=b"key %d" % each, timestamp=1_700_000_000_000 + each)
        records.append((each, value))
    data = builder.build()
    return Batch(number, data, magic, offset, offset + count - 1, tuple(records), codec != "none")


def rebuilt_values(batch: Batch) -> Batch:
    """A batch with the same offsets and other values, as another leader may have written it."""
    count = batch.last - batch.first + 1
    codec = "none" if batch.magic < 2 and count == 1 else "gzip"
    return _built_batch(batch.magic, codec, batch.first, count, batch.number, b"other")


@cache
def real() -> tuple[Log, ...]:
    """Segments that brokers wrote, split at batch boundaries into several, as ``segment.bytes`` would have."""
    found = [_split(name, SMALL / path) for name, path in _REAL.items()]
    found += [_folder(name, SMALL / path) for name, path in _COMPACTED.items()]
    return tuple(found)


def _split(name: str, path: Path) -> Log:
    batches = _batches(path.read_bytes(), _values(path))
    # Few batches are enough, and keep the logs small.
    batches = batches[:40]
    parts = min(4, max(2, len(batches) // 3))
    bounds = [len(batches) * part // parts for part in range(parts + 1)]
    segments = tuple(tuple(batches[a:b]) for a, b in pairwise(bounds))
    return Log(f"real {name}", segments)


def _folder(name: str, folder: Path) -> Log:
    segments, number = [], 0
    for path in sorted(folder.glob("*.log")):
        batches = _batches(path.read_bytes(), _values(path), number)
        number += len(batches)
        if batches:
            segments.append(tuple(batches))
    return Log(f"real {name}", tuple(segments), is_compacted=True)


def _values(path: Path) -> dict[int, bytes | None]:
    """Offset -> value as Kafka's own reader gave it."""
    legacy = path.with_name(f"{path.stem}.expected.jsonl.gz")
    modern = path.parent.with_name(f"{path.parent.name}.expect") / "expected.jsonl.gz"
    with gzip.open(legacy if legacy.exists() else modern, "rt", encoding="utf-8") as lines:
        found: dict[int, bytes | None] = {}
        for line in lines:
            row = json.loads(line)
            value = row.get("value")
            found[row["offset"]] = None if value is None else base64.b64decode(value)
    return found


def _batches(data: bytes, values: dict[int, bytes | None], number: int = 0) -> list[Batch]:
    found: list[Batch] = []
    expected = 0
    for frame in frames(data):
        first = frame.offset if frame.magic == 2 or not frame.is_compressed else expected
        if not found:
            first = min((each for each in values if each >= expected), default=0) if frame.is_compressed else first
        records = tuple((each, values[each]) for each in range(first, frame.last + 1) if each in values)
        content = data[frame.position : frame.position + frame.size]
        found.append(Batch(number + len(found), content, frame.magic, first, frame.last, records, frame.is_compressed))
        expected = frame.last + 1
    return found


def index_files(base: int, batches: tuple[Batch, ...]) -> dict[str, bytes]:
    """Build the indexes of a segment, with an entry for every second batch."""
    index, times = bytearray(), bytearray()
    position, latest, offset, stored = 0, -1, -1, -1
    for place, batch in enumerate(batches):
        if batch.magic == 2:
            (time,) = struct.unpack_from(">q", batch.data, 35)
            if time > latest:
                latest, offset = time, batch.last
        if place % 2 == 1:
            index += struct.pack(">ii", batch.last - base, position)
            if latest > stored:
                times += struct.pack(">qi", latest, offset - base)
                stored = latest
        position += len(batch.data)
    return {"index": bytes(index), "timeindex": bytes(times)}


def all_logs() -> tuple[Log, ...]:
    """Built logs of every format and codec, then the real ones."""
    return (*(built(magic, codec) for magic, codecs in CODECS.items() for codec in codecs), *real())
