"""Check that a release can be made: one version everywhere, its changelog section, what a wheel and sdist must have.

    python tools/check_release.py DIST [--tag vX.Y.Z] [--all-platforms]

``DIST`` has the wheels and the sdist. Before there is a tag, the changelog may have the lines of the release under
Unreleased; with ``--tag`` they must be under the version and a date. ``--all-platforms`` requires the wheel of each
platform, and no other. What is wrong is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
#: Files of the tree that a distribution must have unchanged, and what their paths in it end with.
WHEEL_COPIES = {
    "LICENSE": ".dist-info/licenses/LICENSE",
    "THIRD-PARTY-NOTICES.txt": ".dist-info/licenses/THIRD-PARTY-NOTICES.txt",
    "kafkacomp.cyclonedx.json": ".dist-info/sboms/kafkacomp.cyclonedx.json",
}
SDIST_COPIES = {name: f"/{name}" for name in (*WHEEL_COPIES, "Cargo.lock", "README.md")}


#: A wheel for each; .github/workflows/wheels.yml builds them.
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_28_aarch64",
    "musllinux_1_2_x86_64",
    "musllinux_1_2_aarch64",
    "macosx_10_12_x86_64",
    "macosx_11_0_arm64",
    "win_amd64",
)


def version_faults(root: Path = ROOT, tag: str | None = None) -> Iterator[str]:
    """Yield what disagrees with the version of the workspace."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    version = workspace["package"]["version"]
    for name, dependency in workspace.get("dependencies", {}).items():
        if isinstance(dependency, dict) and "path" in dependency and dependency.get("version", version) != version:
            yield f"Cargo.toml: {name} {dependency['version']}, the workspace has {version}"
    locked = (root / "Cargo.lock").read_text(encoding="utf-8")
    for name, found in re.findall(r'^name = "(kafkacomp-[\w-]+)"\nversion = "([^"]+)"', locked, re.MULTILINE):
        if found != version:
            yield f"Cargo.lock: {name} {found}, the workspace has {version}"
    if tag is not None and tag != f"v{version}":
        yield f"tag {tag}: the workspace has version {version}"
    section = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    unreleased = rf"^## \[Unreleased\]\n(?:(?!## ).*\n)*?- |{section}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(unreleased if tag is None else section, changelog, re.MULTILINE):
        yield f"CHANGELOG.md: no section '## [{version}] - <date>'" + (" and nothing under Unreleased" * (tag is None))


def crate_faults(root: Path = ROOT) -> Iterator[str]:
    """Yield the published crates without the licence: Cargo packages only what is below a crate's folder."""
    licence = (root / "LICENSE").read_bytes()
    for manifest in sorted(root.glob("rust/*/Cargo.toml")):
        if tomllib.loads(manifest.read_text(encoding="utf-8"))["package"].get("publish", True) is False:
            continue
        copy = manifest.parent / "LICENSE"
        if not copy.is_file() or copy.read_bytes() != licence:
            yield f"{manifest.parent.relative_to(root).as_posix()}: no LICENSE, or not that of the tree"


def platform_faults(wheels: list[Path]) -> Iterator[str]:
    """Yield the platforms without a wheel, and wheels that are for none of them."""
    tags = {path.name: path.stem.split("-", 2)[-1] for path in wheels}
    for platform in PLATFORMS:
        if f"cp311-abi3-{platform}" not in tags.values():
            yield f"no wheel cp311-abi3-{platform}"
    expected = {f"cp311-abi3-{platform}" for platform in PLATFORMS}
    for name, tag in tags.items():
        if tag not in expected:
            yield f"{name}: not one of the release's wheels"


def _copy_faults(path: Path, files: dict[str, bytes], copies: dict[str, str]) -> Iterator[str]:
    for source, ending in copies.items():
        found = [content for name, content in files.items() if name.endswith(ending)]
        if not found:
            yield f"{path.name}: no file *{ending}"
        elif found != [(ROOT / source).read_bytes()]:
            yield f"{path.name}: *{ending} differs from {source}"


def wheel_faults(path: Path) -> Iterator[str]:
    """Yield what a wheel lacks."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        version = HeaderParser().parsestr(wheel.read(metadata).decode())["Version"]
        yield from _copy_faults(path, {name: wheel.read(name) for name in names if ".dist-info/" in name}, WHEEL_COPIES)
    if not any(name.endswith("/py.typed") for name in names):
        yield f"{path.name}: no file */py.typed"
    if f"-{version}-" not in path.name:
        yield f"{path.name}: its metadata has version {version}"


def sdist_faults(path: Path) -> Iterator[str]:
    """Yield what a source distribution lacks."""
    with tarfile.open(path) as sdist:
        members = [each for each in sdist if each.isfile() and each.name.count("/") == 1]
        files = {
            f"/{each.name.partition('/')[2]}": (sdist.extractfile(each) or io.BytesIO()).read() for each in members
        }
    yield from _copy_faults(path, files, SDIST_COPIES)
    if "/PKG-INFO" not in files:
        yield f"{path.name}: no file PKG-INFO"


def main(words: list[str]) -> int:
    """Check the tree and the distributions; the exit status."""
    parser = argparse.ArgumentParser(description="Check that a release can be made.")
    parser.add_argument("dist", type=Path)
    parser.add_argument("--tag")
    parser.add_argument("--all-platforms", action="store_true")
    arguments = parser.parse_args(words)
    wheels, sdists = sorted(arguments.dist.glob("*.whl")), sorted(arguments.dist.glob("*.tar.gz"))
    faults = [*version_faults(tag=arguments.tag), *crate_faults()]
    faults += [f"{arguments.dist}: no wheel"] if not wheels else []
    faults += [f"{arguments.dist}: no source distribution"] if not sdists else []
    faults += platform_faults(wheels) if arguments.all_platforms else []
    faults += [fault for path in wheels for fault in wheel_faults(path)]
    faults += [fault for path in sdists for fault in sdist_faults(path)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
