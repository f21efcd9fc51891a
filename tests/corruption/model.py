"""What a reader must deliver and name, computed from the pieces of an injected log alone.

Each offset of the intact log is delivered once, with its record, or named as missing. What is exempt: offsets after
the last batch that remained, offsets before the first segment that is there (as after retention), and the documented
cases that nobody can decide. Of those, only the altered batch itself is exempt; every other record is required.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corruption.framing import Batch
    from corruption.inject import Injected, Piece

__all__ = ["Expected", "expected"]


@dataclass(frozen=True)
class Expected:
    """What must hold for every tool that reads on after corruption."""

    #: Offset -> the values that it may have; of records that must be delivered.
    required: dict[int, frozenset[bytes | None]]
    #: Likewise of records that may be delivered or must be named as missing.
    optional: dict[int, frozenset[bytes | None]]
    #: Offsets that must be named as missing.
    lost: frozenset[int]
    #: Whether bytes are corrupt, as opposed to missing or there twice.
    is_corrupt: bool
    #: Why nobody can tell what was done, if so; it exempts the altered batch.
    undecidable: str | None
    #: Whether something that loses no record contradicts what is around it, so that it must be reported.
    must_warn: bool
    #: The segment names and the ranges of their bytes that may be blamed.
    blamed: dict[str, list[tuple[int, int]]]


def expected(injected: Injected) -> Expected:
    """Compute what must remain."""
    states, values = _remains(injected)
    removed = _removed_before_last(injected)
    required, optional, lost = {}, {}, set()
    for batch in injected.log.batches:
        state = states[batch.number]
        for offset, value in batch.records:
            allowed = frozenset(values.get(offset, {value}))
            if removed is not None and batch.number >= removed:
                optional[offset] = allowed
            elif state & {"intact", "epoch"} and batch.number not in injected.moved:
                required[offset] = allowed
            elif state - {"broken"}:
                optional[offset] = allowed
            else:
                lost.add(offset)
    begin = min((segment.base for segment in injected.segments), default=0)
    if injected.kind.startswith("wrong base offset in the file name"):
        begin = 0
    end = max(required, default=-1)
    pieces = [piece for segment in injected.segments for piece in segment.pieces]
    return Expected(
        required,
        optional,
        frozenset(offset for offset in lost if begin <= offset <= end),
        any(piece.state not in {"intact", "epoch"} for piece in pieces),
        _undecidable(injected),
        _must_warn(injected),
        _blamed(injected),
    )


def _remains(injected: Injected) -> tuple[dict[int, set[str]], dict[int, set[bytes | None]]]:
    """In which states the batches are there by their numbers, and the values of offsets."""
    states: dict[int, set[str]] = {batch.number: set() for batch in injected.log.batches}
    values: dict[int, set[bytes | None]] = {}
    for piece in (piece for segment in injected.segments for piece in segment.pieces):
        if piece.batch is None:
            continue
        is_ambiguous = piece.state == "epoch" and _is_ambiguous_epoch(piece, injected)
        states[piece.batch.number].add("ambiguous" if is_ambiguous else piece.state)
        for offset, value in piece.batch.records if piece.state != "broken" else ():
            values.setdefault(offset, set()).add(value)
    return states, values


def _blamed(injected: Injected) -> dict[str, list[tuple[int, int]]]:
    blamed: dict[str, list[tuple[int, int]]] = {}
    after = injected.segments[0].base if injected.segments else 0
    segments = injected.segments
    if injected.kind.startswith("wrong base offset in the file name"):
        segments = sorted(segments, key=lambda each: each.pieces[0].batch.first if each.pieces[0].batch else 0)
        after = segments[0].pieces[0].batch.first if segments[0].pieces[0].batch else 0
    for segment in segments:
        position = 0
        ranges = blamed.setdefault(segment.name, [])
        # Of a batch and its copy, either may be the repetition.
        numbers = Counter(piece.batch.number for piece in segment.pieces if piece.batch)
        copied = {number for number, count in numbers.items() if count > 1}
        first = segment.pieces[0].batch if segment.pieces else None
        if first is not None and segment.base != first.first:
            ranges.append((0, 1))
        for piece in segment.pieces:
            stop = position + len(piece.data)
            follows = piece.batch is not None and piece.batch.first == after
            is_twice = piece.batch is not None and piece.batch.number in copied
            if piece.state != "intact" or piece.is_copy or is_twice or not follows:
                ranges.append((position, stop))
            after = piece.batch.last + 1 if piece.batch else after
            position = stop
        ranges.append((position, position + 1))
    return blamed


# ------------------------------------------------------------------------------------------ what nobody can tell


def _undecidable(injected: Injected) -> str | None:
    """Why nobody can tell what was done; the documentation has the same list."""
    if _removed_before_last(injected) is not None:
        return "base offset of the last batch, of which the offset index says another one"
    segments = sorted(injected.segments, key=lambda segment: segment.base)
    placed = [
        (segment, place, piece) for segment in segments for place, piece in enumerate(segment.pieces) if piece.batch
    ]
    pieces = [piece for _, _, piece in placed]
    for number, (segment, place, piece) in enumerate(placed):
        if piece.batch is None or piece.state != "offset":
            continue
        before, after = _around(piece.batch, injected)
        first, last = _span(piece)
        is_above = first > (before.last if before else -1)
        # A copy of the segment is beside it, not after it.
        later = segment.pieces[place + 1 :]
        later += [each for other in segments if other.base > segment.base for each in other.pieces]
        if is_above and all(each.number < piece.batch.number for each in _in_place(later)):
            return "base offset of the last batch"
        if injected.log.is_compacted and is_above and after and last < after.first:
            return "base offset in a compacted log"
        if " and " in injected.kind and _is_hidden(number, pieces, len(injected.log.batches)):
            return "two faults beside each other"
    return None


def _in_place(pieces: list[Piece]) -> list[Batch]:
    """The batches whose offsets were not altered."""
    return [each.batch for each in pieces if each.batch and each.state in {"intact", "epoch"}]


def _is_hidden(place: int, pieces: list[Piece], count: int) -> bool:
    """Whether an altered batch fits its neighbours because of another fault beside it.

    It fits between intact batches where others are corrupt or missing, or it would if its neighbour were the altered
    one.
    """
    piece = pieces[place]
    assert piece.batch is not None
    first, last = _span(piece)
    earlier, later = _in_place(pieces[:place]), _in_place(pieces[place + 1 :])
    number = piece.batch.number
    before, after = {each.number for each in earlier}, {each.number for each in later}
    is_beside = any(
        each not in (before if each < number else after)
        for each in range(max(number - 2, 0), min(number + 3, count))
        if each != number
    )
    return is_beside and any(
        all(each.last < first for each in one[-1:]) and all(each.first > last for each in other[:1])
        for one, other in ((earlier, later), (earlier[:-1], later), (earlier, later[1:]))
    )


def _removed_before_last(injected: Injected) -> int | None:
    """The number of a batch that was removed so that the last one looks as if its base offset had been altered.

    The last one stands where the offset index has the one that was removed, and their base offsets differ in one bit.
    """
    batches = injected.log.batches
    if len(batches) < 2 or "batch removed" not in injected.kind.split(" and "):
        return None
    gone, last = batches[-2:]
    numbers = {piece.batch.number for segment in injected.segments for piece in segment.pieces if piece.batch}
    is_near = (gone.first ^ last.first).bit_count() == 1 and len(gone.records) == len(last.records)
    is_shown = _has_other_timestamp(gone, last, injected)
    return gone.number if gone.number not in numbers and is_near and not is_shown else None


def _has_other_timestamp(gone: Batch, last: Batch, injected: Injected) -> bool:
    """Whether the time index has an entry for a batch that is not the timestamp of the one in its place."""
    for segment in injected.segments:
        index = segment.indexes.get("timeindex", b"")
        for timestamp, offset in struct.iter_unpack(">qi", index[: len(index) // 12 * 12]):
            if gone.first <= segment.base + offset <= gone.last:
                return last.magic == 2 and timestamp != struct.unpack_from(">q", last.data, 35)[0]
    return False


def _around(batch: Batch, injected: Injected) -> tuple[Batch | None, Batch | None]:
    batches = injected.log.batches
    after = batches[batch.number + 1] if batch.number + 1 < len(batches) else None
    return batches[batch.number - 1] if batch.number else None, after


def _span(piece: Piece) -> tuple[int, int]:
    """The offsets that an altered batch says it has."""
    assert piece.batch is not None
    field = int.from_bytes(piece.data[:8], "big", signed=True)
    count = piece.batch.last - piece.batch.first
    if piece.batch.magic == 2 or not piece.batch.is_compressed:
        return field, field + count
    return field - count, field


# ------------------------------------------------------------------------------------------ leader epochs


def _epoch(data: bytes) -> int:
    (epoch,) = struct.unpack_from(">i", data, 12)
    return int(epoch)


def _epochs_around(piece: Piece, injected: Injected) -> tuple[int | None, int | None]:
    assert piece.batch is not None
    before, after = _around(piece.batch, injected)
    has = [each if each is not None and each.magic == 2 else None for each in (before, after)]
    found = [None if each is None else _epoch(each.data) for each in has]
    return tuple(None if each == -1 else each for each in found)  # type: ignore[return-value]


def _is_wrong_epoch(piece: Piece, injected: Injected) -> bool:
    """Whether the neighbours contradict an altered epoch: epochs do not decrease along a log."""
    before, after = _epochs_around(piece, injected)
    epoch = _epoch(piece.data)
    return epoch < -1 or (
        epoch != -1 and ((before is not None and epoch < before) or (after is not None and epoch > after))
    )


def _is_ambiguous_epoch(piece: Piece, injected: Injected) -> bool:
    """Whether the neighbours contradict an altered epoch and do not determine the right one."""
    before, after = _epochs_around(piece, injected)
    near = [each for each in {before, after} if each is not None and (each ^ _epoch(piece.data)).bit_count() == 1]
    return before != after and len(near) != 1


# ------------------------------------------------------------------------------------------ what loses nothing


#: Kinds that lose no record and show all the same, in whichever log.
_TWICE = frozenset({"batch repeated directly", "batch repeated later", "overlapping segments", "segment copied"})


def _must_warn(injected: Injected) -> bool:
    if injected.kind in _TWICE:
        return True
    if injected.kind == "wrong base offset in the file name":
        return _is_wrong_name(injected)
    if injected.kind == "wrong base offset in the file name, out of order":
        return True
    pieces = [piece for segment in injected.segments for piece in segment.pieces if piece.batch]
    return any(piece.state == "epoch" and _is_wrong_epoch(piece, injected) for piece in pieces)


def _is_wrong_name(injected: Injected) -> bool:
    """Whether batches contradict a segment's name: they lie below it, or it lies below those of the segment before."""
    for segment in injected.segments:
        batch = segment.pieces[0].batch
        assert batch is not None
        if batch.first < segment.base:
            return True
    for one, other in pairwise(injected.segments):
        batch = one.pieces[-1].batch
        if batch is not None and batch.last >= other.base:
            return True
    return False
