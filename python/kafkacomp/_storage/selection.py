"""Choose partitions by topic and number."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kafkacomp._arguments import PARTITIONS, integer

if TYPE_CHECKING:
    from kafkacomp._storage.partition import Partition

#: The most topics or partitions that an error lists.
_SHOWN = 20


class Choice(Protocol):
    """A choice of partitions."""

    def allows(self, topic: str, partition: int) -> bool:
        """Whether a partition may be chosen, by its name."""

    def select(self, found: list[Partition]) -> list[Partition]:
        """Choose partitions; ValueError if what is asked for does not exist."""


@dataclass(frozen=True)
class ByName:
    """The partitions of these topics and with these numbers; ``None`` is all."""

    #: Names or globs such as ``orders-*``.
    topics: tuple[str, ...] | None
    partitions: tuple[int, ...] | None

    @classmethod
    def of(cls, topics: Iterable[str] | None, partitions: Iterable[int] | None) -> ByName | None:
        """Check the arguments; ``None`` chooses everything.

        Raises:
            TypeError: ``topics`` is a string, a topic is not a string, or a number is not an int.
        """
        if topics is None and partitions is None:
            return None
        names = None if topics is None else tuple(_collection("topics", topics))
        for each in names or ():
            if not isinstance(each, str):
                raise TypeError(f"topics must be a collection of names, not of {type(each).__name__}")
        numbers = None if partitions is None else _collection("partitions", partitions)
        return cls(names, None if numbers is None else tuple(integer("partitions", n, PARTITIONS) for n in numbers))

    def allows(self, topic: str, partition: int) -> bool:
        """Whether a partition is chosen, by its name."""
        return self._has_topic(topic) and (self.partitions is None or partition in self.partitions)

    def select(self, found: list[Partition]) -> list[Partition]:
        """Choose partitions.

        Raises:
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
        """
        if self.topics is not None:
            names = sorted({each.topic for each in found if each.topic is not None})
            for glob in self.topics:
                if not fnmatch.filter(names, glob):
                    shown = _listed(names) or "no topics"
                    raise ValueError(f"topics: no topic matches {glob!r}: expected one of {shown}")
            found = [each for each in found if self._has_topic(each.topic or "")]
        if self.partitions is not None:
            known = sorted({each.partition for each in found if each.partition is not None})
            for number in self.partitions:
                if number not in known:
                    expected = f"expected one of [{_listed(known)}]"
                    raise ValueError(f"partitions: no topic has a partition {number}: {expected}")
            found = [each for each in found if each.partition in self.partitions]
        return found

    def _has_topic(self, topic: str) -> bool:
        return self.topics is None or any(fnmatch.fnmatchcase(topic, glob) for glob in self.topics)


def _listed(known: list[Any]) -> str:
    return ", ".join(map(str, known[:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")


def _collection(name: str, values: object) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        what = "names" if name == "topics" else "numbers"
        kind = "the string " if isinstance(values, str) else ""
        raise TypeError(f"{name} must be a collection of {what}, not {kind}{values!r}: use [{values!r}]")
    return list(values)
