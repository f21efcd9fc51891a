"""Which partitions a read is of: what stands at the paths, less what the options leave out by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kafkacomp._source import Partition, Segment, resolve
from kafkacomp.spark._glob import find, matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafkacomp.spark._options import ReadOptions

__all__ = ["name_of", "select"]


def select(options: ReadOptions) -> list[Partition]:
    """Find the partitions that the options ask for. No segment is opened.

    Raises:
        FileNotFoundError: a path that is not there or that nothing matches, or no segments in it.
        ValueError: a topic or partition that was named and is not there.
    """
    everything = [each for path in options.paths for each in find(path)]
    found = resolve(everything, options.topic, options.partition)
    chosen = _chosen(found, options)
    return _named(chosen, options.path_glob_filter) if options.path_glob_filter is not None else chosen


def name_of(partition: Partition) -> str:
    """A partition for a message: its name, or that of its first file."""
    if partition.topic is None or partition.partition is None:
        return partition.segments[0].name
    return f"{partition.topic}-{partition.partition}"


def _chosen(found: list[Partition], options: ReadOptions) -> list[Partition]:
    if options.subscribe_pattern is not None:
        pattern = re.compile(options.subscribe_pattern)
        chosen = [each for each in found if each.topic is not None and pattern.fullmatch(each.topic)]
    elif options.assign is not None:
        chosen = _only(found, "assign", options.assign, lambda each: (each.topic, each.partition))
    else:
        chosen = found
        for name, topics in (("topic", options.topic and (options.topic,)), ("subscribe", options.subscribe)):
            if topics:
                chosen = _only(chosen, name, topics, lambda each: each.topic)
    if options.partition is not None:
        chosen = _only(chosen, "partition", (options.partition,), lambda each: each.partition)
    return chosen


def _only(
    found: list[Partition], option: str, wanted: Collection[object], key: Callable[[Partition], object]
) -> list[Partition]:
    there = {key(each) for each in found}
    missing = [each for each in wanted if each not in there]
    if missing:
        names = ", ".join(sorted(map(_text, missing)))
        known = ", ".join(sorted(_text(each) for each in there if _is_known(each))[:100]) or "none with a name"
        raise ValueError(f"{option}: the source does not have {names}; there are {known}")
    return [each for each in found if key(each) in wanted]


def _text(key: object) -> str:
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _is_known(key: object) -> bool:
    return key is not None and key != (None, None)


def _named(found: list[Partition], pattern: str) -> list[Partition]:
    """Leave out segments by their files' names; they still tell of transactions."""
    names = matcher(pattern)
    kept = []
    for each in found:
        segments: list[Segment] = []
        context = list(each.context)
        for segment in each.segments:
            matched = names.fullmatch(re.split(r"[/\\]", segment.name)[-1])
            (segments if matched else context).append(segment)
        if segments:
            kept.append(Partition(each.topic, each.partition, segments, context))
    return kept
