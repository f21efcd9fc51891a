"""tools/check_release.py: each fault of a release is found."""

from __future__ import annotations

import io
import runpy
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "check_release.py"))


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Path:
    """A tree whose changelog has the version's section."""
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("## [0.1.0] - 2026-01-31\n")
    return tmp_path


def test_one_version_everywhere(tree: Path) -> None:
    assert list(TOOL["version_faults"](tree)) == []
    text = (tree / "Cargo.toml").read_text()
    (tree / "Cargo.toml").write_text(text.replace('version = "0.1.0"', 'version = "0.2.0"', 1))
    found = list(TOOL["version_faults"](tree))
    assert any("CHANGELOG.md: no section '## [0.2.0] - <date>'" in each for each in found)
    assert sum(each.startswith("Cargo.lock: kafkacomp-") for each in found) == 4
    assert sum(each.startswith("Cargo.toml: kafkacomp-") for each in found) == 3


def test_what_distributions_must_have(tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "kafkacomp-0.1.0-cp311-abi3-x.whl", tmp_path / "kafkacomp-0.1.0.tar.gz"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("kafkacomp-0.1.0.dist-info/METADATA", "Version: 0.1.0\n")
        file.writestr("kafkacomp/py.typed", "")
        file.writestr("kafkacomp-0.1.0.dist-info/licenses/LICENSE", "")
    assert [each.partition(": ")[2] for each in TOOL["wheel_faults"](wheel)] == [
        "no file *.dist-info/sboms/kafkacomp-python.cyclonedx.json"
    ]
    with tarfile.open(sdist, "w:gz") as archive:
        for name in ("LICENSE", "Cargo.lock", "pyproject.toml", "README.md"):
            archive.addfile(tarfile.TarInfo(f"kafkacomp-0.1.0/{name}"), io.BytesIO())
    assert list(TOOL["sdist_faults"](sdist)) == ["kafkacomp-0.1.0.tar.gz: no file PKG-INFO"]
