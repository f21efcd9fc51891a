"""Injects one kind of corruption into an intact log, and keeps track of what it did to which batch.

A log is taken apart into pieces, each a batch or bytes that are none. An injection changes, removes, adds or moves
pieces; the files are the pieces joined. What must remain is then known from the pieces (:mod:`corruption.model`).
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from corruption.framing import FIELDS, PAYLOAD, Batch
from corruption.logs import Log, index_files, rebuilt_values

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["KINDS", "Injected", "Piece", "Segment", "applies", "inject", "intact", "write_over"]


@dataclass(frozen=True)
class Piece:
    """Bytes of a segment: a batch, what is left of one, or bytes that were never one (``batch`` is ``None``)."""

    data: bytes
    batch: Batch | None
    #: intact; offset, epoch: only that field differs, which no checksum covers; broken: anything else differs.
    state: str = "intact"
    #: Whether it is in the place of others.
    is_copy: bool = False


@dataclass
class Segment:
    """A segment file with its indexes."""

    base: int
    pieces: list[Piece]
    indexes: dict[str, bytes]
    #: Instead of the base offset with 20 digits.
    stem: str | None = None

    @property
    def name(self) -> str:
        """The file name without suffix."""
        return self.stem or f"{self.base:020}"


@dataclass
class Injected:
    """A log with corruption in it."""

    log: Log
    kind: str
    segments: list[Segment]
    #: What was done, for failure messages.
    what: str = ""
    #: Numbers of intact batches that were moved: whether they are delivered is decided by the reader, not silently.
    moved: set[int] = field(default_factory=set)
    #: Whether two intact batches disagree about an offset.
    disagrees: bool = False

    def write(self, folder: Path) -> Path:
        """Write the files of the partition."""
        target = folder / "topic-0"
        target.mkdir(parents=True)
        for segment in self.segments:
            (target / f"{segment.name}.log").write_bytes(b"".join(piece.data for piece in segment.pieces))
            for suffix, content in segment.indexes.items():
                (target / f"{segment.name}.{suffix}").write_bytes(content)
        return target


def _state(batch: Batch, data: bytes) -> str:
    if data == batch.data:
        return "intact"
    if len(data) != len(batch.data):
        return "broken"
    different = {at for at, (a, b) in enumerate(zip(batch.data, data, strict=True)) if a != b}
    if different <= set(range(8)):
        return "offset"
    if batch.magic == 2 and different <= set(range(12, 16)):
        return "epoch"
    return "broken"


def _changed(piece: Piece, data: bytes) -> Piece:
    if piece.batch is None:
        return replace(piece, data=data)
    return replace(piece, data=data, state=_state(piece.batch, data))


def _flipped(data: bytes, bit: int) -> bytes:
    at = bit // 8
    return data[:at] + bytes([data[at] ^ (0x80 >> bit % 8)]) + data[at + 1 :]


# ------------------------------------------------------------------------------------------ the kinds


def _inner(segments: list[Segment], rng: random.Random) -> tuple[Segment, int]:
    """Any batch."""
    segment = rng.choice([each for each in segments if each.pieces])
    return segment, rng.randrange(len(segment.pieces))


def _describe(segment: Segment, place: int) -> str:
    batch = segment.pieces[place].batch
    return f"{segment.name} batch {place} (offsets {batch.first} to {batch.last})" if batch else segment.name


def _has(name: str, batch: Batch) -> bool:
    """Whether a batch has a field, or a payload: compaction may leave none."""
    return len(batch.data) > PAYLOAD[batch.magic] if name == "payload" else name in FIELDS[batch.magic]


def _flip_field(name: str) -> Callable[[Injected, random.Random], None]:
    def flip(injected: Injected, rng: random.Random) -> None:
        choices = [
            (segment, place)
            for segment in injected.segments
            for place, piece in enumerate(segment.pieces)
            if piece.batch is not None and _has(name, piece.batch)
        ]
        segment, place = rng.choice(choices)
        piece = segment.pieces[place]
        assert piece.batch is not None
        magic = piece.batch.magic
        begin, end = (PAYLOAD[magic], len(piece.data)) if name == "payload" else FIELDS[magic][name]
        bit = rng.randrange(begin * 8, end * 8)
        segment.pieces[place] = _changed(piece, _flipped(piece.data, bit))
        injected.what = f"bit {bit} of {_describe(segment, place)}"

    return flip


def _zero_range(injected: Injected, rng: random.Random) -> None:
    segment = rng.choice(injected.segments)
    length = sum(len(piece.data) for piece in segment.pieces)
    begin = rng.randrange(length)
    _zero(segment, begin, min(length, begin + rng.choice((1, 16, 512, 4096))))
    injected.what = f"{segment.name} from byte {begin} on"


def _zero(segment: Segment, begin: int, end: int) -> None:
    position = 0
    for place, piece in enumerate(segment.pieces):
        size = len(piece.data)
        first, last = max(begin - position, 0), min(end - position, size)
        if first < last:
            data = piece.data[:first] + bytes(last - first) + piece.data[last:]
            segment.pieces[place] = _changed(piece, data)
        position += size


def _zero_closed(injected: Injected, rng: random.Random) -> None:
    segment = rng.choice(injected.segments[:-1])
    _zero(segment, 0, sum(len(piece.data) for piece in segment.pieces))
    injected.what = segment.name


def _zero_half(injected: Injected, rng: random.Random) -> None:
    segment = rng.choice(injected.segments[:-1])
    length = sum(len(piece.data) for piece in segment.pieces)
    _zero(segment, length // 2, length)
    injected.what = segment.name


def _zero_tail(injected: Injected, rng: random.Random) -> None:
    segment = injected.segments[-1]
    length = sum(len(piece.data) for piece in segment.pieces)
    _zero(segment, rng.randrange(length), length)


def _delete(which: str) -> Callable[[Injected, random.Random], None]:
    def delete(injected: Injected, rng: random.Random) -> None:
        last = len(injected.segments) - 1
        place = {"first": 0, "last": last, "middle": rng.randrange(1, max(2, last))}[which]
        if which == "middle" and last < 2:
            place = 0
        injected.what = injected.segments.pop(place).name

    return delete


def _cut_batch(injected: Injected, rng: random.Random) -> None:
    segment, place = _inner(injected.segments, rng)
    injected.what = _describe(segment, place)
    del segment.pieces[place]


def _truncate(segment: Segment, length: int) -> None:
    kept, position = [], 0
    for piece in segment.pieces:
        rest = length - position
        if rest <= 0:
            break
        kept.append(piece if rest >= len(piece.data) else _changed(piece, piece.data[:rest]))
        position += len(piece.data)
    segment.pieces = kept


def _truncate_one(*, is_last: bool) -> Callable[[Injected, random.Random], None]:
    def truncate(injected: Injected, rng: random.Random) -> None:
        segment = injected.segments[-1] if is_last else rng.choice(injected.segments[:-1])
        length = rng.randrange(sum(len(piece.data) for piece in segment.pieces))
        _truncate(segment, length)
        injected.what = f"{segment.name} at byte {length}"

    return truncate


def _foreign(injected: Injected, rng: random.Random) -> None:
    segment, place = _inner(injected.segments, rng)
    length = rng.choice((1, 7, 61, 500))
    content = rng.choice((rng.randbytes(length), bytes(length), b"\x01" * length, (b"some text\n" * 50)[:length]))
    segment.pieces.insert(place, Piece(content, None, "broken"))
    injected.what = f"{length} bytes before {_describe(segment, place + 1)}"


def _foreign_at_end(injected: Injected, rng: random.Random) -> None:
    segment = injected.segments[-1]
    segment.pieces.append(Piece(b"\x7f" + rng.randbytes(rng.choice((6, 60, 499))), None, "broken"))


def _swap(injected: Injected, rng: random.Random) -> None:
    segment = rng.choice([each for each in injected.segments if len(each.pieces) > 1])
    first, second = sorted(rng.sample(range(len(segment.pieces)), 2))
    pieces = segment.pieces
    injected.what = f"{_describe(segment, first)} and batch {second}"
    pieces[first], pieces[second] = pieces[second], pieces[first]
    injected.moved = {piece.batch.number for piece in (pieces[first], pieces[second]) if piece.batch}


def _repeat(*, later: bool) -> Callable[[Injected, random.Random], None]:
    def repeat(injected: Injected, rng: random.Random) -> None:
        segment, place = _inner(injected.segments, rng)
        target, at = segment, place + 1
        if later:
            target = rng.choice([each for each in injected.segments if each.base >= segment.base])
            at = rng.randrange(place + 1 if target is segment else 1, len(target.pieces) + 1)
        target.pieces.insert(at, segment.pieces[place])
        injected.what = f"{_describe(segment, place)} again in {target.name} at {at}"

    return repeat


def _overwrite(injected: Injected, rng: random.Random) -> None:
    segment, place = _inner(injected.segments, rng)
    if sum(len(each.pieces) for each in injected.segments) < 2:
        raise ValueError("no other batch is left")
    other, source = _inner(injected.segments, rng)
    while other is segment and source == place:
        other, source = _inner(injected.segments, rng)
    injected.what = f"{_describe(segment, place)} by {_describe(other, source)}"
    segment.pieces[place] = other.pieces[source]


#: The least batches of a segment in which one run is written over another.
LEAST_OF_RUNS = 4
#: The bytes of a batch that no checksum covers, and the length.
PREFIX = 17


def _overwrite_run(injected: Injected, rng: random.Random) -> None:
    """Batches in a row by as many later ones, of the same segment or of a later one."""
    place = rng.choice([at for at, each in enumerate(injected.segments) if len(each.pieces) >= LEAST_OF_RUNS])
    segment = injected.segments[place]
    count = rng.randrange(2, len(segment.pieces) // 2 + 1)
    at = rng.randrange(len(segment.pieces) - 2 * count + 1)
    later = [each for each in injected.segments[place:] if each is segment or len(each.pieces) >= count]
    other = rng.choice(later)
    source = rng.randrange(at + count if other is segment else 0, len(other.pieces) - count + 1)
    copies = [replace(piece, is_copy=True) for piece in other.pieces[source : source + count]]
    injected.what = f"{count} batches from {_describe(segment, at)} by {_describe(other, source)}"
    segment.pieces[at : at + count] = copies


def _overwrite_page(injected: Injected, rng: random.Random) -> None:
    """A page of a segment by a later page of it, as by a write to a wrong position."""
    segment = rng.choice([each for each in injected.segments if len(each.pieces) >= LEAST_OF_RUNS])
    length = sum(len(piece.data) for piece in segment.pieces)
    # Pages as of a small file, if the segment is small.
    sizes = [each for each in (512, 4096) if 4 * each <= length] or [length // 4, length // 5, length // 6, length // 7]
    rng.shuffle(sizes)
    for page in sizes:
        # The first page identifies the file: with another one it may be that of a compressed file.
        pages = range(1, length // page)
        phases = _phases(segment, page)
        if places := [(at, source) for at in pages for source in pages[at:] if not _joins(phases, at, source)]:
            at, source = rng.choice(places)
            write_over(segment, at * page, source * page, page)
            injected.what = f"{segment.name} from byte {at * page} on by {page} bytes from byte {source * page}"
            return


def _phases(segment: Segment, page: int) -> list[int]:
    """Of each page and of the end of the last one, the bytes since a batch began."""
    begins = [0, *accumulate(len(piece.data) for piece in segment.pieces)]
    return [at - begins[bisect_right(begins, at) - 1] for at in range(0, begins[-1] + 1, page)]


def _joins(phases: list[int], at: int, source: int) -> bool:
    """Whether a part of one batch and the rest of another one may be a batch, as if its offset field were altered."""
    # Before and after each cut. A batch begins with zeros, which bytes of another one may supply.
    before, begin, end, after = phases[at], phases[source], phases[source + 1], phases[at + 1]
    return before == begin != 0 or 0 < begin < PREFIX or end == after != 0 or 0 < after < PREFIX


def write_over(segment: Segment, to: int, source: int, size: int) -> None:
    """Write bytes of a segment over others of it; only the batches that are complete there are intact."""
    copied = [replace(piece, is_copy=True) for piece in _part(segment, source, source + size)]
    length = sum(len(piece.data) for piece in segment.pieces)
    pieces = [*_part(segment, 0, to), *copied, *_part(segment, to + size, length)]
    segment.pieces = [piece for piece in pieces if piece.data]


def _part(segment: Segment, begin: int, end: int) -> list[Piece]:
    """The pieces of a range of bytes, of which the first and the last one may be incomplete."""
    pieces, position = [], 0
    for piece in segment.pieces:
        data = piece.data[max(begin - position, 0) : max(end - position, 0)]
        if data:
            pieces.append(_changed(piece, data))
        position += len(piece.data)
    return pieces


def _overlap_longer(injected: Injected, rng: random.Random) -> None:
    """A segment that holds the next one's batches too, as before an interrupted compaction or a leader change."""
    place = rng.randrange(len(injected.segments) - 1)
    segment, following = injected.segments[place : place + 2]
    count = rng.randrange(1, len(following.pieces) + 1)
    segment.pieces += following.pieces[:count]
    injected.what = f"{segment.name} with {count} batches of {following.name}"


