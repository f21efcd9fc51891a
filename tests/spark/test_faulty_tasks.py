"""Reading tasks whose files, allocator or process fail: the right rows after another attempt, or the right error."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from spark.killed import Program

if TYPE_CHECKING:
    from collections.abc import Mapping

# A cluster: a minute or two.
pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
SHIM = HERE.parent / "faults" / "failing_malloc.c"
ROWS = 24
#: What all Python processes of the cluster import when they start.
SITE = """
import fsspec
fsspec.register_implementation("unlucky", "unlucky_files.UnluckyFileSystem")
"""
#: What is in the error if every attempt meets the fault.
ERRORS = {
    "kill": "worker exited unexpectedly",
    "memory": "MemoryError",
    "allocator": "MemoryError",
    "mine": "KeyError",
    "eio": "Input/output error",
    "gone": "Connection reset by peer",
    "flipped": "00000000000000000000.log: record batch at byte 0",
}
#: What another attempt of the task does not meet, so that the rows are there in every mode.
PASSING = ("kill", "memory", "allocator", "mine", "gone")
CASES = [
    ["none", "FAILFAST"],
    *([f"{kind} once", "FAILFAST"] for kind in ERRORS),
    *([f"{kind} once", "PERMISSIVE"] for kind in PASSING),
    ["short once", "FAILFAST"],
    ["short always", "PERMISSIVE"],
    *([f"{kind} always", "FAILFAST"] for kind in ERRORS),
    *([f"{kind} always", "DROPMALFORMED"] for kind in ("memory", "allocator", "mine")),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], dict[str, Any]]:
    """What a query answers in each case."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs cc and glibc")
    folder = tmp_path_factory.mktemp("tasks")
    shim = folder / "failing_malloc.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(shim), str(SHIM)], check=True)
    rng = random.Random(15)
    # Each batch decompresses to more than the allocations that fail.
    values = [rng.randbytes(150_000) + bytes(50_000) for _ in range(ROWS)]
    kc.write(pa.table({"value": pa.array(values, pa.binary())}), folder / "logs", topic="t", batch_bytes=1 << 21)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    program = Program(
        folder / "driver",
        "read",
        source=f"unlucky://{folder}/logs",
        unlucky=str(folder),
        cases=json.dumps(CASES),
        out=str(folder / "answers"),
    )
    path = os.pathsep.join(filter(None, [str(folder / "site"), str(HERE), os.environ.get("PYTHONPATH")]))
    program.start({"PYTHONPATH": path, "UNLUCKY": str(folder), "LD_PRELOAD": str(shim), "MALLOC_ARENA_MAX": "2"})
    program.finish()
    answers = json.loads((folder / "answers").read_text())
    return {(fault, mode): answer for (fault, mode), answer in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize(("fault", "mode"), CASES)
def test_a_task_that_meets_a_fault(found: Mapping[tuple[str, str], dict[str, Any]], fault: str, mode: str) -> None:
    answer = found[fault, mode]
    assert answer["met"] == (fault != "none")
    kind, _, often = fault.partition(" ")
    if often == "always" and kind in ERRORS:
        assert ERRORS[kind] in answer.get("error", ""), answer
    else:
        assert answer.get("rows") == [[offset, 200_000] for offset in range(ROWS)], answer.get("error")
