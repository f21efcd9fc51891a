"""Partitions of four segments of small batches, and what is written over them."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "PAGE", "Batch", "batch", "batches", "bytes_of", "folder_of", "four_segments", "joined", "overwritten", "untouched",
    "with_epoch", "with_offset",
]  # fmt: skip

PAGE = 4096
#: The offsets of a batch and its bytes.
Batch = tuple[range, bytes]


def batch(first: int, count: int = 5, *, epoch: int = 3, magic: int = 2, codec: str = "none", what: str = "") -> Batch:
    """A batch of about 1,000 bytes, whose values have their offsets."""
    noise = random.Random(f"{first} {what}")
    settings = {} if magic < 2 else {"partition_leader_epoch": epoch}
    builder = record.RecordBatchBuilder(magic, codec, base_offset=first, **settings)  # type: ignore[arg-type]
    for offset in range(first, first + count):
        value = f"{what} {offset} {noise.randbytes(90).hex()}".encode()
        builder.append(value, timestamp=-1 if magic == 0 else 1000 + offset, offset=offset)
    return range(first, first + count), builder.build()


def batches(offsets: range, count: int = 5, **options: Any) -> list[Batch]:
    return [batch(first, count, **options) for first in offsets[::count]]


def joined(parts: Iterable[Batch]) -> bytes:
    return b"".join(data for _, data in parts)


def with_offset(part: Batch, offset: int) -> Batch:
    return part[0], struct.pack(">q", offset) + part[1][8:]


def with_epoch(part: Batch, epoch: int) -> Batch:
    return part[0], part[1][:12] + struct.pack(">i", epoch) + part[1][16:]


def folder_of(path: Path, segments: dict[int, bytes]) -> Path:
    path.mkdir(parents=True)
    for base, data in segments.items():
        (path / f"{base:020}.log").write_bytes(data)
    return path


def untouched(parts: Sequence[Batch], at: int, length: int = PAGE) -> list[Batch]:
    """The batches of a file outside of these bytes."""
    found, position = [], 0
    for part in parts:
        if position + len(part[1]) <= at or at + length <= position:
            found.append(part)
        position += len(part[1])
    return found


def overwritten(data: bytes, at: int, page: bytes) -> bytes:
    return data[:at] + page + data[at + len(page) :]


def four_segments(start: int = 0) -> dict[int, list[Batch]]:
    return {base: batches(range(base, base + 50)) for base in range(start, start + 200, 50)}


def bytes_of(segments: dict[int, list[Batch]]) -> dict[int, bytes]:
    return {base: joined(parts) for base, parts in segments.items()}
