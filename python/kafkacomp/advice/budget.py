"""Choose how much of each window is measured at other batch sizes, within a time budget.

Times are estimated from the codecs' usual speed, not measured, so that the same settings give the same figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp._codecs.levels import Codec

#: Usual processor seconds for 1 GB: building and decompressing batches, and compression by type.
_OVERHEAD: Final = 2.5
_FAST: Final = 3.0
_SLOW_LZ4: Final = 20.0
_GZIP: Final = (10.0, 1.25)
_ZSTD: Final = (3.5, 1.35)
_GZIP_DEFAULT: Final = 6
_LZ4_DEFAULT: Final = 9
#: The most and the least bytes of a window to measure, before compression.
_WORTHWHILE: Final = 512 << 10
_LEAST: Final = 128 << 10
_LEAST_WINDOWS: Final = 4


def shares(windows: Sequence[tuple[int, ...]], codecs: Sequence[Codec], seconds: float) -> dict[int, int]:
    """Return the bytes before compression to try at each other batch size, by the number of the window.

    Args:
        windows: The batch sizes for which each window is large enough.
        codecs: All codecs to try.
        seconds: The topic's share of the time budget.
    """
    found: dict[int, int] = {}
    all_sizes = {size for sizes in windows for size in sizes}
    for sizes in dict.fromkeys(windows):
        if not sizes:
            continue
        numbers = [number for number, each in enumerate(windows) if each == sizes]
        most = seconds * 1e9 / (sum(map(_seconds, codecs)) * len(all_sizes))
        wanted = min(len(numbers), max(_LEAST_WINDOWS, int(most // _WORTHWHILE)))
        each = max(int(most / wanted), _LEAST)
        found |= {numbers[at * len(numbers) // wanted]: each for at in range(wanted)}
    return found


def _seconds(codec: Codec) -> float:
    """Return the usual processor seconds for 1 GB of records."""
    if codec.type is CompressionType.GZIP:
        first, growth = _GZIP
        level = _GZIP_DEFAULT if codec.level is None or codec.level < 0 else codec.level
        return _OVERHEAD + first * growth ** (level - 1)
    if codec.type is CompressionType.ZSTD:
        first, growth = _ZSTD
        return _OVERHEAD + first * growth ** (max(codec.level or 1, 1) - 1)
    if codec.type is CompressionType.LZ4:
        return _OVERHEAD + (_FAST if codec.level in {None, _LZ4_DEFAULT} else _SLOW_LZ4)
    return _OVERHEAD + (0.0 if codec.type is CompressionType.NONE else _FAST)
