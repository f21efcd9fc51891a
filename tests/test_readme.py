"""README.md claims only what a command shows: its code runs as it stands and its names and links lead somewhere."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import click
import pytest

import doc_pages
import kafkacomp as kc
from kafkacomp._cli.command import cli
from kafkacomp.typing import IsolationLevel

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
#: The parts between fenced blocks.
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
REPOSITORY = "https://github.com/kafkacomp/kafkacomp/blob/main/"
RAW = "https://raw.githubusercontent.com/kafkacomp/kafkacomp/main/"
SITE = "https://kafkacomp.github.io/kafkacomp/"


def _run(page: str, folder: Path) -> None:
    copy = folder / "page.md"
    copy.write_text(page, encoding="utf-8")
    program = [sys.executable, str(ROOT / "tests" / "doc_pages.py"), str(copy)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_code_runs(tmp_path: Path) -> None:
    """All but Spark, in a folder that has nothing: what the page reads it has written."""
    without = re.sub(r"^```python\nfrom pyspark.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert without != TEXT
    _run(without, tmp_path)


@pytest.mark.java
@pytest.mark.spark
def test_all_code_runs(tmp_path: Path) -> None:
    _run(TEXT, tmp_path)


def test_is_short() -> None:
    """A README that nobody reads to the end is none."""
    assert len(TEXT.splitlines()) < 150


def test_first_example_is_short() -> None:
    first = next(each for each in doc_pages.blocks(TEXT) if each.kind == "python")
    assert len([line for line in first.text.splitlines() if line]) <= 6


def _in_the_tree(link: str) -> bool:
    if link.startswith((REPOSITORY, RAW)):
        return (ROOT / link.removeprefix(REPOSITORY).removeprefix(RAW)).is_file()
    if link.startswith(SITE):
        page = link.removeprefix(SITE).rstrip("/")
        places = (f"docs/{page}.md", f"docs/{page}/index.md") if page else ("docs/index.md",)
        return any((ROOT / place).is_file() for place in places)
    return False


def test_links_lead_somewhere() -> None:
    """All are absolute, as PyPI needs, and lead to the repository or its site."""
    links = re.findall(r"\]\(([^)]+)\)", TEXT) + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", TEXT)
    assert len(links) > 10
    assert [link for link in links if not _in_the_tree(link)] == []


def test_picture_without_its_sources() -> None:
    """PyPI drops <source>: what remains is the picture of <img>, which has a background for a page of any colour."""
    picture = re.findall(r"<img [^>]*src=\"([^\"]+)\"", TEXT)[0].removeprefix(RAW)
    first = re.findall(r"<(?:rect|text|path)[^>]*>", (ROOT / picture).read_text(encoding="utf-8"))[0]
    width, height = re.findall(r'viewBox="0 0 (\d+) (\d+)"', (ROOT / picture).read_text(encoding="utf-8"))[0]
    assert first == f'<rect width="{width}" height="{height}" fill="#ffffff"/>'


def _parameters(of: object) -> set[str]:
    return set(inspect.signature(of).parameters)  # type: ignore[arg-type]


def _is_known(name: str) -> bool:
    """Whether a name of the running text is one of the package, its commands, or the Makefile."""
    words = name.split()
    if name.startswith("pip install"):
        extras = set(re.findall(r"\[(.*)\]", name)[0].split(","))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return extras <= set(project["optional-dependencies"])
    if words[0] == "kafkacomp":
        return cli.get_command(click.Context(cli), words[1]) is not None
    if name.startswith("kc."):
        return hasattr(kc, name.removeprefix("kc."))
    if match := re.fullmatch(r'(\w+)="?(\w+)"?', name):
        return match[1] in _parameters(kc.scan)
    return name in _OTHER or name in _parameters(kc.scan)


#: Names that are an attribute of something in an example, a value, or Spark's own.
_OTHER = {
    "reader.report": hasattr(kc.scan(b""), "report"),
    "reader.to_pandas()": hasattr(kc.scan(b""), "to_pandas"),
    "max_output_size": hasattr(kc.ScanOptions(), "max_output_size"),
    "read_committed": "read_committed" in get_args(IsolationLevel),
    "spark.readStream": True,
    "df.writeStream": True,
}


def test_names_in_the_text() -> None:
    names = set(re.findall(r"`([^`\n]+)`", PROSE))
    assert len(names) > 8
    assert [name for name in names if not _is_known(name)] == []
    assert all(_OTHER.values())
