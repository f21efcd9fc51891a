"""Which windows are measured at other batch sizes, and how much of each, within a time budget.

The budget is spent by the codecs' usual speed, not by the clock, so that the same settings give the same figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp.bench.spec import Codec

__all__ = ["shares"]

#: Processor seconds for 1 GB: building batches and decompressing them, and compression by type.
_OVERHEAD: Final = 2.5
_FAST: Final = 3.0
_SLOW_LZ4: Final = 20.0
_GZIP: Final = (10.0, 1.25)
_ZSTD: Final = (3.5, 1.35)
_GZIP_DEFAULT: Final = 6
_LZ4_DEFAULT: Final = 9
#: What is worth measuring of a window, bytes before compression, and what is measured in any case.
_WORTHWHILE: Final = 512 << 10
_LEAST: Final = 128 << 10
_LEAST_WINDOWS: Final = 4


def shares(windows: Sequence[tuple[int, ...]], codecs: Sequence[Codec], seconds: float) -> dict[int, int]:
    """Bytes before compression that are tried at each other batch size, by the number of the window.

    Args:
        windows: The batch sizes that each window has room for.
        codecs: All that are tried.
        seconds: The topic's part of the time budget.
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
    """Usual processor seconds for 1 GB of records."""
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
