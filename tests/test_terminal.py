"""What the command shows on a terminal only: colours and progress."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from golden.expect import SMALL
from kafkacomp import record
from kafkacomp._cli import main
from kafkacomp._cli.command import cli

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")

RESTARTS = str(SMALL / "modern" / "restarts" / "restarts-0")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Progress would begin after two seconds.
PROGRAM = """
import sys
from kafkacomp._cli import common, main
common._PATIENCE = 0
sys.exit(main(sys.argv[1:]))
"""


def on_one_terminal(*command: str) -> str:
    """Both outputs of a command that has one terminal."""
    return on_terminal(*command, is_both=True)


def on_terminal(*command: str, is_both: bool = False, **environment: str) -> str:
    """Standard error of a command for which it is a terminal."""
    ours, its = os.openpty()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        stdout=its if is_both else subprocess.DEVNULL,
        stderr=its,
        env=known | {"TERM": "xterm", "COLUMNS": "80"} | environment,
    )
    os.close(its)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux's answer at the end
        pass
    finally:
        os.close(ours)
        process.wait()
    return shown.decode()


#: What a terminal must not get, in a value: an escape sequence, C1, and marks of bidirectional text.
HOSTILE = "\x1b]0;title\x07 \x9b31m \x7f \u202e \u2066 \u00e9\u4e2d\t\n"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_an_export_to_a_terminal_is_escaped(kind: str, tmp_path: Path) -> None:
    """A pipe gets the exact text. Lines of JSON keep their meaning."""
    source = tmp_path / "batch"
    source.write_bytes(record.build_batches(pa.table({"value": [HOSTILE.encode() * 9000]})))
    command = ["export", str(source), "-o", "-", "--format", kind, "--columns", "value", "--quiet"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *command], capture_output=True, check=True)
    shown, message = on_terminal(*command, is_both=True, NO_COLOR="1").replace("\r\n", "\n").rsplit("kafkacomp: ", 1)
    assert message == "-: 1 record\n"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert shown.count("\u00e9\u4e2d") == 9000
    if kind == "jsonl":
        assert json.loads(shown) == json.loads(done.stdout) == {"value": HOSTILE * 9000}
    else:
        assert done.stdout.decode() == f'value\n"{HOSTILE * 9000}"\n'


def test_a_csv_dump_to_a_terminal_is_escaped(tmp_path: Path) -> None:
    """A pipe gets the exact text."""
    source = tmp_path / "batch"
    source.write_bytes(record.build_batches(pa.table({"value": [HOSTILE.encode()]})))
    command = ["dump", "--deep", "--format", "csv", str(source), "--quiet"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *command], capture_output=True, check=True)
    assert HOSTILE in done.stdout.decode()
    shown = on_terminal(*command, is_both=True)
    assert not re.search("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert "\\u001b]0;title\\u0007" in shown


def test_errors_are_red_on_a_terminal(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert "\x1b[31m\x1b[1mkafkacomp:\x1b[0m " in on_terminal("verify", missing)
    assert "\x1b" not in on_terminal("verify", "--quiet", missing, NO_COLOR="1")


def test_no_colours_in_a_pipe(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "verify", str(tmp_path / "missing")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith("kafkacomp: ")


#: What each command is called with; TARGET is a new name each time. The bar of bench counts samples.
COMMANDS = {
    "advise": [RESTARTS, "--codecs=zstd", "--time-budget=0.2"],
    "convert": [RESTARTS, "TARGET", "--to-magic=2"],
    "diff": [RESTARTS, RESTARTS],
    "dump": [RESTARTS, "--deep"],
    "export": [RESTARTS, "-o", "TARGET.parquet"],
    "info": [RESTARTS],
    "recompress": [RESTARTS, "TARGET"],
    "repair": [RESTARTS, "TARGET"],
    "verify": [RESTARTS],
}


#: Commands that do not know how much there is: they show what they wait for.
WAITING = {"groups", "tiered", "topics", "transactions", "validate"}


def test_every_command_is_here() -> None:
    assert {*COMMANDS, *WAITING} == set(cli.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_progress_on_a_terminal(command: str, tmp_path: Path) -> None:
    """A bar with bytes, rate and remaining time; nothing with --quiet."""
    arguments = [argument.replace("TARGET", str(tmp_path / "one")) for argument in COMMANDS[command]]
    shown = on_terminal(command, *arguments)
    assert command in shown
    # Of so little, rate and remaining time are not known before it is done.
    assert re.search(r"([0-9.]+)/\1 kB.*[0-9]:[0-9]{2}:[0-9]{2}", ESCAPES.sub("", shown), re.DOTALL), shown
    arguments = [argument.replace("TARGET", str(tmp_path / "two")) for argument in COMMANDS[command]]
    assert on_terminal(command, "--quiet", *arguments) == ""


def test_what_is_waited_for(tmp_path: Path) -> None:
    """Where the amount of work is not known, with the time that has passed."""
    batch = tmp_path / "batch"
    batch.write_bytes(record.build_batches(pa.table({"value": [b"x" * 100] * 300_000}), compression_type="none"))
    assert re.search(r"validating .*0:00:0", on_terminal("validate", str(batch), "--compression-type=gzip"))
    assert on_terminal("validate", "--quiet", str(batch), "--compression-type=gzip") == ""


def test_rows_on_the_same_terminal() -> None:
    """The bar is removed before a row is written."""
    rows, found = on_one_terminal("dump", RESTARTS, "--key=no such key"), on_one_terminal("dump", RESTARTS, "--deep")
    assert "dump" in rows
    assert "dump" in found
    records = subprocess.run(
        [sys.executable, "-c", PROGRAM, "dump", RESTARTS, "--deep"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lines = [ESCAPES.sub("", line).strip("\r") for line in found.split("\n")]
    assert [line for line in records if line not in lines] == []


@pytest.mark.parametrize("command", ["verify", "info"])
def test_no_progress_in_a_pipe(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, RESTARTS], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The five commands that are needed first."""
    assert main([]) == 2
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kafkacomp ")]
    assert [line.split()[1] for line in lines] == ["info", "dump", "verify", "export", "advise", "--help"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kafkacomp ", {*COMMANDS, *WAITING}),
        ("kafkacomp in", {"info"}),
        ("kafkacomp dump --key", {"--key", "--key-regex"}),
        ("kafkacomp info --sort ", {"bytes", "records", "name"}),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(words: str, expected: set[str], shell: str) -> None:
    """Click's protocol: the shell hands over the line, and gets the words that may follow."""
    parts = words.split(" ")
    known = os.environ | {"_KAFKACOMP_COMPLETE": f"{shell}_complete", "COMP_WORDS": words}
    known["COMP_CWORD"] = parts[-1] if shell == "fish" else str(len(parts) - 1)
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from kafkacomp._cli import main; sys.exit(main())"],
        capture_output=True, text=True, check=False, env=known,
    )  # fmt: skip
    kinds = {"bash": r"plain,(\S+)", "zsh": r"plain\n(\S+)\n", "fish": r"plain,(\S+)"}
    assert set(re.findall(kinds[shell], done.stdout)) == expected
