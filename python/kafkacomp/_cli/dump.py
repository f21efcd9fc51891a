"""``kafkacomp dump``: show the content of a broker's files."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from kafkacomp._cli.batches import Corruption, batch_row, batches, record_row
from kafkacomp._cli.filters import Bounds
from kafkacomp._cli.message_sets import entries as entries_of_07
from kafkacomp._cli.message_sets import entry_row, message_row, placed
from kafkacomp._losses import Losses, unacknowledged
from kafkacomp._storage.files import BATCHES
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.log._describe import describe_partition
from kafkacomp.log._detect import log_format_of
from kafkacomp.log._directory import partition_of
from kafkacomp.log._rows import entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkacomp._cli.decoders import Decoder
    from kafkacomp._cli.render import Renderer
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.files import SourceFile
    from kafkacomp.record import Record, RecordBatch


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The selection of what is shown."""

    bounds: Bounds
    #: The number of first or last records of each partition, and the most records of all partitions.
    first: int | None = None
    last: int | None = None
    limit: int | None = None

    @property
    def chooses_records(self) -> bool:
        """Whether single records are chosen, in which case records are shown."""
        return self.bounds.conditions is not None or (self.first, self.last, self.limit) != (None, None, None)

    @property
    def offsets(self) -> tuple[int, int] | None:
        """The first and the last offset of what is chosen; ``None`` if the records determine it."""
        bounds, counts = self.bounds, (self.first, self.last, self.limit)
        if counts != (None, None, None) or (bounds.start_time, bounds.end_time) != (None, None):
            return None
        return bounds.start_offset or 0, (2**63 if bounds.end_offset is None else bounds.end_offset) - 1

    @property
    def is_everything(self) -> bool:
        """Whether the whole file is shown."""
        return not self.chooses_records and not self.bounds.are_of_batches


class _Course:
    """The number of records still to show, of all partitions and of the current one, and the current file."""

    def __init__(self, limit: int | None) -> None:
        self._of_all = limit
        self._of_partition: int | None = None
        self._folder: str | None = None
        self._file: str | None = None

    def is_another(self, file: SourceFile) -> bool:
        """Whether the file differs from that of the last call."""
        before, self._file = self._file, file.name
        return before != file.name

    def begin(self, folder: str, first: int | None) -> None:
        """Start with the files of a folder."""
        if folder != self._folder:
            self._folder, self._of_partition = folder, first

    @property
    def is_complete(self) -> bool:
        """Whether all chosen records have been shown."""
        return self._of_all == 0 or self._of_partition == 0

    def take(self, records: list[Record]) -> list[Record]:
        """Take the records that are still to be shown."""
        limits = [each for each in (self._of_all, self._of_partition) if each is not None]
        taken = records[: min(limits)] if limits else records
        self._of_all = None if self._of_all is None else self._of_all - len(taken)
        self._of_partition = None if self._of_partition is None else self._of_partition - len(taken)
        return taken


