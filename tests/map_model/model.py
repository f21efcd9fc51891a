"""The map of a log: which batches of a partition folder belong to it, and what is missing.

The whole judgement is two pure functions. ``judge`` takes the facts of one segment file and its window; ``merge`` takes
the judged segments of a partition. README.md states the rules in words; the functions here have the same numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

END = 1 << 62
#: A segment stores offsets relative to its base offset in 32 bits.
REACH = 1 << 31
#: What it is worth that a run begins or ends exactly where its file should: 64 KiB, more than a few misplaced pages.
ANCHOR = 64


class Batch(NamedTuple):
    """An intact batch. Its checksum covers ``last - first`` and ``records``, but neither ``first`` nor ``epoch``."""

    first: int
    last: int
    #: For each record its offset relative to ``first``, and its content.
    records: tuple[tuple[int, int], ...]
    size: int = 1
    epoch: int = 0

    @property
    def room(self) -> int:
        """The number of offsets."""
        return self.last - self.first + 1


class Corrupt(NamedTuple):
    """Bytes in which no intact batch was found."""

    size: int


class Zeros(NamedTuple):
    """A range of zeros."""

    size: int


Fact = Batch | Corrupt | Zeros
#: Facts in the order of their positions. The rules look up batches by their indices, which types do not express.
Facts = tuple[Any, ...]


class Range(NamedTuple):
    """Offsets from ``start`` to ``end``, exclusive."""

    start: int
    end: int

    def has(self, batch: Batch) -> bool:
        """Whether all offsets of a batch are in the range."""
        return self.start <= batch.first and batch.last < self.end


class Use(Enum):
    """What is done with an intact batch."""

    IN_PLACE = "in place"
    #: Its own file has it elsewhere than between its neighbors, or another file fills a hole with it.
    DISPLACED = "displaced"
    #: Only its base offset is wrong.
    ALTERED = "altered"
    #: What it has is delivered from another batch.
    REPEAT = "repeat"
    OUT_OF_PLACE = "out of place"


class Reason(Enum):
    """Why offsets are missing."""

    CORRUPT = "corrupt"
    GAP = "gap"
    COMPACTED = "compacted"


class Segment(NamedTuple):
    """The facts of a file, in the order of their positions."""

    name: int
    facts: Facts
    #: The offset index has entries for bytes after the end of the file.
    is_truncated: bool = False
    #: The offsets that the leader's epochs allow in a remote segment.
    valid: Range | None = None


class Hints(NamedTuple):
    """What the partition's checkpoints say; used for reasons only."""

    #: Offsets below this one were cleaned; None if there is no checkpoint.
    cleaned_to: int | None = None


@dataclass
class SegmentMap:
    """The judgement of one file by itself."""

    segment: Segment
    #: The offsets that the file should have; None if its name is not believed.
    window: Range | None
    #: Indices of the facts that are in place, in the order of positions and of offsets.
    home: list[int]
    #: Indices of the other intact batches, in runs, in stretches.
    others: list[list[list[int]]]


class Placed(NamedTuple):
    """A batch at its offsets, and where it was found."""

    first: int
    last: int
    batch: Batch
    file: int
    index: int  # type: ignore[assignment]  # the index of its fact hides tuple.index


@dataclass
class LogMap:
    """The judgement of a partition."""

    #: What is delivered, in the order of offsets.
    placed: list[Placed]
    #: The use of each intact batch, by file and index of the fact.
    uses: dict[tuple[int, int], Use]
    missing: list[tuple[Range, Reason]] = field(default_factory=list)


# ---------------------------------------------------------------------------------------------------------------- names


