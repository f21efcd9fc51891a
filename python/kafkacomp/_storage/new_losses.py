"""What a log that was written lacks of its source: the losses in its loss file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp._losses import unknown
from kafkacomp._storage.losses import located
from kafkacomp._storage.partition import Partition, Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkacomp._kafkacomp import NewLog
    from kafkacomp._storage.loss_file import KnownLoss, LossReason
    from kafkacomp.arrow._report import MissingRange


def new_losses(
    log: NewLog,
    topic: str | None,
    partition: int | None,
    *,
    missing: Sequence[MissingRange],
    known: Sequence[KnownLoss],
    compacted_to: int | None,
    others: LossReason | None,
) -> list[KnownLoss]:
    """Find what a log lacks, and compaction does not explain, with the batches next to it.

    Args:
        log: The log, which is not published yet.
        topic: Its topic.
        partition: Its partition.
        missing: What its source lacks.
        known: The known losses of its source.
        compacted_to: The offset up to which compaction explains missing offsets.
        others: The reason for offsets that the source has and the log does not; ``None`` if ``missing`` is incomplete.
    """
    losses: list[tuple[int, int, LossReason]] = [
        (each.first_offset, each.last_offset, each.reason)
        for each in unknown(missing, known)
        if each.reason != "compacted"
    ]
    losses += [(each.first_offset, each.last_offset, each.reason) for each in known]
    if others is not None:
        start = compacted_to or 0
        dropped = [(max(first, start), last) for first, last in log.gaps if last >= start]
        losses += [(first, last, others) for first, last in _without(dropped, missing)]
    if not losses:
        return []
    losses.sort()
    files = sorted(Path(str(log.folder)).glob("*.log"))
    segments = [Segment(str(each), str(each), each.stat().st_size, base_offset=int(each.stem)) for each in files]
    return located(Partition(topic, partition, segments), losses)


def _without(ranges: Iterable[tuple[int, int]], others: Iterable[MissingRange]) -> Iterator[tuple[int, int]]:
    """The parts of sorted ranges that no other one has."""
    taken = sorted((each.first_offset, each.last_offset) for each in others)
    at = 0
    for begin, end in ranges:
        first = begin
        while at < len(taken) and taken[at][1] < first:
            at += 1
        for before, last in islice(taken, at, None):
            if before > end:
                break
            if first < before:
                yield first, before - 1
            first = max(first, last + 1)
        if first <= end:
            yield first, end
