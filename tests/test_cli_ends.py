"""How the command ends before it has begun: Ctrl-C while it imports, a file that is too large to be read."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from kafkacomp._cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

IMPORTING = """
import sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from kafkacomp._cli import main
sys.exit(main(["info", "."]))
"""


def test_an_interrupt_while_the_command_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_validate_refuses_a_file_that_no_request_can_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert main(["validate", str(path)]) == 2
    assert "1,099,511,627,776 bytes, and a record set has at most 2,147,483,647" in capsys.readouterr().err
