"""Batches of a compacted log, which do not continue one another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from corruption.inject import intact
from corruption.logs import all_logs
from corruption.tools import repair, scan_skip, verify
from kafkacomp import log as kafka_log

if TYPE_CHECKING:
    from pathlib import Path

(LOG,) = (log for log in all_logs() if log.is_compacted)
ROWS = [record for batch in LOG.batches for record in batch.records]


def test_swapped_batches_cost_no_other(tmp_path: Path) -> None:
    """Gaps do not show that they belong elsewhere, so that they may be quarantined."""
    injected = intact(LOG)
    pieces = injected.segments[0].pieces
    pieces[2], pieces[-3] = pieces[-3], pieces[2]
    own = {offset for piece in (pieces[2], pieces[-3]) if piece.batch for offset, _ in piece.batch.records}
    where = injected.write(tmp_path)
    report = kafka_log.repair(where, tmp_path / "out")
    assert {each.action for each in report.repairs} <= {"reordered", "quarantined"}
    for tool in (scan_skip, repair):
        answer = tool(where)
        assert answer.error is None
        assert [row for row in answer.rows or [] if row[0] not in own] == [row for row in ROWS if row[0] not in own]


def test_an_altered_base_offset_is_not_taken_for_a_swap(tmp_path: Path) -> None:
    """The altered batch alone is left out or restored."""
    injected = intact(LOG)
    pieces = injected.segments[0].pieces
    first = pieces[1].batch
    assert first is not None
    # Above the last batch of the segment, by one bit.
    altered = (first.first | 1 << 20).to_bytes(8, "big") + pieces[1].data[8:]
    pieces[1] = type(pieces[1])(altered, first, "offset")
    answer = scan_skip(where := injected.write(tmp_path))
    own = {offset for offset, _ in first.records}
    assert [row for row in answer.rows or [] if row[0] not in own] == [row for row in ROWS if row[0] not in own]
    report = kafka_log.repair(where, tmp_path / "out")
    assert {each.position for each in report.repairs} == {len(pieces[0].data)}
    assert not {each.action for each in report.repairs} - {"quarantined", "restored"}


@pytest.mark.parametrize(
    ("number", "bit"),
    # On the batch before, on the one after, or below the batch before.
    [(28, 4), (28, 5), (27, 5)],
)
def test_an_altered_base_offset_does_not_hide_its_neighbours(number: int, bit: int, tmp_path: Path) -> None:
    """Those that it leaves in order have more bytes."""
    injected = intact(LOG)
    segment = next(each for each in injected.segments if len(each.pieces) > number)
    batch = segment.pieces[number].batch
    assert batch is not None
    altered = (batch.first ^ 1 << bit).to_bytes(8, "big") + segment.pieces[number].data[8:]
    segment.pieces[number] = replace(segment.pieces[number], data=altered, state="offset")
    where = injected.write(tmp_path)
    own = {offset for offset, _ in batch.records}
    for tool in (scan_skip, repair):
        rows = tool(where).rows or []
        assert [row for row in rows if row[0] not in own] == [row for row in ROWS if row[0] not in own]


def test_an_index_shows_that_a_segment_was_truncated(tmp_path: Path) -> None:
    """Between two batches: compaction could have removed what is missing, were there no entry for it."""
    injected = intact(LOG)
    del injected.segments[0].pieces[16:]
    where = injected.write(tmp_path)
    answer = verify(where)
    assert answer.status == 1
    assert [file for file, _ in answer.faults] == [f"{injected.segments[0].name}.log"]
    assert {reason for _, _, reason in answer.missing} >= {"gap"}
    (where / f"{injected.segments[0].name}.index").unlink()
    (where / f"{injected.segments[0].name}.timeindex").unlink()
    assert verify(where).status == 0


def test_a_batch_of_a_later_segment_in_the_place_of_another(tmp_path: Path) -> None:
    """It is left out; the records between, which are intact, are delivered."""
    (log,) = (log for log in all_logs() if log.name == "real v2 one byte")
    injected = intact(log)
    first, second = injected.segments[:2]
    lost, foreign = first.pieces[1].batch, second.pieces[2].batch
    assert lost is not None
    assert foreign is not None
    first.pieces[1] = second.pieces[2]
    where = injected.write(tmp_path)
    rows = [record for batch in log.batches if batch is not lost for record in batch.records]
    for tool in (scan_skip, repair):
        answer = tool(where)
        assert (answer.error, answer.rows) == (None, rows)
