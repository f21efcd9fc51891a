"""Which missing offsets of a log are known losses.

The loss files in the partitions' folders and those that the caller gives name them: see
:mod:`kafkacomp._storage.loss_file`. Every function that judges missing offsets decides by :func:`known_losses` and
:func:`unknown`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from kafkacomp import _kafkacomp
from kafkacomp._arguments import path_text
from kafkacomp._storage.checkpoints import topic_id_in
from kafkacomp._storage.filesystem import read_local
from kafkacomp._storage.loss_file import LOSS_FILE, AdjacentBatch, KnownLoss, LossFile, parsed
from kafkacomp._storage.names import parent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkacomp._storage.loss_file import LossReason
    from kafkacomp._storage.partition import Partition
    from kafkacomp._types import StrPath
    from kafkacomp.arrow._report import MissingRange

_LOGGER = logging.getLogger("kafkacomp")


def loss_files_of(paths: StrPath | Iterable[StrPath]) -> list[LossFile]:
    """Read the loss file at a local path, or several.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is not a loss file.
        TypeError: an argument is not a path.
    """
    if paths == ():  # the default of all callers
        return []
    is_one = isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable)
    found = []
    for each in cast("Iterable[StrPath]", [paths] if is_one else paths):
        path = path_text("known_losses", each)
        content = read_local(path)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        found.append(parsed(content, path))
    return found


def own_loss_file(partition: Partition) -> LossFile | None:
    """Read the loss file in the partition's folder; one that is not valid is logged and counts as missing."""
    if not partition.segments:
        return None
    segment = partition.segments[0]
    name = f"{parent_of(segment.name)}/{LOSS_FILE}"
    try:
        content = segment.neighbour(LOSS_FILE)
        return None if content is None else parsed(content, name)
    except (OSError, ValueError) as error:
        text = str(error)
        _LOGGER.warning("ignored: %s", text if name in text else f"{name}: {text}")
        return None


def topic_id_of(partition: Partition) -> str | None:
    """The topic's id in ``partition.metadata`` or the remote storage; ``None`` if neither has a valid one."""
    found = topic_id_in(partition.segments[0].neighbour) if partition.segments else None
    return found or partition.topic_id


def known_losses(
    partitions: Iterable[Partition], missing: Sequence[MissingRange], given: Sequence[LossFile] = ()
) -> tuple[KnownLoss, ...]:
    """Find the missing offsets that loss files make known: those in the partitions' folders, and those given.

    A loss counts if the ids of the topic are the same, if both are known, and if the batches next to the missing
    offsets have the offsets and checksums in the file. One of the two may be missing itself by now: then what is
    missing beyond the loss is new. If the log begins within a loss by now, because older segments were deleted, the
    rest of it counts.
    """
    by_name = {each.name: partition for partition in partitions for each in (*partition.segments, *partition.context)}
    groups: dict[int, tuple[Partition, list[MissingRange]]] = {}
    for each in missing:
        partition = by_name.get(each.segment)
        if partition is not None:
            groups.setdefault(id(partition), (partition, []))[1].append(each)
    found: list[KnownLoss] = []
    for partition, ranges in groups.values():
        own = partition.loss_file
        files = [each for each in (*([] if own is None else [own]), *given) if each.losses and _is_of(each, partition)]
        if files:
            found += _known(partition, _joined(ranges), files)
    return tuple(found)


