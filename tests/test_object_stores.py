"""Segments on file systems that are handed over, or opened with options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow.fs as pafs
import pytest

import kafkacomp as kc
from golden.reading import scan_rows
from golden.tiered import cases

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = next(case for case in cases() if case.name == "gold-copy-failed-0")
BOTH = next(case for case in cases() if case.name == "gold-a-both-txn-0")


def copy_to(filesystem: Any, root: Path, target: str) -> None:
    """All files below ``root`` to a file system of fsspec."""
    for path in root.rglob("*"):
        if path.is_file():
            filesystem.pipe_file(f"{target}/{path.relative_to(root).as_posix()}", path.read_bytes())


@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
def test_a_file_system_of_pyarrow(case: Any) -> None:
    filesystem = pafs.SubTreeFileSystem(str(case.storage), pafs.LocalFileSystem())
    folder = case.folder.relative_to(case.storage).as_posix()
    assert scan_rows(folder, filesystem=filesystem, **case.known) == case.expected()
    assert scan_rows(f"any://{folder}", filesystem=filesystem, **case.known) == case.expected()


@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
def test_a_file_system_of_fsspec(case: Any) -> None:
    filesystem = fsspec.filesystem("memory")
    copy_to(filesystem, case.storage, f"/{case.name}")
    try:
        folder = f"/{case.name}/{case.folder.relative_to(case.storage).as_posix()}"
        assert scan_rows(folder, filesystem=filesystem, **case.known) == case.expected()
        assert scan_rows(f"memory:/{folder}", storage_options={}, **case.known) == case.expected()
    finally:
        filesystem.rm(f"/{case.name}", recursive=True)


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="or a store of obstore, not int"):
        kc.scan(str(tmp_path), filesystem=3)
    with pytest.raises(ValueError, match="cannot be given together"):
        kc.scan(str(tmp_path), filesystem=pafs.LocalFileSystem(), storage_options={})
    with pytest.raises(ValueError, match="is a local path"):
        kc.scan(str(tmp_path), storage_options={"key": "x"})
