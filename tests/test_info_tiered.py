"""``kafkacomp info`` on tiered storage and on URLs: the records that a broker serves, by the headers of batches."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

import kafkacomp as kc
from doc_places import orders
from golden.tiered import TieredCase, cases
from kafkacomp._cli.command import run

if TYPE_CHECKING:
    from pathlib import Path

CASES = cases()
ONE_CASE = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings about what is not known are expected here."""
    caplog.set_level(logging.ERROR, "kafkacomp")


def shown(capsys: pytest.CaptureFixture[str], status: int, *arguments: object) -> dict[str, Any]:
    assert run(["info", "--json", *map(str, arguments)]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def keys(case: TieredCase) -> list[str]:
    return [f"--encryption-key={key_id}={path}" for key_id, path in (case.keys or {}).items()]


@ONE_CASE
def test_what_a_broker_serves(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is missing from the log's start to its end, and the records are those of the consumer.

    A batch that the log start or a lineage cuts counts whole by its header, which is no exact count then.
    """
    known = ["--remote-log-metadata", str(case.metadata), "--local-log-dir", str(case.leader), *keys(case)]
    about = case.partition
    (topic,) = shown(capsys, 0, case.folder, *known)["topics"]
    (partition,) = topic["partitions"]
    assert (topic["topic"], partition["partition"]) == (about["topic"], about["partition"])
    assert partition["lastOffset"] == about["logEndOffset"] - 1
    assert (partition["gaps"], partition["corruptBytes"]) == (0, 0)
    wanted = len(case.expected())
    assert partition["records"] == wanted if partition["isExact"] else partition["records"] >= wanted
    (topic,) = shown(capsys, 0, case.folder, "--deep", *known)["topics"]
    assert (topic["records"], topic["isExact"]) == (wanted, True)
    assert topic["ratio"] > 0


@ONE_CASE
def test_the_storage_alone(case: TieredCase, capsys: pytest.CaptureFixture[str]) -> None:
    """Every segment, also one whose offsets another one has. Where histories conflict, offsets may be missing."""
    missing = kc.LogDir(case.folder, tiered=kc.Tiered(encryption_keys=case.keys)).verify().missing
    found = shown(capsys, bool(missing), case.folder, *keys(case))
    assert found["segments"] == len(list(case.folder.glob("*.log")))
    assert found["records"] > 0
    assert found["corruptBytes"] == 0


def test_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as of the local files."""
    orders(tmp_path)
    filesystem = fsspec.filesystem("memory")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            filesystem.pipe_file(f"/info/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    try:
        local = kc.LogDir(tmp_path).info()
        remote = shown(capsys, 0, "memory://info")
        assert (remote["records"], remote["bytes"], remote["isExact"]) == (local.records, local.size, True)
        assert [each["topic"] for each in remote["topics"]] == [each.topic for each in local.topics]
        assert kc.LogDir("memory://info").info().counts == local.counts
    finally:
        filesystem.rm("/info", recursive=True)
