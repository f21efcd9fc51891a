"""The command line on files of Kafka 0.7: dump says what Kafka's iterators say, verify finds what they refuse."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from kafkacomp import log
from kafkacomp._cli import main

from .expect import label, roots
from .test_v07 import CASES, Case, by_name

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = {"offset": "offset", "size": "size", "magic": "magic", "attributes": "attributes", "codec": "compresscodec",
          "crc": "crc", "valid": "isvalid", "payload_size": "payloadSize"}  # fmt: skip
LOGS = roots("v07")[0] / "broker"


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return status, out, err


def of_kafka(case: Case, kind: str) -> list[dict[str, Any]]:
    """The expectation's lines under our names; fetch answers have offsets that no file name tells."""
    lines = case.lines()
    initial = lines[0]["initial_offset"] if case.path.suffix == ".msgset" else 0
    wanted = []
    for line in lines:
        if line["t"] == kind:
            row = {ours: line[theirs] for theirs, ours in FIELDS.items()} | {"offset": line["offset"] - initial}
            wanted.append(row | ({"position": line["position"]} if kind == "shallow" else {"payload": line["payload"]}))
    return wanted


def payload(row: dict[str, Any]) -> str:
    """In base64, whichever way it is shown."""
    encoded = row.get("payloadBase64")
    return base64.b64encode(row["payload"].encode()).decode() if encoded is None else encoded


def ends(case: Case) -> dict[str, Any]:
    """The errors of the two iterators."""
    return {line["t"]: line["error"] for line in case.lines() if line["t"].endswith("_end")}


@by_name
def test_dump(case: Case, capfd: pytest.CaptureFixture[str]) -> None:
    """Entries are the shallow iterator's; messages the deep one's up to its error, behind which it has none."""
    status, out, _ = run(capfd, "dump", "--deep", "--json", "--log-format", "0.7", case.path)
    rows = [json.loads(line) for line in out.splitlines()]
    names = [*FIELDS.values(), "position"]
    entries = [{name: row[name] for name in names} for row in rows if row["type"] == "entry"]
    assert entries == of_kafka(case, "shallow")
    names = list(FIELDS.values())
    messages = [
        {name: row[name] for name in names} | {"payload": payload(row)} for row in rows if row["type"] == "message"
    ]
    wanted = of_kafka(case, "deep")
    assert messages[: len(wanted)] == wanted
    error = ends(case)["deep_end"]
    if error is None:
        assert len(messages) == len(wanted)
    assert status == (error is not None)


@by_name
def test_verify(case: Case, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever the deep iterator refuses is damage, except that a captured set may be cut; nothing else is."""
    status, out, _ = run(capfd, "verify", "--json", "--log-format", "0.7", case.path)
    report = json.loads(out)
    error = ends(case)["deep_end"]
    shallow = [line for line in case.lines() if line["t"] == "shallow"]
    only_cut = not shallow and error is not None and error["class"].endswith("InvalidMessageSizeException")
    if only_cut and int.from_bytes(case.path.read_bytes()[:4], "big", signed=True) >= 5:
        assert status == 0
        assert len(report["warnings"]) == 1
        return
    assert (status, report["ok"]) == (int(error is not None), error is None)
    assert bool(report["errors"]) == (error is not None)
    if error is None:
        deep = [line for line in case.lines() if line["t"] == "deep"]
        assert sum(counts["records"] for counts in report["counts"]) == len(deep)
        assert sum(counts["batches"] for counts in report["counts"]) == len(shallow)


def test_folders_and_formats(capfd: pytest.CaptureFixture[str]) -> None:
    """Whole folders are found to be of 0.7; under the other layout they are nothing but damage."""
    status, out, _ = run(capfd, "verify", LOGS)
    assert status == 0
    assert "0 errors, 0 warnings" in out
    for form in ("table", "csv", "kafka", "jsonl"):
        status, out, err = run(capfd, "dump", "--deep", "--format", form, LOGS)
        assert (status, err) == (0, "")
        assert "payload" in out
    assert run(capfd, "verify", "--log-format", "0.8+", LOGS)[0] == 1


def test_the_chain_of_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each file begins where the one before it ends."""
    folder = tmp_path / "gz-0"
    source = next(root / "broker" / "gz-0" for root in roots("v07") if (root / "broker" / "gz-0").is_dir())
    shutil.copytree(source, folder)
    files = sorted(folder.glob("*.kafka"))
    assert run(capfd, "verify", folder)[0] == 0
    if len(files) > 2:
        files[1].unlink()
        status, out, _ = run(capfd, "verify", folder)
        assert status == 1
        assert f"offsets {int(files[1].stem)} to {int(files[2].stem) - 1} are missing before byte" in out
    moved = folder / f"{int(files[-1].stem) + 7:020}.kafka"
    files[-1].chmod(0o644)
    moved.write_bytes(files[-1].read_bytes()[:-3])
    report = json.loads(run(capfd, "verify", "--json", folder)[1])
    assert any("cut by the file's end" in each["message"] for each in report["errors"])


def test_undecided_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a sound message and without a suffix the caller must say."""
    path = tmp_path / "captured"
    path.write_bytes(bytes.fromhex("0000000801000000000041"))
    for command in ("dump", "verify"):
        status, _, err = run(capfd, command, path)
        assert status == 2
        assert "give log_format 0.7 or 0.8+" in err
    with pytest.raises(ValueError, match="give log_format"):
        log.verify_segment(path)
    assert log.detect_log_format(path, "0.7") == "0.7"
    assert log.detect_log_format(b"") == "0.8+"
    with pytest.raises(ValueError, match="format must be"):
        log.detect_log_format(path, "0.8")  # type: ignore[arg-type]


def test_export(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The same rows as scan's, under either word."""
    source = LOGS / "nested-0"
    for form in ("auto", "0.7"):
        target = tmp_path / f"{form}.jsonl"
        assert run(capfd, "export", "--log-format", form, source, "-o", target)[0] == 0
        wanted = [line for case in CASES if case.path.parent == source for line in of_kafka(case, "deep")]
        assert [json.loads(line)["offset"] for line in target.read_text().splitlines()] == [w["offset"] for w in wanted]
        assert wanted or label(roots("v07")[0]) != "full"
