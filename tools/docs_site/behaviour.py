"""The table of docs/kafka-behaviour.md: what eight brokers answered to each record set."""

from __future__ import annotations

import csv
from html import escape
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "produce-matrix.csv"
MARK = "<!-- produce matrix -->"
_FIRST_BROKER = 5


def _kind(answer: str) -> str:
    if not answer:
        return "absent"
    if "produce v" in answer:
        return "mixed"
    if answer == "ok: nothing stored":
        return "lost"
    return "stored" if answer.startswith("ok") else "refused"


def _breakable(answer: str) -> str:
    """HTML of an answer: a line for each version, and places to break long names of errors."""
    return escape(answer).replace("; ", "<br>").replace("_", "_<wbr>")


def _select(name: str, label: str, values: list[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return f'<label>{label} <select data-matrix="{name}"><option value="">all</option>{options}</select></label>'


def table() -> str:
    """HTML: the filter's fields and a row for each case."""
    with DATA.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    brokers = header[_FIRST_BROKER:]
    out = [
        '<div class="matrix-filter" role="search">',
        '<label>Find <input type="search" data-matrix="text" placeholder="lz4 content checksum"></label>',
        _select("group", "Group", sorted({row[1] for row in rows})),
        _select("format", "Message format", sorted({row[3] for row in rows})),
        '<label><input type="checkbox" data-matrix="differ"> only where brokers differ</label>',
        f'<output data-matrix="count">{len(rows)} of {len(rows)} cases</output>',
        "</div>",
        '<div class="matrix" tabindex="0"><table class="matrix-table"><thead><tr>',
        "<th>Record set</th>" + "".join(f"<th>{broker}</th>" for broker in brokers),
        "</tr></thead><tbody>",
    ]
    for case, group, sent, form, settings, *answers in rows:
        differ = len({_kind(each) + each.split(" ")[0] for each in answers if each}) > 1
        out.append(f'<tr data-group="{escape(group)}" data-format="{form}" data-differ="{int(differ)}">')
        topic = f"<small>topic: {escape(settings)}</small>" if settings else ""
        out.append(f"<th><code>{escape(case)}</code><small>{escape(form)}: {escape(sent)}</small>{topic}</th>")
        out += [f'<td class="{_kind(each)}">{_breakable(each)}</td>' for each in answers]
        out.append("</tr>")
    out.append("</tbody></table></div>")
    return "\n".join(out)
