"""``kafkacomp groups``: groups and their committed offsets."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkacomp import LogDir, internal
from kafkacomp._cli.common import complain, say, say_json
from kafkacomp._cli.internal import PATHS, Reading, internal_options, milliseconds_of, moment_text, number_text
from kafkacomp._cli.tables import Column, show_table, width_of_output
from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._text import count_text, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp.log import LogPartition

_COLUMNS = (
    Column("group", is_name=True), Column("type", 3, is_name=True), Column("state", 2, is_name=True),
    Column("topic", is_name=True), Column("partition"), Column("committed"), Column("epoch", 5), Column("log end", 1),
    Column("lag", 1), Column("committed at", 2), Column("metadata", 4, is_name=True), Column("note", 1, is_name=True),
)  # fmt: skip


class _Logs:
    """The partitions on the same disk, whose ends are read when they are needed."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._found: dict[tuple[str, int], LogPartition] = {}
        for path in paths:
            for each in LogDir(path).partitions:
                self._found[each.topic, each.partition] = each
        self._ends: dict[tuple[str, int], tuple[int, int | None] | None] = {}

    def span(self, topic: str, partition: int) -> tuple[int, int | None] | None:
        """The log start and end offset; ``None`` if the partition is not on this disk."""
        place = (topic, partition)
        if place not in self._ends:
            log = self._found.get(place)
            self._ends[place] = None if log is None else (log.start_offset, log.end_offset)
        return self._ends[place]

    def has(self, topic: str, partition: int, offset: int) -> bool:
        """Whether a group may resume at an offset, as far as the partition is on this disk."""
        span = self.span(topic, partition)
        return span is None or (span[0] <= offset and (span[1] is None or offset <= span[1]))


def _with_lag(row: dict[str, Any], logs: _Logs) -> dict[str, Any]:
    span = logs.span(row["topic"], row["partition"])
    end = None if span is None else span[1]
    lag = None if end is None or row["committedOffset"] is None else end - row["committedOffset"]
    return row | {"logEndOffset": end, "lag": lag}


def _note(row: dict[str, Any]) -> str:
    """What is special about a row."""
    marks = {
        "unknown": row["status"] == "unknown",
        "in an open transaction": row["status"] == "pending",
        "expired": bool(row["isExpired"]),
        "may be stale": bool(row["mayBeStale"]),
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)


@click.command()
@PATHS
@click.option(
    "--reset-file", type=click.Path(path_type=Path),
    help="Write the offsets for kafka-consumer-groups --reset-offsets --from-file, and print the command.",
)  # fmt: skip
@internal_options
def groups(paths: tuple[str, ...], reset_file: Path | None, as_json: bool, **options: Any) -> int:  # noqa: ANN401
    """Show groups with their committed offsets, and how far they lag.

    PATHS are log directories or folders of __consumer_offsets. The log end and the lag are shown for partitions whose
    folders are in PATHS. An offset in an open transaction is shown with a note, and does not count.

    With --as-of, offsets that compaction has removed since then are unknown, and the warning has the earliest time from
    which the answer is complete.
    """
    reading = Reading(paths, **options)
    found = reading.rows(internal.groups)
    logs = _Logs(paths)
    offsets = [_with_lag(row, logs) for row in reading.rows(internal.consumer_offsets)]
    if reset_file is not None:
        return _write_reset_file(reset_file, found, offsets, logs) or reading.status()
    if as_json:
        say_json(_as_dict(found, offsets))
    else:
        _show(found, offsets)
    return reading.status()


def _as_dict(found: list[dict[str, Any]], offsets: list[dict[str, Any]]) -> dict[str, Any]:
    of_group: dict[str, list[dict[str, Any]]] = {}
    for row in offsets:
        shown = {name: value for name, value in milliseconds_of(row).items() if name != "groupId"}
        of_group.setdefault(row["groupId"], []).append(shown)
    # A group that was deleted may have offsets until their tombstones are written.
    deleted: list[dict[str, Any]] = [{"groupId": name} for name in of_group.keys() - {row["groupId"] for row in found}]
    rows = sorted([*map(milliseconds_of, found), *deleted], key=lambda row: row["groupId"])
    return {"groups": [row | {"offsets": of_group.get(row["groupId"], [])} for row in rows]}


