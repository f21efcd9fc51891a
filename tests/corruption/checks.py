"""Whether a tool's answer to an injected log is the truth."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corruption.inject import Injected
    from corruption.model import Expected
    from corruption.tools import Answer, Row

__all__ = ["check"]


#: Tools that end with an error at corruption.
STRICT = frozenset({"scan", "scan, 3 threads", "recompress"})
#: Tools that write no segments.
READERS = frozenset({"scan", "scan, 3 threads", "scan, skip", "scan, skip, 3 threads", "export, skip"})


def check(tool: str, answer: Answer, injected: Injected, wanted: Expected) -> list[str]:
    """Find what is wrong with an answer; nothing if it is the truth."""
    if tool == "verify":
        return _verify(answer, injected, wanted)
    if tool.startswith("Spark"):
        return _spark(tool, answer, injected, wanted)
    if answer.error is not None:
        return _stopped(tool, answer, wanted, injected)
    assert answer.rows is not None
    faults = _rows(answer.rows, wanted)
    if tool in STRICT and _must_stop(injected, wanted):
        faults.append("corrupt bytes, and it did not stop")
    unnamed = _unnamed(answer, wanted)
    if unnamed:
        faults.append(f"offsets {_some(unnamed)} are missing and not named")
    # Readers do not use leader epochs; verify and the writers report them.
    must_warn = wanted.must_warn and not (injected.kind == "flipped bit: leader epoch" and tool in READERS)
    must_warn = must_warn or (bool(wanted.lost) and not injected.log.is_compacted)
    if must_warn and not answer.warnings and not answer.faults:
        faults.append("no warning")
    faults += _absurd(answer, wanted)
    both = answer.named & {offset for offset, _ in answer.rows}
    if both and wanted.undecidable is None:
        faults.append(f"offsets {_some(both)} are delivered and named as missing")
    return faults


def _absurd(answer: Answer, wanted: Expected) -> list[str]:
    if not answer.absurd or wanted.undecidable is not None:
        return []
    return [f"missing ranges that the log never had: {answer.absurd}"]


def _rows(rows: list[Row], wanted: Expected) -> list[str]:
    faults = []
    offsets = [offset for offset, _ in rows]
    known = wanted.required | wanted.optional
    strange = [offset for offset, _ in rows if offset not in known]
    if strange and wanted.undecidable is None:
        faults.append(f"offsets {_some(strange)} are delivered, which no intact batch has")
    if offsets != sorted(set(offsets)):
        faults.append(f"offsets do not increase: {_descent(offsets)}")
    left_out = wanted.required.keys() - set(offsets)
    if left_out:
        faults.append(f"offsets {_some(left_out)} are intact and not delivered")
    wrong = [offset for offset, value in rows if offset in known and value not in known[offset]]
    if wrong and wanted.undecidable is None:
        faults.append(f"offsets {_some(wrong)} have other values")
    return faults


def _must_stop(injected: Injected, wanted: Expected) -> bool:
    """Whether strict reading must not come to its end without an error."""
    if injected.disagrees:
        return True
    if wanted.undecidable is not None:
        return False
    last = injected.segments[-1]
    for segment in injected.segments:
        for place, piece in enumerate(segment.pieces):
            at_end = segment is last and all(other.state == "broken" for other in segment.pieces[place:])
            if piece.state == "broken" and not at_end and any(piece.data):
                return True
    return False


#: Kinds that may leave all batches intact and at which strict tools may stop all the same: a batch is lost.
_MAY_STOP = frozenset(
    {
        "batch overwritten by another",
        "run overwritten by a later run",
        # A page may be exactly as long as a batch.
        "page overwritten by a later page",
    }
)


def _stopped(tool: str, answer: Answer, wanted: Expected, injected: Injected) -> list[str]:
    """An error is right for strict tools that meet corruption, and for no other."""
    strict = tool in STRICT or (tool == "repair" and injected.disagrees)
    if not strict:
        return [f"it stopped: {answer.error!r}"]
    if wanted.undecidable is not None:
        return []
    is_misplaced = injected.moved or injected.kind in _MAY_STOP
    if tool != "repair" and not (wanted.is_corrupt or injected.disagrees or is_misplaced):
        return [f"nothing is corrupt, and it stopped: {answer.error!r}"]
    known = wanted.required | wanted.optional
    wrong = [each for each in answer.rows or [] if each[0] not in known or each[1] not in known[each[0]]]
    if wrong and wanted.undecidable is None:
        return [f"before the error came offsets {_some(offset for offset, _ in wrong)}"]
    return []


def _unnamed(answer: Answer, wanted: Expected) -> set[int]:
    delivered = {offset for offset, _ in answer.rows or []}
    end = max(delivered, default=-1)
    optional = {offset for offset in wanted.optional if offset < end and wanted.undecidable is None}
    return (set(wanted.lost) | optional) - delivered - answer.named


def _index_shows_truncation(injected: Injected) -> bool:
    """Whether an offset index has an entry for bytes after its segment's end."""
    for segment in injected.segments:
        size = sum(len(piece.data) for piece in segment.pieces)
        index = segment.indexes.get("index", b"")
        entries = struct.iter_unpack(">ii", index[: len(index) - len(index) % 8])
        if any(position >= size for _, position in entries):
            return True
    return False


