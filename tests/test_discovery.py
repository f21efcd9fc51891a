"""What discovery makes of the folders of a broker: the log directory's checkpoints, files on their way in or out."""

from __future__ import annotations

import logging
import pickle
import shutil
from pathlib import Path

import pytest

from kafkacomp._source import resolve

MODERN = Path(__file__).resolve().parent / "vectors" / "modern"
RESTARTS = MODERN / "restarts" / "restarts-0"
FIRST = "0" * 20


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log directory with the partitions a-b-3 and c-0."""
    for name in ("a-b-3", "c-0"):
        shutil.copytree(RESTARTS, tmp_path / name)
    return tmp_path


CHECKPOINTS = {
    "log-start-offset-checkpoint": "0\n1\na-b 3 17\n",
    "replication-offset-checkpoint": "0\n2\na-b 3 99\nc 0 100\n",
    "cleaner-offset-checkpoint": "0\n1\nc 0 55\n",
}


def bounds(source: object) -> dict[tuple[str | None, int | None], tuple[int | None, int | None, int | None]]:
    return {
        (each.topic, each.partition): (each.log_start_offset, each.high_watermark, each.cleaned_to)
        for each in resolve(source)
    }


def test_the_checkpoints_of_the_log_directory(log_dir: Path) -> None:
    """From the log directory, a partition's folder, or a segment; also from another file system, and after a pickle."""
    none = (None, None, None)
    assert bounds(log_dir) == {("a-b", 3): none, ("c", 0): none}
    for name, content in CHECKPOINTS.items():
        (log_dir / name).write_text(content)
    expected = {("a-b", 3): (17, 99, None), ("c", 0): (None, 100, 55)}
    assert bounds(log_dir) == expected
    assert bounds([log_dir / "a-b-3", log_dir / "c-0"]) == expected
    assert bounds(log_dir / "a-b-3" / f"{FIRST}.log") == {("a-b", 3): (17, 99, None)}
    assert bounds(log_dir.as_uri().replace("file:", "local:")) == expected
    assert bounds([pickle.loads(pickle.dumps(each)) for each in resolve(log_dir)]) == expected  # noqa: S301 - our own


def test_each_checkpoint_is_read_once(log_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafkacomp._filesystem import _Local  # noqa: PLC0415 - a private name

    read: list[str] = []
    original = _Local.read
    monkeypatch.setattr(_Local, "read", lambda self, path: (read.append(Path(path).name), original(self, path))[1])
    found = resolve(log_dir)
    assert not read or read == [".kafkacomp-commit"] * len(read)
    for each in found * 2:
        assert (each.log_start_offset, each.high_watermark, each.cleaned_to) == (None, None, None)
    assert sorted(name for name in read if name in CHECKPOINTS) == sorted(CHECKPOINTS)


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"1\n0\n", b"0\n1\nc 0 99999999999999999999\n", None])
def test_a_checkpoint_that_says_nothing(
    log_dir: Path, name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty one has no entries, as a broker creates it; one that cannot be read is a warning that names it."""
    if content is None:
        (log_dir / name).mkdir()
    else:
        (log_dir / name).write_bytes(content)
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert set(bounds(log_dir).values()) == {(None, None, None)}
    warnings = [record.getMessage() for record in caplog.records]
    assert [str(log_dir / name) in each for each in warnings] == ([] if content == b"" else [True])
