"""Verify segments and partitions: what a broker's recovery would find, and more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._storage.filesystem import open_local
from kafkacomp._storage.names import SWAP, partition_of, segment_offset, side_file, tiered_partition_of
from kafkacomp.arrow._report import MissingRange
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.log._detect import detect_log_format
from kafkacomp.log._side_files import read_leader_epoch_checkpoint
from kafkacomp.log._verify import CodecCounts, Finding, PartitionReport, SegmentReport, verified_partition
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp._log_format import LogFormat
    from kafkacomp.log._side_files import PathOrBytes

__all__ = ["verify_partition", "verify_segment"]

#: Files that a broker ends with a complete batch; a captured record set may be truncated.
_WHOLE = (".log", ".checkpoint", ".kafka")


def verify_segment(
    source: PathOrBytes,
    *,
    next_base_offset: int | None = None,
    log_format: LogFormat = "auto",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> SegmentReport:
    """Check every checksum and every record of a segment, its offsets and leader epochs, and the indexes next to it.

    Of a log file of Kafka 0.7 every checksum and every message of all levels; the report's batches are its top-level
    messages then, and its offsets where the file begins and ends.

    Corruption does not end the check; it resumes at the next intact batch.

    Args:
        source: A segment (indexes of the same name are checked with it), a snapshot of the metadata log, or a record
            set, whose end may be truncated: a file of any other name, or bytes.
        next_base_offset: The base offset of the next segment. Offsets that are missing up to there are reported, and
            zeros at the end are corruption; without it, the segment is taken for the last one of its partition.
        log_format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_log_format`.
        max_output_size: The most bytes that one batch's records may decompress to.
        progress: Called as ``progress(bytes_done)`` now and then.

    Raises:
        OSError: the file cannot be read.
        ValueError: an unknown ``log_format``, or content that both log formats could have.
    """
    old = detect_log_format(source, log_format) == "0.7"
    topic: str | None = None
    partition: int | None = None
    if not isinstance(source, str | os.PathLike):
        nothing = (None, None, None)
        bounds: tuple[int | None, int | None, list[tuple[int, int]]] = (None, None, [])
        segment = f"<{memoryview(source).nbytes} bytes>"
        counts = _kafkacomp.verify_segment(source, bounds, nothing, max_output_size, (True, old), progress)
    else:
        path = Path(source)
        segment = str(path)
        indexes = _beside(path, "index"), _beside(path, "timeindex"), _beside(path, "txnindex")
        name = path.name.removesuffix(SWAP)
        folder = path.absolute().parent
        topic, partition = partition_of(folder.name) or tiered_partition_of(str(folder)) or (None, None)
        bounds = (segment_offset(name), next_base_offset, _leader_epochs(path))
        kind = (not name.endswith(_WHOLE), old)
        counts = _kafkacomp.verify_segment(segment, bounds, indexes, max_output_size, kind, progress)
    codecs = {name: CodecCounts(*each) for name, each in counts.pop("by_compression_type").items()}
    findings = tuple(Finding(*each) for each in counts.pop("findings"))
    missing = tuple(
        MissingRange(topic, partition, first, last, segment, reason) for first, last, reason in counts.pop("missing")
    )
    return SegmentReport(by_compression_type=codecs, findings=findings, missing=missing, **counts)


def verify_partition(
    source: str | os.PathLike[str], *, max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
) -> PartitionReport:
    """Check all segments of a partition's folder, and whether they follow one another.

    Besides what :func:`verify_segment` finds, this finds missing segments, and compares the records of segments that
    have offsets in common.

    Args:
        source: A local folder ``<topic>-<partition>``.
        max_output_size: The most bytes that one batch's records may decompress to.

    Raises:
        OSError: a file cannot be read.
        ValueError: the folder is not that of one partition.
    """
    found = resolve(os.fspath(source))
    if len(found) != 1:
        raise ValueError(f"{os.fspath(source)}: {len(found)} partitions; give the folder of one")
    owner = (found[0].topic, found[0].partition)
    bases = [each.base_offset for each in found[0].segments]
    segments = []
    for index, segment in enumerate(found[0].segments):
        base = segment.base_offset
        following = None if base is None else next((b for b in bases[index:] if b is not None and b > base), None)
        report = verify_segment(segment.name, next_base_offset=following, max_output_size=max_output_size)
        segments.append((segment.name, base, report))
    return verified_partition(owner, segments, found[0].cleaned_to, max_output_size)


def _beside(segment: Path, suffix: str) -> bytes | None:
    try:
        with open_local(side_file(str(segment), suffix)) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _leader_epochs(segment: Path) -> list[tuple[int, int]]:
    """The entries of the partition's checkpoint; a corrupt one is reported as a file of its own."""
    try:
        return [(entry.epoch, entry.start_offset) for entry in
                read_leader_epoch_checkpoint(segment.with_name("leader-epoch-checkpoint"))]  # fmt: skip
    except (FileNotFoundError, CorruptRecordError):
        return []
