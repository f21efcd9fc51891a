"""Verify all files of a log directory, and that no segment is missing between them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._losses import LossIndex, missing_lines
from kafkacomp._storage.checkpoints import OffsetCheckpoints
from kafkacomp._storage.discovery import check as check_names
from kafkacomp._storage.discovery import copies_in
from kafkacomp._storage.files import BATCHES
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.loss_file import known_loss_fields
from kafkacomp._storage.names import SWAP, basename, parent_of, segment_offset
from kafkacomp._storage.partition import Partition, Segment
from kafkacomp._text import camel_case, json_fields, printable, time_text
from kafkacomp._threads import map_on_threads
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.log._check import CheckOptions, check_partition, is_too_large
from kafkacomp.log._rows import content_of_file, entries
from kafkacomp.log._verify import Finding, error_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.files import Files, SourceFile
    from kafkacomp._storage.listing import OtherFile
    from kafkacomp._storage.loss_file import KnownLoss, LossFile
    from kafkacomp.arrow._report import MissingRange
    from kafkacomp.log._verify import PartitionReport, SegmentReport

#: Kinds of files next to a segment, which are checked with it.
_WITH_SEGMENT = frozenset({"index", "timeindex", "txnindex"})
#: Kinds of files that the core reads; others are JSON and properties.
_OF_CORE = frozenset({*_WITH_SEGMENT, "snapshot", "leader-epoch-checkpoint", "offset-checkpoint", "partition.metadata"})
#: The most missing ranges of a partition that the text output shows.
_SHOWN = 20


class FileCoverage(NamedTuple):
    """The offsets and times that the intact batches of a segment cover.

    Attributes:
        file: The path of the segment.
        owner: The topic in the folder's name; otherwise the folder.
        first_offset: The first offset of an intact batch; ``None`` without intact batches.
        last_offset: The last one.
        missing: The number of offsets between them that no intact batch has.
        records: The number of records.
        bytes: The segment's length in bytes.
        first_timestamp: The least timestamp in milliseconds; ``None`` without timestamps.
        last_timestamp: The greatest one.

    Example:
        >>> import kafkacomp as kc
        >>> (file,) = kc.LogDir(example).verify().files
        >>> file.owner, file.first_offset, file.last_offset, file.records
        ('orders', 0, 4, 5)
    """

    file: str
    owner: str
    first_offset: int | None
    last_offset: int | None
    missing: int
    records: int
    bytes: int
    first_timestamp: int | None
    last_timestamp: int | None

    @classmethod
    def of(cls, file: str, owner: str, found: SegmentReport) -> FileCoverage:
        """The coverage of a segment that was checked."""
        first, last = found.first_offset, found.last_offset
        missing = 0
        if first is not None and last is not None:
            inside = ((max(each.first_offset, first), min(each.last_offset, last)) for each in found.missing)
            missing = sum(end - begin + 1 for begin, end in inside if begin <= end)
        records = sum(counts.records for counts in found.by_compression_type.values())
        times = found.first_timestamp, found.last_timestamp
        return cls(file, owner, first, last, missing, records, found.length, *times)

    def cells(self) -> list[str]:
        """The cells of its row in a table."""
        folder, name = basename(parent_of(self.file)), basename(self.file)
        numbers = (self.first_offset, self.last_offset, self.missing, self.records, self.bytes)
        times = (time_text(time, to_the_second=True) for time in (self.first_timestamp, self.last_timestamp))
        return [printable(f"{folder}/{name}" if folder else name), *(f"{number or 0:,}" for number in numbers), *times]


@dataclass
class LogDirReport:
    """The result of :meth:`kafkacomp.LogDir.verify`: what was found in all files of a log directory.

    Attributes:
        partitions: The report of each partition.
        segments_count: The number of segments that were checked.
        side_files_count: The number of other files of the logs that were checked.
        other_files: Files and folders that are no part of a log, or are left out of it, with sizes and reasons.
        counts: By topic and compression type: batches, records, stored bytes, bytes of records.
        errors: Corruption, missing offsets, and files that a log must not have.
        warnings: Anomalies that Kafka accepts; one for each other file that is no error.
        more: The number of findings that were dropped because a file has too many.
        corrupt_batches: The number of corrupt batches.
        repeated_batches: The number of repeated batches.
        unreadable_bytes: The number of bytes in batches that are corrupt.
        missing: Offsets that no segment of their partition has.
        more_missing: The number of further ranges.
        known_losses: Those of the missing offsets that loss files make known; they are no error.
        files: The coverage of each segment.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.LogDir(example).verify()
        >>> report.is_intact, report.segments_count, report.other_files
        (True, 1, [])
        >>> report.to_dict()["offsetsCovered"]
        5
    """

    partitions: list[PartitionReport] = field(default_factory=list)
    segments_count: int = 0
    side_files_count: int = 0
    other_files: list[OtherFile] = field(default_factory=list)
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    more: int = 0
    corrupt_batches: int = 0
    repeated_batches: int = 0
    unreadable_bytes: int = 0
    missing: list[MissingRange] = field(default_factory=list)
    more_missing: int = 0
    known_losses: list[KnownLoss] = field(default_factory=list)
    files: list[FileCoverage] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    @property
    def is_corrupt(self) -> bool:
        """Whether there is an error other than offsets that are missing where nothing is corrupt."""
        return any(not each.is_gap for each in self.errors)

    @property
    def covered_offsets_count(self) -> int:
        """The number of offsets that at least one segment of their partition has."""
        return sum(each.covered_offsets_count for each in self.partitions)

    @property
    def missing_offsets_count(self) -> int:
        """The number of offsets in ``missing`` that compaction does not explain."""
        return sum(each.missing_offsets_count for each in self.partitions)

    @property
    def compacted_offsets_count(self) -> int:
        """The number of offsets in ``missing`` that compaction removed."""
        return sum(each.compacted_offsets_count for each in self.partitions)

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict that ``json.dumps`` takes, with the field names of ``kafkacomp verify --json``."""
        names = ("batches", "records", "storedBytes", "recordsBytes")
        return {
            "ok": self.is_intact,
            "segments": self.segments_count,
            "sideFiles": self.side_files_count,
            **json_fields(self, "corrupt_batches", "repeated_batches", "unreadable_bytes"),
            "counts": [
                {"topic": topic, "compressionType": codec} | dict(zip(names, counts, strict=True))
                for (topic, codec), counts in sorted(self.counts.items())
            ],
            "errors": [_finding(each) for each in self.errors],
            "warnings": [_finding(each) for each in self.warnings],
            "moreFindings": self.more,
            "missing": [camel_case(each._asdict()) for each in self.missing],
            "moreMissing": self.more_missing,
            "knownLosses": [known_loss_fields(each) for each in self.known_losses],
            "files": [camel_case(each._asdict()) for each in self.files],
            "otherFiles": [json_fields(each, "path", "size", "reason", "is_error") for each in self.other_files],
            "offsetsCovered": self.covered_offsets_count,
            "offsetsMissing": self.missing_offsets_count,
            "offsetsCompacted": self.compacted_offsets_count,
        }

    def add(self, partition: Partition, found: PartitionReport) -> None:
        """Add what was found in a partition."""
        self.partitions.append(found)
        for each in found.findings:
            (self.errors if each.is_error else self.warnings).append(each)
        self.missing += found.missing
        self.more_missing += found.more_missing
        self.known_losses += found.known_losses
        for name, segment in found.segments.items():
            owner = partition.topic or basename(parent_of(os.path.abspath(name)))  # noqa: PTH100 - of URLs, too
            self.segments_count += 1
            self.files.append(FileCoverage.of(name, owner, segment))
            self.corrupt_batches += segment.corrupt_batches
            self.repeated_batches += segment.repeated_batches
            self.unreadable_bytes += segment.unreadable_bytes
            self.more += segment.more_findings
            for codec, counts in segment.by_compression_type.items():
                known = self.counts.get((owner, codec), (0, 0, 0, 0))
                self.counts[owner, codec] = [one + other for one, other in zip(known, counts, strict=True)]

    def add_others(self, others: Iterable[OtherFile]) -> None:
        """Add files and folders that are not read."""
        for each in others:
            self.other_files.append(each)
            size = "" if each.is_error else f" ({each.size:,} bytes)"
            found = Finding(each.path, 0, each.is_error, f"{each.reason}{size}")
            (self.errors if each.is_error else self.warnings).append(found)

    def missing_lines(self) -> Iterator[str]:
        """Lines of text, one for each partition; known losses have lines of their own."""
        index = LossIndex(self.known_losses)
        unknown = [part for each in self.missing for part, is_known in index.parts(each) if not is_known]
        yield from missing_lines(unknown, _SHOWN)
        yield from missing_lines(self.known_losses, _SHOWN, label="known loss")


