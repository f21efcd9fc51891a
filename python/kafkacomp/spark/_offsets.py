"""A stream's offsets: their JSON, and how a limit is divided among partitions.

The JSON is that of Spark's Kafka source: ``{"topic": {"0": 23, "1": 7}}``, the offset of each partition's next record.
Spark compares the texts, so topics and partitions are always in the same order.
"""

from __future__ import annotations

from typing import TypeAlias

#: Offsets by topic and partition.
Offsets: TypeAlias = dict[tuple[str, int], int]


def write_offsets(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Convert offsets to the form of their JSON."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def read_offsets(content: object) -> Offsets:
    """Convert the result of :func:`write_offsets` back to offsets.

    Raises:
        ValueError: the checkpoint is not that of a kafkacomp stream.
    """
    found: Offsets = {}
    topics = content.items() if isinstance(content, dict) else [(None, content)]
    for topic, partitions in topics:
        for number, offset in partitions.items() if isinstance(partitions, dict) else [("", partitions)]:
            if not isinstance(topic, str) or not str(number).isdecimal() or type(offset) is not int:
                raise ValueError(f"the checkpoint's offsets are not those of a kafkacomp stream: {content!r}")
            found[topic, int(number)] = offset
    return found


def limited(start: Offsets, end: Offsets, most: int) -> Offsets:
    """Choose ends so that all partitions together have ``most`` offsets, or all offsets if there are fewer.

    Each partition gets a share proportional to its number of offsets, as in Spark's Kafka source, and at least one
    offset if there are enough: a small partition next to a large one makes progress, too.
    """
    left = {each: offset - start[each] for each, offset in end.items() if offset > start.get(each, offset)}
    if sum(left.values()) <= most:
        return end
    order: list[tuple[str, int]] = sorted(left, key=lambda each: (-left[each], each))
    given = dict.fromkeys(order[:most], 1)
    rest = most - len(given)
    total = sum(left.values()) - len(left)
    for each in given:
        given[each] += rest * (left[each] - 1) // total if total else 0
    over = most - sum(given.values())
    for each in given:
        more = min(over, left[each] - given[each])
        given[each] += more
        over -= more
    return {each: offset if each not in left else start[each] + given.get(each, 0) for each, offset in end.items()}
