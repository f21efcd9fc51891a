"""Choose partitions by topic and number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from kafkacomp import _kafkacomp
from kafkacomp._arguments import PARTITIONS, integer

if TYPE_CHECKING:
    from kafkacomp._storage.partition import Partition


class Choice(Protocol):
    """A choice of partitions."""

    def allows(self, topic: str, partition: int) -> bool:
        """Whether a partition may be chosen, by its name."""

    def select(self, found: list[Partition]) -> list[Partition]:
        """Choose partitions; ValueError if what is asked for does not exist."""


class ByName:
    """The partitions of these topics and with these numbers; ``None`` is all.

    Topics are names or globs such as ``orders-*``.
    """

    def __init__(self, topics: list[str] | None, partitions: list[int] | None) -> None:
        self._rule = _kafkacomp.ByName(topics, partitions)

    @classmethod
    def of(cls, topics: Iterable[str] | None, partitions: Iterable[int] | None) -> ByName | None:
        """Check the arguments; ``None`` chooses everything.

        Raises:
            TypeError: ``topics`` is a string, a topic is not a string, or a number is not an int.
        """
        if topics is None and partitions is None:
            return None
        names = None if topics is None else _collection("topics", topics)
        for each in names or ():
            if not isinstance(each, str):
                raise TypeError(f"topics must be a collection of names, not of {type(each).__name__}")
        numbers = None if partitions is None else _collection("partitions", partitions)
        return cls(names, None if numbers is None else [integer("partitions", n, PARTITIONS) for n in numbers])

    def allows(self, topic: str, partition: int) -> bool:
        """Whether a partition is chosen, by its name."""
        return self._rule.allows(topic, partition)

    def select(self, found: list[Partition]) -> list[Partition]:
        """Choose partitions.

        Raises:
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
        """
        return [found[place] for place in self._rule.choose([(each.topic, each.partition) for each in found])]


def _collection(name: str, values: object) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        what = "names" if name == "topics" else "numbers"
        kind = "the string " if isinstance(values, str) else ""
        raise TypeError(f"{name} must be a collection of {what}, not {kind}{values!r}: use [{values!r}]")
    return list(values)
