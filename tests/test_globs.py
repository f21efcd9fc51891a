"""Wildcards in paths: every reader takes them, and the rules are those of fsspec."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp
from kafkacomp._cli.command import run
from kafkacomp._storage.filesystem import open_filesystem

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for topic in ("orders-eu", "orders-us", "payments"):
        kc.write(pa.table({"value": [topic] * 3}), tmp_path / "logs", topic=topic)
    return tmp_path / "logs"


def topics(source: object) -> list[str]:
    rows = kc.scan(source, columns=["topic"]).read_all()["topic"].to_pylist()  # type: ignore[arg-type]  # a path
    return [topic for topic, _ in itertools.groupby(rows)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("orders-*", ["orders-eu", "orders-us"]),
        ("orders-[!u]*", ["orders-eu"]),
        ("orders-[^u]*", ["orders-eu"]),
        ("orders-?s-0", ["orders-us"]),
        ("{payments,orders-eu}-0", ["payments", "orders-eu"]),
        ("*-0/*.log", ["orders-eu", "orders-us", "payments"]),
        ("orders-*/*", ["orders-eu", "orders-us"]),
        ("../**/orders-*", ["orders-eu", "orders-us"]),
    ],
)
def test_every_reader_takes_wildcards(logs: Path, pattern: str, expected: list[str]) -> None:
    path = f"{logs}/{pattern}"
    assert topics(path) == expected
    assert topics([path]) == expected
    assert set(kc.LogDir(path).topics) == set(expected)
    assert sum(each.topic in expected for each in kc.LogDir(path).verify().partitions) == len(expected)
    assert kc.LogDir(path).info().records == 3 * len(expected)
    assert kc.polars.scan(path).collect().height == 3 * len(expected)
    assert topics(f"local://{path}") == expected
    for command in ("verify", "dump", "info"):
        assert run([command, path]) == 0


@pytest.mark.parametrize("pattern", ["x-*", "*.nothing", "orders-eu-0/[0]"])
def test_nothing_matches(logs: Path, pattern: str) -> None:
    path = f"{logs}/{pattern}"
    with pytest.raises(FileNotFoundError, match="nothing matches this path") as raised:
        kc.scan(path)
    assert raised.value.filename == path
    assert run(["verify", path]) == 2


def test_matches_without_segments(logs: Path) -> None:
    (logs / "notes").mkdir()
    assert topics(f"{logs}/[np]*") == ["payments"]
    with pytest.raises(FileNotFoundError, match="no Kafka log segments in the matches"):
        kc.scan(f"{logs}/n*")


def test_a_name_with_wildcard_characters(logs: Path) -> None:
    """A path that exists is meant, whatever characters it has."""
    (logs / "orders-eu-0").rename(logs / "[o]-0")
    assert topics(f"{logs}/[o]-0") == ["[o]"]


@pytest.mark.parametrize(
    "pattern",
    ["*", "a*", "?b", "[ab]*", "[!a]*", "a/*", "*/*", "**", "a/**", "**/x", "a/**/x", "*/b/x", "*.log", "[a-b]/?", "a"],
)
def test_the_rules_are_those_of_fsspec(tmp_path: Path, pattern: str) -> None:
    for name in ("a/b/x", "a/x", "ab/c.log", "bb/b/x", "x", "c.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    filesystem, folder = open_filesystem(str(tmp_path))
    found = {path for path, _, _ in _kafkacomp.glob_matches(filesystem, folder, pattern)}
    expected = {path.rstrip("/") for path in fsspec.filesystem("file").glob(f"{tmp_path}/{pattern}")}
    # fsspec's `**` also matches the folder itself.
    assert found == expected - {str(tmp_path), str(tmp_path / "a") if pattern == "a/**" else ""}
