"""Which bytes are looked at: windows of a topic's segments, chosen by a seed, spread over all partitions and times.

A topic's segments, in the order of partitions and offsets, are cut into windows that are larger than the largest batch
that is tried, and as many are taken as the sample has bytes: one from each of that many equal stretches of the row, so
that no partition and no time is left out that has the room. The batches that *begin* in a window are its own. Every
batch is then in the sample with the same probability, whatever its size, and the batches of a window follow on one
another, so that they can be joined to larger ones.
"""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._storage.discovery import resolve

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from kafkacomp._storage.discovery import Segment
    from kafkacomp.advise.settings import Settings

__all__ = ["LINES", "LOG", "PARQUET", "Source", "Topic", "Window", "count_windows", "find_topics", "windows_of"]

#: Windows have at least this size, and at most that of what is held of one (``content.MOST_PLAIN``).
_LEAST_WINDOW: Final = 1 << 20
_MOST_WINDOW: Final = 32 << 20
#: A window has room for this many of the largest batches that are tried, if the sample has this many windows then, and
#: in any case for one and a quarter.
_BATCHES: Final = 4
_WINDOWS: Final = 8
#: Kafka's own topics (``Topic.isInternal``), those of KRaft and of tiered storage; clients do not produce to them.
_INTERNAL: Final = frozenset(
    {
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
    }
)

#: What a source is.
LOG: Final = "log"
LINES: Final = "lines"
PARQUET: Final = "parquet"

_SAMPLE_FILES: Final = {".jsonl": LINES, ".ndjson": LINES, ".parquet": PARQUET}


@dataclass(frozen=True)
class Source:
    """A segment, or a file of records; pickles where its file system does."""

    kind: str
    name: str
    #: What it is opened by: a local path, bytes, or an object with ``open_segment``.
    source: Any
    #: Bytes.
    size: int
    partition: int | None = None
    base_offset: int | None = None
    #: When a local file was last changed, ms.
    modified: int | None = None


@dataclass(frozen=True)
class Window:
    """A stretch of a source: the batches, or lines, that begin in it."""

    source: Source
    start: int
    end: int


@dataclass
class Topic:
    """The segments of one topic."""

    name: str
    sources: list[Source] = field(default_factory=list)
    #: Whether a path names the topic's own folder or file.
    named: bool = False

    @property
    def internal(self) -> bool:
        """Whether it is one of Kafka's own topics."""
        return self.name in _INTERNAL

    @property
    def size(self) -> int:
        """Bytes of all its segments."""
        return sum(source.size for source in self.sources)

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len({source.partition for source in self.sources})


def find_topics(
    paths: Iterable[str | os.PathLike[str] | bytes], failed: Callable[[str, Exception], object]
) -> list[Topic]:
    """The topics that the paths hold, in the order in which they are found.

    Args:
        paths: Log folders, partitions, segments, URLs of these, record sets as bytes; files of records by their suffix:
            ``.jsonl``, ``.ndjson``, ``.parquet``.
        failed: Called with what cannot be read and why; the rest goes on.
    """
    topics: dict[str, Topic] = {}
    seen: set[str] = set()
    for path in paths:
        try:
            for source, topic in _sources(path, failed):
                found = topics.setdefault(topic, Topic(topic))
                found.named |= not isinstance(path, bytes) and topic in str(path)
                if isinstance(path, bytes) or source.name not in seen:
                    found.sources.append(source)
                seen.add(source.name)
        except (OSError, ValueError) as error:
            failed("bytes" if isinstance(path, bytes) else str(path), error)
    return list(topics.values())


def _sources(
    path: str | os.PathLike[str] | bytes, failed: Callable[[str, Exception], object]
) -> Iterable[tuple[Source, str]]:
    kind = None if isinstance(path, bytes) else _SAMPLE_FILES.get(Path(path).suffix)
    if kind is not None and Path(path).is_file():  # type: ignore[arg-type]  # bytes have no kind
        file = Path(path)  # type: ignore[arg-type]
        yield Source(kind, str(file), str(file), file.stat().st_size), file.stem
        return
    for partition in resolve(path, failed=failed):
        for segment in partition.segments:
            topic = partition.topic or _stem(segment)
            modified = _modified(segment)
            source = Source(
                LOG, segment.name, segment.source, segment.size, partition.partition, segment.base_offset, modified
            )
            yield source, topic


def _modified(segment: Segment) -> int | None:
    if not isinstance(segment.source, str):
        return None
    try:
        return Path(segment.source).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None  # the reading of the window says what is wrong


def _stem(segment: Segment) -> str:
    return segment.name.replace("\\", "/").rpartition("/")[2]


def window_bytes(settings: Settings) -> int:
    """The size of a window, bytes on disk."""
    largest = max(settings.batch_sizes, default=0)
    wanted = min(_BATCHES * largest, settings.sample_bytes // _WINDOWS)
    return min(max(wanted, largest + largest // 4, _LEAST_WINDOW), _MOST_WINDOW)


def count_windows(topic: Topic, settings: Settings) -> int:
    """How many windows a topic has, in the sample or not."""
    return sum(-(-source.size // window_bytes(settings)) for source in topic.sources)


def windows_of(topic: Topic, settings: Settings) -> list[Window]:
    """The windows of a topic's sample, in the order of its partitions and offsets."""
    sources = [source for source in topic.sources if source.size]
    width = window_bytes(settings)
    counts = [-(-source.size // width) for source in sources]
    total = sum(counts)
    if not total:
        return []
    size = sum(source.size for source in sources)
    wanted = min(total, -(-settings.sample_bytes * total // size))
    chooser = random.Random(f"{settings.seed}:{topic.name}")  # noqa: S311 - a sample, no secret
    ends = list(accumulate(counts))
    chosen = []
    for stretch in range(wanted):
        first, behind = stretch * total // wanted, (stretch + 1) * total // wanted
        at = chooser.randrange(first, behind)
        which = bisect.bisect_right(ends, at)
        start = (at - (ends[which] - counts[which])) * width
        chosen.append(Window(sources[which], start, min(start + width, sources[which].size)))
    return chosen
