"""An archive or a compressed file in place of a segment is refused by every command, with what to do."""

from __future__ import annotations

import gzip
import zipfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import zstd
from kafkacomp._cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    kc.write(pa.table({"value": [b"x"]}), tmp_path / "logs", topic="t")
    return next((tmp_path / "logs" / "t-0").glob("*.log"))


@pytest.mark.parametrize("command", ["dump", "verify", "info", "export"])
@pytest.mark.parametrize("kind", ["gz", "zst", "zip"])
def test_containers(tmp_path: Path, segment: Path, capsys: pytest.CaptureFixture[str], command: str, kind: str) -> None:
    content = segment.read_bytes()
    packed = tmp_path / f"{segment.name}.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(segment.name, content)
    else:
        packed.write_bytes(zstd.compress(content) if kind == "zst" else gzip.compress(content))
    options = ["-o", str(tmp_path / "rows.csv")] if command == "export" else []
    assert main([command, str(packed), *options]) == 2
    error = capsys.readouterr().err
    what, advice = {"zst": ("a zstd file", "decompress"), "zip": ("a zip archive", "unpack")}.get(
        kind, ("a gzip file", "decompress")
    )
    assert f"{packed}: this is {what}, not a log segment: {advice}" in error
