"""One injection, all tools: what they answer that is not the truth."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from corruption.checks import check
from corruption.inject import inject
from corruption.model import expected
from corruption.tools import SPARK, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from corruption.logs import Log

__all__ = ["faults_of"]


def faults_of(kind: str, log: Log, seed: object, folder: Path, tools: Iterable[str] = TOOLS) -> list[str]:
    """Inject once, ask the tools, and list what is wrong with their answers."""
    injected = inject(log, kind, random.Random(f"{seed} {kind} {log.name}"))
    wanted = expected(injected)
    where = injected.write(folder)
    found = []
    for tool in tools:
        found += [f"{tool}: {fault}" for fault in check(tool, (TOOLS | SPARK)[tool](where), injected, wanted)]
    return [f"{log.name}, {kind} ({seed}): {injected.what}: {each}" for each in found]
