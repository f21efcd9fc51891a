"""Runs the code blocks of a page of Markdown, in their order, as a reader would; also a program that runs one page.

- ``python``: executed; all blocks of a page share their names.
- ``sh``: executed line by line; ``# exit status N`` after a line is what it must end with, otherwise 0.
- ``text`` directly after one of these: what it must have printed. ``...`` stands for any text.
- ``<!-- setup ... -->``: Python that is executed and not shown.
- ``py``: Python that needs a network; the names and arguments of kafkacomp in it are checked (tests/test_docs.py).
- ``bash``: shown, not executed: other programs (pip, spark-submit), and what takes minutes. Commands of kafkacomp are
  parsed (tests/test_docs.py).

Folders such as /var/lib/kafka/data stand for folders below the working directory.

Run: python tests/doc_pages.py PAGE, in a folder that has what the page reads.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Block", "blocks", "run"]

PART = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$|^<!-- setup\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
#: Roots of absolute paths in the documentation.
PLACE = re.compile(r"(?<![\w/.}-])/(?=(?:var|mnt|backup|shared|keys)/)")
#: The object store in the documentation is the folder mnt/remote.
BUCKET = "s3://bucket/prefix"
STATUS = re.compile(r"# exit status (\d+)\s*$")


class Block(NamedTuple):
    """A fenced block."""

    kind: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """The blocks of a page that are executed or compared."""
    found = []
    for match in PART.finditer(page):
        indent, kind, text, setup = match.groups()
        line = page.count("\n", 0, match.start()) + 1
        if setup is not None:
            found.append(Block("setup", setup, line))
        elif kind in {"python", "py", "sh", "text", "bash"}:
            found.append(Block(kind, re.sub(rf"^{indent}", "", text, flags=re.MULTILINE), line))
    return found


def _placed(text: str, root: Path) -> str:
    return PLACE.sub(f"{root}/", text.replace(BUCKET, "/mnt/remote"))


def _shell(text: str, root: Path) -> str:
    out = []
    for command in text.replace("\\\n", " ").splitlines():
        if not command.strip() or command.lstrip().startswith("#"):
            continue
        expected = int(status[1]) if (status := STATUS.search(command)) else 0
        line = _placed(command, root)
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        if done.returncode != expected:
            raise AssertionError(
                f"{command}\nexit status {done.returncode}, not {expected}\n{done.stdout}{done.stderr}"
            )
        out.append(done.stdout)
    return "".join(out)


def _same(expected: str, printed: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected.strip() + "\n", printed.strip() + "\n", flags)


def run(page: str, root: Path) -> None:
    """Execute the blocks of a page.

    Raises:
        AssertionError: a block fails or prints something else than the page shows.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        if block.kind in {"python", "setup"}:
            captured = io.StringIO()
            code = "\n" * block.line + _placed(block.text, root)
            with contextlib.redirect_stdout(captured):
                exec(compile(code, "page", "exec"), names)  # noqa: S102 - the page's own code
            printed = captured.getvalue()
        elif block.kind == "sh":
            printed = _shell(block.text, root)
        elif block.kind == "text":
            shown = printed.replace(str(root), "")
            if not _same(block.text, shown):
                raise AssertionError(f"line {block.line} shows\n{block.text}\nbut this was printed:\n{shown}")


def main() -> int:
    """Run one page; 1 with the reason if it is wrong."""
    try:
        run(Path(sys.argv[1]).read_text(encoding="utf-8"), Path.cwd())
    except (Exception, SystemExit):  # noqa: BLE001 - whatever the page's code raises
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["COLUMNS"] = "160"
    sys.exit(main())
