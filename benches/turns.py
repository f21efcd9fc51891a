"""Sides of a comparison that work in turn, so that whatever else the machine does meets them alike."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TURN = 0.25  # seconds that a side works before it is the other's turn


def in_turn(
    sides: Mapping[str, tuple[Callable[[], float], Callable[[], float]]], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """The seconds of every pass of each side, and of each turn the processor time of a pass.

    Args:
        sides: By name, what makes a pass and tells its seconds, and a clock of the processor time.
        rounds: Turns of each side.
    """
    passes: dict[str, list[float]] = {name: [] for name in sides}
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (one_pass, clock) in sides.items():
            start, cpu_start, turn = time.perf_counter(), clock(), []
            while time.perf_counter() - start < TURN:
                turn.append(one_pass())
            cpu[name].append((clock() - cpu_start) / len(turn))
            passes[name] += turn
    return passes, cpu