def _overlap_copy(injected: Injected, rng: random.Random) -> None:
    """A segment twice: the copy has the name of tiered storage, or begins at a later batch."""
    place = rng.randrange(len(injected.segments))
    segment = injected.segments[place]
    if rng.random() < 0.5 or len(segment.pieces) < 2:
        identity = uuid.UUID(int=rng.getrandbits(128)).hex[:22]
        copy = Segment(segment.base, list(segment.pieces), {}, f"{segment.base:020}-{identity}")
    else:
        begin = rng.randrange(1, len(segment.pieces))
        first = segment.pieces[begin].batch
        assert first is not None
        copy = Segment(first.first, segment.pieces[begin:], {})
    injected.segments.insert(place + 1, copy)
    injected.what = f"{segment.name} again as {copy.name}"


def _overlap_conflict(injected: Injected, rng: random.Random) -> None:
    """A segment that goes on with other records than the next one has at these offsets."""
    place = rng.randrange(len(injected.segments) - 1)
    segment, following = injected.segments[place : place + 2]
    count = rng.randrange(1, len(following.pieces) + 1)
    for piece in following.pieces[:count]:
        assert piece.batch is not None
        other = rebuilt_values(piece.batch)
        segment.pieces.append(Piece(other.data, other))
    injected.disagrees = True
    injected.what = f"{segment.name} with {count} other batches than {following.name}"


