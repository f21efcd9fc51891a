"""Segments of a partition that have offsets in common, which one task must read together.

Files overlap in tiered storage after a change of leader, in copied folders and after an interrupted compaction. A scan
of all of them delivers each offset once and stops where they disagree; tasks for one file each would not know of the
others. How far a segment reaches is known from its index and the headers after the index's last entry.
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

__all__ = ["Ends", "Pieces", "Run", "runs"]

_LOGGER = logging.getLogger("kafkacomp")

#: Segments that are asked for their ends at a time where each question is a request to a remote storage.
_REQUESTS = 16
#: The greatest difference of an offset and the base offset of its segment, by the indexes' format.
_MAX_RELATIVE_OFFSET = 2**31 - 1

#: Segments in order, each with the base offset of the next one.
Pieces: TypeAlias = "list[tuple[Segment, int | None]]"
#: Name and size -> end offset, of segments that were asked before.
Ends: TypeAlias = "dict[tuple[str, int], int | None]"


class Run(NamedTuple):
    """Segments that have offsets in common; nearly always one."""

    pieces: Pieces
    #: The end offset of the segments before, if known: what lies below it was read from those.
    start: int | None

    @property
    def base_offset(self) -> int | None:
        """The base offset of the first segment."""
        return self.pieces[0][0].base_offset

    @property
    def next_base(self) -> int | None:
        """The base offset of the segment after the last one."""
        return self.pieces[-1][1]

    def together(self) -> list[Segment]:
        """The segments for one task, which is told where the next one begins."""
        last, next_base = self.pieces[-1]
        return [
            *(segment for segment, _ in self.pieces[:-1]),
            replace(last, boundaries=SplitBoundaries(None, None, last.size, next_base)),
        ]


def runs(pieces: Pieces, log_format: str, known: Ends | None = None) -> list[Run]:
    """Group the segments of a partition so that no two groups have an offset in common.

    Args:
        pieces: The segments that are read.
        log_format: As the option ``format``.
        known: The end offsets found before, to which those found now are added.

    Raises:
        FileNotFoundError: a segment is gone.
    """
    if not pieces:
        return []
    if any(segment.offsets is not None for segment, _ in pieces):
        return [Run([piece], None) for piece in pieces]  # decided before: they have no offsets in common
    ends = _ends([segment for segment, _ in pieces[:-1]], log_format, {} if known is None else known)
    pieces = _with_true_ends(pieces, ends, log_format)
    found: list[Run] = []
    reach: int | None = None
    for (segment, next_base), end in zip(pieces, [*ends, None], strict=True):
        base = segment.base_offset
        if found and base is not None and (found[-1].pieces[-1][0].base_offset == base or (reach or 0) > base):
            _LOGGER.warning(
                "%s and %s have offsets in common, from %d on", found[-1].pieces[0][0].name, segment.name, base
            )
            found[-1].pieces.append((segment, next_base))
        else:
            found.append(Run([(segment, next_base)], reach))
        if end is not None and base is not None:
            # An offset further away is corrupt.
            likely = end if end - base <= _MAX_RELATIVE_OFFSET else next_base
            reach = max((each for each in (reach, likely) if each is not None), default=None)
    return found


def _with_true_ends(pieces: Pieces, ends: list[int | None], log_format: str) -> Pieces:
    """Correct where the next segment begins, if its name is greater than its first offset: nothing is missing there."""
    found = list(pieces)
    for place, (end, (following, _)) in enumerate(zip(ends, pieces[1:], strict=True)):
        segment, next_base = pieces[place]
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
        return None  # the task that reads it reports it


def _ends(segments: list[Segment], log_format: str, known: Ends) -> list[int | None]:
    unknown = [each for each in segments if (each.name, each.size) not in known]

    def ask(segment: Segment) -> int | None:
        if segment.base_offset is None:
            return None  # captured record sets: offsets need not rise
        return _asked(_kafkacomp.end_offset, segment, log_format)

    if len(unknown) > 1 and any(not isinstance(each.source, str) for each in unknown):
        with ThreadPoolExecutor(_REQUESTS) as pool:
            found = list(pool.map(ask, unknown))
    else:
        found = [ask(each) for each in unknown]
    known.update({(each.name, each.size): end for each, end in zip(unknown, found, strict=True)})
    return [known[each.name, each.size] for each in segments]
