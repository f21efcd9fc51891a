"""The functions where driver and executors are different processes, and where the executors lack the wheel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Two clusters of two executors each: a minute.
pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).resolve().with_name("functions_on_executors.py")


def run(executors_path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SCRIPT, executors_path], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_separate_executors(tmp_path: Path) -> None:
    assert run(tmp_path) == {"found": [100, 100]}


def test_executors_without_the_wheel(tmp_path: Path) -> None:
    """An empty package stands in for one that is not there: what is asked of it is not found."""
    (tmp_path / "kafkacomp").mkdir()
    (tmp_path / "kafkacomp" / "__init__.py").touch()
    error = run(tmp_path)["error"]
    told = [line for line in error.splitlines() if line.startswith("ModuleNotFoundError: ")]
    assert len(told) == 1, error
    assert "kafkacomp is not installed on the executor " in told[0]
    assert sys.executable in told[0]
    assert "--archives" in told[0]
