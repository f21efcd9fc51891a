"""Several batches in the place of others, as after a write to a wrong position: what is intact is delivered once.

The batches of such a run continue one another, so that only what comes later in the segment contradicts them.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.checks import check
from corruption.inject import Injected, Piece, Segment, intact, write_over
from corruption.logs import Log, built
from corruption.model import expected
from corruption.tools import SPARK, TOOLS, recompress, repair, scan_skip, scan_strict, spark_drop, verify
from kafkacomp import log as kafka_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BATCHES = 400
#: Of other records and with greater offsets, as of another partition.
FOREIGN = built(2, "none", segments=2, batches=3000).segments[1]


def _run(to: int, source: int, count: int) -> Callable[[Injected], None]:
    def overwrite(injected: Injected) -> None:
        pieces = injected.segments[0].pieces
        pieces[to : to + count] = [replace(piece, is_copy=True) for piece in pieces[source : source + count]]

    return overwrite


def _scattered(injected: Injected) -> None:
    pieces = injected.segments[0].pieces
    for to, source in ((100, 240), (101, 340), (102, 290), (200, 7), (201, 390)):
        pieces[to] = replace(pieces[source], is_copy=True)


def _page(to: int, source: int, page: int) -> Callable[[Injected], None]:
    def overwrite(injected: Injected) -> None:
        write_over(injected.segments[0], to * page, source * page, page)

    return overwrite


def _foreign(to: int, count: int) -> Callable[[Injected], None]:
    def overwrite(injected: Injected) -> None:
        copies = [Piece(batch.data, None, is_copy=True) for batch in FOREIGN[:count]]
        injected.segments[0].pieces[to : to + count] = copies

    return overwrite


def _swapped(first: int, second: int, count: int) -> Callable[[Injected], None]:
    def swap(injected: Injected) -> None:
        pieces = injected.segments[0].pieces
        one, other = pieces[first : first + count], pieces[second : second + count]
        pieces[first : first + count], pieces[second : second + count] = other, one
        for at in (*range(first, first + count), *range(second, second + count)):
            pieces[at] = replace(pieces[at], is_copy=True)
        injected.moved = {piece.batch.number for piece in one + other if piece.batch}

    return swap


KINDS: dict[str, Callable[[Injected], None]] = {
    "later run": _run(100, 300, 40),
    "two by later ones": _run(100, 300, 2),
    "the last run": _run(100, 360, 40),
    "the next run": _run(100, 140, 40),
    "a run that overlaps": _run(100, 120, 40),
    "first run by a later one": _run(0, 300, 40),
    "earlier run": _run(300, 100, 40),
    "scattered": _scattered,
    **{
        f"page of {page} by {name}": _page(*places, page)
        for page in (4096, 8192)
        for name, places in (("a later one", (1, 4)), ("an earlier one", (4, 1)), ("the next one", (1, 2)))
    },
    "foreign run": _foreign(100, 40),
    "foreign run at the start": _foreign(0, 3),
    "swapped runs": _swapped(100, 300, 40),
    "swapped runs side by side": _swapped(100, 140, 40),
}
LOGS = [built(magic, codec, segments=1, batches=BATCHES) for magic, codec in ((2, "none"), (2, "lz4"), (1, "gzip"))]
LOGS += [built(1, "none", segments=1, batches=BATCHES), built(2, "none", segments=2, batches=BATCHES)]
MOVING = frozenset({"swapped runs", "swapped runs side by side"})
CASES = [(kind, log) for kind in KINDS for log in LOGS]


def injected_into(log: Log, kind: str) -> Injected:
    """One kind, in the first segment."""
    injected = intact(log)
    injected.kind = "run overwritten by a later run"
    injected.what = kind
    KINDS[kind](injected)
    return injected


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}-{len(case[1].segments)}".replace(" ", "-"))
def case(request: pytest.FixtureRequest) -> Injected:
    """A log with one kind of runs out of place."""
    kind, log = request.param
    return injected_into(log, kind)


ANY = {**TOOLS, **SPARK}


@pytest.mark.parametrize("tool", ANY)
def test_what_is_intact_is_delivered(case: Injected, tool: str, tmp_path: Path) -> None:
    """Every batch that is there is delivered once, and what is not there is named."""
    assert not check(tool, ANY[tool](case.write(tmp_path)), case, expected(case))


@pytest.mark.parametrize("split_size", [1_500, 7_000, 30_000])
@pytest.mark.parametrize("has_index", [True, False])
def test_splits_do_not_begin_out_of_place(case: Injected, split_size: int, has_index: bool, tmp_path: Path) -> None:
    """Wherever the segments are split, with an index or without one."""
    for segment in case.segments:
        segment.indexes = segment.indexes if has_index else {}
    answer = spark_drop(case.write(tmp_path), split_size)
    assert not check("Spark DROPMALFORMED", answer, case, expected(case))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log}-{len(log.segments)}")
def test_splits_do_not_begin_after_a_corrupt_batch_out_of_place(log: Log, tmp_path: Path) -> None:
    """The header of a batch that fails its checksum does not show that the batches after it are in their places."""
    injected = injected_into(log, "later run")
    pieces = injected.segments[0].pieces
    pieces[110] = replace(pieces[110], data=pieces[110].data[:-1] + bytes([pieces[110].data[-1] ^ 1]), state="broken")
    injected.kind = "page overwritten by a later page"
    where = injected.write(tmp_path)
    for split_size in (1_500, 7_000):
        assert not check("Spark DROPMALFORMED", spark_drop(where, split_size), injected, expected(injected))


def first_out_of_place(segment: Segment) -> int:
    """The position of the first piece that is a copy."""
    return next(position for position, piece in positions(segment) if piece.is_copy)


def positions(segment: Segment) -> Iterator[tuple[int, Piece]]:
    """The pieces with their positions."""
    position = 0
    for piece in segment.pieces:
        yield position, piece
        position += len(piece.data)


@pytest.mark.parametrize("kind", ["foreign run", "swapped runs"])
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log}-{len(log.segments)}")
def test_strict_readers_name_the_first_batch_out_of_place(kind: str, log: Log, tmp_path: Path) -> None:
    """The intact batches after it are not blamed."""
    injected = injected_into(log, kind)
    where = injected.write(tmp_path)
    position = first_out_of_place(injected.segments[0])
    if (
        kind in MOVING
    ):  # nothing is lost: in the order of offsets, a reader first comes to the one that has the lower offsets
        copies = [
            (piece.batch.first, at) for at, piece in positions(injected.segments[0]) if piece.is_copy and piece.batch
        ]
        position = min(copies)[1]
    with pytest.raises(kc.CorruptRecordError, match=f"00000000000000000000.log: .*byte {position}\\b"):
        list(kc.scan(where))


@pytest.mark.parametrize("kind", ["later run", "two by later ones", "scattered"])
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log}-{len(log.segments)}")
def test_copies_are_named_and_what_they_replaced_is_missing(kind: str, log: Log, tmp_path: Path) -> None:
    """A copy is no reason to stop."""
    injected = injected_into(log, kind)
    answer = scan_strict(injected.write(tmp_path))
    assert answer.error is None
    assert answer.named >= expected(injected).lost
    position = first_out_of_place(injected.segments[0])
    assert any(f"from byte {position} on repeat" in each for each in answer.warnings)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log}-{len(log.segments)}")
@pytest.mark.parametrize("kind", sorted(MOVING))
def test_swapped_runs_are_put_in_order(kind: str, log: Log, tmp_path: Path) -> None:
    """Nothing is lost."""
    where = injected_into(log, kind).write(tmp_path)
    report = kafka_log.repair(where, tmp_path / "out")
    assert {each.action for each in report.repairs} == {"reordered"}
    answer = repair(where)
    assert (answer.error, answer.rows, answer.missing) == (None, [r for b in log.batches for r in b.records], [])
    assert verify(where).status == 1


def test_batches_after_corrupt_bytes_are_put_in_order(tmp_path: Path) -> None:
    """The last two batches have changed places, and an older copy of one of them is corrupt: nothing is lost."""
    log = LOGS[0]
    injected = intact(log)
    pieces = injected.segments[0].pieces
    broken = replace(pieces[-2], data=pieces[-2].data[:-1] + bytes([pieces[-2].data[-1] ^ 1]), state="broken")
    pieces[-2:] = [broken, pieces[-1], pieces[-2]]
    answer = repair(injected.write(tmp_path))
    assert (answer.error, answer.rows, answer.missing) == (None, [r for b in log.batches for r in b.records], [])


def test_a_gap_that_nothing_contradicts_is_a_gap(tmp_path: Path) -> None:
    """Batches were removed: those after the gap are in order."""
    log = LOGS[0]
    injected = intact(log)
    del injected.segments[0].pieces[100:140]
    where = injected.write(tmp_path)
    lost = (log.batches[100].first, log.batches[139].last, "gap")
    for tool in (scan_strict, scan_skip, verify, repair, recompress):
        answer = tool(where)
        assert (answer.error, answer.missing) == (None, [lost]), tool.__name__


def test_the_greater_number_decides(tmp_path: Path) -> None:
    """A few batches with offsets inside a gap, and many after the gap: the few are out of place."""
    log = LOGS[0]
    injected = intact(log)
    pieces = injected.segments[0].pieces
    few = pieces[105:108]
    del pieces[100:140]
    pieces[200:200] = few
    injected.kind = "run overwritten by a later run"
    injected.moved = {piece.batch.number for piece in few if piece.batch}
    where = injected.write(tmp_path)
    rows = [record for piece in pieces if piece not in few and piece.batch for record in piece.batch.records]
    for tool in (scan_skip, repair):
        answer = tool(where)
        assert (answer.error, answer.rows) == (None, rows), tool.__name__


def test_several_runs_at_random(tmp_path: Path) -> None:
    """Runs and pages over one another."""
    rng = random.Random("runs")
    for number in range(20):
        injected = intact(LOGS[number % len(LOGS)])
        injected.kind = "run overwritten by a later run"
        for _ in range(rng.randrange(2, 5)):
            count = rng.randrange(2, 20)
            to, source = (rng.randrange(BATCHES - count) for _ in range(2))
            _run(to, source, count)(injected)
        pieces = [piece for piece in injected.segments[0].pieces if piece.batch]
        numbers = {piece.batch.number for piece in pieces if piece.batch and not piece.is_copy}
        # Batches that are only in the place of others.
        injected.moved = {piece.batch.number for piece in pieces if piece.batch} - numbers
        where = injected.write(tmp_path / str(number))
        for tool in ("scan, skip", "repair"):
            assert not check(tool, TOOLS[tool](where), injected, expected(injected)), (number, injected.log.name)