def _wrong_name(injected: Injected, rng: random.Random) -> None:
    place = rng.randrange(len(injected.segments))
    segments = injected.segments
    low = segments[place - 1].base + 1 if place else 0
    high = segments[place + 1].base - 1 if place + 1 < len(segments) else segments[place].base + 50
    choices = [base for base in range(max(low, segments[place].base - 20), high + 1) if base != segments[place].base]
    if not choices:
        return
    old = segments[place].name
    segments[place].base = rng.choice(choices)
    injected.what = f"{old} is named {segments[place].name}"


def _wrong_order(injected: Injected, rng: random.Random) -> None:
    """A name that puts the segment in another place among the others."""
    place = rng.randrange(len(injected.segments))
    segment, others = injected.segments[place], [each.base for each in injected.segments]
    old = segment.name
    spans = [(each.pieces[0].batch, each.pieces[-1].batch) for each in injected.segments]
    near = [first.first - 1 for first, _ in spans if first] + [last.last + 1 for _, last in spans if last]
    choices = [each for each in (*near, *range(max(others) + 60)) if each >= 0 and each not in others]
    for _ in range(100):
        segment.base = rng.choice(choices)
        injected.segments.sort(key=lambda each: each.base)
        if injected.segments[place] is not segment:
            break
    injected.what = f"{old} is named {segment.name}"


