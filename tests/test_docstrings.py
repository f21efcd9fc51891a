"""The examples in docstrings run as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc

if TYPE_CHECKING:
    from pathlib import Path

MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(kc.__path__, "kafkacomp.")
    if not each.name.startswith("kafkacomp.bench") and "__main__" not in each.name
)


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [each for name in MODULES for each in finder.find(importlib.import_module(name), name)]
    return [each for each in found if each.examples]


@pytest.fixture(name="example", scope="module")
def _example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with five records of one topic."""
    folder = tmp_path_factory.mktemp("logs")
    rows = {
        "key": [f"customer-{row % 2}" for row in range(5)],
        "value": [f"order {row}" for row in range(5)],
        "timestamp": [1_700_000_000_000 + row for row in range(5)],
    }
    kc.write(pa.table(rows), folder, topic="orders", partition=3, compression_type="none")
    return folder


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest, example: Path, tmp_path: Path) -> None:
    test.globs |= {"example": example, "target": tmp_path / "target"}
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


def test_the_model_has_examples() -> None:
    names = {test.name for test in examples()}
    assert {f"kafkacomp.log._model.{name}" for name in ("LogDir", "LogPartition", "LogSegment")} <= names


def test_the_package_names_where_each_task_starts() -> None:
    names = re.findall(r":(?:func|class|meth|mod):`(?:kafkacomp\.)?([\w.]+)`", kc.__doc__ or "")
    assert len(names) > 12
    for name in names:
        found: Any = kc
        for part in name.split("."):
            found = getattr(found, part)
        assert found.__doc__, name
