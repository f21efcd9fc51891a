"""Durations and their statistics."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Timing(NamedTuple):
    """The duration of a pass over all blocks."""

    #: Elapsed seconds.
    wall: float
    #: Seconds of processor time of all threads; None if the system does not report it.
    cpu: float | None


@dataclass
class Samples:
    """One figure for each round of a run."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    passes: int = 0

    def add(self, timing: Timing, passes: int) -> None:
        """Add a round."""
        self.walls.append(timing.wall)
        if timing.cpu is not None:
            self.cpus.append(timing.cpu)
        self.passes += passes

    @property
    def median(self) -> float:
        """The median of the elapsed seconds of a pass."""
        return statistics.median(self.walls)

    @property
    def cpu(self) -> float | None:
        """The median of the processor seconds of a pass."""
        return statistics.median(self.cpus) if len(self.cpus) == len(self.walls) else None

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the rounds."""
        if len(self.walls) == 1:
            return self.walls[0], self.walls[0]
        first, _, third = statistics.quantiles(self.walls, n=4, method="inclusive")
        return first, third

    def as_dict(self) -> dict[str, object]:
        """Convert for the report."""
        first, third = self.quartiles
        return {
            "median": self.median,
            "min": min(self.walls),
            "q1": first,
            "q3": third,
            "max": max(self.walls),
            "rounds": self.walls,
            "passes": self.passes,
        }

    def ratio_to(self, other: Samples) -> float:
        """The duration relative to another: the median of the ratios within each round."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.walls, other.walls, strict=True))


def sample(one_pass: Callable[[], Timing], least: float) -> tuple[Timing, int]:
    """Repeat a pass for at least ``least`` seconds; return its average duration and the number of repetitions."""
    walls = 0.0
    cpus: float | None = 0.0
    passes = 0
    start = time.perf_counter()
    while passes == 0 or time.perf_counter() - start < least:
        wall, cpu = one_pass()
        walls += wall
        cpus = None if cpus is None or cpu is None else cpus + cpu
        passes += 1
    return Timing(walls / passes, None if cpus is None else cpus / passes), passes
