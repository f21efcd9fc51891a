"""Verify segments and partitions more thoroughly than a broker's recovery does."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._arguments import PATH_OR_BYTES, bytes_view, check_progress, checked_max_output_size, integer, path_text
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._log_format import check_log_format
from kafkacomp._storage.checkpoints import COPY_CLEANED, OffsetCheckpoints
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.listing import failure_text
from kafkacomp._storage.losses import compacted_to, loss_files_of
from kafkacomp._storage.losses import known_losses as find_known_losses
from kafkacomp._storage.names import SWAP, owner_of, parent_of, segment_offset, side_file
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.log._checkpoint_files import read_leader_epoch_checkpoint
from kafkacomp.log._verify import Finding, PartitionReport, PartitionToVerify, SegmentReport, error_at
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._entries import LeaderEpochEntry
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.loss_file import LossFile
    from kafkacomp._types import StrPath
    from kafkacomp.log._side_files import PathOrBytes


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

    Corruption does not end the check, which resumes at the next intact batch. Other segments of the folder are not
    read: that a batch which is out of place is a copy of one in another segment, or belongs there, only
    :func:`verify_partition` finds.

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
    if next_base_offset is not None:
        next_base_offset = integer("next_base_offset", next_base_offset, (0, (1 << 63) - 1))
    if isinstance(source, SegmentSource):
        partitions = resolve(source)
        segments = [segment for each in partitions for segment in each.segments]
        if len(segments) != 1:
            raise ValueError(f"source has {len(segments)} segments, not one: give one of its segments")
        segment, partition = segments[0], partitions[0]
    elif isinstance(source, str | os.PathLike):
        path = Path(path_text("source", source))
        base = segment_offset(path.name.removesuffix(SWAP))
        folder = str(path.absolute().parent)
        segment = Segment(str(path), str(path), 0, base_offset=base)
        checkpoints = OffsetCheckpoints(*open_filesystem(parent_of(folder)))
        topic, number = owner_of(folder, path.name)
        partition = Partition(topic, number, [segment], checkpoints=checkpoints, is_part=True)
    else:
        size = bytes_view("source", source, PATH_OR_BYTES).nbytes
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
) -> SegmentReport:
    """Verify a segment of any file system, as :func:`verify_segment` does."""
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done)

    alone = replace(partition, segments=[segment], context=[])
    bounds = [] if next_base_offset is None else [next_base_offset]
    options = CheckOptions(log_format, max_output_size, bounds=bounds)
    (report,) = check_partition(alone, options, step).segments.values()
    return report


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
    options = CheckOptions(max_output_size=max_output_size, known_losses=loss_files_of(known_losses))
    return check_partition(found[0], options)


@dataclass(frozen=True)
class CheckOptions:
    """Options for :func:`check_partition`."""

    log_format: LogFormat = "auto"
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
    threads: int = 1
    #: Loss files besides that of the partition.
    known_losses: Sequence[LossFile] = ()
    #: The base offsets of segments that are not among those of the partition, but bound them.
    bounds: Sequence[int] = ()
    #: The offset below which records are not counted, and not missing.
    log_start_offset: int | None = None
    #: Whether segments in object stores that cannot be read are an error in the report, and not raised.
    leaves_out_unread: bool = False


def check_partition(
    partition: Partition, options: CheckOptions, progress: Callable[[int], object] | None = None
) -> PartitionReport:
    """Verify a partition of any file system; ``progress`` is called with the bytes since its last call."""
    check_log_format(options.log_format)
    cleaned_to = partition.cleaned_to
    if cleaned_to is None:
        cleaned_to = compacted_to(partition, options.known_losses)
    context = (each.base_offset for each in partition.context)
    found = _kafkacomp.verify_partition(
        PartitionToVerify(
            partition.topic,
            partition.partition,
            partition.segments,
            [*options.bounds, *(base for base in context if base is not None)],
            None if options.log_format == "auto" else options.log_format,
            cleaned_to,
            _leader_epochs(partition),
            partition.reached,
            options.log_start_offset,
            checked_max_output_size(options.max_output_size),
            options.threads,
            options.leaves_out_unread,
        ),
        progress,
    )
    known = find_known_losses([partition], found.missing, options.known_losses)
    missing, gap = found.gaps(sorted((each.first_offset, each.last_offset) for each in known), _hint(partition))
    names = [each.name for each in partition.segments]
    findings = [(index, _named(each, names[index])) for index, report in found.segments for each in report.findings]
    findings = [(index, each) for index, each in findings if not each.is_gap]
    findings += [(index, error_at(names[index], 0, reason)) for index, reason in found.unread]
    if gap is not None:
        findings.append((gap[0], _named(gap[1], names[gap[0]])))
    findings.sort(key=lambda one: (one[0], one[1].file != names[one[0]], len(one[1].file), one[1].position))
    failures = tuple(error_at(path, 0, failure_text(path, error)) for path, error in partition.failures)
    return PartitionReport(
        partition.topic,
        partition.partition,
        {names[index]: report for index, report in found.segments},
        (*(each for _, each in findings), *failures),
        missing,
        found.more_missing,
        known,
        found.covered_offsets_count,
    )


def _named(finding: Finding, segment: str) -> Finding:
    """The finding with the path of its file."""
    return finding._replace(file=segment if finding.file == "log" else side_file(segment, finding.file))


def _hint(partition: Partition) -> str | None:
    """What would show that gaps are no loss, unless it is known, or the partition cannot be compacted."""
    is_tiered = partition.topic_id is not None
    is_old = any(each.name.removesuffix(SWAP).endswith(".kafka") for each in partition.segments)
    return None if partition.cleaned_to is not None or is_tiered or is_old else COPY_CLEANED


def _leader_epochs(partition: Partition) -> list[LeaderEpochEntry]:
    """The entries of the partition's leader epoch checkpoint; one that cannot be read is reported separately."""
    if not partition.segments or partition.segments[-1].name.startswith("<"):
        return []
    segment = partition.segments[-1]
    try:
        return read_leader_epoch_checkpoint(segment.leader_epoch_checkpoint() or b"")
    except CorruptRecordError:
        return []
    except OSError as error:
        if is_too_large(error) or error.errno in {errno.EIO, errno.ENOENT}:
            return []
        raise


def is_too_large(error: OSError) -> bool:
    """Whether a file next to a segment is not read because of its size."""
    return error.errno == errno.EFBIG
