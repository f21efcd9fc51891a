"""The command line on tiered storage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from golden.reading import SCAN_COLUMNS, assert_same, table_rows
from golden.tiered import TieredCase, cases
from kafkacomp._cli.command import run

if TYPE_CHECKING:
    from pathlib import Path

CASES = cases()


def known(case: TieredCase) -> list[str]:
    """The options that tell all that is known."""
    options = ["--remote-log-metadata", str(case.metadata), "--local-log-dir", str(case.leader)]
    for key_id, path in (case.keys or {}).items():
        options += ["--encryption-key", f"{key_id}={path}"]
    return options


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_export(case: TieredCase, isolation_level: str, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    columns = ",".join(SCAN_COLUMNS)
    arguments = [
        "export",
        str(case.folder),
        "-o",
        str(target),
        "--isolation-level",
        isolation_level,
        "--columns",
        columns,
    ]
    assert run([*arguments, *known(case)]) == 0
    assert_same(table_rows(pq.read_table(target)), case.expected(isolation_level), case.folder)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_the_command_lists(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """States and offsets as the metadata manager has them; what is read as a broker finds it."""
    assert run(["tiered", "--json", str(case.folder), *known(case)]) == 0
    found = {each["id"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    listed = {each["id"]: each for each in case.remote_segments()}
    assert set(found) >= set(listed)
    first_local = case.partition["earliestLocalOffset"]
    for segment_id, each in found.items():
        if segment_id not in listed:
            assert (each["state"], each["validOffsets"]) == ("UNKNOWN", [])
            continue
        expected = listed[segment_id]
        assert each["state"] == expected["state"]
        assert (each["startOffset"], each["endOffset"]) == (expected["startOffset"], expected["endOffset"])
        assert each["size"] == expected["segmentSizeInBytes"]
        ranges = [(first, min(last, first_local - 1)) for first, last in expected["foundAt"] if first < first_local]
        offsets = [offset for first, last in ranges for offset in range(first, last + 1)]
        assert [offset for first, last in each["validOffsets"] for offset in range(first, last + 1)] == offsets
    assert run(["tiered", str(case.folder), *known(case)]) == 0
    assert "COPY_SEGMENT_FINISHED" in capsys.readouterr().out


def test_a_key_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in CASES if case.keys)
    text = "-----BEGIN PRIVATE KEY----- c2VjcmV0"
    for value in (text, f"={text}"):
        assert run(["tiered", str(case.folder), "--encryption-key", value]) == 2
    assert run(["export", str(case.folder), "-o", "x.csv", "--encryption-key", f"key1={text}"]) in {1, 2}
    captured = capsys.readouterr()
    assert "c2VjcmV0" not in captured.out + captured.err


def test_no_tiered_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in CASES if case.cluster.name == "local")
    assert run(["tiered", str(case.leader / case.name)]) == 2
    assert "no segments of tiered storage" in capsys.readouterr().err
    assert run(["export", str(case.leader / case.name), "-o", str(tmp_path / "x.csv"), *known(case)]) == 2
    assert "there are none" in capsys.readouterr().err
