"""Verify segments and partitions more thoroughly than a broker's recovery does."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import byte_count, check_progress, checked_max_output_size, path_text
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, KnownBatches
from kafkacomp._storage.checkpoints import OffsetCheckpoints
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.listing import failure_text
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.names import SWAP, owner_of, parent_of, segment_offset
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.log._checkpoint_files import read_leader_epoch_checkpoint
from kafkacomp.log._detect import log_format_of
from kafkacomp.log._verify import (
    CheckedSegment,
    Finding,
    PartitionReport,
    SegmentReport,
    SegmentToVerify,
    error_at,
    verified_partition,
)
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkacomp._entries import LeaderEpochEntry
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.loss_file import LossFile
    from kafkacomp._types import StrPath
    from kafkacomp.log._side_files import PathOrBytes

#: Files that a broker ends with a complete batch; a captured record set may be truncated.
_WHOLE = (".log", ".checkpoint", ".kafka")
#: The range of all offsets.
_LEAST_OFFSET, _END_OFFSET = -(2**63), 2**63 - 1


def verify_segment(
    source: PathOrBytes | SegmentSource,
    *,
    next_base_offset: int | None = None,
    log_format: LogFormat = "auto",
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> SegmentReport:
    """Check every checksum and record of a segment, its offsets and leader epochs, and the index files next to it.

    In a log file of Kafka 0.7, every checksum and the messages of all levels are checked; ``batches`` in the report are
    then top-level messages, and offsets are byte positions.

    Corruption does not end the check, which resumes at the next intact batch. A batch that is out of place may be a
    copy of a batch in another segment. To detect this, up to as many bytes of the folder's other segments are read as
    the segment has, and 1 MiB more; :func:`verify_partition` reads all of them.

    Args:
        source: The path of a segment, whose index files are checked with it; a snapshot of the metadata log; or a
            record set, that is, bytes or a file of any other name, whose last batch may be truncated; or a
            :class:`kafkacomp.log.LogSegment`.
        next_base_offset: The base offset of the next segment. If it is given, offsets missing before it are reported,
            and zeros at the end of the segment are corruption. Default: the segment is the last one of its partition.
        log_format: ``0.7``, ``0.8+`` or ``auto``: see :func:`detect_log_format`.
        max_output_size: The most bytes that one batch's records may decompress to.
        progress: Called regularly as ``progress(bytes_done)``.

    Returns:
        The findings, the missing offsets, and counts by compression type. Corruption is reported, not raised.

    Raises:
        OSError: the file cannot be read.
        ValueError: ``log_format`` is unknown, or the content is valid in both log formats.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.log.verify_segment(kc.LogDir(example)["orders", 3].segments[0].path)
        >>> report.is_intact, report.first_offset, report.last_offset
        (True, 0, 4)
    """
    check_progress(progress)
    if isinstance(source, SegmentSource):
        partitions = resolve(source)
        segments = [segment for each in partitions for segment in each.segments]
        if len(segments) != 1:
            raise ValueError(f"source has {len(segments)} segments, not one: give one of its segments")
        segment, partition = segments[0], partitions[0]
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
        base = segment_offset(path.name.removesuffix(SWAP))
        folder = str(path.absolute().parent)
        segment = Segment(str(path), str(path), 0, base_offset=base)
        checkpoints = OffsetCheckpoints(*open_filesystem(parent_of(folder)))
        topic, number = owner_of(folder, path.name)
        partition = Partition(topic, number, [segment], checkpoints=checkpoints)
    else:
        size = byte_count("source", source)
        segment = Segment(f"<{size} bytes>", source, size)
        partition = Partition(None, None, [segment])
    return check_segment(
        segment,
        partition,
        next_base_offset=next_base_offset,
        log_format=log_format,
        max_output_size=max_output_size,
        progress=progress,
    )


def check_segment(
    segment: Segment,
    partition: Partition,
    *,
    max_output_size: int,
    next_base_offset: int | None = None,
    log_format: LogFormat = "auto",
    progress: Callable[[int], object] | None = None,
    known: KnownBatches | None = None,
    counted: tuple[int, int] | None = None,
) -> SegmentReport:
    """Verify a segment of any file system, as :func:`verify_segment` does.

    An index of more than 256 MiB is an error in the report, and is not read.

    ``known`` is shared by the checks of the segments of a folder. Without it, the search for copies is limited as in
    :func:`verify_segment`. ``counted`` are the offsets of the records that ``counts`` and times of the report are of.
    """
    name = segment.name
    is_named = not name.startswith("<")
    job = SegmentToVerify(
        segment.source,
        name,
        partition.topic,
        partition.partition,
        segment.base_offset,
        next_base_offset,
        partition.cleaned_to,
        may_be_truncated=not name.removesuffix(SWAP).endswith(_WHOLE),
        log_format=log_format_of(segment.source, name if is_named else None, log_format),
        counted=counted,
    )
    too_large: list[Finding] = []
    if is_named:
        job = replace(
            job,
            leader_epochs=_leader_epochs(segment),
            offset_index=_index(segment, "index", too_large),
            time_index=_index(segment, "timeindex", too_large),
            transaction_index=_index(segment, "txnindex", too_large),
        )
    report = _kafkacomp.verify_segment(job, checked_max_output_size(max_output_size), progress, known)
    if not too_large:
        return report
    findings = sorted((*report.findings, *too_large), key=lambda each: (each.file != "log", each.file, each.position))
    return replace(report, findings=tuple(findings), errors=report.errors + len(too_large))


def verify_partition(
    source: StrPath | SegmentSource,
    *,
    known_losses: StrPath | Sequence[StrPath] = (),
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
) -> PartitionReport:
    """Check all segments of a partition's folder, and that no segment is missing between them.

    Each segment is checked as :func:`verify_segment` does. Segments whose offsets overlap must have the same records.

    A log that :func:`repair`, :func:`recompress` or :func:`convert` has written contains a loss file,
    ``kafkacomp-repair.json``, with the offsets that the source had lost. These are known losses, and no error. One
    counts if the topic ids are the same, if both are known, and the batches before and after it have the offsets and
    checksums in the file. If the batch on one side is missing now, too, the offsets beyond the known loss are an error.

    Args:
        source: A folder ``<topic>-<partition>``, the URL of one, or a :class:`kafkacomp.LogPartition`.
        known_losses: Local paths of further loss files, for a log whose folder does not have its own.
        max_output_size: The most bytes that one batch's records may decompress to.

    Returns:
        The findings in all segments and their index files, and the missing offsets. Corruption is reported, not raised.

    Raises:
        OSError: a file cannot be read.
        ValueError: the source has several partitions; a file in ``known_losses`` is not a loss file.

    Example:
        >>> import kafkacomp as kc
        >>> kc.log.verify_partition(kc.LogDir(example)["orders", 3].path).is_intact
        True
    """
    is_model = isinstance(source, SegmentSource)
    path = repr(source) if is_model else path_text("source", source)
    found = resolve(source if is_model else path)
    if len(found) != 1:
        raise ValueError(f"{path}: contains {len(found)} partitions: give the folder of one")
    losses = loss_files_of(known_losses)
    return check_partition(found[0], known_losses=losses, max_output_size=max_output_size)


def check_partition(
    partition: Partition,
    *,
    log_format: LogFormat = "auto",
    known_losses: Sequence[LossFile] = (),
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    progress: Callable[[int], object] | None = None,
) -> PartitionReport:
    """Verify a partition of any file system; ``progress`` is called with the bytes since its last call.

    In the reports of the segments, ``counts`` and times leave out the records of offsets that a segment before has.
    """
    check = PartitionCheck(partition, log_format, max_output_size, progress, known_losses)
    reports: dict[str, SegmentReport] = {}
    counted_to = _LEAST_OFFSET
    for each in partition.segments:
        reports[each.name] = report = check.segment(each, counted_to)
        if each.base_offset is not None and report.last_offset is not None:
            end = report.last_offset + 1
            counted_to = max(counted_to, end if each.offsets is None else min(end, each.offsets[1]))
    return check.report(reports)


@dataclass(frozen=True)
class PartitionCheck:
    """The check of a partition, whose segments can be checked on several threads; see :func:`check_partition`."""

    partition: Partition
    log_format: LogFormat
    max_output_size: int
    progress: Callable[[int], object] | None = None
    #: Loss files besides that of the partition.
    known_losses: Sequence[LossFile] = ()
    _known: KnownBatches = field(default_factory=KnownBatches, init=False)

    @cached_property
    def _bases(self) -> list[int]:
        everything = (*self.partition.segments, *self.partition.context)
        return sorted(each.base_offset for each in everything if each.base_offset is not None)

    def segment(self, segment: Segment, counted_to: int = _LEAST_OFFSET) -> SegmentReport:
        """Verify one of the segments; records of offsets below ``counted_to`` are not counted."""
        done = 0

        def step(now: int) -> None:
            nonlocal done
            if self.progress is not None:
                self.progress(now - done)
            done = now

        base = segment.base_offset
        # If only a part of a segment is valid, it need not end where the next one begins.
        is_whole = base is not None and segment.offsets is None
        first, end = segment.offsets or (_LEAST_OFFSET, _END_OFFSET)
        return check_segment(
            segment,
            self.partition,
            next_base_offset=next((each for each in self._bases if is_whole and each > (base or 0)), None),
            log_format=self.log_format,
            max_output_size=self.max_output_size,
            progress=step,
            known=self._known,
            counted=None if base is None else (max(first, counted_to), end),
        )

    def report(self, found: Mapping[str, SegmentReport]) -> PartitionReport:
        """Compare the segments with one another; those without a report, by their names, are left out."""
        checked = [
            CheckedSegment(each.name, each.base_offset, found[each.name], each.source, each.offsets, each.named_offset)
            for each in self.partition.segments
            if each.name in found
        ]
        report = verified_partition(self.partition, checked, self.max_output_size, self.known_losses)
        failures = tuple(error_at(path, 0, failure_text(path, error)) for path, error in self.partition.failures)
        return replace(report, findings=report.findings + failures) if failures else report


def _leader_epochs(segment: Segment) -> list[LeaderEpochEntry]:
    """The entries of the partition's leader epoch checkpoint; a corrupt or huge one is reported separately."""
    try:
        return read_leader_epoch_checkpoint(segment.leader_epoch_checkpoint() or b"")
    except CorruptRecordError:
        return []
    except OSError as error:
        if is_too_large(error):
            return []
        raise


def _index(segment: Segment, suffix: str, too_large: list[Finding]) -> bytes | None:
    """Read an index next to the segment; if it is too large, add an error to ``too_large``."""
    try:
        return segment.side_file(suffix)
    except OSError as error:
        if not is_too_large(error):
            raise
        too_large.append(error_at(suffix, 0, error.strerror or str(error)))
        return None


def is_too_large(error: OSError) -> bool:
    """Whether a file next to a segment is not read because of its size."""
    return error.errno == errno.EFBIG
