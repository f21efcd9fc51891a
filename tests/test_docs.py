"""The pages of docs/ show code that runs and what it prints (tests/doc_pages.py says how)."""

from __future__ import annotations

import ast
import inspect
import json
import operator
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import doc_pages
import kafkacomp as kc
from doc_places import corrupt_disk, orders
from kafkacomp._cli.command import cli
from kafkacomp.bench.command import bench

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "design"))
EXECUTED = [page for page in PAGES if any(each.kind in {"python", "sh"} for each in doc_pages.blocks(page.read_text()))]


@pytest.fixture(scope="session", name="places")
def _places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the paths in the pages stand for."""
    root = tmp_path_factory.mktemp("places")
    orders(root / "var/lib/kafka/data")
    corrupt_disk(root / "mnt/disk/kafka-logs")
    shutil.copytree(ROOT / "examples/data/kafka-4.3.1/txn-open-0", root / "mnt/other-disk/kafka-logs/txn-open-0")
    shutil.copytree(ROOT / "examples/data/kafka-0.8.2.2", root / "mnt/kafka-0.8/kafka-logs")
    shutil.copytree(ROOT / "tests/vectors/v07/broker", root / "mnt/kafka-0.7")
    tiered = ROOT / "tests/vectors/tiered/aiven-both"
    shutil.copytree(tiered / "storage", root / "mnt/remote")
    shutil.copytree(tiered / "broker-1", root / "backup/broker-1")
    orders(root / "backup/broker-1/kafka-logs")
    (root / "keys").mkdir()
    shutil.copyfile(tiered / "keys/key1-private.pem", root / "keys/key1.pem")
    (root / "shared").mkdir()
    lines = [
        json.dumps({"event": number, "path": f"/items/{number % 17}", "user": number % 23}) for number in range(400)
    ]
    (root / "events.jsonl").write_text("\n".join(lines) + "\n")
    return root


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.java, pytest.mark.spark] if "pyspark" in page.read_text() else []


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=_marks(page), id=page.relative_to(DOCS).as_posix()) for page in EXECUTED]
)
def test_code_runs(page: Path, places: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(places, folder)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/doc_pages.py"), str(page)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_commands_that_are_only_shown_exist(page: Path) -> None:
    """Their options and values are those of the commands; other programs' commands are not looked at."""
    shown = "".join(each.text for each in doc_pages.blocks(page.read_text()) if each.kind == "bash")
    for line in shown.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:3] == ["python", "-m", "kafkacomp.bench"]:
            bench.make_context("bench", words[3:])
        elif words[:1] == ["kafkacomp"]:
            cli.commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_calls_that_are_only_shown_exist(page: Path) -> None:
    """Functions of kafkacomp in Python that is not executed have the arguments that they are given."""
    shown = "\n".join(each.text for each in doc_pages.blocks(page.read_text()) if each.kind == "py")
    for node in ast.walk(ast.parse(shown)):
        if isinstance(node, ast.Call) and re.fullmatch(r"kc\.[\w.]+", ast.unparse(node.func)):
            function = operator.attrgetter(ast.unparse(node.func).removeprefix("kc."))(kc)
            inspect.signature(function).bind(*node.args, **{str(each.arg): each.value for each in node.keywords})
