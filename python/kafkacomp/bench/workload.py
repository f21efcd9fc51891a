"""The workload: files, segments, log directories or the shipped sample, divided into blocks.

A block is the input of one call of a codec. For a segment, or a file read as lines, it is the records section of a
batch, as Kafka compresses it, and the records are kept to build and read batches. For any other file it is a piece of
the file, as in general benchmarks of compressors, without records.
"""

from __future__ import annotations

import errno
import gzip
import os
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkacomp import record
from kafkacomp._codecs.levels import STORED, WHOLE
from kafkacomp._storage.files import BATCHES, find
from kafkacomp.bench.batches import RECORDS_OFFSET, build
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkacomp.bench.batches import Row

#: How a file that is not a segment is read.
AUTO: Final = "auto"
LINES: Final = "lines"
NONE: Final = "none"

_SAMPLE: Final = "sample/orders.jsonl.gz"
_LINES: Final = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".txt"})
#: The first line's timestamp: 2024-01-01T00:00:00Z. Lines are one millisecond apart, as in a busy topic.
_FIRST_TIMESTAMP: Final = 1_704_067_200_000
_DEFAULT_FILE_BATCH: Final = 16384


class Block(NamedTuple):
    """The input of one call of a codec."""

    data: bytes
    #: The records in ``data``, or None for a piece of a file.
    rows: tuple[Row, ...] | None


@dataclass
class Source:
    """The content of an input: batches of records, or the bytes of a file."""

    name: str
    size: int
    #: The records of each batch of the log; of lines, a single list.
    stored: list[list[Row]] | None = None
    data: bytes = b""
    #: Whether these batches were built by a producer.
    real_batches: bool = False
    #: Bytes that were not read because of the limit.
    left_out: int = 0


@dataclass
class Workload:
    """The blocks of all inputs at one batch size."""

    name: str
    #: Bytes before compression, or ``whole``, or ``stored``.
    batch_bytes: int | str
    blocks: list[Block] = field(default_factory=list)

    @cached_property
    def size(self) -> int:
        """Bytes before compression."""
        return sum(len(block.data) for block in self.blocks)

    @cached_property
    def records(self) -> int | None:
        """The number of records, or None for pieces of files."""
        if self.blocks[0].rows is None:
            return None
        return sum(len(block.rows or ()) for block in self.blocks)


def load(paths: Iterable[Path], *, records: str, limit: int) -> list[Source]:
    """Read the inputs; the shipped sample if there are none.

    Args:
        paths: Files and folders. A folder is a log directory; of a zip archive the files in it are read.
        records: ``lines``, ``none``, or ``auto``: lines if the suffix of the file is that of a text format.
        limit: Maximum bytes to read in total.

    Raises:
        OSError: a path cannot be read.
        ValueError: an input is empty.
        KafkaCompError: a segment is corrupt.
    """
    sources: list[Source] = []
    left = limit
    for name, path, content in _inputs(list(paths)):
        data = content[:left] if path is None else _read(path, left)
        size = len(content) if path is None else path.stat().st_size
        source = _source(name, path, data, records)
        source.left_out = size - len(data)
        left -= len(data)
        if not data and source.left_out:
            source.name, source.stored = name, None
        sources.append(source)
    read = [source for source in sources if source.data or source.stored]
    if not read:
        raise ValueError("the inputs are empty: give a file with data")
    for source in sources:
        if source not in read:
            read[-1].left_out += source.left_out
    return read


def _inputs(paths: list[Path]) -> Iterator[tuple[str, Path | None, bytes]]:
    if not paths:
        packed = resources.files("kafkacomp.bench").joinpath(_SAMPLE).read_bytes()
        yield "sample", None, gzip.decompress(packed)
        return
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if path.is_dir():
            segments = [Path(file.path) for file in find([path]) if file.kind in BATCHES]
            if not segments:
                raise FileNotFoundError(errno.ENOENT, "no segments in this folder", str(path))
            yield from ((str(segment), segment, b"") for segment in segments)
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if not entry.is_dir():
                        yield f"{path.name}:{entry.filename}", None, archive.read(entry)
        else:
            yield str(path), path, b""


def _read(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _source(name: str, path: Path | None, data: bytes, records: str) -> Source:
    if path is not None and records != LINES and _is_record_set(path, data):
        try:
            stored = [_rows(batch) for batch in record.read_batches(data)]
        except KafkaCompError as error:
            error.args = (f"{error.segment or name}: {error}",)
            raise
        return Source(name, len(data), [rows for rows in stored if rows], real_batches=True)
    if records == LINES or (records == AUTO and (name == "sample" or Path(name).suffix in _LINES)):
        lines = data.split(b"\n")
        rows: list[Row] = [(_FIRST_TIMESTAMP + at, None, line, ()) for at, line in enumerate(lines) if line]
        return Source(name, len(data), [rows] if rows else [])
    return Source(name, len(data), data=data)


def _is_record_set(path: Path, data: bytes) -> bool:
    """Whether the file has a name of Kafka's, or begins with a batch whose checksum is correct."""
    if find([path])[0].kind == "log" and path.name[:20].isdecimal():
        return True
    try:
        first = next(record.read_batches(data), None)
    except KafkaCompError:
        return False
    return first is not None and first.is_valid


def _rows(batch: record.RecordBatch) -> list[Row]:
    batch.ensure_valid()
    return [(each.timestamp, each.key, each.value, each.headers) for each in batch]


def cut(name: str, sources: Iterable[Source], batch_bytes: int | str | None) -> Workload:
    """Divide sources into blocks of one size.

    Args:
        name: The name in reports.
        sources: All with records, or all without.
        batch_bytes: Bytes before compression; ``whole``; ``stored``; None for the batches of a segment and 16 KiB
            of anything else.

    Raises:
        ValueError: ``stored`` for a source without batches, or sources of both kinds.
    """
    sources = list(sources)
    if len({source.stored is None for source in sources}) != 1:
        raise ValueError("inputs with and without records cannot be measured together: use --each, or --records")
    if batch_bytes is None:
        batch_bytes = STORED if all(source.real_batches for source in sources) else _DEFAULT_FILE_BATCH
    made = Workload(name, batch_bytes)
    for source in sources:
        if batch_bytes == STORED and not source.real_batches:
            raise ValueError(f"{source.name}: only segments have stored batches: give --batch-bytes a size, or whole")
        if source.stored is None:
            step = len(source.data) if isinstance(batch_bytes, str) else batch_bytes
            made.blocks += [Block(source.data[at : at + step], None) for at in range(0, len(source.data), step)]
        else:
            made.blocks += _batches(source.stored, batch_bytes)
    return made


def _batches(stored: list[list[Row]], batch_bytes: int | str) -> Iterator[Block]:
    if batch_bytes == STORED:
        groups: Iterable[list[Row]] = stored
    else:
        rows = [row for batch in stored for row in batch]
        groups = [rows] if batch_bytes == WHOLE else _grouped(rows, int(batch_bytes))
    for group in groups:
        yield Block(build(group)[RECORDS_OFFSET:], tuple(group))


def _grouped(rows: list[Row], batch_bytes: int) -> Iterator[list[Row]]:
    """Group consecutive rows to at most this many bytes of keys, values and headers, and at least one row."""
    group: list[Row] = []
    size = 0
    for row in rows:
        _, key, value, headers = row
        more = len(key or b"") + len(value or b"") + sum(len(name) + len(content or b"") for name, content in headers)
        if group and size + more > batch_bytes:
            yield group
            group, size = [], 0
        group.append(row)
        size += more
    yield group
