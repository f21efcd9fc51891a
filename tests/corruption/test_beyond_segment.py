"""The last batch of a closed segment has offsets of a later segment: it does not hide the batches of that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from corruption.inject import Injected, Piece, intact
from corruption.logs import Log, built
from corruption.tools import repair, scan_skip, scan_skip_threads, scan_strict, spark_drop, spark_permissive

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SKIPPING = {
    "scan": scan_skip,
    "threads": scan_skip_threads,
    "repair": repair,
    "DROPMALFORMED": spark_drop,
    "PERMISSIVE": spark_permissive,
}
LOGS = [built(magic, codec) for magic, codec in ((0, "none"), (0, "gzip"), (1, "none"), (1, "gzip"), (2, "lz4"))]


def _flipped(piece: Piece, byte: int, bit: int) -> Piece:
    data = bytearray(piece.data)
    data[byte] ^= bit
    return replace(piece, data=bytes(data), state="offset")


def _two_altered(injected: Injected) -> None:
    """The last two base offsets, the first of them upwards and the second one below zero."""
    pieces = injected.segments[0].pieces
    pieces[-2:] = [_flipped(pieces[-2], 1, 1), _flipped(pieces[-1], 0, 0x80)]


def _stray_before_corruption(injected: Injected) -> None:
    pieces = injected.segments[0].pieces
    stray = injected.segments[2].pieces[-1]
    pieces[2:] = [replace(stray, is_copy=True), replace(pieces[3], data=pieces[3].data[:-9], state="broken")]


KINDS: dict[str, Callable[[Injected], None]] = {
    "two altered": _two_altered,
    "stray before corruption": _stray_before_corruption,
}


def _injected(log: Log, kind: str) -> Injected:
    injected = intact(log)
    injected.what = kind
    KINDS[kind](injected)
    return injected


@pytest.mark.parametrize("tool", SKIPPING)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log", LOGS, ids=str)
def test_the_next_segments_are_delivered(tmp_path: Path, log: Log, kind: str, tool: str) -> None:
    """Every intact batch is delivered once, with its own offsets; the others are named."""
    injected = _injected(log, kind)
    answer = SKIPPING[tool](injected.write(tmp_path))
    records = dict(record for batch in log.batches for record in batch.records)
    rows = answer.rows or []
    offsets = [offset for offset, _ in rows]
    assert offsets == sorted(set(offsets))
    assert all(records.get(offset) == value for offset, value in rows)
    pieces = [piece for segment in injected.segments for piece in segment.pieces]
    there = {offset for each in pieces if each.batch and each.state == "intact" for offset, _ in each.batch.records}
    assert there <= set(offsets)
    if tool not in {"DROPMALFORMED", "PERMISSIVE"}:  # which do not name what is missing where nothing is corrupt
        assert records.keys() - set(offsets) <= answer.named


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_overlap_after_compaction(tmp_path: Path, log: Log) -> None:
    """Compaction merged two segments, and the second one is still there: it has the offsets from its name on."""
    injected = intact(log)
    first, second = injected.segments[:2]
    removed = first.pieces[-1].batch
    first.pieces, first.indexes = [*first.pieces[:-1], *second.pieces[1:]], {}
    rest = {offset for batch in log.batches if batch is not removed for offset, _ in batch.records}
    folder = injected.write(tmp_path)
    for tool in (scan_strict, scan_skip, repair, spark_drop):
        answer = tool(folder)
        assert answer.error is None
        assert [offset for offset, _ in answer.rows or []] == sorted(rest)
