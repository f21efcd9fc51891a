"""Random logs that nothing is wrong with, and what is in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from kafkacomp import record

if TYPE_CHECKING:
    import random
    from pathlib import Path

__all__ = ["CODECS", "Contents", "HealthyLog", "MadeBatch", "batch_of", "random_log"]

#: Message format -> codecs that Kafka has for it.
CODECS = {
    0: ("none", "gzip", "snappy", "lz4"),
    1: ("none", "gzip", "snappy", "lz4"),
    2: ("none", "gzip", "snappy", "lz4", "zstd"),
}
_START = 1_700_000_000_000


@dataclass(frozen=True)
class MadeBatch:
    """A batch, or a message without a wrapper, and what is in it."""

    magic: int
    codec: str
    #: Offset and timestamp of each record; -1 without one.
    records: tuple[tuple[int, int], ...]
    data: bytes
    #: The size of its records after decompression; that of the batch if it is not compressed.
    records_bytes: int
    is_control: bool = False

    @property
    def first(self) -> int:
        """The first offset."""
        return self.records[0][0]

    @property
    def last(self) -> int:
        """The last offset."""
        return self.records[-1][0]


@dataclass
class Contents:
    """The sums over batches: each offset counts once."""

    control_records: int = 0
    records: Counter[tuple[str, str]] = field(default_factory=Counter)
    batches: Counter[tuple[str, str]] = field(default_factory=Counter)
    stored_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    records_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Timestamps of records that have one.
    times: list[int] = field(default_factory=list)


@dataclass
class HealthyLog:
    """A partition: the batches of each segment by its base offset."""

    segments: list[tuple[int, list[MadeBatch]]]
    has_overlaps: bool = False

    @property
    def has_wrappers(self) -> bool:
        """Whether headers do not have the number of all records."""
        return any(each.magic < 2 and each.codec != "none" for _, batches in self.segments for each in batches)

    def write(self, folder: Path) -> Path:
        """Write the folder ``t-0``."""
        target = folder / "t-0"
        target.mkdir(parents=True)
        for base, batches in self.segments:
            (target / f"{base:020}.log").write_bytes(b"".join(each.data for each in batches))
        return target

    def contents(self) -> Contents:
        """What a reader gets."""
        found, end = Contents(), 0
        for _, batches in self.segments:
            start = end
            for each in batches:
                end = max(end, each.last + 1)
                if each.last < start:
                    continue
                key = (str(each.magic), each.codec)
                found.batches[key] += 1
                found.stored_bytes[key] += len(each.data)
                found.records_bytes[key] += each.records_bytes
                new = [time for offset, time in each.records if offset >= start]
                if each.is_control:
                    found.control_records += len(new)
                else:
                    found.records[key] += len(new)
                    found.times += [time for time in new if time != -1]
        return found


def random_log(rng: random.Random) -> HealthyLog:
    """Make segments of batches of several formats and codecs, with transactions, compaction or overlaps."""
    is_compacted, has_overlaps = rng.random() < 0.3, rng.random() < 0.3
    magics = rng.choice([(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
    offset, segments = 0, list[tuple[int, list[MadeBatch]]]()
    for _ in range(rng.randint(1, 4)):
        base, batches = offset, list[MadeBatch]()
        for _ in range(rng.randint(1, 6)):
            magic = rng.choice(magics)
            made = (
                _transaction(rng, offset) if magic == 2 and rng.random() < 0.3 else [_random_batch(rng, magic, offset)]
            )
            offset = made[-1].last + 1
            if is_compacted:
                made = [each for batch in made if (each := _cleaned(rng, batch)) is not None]
            batches += made
        if batches:
            segments.append((base, batches))
    if not segments:
        return random_log(rng)
    log = HealthyLog(segments)
    if has_overlaps and not is_compacted:
        _overlap(rng, log)
    return log


def _cleaned(rng: random.Random, batch: MadeBatch) -> MadeBatch | None:
    """Remove records at random, as compaction does; ``None`` if none is left."""
    if batch.is_control:
        return batch
    kept = [each for each in batch.records if rng.random() < 0.7]
    return batch_of(batch.magic, batch.codec, kept) if kept else None


def _overlap(rng: random.Random, log: HealthyLog) -> None:
    """Begin segments with records of the segment before, as files of different leaders do."""
    for index, ((_, before), (_, batches)) in enumerate(pairwise(list(log.segments)), 1):
        copied = before[-rng.randint(0, len(before)) :] if rng.random() < 0.7 else []
        # The name of the segment before must be lower.
        if copied and copied[0].first > log.segments[index - 1][0]:
            log.segments[index] = (copied[0].first, [*copied, *batches])
            log.has_overlaps = True


def _random_batch(rng: random.Random, magic: int, offset: int) -> MadeBatch:
    codec = rng.choice(CODECS[magic])
    count = 1 if magic < 2 and codec == "none" else rng.randint(1, 40)
    time = rng.choice([_START + offset, _START + rng.randint(-(10**6), 10**6)])
    times = [-1 if magic == 0 or rng.random() < 0.05 else time + rng.randint(-1000, 1000) for _ in range(count)]
    return batch_of(magic, codec, list(zip(range(offset, offset + count), times, strict=True)))


def batch_of(
    magic: int, codec: str, records: list[tuple[int, int]], value: bytes | None = None, producer_id: int = -1
) -> MadeBatch:
    """Make a batch of records with these offsets and timestamps; default: values of various sizes."""
    data = _built(magic, codec, records, value, producer_id)
    plain = len(data)
    if codec != "none":
        # The records without the header of their batch, or the messages without a wrapper.
        one_by_one = magic < 2
        parts = [[each] for each in records] if one_by_one else [records]
        plain = sum(len(_built(magic, "none", part, value, producer_id)) - (0 if one_by_one else 61) for part in parts)
    return MadeBatch(magic, codec, tuple(records), data, plain)


def _built(magic: int, codec: str, records: list[tuple[int, int]], value: bytes | None, producer_id: int) -> bytes:
    is_transactional = producer_id >= 0
    builder = record.RecordBatchBuilder(
        magic,
        codec,
        base_offset=records[0][0],
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=records[0][0] if is_transactional else -1,
    )
    for offset, time in records:
        builder.append(
            value or b"%d " % offset * (1 + offset % 50), key=b"k%d" % (offset % 7), timestamp=time, offset=offset
        )
    return builder.build()


def _transaction(rng: random.Random, offset: int) -> list[MadeBatch]:
    """Make a batch of a transaction and its marker, whose timestamp is later than all records."""
    producer_id = rng.randint(0, 3)
    plain = _random_batch(rng, 2, offset)
    data = batch_of(2, plain.codec, list(plain.records), producer_id=producer_id)
    time = _START + 10**7
    marker = record.RecordBatchBuilder(
        2, "none", base_offset=data.last + 1, is_transactional=True, is_control_batch=True, producer_id=producer_id,
        producer_epoch=0,
    )  # fmt: skip
    marker.append_end_txn_marker(rng.random() < 0.5, timestamp=time)
    made = marker.build()
    return [data, MadeBatch(2, "none", ((data.last + 1, time),), made, len(made), is_control=True)]
