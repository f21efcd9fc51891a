"""Which offsets of which remote segment belong to a partition's log.

Remote segments may have the same offsets: a copy that was interrupted and made again, replicas whose segments have
other borders, and the records of a leader that an unclean election has made void. The leader's
``leader-epoch-checkpoint`` decides: each epoch has a range of offsets, and in this range only a segment counts that has
records of this epoch. The epoch of a segment alone does not decide, because a leader that loses its followers keeps its
epoch: segments are cut by offsets.

Of several segments that count, a broker takes the one that begins last in that epoch, and of those the one that was
finished last. Kafka 4.3.1 was seen to read such a segment to its end, beyond the offsets that count; here it is cut.

Sources: ``RemoteLogMetadataCache.remoteLogSegmentMetadata``, ``RemoteLogLeaderEpochState``, ``RemoteLogManager.read``.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkacomp.tiered.metadata import RemoteSegment

__all__ = ["ValidRange", "epochs_within", "valid_ranges"]

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
    """Find what a broker reads of the remote segments.

    Args:
        segments: Those in the state COPY_SEGMENT_FINISHED.
        epochs: The leader's ``leader-epoch-checkpoint``: epoch and its first offset, in order.
        log_start: The first offset of the log. The first range may begin before it.
        end: The first offset that is read locally.

    Returns:
        Ranges in the order of their offsets, which do not overlap.
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
    """The epochs of the offsets ``first`` to ``last``, and their first offsets there, by a leader epoch checkpoint."""
    found = {}
    for index, (epoch, start) in enumerate(checkpoint):
        end = checkpoint[index + 1][1] if index + 1 < len(checkpoint) else _NO_END
        if start <= last and end > first:
            found[epoch] = max(start, first)
    return found
