"""The work of rewriting a log: its partitions, and the folders that they are written to."""

from __future__ import annotations

import dataclasses
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kafkacomp import _kafkacomp
from kafkacomp._arguments import SEGMENT_BYTES, check_progress, checked_max_output_size, integer, path_text
from kafkacomp._losses import unknown
from kafkacomp._storage.filesystem import local_folder, open_filesystem
from kafkacomp._storage.loss_file import lost_offsets
from kafkacomp._storage.losses import known_losses as find_known_losses
from kafkacomp._storage.losses import loss_files_of, topic_id_of
from kafkacomp._storage.names import basename, partition_of, side_file
from kafkacomp._storage.new_file import exists_error
from kafkacomp._storage.new_losses import publish
from kafkacomp._storage.partition import Partition, Segment, SegmentSource
from kafkacomp._storage.state_file import sync_folder
from kafkacomp._text import camel_case
from kafkacomp.exceptions import CorruptRecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from kafkacomp._kafkacomp import NewLog, PartitionFindings
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp._types import StrPath
    from kafkacomp.arrow._report import MissingRange
    from kafkacomp.log._rewrite import Repair
    from kafkacomp.tiered.source import SourceOptions

    Progress: TypeAlias = Callable[[int, int], object] | None

#: The topic of a KRaft controller, and the files in its folder that are copied.
_METADATA = "__cluster_metadata"
#: The bytes of a metadata file that are copied at a time.
_PIECE = 1 << 20
_METADATA_FILE = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint|quorum-state")


@dataclass(frozen=True)
class PartitionJob:
    """A partition that the core rewrites to another folder."""

    partition: Partition
    #: The content of the producer snapshot at the first segment's base offset.
    producer_snapshot: bytes | None
    leader_epoch_checkpoint: bytes | None
    partition_metadata: bytes | None
    #: The folder to create.
    target: str
    #: ``None`` keeps the base offsets of the segments.
    segment_bytes: int | None
    max_output_size: int
    #: Called regularly as ``progress(bytes_done)``.
    progress: Callable[[int], object] | None


