"""Select the partitions of a read: those at the paths that the options do not rule out by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._storage.discovery import find_at
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafkacomp._storage.listing import Allowed
    from kafkacomp._storage.partition import Partition, Segment
    from kafkacomp.spark._options import ReadOptions


def select(options: ReadOptions) -> list[Partition]:
    """Find the partitions that the options select. No segment is opened.

    Raises:
        FileNotFoundError: a path does not exist, matches nothing, or contains no segments.
        ValueError: a topic or partition of the options does not exist.
    """
    opening = options.opening
    choice = _Chosen(options)
    tiered = opening.tiered_options()
    if tiered is not None and opening.tiered is not None:  # without keys here, the executors may have them
        tiered = replace(tiered, checks_keys=opening.tiered.encryption_keys is not None)
    paths = list(options.paths)
    chosen = resolve(paths, options.topic, options.partition, tiered=tiered, opened=opening.opened, choice=choice)
    return _named(chosen, options.path_glob_filter) if options.path_glob_filter is not None else chosen


def select_growing(options: ReadOptions, *, has_begun: bool) -> list[Partition]:
    """Find the partitions in folders that change: those of the options may not exist yet or not any more.

    Args:
        options: As :func:`select` takes them.
        has_begun: Whether the paths existed before, and may have been deleted.

    Raises:
        FileNotFoundError: a path does not exist, and did not before.
    """
    choice = _Chosen(options, growing=True)
    everything = [each for path in options.paths for each in _there(path, choice.allows, has_begun=has_begun)]
    return resolve(everything, options.topic, options.partition, choice=choice) if everything else []


def _there(path: str, allowed: Allowed, *, has_begun: bool, attempts: int = 5) -> list[Partition]:
    try:
        return find_at(path, allowed=allowed)
    except FileNotFoundError as error:
        filesystem, own = open_filesystem(path)
        try:
            is_folder = filesystem.info(own).is_dir
        except FileNotFoundError:
            if has_begun:
                return []
            raise error from None
        if is_folder and error.filename in {path, own}:
            return []  # no segments yet
        if attempts == 1:
            raise
    # A folder below was deleted while it was listed.
    return _there(path, allowed, has_begun=has_begun, attempts=attempts - 1)


def name_of(partition: Partition) -> str:
    """A partition's name for messages, or that of its first file."""
    if partition.topic is None or partition.partition is None:
        return partition.segments[0].name
    return f"{partition.topic}-{partition.partition}"


@dataclass(frozen=True)
class _Chosen:
    """The choice of partitions by the options of a read."""

    options: ReadOptions
    #: Whether partitions of the options may be missing.
    growing: bool = False

    def allows(self, topic: str, partition: int) -> bool:
        """Whether a partition may be chosen, by its name."""
        options = self.options
        if options.subscribe_pattern is not None:
            is_chosen = re.fullmatch(options.subscribe_pattern, topic) is not None
        elif options.assign is not None:
            is_chosen = (topic, partition) in options.assign
        else:
            is_chosen = options.topic in {None, topic} and (options.subscribe is None or topic in options.subscribe)
        return is_chosen and options.partition in {None, partition}

    def select(self, found: list[Partition]) -> list[Partition]:
        """Choose partitions; ValueError if one of the options does not exist."""
        return _chosen(found, self.options, growing=self.growing)


def _chosen(found: list[Partition], options: ReadOptions, *, growing: bool) -> list[Partition]:
    if options.subscribe_pattern is not None:
        pattern = re.compile(options.subscribe_pattern)
        chosen = [each for each in found if each.topic is not None and pattern.fullmatch(each.topic)]
    elif options.assign is not None:
        chosen = _only(found, "assign", options.assign, lambda each: (each.topic, each.partition), growing=growing)
    else:
        chosen = found
        for name, topics in (("topic", options.topic and (options.topic,)), ("subscribe", options.subscribe)):
            if topics:
                chosen = _only(chosen, name, topics, lambda each: each.topic, growing=growing)
    if options.partition is not None:
        chosen = _only(chosen, "partition", (options.partition,), lambda each: each.partition, growing=growing)
    return chosen


def _only(
    found: list[Partition],
    option: str,
    wanted: Collection[object],
    key: Callable[[Partition], object],
    *,
    growing: bool,
) -> list[Partition]:
    there = {key(each) for each in found}
    missing = [each for each in wanted if each not in there]
    if missing and not growing:
        names = ", ".join(sorted(map(_text, missing)))
        known = (
            ", ".join(sorted(_text(each) for each in there if each not in {None, (None, None)})[:100])
            or "none with a name"
        )
        raise ValueError(f"{option}: the source does not have {names}: expected some of {known}")
    return [each for each in found if key(each) in wanted]


def _text(key: object) -> str:
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _named(found: list[Partition], pattern: str) -> list[Partition]:
    """Leave out segments by the names of their files; they still count for transactions."""
    names = _kafkacomp.NamePattern(pattern)
    kept = []
    for each in found:
        segments: list[Segment] = []
        context = list(each.context)
        for segment in each.segments:
            matched = names.matches(re.split(r"[/\\]", segment.name)[-1])
            (segments if matched else context).append(segment)
        if segments:
            kept.append(replace(each, segments=segments, context=context))
    return kept
