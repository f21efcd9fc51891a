"""An argument of the wrong type is named before any work begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: An argument of `scan`, a value of a wrong type, and what it must be.
SCAN: list[tuple[str, Any, str]] = [
    ("columns", 5, "a collection of names, not int"),
    ("columns", "offset", "a collection of names, not the string 'offset'"),
    ("columns", [5], "a collection of names, not of int"),
    ("columns", b"offset", "a collection of names, not of int"),
    ("topics", 5, "a collection of names, not 5"),
    ("topics", [5], "a collection of names, not of int"),
    ("partitions", 5, "a collection of numbers, not 5"),
    ("partitions", ["0"], "an int, not str"),
    ("start_offset", "0", "an int or a mapping of .* not str"),
    ("end_offset", [0], "an int or a mapping of .* not list"),
    ("start_time", "2024", "milliseconds since the epoch, or a datetime with a time zone, not str"),
    ("threads", "2", "an int, not str"),
    ("batch_rows", 1.5, "an int, not float"),
    ("arrow_batch_bytes", "1k", "an int, not str"),
    ("visible_only", 1, "a bool, not int"),
    ("verify_crc", None, "a bool, not NoneType"),
    ("progress", 5, "callable, or None, not int"),
]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    kc.write(pa.table({"value": [b"first", b"second"]}), tmp_path / "logs", topic="orders")
    return tmp_path / "logs"


@pytest.mark.parametrize(("name", "value", "wanted"), SCAN)
def test_scan(name: str, value: Any, wanted: str, folder: Path) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be {wanted}"):
        kc.scan(folder, **{name: value})


@pytest.mark.parametrize(
    "call",
    [
        lambda folder, **options: log.recompress(folder, folder.parent / "new", compression_type="gzip", **options),
        lambda folder, **options: log.convert(folder, folder.parent / "new", to_magic=1, **options),
        lambda folder, **options: log.repair(folder, folder.parent / "new", **options),
        kc.advise,
        lambda folder, **options: log.verify_segment(folder / "orders-0" / f"{0:020}.log", **options),
    ],
    ids=["recompress", "convert", "repair", "advise", "verify_segment"],
)
def test_progress(call: Callable[..., object], folder: Path) -> None:
    with pytest.raises(TypeError, match=r"^progress must be callable, or None, not int$"):
        call(folder, progress=5)
    assert [each.name for each in folder.parent.iterdir()] == ["logs"]