class RewriteWork:
    """The partitions of a source, and the folders that they are written to."""

    def __init__(
        self,
        source: StrPath | SegmentSource,
        target: StrPath,
        segment_bytes: int | None,
        max_output_size: int,
        progress: Progress,
        *,
        known_losses: StrPath | Sequence[StrPath],
        opening: SourceOptions,
        lenient: bool = False,
    ) -> None:
        if segment_bytes is not None:
            integer("segment_bytes", segment_bytes, SEGMENT_BYTES)
        checked_max_output_size(max_output_size)
        check_progress(progress)
        self._loss_files = loss_files_of(known_losses)
        opening.refuse_for_model(source)
        path = source._place() if isinstance(source, SegmentSource) else opening.opened(path_text("source", source))[1]  # noqa: SLF001 - of the log's model
        self._target = Path(local_folder(target))
        self._partitions = opening.resolve(source)
        self._refuse_copies()
        first = self._partitions[0].segments[0].name
        self._is_one = len(self._partitions) == 1 and path.rstrip("/\\") in {first, _folder(first)}
        if isinstance(self._partitions[0].segments[0].source, str):
            # A single file may be in any folder, such as the current one, which may also contain the target.
            self._check_outside(Path(first).parent if self._is_one else Path(path), is_one_file=path == first)
        self._options = (segment_bytes, max_output_size)
        self._progress = progress
        self._total = sum(segment.size for each in self._partitions for segment in each.segments)
        self._lenient = lenient
        self._metadata_files = [
            (filesystem, entry.path)
            for partition in self._partitions
            if partition.topic == _METADATA
            for filesystem, folder in [_folder_of(partition.segments[0])]
            for entry in filesystem.list(folder)
            if not entry.is_dir and _METADATA_FILE.fullmatch(basename(entry.path))
        ]
        self._staged: _kafkacomp.StagedFolder | None = None
        self.name = ""
        self.warnings: list[str] = []
        self._missing: list[MissingRange] = []
        self._more_missing = 0
        self._known: list[KnownLoss] = []
        self._losses: list[KnownLoss] = []
        counted = ("partitions", "segments", "batches", "bytes_out")
        self.counts = dict.fromkeys(counted, 0) | {"bytes_in": self._total}

    def __enter__(self) -> Self:
        _kafkacomp.remove_abandoned(self._target)
        if not self._is_one or self._metadata_files:
            self._staged = _kafkacomp.StagedFolder(str(self._target))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._staged is not None:
            if kind is None and self._is_one:
                self._publish_one(Path(str(self._staged.folder)))
            elif kind is None:
                self._staged.publish()
            self._staged.discard()

    def _check_outside(self, folder: Path, *, is_one_file: bool) -> None:
        """Refuse a target in the folder that is read, unless that is the folder of a single file and no partition's."""
        read = folder.resolve()
        if is_one_file and partition_of(read.name) is None:
            return
        if self._target.resolve().is_relative_to(read):
            what = "the partition's folder" if self._is_one else "the folder"
            raise ValueError(f"{self._target}: the target is in {what} {read}, which is read: choose one outside of it")

    def _refuse_copies(self) -> None:
        """Refuse a partition that is in several folders, of which only one can be written.

        Raises:
            ValueError: the message has the folders.
        """
        folders: dict[tuple[str | None, int | None], str] = {}
        for each in self._partitions:
            folder = _folder(each.segments[0].name)
            other = folders.setdefault((each.topic, each.partition), folder)
            if each.topic is not None and other != folder:
                raise ValueError(f"{each.topic}-{each.partition}: in 2 folders: {other}, {folder}: give one of them")

    def _publish_one(self, staged: Path) -> None:
        """Move the folder of a single partition to its place."""
        (folder,) = staged.iterdir()
        sync_folder(folder)
        if os.path.lexists(self._target):
            raise exists_error(self._target)
        folder.rename(self._target)
        sync_folder(self._target.absolute().parent)

    def _copy_metadata_files(self, target: Path) -> None:
        """Copy the other files of a metadata log: its snapshots and the state of the quorum."""
        for filesystem, path in self._metadata_files:
            with (target / path.replace("\\", "/").rpartition("/")[2]).open("xb") as file:
                snapshot, at = filesystem.open(path), 0
                while piece := snapshot.read_at(_PIECE, at):
                    at += file.write(piece)
                file.flush()
                os.fsync(file.fileno())

    def jobs(self) -> Iterator[PartitionJob]:
        """Yield the jobs of the core, one for each partition."""
        done = 0
        for each in self._partitions:
            folder = _folder(each.segments[0].name)
            self.name = folder
            target = self._target
            if self._staged is not None:
                target = Path(str(self._staged.folder)) / f"{each.topic}-{each.partition}"
            yield PartitionJob(each, *self._history(each, folder), str(target), *self._options, self._step(done))
            if each.topic == _METADATA:
                self._copy_metadata_files(target)
            done += sum(segment.size for segment in each.segments)

    def publish(
        self,
        job: PartitionJob,
        folder: NewLog,
        found: PartitionFindings,
        *,
        is_old: bool = False,
        repairs: Sequence[Repair] = (),
        more_repairs: int = 0,
    ) -> None:
        """Publish a partition's folder, with its loss file, and add the counts and findings.

        ``is_old`` is for a log of Kafka 0.7, whose missing ranges are positions.
        """
        source, missing = job.partition, () if is_old else found.missing
        known = find_known_losses([source], missing, self._loss_files)
        log, losses = publish(
            folder,
            source.topic,
            topic_id_of(source),
            source.partition,
            missing=missing,
            more_missing=found.more_missing,
            known=known,
            compacted_to=found.compacted_to,
            # A conversion to an older message format leaves control records out.
            others=None if is_old else "control",
            positions=found.missing if is_old else (),
            repairs=[camel_case(dataclasses.asdict(each)) for each in repairs],
            more_repairs=more_repairs,
        )
        self._losses += losses
        self._known += known
        self.counts["partitions"] += 1
        if log is not None:
            for name, count in (("segments", log.segments), ("batches", log.batches), ("bytes_out", log.bytes)):
                self.counts[name] += count
        self._missing += found.missing
        self._more_missing += found.more_missing
        self.warnings += found.warnings
        gaps = [each for each in unknown(found.missing, known) if each.reason == "gap"]
        if gaps:
            first, last = gaps[0].first_offset, gaps[0].last_offset
            what = f"offset {first} is" if first == last else f"offsets {first} to {last} are"
            others = f", and {len(gaps) - 1} more ranges" if len(gaps) > 1 else ""
            self.warnings.append(f"{gaps[0].segment}: {what} missing where nothing is corrupt{others}")

    def fields(self) -> dict[str, Any]:
        """The counts and findings of all partitions, as the fields of the report."""
        return self.counts | {
            "missing": tuple(self._missing),
            "more_missing": self._more_missing,
            "known_losses": tuple(self._known),
            "lost": lost_offsets(self._losses),
            "warnings": tuple(self.warnings),
        }

    def refuse_metadata(self) -> None:
        """Refuse a metadata log: its snapshots and control records exist in format 2 only."""
        for _, path in self._metadata_files:
            raise ValueError(f"{path}: this is the metadata log of KRaft, which supports message format 2 only")

    def _step(self, before: int) -> Callable[[int], object] | None:
        progress = self._progress
        return None if progress is None else lambda done: progress(before + done, self._total)

    def _history(self, partition: Partition, folder: str) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The producer snapshot at the first segment's base offset, the leader epochs, and the topic's id."""
        first = partition.segments[0]
        if first.base_offset is None:
            return None, None, None
        name = f"{first.base_offset:020}.snapshot"
        snapshot = self._checked(f"{folder}/{name}", first.neighbour(name), _kafkacomp.read_producer_snapshot)
        epochs = self._leader_epochs(partition.segments[-1], folder)
        name = "partition.metadata"
        content = first.neighbour(name)
        if content is None and partition.topic_id is not None:
            content = f"version: 0\ntopic_id: {partition.topic_id}\n".encode()
        return snapshot, epochs, self._checked(f"{folder}/{name}", content, _kafkacomp.read_partition_metadata)

    def _leader_epochs(self, last: Segment, folder: str) -> bytes | None:
        """The partition's leader epoch checkpoint; in tiered storage that of its last segment."""
        name = f"{folder}/leader-epoch-checkpoint"
        content = last.neighbour("leader-epoch-checkpoint")
        if content is None:
            name, content = side_file(last.name, "leader_epoch_checkpoint"), last.side_file("leader_epoch_checkpoint")
        return self._checked(name, content, _kafkacomp.read_leader_epoch_checkpoint)

    def _checked(self, path: str, content: bytes | None, check: Callable[[bytes, str], object]) -> bytes | None:
        """The content of a side file; a corrupt one is an error, or a warning if the log is repaired."""
        if content is None:
            return None
        try:
            check(content, path)
        except CorruptRecordError as error:
            if not self._lenient:
                raise
            self.warnings.append(f"ignored: {error}")
            return None
        return content


def _folder_of(segment: Segment) -> tuple[FileSystem, str]:
    """The folder of a segment, and its file system."""
    folder = _folder(segment.name)
    return open_filesystem(folder) if isinstance(segment.source, str) else (segment.source.filesystem, folder)


def _folder(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[0] if os.name == "nt" else path.rpartition("/")[0]
