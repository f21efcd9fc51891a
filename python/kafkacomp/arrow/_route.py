"""Divide rows among topics and partitions."""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkacomp import _kafkacomp
from kafkacomp._arguments import PARTITIONS, integer
from kafkacomp._extras import pa, pc
from kafkacomp._storage.names import check_topic
from kafkacomp._storage.new_file import exists_error
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._batch_settings import BatchSettings
    from kafkacomp.arrow._publish import Publisher

#: The columns of a record.
_RECORD: Final = ("key", "value", "timestamp", "headers", "offset")
#: The most files that are open at the same time.
_MOST_OPEN: Final = 200


class Written(NamedTuple):
    """A partition that was written."""

    log: _kafkacomp.WrittenLog
    records: int


def by_key(  # noqa: PLR0917 - what a log is made of
    reader: pa.RecordBatchReader, folder: Path, settings: BatchSettings, topic: str | None, partition: int | None,
    num_partitions: int | None, segment_bytes: int, topic_id: str | None,
) -> dict[str, Written]:  # fmt: skip
    """Write rows without offsets as Spark's sink does: by partition, or by key, or round-robin."""
    staged = _kafkacomp.StagedBatches(settings, folder / "rows", topic, num_partitions, {}, 0)
    for batch in reader:
        given = {name for name, value in (("topic", topic), ("partition", partition)) if value is not None}
        rows = batch.drop_columns(list(given & set(batch.schema.names)))
        if partition is not None:
            rows = rows.append_column("partition", pa.repeat(pa.scalar(partition, pa.int32()), rows.num_rows))
        elif "partition" in rows.schema.names:
            rows = _with_narrow_partitions(rows)
        staged.push(rows)
    files: dict[str, list[Path]] = {}
    records: dict[str, int] = {}
    for each in staged.finish():
        name = f"{each.topic}-{each.partition}"
        files.setdefault(name, []).append(each.path)
        records[name] = records.get(name, 0) + each.records
    written = {}
    for name, paths in sorted(files.items()):
        log = _kafkacomp.assemble_log(paths, folder / name, None, segment_bytes, topic_id)
        written[name] = Written(log, records[name])
        for path in paths:
            path.unlink()
    return written