def _show(found: list[dict[str, Any]], offsets: list[dict[str, Any]]) -> None:
    by_name = {row["groupId"]: row for row in found}
    rows = []
    for row in offsets:
        group = by_name.get(row["groupId"], {})
        rows.append([
            printable(row["groupId"]), group.get("type") or "", group.get("state") or group.get("status") or "deleted",
            printable(row["topic"]), str(row["partition"]), number_text(row["committedOffset"]),
            number_text(row["leaderEpoch"]), number_text(row["logEndOffset"]), number_text(row["lag"]),
            moment_text(row["commitTimestamp"]), printable(row["metadata"] or ""), _note(row),
        ])  # fmt: skip
    with_offsets = {row["groupId"] for row in offsets}
    for group in found:
        if group["groupId"] not in with_offsets:
            state = group["state"] or group["status"]
            rows.append([printable(group["groupId"]), group["type"] or "", state, *[""] * 9])
    rows.sort(key=lambda row: row[0])
    if rows:
        show_table(_COLUMNS, rows, width=width_of_output())
    count = sum(row["status"] == "committed" for row in offsets)
    say(f"{count_text(len(found), 'group')}, {count_text(count, 'committed offset')}")


def _write_reset_file(path: Path, found: list[dict[str, Any]], offsets: list[dict[str, Any]], logs: _Logs) -> int:
    """Write the lines of the file, and print the command and what the file cannot carry."""
    committed = [row for row in offsets if row["status"] == "committed"]
    outside = [row for row in committed if not logs.has(row["topic"], row["partition"], row["committedOffset"])]
    for row in outside:
        first, end = logs.span(row["topic"], row["partition"]) or (0, None)
        place = f"{printable(row['groupId'])}: {printable(row['topic'])}-{row['partition']}"
        complain(f"{place}: offset {row['committedOffset']} is outside the log, which has {first} to {end}")
    if outside:
        complain(f"{path}: not written: kafka-consumer-groups would move these offsets with a warning only")
        return CORRUPT
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    written, left_out = [], []
    for row in committed:
        named = (row["groupId"], row["topic"])
        if any(end in name for name in named for end in ("\n", "\r")):
            left_out.append(row["groupId"])
            continue
        writer.writerow([*named, row["partition"], row["committedOffset"]])
        written.append(row)
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(lines.getvalue())
    names = sorted({row["groupId"] for row in written})
    options = " ".join(f"--group {shlex.quote(name)}" for name in names)
    say(f"{path}: {count_text(len(written), 'offset')} of {count_text(len(names), 'group')}; to set them:")
    say(
        "kafka-consumer-groups.sh --bootstrap-server HOST:9092 --reset-offsets --execute "
        f"--from-file {shlex.quote(str(path))} {options}"
    )
    unchecked = sum(logs.span(row["topic"], row["partition"]) is None for row in written)
    share = [row["groupId"] for row in found if row["type"] == "Share"]
    notes = (
        (sum(bool(row["metadata"]) for row in written), "offset", "with metadata, which the file cannot carry"),
        (
            sum(row["leaderEpoch"] is not None for row in written),
            "offset",
            "with a leader epoch, which it cannot carry",
        ),
        (unchecked, "offset", "not checked: the partition's folder is not on this disk"),
        (sum(row["status"] == "pending" for row in offsets), "offset", "in open transactions left out"),
        (sum(row["status"] == "unknown" for row in offsets), "offset", "unknown at this time, and left out"),
        (len(share), "share group", "left out: the tool is for consumer groups"),
        (len(set(left_out)), "group", "left out: a name with a line break"),
    )
    for number, noun, text in notes:
        if number:
            say(f"{count_text(number, noun)} {text}")
    return FINE
