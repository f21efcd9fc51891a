"""What a reading of a damaged log breaks of the promises, by the log as it was.

P2: each offset once, in increasing order. P3: what is intact in its own file is delivered. P4: nothing else is. P8:
every offset that is not delivered is in a named range, and no other.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

import kafkacomp as kc
from check import Failure, check, lost, named
from make_logs import segments_of
from missing_ranges import ranges_of
from model import Range, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from missing_ranges import Range as Missing
    from promises.cases import Case

__all__ = ["Reading", "broken", "read"]

#: Damage that costs no intact batch, and brings in nothing foreign: it only destroys, or has batches of the partition.
HARMLESS = {
    "none", "page_of_same_segment", "page_of_other_segment", "zeroed", "truncated", "deleted", "copied_file",
    "repeated", "removed", "epoch_altered",
}  # fmt: skip

#: What a reader says of bytes in which it found nothing intact.
_INCOMPLETE = "incomplete batch at byte"


class Reading(NamedTuple):
    """What a reader delivers that reads on after corruption."""

    #: Offset and content of each record.
    rows: list[tuple[int, int]]
    missing: list[Missing]
    #: The names of files in which nothing intact is found in the place of an incomplete batch. If the last header of a
    #: page states more bytes than the file has, the batches after it count as its content: docs/design/map.md.
    incomplete: set[int]


def read(folder: Path, case: Case) -> Reading:
    """Scan all, control records too."""
    columns = ["offset", "key", "value", "isControl"]
    reader = kc.scan(folder, columns=columns, on_error="skip", options=kc.ScanOptions(include_control=True, threads=1))
    rows = pa.table(reader).to_pylist()
    content_of = case.contents.content_of
    found = [
        (row["offset"], content_of(row["offset"], row["key"], row["value"], is_control=row["isControl"]))
        for row in rows
    ]
    incomplete = {int(Path(each.file).stem) for each in reader.report.skipped if _INCOMPLETE in each.message}
    return Reading(found, ranges_of(reader.report.missing), incomplete)


def broken(case: Case, reading: Reading) -> list[Failure]:
    """The promises that must be kept in this case, and are not."""
    found = list(_promises(case, reading))
    must = {"P2", "P8 unnamed", "P8 named and delivered"}
    if case.label in HARMLESS:
        must |= {"P3", "P4"}
    if not case.log.kind.startswith(("compacted", "interrupted", "real v2 compacted")):
        must |= {"P8 loss called compacted"}
    if case.is_exact and case.label != "page_of_other_format":
        # No worse than the model, which was told the facts. The pages of other formats may have batches that fit.
        model = {each.promise for each in check(case.log, case.disk)}
        must |= {each for each in ("P3", "P4") if not any(name.startswith(each) for name in model)}
    return [each for each in found if each.promise in must or each.promise.split()[0] in must]


def _promises(case: Case, reading: Reading) -> Iterator[Failure]:
    log, disk = case.log, case.disk
    segments = segments_of(disk)
    delivered = set(reading.rows)
    yield from _order(reading)
    exempt = tuple(f" of {name}" for name in reading.incomplete)
    yield from (each for each in lost(log, disk, segments, delivered) if not each.what.endswith(exempt))
    for pair in reading.rows:
        if pair not in log.allowed:
            yield Failure("P4", f"offset {pair[0]} has content {pair[1]}")
            break
    offsets = [offset for offset, _ in reading.rows]
    names = [each.name for each in segments]
    span = Range(min([*names, *offsets[:1]]), max([names[-1], *(each + 1 for each in offsets[-1:])]))
    missing = [(Range(first, last + 1), _reason(reason)) for first, last, reason in reading.missing]
    yield from named(log, delivered, missing, span)


def _order(reading: Reading) -> Iterator[Failure]:
    offsets = [offset for offset, _ in reading.rows]
    if offsets != sorted(set(offsets)):
        yield Failure("P2", "offsets do not increase")


def _reason(reason: str) -> Reason:
    return Reason(reason) if reason in {"gap", "compacted"} else Reason.CORRUPT
