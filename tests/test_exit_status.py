"""The table of exit statuses in docs/command-line.md: each of its cells is produced here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.expect import SMALL
from internal_topics import LATEST, log_dir
from kafkacomp import record
from kafkacomp._cli import main
from kafkacomp._cli.command import cli
from kafkacomp._cli.signals import TerminatedError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
#: The cell of a state that a command cannot find, or of an option that it does not have.
NONE = "-"
#: The arguments of the command in each column, which reads a log, a record set or a remote storage.
COLUMNS = {
    "info": "{log}",
    "info --deep": "{log}",
    "dump": "{log}",
    "verify": "{log}",
    "diff": "{log} {log}",
    "export": "{log} -o {new}.parquet",
    "export --on-error skip": "{log} -o {new}.parquet",
    "recompress": "{log} {new}",
    "convert": "--to-magic 2 {log} {new}",
    "repair": "{log} {new}",
    "validate": "{set}",
    "tiered": "{remote}",
    "advise": "--time-budget 0.01 --codecs lz4 {log}",
    "groups": "{internal}",
    "transactions": "{internal}",
    "topics": "{internal}",
}
#: The state of what is read, and the options, for each row.
STATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "intact": ("intact", ()),
    "compacted": ("compacted", ()),
    "offsets missing between segments": ("between", ()),
    "missing between segments, `--allow-missing`": ("between", ("--allow-missing",)),
    "offsets missing in a segment": ("within", ()),
    "missing in a segment, `--allow-missing`": ("within", ("--allow-missing",)),
    "corrupt records": ("records", ()),
    "corrupt records, `--allow-missing`": ("records", ("--allow-missing",)),
    "corrupt headers": ("header", ()),
    "unknown option": ("intact", ("--no-such-option",)),
    "missing path": ("nothing", ()),
}
#: What ends a command early, for each row.
ENDS: dict[str, BaseException | None] = {
    "no memory": MemoryError(),
    "full disk": None,
    "Ctrl-C": KeyboardInterrupt(),
    "closed pipe": None,
    "SIGTERM": TerminatedError(),
}


def table() -> dict[str, dict[str, str]]:
    """The cells of the page, by row and column."""
    lines = PAGE.read_text(encoding="utf-8").partition("## Exit status")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    start = next(at for at, row in enumerate(rows) if row[0] == "")
    columns = [name.strip("`") for name in rows[start][1:]]
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows[start + 2 :]}


CELLS = [(row, column) for row in STATES for column in COLUMNS]


@pytest.fixture(name="places", scope="module")
def _places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read, by kind and state."""
    folder = tmp_path_factory.mktemp("places")
    offsets = [*range(30), *range(40, 60)]
    rows = pa.table({"value": [f"value {offset}" * 5 for offset in range(60)]})
    lacking = pa.table({"offset": offsets, "value": [f"value {offset}" * 5 for offset in offsets]})
    for state in ("intact", "between", "records", "header"):
        kc.write(rows, folder / "log" / state, topic="t", compression_type="none", batch_bytes=1, segment_bytes=2000)
    kc.write(lacking, folder / "log" / "within", topic="t", compression_type="none", batch_bytes=1)
    shutil.copytree(SMALL / "modern" / "compact" / "compact-0", folder / "log" / "compacted" / "compact-0")
    segments = sorted((folder / "log" / "between" / "t-0").glob("*.log"))
    for path in segments[1].parent.glob(f"{segments[1].stem}.*"):
        path.unlink()
    flip(folder / "log" / "records" / "t-0" / segments[1].name, -5)
    flip(folder / "log" / "header" / "t-0" / segments[1].name, 8)
    sent = record.build_batches(rows)
    (folder / "set").mkdir()
    for state in ("intact", "records", "header"):
        (folder / "set" / state).write_bytes(sent)
    flip(folder / "set" / "records", -1)
    flip(folder / "set" / "header", 8)
    stored = next((SMALL / "tiered" / "aiven-plain").rglob("*.rsm-manifest"))
    for state in ("intact", "header"):
        (folder / "remote" / state).mkdir(parents=True)
        for each in stored.parent.glob(f"{stored.stem}.*"):
            shutil.copy(each, folder / "remote" / state)
    (folder / "remote" / "header" / stored.name).write_bytes(stored.read_bytes()[:-9])
    for state, position in (("intact", None), ("records", -1), ("header", 8)):
        shutil.copytree(log_dir(LATEST), folder / "internal" / state)
        for segment in (folder / "internal" / state).glob("__*/*.log"):
            segment.chmod(0o644)
            if position is not None and segment.stat().st_size:
                flip(segment, position)
    return folder


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 255
    path.write_bytes(content)


def arguments(column: str, state: str, places: Path, tmp_path: Path) -> list[str]:
    given = {kind: places / kind / state for kind in ("log", "set", "remote", "internal")}
    return [*column.split(), *COLUMNS[column].format(**given, new=tmp_path / "new").split()]


def is_possible(column: str, state: str, options: tuple[str, ...], places: Path) -> bool:
    """Whether a command can find this state, and has these options, unless they are those of a wrong use."""
    kind = COLUMNS[column].partition("{")[2].partition("}")[0]
    known = {name for option in cli.commands[column.split(maxsplit=1)[0]].params for name in option.opts}
    is_known = "--allow-missing" not in options or "--allow-missing" in known
    return is_known and (state == "nothing" or (places / kind / state).exists())


def test_the_table_is_complete() -> None:
    assert list(table()) == [*STATES, *ENDS]
    assert all(list(row) == list(COLUMNS) for row in table().values())
    assert {column.split()[0] for column in COLUMNS} == cli.commands.keys()


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_what_is_read(row: str, column: str, places: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, options = STATES[row]
    if not is_possible(column, state, options, places):
        assert table()[row][column] == NONE
        return
    status = main([*arguments(column, state, places, tmp_path), *options])
    out, err = capsys.readouterr()
    assert table()[row][column] == str(status), out + err
    if status == 2:
        assert err
        assert list(tmp_path.iterdir()) == []
    if state in {"between", "within"}:
        # Whether or not it is acknowledged, what is missing is named.
        offsets = {"between": "18 to 35", "within": "30 to 39"}[state]
        assert (f"offsets {offsets}" in out + err) == (column != "advise"), out + err


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", [row for row, error in ENDS.items() if error is not None])
def test_what_ends_it(row: str, column: str, places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/test_cli_signals.py sends the signals to the commands that write."""
    error = ENDS[row]
    assert error is not None

    def fail(**_: object) -> int:
        raise error

    monkeypatch.setattr(cli.commands[column.split(maxsplit=1)[0]], "callback", fail)
    assert table()[row][column] == str(main(arguments(column, "intact", places, tmp_path)))


def status_with(stdout: int, command: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kafkacomp", *command], stdout=stdout, stderr=subprocess.PIPE, check=False, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
@pytest.mark.parametrize("column", COLUMNS)
def test_the_disk_is_full(column: str, places: Path, tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        status, err = status_with(full, arguments(column, "intact", places, tmp_path))
    finally:
        os.close(full)
    assert table()["full disk"][column] == str(status)
    assert "No space left on device" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("column", COLUMNS)
def test_the_pipe_is_closed(column: str, places: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        status, err = status_with(writer, arguments(column, "intact", places, tmp_path))
    finally:
        os.close(writer)
    assert (table()["closed pipe"][column], err) == (str(status), "")
