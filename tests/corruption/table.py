"""The table of docs/corruption-tools.md: what each tool answers to each kind of corruption, by asking them.

``python -m corruption.table`` in the folder ``tests`` renews it; a test fails if it is not current.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from corruption.inject import KINDS, applies, inject
from corruption.logs import CODECS, built
from corruption.model import expected
from corruption.tools import SPARK, TOOLS

if TYPE_CHECKING:
    from corruption.inject import Injected
    from corruption.tools import Answer

__all__ = ["PAGE", "renewed"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corruption-tools.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
#: Columns, and the tool that is asked.
COLUMNS = {
    "`scan`": "scan",
    "`scan`, skip": "scan, skip",
    "`export`, skip": "export, skip",
    "`verify`": "verify",
    "`repair`": "repair",
    "`recompress`": "recompress",
    "Spark `FAILFAST`": "Spark FAILFAST",
    "`DROPMALFORMED`": "Spark DROPMALFORMED",
    "`PERMISSIVE`": "Spark PERMISSIVE",
}
#: Injections of each kind into each log.
_TIMES = 2


def _answer_in_words(tool: str, answer: Answer, injected: Injected) -> str:
    everything = {offset for batch in injected.log.batches for offset, _ in batch.records}
    if tool == "verify":
        if answer.status == 0:
            return "warning" if answer.warnings else "fine"
        return "error, missing" if answer.missing else "error"
    if answer.error is not None:
        return "error"
    delivered = {offset for offset, _ in answer.rows or []}
    if everything <= delivered:
        return "all, warning" if answer.warnings or answer.faults else "all"
    if everything - delivered <= _unknowable(injected):
        return "rest"
    return "rest, missing" if answer.missing else "rest"


def _unknowable(injected: Injected) -> set[int]:
    """Lost offsets of which nothing in the log tells: at its beginning or its end."""
    wanted = expected(injected)
    lost = {offset for batch in injected.log.batches for offset, _ in batch.records} - wanted.required.keys()
    return lost - wanted.lost - wanted.optional.keys()


def _row(kind: str) -> list[str]:
    logs = [built(magic, codec) for magic, codecs in CODECS.items() for codec in codecs]
    answers: dict[str, dict[str, int]] = {column: {} for column in COLUMNS}
    for log in (each for each in logs if applies(kind, each)):
        for seed in range(_TIMES):
            injected = inject(log, kind, random.Random(f"{seed} {kind} {log.name}"))
            if expected(injected).undecidable is not None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                where = injected.write(Path(folder))
                for column, tool in COLUMNS.items():
                    words = _answer_in_words(tool, (TOOLS | SPARK)[tool](where), injected)
                    answers[column][words] = answers[column].get(words, 0) + 1
    return [kind, *("; ".join(sorted(found, key=lambda each: (-found[each], each))) for found in answers.values())]


def table() -> str:
    """Ask all tools."""
    rows = [["Corruption", *COLUMNS], ["---"] * (len(COLUMNS) + 1), *map(_row, KINDS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def renewed(page: str) -> str:
    """The page with a current table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