def _finding(found: Finding) -> dict[str, Any]:
    return json_fields(found, "file", "position", "message", "first_offset", "last_offset")


def verify_files(found: Files, **options: Any) -> LogDirReport:  # noqa: ANN401 - handed on
    """Check all files; the options are those of :func:`verify`."""
    order = {file.name: place for place, file in enumerate(found.files)}
    listed = {segment.name for each in found.partitions for segment in each.segments}
    groups: dict[object, list[SourceFile]] = {}
    for file in found.files:
        if file.kind in BATCHES and file.name not in listed:
            groups.setdefault(file.name if _base_offset(file) is None else (file.kind, file.folder), []).append(file)
    for each in found.partitions:
        check_names(each)
    partitions = [*found.partitions, *(partition_of(group) for group in groups.values())]
    partitions.sort(key=lambda each: order.get(each.segments[0].name, -1))
    report = verify(partitions, **options)
    known = {file.path for file in found.files if file.kind in BATCHES}
    others = {each.path for each in found.others}
    for file in found.files:
        if file.kind not in BATCHES:
            report.side_files_count += 1
            if file.kind not in _WITH_SEGMENT or file.path.with_suffix(".log") not in known:
                report.errors += [error_at(file.name, *each) for each in _side_file(file, is_other=file.name in others)]
    report.add_others(found.others)
    report.warnings += [
        Finding(folder, 0, is_error=False, message=message) for folder, message in copies_in(found.partitions)
    ]
    return report


