"""How the command ends before it has begun: Ctrl-C while it imports, too large a file, a completion without a shell."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kafkacomp._cli import command, main

if TYPE_CHECKING:
    from pathlib import Path

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


def test_an_interrupt_before_the_command_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: list[str] | None) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupted)
    assert main(["info", "."]) == 130


@pytest.mark.parametrize("known", [{}, {"COMP_WORDS": "kafkacomp in"}], ids=["no words", "no place"])
def test_completion_without_a_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], known: dict[str, str]
) -> None:
    monkeypatch.setenv("_KAFKACOMP_COMPLETE", "bash_complete")
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    missing = "COMP_CWORD" if known else "COMP_WORDS"
    assert main([]) == 2
    assert capsys.readouterr().err == (
        f"kafkacomp: {missing} is not set: only a shell's completion sets _KAFKACOMP_COMPLETE\n"
    )
