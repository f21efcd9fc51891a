"""The tables that set other projects' tests beside ours: every test of ours that they name is there."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
#: Table -> the module that it means where it names none.
TABLES = {
    "docs/design/log-validator-tests.md": "test_log_validator.py",
    "docs/design/memory-records-builder-tests.md": "test_memory_records_builder.py",
    "tests/streams/CHECKLIST.md": None,
}
NAMED = re.compile(r"(?:(test_\w+\.py)::)?\b(test_\w+)(?:\[([\w.]+)\])?(?!\w*\.py)")
#: Reasons stand behind this word.
NO_TEST = "none: "


def rows(table: str) -> list[tuple[str, str]]:
    """What stands in the two columns."""
    lines = (ROOT / table).read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    assert all(len(row) == 2 for row in cells)
    return [(theirs, ours) for theirs, ours in cells if theirs not in {"theirs", "Kafka's"}]


@functools.cache
def defined(module: str) -> tuple[set[str], str]:
    """The tests of a module, and its text."""
    (path,) = TESTS.rglob(module)
    text = path.read_text()
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}, text


@pytest.mark.parametrize("table", TABLES)
def test_every_named_test_is_there(table: str) -> None:
    named = 0
    for theirs, ours in rows(table):
        found = list(NAMED.finditer(ours))
        assert found or ours.startswith(NO_TEST), theirs
        for match in found:
            module, name, parameter = match.groups()
            functions, text = defined(module or TABLES[table] or "")
            assert name in functions, f"{theirs}: {match[0]}"
            # An id, or how ids begin.
            assert parameter is None or parameter.rstrip(".") in text, f"{theirs}: {match[0]}"
            named += 1
    assert named > 20


@pytest.mark.parametrize("table", TABLES)
def test_every_case_has_one_line(table: str) -> None:
    """By the heading above it, for classes share names."""
    seen = set()
    headings = {"##": "", "###": ""}
    for line in (ROOT / table).read_text().splitlines():
        mark, _, heading = line.partition(" ")
        if mark in headings:
            headings[mark] = heading
        names = re.findall(r"\b(?:test|should|build|write|convert)\w+", line.split(" | ")[0]) if mark == "|" else []
        for name in names:
            case = (*headings.values(), name)
            assert case not in seen, case
            seen.add(case)
    assert len(seen) > 20


@pytest.mark.parametrize("table", ["docs/design/memory-records-builder-tests.md"])
def test_names_are_kafkas(table: str) -> None:
    """As Python spells them."""
    for theirs, ours in rows(table):
        if ours.startswith(NO_TEST):
            continue
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", theirs.split(" ")[0].replace("PID", "Pid")).lower()
        assert ours == (name if name.startswith("test_") else f"test_{name}")
