"""Several kinds of corruption in one log: nothing is delivered twice, invented, or missing without being named.

Which of the intact batches can be told apart from the others is not decided here: two faults beside each other may hide
what one of them alone would show.
"""

from __future__ import annotations

import random
import shutil
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from corruption.inject import KINDS, applies, intact
from corruption.logs import all_logs
from corruption.model import expected
from corruption.tools import export, repair, scan_skip, scan_skip_threads, spark_drop, spark_permissive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from corruption.inject import Injected
    from corruption.logs import Log
    from corruption.tools import Answer

#: Tools that read on after corruption.
TOOLS = {
    "scan, skip": scan_skip,
    "scan, skip, 3 threads": scan_skip_threads,
    "export, skip": export,
    "repair": repair,
    "Spark DROPMALFORMED": spark_drop,
    "Spark PERMISSIVE": spark_permissive,
}
#: Kinds that make two intact batches disagree, at which repair stops, and those whose model is of one kind alone.
ALONE = {
    "overlapping segments that disagree",
    "wrong base offset in the file name",
    "wrong base offset in the file name, out of order",
}
#: Tools that do not name the offsets of what is missing where nothing is corrupt.
SILENT = {"Spark DROPMALFORMED", "Spark PERMISSIVE"}


def kinds_of(log: Log) -> list[str]:
    """The kinds that may be combined in a log."""
    return [kind for kind in KINDS if kind not in ALONE and applies(kind, log)]


def inject_all(log: Log, kinds: list[str], rng: random.Random) -> Injected | None:
    """Inject one kind after the other; ``None`` if an earlier one leaves a later one nothing to do."""
    injected = intact(log)
    done = []
    for kind in kinds:
        try:
            KINDS[kind](injected, rng)
        except (IndexError, ValueError, AssertionError):
            return None
        done.append(f"{kind}: {injected.what}")
    injected.kind, injected.what = " and ".join(kinds), ", ".join(done)
    has_batches = any(piece.batch for segment in injected.segments for piece in segment.pieces)
    return injected if has_batches and not injected.disagrees else None


def faults_of(tool: str, answer: Answer, injected: Injected) -> list[str]:
    """List what is delivered twice, invented, or missing without being named."""
    if answer.error is not None or answer.rows is None:
        return [f"{tool} stopped: {answer.error!r}"]
    found = []
    offsets = [offset for offset, _ in answer.rows]
    found += [f"{tool}: {after} after {before}" for before, after in pairwise(offsets) if after <= before]
    wanted = expected(injected)
    if wanted.undecidable is not None:
        return found
    records = dict(record for batch in injected.log.batches for record in batch.records)
    invented = [row for row in answer.rows if row[0] not in records or row[1] != records[row[0]]]
    if invented:
        found.append(f"{tool}: {len(invented)} records that the log never had, {invented[0][0]} among them")
    begin = min(segment.base for segment in injected.segments)
    end = max(offsets, default=-1)
    lost = {each for each in records if begin <= each <= end} - set(offsets) - answer.named
    if lost and tool not in SILENT:
        found.append(f"{tool}: offsets {sorted(lost)[:5]} are missing and not named")
    return found


def injections(count: int, kinds: int, seed: object) -> Iterator[tuple[int, Injected]]:
    """Inject ``kinds`` kinds into each of ``count`` logs."""
    rng = random.Random(f"{kinds} {seed}")
    for number in range(count):
        log = rng.choice(all_logs())
        injected = inject_all(log, rng.choices(kinds_of(log), k=kinds), rng)
        if injected is not None:
            yield number, injected


def check(injected: Injected, folder: Path) -> list[str]:
    """Ask all tools."""
    found = []
    where = injected.write(folder)
    for name, ask in TOOLS.items():
        try:
            answer = ask(where)
        except FileNotFoundError:
            continue  # nothing is left
        faults = faults_of(name, answer, injected)
        found += [f"{folder.name}: {injected.log.name}: {injected.what}: {each}" for each in faults]
    shutil.rmtree(folder)
    return found


def check_all(count: int, kinds: int, seed: object, folder: Path) -> list[str]:
    """Check ``count`` logs with ``kinds`` kinds each."""
    numbered = injections(count, kinds, seed)
    return [fault for number, injected in numbered for fault in check(injected, folder / f"{seed}, {number}")]


# An altered first batch in a segment whose name is within the one before; copies of later batches in descending
# order; an altered wrapper of format 0 after a copy; segments that overlap after a truncated batch.
@pytest.mark.parametrize(
    ("kinds", "seed", "number"),
    [(3, 0, 242), (5, 3, 314), (3, 2, 345), (5, 0, 342), (5, 2, 454), (5, 2, 490), (2, 1, 381), (5, 4, 367)],
)
def test_found_by_chance(kinds: int, seed: int, number: int, tmp_path: Path) -> None:
    """Cases of ``test_many`` that were wrong once."""
    injected = dict(injections(number + 1, kinds, seed))[number]
    assert not check(injected, tmp_path / str(number))


@pytest.mark.parametrize("kinds", [2, 3])
def test_some(kinds: int, tmp_path: Path) -> None:
    """A few hundred."""
    assert not check_all(150, kinds, "quick", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [2, 3, 5])
@pytest.mark.parametrize("part", range(5))
def test_many(kinds: int, part: int, tmp_path: Path) -> None:
    """Thousands."""
    assert not check_all(500, kinds, part, tmp_path)