def windows(segments: list[Segment]) -> list[Range | None]:
    """Rule 1: a file has the offsets from its name to the next one, or those that the leader's epochs allow.

    The name of a file that is mostly intact, but has no batch with such offsets, is not believed. Names above all
    batches of their file go first, because they may cut the windows of others.
    """
    believed = list(range(len(segments)))
    found: list[Range | None] = [None] * len(segments)
    for is_open in (True, False):
        pairs = list(zip(believed, _between([segments[file] for file in believed]), strict=True))
        ranges = {file: window._replace(end=END) if is_open else window for file, window in pairs}
        believed = [file for file in believed if not _is_elsewhere(segments[file], ranges[file])]
    for file, window in zip(believed, _between([segments[file] for file in believed]), strict=True):
        found[file] = window
    return found


def _between(segments: list[Segment]) -> list[Range]:
    starts = [each.valid.start if each.valid else each.name for each in segments]
    found = [Range(0, 0)] * len(segments)
    valid = sorted(each.valid for each in segments if each.valid)
    for number, each in enumerate(segments):
        if each.valid:
            end = min([each.valid.end, *(other.start for other in valid if other > each.valid)])
            found[number] = Range(each.valid.start, end)
    covered = [found[number] for number, each in enumerate(segments) if each.valid]
    for number, each in enumerate(segments):
        if not each.valid:
            later = [starts[other] for other in range(len(segments)) if (starts[other], other) > (each.name, number)]
            start = max([each.name, *(other.end for other in covered if other.start <= each.name)])
            found[number] = Range(start, max(start, min([*later, END, start + REACH])))
    return found


def _is_elsewhere(segment: Segment, window: Range) -> bool:
    batches = [fact for fact in segment.facts if isinstance(fact, Batch)]
    intact = sum(fact.size for fact in batches)
    is_mostly_intact = 2 * intact > sum(fact.size for fact in segment.facts)
    # The offset of a single batch that is above all that the file can have is as likely to be wrong as the name.
    if len(batches) == 1 and batches[0].last >= segment.name + REACH:
        return False
    return segment.valid is None and is_mostly_intact and not any(window.has(batch) for batch in batches)


# ---------------------------------------------------------------------------------------------------------------- judge


def judge(segment: Segment, window: Range | None) -> SegmentMap:
    """Rule 2: find the batches of a file that are in place, from nothing but the file and its window."""
    facts = segment.facts
    batches = [index for index, fact in enumerate(facts) if isinstance(fact, Batch)]
    if segment.valid is not None:
        batches = [index for index in batches if segment.valid.has(facts[index])]
    inside = [index for index in batches if window and window.has(facts[index])]
    runs = _runs(facts, [index for index in inside if not _is_altered(facts, index, window)])
    home = [index for run in _heaviest_chain(facts, runs, window) for index in run]
    kept = set(home)
    left = [index for index in batches if index not in kept]
    return SegmentMap(segment, window, home, [_runs(facts, each) for each in _stretches(facts, left)])


def _is_altered(facts: Facts, index: int, window: Range | None) -> bool:
    """Whether the offsets of a batch are not those between its neighbours, which leave exactly the room that it needs.

    Each of them must continue what is on its other side.
    """
    room = window and _room(facts, index, window)
    batch = facts[index]
    if not window or not room or room.end - room.start != batch.room or room.start == batch.first:
        return False

    def continues(other: int) -> bool:
        before, after = facts[other - 1], facts[other]
        if other == 0:
            return bool(after.first == window.start)
        return isinstance(before, Batch) and isinstance(after, Batch) and before.last + 1 == after.first

    return (index == 0 or continues(index - 1)) and (index + 2 >= len(facts) or continues(index + 2))


def _room(facts: Facts, index: int, window: Range) -> Range | None:
    """The offsets between the batches beside a fact; at an end of the file, those up to the end of the window."""
    start, end = window
    if index > 0:
        if not isinstance(facts[index - 1], Batch):
            return None
        start = facts[index - 1].last + 1
    if index + 1 < len(facts):
        if not isinstance(facts[index + 1], Batch):
            return None
        end = facts[index + 1].first
    return Range(start, end) if start < end else None