def _spark(tool: str, answer: Answer, injected: Injected, wanted: Expected) -> list[str]:
    """``mode`` governs corruption, ``failOnDataLoss`` what is missing."""
    assert answer.rows is not None
    strict = tool == "Spark FAILFAST"
    stops_for_lost = stops_at_loss = strict or tool.endswith("failOnDataLoss")
    if injected.log.is_compacted and not wanted.is_corrupt and not injected.disagrees:
        stops_at_loss = strict = False  # a gap may be compaction's
    left_out = (wanted.required.keys() | wanted.optional.keys() | wanted.lost) - {o for o, _ in answer.rows}
    if answer.error is None:
        faults = _rows(answer.rows, wanted)
        if strict and (_must_stop(injected, wanted) or left_out & set(wanted.lost)):
            faults.append("something is corrupt or missing, and it did not stop")
        if stops_at_loss and injected.kind in {"middle segment deleted", "batch removed"} and wanted.lost:
            faults.append("offsets are missing, and it did not stop")
        return faults
    has_corruption = wanted.is_corrupt or injected.disagrees or bool(injected.moved) or injected.kind in _MAY_STOP
    # A copy may have been written over what is missing beside it, also in a compacted log.
    has_corruption = has_corruption or injected.kind.startswith("batch repeated")
    if tool == "Spark FAILFAST" and has_corruption:
        return []
    if stops_at_loss and left_out:
        return []
    if stops_for_lost and wanted.lost and _index_shows_truncation(injected):
        return []  # in a compacted log, too
    if stops_for_lost and injected.kind.startswith("wrong base offset in the file name"):
        return []  # the offsets up to the wrong name count as missing
    return [] if wanted.undecidable is not None else [f"it stopped: {answer.error!r}"]


#: Kinds that leave no batch altered, and that verify may call an error.
_HARMLESS = frozenset(
    {
        "wrong base offset in the file name",
        "wrong base offset in the file name, out of order",
        "batch repeated directly",
        "batch repeated later",
        "batch overwritten by another",
        "run overwritten by a later run",
    }
)
#: Kinds that brokers leave, too, so that verify warns of them.
_OF_BROKERS = frozenset({"overlapping segments", "segment copied"})


def _verify(answer: Answer, injected: Injected, wanted: Expected) -> list[str]:
    if answer.error is not None:
        return [f"it stopped: {answer.error!r}"]
    faults = _absurd(answer, wanted)
    unnamed = set(wanted.lost) - answer.named
    if unnamed:
        faults.append(f"offsets {_some(unnamed)} are missing and not named")
    named = answer.named & wanted.required.keys()
    if named and wanted.undecidable is None and not injected.disagrees:
        faults.append(f"offsets {_some(named)} are intact and named as missing")
    faults += _status(answer, injected, wanted)
    is_intact = not (wanted.lost or wanted.optional or wanted.is_corrupt or injected.disagrees)
    # An index entry shows that the last batch was removed.
    is_intact &= not _index_shows_truncation(injected)
    on_logs = [(file, position) for file, position in answer.faults if file.endswith(".log")]
    if is_intact and on_logs and injected.kind not in _HARMLESS and not _has_wrong_epoch(injected, wanted):
        faults.append(f"an intact log, and errors: {on_logs}")
    if wanted.undecidable is None:
        for file, position in on_logs:
            blamed = wanted.blamed.get(file.removesuffix(".log"), [])
            if not any(begin <= position < end for begin, end in blamed):
                faults.append(f"{file} at byte {position} is blamed, which is intact")
    return faults


def _status(answer: Answer, injected: Injected, wanted: Expected) -> list[str]:
    faults = []
    must_fail = wanted.lost or _must_stop(injected, wanted) or (wanted.must_warn and injected.kind not in _OF_BROKERS)
    if must_fail and answer.status != 1:
        faults.append(f"exit status {answer.status}")
    if not answer.faults and answer.status != 0:
        faults.append(f"exit status {answer.status} without an error")
    if wanted.must_warn and not answer.faults and not answer.warnings:
        faults.append("no warning")
    return faults


def _has_wrong_epoch(injected: Injected, wanted: Expected) -> bool:
    return injected.kind == "flipped bit: leader epoch" and wanted.must_warn


def _descent(offsets: list[int]) -> str:
    for before, after in pairwise(offsets):
        if after <= before:
            return f"{after} after {before}"
    return ""


def _some(offsets: object) -> str:
    numbers = sorted(set(offsets))  # type: ignore[call-overload]
    shown = ", ".join(map(str, numbers[:5]))
    return shown + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")
