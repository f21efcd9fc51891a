"""``kafkacomp dump --deep`` against the lines that kafka-dump-log --deep-iteration printed."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import pytest

from kafkacomp._cli import main

from .expect import (
    ModernCase,
    expectations,
    modern_batches,
    modern_cases,
    modern_records,
    segment_expectation,
    segments,
)

if TYPE_CHECKING:
    from pathlib import Path

CASES = modern_cases()
# What a record's line says before its content: the schemas inside internal topics' records are not decoded.
RECORD = re.compile(r"\| offset: .* headerKeys: \[[^\]]*\]")
MARKER = re.compile(r"endTxnMarker: \w+ coordinatorEpoch: -?\d+")


def dumps() -> list[tuple[Path, Path]]:
    """Segments and checkpoints with what kafka-dump-log printed for them."""
    found = []
    for case in CASES:
        for partition in case.partitions():
            for segment in segments(partition):
                for name in (f"{segment.name}.dump.txt.gz", f"{segment.stem}.dump.txt.gz"):
                    if (expectations(partition) / name).exists():
                        found.append((segment, expectations(partition) / name))
                        break
    return found


def essentials(lines: list[str]) -> list[str]:
    """The batches' lines, and the records' up to their content."""
    kept = []
    for line in lines:
        if line.startswith("baseOffset: "):
            kept.append(line)
        elif matched := RECORD.match(line):
            marker = MARKER.search(line, matched.end())
            kept.append(matched[0] + (marker[0] if marker else ""))
    return kept


@pytest.mark.parametrize(
    ("segment", "printed"),
    dumps(),
    ids=[f"{number}-{segment.parent.name}" for number, (segment, _) in enumerate(dumps())],
)
def test_dump_has_the_lines_of_kafka_dump_log(segment: Path, printed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Batches to the letter; records with offset, time, sizes, sequence, header keys; transaction markers."""
    assert main(["dump", "--deep", "--format", "kafka", str(segment)]) == 0
    found = essentials(capsys.readouterr().out.splitlines())
    expected = essentials(gzip.decompress(printed.read_bytes()).decode().splitlines())
    assert expected or not segment.stat().st_size
    for number, (left, right) in enumerate(zip(found, expected, strict=False)):
        assert left == right, number
    assert len(found) == len(expected)


@pytest.mark.parametrize("case", [case for case in CASES if not case.damaged], ids=str)
def test_dump_and_verify_by_json(case: ModernCase, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a batch, and one report, of every partition that a broker wrote."""
    for partition in case.partitions():
        batches = [line for segment in segments(partition) for line in modern_batches(segment)[0]]
        assert main(["verify", "--json", str(partition)]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["ok"] is True
        assert report["corruptBatches"] == 0
        assert sum(counts["batches"] for counts in report["counts"]) == len(batches)
        assert sum(counts["records"] for counts in report["counts"]) == sum(line["count"] for line in batches)
        for segment in segments(partition):
            assert main(["dump", "--json", str(segment)]) == 0
            lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            found = [(line["position"], line["size"], line["crc"]) for line in lines if line["type"] == "batch"]
            wanted = [(line["position"], line["sizeInBytes"], line["crc"]) for line in modern_batches(segment)[0]]
            assert found == wanted


@pytest.mark.parametrize("case", [case for case in CASES if case.damaged], ids=str)
def test_dump_and_verify_of_damaged_files(case: ModernCase, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1, the file and the byte; a tail of zeros is fine."""
    (segment,) = segments(case.partitions()[0])
    fine = "zero-tail" in case.name
    lines, stop = modern_batches(segment)
    bad = [line["position"] for line in lines if not line["valid"]] or [stop["position"] if stop else -1]
    assert main(["verify", str(segment)]) == (0 if fine else 1)
    said = capsys.readouterr()
    if not fine:
        assert segment.name in said.out + said.err
        assert f"byte {bad[0]}" in said.out + said.err
    for options in ([], ["--deep"]):
        assert main(["dump", *options, str(segment)]) == (0 if fine else 1)
        said = capsys.readouterr()
        if not fine:
            assert segment.name in said.err
            assert f"byte {bad[0]}" in said.err
    assert main(["dump", "--deep", "--json", str(segment)]) == (0 if fine else 1)
    dumped = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    offsets = {line["offset"] for line in dumped if line["type"] == "record"}
    readable = {r.offset for r in modern_records(segment_expectation(segment, "records.jsonl.gz"))}
    damaged = {o for line in lines if not line["valid"] for o in range(line["baseOffset"], line["lastOffset"] + 1)}
    assert readable - damaged <= offsets