def _runs(facts: Facts, indices: list[int]) -> list[list[int]]:
    """Split batches into runs: side by side, and each batch begins at the offset after the one before."""
    return _split(indices, lambda index: facts[index - 1].last + 1 == facts[index].first)


def _stretches(facts: Facts, indices: list[int]) -> list[list[int]]:
    """Split batches into stretches: side by side, and the offsets increase."""
    return _split(indices, lambda index: facts[index - 1].last < facts[index].first)


def _split(indices: list[int], follows: Callable[[int], bool]) -> list[list[int]]:
    parts: list[list[int]] = []
    for index in indices:
        if parts and parts[-1][-1] == index - 1 and follows(index):
            parts[-1].append(index)
        else:
            parts.append([index])
    return parts


def _heaviest_chain(facts: Facts, runs: list[list[int]], window: Range | None) -> list[list[int]]:
    """Find the runs with increasing offsets that have the most bytes; of equals those with the lower offsets.

    A run is taken whole or not at all. One that begins at the file's start with the window's first offset, or ends at
    the file's end with its last, outweighs all others.
    """
    ends = sorted({facts[run[-1]].last for run in runs})
    best = [(0, 0, -1)] * (len(ends) + 1)  # a Fenwick tree of maxima: weight, lower end, run
    before = [-1] * len(runs)
    top = (0, 0, -1)
    for number, run in enumerate(runs):
        first, last = facts[run[0]].first, facts[run[-1]].last
        weight = sum(facts[index].size for index in run)
        if window:
            weight += ANCHOR * (run[0] == 0 and first == window.start)
            weight += ANCHOR * (run[-1] == len(facts) - 1 and last == window.end - 1)
        place = bisect_left(ends, first)
        found = (0, 0, -1)
        while place:
            found = max(found, best[place])
            place &= place - 1
        before[number] = found[2]
        mine = (found[0] + weight, -last, number)
        top = max(top, mine)
        place = bisect_left(ends, last) + 1
        while place < len(best):
            best[place] = max(best[place], mine)
            place += place & -place
    chain = []
    number = top[2]
    while number >= 0:
        chain.append(runs[number])
        number = before[number]
    return chain[::-1]


# ---------------------------------------------------------------------------------------------------------------- merge


def records(batch: Batch) -> dict[int, int]:
    """The records of a batch by their offsets."""
    return {batch.first + delta: content for delta, content in batch.records}


def agrees(one: Batch, other: Batch) -> bool | None:
    """Whether two batches have the same records at the offsets that both have; None if there are none."""
    if one._replace(epoch=0) == other._replace(epoch=0):
        return True
    mine, others = records(one), records(other)
    common = mine.keys() & others.keys()
    return all(mine[offset] == others[offset] for offset in common) if common else None


