"""Group segments of a partition whose offsets overlap: one task must read them together.

Segments overlap in tiered storage after a change of leader, in copied folders and after an interrupted compaction. A
scan of all of them delivers each offset once and fails where they disagree; a task that reads only one of them could do
neither. How far a segment reaches is known from its index and the headers after the last index entry.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp import _kafkacomp
from kafkacomp._storage.partition import SplitBoundaries
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._storage.partition import Segment

_LOGGER = logging.getLogger("kafkacomp")

#: Concurrent requests for the ends of segments in remote storage.
_REQUESTS = 16

#: Segments in order, each with the base offset of the next one.
SegmentsWithNext: TypeAlias = "list[tuple[Segment, int | None]]"
#: The known offsets up to which segments reach, by the name and size of the segment.
Ends: TypeAlias = "dict[tuple[str, int], int | None]"


class Run(NamedTuple):
    """Segments whose offsets overlap; usually a single one."""

    segments: SegmentsWithNext
    #: The end offset of the segments before, if known: lower offsets are read from those.
    start: int | None

    @property
    def base_offset(self) -> int | None:
        """The base offset of the first segment."""
        return self.segments[0][0].base_offset

    @property
    def next_base(self) -> int | None:
        """The base offset of the segment after the last one."""
        return self.segments[-1][1]

    def together(self) -> list[Segment]:
        """The segments for one task; the last one knows where the next segment begins."""
        last, next_base = self.segments[-1]
        return [
            *(segment for segment, _ in self.segments[:-1]),
            replace(last, boundaries=SplitBoundaries(None, None, last.size, next_base)),
        ]


def runs(segments: SegmentsWithNext, log_format: str, known: Ends | None = None) -> list[Run]:
    """Group the segments of a partition so that groups do not overlap.

    Args:
        segments: The segments that are read.
        log_format: As the option ``logFormat``.
        known: What is known of how far segments reach, to which this call adds.

    Raises:
        FileNotFoundError: a segment was deleted.
    """
    if not segments:
        return []
    if any(segment.offsets is not None for segment, _ in segments):
        return [Run([each], None) for each in segments]  # their valid offsets are known and do not overlap
    ends = _ends([segment for segment, _ in segments[:-1]], log_format, {} if known is None else known)
    segments = _with_true_ends(segments, ends, log_format)
    found: list[Run] = []
    reach: int | None = None
    for (segment, next_base), end in zip(segments, [*ends, None], strict=True):
        base = segment.base_offset
        if found and base is not None and (found[-1].segments[-1][0].base_offset == base or (reach or 0) > base):
            _LOGGER.warning("%s and %s overlap from offset %d on", found[-1].segments[0][0].name, segment.name, base)
            found[-1].segments.append((segment, next_base))
        else:
            found.append(Run([(segment, next_base)], reach))
        if end is not None:
            reach = max(end, end if reach is None else reach)
    return found


def _with_true_ends(segments: SegmentsWithNext, ends: list[int | None], log_format: str) -> SegmentsWithNext:
    """Correct the start of a next segment whose name is greater than its first offset: no offset is missing there."""
    found = list(segments)
    for place, (end, (following, _)) in enumerate(zip(ends, segments[1:], strict=True)):
        segment, next_base = segments[place]
        if end is not None and next_base is not None and end < next_base == following.base_offset:
            first = _asked(_kafkacomp.start_offset, following, log_format)
            if first is not None and first < next_base:
                found[place] = (segment, max(first, end))
    return found


def _asked(ask: Callable[[Segment, str], int | None], segment: Segment, log_format: str) -> int | None:
    try:
        return ask(segment, log_format)
    except FileNotFoundError:
        raise
    except (KafkaCompError, OSError, ValueError):
        return None  # the task that reads the segment reports the error


def _ends(segments: list[Segment], log_format: str, known: Ends) -> list[int | None]:
    unknown = [each for each in segments if (each.name, each.size) not in known]

    def ask(segment: Segment) -> int | None:
        if segment.base_offset is None:
            return None  # a captured record set, whose offsets need not increase
        return _asked(_kafkacomp.reach, segment, log_format)

    if len(unknown) > 1 and any(not isinstance(each.source, str) for each in unknown):
        with ThreadPoolExecutor(_REQUESTS) as pool:
            found = list(pool.map(ask, unknown))
    else:
        found = [ask(each) for each in unknown]
    known.update({(each.name, each.size): end for each, end in zip(unknown, found, strict=True)})
    return [known[each.name, each.size] for each in segments]
