"""``kafkacomp verify``: check all files of logs, and that no segment is missing between them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkacomp import _kafkacomp, log
from kafkacomp._cli.side_files import entries
from kafkacomp._storage.files import BATCHES
from kafkacomp._storage.names import SWAP, basename, owner_of, parent_of, segment_offset
from kafkacomp._storage.partition import LocalSegment, Segment
from kafkacomp._text import camel_case, printable, time_text
from kafkacomp._threads import map_on_threads
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.log._check import check_partition, check_segment
from kafkacomp.log._verify import CheckedSegment, verified_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.files import SourceFile
    from kafkacomp._storage.partition import Partition
    from kafkacomp.arrow._report import MissingRange

#: Indexes that are checked with their segment.
_WITH_SEGMENT = frozenset({"index", "timeindex", "txnindex"})
#: Kinds of files that follow one another in a partition.
_SEGMENTS = frozenset({"log", "message set"})
#: The most missing ranges of a partition that the text output shows.
_SHOWN = 20


class Finding(NamedTuple):
    """An error or a warning."""

    file: str
    #: The byte in the file.
    position: int
    message: str
    #: The first and the last offset that are missing.
    first_offset: int | None = None
    last_offset: int | None = None


class FileCoverage(NamedTuple):
    """The offsets and times that the intact batches of a segment cover."""

    file: str
    #: The topic in the folder's name; otherwise the folder.
    owner: str
    first_offset: int | None
    last_offset: int | None
    #: Offsets between the first and the last that no intact batch has.
    missing: int
    records: int
    bytes: int
    #: The least and the greatest timestamp in milliseconds; ``None`` without timestamps.
    first_timestamp: int | None
    last_timestamp: int | None

    @property
    def offsets(self) -> int:
        """The number of offsets of its batches."""
        if self.first_offset is None or self.last_offset is None:
            return 0
        return self.last_offset - self.first_offset + 1 - self.missing

    @classmethod
    def of(cls, file: str, owner: str, found: log.SegmentReport) -> FileCoverage:
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
class Report:
    """The findings in all files."""

    segments: int = 0
    side_files: int = 0
    #: By topic and compression type: batches, records, stored bytes, bytes of records.
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    #: The number of findings that were dropped because a file has too many.
    more: int = 0
    corrupt_batches: int = 0
    repeated_batches: int = 0
    unreadable_bytes: int = 0
    #: Offsets that no segment of their partition has.
    missing: list[MissingRange] = field(default_factory=list)
    more_missing: int = 0
    #: The coverage of each segment.
    files: list[FileCoverage] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("batches", "records", "storedBytes", "recordsBytes")
        return {
            "ok": self.is_intact,
            "segments": self.segments,
            "sideFiles": self.side_files,
            "corruptBatches": self.corrupt_batches,
            "repeatedBatches": self.repeated_batches,
            "unreadableBytes": self.unreadable_bytes,
            "counts": [
                {"topic": topic, "compressionType": codec} | dict(zip(names, counts, strict=True))
                for (topic, codec), counts in sorted(self.counts.items())
            ],
            "errors": [camel_case(each._asdict()) for each in self.errors],
            "warnings": [camel_case(each._asdict()) for each in self.warnings],
            "moreFindings": self.more,
            "missing": [camel_case(each._asdict()) for each in self.missing],
            "moreMissing": self.more_missing,
            "files": [camel_case(each._asdict()) for each in self.files],
            "offsetsCovered": sum(each.offsets for each in self.files),
        }

    def missing_lines(self) -> Iterator[str]:
        """Lines of text, one for each partition."""
        for (topic, partition), ranges in groupby(self.missing, key=lambda each: (each.topic, each.partition)):
            listed = list(ranges)
            shown = ", ".join(
                f"{each.first_offset}{'' if each.first_offset == each.last_offset else f' to {each.last_offset}'} "
                f"({each.reason})"
                for each in listed[:_SHOWN]
            )
            name = "unknown partition" if topic is None else f"{topic}-{partition}"
            others = f", and {len(listed) - _SHOWN} more ranges" if len(listed) > _SHOWN else ""
            yield f"missing: {name}: offsets {shown}{others}"


def verify(
    files: Sequence[SourceFile],
    *,
    max_output_size: int,
    threads: int,
    progress: Callable[[int], object],
    log_format: LogFormat = "auto",
) -> Report:
    """Check all files; ``progress`` is called with the bytes done since the last call, from any thread."""
    report = Report()
    segments = [file for file in files if file.kind in BATCHES]
    known = {file.path for file in segments}
    begins = _begins(segments)
    batches = {file.folder: _kafkacomp.KnownBatches() for file in segments}
    following = {file.name: base for group in _partitions(segments, begins) for file, base in _following(group, begins)}

    def check(file: SourceFile) -> log.SegmentReport | OSError:
        in_partition = (_begin(file, begins), following.get(file.name), batches[file.folder])
        return _segment(file, in_partition, max_output_size, progress, log_format)

    found = {}
    for file, each in zip(segments, map_on_threads(check, segments, threads), strict=True):
        if isinstance(each, OSError):
            report.errors.append(Finding(file.name, 0, each.strerror or str(each)))
        else:
            found[file.name] = each
    for group in _partitions([file for file in segments if file.name in found], begins):
        _add_partition(report, group, found, max_output_size, begins)
    for file in files:
        if file.kind in BATCHES or (file.kind in _WITH_SEGMENT and file.path.with_suffix(".log") in known):
            report.side_files += file.kind not in BATCHES
            continue
        report.side_files += 1
        report.errors += [Finding(file.name, position, message) for position, message in _side_file(file)]
    return report


def verify_read(
    partitions: Sequence[Partition],
    *,
    max_output_size: int,
    threads: int,
    progress: Callable[[int], object],
    log_format: LogFormat = "auto",
) -> Report:
    """Check the segments and offsets of tiered storage that a scan reads."""
    report = Report()

    def check(partition: Partition) -> log.PartitionReport:
        return check_partition(partition, log_format=log_format, max_output_size=max_output_size, progress=progress)

    for partition, found in zip(partitions, map_on_threads(check, partitions, threads), strict=True):
        for segment in partition.segments:
            owner = partition.topic or basename(parent_of(segment.name))
            _add(report, segment.name, owner, found.segments[segment.name])
        _add_found(report, found)
    return report


def _begins(segments: Sequence[SourceFile]) -> dict[str, int]:
    """The first offsets of segments in folders where a name is wrong, by path."""
    found = {}
    for folder in {file.folder for file in segments if file.kind == "log" and file.stored is None}:
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".log")]  # noqa: PTH118, PTH208
        named = ((segment_offset(basename(path)), path) for path in paths)
        ordered = sorted((base, path) for base, path in named if base is not None)
        for each in _kafkacomp.misnamed_segments([LocalSegment(path, base) for base, path in ordered]):
            found[ordered[each.index][1]] = each.first_offset
    return found


def _partitions(segments: Sequence[SourceFile], begins: Mapping[str, int]) -> list[list[SourceFile]]:
    """Group the segments by partition in the order of their base offsets; other files are on their own."""
    groups: dict[object, list[SourceFile]] = {}
    for file in segments:
        is_segment = file.kind in _SEGMENTS and _base_offset(file) is not None
        groups.setdefault((file.kind, file.folder) if is_segment else ("file", file.name), []).append(file)
    for group in groups.values():
        group.sort(key=lambda file: (_begin(file, begins) or 0, file.path.name))
    return list(groups.values())


def _base_offset(file: SourceFile) -> int | None:
    return segment_offset(file.path.name.removesuffix(SWAP))


def _begin(file: SourceFile, begins: Mapping[str, int]) -> int | None:
    return begins.get(os.path.join(file.folder, file.path.name), _base_offset(file))  # noqa: PTH118 - a key


def _following(group: Sequence[SourceFile], begins: Mapping[str, int]) -> Iterator[tuple[SourceFile, int]]:
    """Yield each segment that has a next one in its folder, with the base offset of that."""
    kind = group[0].kind
    if _base_offset(group[0]) is None or kind not in _SEGMENTS:
        return
    beside: list[int | None] = []
    if group[0].stored is None:
        folder = group[0].folder
        is_old = kind == "message set"
        names = [name for name in os.listdir(folder) if name.endswith(".kafka") == is_old]  # noqa: PTH208
        beside = [begins.get(os.path.join(folder, name), segment_offset(name)) for name in names]  # noqa: PTH118
    own = [_begin(file, begins) for file in group]
    bases = sorted({base for base in (*beside, *own) if base is not None})
    for file, begin in zip(group, own, strict=True):
        base = next((each for each in bases if each > (begin or 0)), None)
        if base is not None:
            yield file, base


def _segment(
    file: SourceFile,
    in_partition: tuple[int | None, int | None, _kafkacomp.KnownBatches],
    max_output_size: int,
    progress: Callable[[int], object],
    log_format: LogFormat,
) -> log.SegmentReport | OSError:
    """The report of a segment, or the error of an object whose bytes do not match its manifest."""
    done = 0

    def step(now: int) -> None:
        nonlocal done
        progress(now - done)
        done = now

    base, following, known = in_partition
    log_format = "0.8+" if file.kind == "checkpoint" else log_format
    try:
        return check_segment(
            Segment(file.name, file.source, file.size, base_offset=base),
            owner_of(file.folder),
            next_base_offset=following,
            log_format=log_format,
            max_output_size=max_output_size,
            progress=step,
            known=known,
        )
    except OSError as error:
        if file.stored is None or error.errno not in {errno.EIO, errno.ENOENT}:
            raise
        return error


def _add_partition(
    report: Report,
    group: Sequence[SourceFile],
    found: dict[str, log.SegmentReport],
    max_output_size: int,
    begins: Mapping[str, int],
) -> None:
    folder = group[0].folder
    owner = owner_of(folder)
    segments = []
    for file in group:
        base = _begin(file, begins) if file.kind in _SEGMENTS else None
        named = None if base is None or base == _base_offset(file) else _base_offset(file)
        segments.append(CheckedSegment(file.name, base, found[file.name], file.source, named_offset=named))
    # Files that were given one by one need not be all segments of a partition.
    cleaned_to = None if group[0].stored else _cleaned_to(Path(folder), owner)
    for file in group:
        _add(report, file.name, file.owner, found[file.name])
    _add_found(report, verified_partition(owner, segments, cleaned_to, max_output_size))


def _add_found(report: Report, found: log.PartitionReport) -> None:
    for each in found.findings:
        entry = Finding(each.file, each.position, each.message, each.first_offset, each.last_offset)
        (report.errors if each.is_error else report.warnings).append(entry)
    report.missing += found.missing
    report.more_missing += found.more_missing


def _cleaned_to(folder: Path, owner: tuple[str | None, int | None]) -> int | None:
    """The offset below which compaction has cleaned a partition; a corrupt checkpoint is reported separately."""
    try:
        entries = log.read_offset_checkpoint(folder.parent / "cleaner-offset-checkpoint")
    except (OSError, KafkaCompError):
        return None
    return next((each.offset for each in entries if (each.topic, each.partition) == owner), None)


def _add(report: Report, file: str, owner: str, found: log.SegmentReport) -> None:
    report.segments += 1
    report.files.append(FileCoverage.of(file, owner, found))
    report.corrupt_batches += found.corrupt_batches
    report.repeated_batches += found.repeated_batches
    report.unreadable_bytes += found.unreadable_bytes
    report.more += found.more_findings
    for codec, counts in found.by_compression_type.items():
        sums = report.counts.setdefault((owner, codec), [0, 0, 0, 0])
        for index, count in enumerate(counts):
            sums[index] += count


def _side_file(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield the errors of a side file: the byte, and the message."""
    try:
        rows = entries(file)
    except KafkaCompError as error:
        yield error.position or 0, str(error).removeprefix(f"{file.name}: ")
        return
    is_local = file.stored is None
    if file.kind in _WITH_SEGMENT and is_local and not Path(file.path).with_suffix(".log").exists():
        yield 0, f"index without a segment: {file.path.with_suffix('.log').name} does not exist"
    if file.kind == "leader-epoch-checkpoint":
        for before, after in pairwise(rows):
            if after["epoch"] <= before["epoch"] or after["startOffset"] < before["startOffset"]:
                yield 0, f"epoch {after['epoch']} does not follow epoch {before['epoch']}"
