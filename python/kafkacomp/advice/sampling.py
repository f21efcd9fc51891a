"""Choose the bytes to read: windows of a topic's segments, chosen by a seed and spread over all partitions and times.

A topic's segments, in the order of partitions and offsets, are divided into windows. The sample consists of as many
windows as its size allows, one from each of that many equal parts of this sequence, so that no large partition or
time span is left out. One half of the sample are many narrow windows, which show how the topic's content varies. The
other half are wide windows, larger than the largest batch size to try, which show the effect of large batches. A topic
that is not larger than the sample is read completely, in wide windows.

A window contains the batches that *begin* in it. Every batch is then in the sample with the same probability, whatever
its size, and the batches of a window are consecutive, so that they can be merged into larger ones.
"""

from __future__ import annotations

import bisect
import errno
import os
import random
import stat
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkacomp._storage.names import INTERNAL_TOPICS
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkacomp._storage.partition import Segment, SegmentSource
    from kafkacomp.advice.settings import Settings

#: The number of narrow windows, and their least and greatest size in bytes.
_NARROW_WINDOWS: Final = 64
_LEAST_NARROW: Final = 64 << 10
_MOST_NARROW: Final = 1 << 20
#: A narrow window must be this many times as large as a batch size that is tried in it: batches that compress well
#: contain many more bytes than their size.
_ROOM: Final = 16
#: The least size of a wide window, and the greatest: what is kept in memory of one (``content.MOST_PLAIN``).
_LEAST_WIDE: Final = 1 << 20
_MOST_WIDE: Final = 32 << 20
#: A wide window has room for this many of the largest batches, if the sample then has this many wide windows; otherwise
#: for fewer, but at least for one and a quarter.
_BATCHES: Final = 4
_WIDE_WINDOWS: Final = 4
#: A source as it is given.
Given: TypeAlias = "str | os.PathLike[str] | bytes | SegmentSource"

#: The kinds of sources.
LOG: Final = "log"
LINES: Final = "lines"
PARQUET: Final = "parquet"

_SAMPLE_FILES: Final = {".jsonl": LINES, ".ndjson": LINES, ".parquet": PARQUET}


@dataclass(frozen=True)
class Source:
    """A segment, or a file of records; it can be pickled if its file system can."""

    kind: str
    name: str
    #: The :class:`kafkacomp._storage.partition.Segment`; for a file of records, its path.
    source: Any
    #: Size in bytes.
    size: int
    partition: int | None = None
    base_offset: int | None = None
    #: Modification time of a local file in milliseconds.
    modified: int | None = None


@dataclass(frozen=True)
class Window:
    """A range of bytes of a source: the batches, or lines, that begin in it."""

    source: Source
    start: int
    end: int
    #: Whether it is one of the windows that represent the topic.
    basis: bool = True
    #: The batch sizes for which it is large enough.
    batch_sizes: tuple[int, ...] = ()


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
        return self.name in INTERNAL_TOPICS

    @property
    def size(self) -> int:
        """Bytes of all its segments."""
        return sum(source.size for source in self.sources)

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len({source.partition for source in self.sources})


def find_topics(
    paths: Iterable[Given],
    failed: Callable[[str, Exception], object],
    opening: SourceOptions | None = None,
) -> list[Topic]:
    """Find the topics at the paths, in the order in which they are found.

    Args:
        paths: Log directories, partitions, segments, URLs of these, record sets as bytes; files of records by their
            suffix: ``.jsonl``, ``.ndjson``, ``.parquet``.
        failed: Called with the name of what cannot be read, and the error; the rest is still read.
        opening: The file system, storage options and keys with which to open paths and URLs.

    Raises:
        FileNotFoundError: none of the paths exists and contains segments.
    """
    topics: dict[str, Topic] = {}
    seen: set[str] = set()
    missing: list[FileNotFoundError] = []
    paths = list(paths)
    for path in paths:
        try:
            for source, topic in _sources(path, failed, opening or SourceOptions()):
                found = topics.setdefault(topic, Topic(topic))
                found.named |= not isinstance(path, bytes) and topic in str(path)
                if isinstance(path, bytes) or source.name not in seen:
                    found.sources.append(source)
                seen.add(source.name)
        except (OSError, ValueError) as error:
            failed("bytes" if isinstance(path, bytes) else str(path), error)
            missing += [error] if isinstance(error, FileNotFoundError) else []
    if missing and len(missing) == len(paths):
        raise missing[0]
    return list(topics.values())


