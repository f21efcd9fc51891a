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
    known = list(segments)
    last = _NO_END if end is None else end
    found: list[ValidRange] = []
    for index, (epoch, start) in enumerate(epochs):
        stop = min(last, epochs[index + 1][1] if index + 1 < len(epochs) else _NO_END)
        for each in _in_epoch(known, epoch, max(start, log_start), stop):
            previous = found[-1] if found else None
            if previous is not None and previous.segment is each.segment and previous.end == each.first:
                found[-1] = previous._replace(end=each.end)
            else:
                found.append(each)
    if found and found[0].first <= max(log_start, epochs[0][1]):
        # Transactions that begin before the log's start may end after it.
        found[0] = found[0]._replace(first=min(found[0].first, found[0].segment.start_offset))
    return found


def _in_epoch(segments: list[RemoteSegment], epoch: int, position: int, stop: int) -> Iterable[ValidRange]:
    ranges = sorted(
        (
            (within[0], each.order, within[1], index)
            for index, each in enumerate(segments)
            if (within := each.range_in(epoch)) is not None
        ),
    )
    starts = [each[0] for each in ranges]
    while position < stop:
        place = bisect_right(starts, position)
        chosen = next((each for each in reversed(ranges[:place]) if each[2] > position), None)
        if chosen is not None:
            later = starts[place] if place < len(starts) else _NO_END
            end = min(stop, chosen[2], later)
            yield ValidRange(segments[chosen[3]], position, end)
            position = end
        elif place < len(starts):
            position = starts[place]
        else:
            return


def epochs_within(checkpoint: Sequence[tuple[int, int]], first: int, last: int) -> dict[int, int]:
    """The epochs of the offsets ``first`` to ``last``, each with its first offset in this range."""
    found = {}
    for index, (epoch, start) in enumerate(checkpoint):
        end = checkpoint[index + 1][1] if index + 1 < len(checkpoint) else _NO_END
        if start <= last and end > first:
            found[epoch] = max(start, first)
    return found
