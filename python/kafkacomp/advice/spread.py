"""What a codec saves of a topic, from the windows of a sample, and between which bounds the truth lies.

The saving is a ratio estimate: bytes with the codec to bytes as they are stored, over the same windows; a window of
which only a part was measured counts with all of its keys and values. Its uncertainty has three sources: windows that
were not looked at, parts of windows that were not measured, and batches that a producer makes other than the model.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LARGE_RECORDS", "OTHER_BATCHES", "SAME_BATCHES", "Factor", "Spread", "Window", "estimate", "saving"]

#: The 95% quantile of Student's t by degrees of freedom: between -t and t are 90%.
_STUDENT: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812)
_NORMAL: Final = 1.645
#: Half the width of the bounds for what the model of a producer leaves out (its clock, its estimate of the ratio when
#: the content changes, another build of a codec), a share of the predicted bytes: for today's batches, and for others.
#: tests/kafka/test_advice_followed.py holds them against a real producer.
SAME_BATCHES: Final = 0.005
OTHER_BATCHES: Final = 0.025
#: The same where records are larger than ``batch.size``: how full the batches get then depends on when the producer's
#: sender thread closed the ones before. The same records sent thrice took 0.3618 to 0.3797 of today's bytes.
LARGE_RECORDS: Final = 0.05


class Spread(NamedTuple):
    """Bounds that hold nine times in ten."""

    low: float
    high: float


class Window(NamedTuple):
    """One window's bytes."""

    #: Stored bytes today, and the bytes of keys, values and headers in them.
    stored: int
    payload: int
    #: The same of each part that was measured.
    parts: Sequence[tuple[int, int]]

    @property
    def predicted(self) -> float:
        """Bytes that the whole window would have."""
        payload = sum(payload for _, payload in self.parts)
        size = sum(size for size, _ in self.parts)
        return size if payload == self.payload else size / max(payload, 1) * max(self.payload, 1)

    def variance(self) -> float:
        """Of the predicted bytes, by the difference between the parts."""
        measured = sum(payload for _, payload in self.parts)
        left_out = max(0.0, 1 - measured / max(self.payload, 1))
        if len(self.parts) < 2 or not left_out:  # noqa: PLR2004 - one says nothing of a difference
            return 0.0
        ratio = self.predicted / max(self.payload, 1)
        off = sum((size - ratio * payload) ** 2 for size, payload in self.parts)
        count = len(self.parts)
        return left_out * count / (count - 1) * off * (self.payload / max(measured, 1)) ** 2


class Factor(NamedTuple):
    """Predicted bytes to stored ones."""

    value: float
    #: Half the width of its bounds by sampling; None if a single window says nothing of the others.
    half: float | None

    def times(self, other: Factor) -> Factor:
        """The product of two factors that were measured on different windows."""
        value = self.value * other.value
        if self.half is None or other.half is None:
            return Factor(value, None)
        return Factor(value, math.hypot(self.half * other.value, other.half * self.value))


def estimate(windows: Sequence[Window], share: float) -> Factor:
    """What a codec makes of a topic's stored bytes.

    Args:
        windows: Those that were measured.
        share: The part of the topic that these windows are.
    """
    stored = sum(window.stored for window in windows)
    if not stored:
        return Factor(1.0, None)
    value = sum(window.predicted for window in windows) / stored
    if len(windows) == 1 and share < 1:
        return Factor(value, None)
    count = len(windows)
    off = [window.predicted - value * window.stored for window in windows]
    between = max(0.0, 1 - share) * count * statistics.variance(off) if count > 1 else 0.0
    within = math.fsum(window.variance() for window in windows)
    student = _STUDENT[count - 2] if 2 <= count < len(_STUDENT) + 2 else _NORMAL  # noqa: PLR2004 - degrees of freedom
    return Factor(value, math.sqrt(student**2 * between + _STUDENT[2] ** 2 * within) / stored)


def saving(factor: Factor, model: float) -> tuple[float, Spread | None]:
    """The share of today's bytes that is saved, and its bounds, the model's error of the predicted bytes included."""
    value, half = factor
    if half is None:
        return 1 - value, None
    half = math.hypot(half, value * model)
    return 1 - value, Spread(1 - value - half, 1 - value + half)
