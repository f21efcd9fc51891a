"""Where the doors' answers about one folder differ, apart from the differences that docs/corruption.md lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doors.doors import COPIES, READERS, REPORTERS, Answer, exported, polars, scanned, spark, streamed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["differences"]

#: What repair says of two files that have different records at one offset.
_DISAGREE = "have different records at offset"


def differences(folder: Path) -> list[str]:
    """The differences between the doors; an empty list if there are none."""
    lenient = READERS["scan, skip"](folder)
    found = [f"scan, skip: it stopped: {lenient.error!r}"] if lenient.error is not None else []
    for name, ask in READERS.items():
        found += _same_rows(name, ask(folder), lenient)
    for name, ask in REPORTERS.items():
        answer = ask(folder)
        if answer.missing != lenient.missing:
            found.append(f"{name} names {answer.missing}, the scan {lenient.missing}")
    found += _strict(folder, lenient)
    found += _copies(folder, lenient)
    offsets = [offset for offset, _ in streamed(folder).rows or []]
    if offsets != [offset for offset, _ in lenient.rows or []]:
        found.append(f"the stream delivers {len(offsets)} rows, the scan {len(lenient.rows or [])}")
    return found


def _same_rows(name: str, answer: Answer, wanted: Answer) -> list[str]:
    if answer.error is not None:
        return [f"{name}: it stopped: {answer.error!r}"]
    found = []
    if answer.rows != wanted.rows:
        found.append(f"{name} delivers other rows: {_first(answer, wanted)}")
    if answer.missing is not None and answer.missing != wanted.missing:
        found.append(f"{name} names {answer.missing}, the scan {wanted.missing}")
    return found


def _strict(folder: Path, lenient: Answer) -> list[str]:
    """Strict doors stop together; what they deliver before is what the lenient ones deliver."""
    strict = scanned(folder)
    assert strict.rows is not None
    assert lenient.rows is not None
    found = []
    if strict.rows != lenient.rows[: len(strict.rows)]:
        found.append(f"scan delivers other rows than with skip: {_first(strict, lenient)}")
    if strict.error is None and strict.missing != lenient.missing:
        found.append(f"scan names {strict.missing}, and with skip {lenient.missing}")
    for name, answer in {
        "scan, 2 threads": scanned(folder, threads=2, batch_rows=7),
        "polars": polars(folder),
        "export": exported(folder),
        "Spark FAILFAST": spark(folder, failOnDataLoss="false"),
    }.items():
        if (answer.error is None) != (strict.error is None):
            found.append(f"{name}: {answer.error!r}; scan: {strict.error!r}")
        elif answer.error is None and answer.rows != strict.rows:
            found.append(f"{name} delivers other rows: {_first(answer, strict)}")
    return found


def _copies(folder: Path, lenient: Answer) -> list[str]:
    found = []
    for name, ask in COPIES.items():
        answer = ask(folder)
        if answer.error is not None:
            # Rewriting is strict, as the scan is; repair is not, but for two files that disagree.
            is_meant = scanned(folder).error is not None and (name != "repair" or _DISAGREE in str(answer.error))
            if not is_meant:
                found.append(f"{name}: it stopped: {answer.error!r}")
            continue
        if answer.rows != lenient.rows:
            found.append(f"{name} writes other rows: {_first(answer, lenient)}")
        if answer.missing != lenient.missing:
            found.append(f"{name} names {answer.missing}, the scan {lenient.missing}")
    return found


def _first(answer: Answer, wanted: Answer) -> str:
    """The first row in which they differ."""
    rows, expected = answer.rows or [], wanted.rows or []
    at = next(
        (at for at, (a, b) in enumerate(zip(rows, expected, strict=False)) if a != b), min(len(rows), len(expected))
    )
    shown = [each[at][0] if at < len(each) else "the end" for each in (rows, expected)]
    return f"row {at} is offset {shown[0]} instead of {shown[1]} ({len(rows)} rows instead of {len(expected)})"
