"""What users' type checkers say about the programs of tests/type_checking.

Those of right have no error, those of wrong one in each marked line.

Both mypy (strict) and basedpyright check them, with the package as it is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "tests/type_checking/right", ROOT / "tests/type_checking/wrong")
MARK = re.compile(r"  # wrong$")


def run(*command: str) -> str:
    """A type checker's report; its status says no more."""
    words = [sys.executable, "-m", *command]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603


def mypy() -> set[tuple[str, int]]:
    """File and line of each error of mypy --strict."""
    text = run(
        "mypy", "--strict", "--no-error-summary", "--config-file", "tests/type_checking/mypy.ini", *map(str, FOLDERS)
    )
    found = re.findall(r"^(\S+?):(\d+): error", text, flags=re.MULTILINE)
    return {(str((ROOT / file).relative_to(ROOT)), int(line)) for file, line in found}


def basedpyright() -> set[tuple[str, int]]:
    """File and line of each error of basedpyright."""
    options = ("--outputjson", "--pythonpath", sys.executable, "--project", "tests/type_checking/pyrightconfig.json")
    report = json.loads(run("basedpyright", *options))
    return {
        (str(Path(each["file"]).relative_to(ROOT)), each["range"]["start"]["line"] + 1)
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    }


def expected() -> set[tuple[str, int]]:
    """File and line of each error that there must be."""
    return {
        (str(path.relative_to(ROOT)), number)
        for folder in FOLDERS
        for path in sorted(folder.glob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if MARK.search(line)
    }


def main() -> int:
    """Print what differs; the exit status."""
    wanted, faults = expected(), 0
    for checker in (mypy, basedpyright):
        found = checker()
        for file, line in sorted(found ^ wanted):
            what = "no error" if (file, line) in wanted else "an error"
            print(f"{file}:{line}: {what} of {checker.__name__}")
            faults += 1
    programs = sum(1 for folder in FOLDERS for _ in folder.glob("*.py"))
    print(f"{programs} programs, {len(wanted)} wrong lines, {faults} faults")
    return 1 if faults or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
