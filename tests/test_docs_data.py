"""What pages of docs/ have from elsewhere is current: pictures, the produce matrix, the tables of Spark's options."""

from __future__ import annotations

import csv
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from golden.expect import roots
from kafkacomp.spark._options import OPTIONS as READ
from kafkacomp.spark._write_options import OPTIONS as WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MATRIX = DOCS / "data" / "produce-matrix.csv"


def _tool(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "docs_site" / name))


@pytest.mark.parametrize(("name", "content"), _tool("pictures.py")["pictures"]().items())
def test_pictures_are_current(name: str, content: str) -> None:
    """`make pictures` draws them again, after the benchmarks were run for instance."""
    assert (DOCS / "images" / name).read_text() == content


def test_matrix_is_that_of_the_recording(tmp_path: Path) -> None:
    """The recording is in the full vector sets only."""
    made = tmp_path / "made.csv"
    main = _tool("take_matrix.py")["main"]
    main.__globals__["TARGET"] = made
    for recording in [path for root in roots("legacy") if (path := root / "produce_matrix.json").is_file()]:
        main(str(recording))
        assert made.read_text() == MATRIX.read_text()


def _rows() -> list[dict[str, str]]:
    with MATRIX.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _answers(case: str, brokers: Iterable[str]) -> set[str]:
    (row,) = [row for row in _rows() if row["case"] == case]
    return {row[broker].split(",")[0] for broker in brokers}


def test_what_the_page_says_of_the_matrix() -> None:
    rows = _rows()
    brokers = list(rows[0])[5:]
    assert len(rows) == 477
    assert len(brokers) == 8
    linked = [row[broker] for row in rows if "linked" in row["case"] for broker in brokers if row[broker]]
    assert linked
    assert not any(answer.startswith("ok") for answer in linked)
    assert _answers("crc-wrong-plain-m0", brokers) == {"2 CORRUPT_MESSAGE"}
    assert _answers("crc-wrong-inner-m0", brokers[:4]) == {"ok: rebuilt"}
    assert _answers("lz4-two-frames-m0", brokers[:2]) == {"ok: nothing stored"}
    assert _answers("lz4-two-frames-m0", brokers[4:6]) == {"2 CORRUPT_MESSAGE"}
    assert _answers("lz4-two-frames-m0", brokers[6:]) == {"87 INVALID_RECORD"}
    assert _answers("lz4-corrupt-content-checksum-m0", brokers[2:]) == {"ok: rebuilt"}
    assert _answers("lz4-corrupt-block-m0", brokers[:1]) == {"ok: nothing stored"}


def _documented(section: str) -> set[str]:
    tables = re.findall(r"^\| Option \|.*\n\|[-| ]+\n((?:\|.*\n)+)", section, flags=re.MULTILINE)
    cells = [line.split("|")[1] for table in tables for line in table.splitlines()]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_spark_option_is_documented() -> None:
    reading, writing = (DOCS / "spark.md").read_text().split("\n## Writing\n")
    assert _documented(writing) == set(WRITE) - {"path"}
    assert _documented(reading) | {"path", "paths"} == set(READ)
