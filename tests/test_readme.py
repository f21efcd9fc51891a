"""README.md claims only what a command shows: its Python examples run as they stand, on the files that they name."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
COMMANDS = re.findall(r"^kafkacomp (.*)$", README.read_text(), flags=re.MULTILINE)
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)


def _marks(example: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.java, pytest.mark.spark] if "pyspark" in example else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the tree, for what the examples write."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


@pytest.mark.parametrize("example", [pytest.param(text, marks=_marks(text)) for text in EXAMPLES])
def test_example_runs(example: str, folder: Path) -> None:
    """An example ends well and prints something."""
    done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command: str, folder: Path) -> None:
    """A command line ends with status 0 and says or writes something."""
    done = subprocess.run(
        [sys.executable, "-m", "kafkacomp", *shlex.split(command, comments=True)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() or len(list(folder.iterdir())) > 1


def test_is_short() -> None:
    """A README that nobody reads to the end is none."""
    assert len(README.read_text().splitlines()) < 150


def test_links_lead_somewhere() -> None:
    """Every relative link, and every path of a vector, is in the tree."""
    text = README.read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text) + re.findall(r"tests/vectors/[\w./-]+", text)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
