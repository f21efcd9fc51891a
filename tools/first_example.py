"""Do what README.md asks of a first visitor, in a new virtual environment, and print how long it takes.

    python tools/first_example.py WHEEL

The environment gets the wheel with the extras of README's `pip install` and nothing else. Its first example must print
what README shows.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = re.compile(r'pip install "kafkacomp\[(.*?)\]"\n```\n\n```python\n(.*?)```\n\n```text\n(.*?)```', re.DOTALL)


def main(wheel: str) -> int:
    """Install, run, compare; the exit status."""
    found = PARTS.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("README.md: no `pip install` followed by an example and its output")
    extras, example, expected = found.groups()
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "Scripts" if sys.platform == "win32" else "bin", "python")
        begin = time.perf_counter()
        requirement = f"kafkacomp[{extras}] @ {Path(wheel).resolve().as_uri()}"
        subprocess.run([sys.executable, "-m", "venv", Path(folder, "venv")], check=True)  # noqa: S603 - fixed words
        subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)  # noqa: S603 - as above
        installed = time.perf_counter()
        done = subprocess.run([python, "-c", example], cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603
        ended = time.perf_counter()
    print(done.stdout, end="")
    print(f"installed in {installed - begin:.1f} s, example in {ended - installed:.1f} s")
    if done.stdout != expected:
        print(f"README.md shows\n{expected}")
    return int(done.stdout != expected)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
