"""An archive or a compressed file in place of a segment is refused by every command, with what to do."""

from __future__ import annotations

import gzip
import zipfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import lz4, zstd
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
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


COMMANDS = ["dump", "verify", "info", "export"]


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, source: Path) -> str:
    """Standard error of a command that refuses its source."""
    options = ["-o", str(tmp_path / "rows.csv")] if command == "export" else []
    assert main([command, str(source), *options]) == 2
    assert not (tmp_path / "rows.csv").exists()
    return capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["gz", "zst", "lz4"])
def test_a_compressed_file_with_the_name_of_a_segment(
    tmp_path: Path, segment: Path, capsys: pytest.CaptureFixture[str], command: str, kind: str
) -> None:
    """By itself and in its folder."""
    compress: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstd.compress, "lz4": lz4.compress}
    segment.write_bytes(compress[kind](segment.read_bytes()))
    for source in (segment, segment.parent, segment.parent.parent):
        error = refused(tmp_path, capsys, command, source)
        what = {"gz": "a gzip file", "zst": "a zstd file", "lz4": "an LZ4 file"}[kind]
        assert f"{segment}: this is {what}, not a log segment: decompress it first" in error


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("depth", [0, 1])
def test_a_folder_of_compressed_segments(
    tmp_path: Path, segment: Path, capsys: pytest.CaptureFixture[str], command: str, depth: int
) -> None:
    packed = segment.with_name(f"{segment.name}.gz")
    packed.write_bytes(gzip.compress(segment.read_bytes()))
    for file in segment.parent.iterdir():
        if file != packed:
            file.unlink()
    error = refused(tmp_path, capsys, command, packed.parents[depth])
    assert f"{packed}: this is a gzip file, not a log segment: decompress it first" in error


@pytest.mark.parametrize("command", COMMANDS)
def test_a_compressed_segment_among_others_is_named(
    tmp_path: Path, segment: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    packed = segment.with_name(f"{1:020}.log.zst")
    packed.write_bytes(zstd.compress(segment.read_bytes()))
    options = ["-o", str(tmp_path / "rows.csv")] if command == "export" else []
    assert main([command, str(segment.parent), *options]) == 0
    said = capsys.readouterr()
    skipped = "" if command == "verify" else "skipped: "  # where it is a line of the report
    told = said.out if command == "verify" else said.err
    assert f"warning: {packed}: {skipped}a compressed segment: decompress it first" in told


def test_an_archive_of_a_log_directory(tmp_path: Path, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "backup"
    place.mkdir()
    with zipfile.ZipFile(place / "logs.zip", "w") as archive:
        archive.write(segment, f"t-0/{segment.name}")
    error = refused(tmp_path, capsys, "info", place)
    assert f"{place / 'logs.zip'}: this is a zip archive, not a log segment: unpack it" in error
    found = pa.table(kc.scan(f"zip://t-0::{place / 'logs.zip'}"))
    assert found.num_rows == 1