class _Merge:
    """The offsets of a partition, and what is placed there."""

    def __init__(self, maps: list[SegmentMap]) -> None:
        self.maps = maps
        self.placed: list[Placed] = []
        self.uses: dict[tuple[int, int], Use] = {}
        #: The offsets of batches that are out of place in their own window.
        self.contested: list[tuple[int, int]] = []
        for file, each in enumerate(maps):
            for index in each.home:
                self.put(file, index, Use.IN_PLACE)

    def batch(self, file: int, index: int) -> Batch:
        batch: Batch = self.maps[file].segment.facts[index]
        return batch

    def put(self, file: int, index: int, use: Use, first: int | None = None) -> None:
        batch = self.batch(file, index)
        if first is not None:
            batch = batch._replace(first=first, last=first + batch.room - 1)
        self.uses[file, index] = use
        self.placed.insert(self._after(batch.first), Placed(batch.first, batch.last, batch, file, index))

    def _after(self, offset: int) -> int:
        return bisect_right(self.placed, offset, key=lambda each: each.first)

    def touching(self, first: int, last: int) -> list[Placed]:
        """What is placed at some of these offsets."""
        start = bisect_left(self.placed, first, key=lambda each: each.last)
        return self.placed[start : self._after(last)]

    def around(self, last: int) -> tuple[Placed | None, Placed | None]:
        """What is placed before and after free offsets, the last of which is given."""
        after = self._after(last)
        return self.placed[after - 1] if after else None, self.placed[after] if after < len(self.placed) else None

    def free(self, file: int, run: list[int]) -> list[int]:
        """The batches of a run at whose offsets nothing is placed."""
        return [i for i in run if not self.touching(self.batch(file, i).first, self.batch(file, i).last)]

    def votes(self, file: int, run: list[int]) -> list[bool]:
        """For the batches of a run, whether they agree with what is placed at their offsets."""
        batches = [self.batch(file, index) for index in run]
        found = [agrees(each, other.batch) for each in batches for other in self.touching(each.first, each.last)]
        return [vote for vote in found if vote is not None]

    def is_thinned(self) -> bool:
        """Whether a batch has fewer records than offsets, as after compaction."""
        return any(len(each.batch.records) < each.batch.room for each in self.placed)

    # Rule 3

    def place_whole_file(self, file: int) -> None:
        """A file whose name is not believed is placed where it fits."""
        facts = self.maps[file].segment.facts
        stretches = self.maps[file].others
        runs = [run for stretch in stretches for run in stretch]
        chain = _heaviest_chain(facts, runs, None)
        first, last = facts[chain[0][0]].first, facts[chain[-1][-1]].last
        low, high = self.around(last)
        is_between = high is not None and (low is not None or self.maps[file].segment.name <= first)
        continues = (low is not None and low.last + 1 == first) or (high is not None and high.first == last + 1)
        if not self.touching(first, last) and (is_between or continues or not self.placed):
            for run in chain:
                for index in run:
                    self.put(file, index, Use.DISPLACED)

    # Rule 4

    def fill(self, file: int, stretch: list[list[int]]) -> None:
        """Batches out of place fill holes if they are copies of others nearby, or the rest of their file."""
        is_copy = any(any(self.votes(file, run)) for run in stretch)
        for run in stretch:
            free = self.free(file, run)
            size = sum(self.batch(file, index).size for index in free)
            opposed = sum(self.batch(file, index).size for index in run if not all(self.votes(file, [index])))
            if (
                free
                and opposed < size
                and ((is_copy and self._is_within(file, run, free)) or self._continues(file, run))
            ):
                for index in free:
                    self.put(file, index, Use.DISPLACED)

    def _is_within(self, file: int, run: list[int], free: list[int]) -> bool:
        """Whether the file goes on with greater offsets, and what is free is not beyond the end of the log."""
        facts = self.maps[file].segment.facts
        later = (facts[index] for index in range(run[-1] + 1, len(facts)))
        after = next((fact for fact in later if isinstance(fact, Batch)), None)
        first, last = facts[free[0]].first, facts[free[-1]].last
        is_known = last < self.placed[-1].last or first == self.placed[-1].last + 1
        return is_known and (after is None or after.first > last)

    def _continues(self, file: int, run: list[int]) -> bool:
        """Whether a run is the rest of its file.

        It follows the last batch in place with no other file's batches between; or its last batch and the first one in
        place continue one another.
        """
        facts, home = self.maps[file].segment.facts, self.maps[file].home
        first, last = facts[run[0]], facts[run[-1]]
        if last.last >= self.maps[file].segment.name + REACH:
            return False
        low, _ = self.around(first.first)
        _, high = self.around(last.last)
        end = home[-1] if home else -1
        is_rest = low is not None and low.file == file and low.index == run[0] - 1 and low.index >= end
        if low is not None and low.file == file and end < low.index < run[0]:
            is_rest |= low.last + 1 == first.first or (high is not None and high.first == last.last + 1)
        is_start = high is not None and high.file == file and high.index == run[-1] + 1 and high.first == last.last + 1
        return is_rest or is_start

    def fit(self) -> None:
        """Batches out of place that together fill a hole exactly are placed there."""
        runs = [(file, run) for file, one in enumerate(self.maps) for stretch in one.others for run in stretch]
        pieces = [(file, [i for i in self.free(file, run) if (file, i) not in self.uses]) for file, run in runs]
        left = [
            (self.batch(file, free[0]).first, self.batch(file, free[-1]).last, file, free)
            for file, free in pieces
            if free
        ]
        group: list[tuple[int, int, int, list[int]]] = []
        for each in [*sorted(left), (END, END, 0, [])]:
            if group and each[0] <= group[-1][1]:
                continue
            if group and each[0] != group[-1][1] + 1:
                self._place(group)
                group = []
            group.append(each)

    def _place(self, group: list[tuple[int, int, int, list[int]]]) -> None:
        first, last = group[0][0], group[-1][1]
        low, high = self.around(last)
        edges = {edge for each in self.maps if each.window for edge in each.window}
        is_low = (low is not None and low.last + 1 == first) or first in edges
        is_end = high is None and all(each[2] == len(self.maps) - 1 for each in group)
        is_high = is_end or (high is not None and high.first == last + 1) or last + 1 in edges
        if is_low and is_high:
            for _, _, file, free in group:
                for index in free:
                    self.put(file, index, Use.DISPLACED)

    # Rule 5

    def restore(self, hints: Hints) -> None:
        """A batch directly between two others that leave exactly the room it needs has these offsets.

        So does the first or last batch of a file whose window ends there. Where records were compacted, a hole of this
        size proves nothing.
        """
        is_thinned = self.is_thinned()
        for file, each in enumerate(self.maps):
            for index in [index for stretch in each.others for run in stretch for index in run]:
                batch = self.batch(file, index)
                is_possible = each.window and each.window.has(batch) and not self.touching(batch.first, batch.last)
                votes = self.votes(file, [index])
                if (file, index) in self.uses or is_possible or (votes and all(votes)):
                    continue
                room = each.window and _room(each.segment.facts, index, each.window)
                beside = [other for other in (index - 1, index + 1) if 0 <= other < len(each.segment.facts)]
                if room and all(self.uses.get((file, other)) is Use.IN_PLACE for other in beside):
                    is_cleaned = is_thinned if hints.cleaned_to is None else room.start < hints.cleaned_to
                    is_exact = room.end - room.start == batch.room
                    if is_exact and not is_cleaned and not self.touching(room.start, room.end - 1):
                        self.put(file, index, Use.ALTERED, room.start)

    # Rule 6

    def rest(self) -> None:
        """What is not placed is a repeat, or out of place."""
        for file, each in enumerate(self.maps):
            for index in [index for stretch in each.others for run in stretch for index in run]:
                if (file, index) not in self.uses:
                    votes = self.votes(file, [index])
                    self.uses[file, index] = Use.REPEAT if votes and all(votes) else Use.OUT_OF_PLACE
                    batch = self.batch(file, index)
                    if self.uses[file, index] is Use.OUT_OF_PLACE and each.window and each.window.has(batch):
                        self.contested.append((batch.first, batch.last))

    # Rule 7

    def missing(self, hints: Hints) -> list[tuple[Range, Reason]]:
        """The complement of what is delivered, from the first name or batch to the last batch or name."""
        is_thinned = self.is_thinned()
        names: dict[int, int] = {}
        for file, each in enumerate(self.maps):
            # Of files with the same name, the one that has a window.
            before = names.get(each.segment.name)
            known = None if before is None else self.maps[before].window
            if not (known and known.start < known.end) or (each.window and each.window.start < each.window.end):
                names[each.segment.name] = file
        starts = sorted(names)
        position = min([*starts, *(each.first for each in self.placed[:1])])
        end = max([*starts, position])
        found: list[tuple[Range, Reason]] = []
        for first, after in [*((each.first, each.last + 1) for each in self.placed), (end, end)]:
            for hole in _cut(position, first, starts):
                file = names[starts[max(bisect_right(starts, hole.start) - 1, 0)]]
                found += self._explain(hole, file, hints, is_thinned)
            position = max(position, after)
        return found

    def _explain(self, hole: Range, file: int, hints: Hints, is_thinned: bool) -> list[tuple[Range, Reason]]:
        """The parts of a hole with their reasons: where nothing is wrong, a gap ends at the checkpoint."""
        if (reason := self._reason(hole, file)) is not None:
            return [(hole, reason)]
        if hints.cleaned_to is None:
            return [(hole, Reason.COMPACTED if is_thinned else Reason.GAP)]
        cut = min(max(hints.cleaned_to, hole.start), hole.end)
        parts = [(Range(hole.start, cut), Reason.COMPACTED), (Range(cut, hole.end), Reason.GAP)]
        return [(part, reason) for part, reason in parts if part.start < part.end]

    def _reason(self, hole: Range, file: int) -> Reason | None:
        """What the file has between the batches around the hole; None if nothing is wrong there."""
        each = self.maps[file]
        facts = each.segment.facts
        low = bisect_left(each.home, hole.start, key=lambda index: facts[index].first)
        high = bisect_left(each.home, hole.end, key=lambda index: facts[index].first)
        start = each.home[low - 1] + 1 if low else 0
        is_tail = high == len(each.home)
        end = len(facts) if is_tail else each.home[high]
        between = [fact for index, fact in enumerate(facts[start:end], start) if self._is_wrong(file, index)]
        if is_tail and file == len(self.maps) - 1 and between and isinstance(between[-1], Zeros):
            between.pop()
        if self._is_out_of_place(hole):
            return Reason.CORRUPT
        if between:
            return Reason.CORRUPT if each.home or any(not isinstance(fact, Batch) for fact in between) else Reason.GAP
        if is_tail and each.segment.is_truncated:
            return Reason.GAP
        return None

    def _is_out_of_place(self, hole: Range) -> bool:
        """Whether a file has an intact batch for a hole in its window, and nothing decides that it belongs there."""
        return any(first < hole.end and hole.start <= last for first, last in self.contested)

    def _is_wrong(self, file: int, index: int) -> bool:
        """Whether a fact shows that something happened here."""
        fact = self.maps[file].segment.facts[index]
        if not isinstance(fact, Batch):
            return True
        use = self.uses.get((file, index))
        window = self.maps[file].window
        return use is Use.OUT_OF_PLACE or (use is Use.REPEAT and not (window and fact.first >= window.end))


