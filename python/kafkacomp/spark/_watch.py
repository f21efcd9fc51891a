"""The partitions that a stream follows: their first and end offsets, and offsets that were deleted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkacomp.spark._errors import tell_loss
from kafkacomp.spark._follow import PartitionLog
from kafkacomp.spark._rediscovery import LOOKS, PAUSE
from kafkacomp.spark._select import select_growing

if TYPE_CHECKING:
    from kafkacomp._storage.partition import Partition
    from kafkacomp.spark._offsets import Offsets
    from kafkacomp.spark._options import ReadOptions


class Seen(NamedTuple):
    """The current state of a partition."""

    partition: Partition
    #: The first offset: that in the name of the first segment, unless a name is wrong.
    first: int
    log: PartitionLog


View: TypeAlias = dict[tuple[str, int], Seen]


class Watch:
    """All partitions of a stream."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._logs: dict[tuple[str, int], PartitionLog] = {}
        self._has_begun = False

    def __reduce__(self) -> tuple[type[Watch], tuple[ReadOptions]]:
        """Pickle the options only: tasks do not need the state."""
        return Watch, (self._options,)

    def look(self, begin: Offsets | None = None, until: Offsets | None = None) -> View:
        """Poll all partitions.

        Args:
            begin: The offsets at which the stream continues, if known; they must still exist.
            until: The end offsets of the batch, if known.

        Raises:
            KafkaCompError: offsets were deleted, and ``failOnDataLoss`` is true; or a batch is corrupt.
            FileNotFoundError: a path does not exist.
        """
        self._has_begun = self._has_begun or bool(begin)
        for _ in range(LOOKS - 1):
            try:
                view = self._look()
            except FileNotFoundError:
                pass  # a segment was deleted after it was listed
            else:
                if begin is None or not _losses(begin, until, view):
                    return view
            time.sleep(PAUSE)
        view = self._look()
        losses = [] if begin is None else _losses(begin, until, view)
        if losses:
            tell_loss(losses, self._options)
        return view

    def _look(self) -> View:
        view: View = {}
        logs = {}
        for partition in select_growing(self._options, has_begun=self._has_begun):
            topic, number, last = partition.topic, partition.partition, partition.segments[-1]
            if topic is None or number is None:
                raise ValueError(f"the partition of {last.name} is unknown: give the options topic and partition")
            first = partition.segments[0].base_offset
            if first is None:
                raise ValueError(f"{last.name}: a stream needs segments named by their base offset, 20 digits and .log")
            key = (topic, number)
            if key in view:
                other = view[key].partition.segments[-1].name
                raise ValueError(f"{topic}-{number} is there twice, {other} and {last.name}: give the path of one")
            log = logs[key] = self._logs.get(key) or PartitionLog(self._options)
            log.look(partition)
            view[key] = Seen(partition, first if log.start is None else min(first, log.start), log)
        self._logs = logs
        self._has_begun = self._has_begun or bool(view)
        return view

    def forget(self, offsets: Offsets) -> None:
        """Drop the state that is not needed to read from these offsets on."""
        for key, offset in offsets.items():
            if key in self._logs:
                self._logs[key].forget(offset)


def _losses(begin: Offsets, until: Offsets | None, view: View) -> list[str]:
    """Describe the offsets from ``begin`` to ``until``, or to the end, that do not exist any more."""
    losses = []
    for key, start in sorted(begin.items()):
        name, seen = f"{key[0]}-{key[1]}", view.get(key)
        end = start if until is None else until.get(key)
        if end is None or (seen is None and (until is None or end > start)):
            losses.append(f"{name}: the offsets from {start} on are missing: the partition was deleted")
            continue
        if seen is None:
            continue
        if until is None:
            end = seen.log.end
        if end < start:
            losses.append(f"{name}: the log ends at offset {end}, before {start}: it was truncated or created again")
        elif seen.first > start and (until is None or end > start):
            losses.append(_gone(name, start, seen.first if until is None else min(seen.first, end), seen.first))
    for key in sorted((view if until is None else until).keys() - begin.keys()):
        if key in view and view[key].first > 0:
            first = view[key].first
            losses.append(_gone(f"{key[0]}-{key[1]}, which is new,", 0, first, first))
    return losses


def _gone(name: str, start: int, end: int, first: int) -> str:
    return f"{name}: offsets {start} to {end - 1} are missing: the log begins at {first}"
