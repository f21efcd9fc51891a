"""Write the Parquet files of a task: rows by partition folder, collected into row groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._extras import pa, parquet
from kafkacomp._storage.state_file import sync_folder
from kafkacomp.arrow._hive import by_folder
from kafkacomp.spark._export_commit import STAGED, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: Bytes of column data that all files of a task together keep in memory; also the size of a row group.
ROW_GROUP_BYTES: Final = 64 << 20
#: The most files that a task keeps open; if there are more partition folders, a folder gets several files.
_MOST_OPEN: Final = 100
#: Columns whose values mostly increase: delta encoding needs fewer bytes than a dictionary.
_GROWING: Final = ("offset", "timestamp", "baseOffset", "position", "sequence")


class TaskFiles:
    """Writes batches to a folder, with a file for each partition folder.

    Args:
        folder: The folder of the task's attempt.
        stem: The beginning of the names of the files.
        partition_by: The columns that become folders.
        compression: The compression of the pages, as in ``kafkacomp.spark.export``.
    """

    def __init__(self, folder: Path, stem: str, partition_by: Sequence[str], compression: str) -> None:
        self._folder = folder
        self._stem = stem
        self._partition_by = list(partition_by)
        self._compression = compression
        #: Open files by partition folder, in the order of their last use.
        self._open: dict[str, _File] = {}
        self._held = 0
        self._count = 0
        #: The sizes of finished files by path, relative to the folder.
        self.sizes: dict[str, int] = {}
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        for name, chosen in by_folder(batch, self._partition_by):
            if not chosen.num_rows:
                continue
            rows = chosen.drop_columns(self._partition_by)
            file = self._open.pop(name, None) or self._new(name, rows.schema)
            self._open[name] = file
            self._held += file.hold(rows)
            self.rows += rows.num_rows
        while self._held > ROW_GROUP_BYTES:
            self._held -= max(self._open.values(), key=lambda file: file.held).write_group()
        while len(self._open) > _MOST_OPEN:
            self._finish(next(iter(self._open)))

    def close(self) -> None:
        """Finish all files and flush them to the disk."""
        for name in [*self._open]:
            self._finish(name)
        for path, _, _ in os.walk(self._folder, topdown=False):
            sync_folder(self._folder.joinpath(path))

    def abandon(self) -> None:
        """Close the open files without finishing them."""
        for file in self._open.values():
            file.abandon()

    def _new(self, name: str, schema: pa.Schema) -> _File:
        path = f"{name}{self._stem}-{self._count:03}.{self._compression}{SUFFIX}{STAGED}"
        self._count += 1
        (self._folder / name).mkdir(parents=True, exist_ok=True)
        return _File(self._folder, path, schema, self._compression)

    def _finish(self, name: str) -> None:
        file = self._open.pop(name)
        self._held -= file.held
        self.sizes[file.name] = file.finish()


class _File:
    """A Parquet file, and the rows collected for its next row group."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema, compression: str) -> None:
        self.name = name
        self.held = 0
        self._batches: list[pa.RecordBatch] = []
        self._schema = schema
        self._path = folder / name
        self._out = pa.OSFile(str(self._path), "wb")
        self._writer = _writer(self._out, schema, compression)

    def hold(self, rows: pa.RecordBatch) -> int:
        size: int = rows.nbytes
        self._batches.append(rows)
        self.held += size
        return size

    def write_group(self) -> int:
        written, self.held = self.held, 0
        table = pa.Table.from_batches(self._batches, self._schema)
        self._batches = []
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        return written

    def finish(self) -> int:
        if self._batches:
            self.write_group()
        self._writer.close()
        self._out.close()
        with self._path.open("rb") as file:
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size

    def abandon(self) -> None:
        self._batches = []
        self._writer.is_open = False  # or its destructor would write a footer to the closed file
        self._out.close()


def write_empty(folder: Path, stem: str, schema: pa.Schema, compression: str) -> dict[str, int]:
    """Write a file that has the schema and no rows; return its size by its path."""
    file = _File(folder, f"{stem}.{compression}{SUFFIX}{STAGED}", schema, compression)
    size = file.finish()
    sync_folder(folder)
    return {file.name: size}


def _writer(out: object, schema: pa.Schema, compression: str) -> Any:  # noqa: ANN401 - of pyarrow, which has no types
    growing = [
        field.name
        for field in schema
        if field.name in _GROWING and (pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type))
    ]
    return parquet.ParquetWriter(
        out,
        schema,
        compression=compression,
        use_dictionary=[name for name in _leaves(schema) if name not in growing],
        column_encoding=dict.fromkeys(growing, "DELTA_BINARY_PACKED") or None,
    )


def _leaves(schema: pa.Schema) -> Iterator[str]:
    """Yield the paths of a schema's leaf columns in Parquet's notation."""
    for field in schema:
        if field.name == "headers":
            yield from ("headers.list.element.key", "headers.list.element.value")
        else:
            yield field.name
