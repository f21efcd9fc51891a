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
    assert "CHANGELOG.md: no section '## [0.2.0] - <date>' and nothing under Unreleased" in found
    assert sum(each.startswith("Cargo.lock: kafkacomp-") for each in found) == 7
    assert sum(each.startswith("Cargo.toml: kafkacomp-") for each in found) == 6


def test_lines_may_be_unreleased_until_there_is_a_tag(tree: Path) -> None:
    dated = "CHANGELOG.md: no section '## [0.1.0] - <date>'"
    (tree / "CHANGELOG.md").write_text("## [Unreleased]\n\n### Added\n\n- a line\n")
    assert list(TOOL["version_faults"](tree)) == []
    assert list(TOOL["version_faults"](tree, "v0.1.0")) == [dated]
    (tree / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [0.0.1] - 2026-01-31\n\n- a line\n")
    assert list(TOOL["version_faults"](tree)) == [f"{dated} and nothing under Unreleased"]


def test_tag_has_the_version(tree: Path) -> None:
    assert list(TOOL["version_faults"](tree, "v0.1.0")) == []
    assert list(TOOL["version_faults"](tree, "v0.1.1")) == ["tag v0.1.1: the workspace has version 0.1.0"]


def test_every_published_crate_has_the_licence(tree: Path) -> None:
    """Cargo packages only files below the crate's own folder."""
    assert list(TOOL["crate_faults"]()) == []
    (tree / "LICENSE").write_text("the licence")
    for crate, manifest in (("one", ""), ("two", ""), ("binding", "publish = false\n")):
        folder = tree / "rust" / crate
        folder.mkdir(parents=True)
        (folder / "Cargo.toml").write_text(f'[package]\nname = "{crate}"\n{manifest}')
    (tree / "rust/two/LICENSE").write_text("another licence")
    assert list(TOOL["crate_faults"](tree)) == [
        "rust/one: no LICENSE, or not that of the tree",
        "rust/two: no LICENSE, or not that of the tree",
    ]


def test_every_platform_has_a_wheel() -> None:
    wheels = [Path(f"kafkacomp-0.1.0-cp311-abi3-{platform}.whl") for platform in TOOL["PLATFORMS"]]
    assert len(wheels) == 7
    assert list(TOOL["platform_faults"](wheels)) == []
    other = Path("kafkacomp-0.1.0-cp311-abi3-linux_x86_64.whl")
    assert list(TOOL["platform_faults"]([*wheels[1:], other])) == [
        "no wheel cp311-abi3-manylinux_2_28_x86_64",
        "kafkacomp-0.1.0-cp311-abi3-linux_x86_64.whl: not one of the release's wheels",
    ]


def test_what_a_wheel_must_have(tmp_path: Path) -> None:
    wheel = tmp_path / "kafkacomp-0.1.0-cp311-abi3-x.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("kafkacomp-0.1.0.dist-info/METADATA", "Version: 0.1.0\n")
        file.writestr("kafkacomp/py.typed", "")
        file.write(ROOT / "LICENSE", "kafkacomp-0.1.0.dist-info/licenses/LICENSE")
        file.writestr("kafkacomp-0.1.0.dist-info/licenses/THIRD-PARTY-NOTICES.txt", "of another release")
    assert [each.partition(": ")[2] for each in TOOL["wheel_faults"](wheel)] == [
        "*.dist-info/licenses/THIRD-PARTY-NOTICES.txt differs from THIRD-PARTY-NOTICES.txt",
        "no file *.dist-info/sboms/kafkacomp.cyclonedx.json",
    ]


def test_what_a_source_distribution_must_have(tmp_path: Path) -> None:
    sdist = tmp_path / "kafkacomp-0.1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt", "Cargo.lock"):
            archive.add(ROOT / name, f"kafkacomp-0.1.0/{name}")
        archive.addfile(tarfile.TarInfo("kafkacomp-0.1.0/README.md"), io.BytesIO())
    assert [each.partition(": ")[2] for each in TOOL["sdist_faults"](sdist)] == [
        "no file */kafkacomp.cyclonedx.json",
        "*/README.md differs from README.md",
        "no file PKG-INFO",
    ]
