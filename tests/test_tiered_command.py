"""The command line on tiered storage."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import kafkacomp as kc
from golden.expect import read_json_lines
from golden.reading import SCAN_COLUMNS, assert_same, table_rows
from golden.tiered import TieredCase, cases
from grouped import grouped
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
def test_export_of_the_storage_alone(case: TieredCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a consumer got of the remote offsets, with a warning; an error where lineages conflict."""
    target = tmp_path / "out.parquet"
    status = run(["export", str(case.folder), "-o", str(target), "--columns", ",".join(SCAN_COLUMNS), *keys(case)])
    message = capsys.readouterr().err
    if "unclean" in case.name:
        assert (status, target.exists()) == (1, False)
        assert "give remote_log_metadata" in message
        return
    assert status == 0
    assert "without remote_log_metadata" in message
    about = case.partition
    found = [row for row in table_rows(pq.read_table(target)) if row.offset >= about["logStartOffset"]]
    assert_same(found, [row for row in case.expected() if row.offset <= about["latestTieredOffset"]], case.folder)


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


def keys(case: TieredCase) -> list[str]:
    """The private keys alone."""
    return [f"--encryption-key={key_id}={path}" for key_id, path in (case.keys or {}).items()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_verify_what_is_read(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """The log is intact from its start to its end, whatever else is in the storage."""
    assert run(["verify", "--json", str(case.folder), *known(case)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["missing"], report["errors"]) == (True, [], [])
    read = {line["id"] for line in read_json_lines(case.expect / "read-plan.jsonl") if line.get("id")}
    local = [path for path in (case.leader / case.name).glob("*.log") if path.stat().st_size]
    assert len(read) <= report["segments"] <= len(read) + len(local) + 1
    assert kc.LogDir(case.folder, **grouped(**case.known)).verify().to_dict() == report


@pytest.mark.parametrize("case", CASES, ids=str)
def test_verify_the_storage_alone(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """All segments are intact. Histories that conflict are an error, and what is missing because neither is whole."""
    status = run(["verify", "--json", str(case.folder), *keys(case)])
    report = json.loads(capsys.readouterr().out)
    # The command adds what to do about a gap.
    errors = [each | {"message": each["message"].partition(". If the topic")[0]} for each in report["errors"]]
    found = kc.LogDir(case.folder, tiered=kc.Tiered(encryption_keys=case.keys)).verify().to_dict()
    assert found == report | {"errors": errors}
    if "unclean" in case.name:
        assert status == 1
        others = [each for each in report["errors"] if "has different records at offset" not in each["message"]]
        assert len(others) < len(report["errors"])
        gaps = [(each["firstOffset"], each["lastOffset"]) for each in report["missing"] if each["reason"] == "gap"]
        assert [(each["firstOffset"], each["lastOffset"]) for each in others] == gaps
        return
    assert (status, report["errors"]) == (0, [])
    assert report["segments"] == len(list(case.folder.glob("*.log")))


@pytest.mark.parametrize("case", [case for case in CASES if (case.expect / "remote").is_dir()], ids=str)
def test_dump(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """The batches of each remote segment, as Kafka's reader has them, and the entries of its indexes."""
    missing = kc.LogDir(case.folder, tiered=kc.Tiered(encryption_keys=case.keys)).verify().missing
    assert run(["dump", "--json", str(case.folder), *keys(case)]) == bool(missing)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        if row["type"] == "batch":
            found.setdefault(row["file"].rpartition("/")[2].removesuffix(".log"), []).append(
                (row["position"], row["size"], row["baseOffset"], row["lastOffset"], row["count"], row["magic"],
                 row["compresscodec"], row["crc"], row["isvalid"], row["timestampType"], row["timestamp"],
                 row["producerId"], row["producerEpoch"], row["baseSequence"], row["lastSequence"],
                 row["isTransactional"], row["isControl"], row["partitionLeaderEpoch"], row["deleteHorizonMs"])
            )  # fmt: skip
    names = ("position", "sizeInBytes", "baseOffset", "lastOffset", "count", "magic", "compressionType", "crc", "valid",
             "timestampType", "maxTimestamp", "producerId", "producerEpoch", "baseSequence", "lastSequence",
             "isTransactional", "isControlBatch", "partitionLeaderEpoch", "deleteHorizonMs")  # fmt: skip
    expected = {
        path.name.removesuffix(".batches.jsonl"): [
            tuple(line[name] for name in names) for line in read_json_lines(path)
        ]
        for path in (case.expect / "remote").glob("*.batches.jsonl")
    }
    assert set(found) == {path.name.removesuffix(".log") for path in case.folder.glob("*.log")}
    assert {stem: lines for stem, lines in expected.items() if stem in found} == {
        stem: lines for stem, lines in found.items() if stem in expected
    }
    assert found.keys() & expected.keys()
    kinds = {row["type"] for row in rows}
    assert kinds >= {"timeindex", "leader-epoch-checkpoint"}
    assert ("rsm-manifest" in kinds) == any(case.folder.glob("*.rsm-manifest"))


def test_dump_and_verify_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing key is an error; an object whose chunks are corrupt does not end the check."""
    case = next(case for case in CASES if case.name == "gold-a-both-txn-0")
    for command in ("dump", "verify"):
        assert run([command, str(case.folder)]) == 2
        assert re.search(r"whose private key is not available: .*--encryption-key \w+=", capsys.readouterr().err)
    folder = tmp_path / case.folder.relative_to(case.storage)
    shutil.copytree(case.folder, folder)
    logs, manifests = sorted(folder.glob("*.log")), sorted(folder.glob("*.rsm-manifest"))
    content = bytearray(logs[1].read_bytes())
    content[100] ^= 1
    logs[1].write_bytes(content)
    manifests[2].write_text("{}")
    assert run(["verify", "--json", str(folder), *keys(case)]) == 1
    report = json.loads(capsys.readouterr().out)
    messages = {each["file"].rpartition("/")[2]: each["message"] for each in report["errors"]}
    assert "does not authenticate" in messages[logs[1].name]
    assert "not a valid segment manifest" in messages[manifests[2].name]


def test_a_key_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in CASES if case.keys)
    text = "-----BEGIN PRIVATE KEY----- c2VjcmV0"
    for value in (text, f"={text}"):
        assert run(["tiered", str(case.folder), "--encryption-key", value]) == 2
    assert run(["export", str(case.folder), "-o", "x.csv", "--encryption-key", f"key1={text}"]) == 2
    captured = capsys.readouterr()
    assert "c2VjcmV0" not in captured.out + captured.err


def test_no_tiered_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in CASES if case.cluster.name == "local")
    assert run(["tiered", str(case.leader / case.name)]) == 2
    assert "no segments of tiered storage" in capsys.readouterr().err
    assert run(["export", str(case.leader / case.name), "-o", str(tmp_path / "x.csv"), *known(case)]) == 2
    assert "the source is not one" in capsys.readouterr().err
