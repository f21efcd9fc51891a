"""Choose partitions by topic and number."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import PARTITIONS, integer

if TYPE_CHECKING:
    from kafkacomp._storage.partition import Partition

#: The most topics or partitions that an error lists.
_SHOWN = 20


def select(found: list[Partition], topics: Iterable[str] | None, partitions: Iterable[int] | None) -> list[Partition]:
    """Choose partitions; ``None`` chooses all of them.

    Args:
        found: The partitions to choose from.
        topics: Names or globs such as ``orders-*``.
        partitions: Numbers of partitions.

    Raises:
        TypeError: ``topics`` is a string, or a number is not an int.
        ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
    """
    if topics is not None:
        globs = _collection("topics", topics)
        for glob in globs:
            if not isinstance(glob, str):
                raise TypeError(f"topics must be a collection of names, not of {type(glob).__name__}")
        names = sorted({each.topic for each in found if each.topic is not None})
        for glob in globs:
            if not fnmatch.filter(names, glob):
                shown = _listed(names) or "no topics"
                raise ValueError(f"topics: no topic matches {glob!r}: expected one of {shown}")
        found = [each for each in found if any(fnmatch.fnmatchcase(each.topic or "", glob) for glob in globs)]
    if partitions is not None:
        numbers = [integer("partitions", each, PARTITIONS) for each in _collection("partitions", partitions)]
        known = sorted({each.partition for each in found if each.partition is not None})
        for number in numbers:
            if number not in known:
                raise ValueError(f"partitions: no topic has a partition {number}: expected one of [{_listed(known)}]")
        found = [each for each in found if each.partition in numbers]
    return found


def _listed(known: list[Any]) -> str:
    return ", ".join(map(str, known[:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")


def _collection(name: str, values: object) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        what = "names" if name == "topics" else "numbers"
        kind = "the string " if isinstance(values, str) else ""
        raise TypeError(f"{name} must be a collection of {what}, not {kind}{values!r}: use [{values!r}]")
    return list(values)
