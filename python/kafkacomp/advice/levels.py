"""At which level a topic's batches were compressed: the one that makes the same bytes of their records.

A batch does not say its level. The same library in about the same version gives the same bytes for the same level;
another one (Java's gzip, an older zstd) gives bytes that differ, but sizes that are close.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import kafkacomp
from kafkacomp._types import CompressionType
from kafkacomp.advice.compressing import GZIP_HEADER, java_gzip, java_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkacomp.advice.content import Batch

__all__ = ["Level", "Trials", "try_levels"]

#: The levels tried, of those that make the same bytes the likelier one first; LZ4's above 12 are 12.
_LEVELS: Final = {
    CompressionType.GZIP: (-1, 9, *range(1, 9)),
    CompressionType.LZ4: (9, 12, *range(1, 9), 10, 11),
    CompressionType.ZSTD: (3, 1, *range(2, 13), -1, -2, -3, -4, -5, 15, 19),
}
#: How many bytes of a window's records are compressed again at each level.
_MOST: Final = 64 << 10
#: Sizes this close are taken for the level's; further off none is named.
_CLOSE: Final = 0.01


class Level(NamedTuple):
    """What is known of a level."""

    level: int
    #: Whether the bytes are the same, not only about as many.
    exact: bool
    #: The difference of the sizes, a share of today's.
    difference: float


@dataclass
class Trials:
    """Sizes at each level of some batches of one type; what windows find is added up."""

    stored: int = 0
    batches: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    #: Batches that were tried, and those of them whose bytes came out the same.
    tried: dict[int, int] = field(default_factory=dict)
    same: dict[int, int] = field(default_factory=dict)

    def add(self, other: Trials) -> None:
        """Add what another window found."""
        self.stored += other.stored
        self.batches += other.batches
        for mine, theirs in ((self.sizes, other.sizes), (self.tried, other.tried), (self.same, other.same)):
            for level, number in theirs.items():
                mine[level] = mine.get(level, 0) + number

    def level(self) -> Level | None:
        """The level by these trials; None if no level's size is within 1%.

        Of several that make the same bytes it is the one that is tried first: Kafka's default, if it is among them.
        """
        # The others were left out because one before them made the same bytes of all.
        levels = [level for level, number in self.tried.items() if number == self.batches]
        if not levels:
            return None
        level = max(levels, key=lambda each: self.same[each])
        if self.same[level] * 2 > self.batches:
            return Level(level, self.same[level] == self.batches, self._difference(level))
        # Levels lie close together; Kafka's default, which is the first one tried, is the likeliest of those that fit.
        fits = abs(self._difference(levels[0])) <= _CLOSE
        level = levels[0] if fits else min(levels, key=lambda each: abs(self._difference(each)))
        difference = self._difference(level)
        return Level(level, False, difference) if abs(difference) <= _CLOSE else None  # noqa: FBT003 - a field

    def _difference(self, level: int) -> float:
        return self.sizes[level] / self.stored - 1


def try_levels(batches: Sequence[Batch]) -> dict[CompressionType, Trials]:
    """Compress some of a window's batches again, by type, level after level until one makes the same bytes of all."""
    found: dict[CompressionType, Trials] = {}
    for kind, levels in _LEVELS.items():
        some = list(_some(batches, kind))
        if not some:
            continue
        trials = found[kind] = Trials(sum(len(packed) for packed, _ in some), len(some))
        for level in levels:
            made = [_nearest(section, packed, kind, level) for packed, section in some]
            trials.sizes[level] = sum(size for size, _ in made)
            trials.tried[level] = len(some)
            trials.same[level] = sum(same for _, same in made)
            if trials.same[level] == len(some):
                break
    return found


def _some(batches: Sequence[Batch], kind: CompressionType) -> Iterator[tuple[bytes, bytes]]:
    """The records of a few batches as they are stored, and before compression."""
    plain = 0
    for batch in batches:
        if batch.kind is kind and batch.packed is not None and plain < _MOST:
            yield batch.packed, batch.section
            plain += len(batch.section)


def _nearest(section: bytes, packed: bytes, kind: CompressionType, level: int) -> tuple[int, bool]:
    """The size at a level, and whether the bytes are the same; Java's clients make other bytes of gzip and zstd."""
    made = kafkacomp.compress(section, kind, compression_level=level)
    if kind is CompressionType.GZIP and made != packed:
        of_java = java_gzip(section, level)
        same = of_java[GZIP_HEADER:] == packed[GZIP_HEADER:]
        return len(of_java), same
    if kind is CompressionType.ZSTD and made != packed:
        of_java = java_zstd(section, level)
        return len(of_java), of_java == packed
    return len(made), made == packed
