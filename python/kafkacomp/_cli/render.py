"""Write rows to standard output as tables, lines of kafka-dump-log, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any, Protocol

from kafkacomp._batch_settings import NO_TIMESTAMP
from kafkacomp._text import escaped_lines, json_text, printable, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

#: The most characters of a key, a value or a list that a table shows.
CELL = 60

#: Fields that are Java's OptionalLong.
_OPTIONAL = frozenset({"deleteHorizonMs", "currentTxnFirstOffset"})
_CONTROL_LABELS = {
    "LEADER_CHANGE": "LeaderChange:",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
}


class Renderer(Protocol):
    """Writes rows of any kind."""

    def file(self, name: str, kind: str) -> None:
        """Begin a file."""

    def row(self, kind: str, row: dict[str, Any]) -> None:
        """Write a row: a batch, a record, or an entry of a side file of this kind."""


class JsonLines:
    """One object a line, with ``file`` and ``type``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._file = ""

    def file(self, name: str, kind: str) -> None:  # noqa: ARG002 - every row has its own type
        self._file = name

    def row(self, kind: str, row: dict[str, Any]) -> None:
        self._out.write(json_text({"type": kind, "file": self._file} | row) + "\n")


class Csv:
    """CSV with a column ``file``. If the columns change, a blank line and a new header line follow.

    Lists and objects are JSON, and null is an empty cell. A terminal would execute the control sequences in payloads:
    there they are escaped.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rows = csv.writer(out)
        self._is_shown = sys.stdout.isatty()
        self._file = ""
        self._columns: list[str] = []

    def file(self, name: str, kind: str) -> None:  # noqa: ARG002 - the columns show it
        self._file = name

    def row(self, kind: str, row: dict[str, Any]) -> None:  # noqa: ARG002 - the columns show it
        cells = {"file": self._file} | row
        if [*cells] != self._columns:
            self._out.write("\r\n" if self._columns else "")
            self._columns = [*cells]
            self._rows.writerow(map(self._cell, cells))
        self._rows.writerow(map(self._cell, cells.values()))

    def _cell(self, value: object) -> str:
        if value is None:
            return ""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return escaped_lines(text) if self._is_shown else text.encode("utf-8", "backslashreplace").decode()


class Table:
    """Columns for reading: times are formatted, long texts are truncated and followed by their length."""

    WIDTHS = {  # noqa: RUF012 - a constant table
        "offset": 9, "baseOffset": 10, "lastOffset": 10, "position": 10, "count": 6, "size": 8, "magic": 5,
        "compresscodec": 13, "timestamp": 24, "crc": 10, "isvalid": 7, "producerId": 10, "producerEpoch": 13,
        "keySize": 7, "valueSize": 9, "sequence": 8, "timestampType": 13,
    }  # fmt: skip
    #: Fields that tables omit, because lines would have 250 characters; other formats have them.
    HIDDEN = frozenset(
        {"baseSequence", "lastSequence", "deleteHorizonMs", "isTransactional", "isControl", "timestampType", "headers"}
    )

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._columns: tuple[str, ...] | None = None
        #: Whether a text has been truncated.
        self.has_truncated = False

    def file(self, name: str, kind: str) -> None:
        self._out.write(f"{printable(name)} ({kind})\n")
        self._columns = None

    def row(self, kind: str, row: dict[str, Any]) -> None:
        shown = {name: value for name, value in row.items() if name not in self.HIDDEN}
        if isinstance(row.get("timestamp"), int):
            shown["timestamp"] = None if row["timestamp"] == NO_TIMESTAMP else time_text(row["timestamp"])
        if kind == "batch":
            named = (("isTransactional", "transactional"), ("isControl", "control"))
            marks = [name for field, name in named if row.get(field)]
            if row.get("deleteHorizonMs") is not None:
                marks.append(f"deleteHorizon={row['deleteHorizonMs']}")
            shown["marks"] = " ".join(marks)
        if kind in {"record", "message"}:
            self._record(shown)
            return
        columns = tuple(shown)
        if columns != self._columns:
            self._columns = columns
            self._line({name: name for name in columns})
        self._line(shown)

    def _record(self, row: Mapping[str, Any]) -> None:
        names = {"keyBase64": "key (base64)", "payloadBase64": "payload (base64)"}
        shown = {names.get(name, name): value for name, value in row.items() if value not in ([], None)}
        cells = [f"{name}: {self._cell(value)}" for name, value in shown.items()]
        self._out.write("  | " + " ".join(cells) + "\n")

    def _line(self, row: Mapping[str, Any]) -> None:
        cells = [self._cell(value).rjust(self.WIDTHS.get(name, max(len(name), 6))) for name, value in row.items()]
        self._out.write("  " + " ".join(cells).rstrip() + "\n")

    def _cell(self, value: object) -> str:
        if value is None:
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "NO"
        if isinstance(value, int):
            return str(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = printable(text[: CELL + 1])
        if len(text) <= CELL and len(shown) <= CELL:
            return shown
        self.has_truncated = True
        return f"{shown[: CELL - 1]}… ({len(text):,} characters)"


class KafkaLines:
    """Exactly the lines of ``kafka-dump-log --deep-iteration``; with payloads those of ``--print-data-log``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def file(self, name: str, kind: str) -> None:  # noqa: ARG002 - the name shows it
        self._out.write(f"Dumping {printable(name)}\n")

    def row(self, kind: str, row: dict[str, Any]) -> None:
        line = _record_line(row) if kind == "record" else _entry_line(row)
        self._out.write(printable(line) + "\n")


FORMATS: dict[str, Callable[[TextIO], Renderer]] = {"table": Table, "jsonl": JsonLines, "csv": Csv, "kafka": KafkaLines}


def renderer(name: str, out: TextIO | None = None) -> Renderer:
    """The renderer of this name, one of ``FORMATS``."""
    return FORMATS[name](sys.stdout if out is None else out)


def _kafka(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _entry_line(row: dict[str, Any]) -> str:
    """The line of a batch or of an entry of a side file."""
    shown = {name: _kafka(value) for name, value in row.items()}
    for name in _OPTIONAL & row.keys():
        shown[name] = "OptionalLong.empty" if row[name] is None else f"OptionalLong[{row[name]}]"
    if kind := shown.pop("timestampType", None):
        shown = {kind if name == "timestamp" else name: value for name, value in shown.items()}
    return " ".join(f"{name}: {value}" for name, value in shown.items())


def _record_line(row: dict[str, Any]) -> str:
    time = NO_TIMESTAMP if row["timestamp"] is None else row["timestamp"]
    words = [f"| offset: {row['offset']} {row['timestampType']}: {time}"]
    words.append(f"keySize: {row['keySize']} valueSize: {row['valueSize']}")
    if "sequence" in row:
        words.append(f"sequence: {row['sequence']} headerKeys: [{','.join(row['headerKeys'])}]")
    else:
        words.append(f"isvalid: {_kafka(row['isvalid'])}")
    kind = row.get("controlType")
    if kind in {"ABORT", "COMMIT"}:
        words.append(f"endTxnMarker: {kind} coordinatorEpoch: {row['control']['coordinatorEpoch']}")
    elif kind in _CONTROL_LABELS:
        words.append(f"{_CONTROL_LABELS[kind]} {json.dumps(row['control'], separators=(',', ':'))}")
    elif kind is not None:
        words.append(f"controlType: {kind}")
    for name in ("key", "payload"):
        if row.get(name) is not None:
            words.append(f"{name}: {row[name]}")
        elif f"{name}Base64" in row:
            words.append(f"{name}Base64: {row[f'{name}Base64']}")
    return " ".join(words)
