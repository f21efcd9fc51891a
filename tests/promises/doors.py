"""All doors on a damaged log, and what is wrong with their answers."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import kafkacomp as kc
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
#: Doors that read a range of offsets, for which a constant number of files is opened: only reading it shows that a file
#: reaches over the next but one (docs/design/map.md).
_OF_RANGES = ("Spark", "the stream")
#: Doors of which a part decodes a gap between compressed messages of formats 0 and 1, and need not see that the log is
#: compacted (docs/design/map.md).
_AT_GAPS = ("Spark with failOnDataLoss", "the stream with failOnDataLoss")


def faults_of(made: Case, folder: Path) -> list[str]:
    """The promises that the doors break in a case."""
    source = Source(made.write(folder), folder)
    reading = read(source.path, made)
    found = [f"{each.promise}: {each.what}" for each in broken(made, reading)]
    reaches_over = _reaches_over(source.path)
    meant: tuple[str, ...] = ()
    meant += _RESTORING if made.has_wrappers and made.label in {"offset_bit", "offset_garbage", "two"} else ()
    meant += _AT_GAPS if made.has_wrappers else ()
    meant += _OF_RANGES if reaches_over else ()
    found += [f"P5: {each}" for each in differences(source) if not each.startswith(meant)]
    found += [f"P5: info: {each}" for each in counts.differences(source.path)]
    if not reaches_over:
        found += [f"P6: {each}" for each in bounds.differences(source.path, random.Random(f"bounds {made.number}"))]
    if read(source.path, made) != reading:
        found.append("P7: the second reading differs")
    return [f"{made}: {each}" for each in found]


def _reaches_over(folder: Path) -> bool:
    """Whether a reader delivers records of a file above the name of the next file but one."""
    names = sorted(int(path.stem) for path in folder.glob("*.log"))
    rows = kc.scan(folder, columns=["offset", "segment"], on_error="skip", options=kc.ScanOptions(include_control=True))
    columns = ("segment", "offset")
    reached = dict(
        pair for batch in rows for pair in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    )
    ends = {int(Path(segment).stem): offset for segment, offset in reached.items()}
    return any(ends.get(name, -1) >= later for name, later in zip(names, names[2:], strict=False))


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