class _LastRecords:
    """The last records of those that are added, at most so many, by batch."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self.by_batch: deque[tuple[RecordBatch, list[Record]]] = deque()

    def add(self, batch: RecordBatch, records: list[Record]) -> None:
        """Add the records of a batch, and drop the earliest ones if there are too many."""
        if records:
            self.by_batch.append((batch, records))
            self._count += len(records)
        while (excess := self._count - self._most) > 0:
            first, others = self.by_batch[0]
            if len(others) <= excess:
                self.by_batch.popleft()
                self._count -= len(others)
            else:
                self.by_batch[0] = (first, others[excess:])
                self._count = self._most


@dataclass(frozen=True, kw_only=True)
class Dump:
    """Writes the rows of files; corruption goes to ``complain``, and the rest is still written."""

    out: Renderer
    complain: Callable[[str], None]
    deep: bool
    payload: bool
    max_output_size: int
    log_format: LogFormat
    selected: Selected
    #: Called with the bytes read since the last call.
    progress: Callable[[int], object]
    #: Decodes the records of an internal topic.
    decoder: Decoder | None = None
    #: The files whose batches were read, and the first and the last offset of the chosen batches, by folder and kind.
    _read: dict[tuple[str, str], list[SourceFile]] = field(default_factory=dict, init=False)
    _offsets: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict, init=False)

    def run(self, files: Sequence[SourceFile]) -> bool:
        """Write the rows of all files, and return whether all is intact.

        Raises:
            ValueError: bounds or conditions on a log of Kafka 0.7.
        """
        selected, course = self.selected, self.course
        if not selected.is_everything:
            files = [file for file in files if file.kind in BATCHES]
        sound = True
        for folder, group in groupby(files, key=lambda file: file.folder):
            course.begin(folder, selected.first)
            if selected.last is not None:
                sound &= self.last_of([file for file in group if not self._is_old(file)])
                continue
            for file in group:
                if course.is_complete:
                    break
                sound &= self.file(file, is_old=self._is_old(file))
        return sound

    def losses(self) -> Losses:
        """What is missing among the offsets of the batches that were read, as far as their headers show."""
        found = []
        for place, files in self._read.items():
            partition = partition_of(files)
            if partition.segments[0].base_offset is None:
                continue
            described = describe_partition(partition, log_format=self.log_format, max_output_size=self.max_output_size)
            first, last = self.selected.offsets or self._offsets.get(place, (0, -1))
            inside = (
                each._replace(first_offset=max(each.first_offset, first), last_offset=min(each.last_offset, last))
                for each in described.missing
            )
            found.append(replace(described, missing=tuple(each for each in inside if each.offsets_count > 0)))
        return unacknowledged(*found)

    def _note(self, file: SourceFile, batch: RecordBatch) -> None:
        """Extend the range of offsets that were read by those of a chosen batch."""
        place = (file.folder, file.kind)
        # The header of a compressed message does not have its first offset.
        first = batch.base_offset if batch.magic >= 2 else batch.last_offset  # noqa: PLR2004 - the format that has it
        known = self._offsets.get(place, (first, batch.last_offset))
        self._offsets[place] = min(known[0], first), max(known[1], batch.last_offset)

    @cached_property
    def course(self) -> _Course:
        """The number of records still to show."""
        return _Course(self.selected.limit)

    def _is_old(self, file: SourceFile) -> bool:
        """Whether a file is of Kafka 0.7."""
        if file.kind not in BATCHES or log_format_of(file.source, file.name, self.log_format) != "0.7":
            return False
        if not self.selected.is_everything:
            raise ValueError(f"{file.name}: a log of Kafka 0.7: use kafkacomp export to select its records")
        return True

    def batches(self, file: SourceFile) -> Iterator[RecordBatch | Corruption]:
        """The batches of a file, which count as read one by one."""
        self._read.setdefault((file.folder, file.kind), []).append(file)
        for batch in batches(file, self.max_output_size, may_be_truncated=file.kind == "record set"):
            yield batch
            if not isinstance(batch, Corruption):
                self.progress(batch.size_in_bytes)

    def file(self, file: SourceFile, *, is_old: bool) -> bool:
        """Write the rows of a file."""
        if not self.selected.chooses_records:
            self.out.file(file.name, "message set" if is_old else file.kind)
        try:
            if not is_old and file.kind in BATCHES:
                return self.batches_of(file)
            self.progress(file.size)
            if is_old:
                return self.messages_of(file)
            for entry in entries(file):
                self.out.row(file.kind, entry)
        except KafkaCompError as error:
            return self._wrong(file, str(error))
        return True

    def _wrong(self, file: SourceFile, message: str) -> bool:
        """Report what is wrong with a file, which is not intact: False."""
        self.complain(message if message.startswith(file.name) else f"{file.name}: {message}")
        return False

    def batches_of(self, file: SourceFile) -> bool:
        sound = True
        for batch in self.batches(file):
            if isinstance(batch, Corruption):
                return self._wrong(file, batch.message)
            if not self.selected.bounds.has_batch(batch):
                continue
            if self.course.is_complete:
                break
            self._note(file, batch)
            if not self.selected.chooses_records:
                self.out.row("batch", batch_row(batch))
            sound &= self._is_valid(file, batch)
            if self.deep or self.selected.chooses_records:
                sound &= self._records_of(file, batch)
        return sound

    def _records_of(self, file: SourceFile, batch: RecordBatch) -> bool:
        if self.selected.is_everything:
            return self._written(file, batch, batch)
        chosen, sound = self._chosen(file, batch)
        chosen = self.course.take(chosen)
        if chosen and self.selected.chooses_records:
            self._head(file, batch)
        return self._written(file, batch, chosen) and sound

    def _head(self, file: SourceFile, batch: RecordBatch) -> None:
        """Write the file's name before its first record, and the batch before its records."""
        if self.course.is_another(file):
            self.out.file(file.name, file.kind)
        self.out.row("batch", batch_row(batch))

    def _chosen(self, file: SourceFile, batch: RecordBatch) -> tuple[list[Record], bool]:
        """The records of a batch to show, as far as they can be read, and whether all could be read."""
        records: list[Record] = []
        sound = True
        if batch.is_control_batch and self.selected.chooses_records:
            return [], True
        try:
            records.extend(batch)
        except KafkaCompError as error:
            sound = self._wrong(file, f"batch at byte {batch.position}: {error}")
        return self.selected.bounds.records(records), sound

    def _written(self, file: SourceFile, batch: RecordBatch, records: Iterable[Record]) -> bool:
        try:
            for record in records:
                row = record_row(record, batch, payload=self.payload)
                if self.decoder is not None and not batch.is_control_batch:
                    row = self.decoder.row(row, record)
                self.out.row("record", row)
        except KafkaCompError as error:
            return self._wrong(file, f"batch at byte {batch.position}: {error}")
        return True

    def last_of(self, files: Sequence[SourceFile]) -> bool:
        """Write the last records of a partition; only the segments that contain them are read."""
        wanted = self.selected.last or 0
        found: list[tuple[SourceFile, list[tuple[RecordBatch, list[Record]]]]] = []
        sound = True
        for file in reversed(files):
            if wanted <= 0:
                break
            chosen, is_sound = self._last_in(file, wanted)
            sound &= is_sound
            wanted -= sum(len(records) for _, records in chosen)
            found.append((file, chosen))
        for file, chosen in reversed(found):
            for batch, records in chosen:
                taken = self.course.take(records)
                if taken:
                    self._note(file, batch)
                    self._head(file, batch)
                    sound &= self._written(file, batch, taken)
        return sound

    def _last_in(self, file: SourceFile, wanted: int) -> tuple[list[tuple[RecordBatch, list[Record]]], bool]:
        """The last records of a file, by batch. Only batches at its end that may contain them are decompressed."""
        tail: deque[RecordBatch] = deque()
        sound = True
        declared = 0
        may_drop = self.selected.bounds == Bounds(
            topics=self.selected.bounds.topics, partitions=self.selected.bounds.partitions
        )
        kept = _LastRecords(wanted)
        for batch in self.batches(file):
            if isinstance(batch, Corruption):
                sound = self._wrong(file, batch.message)
                break
            if batch.is_control_batch or not self.selected.bounds.has_batch(batch):
                continue
            tail.append(batch)
            declared += _declared(batch)
            while may_drop and declared - _declared(tail[0]) >= wanted:
                declared -= _declared(tail.popleft())
            if not may_drop:
                sound &= self._keep(file, tail.popleft(), kept)
        for batch in tail:
            sound &= self._keep(file, batch, kept)
        return list(kept.by_batch), sound

    def _keep(self, file: SourceFile, batch: RecordBatch, kept: _LastRecords) -> bool:
        """Add the records of a batch."""
        is_valid = self._is_valid(file, batch)
        records, sound = self._chosen(file, batch)
        kept.add(batch, records)
        return sound and is_valid

    def _is_valid(self, file: SourceFile, batch: RecordBatch) -> bool:
        wrong = f"the checksum of the batch at byte {batch.position} is wrong"
        return batch.is_valid or self._wrong(file, wrong)

    def messages_of(self, file: SourceFile) -> bool:
        sound = True
        self._read.setdefault((file.folder, file.kind), []).append(file)
        for entry in entries_of_07(file, file.base_offset or 0, may_be_truncated=file.kind == "record set"):
            if isinstance(entry, Corruption):
                return self._wrong(file, entry.message)
            self.out.row("entry", entry_row(entry))
            if self.deep:
                try:
                    for message, offset in entry.messages(self.max_output_size):
                        self.out.row("message", message_row(message, offset, payload=self.payload))
                except KafkaCompError as error:
                    sound = self._wrong(file, placed(error, entry.position))
        return sound


def _declared(batch: RecordBatch) -> int:
    """The least number of records of a batch that its header guarantees."""
    return 1 if batch.records_count is None else max(batch.records_count, 0)
