"""All doors on a damaged log, and what is wrong with their answers."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from corruption import bounds, counts
from doors.answers import Source
from doors.compare import differences
from promises.cases import case
from promises.truth import broken, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promises.cases import Case

__all__ = ["faults", "faults_of"]

#: Doors that decompress every compressed message of formats 0 and 1 before they judge it: they may restore its offset,
#: where readers leave it out (docs/corruption.md).
_RESTORING = (
    "verify", "LogDir.verify", "LogPartition.verify", "info", "repair", "the scan of the result of repair",
    "recompress", "convert",
)  # fmt: skip


def faults_of(made: Case, folder: Path) -> list[str]:
    """The promises that the doors break in a case."""
    source = Source(made.write(folder), folder)
    reading = read(source.path, made)
    found = [f"{each.promise}: {each.what}" for each in broken(made, reading)]
    meant = _RESTORING if _has_altered_wrapper(made) else ()
    found += [f"P5: {each}" for each in differences(source) if not each.startswith(meant)]
    found += [f"P5: info: {each}" for each in counts.differences(source.path)]
    found += [f"P6: {each}" for each in bounds.differences(source.path, random.Random(f"bounds {made.number}"))]
    if read(source.path, made) != reading:
        found.append("P7: the second reading differs")
    return [f"{made}: {each}" for each in found]


def _has_altered_wrapper(made: Case) -> bool:
    """Whether a compressed message of format 0 or 1 may have a wrong offset."""
    return made.magic < 2 and made.label in {"offset_bit", "offset_garbage", "two"}


def faults(numbers: Iterable[int]) -> list[str]:
    """The same of many cases."""
    found = []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            found += faults_of(case(number), Path(folder))
    return found


if __name__ == "__main__":
    # python -m promises.doors 12 17, in the folder tests
    for each in map(int, sys.argv[1:]):
        for line in faults([each]):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
