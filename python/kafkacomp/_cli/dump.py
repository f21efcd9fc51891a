"""``kafkacomp dump``: what is in a file of a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkacomp._cli.batches import Damage, batch_row, batches, record_row
from kafkacomp._cli.message_sets import entries as entries_of_07
from kafkacomp._cli.message_sets import entry_row, message_row, placed
from kafkacomp._cli.side_files import entries
from kafkacomp._storage.files import BATCHES
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.log._detect import log_format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._cli.render import Renderer
    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.files import SourceFile
    from kafkacomp.record import RecordBatch

__all__ = ["dump"]


def dump(
    files: Sequence[SourceFile],
    out: Renderer,
    complain: Callable[[str], None],
    *,
    deep: bool,
    payload: bool,
    max_output_size: int,
    log_format: LogFormat = "auto",
) -> bool:
    """Write the rows of all files; damage is told by ``complain`` and the rest still written. Whether all was sound."""
    dumping = _Dump(out=out, complain=complain, deep=deep, payload=payload, max_output_size=max_output_size)
    sound = True
    for file in files:
        old = (
            file.kind in BATCHES
            and log_format_of(file.source, file.name, "0.8+" if file.kind == "checkpoint" else log_format) == "0.7"
        )
        out.file(file.name, "message set" if old else file.kind)
        try:
            if old:
                sound &= dumping.messages_of(file)
            elif file.kind in BATCHES:
                sound &= dumping.batches_of(file)
            else:
                for entry in entries(file):
                    out.row(file.kind, entry)
        except KafkaCompError as error:
            complain(_named(file, str(error)))
            sound = False
    return sound


@dataclass(frozen=True, kw_only=True)
class _Dump:
    """Where rows and complaints go, and what is asked for."""

    out: Renderer
    complain: Callable[[str], None]
    deep: bool
    payload: bool
    max_output_size: int

    def batches_of(self, file: SourceFile) -> bool:
        sound = True
        for batch in batches(file, self.max_output_size, may_be_cut=file.kind == "record set"):
            if isinstance(batch, Damage):
                self.complain(_named(file, batch.message))
                return False
            row = batch_row(batch)
            self.out.row("batch", row)
            if not row["isvalid"]:
                self.complain(_named(file, f"the checksum of the batch at byte {batch.position} is wrong"))
                sound = False
            if self.deep:
                sound &= self._records_of(file, batch)
        return sound

    def _records_of(self, file: SourceFile, batch: RecordBatch) -> bool:
        try:
            for record in batch:
                self.out.row("record", record_row(record, batch, payload=self.payload))
        except KafkaCompError as error:
            self.complain(_named(file, f"batch at byte {batch.position}: {error}"))
            return False
        return True

    def messages_of(self, file: SourceFile) -> bool:
        sound = True
        for entry in entries_of_07(file, file.base_offset or 0, may_be_cut=file.kind == "record set"):
            if isinstance(entry, Damage):
                self.complain(_named(file, entry.message))
                return False
            self.out.row("entry", entry_row(entry))
            if self.deep:
                try:
                    for message, offset in entry.messages(self.max_output_size):
                        self.out.row("message", message_row(message, offset, payload=self.payload))
                except KafkaCompError as error:
                    self.complain(_named(file, placed(error, entry.position)))
                    sound = False
        return sound


def _named(file: SourceFile, message: str) -> str:
    path = file.name
    return message if message.startswith(path) else f"{path}: {message}"
