"""Check that a release can be made: one version everywhere, its changelog section, what a wheel and sdist must have.

    python tools/check_release.py DIST

``DIST`` has the wheel and the sdist. What is missing is printed, and the exit status is 1.
"""

from __future__ import annotations

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


def version_faults(root: Path = ROOT) -> Iterator[str]:
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
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md: no section '## [{version}] - <date>'"


def wheel_faults(path: Path) -> Iterator[str]:
    """Yield what a wheel lacks."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        version = HeaderParser().parsestr(wheel.read(metadata).decode())["Version"]
    for ending in (".dist-info/licenses/LICENSE", ".dist-info/sboms/kafkacomp-python.cyclonedx.json", "/py.typed"):
        if not any(name.endswith(ending) for name in names):
            yield f"{path.name}: no file *{ending}"
    if f"-{version}-" not in path.name:
        yield f"{path.name}: its metadata has version {version}"


def sdist_faults(path: Path) -> Iterator[str]:
    """Yield what a source distribution lacks."""
    with tarfile.open(path) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    for name in ("LICENSE", "Cargo.lock", "pyproject.toml", "README.md", "PKG-INFO"):
        if name not in names:
            yield f"{path.name}: no file {name}"


def main(dist: Path) -> int:
    """Check the tree and the distributions; the exit status."""
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    faults = [*version_faults()]
    faults += [f"{dist}: no wheel"] if not wheels else []
    faults += [f"{dist}: no source distribution"] if not sdists else []
    faults += [fault for path in wheels for fault in wheel_faults(path)]
    faults += [fault for path in sdists for fault in sdist_faults(path)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
