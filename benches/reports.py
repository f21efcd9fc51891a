"""What the comparisons leave in benches/results: NAME.json, and for people NAME.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RESULTS = Path(__file__).resolve().parent / "results"


def save(name: str, report: dict[str, Any], page: Iterable[str] | None = None) -> None:
    """Write a report, and its page if it has one."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    if page is not None:
        (RESULTS / f"{name}.md").write_text("\n".join(page) + "\n")


def head(title: str, script: str, report: dict[str, Any], sides: str) -> list[str]:
    """What a page begins with: how, where and in how many rounds its report was made."""
    return [
        f"# {title}",
        "",
        f"Made by `python benches/{script}`; its head says what is compared.",
        "",
        *(f"- {name}: {value}" for name, value in report["machine"].items()),
        f"- rounds: {report['rounds']}, {sides} in turn",
    ]


def table(unit: str, columns: Sequence[str], rows: Iterable[str]) -> list[str]:
    """A table of speeds and ratios."""
    return [
        "",
        f"{unit}, and ratios: by the clock, in brackets by processor time.",
        "",
        f"| {' | '.join(columns)} |".replace("|  |", "| |"),
        "|" + "---|" * len(columns),
        *rows,
    ]