def _known(partition: Partition, ranges: list[tuple[int, int]], files: list[LossFile]) -> Iterator[KnownLoss]:
    """Yield the losses that apply to ranges of missing offsets, in order and each offset once."""
    candidates = []
    for file in files:
        named = _has_name_of(file, partition)
        candidates += [(each, named) for each in file.losses]
    candidates.sort(key=lambda each: each[0][2:4])
    places = _overlapping(ranges, [(each.first_offset, each.last_offset) for each, _ in candidates])
    wanted = sorted({place for place, _ in places})
    try:
        around = _kafkacomp.adjacent_batches(partition, [ranges[place] for place in wanted])
    except OSError as error:  # deleted since it was listed, or unreadable
        _LOGGER.warning("known losses are not recognized: %s", error)
        return
    adjacent = {place: tuple(map(_of_core, pair)) for place, pair in zip(wanted, around, strict=True)}
    done = -1
    for place, index in places:
        loss, is_named = candidates[index]
        before, after = adjacent[place]
        if not _applies(loss, ranges[place], before, after, is_named=is_named):
            continue
        first = max(loss.first_offset, ranges[place][0], done + 1)
        last = min(loss.last_offset, ranges[place][1])
        if first <= last:
            done = last
            topic, number = partition.topic, partition.partition
            yield loss._replace(topic=topic, partition=number, first_offset=first, last_offset=last)


def _overlapping(ranges: list[tuple[int, int]], losses: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of a range and a loss, by their indexes, that have offsets in common; both are sorted."""
    pairs = []
    start = 0
    for place, (first, last) in enumerate(ranges):
        while start < len(losses) and losses[start][1] < first:
            start += 1
        for index in range(start, len(losses)):
            if losses[index][0] > last:
                break
            if losses[index][1] >= first:
                pairs.append((place, index))
    return pairs


def _applies(
    loss: KnownLoss,
    missing: tuple[int, int],
    before: AdjacentBatch | None,
    after: AdjacentBatch | None,
    *,
    is_named: bool,
) -> bool:
    """Whether a loss is that of the missing offsets in a log, between these batches."""
    first, last = missing
    is_same_before, is_same_after = _is_same(loss.before, before), _is_same(loss.after, after)
    if not (is_same_before or is_same_after):
        return False
    if is_same_before and is_same_after and before is None and after is None and not is_named:
        return False
    is_lost_before = loss.before is not None and first <= loss.before.last_offset < loss.first_offset
    is_lost_after = loss.after is not None and loss.last_offset < loss.after.last_offset <= last
    is_deleted_before = before is None and first >= loss.first_offset
    return (is_same_before or is_lost_before or is_deleted_before) and (is_same_after or is_lost_after)


def _is_same(one: AdjacentBatch | None, other: AdjacentBatch | None) -> bool:
    """Whether two batches have the same last offset and checksum, or neither exists."""
    return (None if one is None else one[:2]) == (None if other is None else other[:2])


def compacted_to(partition: Partition, files: Iterable[LossFile | None]) -> int | None:
    """The offset up to which compaction explains missing offsets, by those loss files that are of this partition."""
    given = (each for each in files if each is not None and each.compacted_to is not None)
    own = (each for each in given if _has_name_of(each, partition) and _is_of(each, partition))
    return next((each.compacted_to for each in own), None)


def _joined(ranges: Iterable[MissingRange]) -> list[tuple[int, int]]:
    """The offsets of ranges, in order; adjacent ones are joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(each[2:4] for each in ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _of_core(batch: _kafkacomp.AdjacentBatch | None) -> AdjacentBatch | None:
    if batch is None:
        return None
    times = (time if time >= 0 else None for time in (batch.first_timestamp, batch.last_timestamp))
    return AdjacentBatch(batch.last_offset, batch.crc, *times)


def _is_of(file: LossFile, partition: Partition) -> bool:
    """Whether the topics of the file and of a log may be the same, by their ids."""
    return file.topic_id is None or (found := topic_id_of(partition)) is None or found == file.topic_id


def _has_name_of(file: LossFile, partition: Partition) -> bool:
    """Whether the file names the topic and partition of a log."""
    return (file.topic, file.partition) == (partition.topic, partition.partition)


def located(partition: Partition, losses: Sequence[tuple[int, int, LossReason]]) -> list[KnownLoss]:
    """Add the adjacent batches of a log that was written to the offsets that it lacks, which are in order."""
    around = _kafkacomp.adjacent_batches(partition, [(first, last) for first, last, _ in losses])
    return [
        KnownLoss(partition.topic, partition.partition, first, last, reason, _of_core(before), _of_core(after))
        for (first, last, reason), (before, after) in zip(losses, around, strict=True)
    ]
