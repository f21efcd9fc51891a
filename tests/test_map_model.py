"""The cases that a Rust test compares with the map of a log are those of the model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_committed_cases_are_those_of_the_model() -> None:
    cases = Path(__file__).parent / "map_model/cases.py"
    subprocess.run([sys.executable, cases, "--check"], check=True)
