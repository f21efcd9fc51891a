"""CONTRIBUTING.md names only files, targets and commands that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`([^`\n]+)`", TEXT))
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def test_files_exist() -> None:
    """A name may be the end of a path, if the text has named the folder."""
    named = {name for name in NAMES if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", name) and ("/" in name or "." in name)}
    named = {name.removesuffix("/") for name in named if not name.startswith(("kafkacomp.", "pytest.", ".venv", "vX."))}
    paths = [f"/{name}/" for name in FILES]
    assert len(named) > 30
    assert [name for name in sorted(named) if not any(f"/{name}/" in path for path in paths)] == []


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE))
    assert len(targets) > 6
    assert [name for name in sorted(targets) if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_commands_name_tests_that_exist() -> None:
    path, name = re.findall(r"pytest (\S+) -k (\w+)", TEXT)[0]
    assert name in (ROOT / path).read_text(encoding="utf-8")
    module = re.findall(r"--lib (\S+)", TEXT)[0].replace("::", "/")
    assert "mod tests" in (ROOT / "rust/kafkacomp-log/src" / f"{module}.rs").read_text(encoding="utf-8")


def test_all_fuzz_targets_are_listed() -> None:
    listed = re.findall(r"Targets: (.*?)\.", TEXT)[0]
    assert {name.strip("`") for name in listed.split(", ")} == {
        path.stem for path in (ROOT / "rust/fuzz/fuzz_targets").glob("*.rs")
    }
