"""Codecs with their levels, and batch sizes, as commands and settings name them.

``--codecs`` is a list separated by commas: a name, a name and a level (``zstd:3``) or a range (``gzip:1-9``). A level
or range without a name belongs to the codec before it: ``zstd:-5,1,3``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kafkacomp._arguments import parse_size
from kafkacomp._types import CompressionType

#: Kafka's default levels (KIP-390). LZ4's 9 is the fast compressor.
DEFAULT_LEVELS: Final = {CompressionType.GZIP: -1, CompressionType.LZ4: 9, CompressionType.ZSTD: 3}
#: KIP-390's ranges; gzip's -1 is zlib's default level.
LEVELS: Final = {CompressionType.GZIP: (-1, 9), CompressionType.LZ4: (1, 17), CompressionType.ZSTD: (-131072, 22)}

#: Batch sizes that are not numbers: a file as one batch; the batches as stored.
WHOLE: Final = "whole"
STORED: Final = "stored"

_MOST_LEVELS: Final = 64
_MOST_BATCH_BYTES: Final = 1 << 30
_LEVEL = re.compile(r"-?\d{1,6}")
_RANGE = re.compile(r"(-?\d{1,6})-(-?\d{1,6})")


@dataclass(frozen=True, order=True)
class Codec:
    """A compression type at a level; ``None`` for the types that have no levels."""

    type: CompressionType
    level: int | None = None

    def __str__(self) -> str:
        """Format as an element of ``--codecs``."""
        return str(self.type) if self.level is None else f"{self.type}:{self.level}"


def parse_codecs(text: str) -> list[Codec]:
    """Parse a list of codecs; duplicates are dropped.

    >>> [str(codec) for codec in parse_codecs("snappy,zstd:1-3")]
    ['snappy', 'zstd:1', 'zstd:2', 'zstd:3']

    Raises:
        ValueError: an unknown codec, a level outside Kafka's range, or a level of a codec without levels.
    """
    found: dict[Codec, None] = {}
    last: CompressionType | None = None
    for raw in text.split(","):
        part = raw.strip()
        name, colon, levels = part.partition(":")
        if not colon and last is not None and (_LEVEL.fullmatch(part) or _RANGE.fullmatch(part)):
            kind, levels = last, part
        else:
            kind = CompressionType.for_name(name)
            if colon and not levels:
                raise ValueError(f"no level after the colon in {part!r}")
        last = kind
        found |= dict.fromkeys(_codecs(kind, levels))
    return list(found)


def _codecs(kind: CompressionType, levels: str) -> list[Codec]:
    if not levels:
        return [Codec(kind, DEFAULT_LEVELS.get(kind))]
    if kind not in LEVELS:
        raise ValueError(f"{kind} has no levels, but {levels!r} was given")
    between = _RANGE.fullmatch(levels)
    if between:
        first, last = int(between[1]), int(between[2])
    elif _LEVEL.fullmatch(levels):
        first = last = int(levels)
    else:
        raise ValueError(f"{levels!r} is not a level of {kind}: expected a number, or a range such as 1-9")
    if last < first:
        raise ValueError(f"the range {levels} of {kind} begins above its end: swap them")
    if last - first >= _MOST_LEVELS:
        raise ValueError(f"{levels} of {kind} are more than {_MOST_LEVELS} levels")
    least, most = LEVELS[kind]
    for level in (first, last):
        if not least <= level <= most or (kind is CompressionType.GZIP and level == 0):
            allowed = "1 to 9, or -1" if kind is CompressionType.GZIP else f"{least} to {most}"
            raise ValueError(f"{kind} has the levels {allowed}, not {level}")
    return [Codec(kind, level) for level in range(first, last + 1) if kind is not CompressionType.GZIP or level != 0]


def parse_sizes(text: str) -> list[int | str]:
    """Parse sizes of batches before compression: numbers with ``k`` or ``m``, ``whole``, ``stored``."""
    return list(dict.fromkeys(_batch_size(part.strip().lower()) for part in text.split(",")))


def _batch_size(part: str) -> int | str:
    size = part if part in {WHOLE, STORED} else parse_size(part)
    if isinstance(size, int) and not 1 <= size <= _MOST_BATCH_BYTES:
        raise ValueError(f"{part!r} is out of range: a batch has 1 byte to 1g")
    return size
