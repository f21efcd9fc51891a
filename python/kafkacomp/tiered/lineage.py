"""Determine which offsets of which remote segment belong to a partition's log.

Remote segments may overlap: a copy may have been interrupted and repeated, segments of different replicas begin at
different offsets, and an unclean leader election invalidates records of the former leader. The leader's
``leader-epoch-checkpoint`` decides: each epoch has a range of offsets, for which only segments with records of this
epoch are valid. The epoch alone does not decide, because a leader that loses its followers keeps its epoch, so segments
are truncated by offsets.

If several segments are valid, a broker reads the one with the greatest start offset in that epoch, and of those the one
that was finished last. Kafka 4.3.1 reads such a segment to its end, beyond its valid offsets; here it is truncated.

Sources: ``RemoteLogMetadataCache.remoteLogSegmentMetadata``, ``RemoteLogLeaderEpochState``, ``RemoteLogManager.read``.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkacomp.tiered.metadata import RemoteSegment

_NO_END = 2**63 - 1


class ValidRange(NamedTuple):
    """Offsets of a segment that belong to the log."""

    segment: RemoteSegment
    first: int
    #: Exclusive.
    end: int


def valid_ranges(
    segments: Iterable[RemoteSegment],
    epochs: Sequence[tuple[int, int]],
    log_start: int,
    end: int | None = None,
) -> list[ValidRange]:
    """Find the ranges of remote segments that a broker reads.

    Args:
        segments: The segments in the state COPY_SEGMENT_FINISHED.
        epochs: The entries of the leader's ``leader-epoch-checkpoint``: epoch and first offset, in order.
        log_start: The first offset of the log. The first range may begin before it.
        end: The first offset that is read locally.

    Returns:
        Ranges that do not overlap, in the order of their offsets.
    """
    by_epoch = _by_epoch(segments)
    last = _NO_END if end is None else end
    found: list[ValidRange] = []
    for epoch, start, stop in _with_ends(epochs):
        for each in _in_epoch(by_epoch.get(epoch, []), max(start, log_start), min(stop, last)):
            previous = found[-1] if found else None
            if previous is not None and previous.segment is each.segment and previous.end == each.first:
                found[-1] = previous._replace(end=each.end)
            else:
                found.append(each)
    if found and found[0].first <= max(log_start, epochs[0][1]):
        # Transactions that begin before the log's start may end after it.
        found[0] = found[0]._replace(first=min(found[0].first, found[0].segment.start_offset))
    return found


def _by_epoch(segments: Iterable[RemoteSegment]) -> dict[int, list[ValidRange]]:
    """The offsets of segments in each leader epoch; of equal starts, the one finished last is the last."""
    found: dict[int, list[ValidRange]] = {}
    for each in segments:
        for epoch, first, end in each.ranges():
            found.setdefault(epoch, []).append(ValidRange(each, first, end))
    for ranges in found.values():
        ranges.sort(key=lambda each: (each.first, each.segment.order, each.end))
    return found


def _in_epoch(ranges: list[ValidRange], position: int, stop: int) -> Iterable[ValidRange]:
    starts = [each.first for each in ranges]
    while position < stop:
        place = bisect_right(starts, position)
        before = (ranges[index] for index in range(place - 1, -1, -1))
        chosen = next((each for each in before if each.end > position), None)
        if chosen is not None:
            later = starts[place] if place < len(starts) else _NO_END
            end = min(stop, chosen.end, later)
            yield ValidRange(chosen.segment, position, end)
            position = end
        elif place < len(starts):
            position = starts[place]
        else:
            return


def epochs_within(checkpoint: Sequence[tuple[int, int]], first: int, last: int) -> dict[int, int]:
    """The epochs of the offsets ``first`` to ``last``, each with its first offset in this range."""
    within = (each for each in _with_ends(checkpoint) if each[1] <= last and each[2] > first)
    return {epoch: max(start, first) for epoch, start, _ in within}


def _with_ends(epochs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Each epoch with its first offset, and the end, which is exclusive."""
    ends = [*(start for _, start in epochs[1:]), _NO_END]
    return [(epoch, start, end) for (epoch, start), end in zip(epochs, ends, strict=False)]
