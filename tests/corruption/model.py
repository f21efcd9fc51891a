"""What a reader must deliver and name, computed from the pieces of an injected log alone.

Each offset of the intact log is delivered once, with its record, or named as missing. What is exempt: offsets after
the last batch that remained, offsets before the first segment that is there (as after retention), and the documented
cases that nobody can decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    #: Why nobody can tell what was done, if so.
    undecidable: str | None
    #: The segment names and the ranges of their bytes that may be blamed.
    blamed: dict[str, list[tuple[int, int]]]


def expected(injected: Injected) -> Expected:
    """Compute what must remain."""
    states: dict[int, set[str]] = {batch.number: set() for batch in injected.log.batches}
    values: dict[int, set[bytes | None]] = {}
    for segment in injected.segments:
        for piece in segment.pieces:
            if piece.batch is None:
                continue
            states[piece.batch.number].add(piece.state)
            for offset, value in piece.batch.records if piece.state != "broken" else ():
                values.setdefault(offset, set()).add(value)
    required, optional, lost = {}, {}, set()
    for batch in injected.log.batches:
        for offset, value in batch.records:
            allowed = frozenset(values.get(offset, {value}))
            if "intact" in states[batch.number] and batch.number not in injected.moved:
                required[offset] = allowed
            elif states[batch.number] - {"broken"}:
                optional[offset] = allowed
            else:
                lost.add(offset)
    begin = min((segment.base for segment in injected.segments), default=0)
    if injected.kind == "wrong base offset in the file name":
        begin = 0
    end = max(required, default=-1)
    pieces = [piece for segment in injected.segments for piece in segment.pieces]
    return Expected(
        required,
        optional,
        frozenset(offset for offset in lost if begin <= offset <= end),
        any(piece.state != "intact" for piece in pieces),
        _undecidable(injected),
        _blamed(injected),
    )


def _blamed(injected: Injected) -> dict[str, list[tuple[int, int]]]:
    blamed: dict[str, list[tuple[int, int]]] = {}
    for segment in injected.segments:
        position, after = 0, -1
        ranges = blamed.setdefault(segment.name, [])
        for piece in segment.pieces:
            end = position + len(piece.data)
            follows = piece.batch is not None and piece.batch.first == after
            if piece.state != "intact" or not follows:
                ranges.append((position, end))
            after = piece.batch.last + 1 if piece.batch else after
            position = end
        ranges.append((position, position + 1))
    return blamed


def _undecidable(injected: Injected) -> str | None:
    """Why nobody can tell what was done; the documentation has the same list."""
    last = injected.log.batches[-1].number
    altered = [p for s in injected.segments for p in s.pieces if p.batch and p.state == "offset"]
    if any(piece.batch and piece.batch.number == last for piece in altered):
        return "base offset of the last batch"
    copies = {"batch overwritten by another", "batch repeated directly", "batch repeated later"}
    names = {"wrong base offset in the file name"}
    if injected.log.is_compacted and (altered or injected.kind in copies | names):
        return "base offset in a compacted log"
    if any(_stays_between(piece, injected) for piece in altered):
        return "offset of compressed messages between those of its neighbours"
    return None


def _stays_between(piece: Piece, injected: Injected) -> bool:
    """Whether the header of compressed messages of magic 0 or 1, which has their last offset alone, is plausible."""
    batch, batches = piece.batch, injected.log.batches
    if batch is None or batch.magic == 2 or not batch.is_compressed:
        return False
    offset = int.from_bytes(piece.data[:8], "big", signed=True)
    before = batches[batch.number - 1].last if batch.number else -1
    return before < offset < batches[batch.number + 1].last
