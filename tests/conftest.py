"""What all tests share: marks by folder, what Java tests need, vectors, and no silent skips in CI."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

TESTS = Path(__file__).resolve().parent
SMALL_VECTORS = TESTS / "vectors"
# The full sets stand beside the tree where there are any; the tests must be whole without them.
FULL_VECTORS = Path(os.environ.get("KAFKACOMP_VECTORS", TESTS.parent.parent / "shared" / "vectors"))

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

# Spark's workers are this interpreter, not the first python3 of the PATH, and Spark stays on the loopback.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

# Folder -> the marks that its tests get, so that nobody forgets one.
FOLDER_MARKS = {"kafka": ("kafka", "java"), "spark": ("spark", "java"), "slow": ("slow",)}
# Mark -> the programs that its tests start.
PROGRAMS = {"java": ("java",), "kafka": ("java", "mvn")}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their folder; leave out what an older PySpark cannot do, and a browser's where none is named."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if item.path.is_relative_to(TESTS):
            for mark in FOLDER_MARKS.get(item.path.relative_to(TESTS).parts[0], ()):
                item.add_marker(mark)
        (kept if _has_its_place(item) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _has_its_place(item: pytest.Item) -> bool:
    since = item.get_closest_marker("spark_since")
    if since is not None and _pyspark() < _version(since.args[0]):
        return False
    # Mark -> the variable without which its tests are left out.
    needs = {"browser": "CHROMIUM", "site": "SITE"}
    return all(variable in os.environ or item.get_closest_marker(mark) is None for mark, variable in needs.items())


def _pyspark() -> tuple[int, ...]:
    return _version(importlib.metadata.version("pyspark"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose programs are missing (in CI such a skip is a failure, see below)."""
    for mark, programs in PROGRAMS.items():
        for program in programs:
            if item.get_closest_marker(mark) and shutil.which(program) is None:
                pytest.skip(f"needs {program}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: what CI shows as passed has run."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole module into a failure in CI."""
    report = yield
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def small_vectors() -> Path:
    """The vectors that are part of the tree."""
    return SMALL_VECTORS


@pytest.fixture(scope="session")
def full_vectors() -> Path:
    """All vectors: the full sets where they stand beside the tree, else the small ones."""
    return FULL_VECTORS if FULL_VECTORS.is_dir() else SMALL_VECTORS


@pytest.fixture
def run_with(
    capfd: pytest.CaptureFixture[str],
) -> Callable[[Callable[[list[str]], int]], Callable[..., tuple[int, str, str]]]:
    """What runs a command in this process, given its ``main``: exit status, standard output, standard error."""

    def of(main: Callable[[list[str]], int]) -> Callable[..., tuple[int, str, str]]:
        def run(*arguments: object) -> tuple[int, str, str]:
            status = main([str(argument) for argument in arguments])
            out, err = capfd.readouterr()
            assert "Traceback" not in err
            return status, out, err

        return run

    return of
