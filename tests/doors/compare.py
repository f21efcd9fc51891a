"""Where the doors' answers about one folder differ, apart from the differences that docs/corruption-tools.md lists."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import kafkacomp as kc
from corruption.bounds import is_part
from doors.answers import Answer, Source
from doors.copies import COPIES
from doors.readers import COMMITTED, LENIENT, READERS, exported, polars, scanned, scanned_log_dir, spark, streamed
from doors.reporters import REPORTERS, described, dumped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doors.answers import Row
    from missing_ranges import Range

__all__ = ["differences", "may_grow", "of_readers"]

#: The bytes of a batch's offset and length.
_PREFIX = 12
#: The least length of a batch, after these.
_LEAST_SIZE = 14
#: What repair says of two files that have different records at one offset.
_DISAGREE = "have different records at offset"


def differences(source: Source) -> list[str]:
    """The differences between the doors; an empty list if there are none."""
    lenient, strict = READERS["scan, skip"](source), scanned(source)
    found = of_readers(source, lenient, strict)
    if not source.known:  # streams take none of it
        found += _stream(source, lenient, strict)
    found += _dump(source, lenient, strict)
    found += _copies(source, lenient, strict)
    return found


def of_readers(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    """The differences between the doors that take everything that is known of tiered storage."""
    found = [f"scan, skip: it stopped: {lenient.error!r}"] if lenient.error is not None else []
    for name, ask in READERS.items():
        found += _same(name, ask(source), lenient)
    for name, ask in REPORTERS.items():
        found += _same(name, ask(source), lenient)
    found += _committed(source, lenient)
    found += _strict(source, lenient, strict)
    found += _info(source, lenient, strict)
    return found


def _same(name: str, answer: Answer, wanted: Answer) -> list[str]:
    """The rows and the missing ranges, as far as the door has them."""
    if answer.error is not None:
        return [f"{name}: it stopped: {answer.error!r}"]
    found = []
    if answer.rows is not None and answer.rows != wanted.rows:
        found.append(f"{name} delivers other rows: {_first(answer, wanted)}")
    if answer.missing is not None and answer.missing != wanted.missing:
        found.append(f"{name} names {answer.missing}, the scan {wanted.missing}")
    return found


def _committed(source: Source, lenient: Answer) -> list[str]:
    """Committed readers agree, and leave out whole transactions, or all from the first open one on."""
    answers = {name: ask(source) for name, ask in COMMITTED.items()}
    first = next(iter(answers.values()))
    found = [difference for name, answer in answers.items() for difference in _same(name, answer, first)]
    if not set(first.rows or []) <= set(lenient.rows or []):
        found.append("committed rows are not among those of the scan")
    if not _is_cut(first.missing or [], lenient.missing or []):
        found.append(f"committed: the scan names {first.missing}, and {lenient.missing} if nothing is left out")
    return found


def _is_cut(missing: list[Range], whole: list[Range]) -> bool:
    """Whether ranges are the first ones of others, of which the last may be incomplete."""
    if not missing:
        return True
    *before, (start, end, reason) = missing
    at = len(before)
    return before == whole[:at] and at < len(whole) and whole[at][::2] == (start, reason) and end <= whole[at][1]


def _strict(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    """Strict doors stop together; what they deliver before is what the lenient ones deliver."""
    rows = strict.rows or []
    found = []
    if rows != (lenient.rows or [])[: len(rows)]:
        found.append(f"scan delivers other rows than with skip: {_first(strict, lenient)}")
    if strict.error is None and strict.missing != lenient.missing:
        found.append(f"scan names {strict.missing}, and with skip {lenient.missing}")
    for name, answer in {
        "scan, 2 threads": scanned(source, threads=2, batch_rows=7),
        "LogDir.scan": scanned_log_dir(source),
        "polars": polars(source),
        "export": exported(source),
        "Spark FAILFAST": spark(source, failOnDataLoss="false"),
    }.items():
        if (answer.error is None) != (strict.error is None):
            found.append(f"{name}: {answer.error!r}; scan: {strict.error!r}")
        elif answer.error is None:
            found += _same(name, answer, strict)
    return found + _fails_at_gaps("Spark", spark(source, **LENIENT | {"failOnDataLoss": "true"}), lenient)


def _fails_at_gaps(name: str, answer: Answer, lenient: Answer) -> list[str]:
    """Spark has no report: a gap ends a query with ``failOnDataLoss``, and ``mode`` decides about corrupt bytes."""
    if (answer.error is None) == any(reason == "gap" for *_, reason in lenient.missing or []):
        return [f"{name} with failOnDataLoss: {answer.error!r}; the scan names {lenient.missing}"]
    return []


def _info(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    """Counts are those of the rows where ``info`` says so; headers do not show that a batch is corrupt."""
    found = []
    rows = lenient.rows or []
    for name, options, is_judged in (
        ("info", [], strict.error is None),
        ("info --deep", ["--deep"], True),
    ):
        answer = described(source, *options)
        counts = answer.counts
        if is_judged and (options or not _has_wrappers(answer)):
            found += _same(name, answer, lenient)
        elif is_judged and not all(is_part(each, lenient.missing or []) for each in answer.missing or []):
            found.append(f"{name} names {answer.missing}, the scan {lenient.missing}")
        if is_judged and counts["isExact"] and counts["records"] != len(rows):
            found.append(f"{name} counts {counts['records']} records of {len(rows)}")
        if is_judged and counts["isMinimum"] and counts["records"] > len(rows):
            found.append(f"{name} counts at least {counts['records']} records of {len(rows)}")
        span = (counts["firstOffset"], counts["lastOffset"])
        has_positions = any(each["messageFormat"] == "0.7" for each in counts["counts"])
        if is_judged and not has_positions and rows and not span[0] <= rows[0][0] <= rows[-1][0] <= span[1]:
            found.append(f"{name} names offsets {span}, the rows have {rows[0][0]} to {rows[-1][0]}")
        if strict.error is None and (counts["corruptBytes"] or any("error" in each for each in counts["files"])):
            found.append(f"{name} finds corrupt bytes, and the scan none")
    return found


def _has_wrappers(info: Answer) -> bool:
    """Whether there are compressed messages, whose headers do not have the first offset."""
    return any(each["messageFormat"] < "2" and each["compressionType"] != "none" for each in info.counts["counts"])


def _stream(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    answer = streamed(source)
    if answer.error is not None:
        return [f"the stream stopped: {answer.error!r}"]
    found, wanted = ([row[0] for row in each.rows or []] for each in (answer, lenient))
    if may_grow(source, strict.error) and found == wanted[: len(found)]:
        return []
    if found != wanted:
        return [f"the stream delivers {len(found)} rows, the scan {len(wanted)}"]
    return _fails_at_gaps("the stream", streamed(source, failOnDataLoss="true"), _within(source, lenient))


def _within(source: Source, lenient: Answer) -> Answer:
    """The answer without what only other files show to be missing: what was after the last batch and the last name."""
    names = [int(path.stem) for path in source.path.glob("*.log") if path.stem.isdecimal()]
    everything = kc.scan(source.path, columns=["offset"], on_error="skip", options=kc.ScanOptions(include_control=True))
    end = max([*names, *(batch.column("offset")[-1].as_py() + 1 for batch in everything)], default=0)
    missing = [(first, min(last, end - 1), reason) for first, last, reason in lenient.missing or [] if first < end]
    return replace(lenient, missing=missing)


def may_grow(source: Source, error: Exception | None) -> bool:
    """Whether headers from the corrupt bytes on lead to an incomplete last batch: a stream waits for its end."""
    if not isinstance(error, kc.KafkaCompError) or error.segment is None or error.position is None:
        return False
    last = max(source.path.glob("*.log"), key=lambda path: path.name)
    if Path(error.segment).name != last.name:
        return False
    data, at = last.read_bytes(), error.position
    while at + _PREFIX <= len(data):
        (size,) = struct.unpack_from(">i", data, at + 8)
        if size < _LEAST_SIZE:
            return False
        at += _PREFIX + size
    return at != len(data)


def _dump(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    """A file ends for ``dump`` where no batch begins; it names what headers show to be missing, as ``info`` does."""
    answer, info = dumped(source), described(source)
    rows, wanted = answer.rows or [], lenient.rows or []
    found = []
    if strict.error is None:
        found += _same("dump", Answer(_without_cleaned(rows, lenient)), lenient)
        found += [f"dump: {each}" for each in answer.counts["complaints"]]
    elif strange := _strange(answer, lenient):
        found.append(f"dump shows offset {strange[0]}, which the scan neither delivers nor skips")
    elif not answer.counts["complaints"] and not {row[1:] for row in rows} >= {row[1:] for row in wanted}:
        # It shows the offsets that are stored, also where the scan restores them.
        found.append(f"dump does not show offset {min(set(wanted) - set(rows))[0]}, which the scan delivers")
    named = [each for each in info.missing or [] if each[2] != "compacted"]
    if _has_wrappers(info):
        # Of a file in which it finds no batch, it does not judge the offsets.
        is_named = all(is_part(each, lenient.missing or []) for each in answer.missing or [])
    else:
        is_named = answer.missing == named
    if not is_named:
        found.append(f"dump names {answer.missing}, info {named}")
    deep = described(source, "--deep").counts
    batches = sum(each["batches"] for each in deep["counts"])
    if strict.error is None and deep["isExact"] and batches != answer.counts["batches"]:
        found.append(f"info --deep counts {batches} batches, dump {answer.counts['batches']}")
    return found


def _overlap(lenient: Answer) -> bool:
    """Whether files overlap: one may have records that compaction has removed from the other."""
    return any(" overlap: " in each for each in lenient.counts["warnings"])


def _without_cleaned(rows: list[Row], lenient: Answer) -> list[Row]:
    """The rows of ``dump`` without those that compaction has removed from the file that is read."""
    delivered = {row[0] for row in lenient.rows or []}
    return [row for row in rows if row[0] in delivered] if _overlap(lenient) else rows


def _strange(dump: Answer, lenient: Answer) -> list[int]:
    """The offsets of rows that ``dump`` shows, and that a scan neither delivers, at whichever offset, nor skips."""
    if _overlap(lenient):
        return []
    delivered = {row[1:] for row in lenient.rows or []}
    skipped = [(Path(each.file).name, each.position, each.length) for each in lenient.counts["skipped"]]

    def is_skipped(file: str, position: int) -> bool:
        return any(name == file and start <= position < start + length for name, start, length in skipped)

    return [
        row[0]
        for row, places in dump.counts["places"].items()
        if row[1:] not in delivered and not any(is_skipped(*place) for place in places)
    ]


def _copies(source: Source, lenient: Answer, strict: Answer) -> list[str]:
    found = []
    for name, ask in COPIES.items():
        answer = ask(source)
        if answer.error is not None:
            # Rewriting is strict, as the scan is; repair is not, but for two files that disagree.
            is_meant = strict.error is not None and (name != "repair" or _DISAGREE in str(answer.error))
            if not is_meant:
                found.append(f"{name}: it stopped: {answer.error!r}")
            continue
        wanted = Answer(_of_magic_2(lenient.rows or []), lenient.missing) if name == "convert" else lenient
        found += _same(name, answer, wanted)
        # Nothing in a copy shows what is missing after its last record.
        end = max((row[0] for row in answer.rows or []), default=-1)
        again, before = (
            [each for each in _offsets(missing) if each[0] < end]
            for missing in (answer.counts.get("again"), lenient.missing)
        )
        if "again" in answer.counts and again != before:
            found.append(f"the scan of the result of {name} names {again}, that of the source {before}")
    return found


def _of_magic_2(rows: list[Row]) -> list[Row]:
    """Format 2 has a timestamp type in every batch."""
    return [(offset, max(kind, 0), content) for offset, kind, content in rows]


def _offsets(missing: Iterable[Range] | None) -> list[tuple[int, int]]:
    """Ranges without their reasons, of which a copy keeps only that the offsets are missing; adjacent ones joined."""
    found: list[tuple[int, int]] = []
    for first, last, _ in missing or ():
        if found and found[-1][1] + 1 == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def _first(answer: Answer, wanted: Answer) -> str:
    """The first row in which they differ."""
    rows, expected = answer.rows or [], wanted.rows or []
    at = next(
        (at for at, (a, b) in enumerate(zip(rows, expected, strict=False)) if a != b), min(len(rows), len(expected))
    )
    shown = [each[at][0] if at < len(each) else "the end" for each in (rows, expected)]
    return f"row {at} is offset {shown[0]} instead of {shown[1]} ({len(rows)} rows instead of {len(expected)})"
