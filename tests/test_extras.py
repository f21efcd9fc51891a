"""`help`, `dir`, `hasattr` and `inspect` of the package work whatever extras are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

#: All packages of the extras; `import` of those in BLOCKED fails as if they were not installed.
PACKAGES = (
    "altair", "click", "fsspec", "jinja2", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rich", "vl_convert",
)  # fmt: skip
README = frozenset(PACKAGES) - {"click", "numpy", "pyarrow", "rich"}

PROGRAM = """
import importlib.abc, json, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import kafkacomp as kc
{program}
"""


def run(blocked: frozenset[str], program: str) -> Any:
    source = PROGRAM.format(blocked=sorted(blocked), program=program)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("blocked", [README, frozenset(PACKAGES)], ids=["extras of README", "no extra"])
def test_help_and_inspect(blocked: frozenset[str]) -> None:
    """Pydoc and inspect read every attribute; both pass over one only if it raises AttributeError."""
    program = (
        "import inspect, pydoc\n"
        "text = pydoc.render_doc(kc, renderer=pydoc.plaintext)\n"
        "names = [name for name, _ in inspect.getmembers(kc)]\n"
        "print(json.dumps([len(text) > 1000, names]))"
    )
    is_text, names = run(blocked, program)
    assert is_text
    assert {"LogDir", "scan", "write", "gzip", "log", "advise"} <= set(names)
    assert not {"spark", "polars"} & set(names)


def test_a_submodule_whose_extra_is_not_installed() -> None:
    program = (
        "found = [hasattr(kc, 'spark')]\n"
        "for way in ('kc.spark', 'import kafkacomp.spark', 'from kafkacomp import spark'):\n"
        "    try:\n"
        "        exec(way)\n"
        "    except (AttributeError, ImportError) as error:\n"
        "        found.append([type(error).__name__, str(error)])\n"
        "print(json.dumps(found))"
    )
    command = "pyspark is not installed: pip install 'kafkacomp[spark]'"
    assert run(README, program) == [
        False,
        ["AttributeError", f"kafkacomp.spark: {command}"],
        ["ModuleNotFoundError", command],
        ["ModuleNotFoundError", command],
    ]


@pytest.mark.parametrize(
    ("way", "command"),
    [
        ("import kafkacomp.polars", "polars is not installed: pip install 'kafkacomp[polars]'"),
        ("kc.scan(b'').to_polars()", "polars is not installed: pip install 'kafkacomp[polars]'"),
        ("kc.scan(b'').to_pandas()", "pandas is not installed: pip install pandas"),
    ],
)
def test_the_command_that_installs_what_is_missing(way: str, command: str) -> None:
    program = f"try:\n    {way}\nexcept ModuleNotFoundError as error:\n    print(json.dumps(str(error)))"
    assert run(README, program) == command