def _index(
    change: Callable[[Injected, Segment, str, random.Random], None],
) -> Callable[[Injected, random.Random], None]:
    def apply(injected: Injected, rng: random.Random) -> None:
        suffix = rng.choice(("index", "timeindex"))
        segment = rng.choice(injected.segments)
        change(injected, segment, suffix, rng)
        injected.what = f"{segment.name}.{suffix}"

    return apply


def _no_index(_: Injected, segment: Segment, suffix: str, rng: random.Random) -> None:
    segment.indexes.pop(suffix, None)
    if rng.random() < 0.5:
        segment.indexes.clear()


def _empty_index(_: Injected, segment: Segment, suffix: str, __: random.Random) -> None:
    segment.indexes[suffix] = b""


def _stale_index(_: Injected, segment: Segment, suffix: str, rng: random.Random) -> None:
    """Of the segment as it was when it had fewer batches, or more in front."""
    batches = tuple(piece.batch for piece in segment.pieces if piece.batch)
    if rng.random() < 0.5:
        segment.indexes[suffix] = index_files(segment.base, batches[: len(batches) // 2])[suffix]
    else:
        segment.indexes[suffix] = index_files(segment.base, batches[1:])[suffix]


def _foreign_index(injected: Injected, segment: Segment, suffix: str, rng: random.Random) -> None:
    """Of another segment, or of none."""
    other = rng.choice(injected.segments)
    if other is not segment and rng.random() < 0.5:
        segment.indexes[suffix] = other.indexes.get(suffix, b"")
    else:
        segment.indexes[suffix] = rng.randbytes(rng.choice((5, 8, 12, 40)))


_FLIPS = sorted({name for fields in FIELDS.values() for name in fields if name != "offset"} | {"offset", "payload"})

#: Kind of corruption -> what injects it.
KINDS: dict[str, Callable[[Injected, random.Random], None]] = {
    "zeroed range": _zero_range,
    "closed segment zeroed": _zero_closed,
    "second half of a closed segment zeroed": _zero_half,
    "end of the last segment zeroed": _zero_tail,
    "first segment deleted": _delete("first"),
    "middle segment deleted": _delete("middle"),
    "last segment deleted": _delete("last"),
    "batch removed": _cut_batch,
    "closed segment truncated": _truncate_one(is_last=False),
    "last segment truncated": _truncate_one(is_last=True),
    "foreign bytes between batches": _foreign,
    "foreign bytes at the end": _foreign_at_end,
    "two batches swapped": _swap,
    "batch repeated directly": _repeat(later=False),
    "batch repeated later": _repeat(later=True),
    "batch overwritten by another": _overwrite,
    "run overwritten by a later run": _overwrite_run,
    "page overwritten by a later page": _overwrite_page,
    "overlapping segments": _overlap_longer,
    "segment copied": _overlap_copy,
    "overlapping segments that disagree": _overlap_conflict,
    "wrong base offset in the file name": _wrong_name,
    "wrong base offset in the file name, out of order": _wrong_order,
    "index missing": _index(_no_index),
    "index empty": _index(_empty_index),
    "index stale": _index(_stale_index),
    "index foreign": _index(_foreign_index),
    **{f"flipped bit: {name}": _flip_field(name) for name in _FLIPS},
}


def applies(kind: str, log: Log) -> bool:
    """Whether a kind of corruption exists for a log."""
    if kind in {"run overwritten by a later run", "page overwritten by a later page"}:
        return any(len(segment) >= LEAST_OF_RUNS for segment in log.segments)
    name = kind.removeprefix("flipped bit: ")
    if name in {kind, "payload"}:
        return not (log.is_compacted and kind == "overlapping segments that disagree")
    return any(name in FIELDS[batch.magic] for batch in log.batches)


def intact(log: Log) -> Injected:
    """A log as it is."""
    segments = []
    for batches in log.segments:
        base = batches[0].first
        pieces = [Piece(batch.data, batch) for batch in batches]
        segments.append(Segment(base, pieces, index_files(base, batches)))
    return Injected(log, "none", segments)


def inject(log: Log, kind: str, rng: random.Random) -> Injected:
    """Inject one corruption of a kind, chosen by ``rng``."""
    injected = intact(log)
    injected.kind = kind
    KINDS[kind](injected, rng)
    return injected