def _cut(start: int, end: int, names: list[int]) -> list[Range]:
    """Cut a hole at the names of files."""
    if start >= end:
        return []
    within = names[bisect_right(names, start) : bisect_left(names, end)]
    return [Range(*each) for each in zip([start, *within], [*within, end], strict=True)]


def merge(maps: list[SegmentMap], hints: Hints) -> LogMap:
    """Join the segments of a partition."""
    merged = _Merge(maps)
    elsewhere = [file for file, each in enumerate(maps) if each.window is None]
    elsewhere.sort(key=lambda file: merged.batch(file, maps[file].others[0][0][0]).first)
    for file in [*elsewhere, *reversed(elsewhere)]:
        if (file, maps[file].others[0][0][0]) not in merged.uses:
            merged.place_whole_file(file)
    for file, each in enumerate(maps):
        for stretch in each.others:
            if each.window is not None or (file, stretch[0][0]) not in merged.uses:
                merged.fill(file, stretch)
    merged.fit()
    merged.restore(hints)
    merged.rest()
    return LogMap(merged.placed, merged.uses, merged.missing(hints))


def map_of(segments: list[Segment], hints: Hints | None = None) -> LogMap:
    """Judge a partition: its files in the order of their names."""
    segments = sorted(segments, key=lambda each: each.name)
    return merge([judge(*each) for each in zip(segments, windows(segments), strict=True)], hints or Hints())