def _sources(
    path: Given, failed: Callable[[str, Exception], object], opening: SourceOptions
) -> Iterable[tuple[Source, str]]:
    file = Path(path) if isinstance(path, str | os.PathLike) else None
    kind = None if file is None else _SAMPLE_FILES.get(file.suffix)
    if file is not None and kind is not None and opening.store is None and file.is_file():
        yield Source(kind, str(file), str(file), file.stat().st_size), file.stem
        return
    for partition in opening.resolve(path, failed=failed):
        for segment in partition.segments:
            topic = partition.topic or _stem(segment)
            try:
                modified = _modified(segment)
            except OSError as error:
                failed(segment.name, error)
                continue
            source = Source(
                LOG, segment.name, segment, segment.size, partition.partition, segment.base_offset, modified
            )
            yield source, topic


def _modified(segment: Segment) -> int | None:
    """Return the modification time of a local segment in milliseconds; None if it is unknown.

    Raises:
        OSError: it is a FIFO, socket or device, which has no windows to read.
    """
    if not isinstance(segment.source, str):
        return None
    try:
        found = Path(segment.source).stat()
    except OSError:
        return None  # reading the window reports the error
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", segment.source)
    return found.st_mtime_ns // 1_000_000


def _stem(segment: Segment) -> str:
    return segment.name.replace("\\", "/").rpartition("/")[2]


def windows_of(topic: Topic, settings: Settings) -> list[Window]:
    """Choose the windows of a topic's sample: narrow, then wide ones, each in the order of partitions and offsets."""
    largest = max(settings.batch_sizes, default=0)
    half = settings.sample_bytes // 2
    wide = min(_BATCHES * largest, half // _WIDE_WINDOWS)
    wide = min(max(wide, largest + largest // 4, _LEAST_WIDE), _MOST_WIDE)
    # A Parquet file is read by row group, and again for each window, so it has only wide windows.
    if topic.size <= settings.sample_bytes or any(source.kind == PARQUET for source in topic.sources):
        found = _stretches(topic, settings, wide, settings.sample_bytes)
        return [replace(window, batch_sizes=settings.batch_sizes) for window in found]
    narrow = min(max(half // _NARROW_WINDOWS, _LEAST_NARROW), _MOST_NARROW)
    small = tuple(size for size in sorted(settings.batch_sizes) if size * _ROOM <= narrow)
    large = tuple(size for size in sorted(settings.batch_sizes) if size * _ROOM > narrow)
    found = _stretches(topic, settings, narrow, half if large else settings.sample_bytes)
    found = [replace(window, batch_sizes=small) for window in found]
    if large:
        others = _stretches(topic, settings, wide, half)
        # One batch size is measured in both kinds of windows, so that they can be compared.
        found += [replace(window, basis=False, batch_sizes=(*small[-1:], *large)) for window in others]
    return found


def _stretches(topic: Topic, settings: Settings, width: int, most: int) -> list[Window]:
    """Choose windows of one size with about ``most`` bytes together, one from each of equal stretches of the topic."""
    sources = [source for source in topic.sources if source.size]
    counts = [-(-source.size // width) for source in sources]
    total = sum(counts)
    if not total:
        return []
    wanted = min(total, -(-most * total // topic.size))
    chooser = random.Random(f"{settings.seed}:{topic.name}:{width}")  # noqa: S311 - a sample, not a secret
    ends = list(accumulate(counts))
    chosen = []
    for stretch in range(wanted):
        first, end = stretch * total // wanted, (stretch + 1) * total // wanted
        at = chooser.randrange(first, end)
        which = bisect.bisect_right(ends, at)
        start = (at - (ends[which] - counts[which])) * width
        chosen.append(Window(sources[which], start, min(start + width, sources[which].size)))
    return chosen
