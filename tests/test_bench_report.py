"""The report of `make bench`: every aim has its line, and a ratio below its aim is called short."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHES = Path(__file__).resolve().parent.parent / "benches"


@pytest.fixture(name="write_report")
def _write_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCHES), *sys.path])
    module = importlib.import_module("write_report")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "CRITERION", tmp_path / "criterion")
    return module


def test_no_results(write_report: ModuleType, tmp_path: Path) -> None:
    write_report.main()
    text = (tmp_path / "report.md").read_text()
    assert "0 of 0 aims are met" in text
    aims = tomllib.loads((BENCHES / "aims.toml").read_text())
    assert text.count("Not measured") == len(aims)


def test_aims_are_held_against_results(write_report: ModuleType, tmp_path: Path) -> None:
    machine = {"date": "2026-01-01", "commit": "abc", "cpu": "a cpu", "load": "0.1 at the end"}
    _give(tmp_path / "compare-java.json", {"machine": machine, "rounds": 3, "results": [_java("none"), _java("lz4")]})
    ratios = {"views by limit": 0.86} | {
        f"{kind} {what}": ratio
        for kind, last in (("views", 0.951), ("binary", 0.9), ("views_file", 0.96), ("binary_file", 0.94))
        for what, ratio in (("threads", 1.79), ("processes", 1.9), ("threads by processes", last))
    }
    fastest = {
        f"{kind}_{side}": nanoseconds
        for kind in ("views", "binary", "views_file", "binary_file")
        for side, nanoseconds in (("1", 20.0), ("2", 11.0), ("processes", 21.0))
    }
    limits = [{"codec": codec, "batch": "16k", "ratios": ratios, "fastest": fastest} for codec in ("none", "lz4")]
    limits[0]["ratios"] = ratios | {
        f"{kind} processes": 1.7 for kind in ("views", "binary", "views_file", "binary_file")
    }
    _give(tmp_path / "compare-limits.json", {"machine": machine, "rounds": 3, "results": limits})
    built = {"codec": "zstd", "batch": "1", "size": 1.001, "ratios": {"ours": 9.99}, "share": 0.84}
    snappy = {"codec": "snappy", "batch": "16k", "size": 1.0, "ratios": {"ours": 1.31}, "share": 0.9}
    _give(tmp_path / "compare-build.json", {"machine": machine, "rounds": 3, "results": [built, snappy]})
    streams = [
        {"codec": "gzip", "way": "write", "by": name, "mb_per_s": 1.0, "ratio": ratio, "size": size}
        for name, ratio, size in (
            ("kafkacomp", 1.0, 1.0),
            ("gzip", 1.2, 1.01),
            ("isal", 0.1, 1.5),
            ("limit", 0.85, 1.0),
        )
    ]
    _give(tmp_path / "compare-streams.json", {"machine": machine, "rounds": 3, "results": streams})
    stages = [("iterate", "aiokafka", [4.0, 8.0, 90.0]), ("iterate", "kafkacomp", [2.0, 4.0, 30.0])]
    peers = [
        {"compression_type": "gzip", "level": 9, "stage": stage, "by": by, "seconds": {"rounds": rounds}}
        for stage, by, rounds in [*stages, ("arrow", "kafkacomp", [1.0, 2.0, 45.0])]
    ]
    shares = [{"compression_type": "gzip", "level": 9, "seconds": {"limit": 0.8, "scan": 1.0}, "share": 0.8}]
    facts = {"date": "2026-01-01", "machine": {"cpu": "a cpu", "cores": 2, "load_average": 0.1}, "versions": {}}
    _give(tmp_path / "compare-peers.json", {"16k": {**facts, "results": peers, "limits": shares}})
    write_report.main()
    text = (tmp_path / "report.md").read_text()
    for line in (
        "10 of 21 aims are met.",
        "at 86% of the speed of the codec's own library",
        "reach 96% of the throughput of two independent processes",
        "come 1.4 times as fast as Kafka's Java consumer path",
        "| lz4, 16k | 0.85 | 0.86 | met | Java: touch 1.00, copy 1.40 |",
        "| lz4, 16k, views, memory: by processes | 0.95 | 0.95 | met | fastest passes 0.95 |",
        "| lz4, 16k, binary, memory: by processes | 0.95 | 0.90 | **short** |",
        "| lz4, 16k, binary, file: by processes | 0.95 | 0.94 | **short** |",
        "| lz4, 16k, views, memory: by one thread | 1.8 | 1.79 | **short** | fastest passes 1.82, two processes 1.90 |",
        "| none, 16k, memory, views / touch | 0.97 | 1.00 | met | by processor time 0.50 |",
        "| none, 16k, memory, views / copy | 1.5 | 1.40 | **short** | by processor time 0.60 |",
        "| arrow, gzip 9, 16k: by the limit | 0.85 | 0.80 | **short** | aiokafka: 4.00 |",
        "| iterate, gzip 9, 16k | 1 | 2.00 | met |",
        "| zstd, 1, size 1.001 of Java's: by the limit | 0.85 | 0.84 | **short** | Java: 9.99 |",
        "| snappy, 16k, size 1.000 of Java's: by the limit | 0.85 | 0.90 | met | Java: 1.31 |",
        "| snappy, 16k, size 1.000 of Java's: by Java | 1.3 | 1.31 | met | share of the limit 0.90 |",
        "| gzip, write | 0.85 | 0.85 | met | gzip: 1.20 |",
    ):
        assert line in text
    # No aim where two processes do not reach it.
    assert "none, 16k, views, memory: by one thread" not in text


def _java(codec: str) -> dict[str, Any]:
    views = {"touch": 1.0, "copy": 1.4}
    common = {"codec": codec, "batch": "16k", "mode": "memory", "ratios": {"poll": 1.41}}
    return {**common, "views_ratios": views, "views_cpu_ratios": {"touch": 0.5, "copy": 0.6}}


def _give(path: Path, report: dict[str, Any]) -> None:
    path.write_text(json.dumps(report))