def verify(
    partitions: Sequence[Partition],
    *,
    max_output_size: int,
    threads: int,
    progress: Callable[[int], object],
    log_format: LogFormat = "auto",
    known_losses: Sequence[LossFile] = (),
) -> LogDirReport:
    """Check the segments of partitions.

    ``progress`` is called with the bytes done since the last call, from any thread.
    """
    report = LogDirReport()
    # A partition is read on several threads only if there are fewer partitions than threads.
    inside = max(1, threads // max(1, len(partitions)))
    options = CheckOptions(log_format, max_output_size, inside, known_losses, leaves_out_unread=True)

    def check(partition: Partition) -> PartitionReport:
        return check_partition(partition, options, progress)

    for partition, found in zip(partitions, map_on_threads(check, partitions, threads), strict=True):
        report.add(partition, found)
    return report


def partition_of(files: Sequence[SourceFile]) -> Partition:
    """The segments of a folder as a partition; the context is what its folder has besides, by which they are judged."""
    folder, is_local = files[0].folder, files[0].is_local
    topic, number = files[0].owner
    segments = [Segment(each.name, each.source, each.size, base_offset=_base_offset(each)) for each in files]
    partition = Partition(topic, number, segments)
    if is_local and topic is not None:
        # Files that were given one by one need not be all segments of a partition.
        partition.checkpoints = OffsetCheckpoints(*open_filesystem(parent_of(folder)))
    if segments[0].base_offset is None:
        return partition
    partition.has_loss_file = True
    given = {each.path.name for each in files}
    names = os.listdir(folder) if is_local else []  # noqa: PTH208 - paths are strings
    beside = sorted(set(names) - given)
    partition.snapshot = _kafkacomp.last_snapshot(names)
    suffix = ".kafka" if files[0].kind == "message set" else ".log"
    others = [
        Segment(f"{folder}/{name}", f"{folder}/{name}", 0, base_offset=segment_offset(name))
        for name in beside
        if segment_offset(name) is not None and name.endswith(suffix)
    ]
    partition.segments, partition.context = segments, others
    return partition


def _base_offset(file: SourceFile) -> int | None:
    return segment_offset(file.path.name.removesuffix(SWAP))


def _side_file(file: SourceFile, *, is_other: bool) -> Iterator[tuple[int, str]]:
    """Yield the errors of a side file: the byte, and the message; those of the listing are not among them."""
    faults: list[tuple[int, str]] = []
    try:
        if file.kind in _OF_CORE:
            faults = _kafkacomp.check_side_file(file.kind, file.path.name, content_of_file(file))
        else:
            entries(file)
    except KafkaCompError as error:
        yield error.position or 0, str(error).removeprefix(f"{file.name}: ")
        return
    except OSError as error:
        if not is_too_large(error):
            raise
        yield 0, error.strerror or str(error)
        return
    segment = file.path.with_suffix(".log")
    if file.kind in _WITH_SEGMENT and not is_other and file.is_local and not Path(segment).exists():
        yield 0, _kafkacomp.without_segment(file.path.name)
    yield from faults
