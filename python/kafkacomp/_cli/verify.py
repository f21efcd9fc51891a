"""``kafkacomp verify``: is every byte of these files as it should be?"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kafkacomp import log
from kafkacomp._cli.files import BATCHES
from kafkacomp._cli.message_sets import broken_chain
from kafkacomp._cli.side_files import entries
from kafkacomp._names import side_file
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkacomp._cli.files import SourceFile

__all__ = ["Report", "verify"]

#: Indexes that are checked with their segment.
_WITH_SEGMENT = frozenset({"index", "timeindex", "txnindex"})


@dataclass
class Report:
    """What all files together amount to."""

    segments: int = 0
    side_files: int = 0
    #: By topic and compression type: batches, records, stored bytes, bytes of records.
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    #: file, byte, message of what is damaged.
    errors: list[tuple[str, int, str]] = field(default_factory=list)
    #: file, byte, message of what is odd.
    warnings: list[tuple[str, int, str]] = field(default_factory=list)
    #: Findings beyond those that are kept of one file.
    more: int = 0
    bad_batches: int = 0
    unreadable_bytes: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("batches", "records", "storedBytes", "recordsBytes")
        finding = ("file", "position", "message")
        return {
            "ok": self.sound,
            "segments": self.segments,
            "sideFiles": self.side_files,
            "badBatches": self.bad_batches,
            "unreadableBytes": self.unreadable_bytes,
            "counts": [
                {"topic": topic, "compressionType": codec} | dict(zip(names, counts, strict=True))
                for (topic, codec), counts in sorted(self.counts.items())
            ],
            "errors": [dict(zip(finding, each, strict=True)) for each in self.errors],
            "warnings": [dict(zip(finding, each, strict=True)) for each in self.warnings],
            "moreFindings": self.more,
        }


def verify(
    files: Sequence[SourceFile],
    *,
    max_output_size: int,
    threads: int,
    progress: Callable[[int], object],
    form: str = "auto",
) -> Report:
    """Check all files; ``progress`` is called with the bytes done since the last call, from any thread."""
    report = Report()
    segments = [file for file in files if file.kind in BATCHES]
    known = {file.path for file in segments}
    with ThreadPoolExecutor(threads) as pool:
        checked = pool.map(lambda file: _segment(file, max_output_size, progress, form), segments)
        try:
            for file, found in zip(segments, checked, strict=True):
                _add(report, file, found)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for file in files:
        if file.kind in BATCHES or (file.kind in _WITH_SEGMENT and file.path.with_suffix(".log") in known):
            report.side_files += file.kind not in BATCHES
            continue
        report.side_files += 1
        report.errors += [(str(file.path), position, message) for position, message in _side_file(file)]
    return report


def _segment(file: SourceFile, max_output_size: int, progress: Callable[[int], object], form: str) -> log.SegmentReport:
    done = 0

    def step(now: int) -> None:
        nonlocal done
        progress(now - done)
        done = now

    form = "0.8+" if file.kind == "checkpoint" else form
    return log.verify_segment(file.path, format=form, max_output_size=max_output_size, progress=step)


def _add(report: Report, file: SourceFile, found: log.SegmentReport) -> None:
    report.segments += 1
    report.bad_batches += found.bad_batches
    report.unreadable_bytes += found.unreadable_bytes
    report.more += found.more_findings
    for codec, counts in found.by_compression_type.items():
        sums = report.counts.setdefault((file.owner, codec), [0, 0, 0, 0])
        for index, count in enumerate(counts):
            sums[index] += count
    broken = broken_chain(file)
    if broken is not None:
        report.errors.append((str(file.path), 0, broken))
    for finding in found.findings:
        path = file.path if finding.file == "log" else side_file(str(file.path), finding.file)
        entry = (str(path), finding.position, finding.message)
        (report.errors if finding.is_error else report.warnings).append(entry)


def _side_file(file: SourceFile) -> Iterator[tuple[int, str]]:
    """What is wrong with a side file: the byte, and the message."""
    try:
        rows = entries(file)
    except KafkaCompError as error:
        yield error.position or 0, str(error).removeprefix(f"{os.fspath(file.path)}: ")
        return
    if file.kind in _WITH_SEGMENT and not file.path.with_suffix(".log").exists():
        yield 0, f"an index without its log: its segment {file.path.with_suffix('.log').name} is not there"
    if file.kind == "leader-epoch-checkpoint":
        for before, after in pairwise(rows):
            if after["epoch"] <= before["epoch"] or after["startOffset"] < before["startOffset"]:
                yield 0, f"epoch {after['epoch']} does not follow on epoch {before['epoch']}"
