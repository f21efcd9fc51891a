"""Estimate what a codec saves on a topic, from the windows of a sample, with bounds.

The saving is a ratio estimate: the bytes with the codec divided by the stored bytes, over the same windows. If only a
part of a window was measured, the result is extrapolated to all of its keys and values. The uncertainty has three
sources: windows that are not in the sample, parts of windows that were not measured, and batches that a producer builds
differently from the model.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The 95% quantile of Student's t by degrees of freedom: 90% lie between -t and t.
_STUDENT: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812)
_NORMAL: Final = 1.645
#: Half the width of the bounds for what the model of a producer omits (its clock, its estimate of the ratio when the
#: content changes, another build of a codec), as a share of the predicted bytes: for today's batches, and for other
#: batch sizes. tests/kafka/test_advice_followed.py compares them with a real producer.
SAME_BATCHES: Final = 0.005
OTHER_BATCHES: Final = 0.025
#: The same for records larger than ``batch.size``: how full the batches become then depends on when the producer's
#: sender thread closed the previous ones. The same records, sent three times, took 0.3618 to 0.3797 of today's bytes.
LARGE_RECORDS: Final = 0.05


class Spread(NamedTuple):
    """Bounds that contain the true value with a probability of 90%."""

    low: float
    high: float


class Window(NamedTuple):
    """The bytes of one window."""

    #: Stored bytes today, and the bytes of keys, values and headers in them.
    stored: int
    payload: int
    #: For each measured part: the bytes with the codec, and those of keys, values and headers.
    parts: Sequence[tuple[int, int]]

    @property
    def predicted(self) -> float:
        """The bytes of the whole window with the codec."""
        payload = sum(payload for _, payload in self.parts)
        size = sum(size for size, _ in self.parts)
        return size if payload == self.payload else size / max(payload, 1) * max(self.payload, 1)

    def variance(self) -> float:
        """Return the variance of the predicted bytes, from the differences between the parts."""
        measured = sum(payload for _, payload in self.parts)
        left_out = max(0.0, 1 - measured / max(self.payload, 1))
        if len(self.parts) < 2 or not left_out:  # noqa: PLR2004 - one part shows no difference
            return 0.0
        ratio = self.predicted / max(self.payload, 1)
        off = sum((size - ratio * payload) ** 2 for size, payload in self.parts)
        count = len(self.parts)
        return left_out * count / (count - 1) * off * (self.payload / max(measured, 1)) ** 2


class Factor(NamedTuple):
    """The ratio of predicted to stored bytes."""

    value: float
    #: Half the width of its bounds from sampling; None if a single window cannot show the variation between windows.
    half: float | None

    def times(self, other: Factor) -> Factor:
        """Multiply by a factor that was measured on different windows."""
        value = self.value * other.value
        if self.half is None or other.half is None:
            return Factor(value, None)
        return Factor(value, math.hypot(self.half * other.value, other.half * self.value))


def estimate(windows: Sequence[Window], share: float) -> Factor:
    """Estimate the ratio of a topic's bytes with a codec to its stored bytes.

    Args:
        windows: The measured windows.
        share: The share of the topic's bytes that is in these windows, 0 to 1.
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
    """Return the share of today's bytes that is saved, and its bounds, which include the error of the model."""
    value, half = factor
    if half is None:
        return 1 - value, None
    half = math.hypot(half, value * model)
    return 1 - value, Spread(1 - value - half, 1 - value + half)
