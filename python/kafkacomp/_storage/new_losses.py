"""Publish a log that was written, with the loss file of what it lacks of its source."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp._losses import unknown
from kafkacomp._storage.loss_file import LOSS_FILE, LossFile, serialized
from kafkacomp._storage.losses import located
from kafkacomp._storage.partition import Partition, Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkacomp._kafkacomp import NewLog, WrittenLog
    from kafkacomp._storage.loss_file import KnownLoss, LossReason
    from kafkacomp.arrow._report import MissingRange


class Published(NamedTuple):
    """A log that was published."""

    #: ``None`` if it has no segment.
    log: WrittenLog | None
    #: What it lacks, and compaction does not explain.
    losses: Sequence[KnownLoss]


def publish(
    log: NewLog,
    topic: str | None,
    topic_id: str | None,
    partition: int | None,
    *,
    missing: Sequence[MissingRange] = (),
    more_missing: int = 0,
    known: Sequence[KnownLoss] = (),
    compacted_to: int | None = None,
    others: LossReason | None = None,
    positions: Sequence[MissingRange] = (),
    repairs: Sequence[dict[str, Any]] = (),
    more_repairs: int = 0,
) -> Published:
    """Publish a log; it is discarded if that fails.

    Args:
        log: The log.
        topic: Its topic.
        topic_id: The topic's id.
        partition: Its partition.
        missing: What its source lacks.
        more_missing: The number of further ranges that the source lacks.
        known: The known losses of its source.
        compacted_to: The offset up to which compaction explains missing offsets.
        others: The reason for offsets that the source has and the log does not; ``None`` if ``missing`` has offsets of
            another log.
        positions: The missing bytes of a source of Kafka 0.7.
        repairs: The repairs, for the loss file.
        more_repairs: The number of further repairs.
    """
    try:
        losses = _losses(
            log,
            topic,
            partition,
            missing=missing,
            known=known,
            compacted_to=compacted_to,
            # Without all ranges, what else is missing is unknown.
            others=None if more_missing else others,
        )
        if losses or repairs or positions or more_missing or (log.gaps and compacted_to is not None):
            content = serialized(
                LossFile(topic, topic_id, partition, compacted_to, tuple(losses)),
                more_losses=more_missing,
                positions=positions,
                repairs=repairs,
                more_repairs=more_repairs,
            )
            log.write(LOSS_FILE, content)
        return Published(log.publish(), losses)
    except BaseException:
        log.discard()
        raise


def _losses(
    log: NewLog,
    topic: str | None,
    partition: int | None,
    *,
    missing: Sequence[MissingRange],
    known: Sequence[KnownLoss],
    compacted_to: int | None,
    others: LossReason | None,
) -> list[KnownLoss]:
    """Find what a log lacks, and compaction does not explain, with the batches next to it."""
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
