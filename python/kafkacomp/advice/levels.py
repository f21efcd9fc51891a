"""Determine the level of a topic's batches: the one at which recompression gives the same bytes.

A batch does not contain its level. A similar version of the same library gives the same bytes at the same level;
another library (Java's gzip, an older zstd) gives different bytes of a similar size.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, NamedTuple

import kafkacomp
from kafkacomp._types import CompressionType
from kafkacomp.advice.compressing import GZIP_HEADER, java_gzip, java_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkacomp.advice.content import Batch

#: The levels to try; of levels with equal results the likelier one comes first. LZ4's levels above 12 equal 12.
_LEVELS: Final = {
    CompressionType.GZIP: (-1, 9, *range(1, 9)),
    CompressionType.LZ4: (9, 12, *range(1, 9), 10, 11),
    CompressionType.ZSTD: (3, 1, *range(2, 13), -1, -2, -3, -4, -5, 15, 19),
}
#: The bytes of a window's records to recompress at each level.
_MOST: Final = 64 << 10
#: The greatest difference of sizes at which a level counts as found.
_CLOSE: Final = 0.01


class Level(NamedTuple):
    """A level, and how certain it is."""

    level: int
    #: Whether recompression gave the same bytes, not only a similar size.
    same_bytes: bool
    #: The difference of the sizes as a share of today's size.
    difference: float


@dataclass
class Trials:
    """Sizes at each level of some batches of one type, summed over windows."""

    stored: int = 0
    batches: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    #: The number of batches that were tried, and of those with the same bytes.
    tried: Counter[int] = field(default_factory=Counter)
    same: Counter[int] = field(default_factory=Counter)

    def add(self, other: Trials) -> None:
        """Add the trials of another window."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def level(self) -> Level | None:
        """Return the level by these trials; None if no size is within 1%.

        Of several levels with the same bytes it is the first one tried, which is Kafka's default if that is among them.
        """
        # The others were left out because an earlier level gave the same bytes for all.
        levels = [level for level, number in self.tried.items() if number == self.batches]
        if not levels:
            return None
        level = max(levels, key=lambda each: self.same[each])
        if self.same[level] * 2 > self.batches:
            return Level(level, self.same[level] == self.batches, self._difference(level))
        # The sizes of levels differ little; of those within the limit, Kafka's default is the likeliest and tried
        # first.
        fits = abs(self._difference(levels[0])) <= _CLOSE
        level = levels[0] if fits else min(levels, key=lambda each: abs(self._difference(each)))
        difference = self._difference(level)
        return Level(level, False, difference) if abs(difference) <= _CLOSE else None  # noqa: FBT003 - a field

    def _difference(self, level: int) -> float:
        return self.sizes[level] / self.stored - 1


def try_levels(batches: Sequence[Batch]) -> dict[CompressionType, Trials]:
    """Recompress some of a window's batches, by type, at each level until one gives the same bytes for all."""
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
    """Return the records of a few batches as stored, and before compression."""
    plain = 0
    for batch in batches:
        if batch.kind is kind and batch.packed is not None and plain < _MOST:
            yield batch.packed, batch.section
            plain += len(batch.section)


def _nearest(section: bytes, packed: bytes, kind: CompressionType, level: int) -> tuple[int, bool]:
    """Return kafkacomp's or the Java clients' size at a level, the nearer one, and whether the bytes are equal."""
    made = kafkacomp.compress(section, kind, compression_level=level)
    if kind is CompressionType.GZIP and made != packed:
        of_java = java_gzip(section, level)
        same = of_java[GZIP_HEADER:] == packed[GZIP_HEADER:]
        return len(of_java), same
    if kind is CompressionType.ZSTD and made != packed:
        of_java = java_zstd(section, level)
        return len(of_java), of_java == packed
    return len(made), made == packed
