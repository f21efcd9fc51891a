"""What `import kafkacomp` gives, and what it does without."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kafkacomp as kc


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["broker.LogValidator", "arrow.COLUMNS", "advise", "advice.Settings", "bench.main", "spark.decompress"]
)
def test_submodules_are_there_after_the_import_of_the_package(name: str) -> None:
    """README writes `kc.broker.LogValidator`."""
    assert "object" in run(f"import kafkacomp as kc; kc.{name}; print('object')")


def test_submodules_are_imported_at_their_first_use() -> None:
    loaded = (
        "[name for name in sys.modules if name.startswith(('kafkacomp.spark', 'kafkacomp.advice', 'kafkacomp.bench'))]"
    )
    assert run(f"import sys, kafkacomp; print({loaded})").strip() == "[]"


def test_an_unknown_name_is_an_attribute_error_and_dir_lists_submodules() -> None:
    with pytest.raises(AttributeError, match="module 'kafkacomp' has no attribute 'sparks'"):
        kc.sparks  # noqa: B018
    assert {"log", "arrow", "advice", "advise", "bench", "spark", "scan"} <= set(dir(kc))
