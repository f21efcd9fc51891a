"""Links in log directories: loops end, and what a link leads to is neither read twice nor left out in silence."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp._cli import main
from kafkacomp._storage import filesystem
from kafkacomp._storage.files import find
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from kafkacomp._storage.stores import Entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")


def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed from now on."""
    listed: list[str] = []
    original = filesystem._Local.list

    def counted(self: filesystem._Local, path: str) -> list[Entry]:
        listed.append(path)
        assert len(listed) < 2_000, "a loop"
        return original(self, path)

    monkeypatch.setattr(filesystem._Local, "list", counted)
    return listed


@pytest.fixture(name="logs")
def _logs(tmp_path: Path) -> Path:
    kc.write(pa.table({"value": ["a"] * 10}), tmp_path / "logs", topic="t")
    return tmp_path / "logs"


def test_folders_that_contain_themselves(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve of them would be twelve to the power of eight folders."""
    for number in range(12):
        (logs / f"again-{number}x").symlink_to(logs, target_is_directory=True)
    listed = listings(monkeypatch)
    (partition,) = resolve(str(logs))
    assert len(partition.segments) == 1
    assert len(listed) == 14
    assert [file.path.name for file in find([logs]) if file.kind == "log"] == [f"{0:020}.log"]


def test_folders_that_contain_each_other(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [logs / f"rack{letter}" for letter in "abcdefgh"]
    for folder in folders:
        folder.mkdir()
        for other in folders:
            (folder / other.name).symlink_to(other, target_is_directory=True)
    listed = listings(monkeypatch)
    assert pa.table(kc.scan(logs)).num_rows == 10
    assert len(listed) < 9 * 9 * 9
    assert main(["verify", str(logs)]) == 0


def test_a_link_with_another_name_does_not_hide_a_partition(logs: Path) -> None:
    (logs / "a-link").symlink_to(logs / "t-0", target_is_directory=True)
    assert pa.table(kc.scan(logs)).num_rows == 10


def test_a_link_deep_in_the_tree_does_not_hide_what_is_above(logs: Path, tmp_path: Path) -> None:
    """The search ends at a depth; the same folder is searched again where it is less deep."""
    root = tmp_path / "root"
    deep = root.joinpath("a", *"bcdefgh")
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(logs, target_is_directory=True)
    (root / "logs").symlink_to(logs, target_is_directory=True)
    assert pa.table(kc.scan(root)).num_rows == 10


def test_a_segment_whose_target_does_not_exist(logs: Path) -> None:
    segment = logs / "t-0" / f"{10:020}.log"
    segment.symlink_to(logs / "gone")
    with pytest.raises(FileNotFoundError) as raised:
        list(kc.scan(logs))
    assert str(segment) in str(raised.value)
    for command in ("verify", "info", "dump"):
        assert main([command, str(logs)]) != 0


def test_a_partition_whose_target_does_not_exist(logs: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As of a disk that is not mounted."""
    link = logs / "t-1"
    link.symlink_to(logs / "gone", target_is_directory=True)
    assert pa.table(kc.scan(logs)).num_rows == 10
    assert f"{link}: a link whose target does not exist" in caplog.messages


def test_a_segment_that_leads_to_itself(logs: Path) -> None:
    segment = logs / "t-0" / f"{10:020}.log"
    segment.symlink_to(segment)
    with pytest.raises(OSError, match=os.strerror(40)):
        list(kc.scan(logs))
