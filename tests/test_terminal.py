"""What the command shows on a terminal only: colours and progress."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from golden.expect import SMALL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")

RESTARTS = str(SMALL / "modern" / "restarts" / "restarts-0")
#: Progress would begin after two seconds.
PROGRAM = """
import sys
from kafkacomp._cli import common, main
common._PATIENCE = 0
sys.exit(main(sys.argv[1:]))
"""


def on_terminal(*command: str, **environment: str) -> str:
    """Standard error of a command for which it is a terminal."""
    ours, its = os.openpty()
    try:
        known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        subprocess.run(
            [sys.executable, "-c", PROGRAM, *command],
            stdout=subprocess.DEVNULL,
            stderr=its,
            env=known | {"TERM": "xterm", "COLUMNS": "80"} | environment,
            check=False,
        )
        os.close(its)
        its = -1
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux's answer at the end
                break
            if not part:
                break
            shown += part
        return shown.decode()
    finally:
        os.close(ours)
        if its >= 0:
            os.close(its)


def test_errors_are_red_on_a_terminal(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert "\x1b[31m\x1b[1mkafkacomp:\x1b[0m " in on_terminal("verify", missing)
    assert "\x1b" not in on_terminal("verify", missing, NO_COLOR="1")


def test_no_colours_in_a_pipe(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "verify", str(tmp_path / "missing")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith("kafkacomp: ")


@pytest.mark.parametrize("command", ["verify", "info", "export"])
def test_progress_on_a_terminal(command: str, tmp_path: Path) -> None:
    output = ["-o", str(tmp_path / "a.parquet")] if command == "export" else []
    assert command in on_terminal(command, RESTARTS, *output)
    assert on_terminal(command, "--quiet", RESTARTS, *output, *(["--force"] if output else [])) == ""


@pytest.mark.parametrize("command", ["verify", "info"])
def test_no_progress_in_a_pipe(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, RESTARTS], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