def _with_narrow_partitions(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Convert the column partition to 32-bit integers, as in Kafka."""
    index = rows.schema.get_field_index("partition")
    column = rows.column(index)
    if not pa.types.is_integer(column.type):
        raise TypeError(f"the column partition must contain integers, not {column.type}")
    try:
        return rows.set_column(index, "partition", column.cast(pa.int32()))
    except pa.ArrowInvalid as error:
        raise ValueError(f"partition must be {PARTITIONS[0]} to {PARTITIONS[1]}: {error}") from None


def by_columns(  # noqa: PLR0917 - what a log is made of
    reader: pa.RecordBatchReader, folder: Path, settings: BatchSettings, topic: str | None, partition: int | None,
    segment_bytes: int, topic_id: str | None, publisher: Publisher,
) -> dict[str, Written]:  # fmt: skip
    """Write rows with offsets: the rows of each partition are collected in a file, then written as its log."""
    rows = _Collected(folder, pa.schema([each for each in reader.schema if each.name in _RECORD]))
    row = 0
    for batch in reader:
        for owner, chosen in _groups(batch, topic, partition, row):
            rows.add(owner, chosen)
        row += batch.num_rows
    written = {}
    for of_topic, number in rows.close():
        name = f"{of_topic}-{number}"
        try:
            log, records = _kafkacomp.write_log(
                rows.read((of_topic, number)), str(folder / name), settings, segment_bytes, topic_id
            )
            written[name] = Written(publisher.publish(log, of_topic, number), records)
        except (KafkaCompError, ValueError) as error:
            error.args = (f"{name}: {error}", *error.args[1:])
            raise
        rows.discard((of_topic, number))
    return written


def _groups(
    batch: pa.RecordBatch, topic: str | None, partition: int | None, row: int
) -> Iterator[tuple[tuple[str, int], pa.RecordBatch]]:
    """Yield the rows of each topic and partition in a batch, in their order; ``row`` is the number of the first row."""
    topics = _owner(batch, "topic", topic, pa.string(), row)
    numbers = _owner(batch, "partition", partition, pa.int64(), row)
    owners = pa.table({"topic": topics, "partition": numbers}).group_by(["topic", "partition"], use_threads=False)
    pairs = owners.aggregate([]).to_pylist()
    for pair in pairs:
        name, number = pair["topic"], integer("partition", pair["partition"], PARTITIONS)
        check_topic(name)
        mask = pc.and_(pc.equal(topics, name), pc.equal(numbers, number))
        yield (name, number), batch if len(pairs) == 1 else batch.filter(mask)


def _owner(batch: pa.RecordBatch, name: str, given: str | int | None, kind: Any, row: int) -> pa.Array:  # noqa: ANN401
    """The column of topics or partitions, or a column with the one given for all rows."""
    if given is not None:
        return pa.repeat(pa.scalar(given, kind), batch.num_rows)
    if name not in batch.schema.names:
        raise ValueError(f"the rows have offsets but no column {name!r}: add the column, or give the argument {name}")
    column = batch.column(name)
    if name == "partition" and not pa.types.is_integer(column.type):
        raise TypeError(f"the column partition must contain integers, not {column.type}")
    try:
        column = column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TypeError(f"the column {name} must be {kind}, not {column.type}") from None
    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py()
        raise ValueError(f"row {row + first}: {name} is null: a row with an offset must name its partition")
    return column


class _Collected:
    """Files with the rows of each partition. Few are open at once; the rows after a closed file go to another file."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._files: dict[tuple[str, int], list[Path]] = {}
        self._open: OrderedDict[tuple[str, int], Any] = OrderedDict()
        self._count = 0

    def add(self, owner: tuple[str, int], rows: pa.RecordBatch) -> None:
        """Append rows."""
        try:
            self._add(owner, rows)
        except OSError as error:
            raise self._located(error, owner) from None

    def _add(self, owner: tuple[str, int], rows: pa.RecordBatch) -> None:
        writer = self._open.pop(owner, None)
        if writer is None:
            if len(self._open) >= _MOST_OPEN:
                self._close(self._open.popitem(last=False))
            path = self._folder / f"{self._count}.rows"
            self._count += 1
            self._files.setdefault(owner, []).append(path)
            writer = pa.ipc.new_stream(str(path), self._schema)
        self._open[owner] = writer
        writer.write_batch(rows.select(self._schema.names))

    def close(self) -> list[tuple[str, int]]:
        """Close the files, and list the partitions that have rows."""
        while self._open:
            self._close(self._open.popitem())
        return sorted(self._files)

    def _close(self, opened: tuple[tuple[str, int], Any]) -> None:
        owner, writer = opened
        try:
            writer.close()
        except OSError as error:
            raise self._located(error, owner) from None

    def _located(self, error: OSError, owner: tuple[str, int]) -> OSError:
        """Add the folder that is being written to an error of pyarrow, which does not name it."""
        number = error.errno or errno.EIO
        return OSError(number, os.strerror(number), str(self._folder.parent / f"{owner[0]}-{owner[1]}"))

    def read(self, owner: tuple[str, int]) -> pa.RecordBatchReader:
        """The rows of a partition."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches(owner))

    def _batches(self, owner: tuple[str, int]) -> Iterator[pa.RecordBatch]:
        for path in self._files[owner]:
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
                yield from stream

    def discard(self, owner: tuple[str, int]) -> None:
        """Remove the files of a partition."""
        for path in self._files.pop(owner):
            path.unlink()


@contextmanager
def published(directory: str) -> Iterator[Path]:
    """Provide a folder whose partitions are moved to ``directory`` if the block succeeds, and removed if it fails.

    Raises:
        FileExistsError: a partition exists in ``directory``.
    """
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    staged = _kafkacomp.StagedFolder(str(target / "kafkacomp-0"))
    try:
        folder = Path(str(staged.folder))
        yield folder
        names = sorted(each.name for each in folder.iterdir())
        for name in names:
            if os.path.lexists(target / name):
                raise exists_error(target / name)
        moved: list[str] = []
        try:
            for name in names:
                (folder / name).rename(target / name)
                moved.append(name)
        except OSError:
            for name in moved:
                (target / name).rename(folder / name)
            raise
    finally:
        staged.discard()
