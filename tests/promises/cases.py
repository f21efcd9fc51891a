"""Damaged logs by number: the same one for the same number, in every process."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import make_logs
from corruption.logs import CODECS, all_logs
from damages import DAMAGES, Damage
from make_logs import JUNK, KINDS, DiskFile, File, Log, disk_of, log_of
from promises.contents import Contents, Format, Made, Real

if TYPE_CHECKING:
    from pathlib import Path

    from corruption.logs import Log as RealLog
    from make_logs import Unit

__all__ = ["LABELS", "Case", "case"]

#: What happens to a log: one damage, or two different ones.
LABELS = ["none", *(each.__name__ for each in DAMAGES), "two"]
#: Kinds of logs that are in a folder; two lineages are told apart by the metadata of remote storage.
_LOCAL = [each for each in KINDS if each.__name__ != "tiered_lineages"]
#: The formats of logs that are made up. The model knows the sizes of the first one.
_FORMATS = [
    Format(2, "none"),
    *(Format(2, codec) for codec in CODECS[2][1:]),
    *(Format(magic, codec) for magic in (0, 1) for codec in CODECS[magic][1:]),
    *(Format(2, codec, is_transactional=True) for codec in ("none", "lz4")),
]
#: Contents of records that are not of the log begin above it, if the log is a real one.
_OTHERS = 1_000_000


@dataclass
class Case:
    """A log, and its files after damage."""

    number: int
    #: What was done to the log.
    label: str
    #: Which log it is.
    name: str
    log: Log
    disk: list[DiskFile]
    contents: Contents

    def __str__(self) -> str:
        """Name the case."""
        return f"case {self.number} ({self.label}; {self.name})"

    @property
    def is_exact(self) -> bool:
        """Whether the model knows the sizes of the batches."""
        return isinstance(self.contents, Made) and self.contents.is_exact

    def write(self, folder: Path) -> Path:
        """Write the folder of the partition, and the checkpoint of the cleaner next to it."""
        target = folder / "t-0"
        target.mkdir(parents=True)
        if self.log.hints.cleaned_to is not None:
            (folder / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {self.log.hints.cleaned_to}\n")
        for file in self.disk:
            (target / f"{file.name:020}.log").write_bytes(self._bytes_of(file.units))
            index = self._index_of(self.log.files[file.origin], file.name)
            if self.number % 3 or file.is_truncated:
                (target / f"{file.name:020}.index").write_bytes(index)
        return target

    def _bytes_of(self, units: list[Unit]) -> bytes:
        junk = self._junk()
        size = self.contents.unit
        parts = []
        for place, unit in enumerate(units):
            if isinstance(unit, tuple):
                parts.append(self.contents.part(*unit))
            elif unit == JUNK:
                at = size * place % (len(junk) - size)
                parts.append(junk[at : at + size])
            else:
                parts.append(bytes(size))
        return b"".join(parts)

    def _junk(self) -> bytes:
        """A log of another format, text, or noise."""
        rng = random.Random(f"junk {self.number}")
        other = rng.choice([each for each in all_logs() if each.batches[0].magic != self.magic])
        return rng.choice(
            [b"".join(batch.data for batch in other.batches) * 20, b"some text\n" * 2000, rng.randbytes(20_000)]
        )

    @property
    def magic(self) -> int:
        """The message format."""
        batches = (self.contents.bytes_of(batch) for file in self.log.files for batch in file.batches)
        return next(data[16] for data in batches if data)

    @property
    def has_wrappers(self) -> bool:
        """Whether the log has compressed messages of formats 0 or 1."""
        batches = (self.contents.bytes_of(batch) for file in self.log.files for batch in file.batches)
        return any(data[16] < 2 and data[17] & 7 for data in batches if data)

    def _index_of(self, file: File, name: int) -> bytes:
        """The offset index of the intact file, with an entry for each batch, as of this base offset."""
        entries, position = bytearray(), 0
        for batch in file.batches:
            if 0 <= batch.last - name < 1 << 31:
                entries += struct.pack(">ii", batch.last - name, position)
            position += len(self.contents.bytes_of(batch))
        return bytes(entries)


@cache
def _real(place: int) -> tuple[Log, Real]:
    found: RealLog = all_logs()[place]
    contents = Real(found)
    files = [File(batches[0].first, tuple(map(contents.batch_of, batches))) for batches in found.segments]
    return log_of(found.name, files, hides=found.is_compacted), contents


def _made(rng: random.Random) -> tuple[str, Log, Contents]:
    make_logs.Contents.latest = 0
    kind = rng.choice(_LOCAL)
    form = _FORMATS[0] if rng.random() < 0.5 else rng.choice(_FORMATS)
    contents = Made(form, is_thinned=kind.__name__ in {"compacted", "interrupted"})
    log = kind(rng)
    if contents.is_thinned:
        files = [each._replace(batches=tuple(map(contents.resized, each.batches))) for each in log.files]
        log = log._replace(files=files)
    name = f"{kind.__name__}, format {form.magic}, {form.codec}{', transactions' * form.is_transactional}"
    return name, log, contents


def case(number: int) -> Case:
    """Make a case: all kinds of damage in turn, in a log of any kind."""
    rng = random.Random(f"promises {number}")
    label = LABELS[number % len(LABELS)]
    contents: Contents
    if rng.random() < 0.3:
        make_logs.Contents.latest = _OTHERS
        log, contents = _real(rng.randrange(len(all_logs())))
        name = log.kind
    else:
        name, log, contents = _made(rng)
    disk = disk_of(log)
    for file in log.files:
        for batch in file.batches:
            contents.bytes_of(batch)  # with the offsets that it has
    for damage in damages_of(label, rng):
        damage(rng, disk)
    return Case(number, label, name, log, sorted(disk, key=lambda each: each.name), contents)


def damages_of(label: str, rng: random.Random) -> list[Damage]:
    """The damages that a label means."""
    if label == "none":
        return []
    return rng.sample(DAMAGES, 2) if label == "two" else [each for each in DAMAGES if each.__name__ == label]
