"""Doors that write a copy, which is read back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import kafkacomp as kc
from doors.answers import ERRORS, Answer, Source
from doors.readers import scanned
from kafkacomp import log
from missing_ranges import ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COPIES"]


def _copied(source: Source, write: Callable[..., Any], name: str, **options: Any) -> Answer:
    """The rows of the copy, what the report says is missing, and what the scan of the copy says."""
    target = source.work / name
    try:
        report = write(source.path, target, tiered=kc.Tiered(encryption_keys=source.keys), **options)
    except ERRORS as error:
        return Answer(error=error)
    missing = ranges_of(report.missing)
    if not any(target.glob("**/*.log")):
        return Answer([], missing)
    again = scanned(Source(target, source.work))
    return Answer(again.rows, missing, again.error, {"again": again.missing})


#: The copy has the rows of the strict or the lenient scan.
COPIES: dict[str, Callable[[Source], Answer]] = {
    "repair": partial(_copied, write=log.repair, name="repaired"),
    "recompress": partial(
        _copied, write=log.recompress, name="recompressed", compression_type="gzip", threads=1, allow_missing=True
    ),
    "convert": partial(_copied, write=log.convert, name="converted", to_magic=2, allow_missing=True),
}
