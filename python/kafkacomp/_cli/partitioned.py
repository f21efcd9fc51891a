"""``kafkacomp export --partition-by``: write a folder in Hive's layout, which Arrow, Spark and DuckDB read."""

from __future__ import annotations

import secrets
import shutil
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kafkacomp._cli.writers import writer
from kafkacomp._extras import pa, pc
from kafkacomp.arrow._hive import by_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kafkacomp._cli.writers import Write

#: The keys by which files can be divided, with the columns of their values.
KEYS = {"topic": "topic", "partition": "partition", "date": "timestamp"}
#: The most open files; before another one is opened, the least recently used one is closed.
_MOST_OPEN = 64


def keys_of(text: str) -> list[str]:
    """Parse names of ``KEYS`` separated by commas; ValueError for others."""
    keys = [name.strip() for name in text.split(",")]
    unknown = [name for name in keys if name not in KEYS]
    if unknown or len(set(keys)) < len(keys):
        problem = f"unknown {unknown[0]!r}" if unknown else "a name is given twice"
        raise ValueError(f"{problem}: expected some of {', '.join(KEYS)}")
    return keys


def columns_of(columns: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The columns of the files; the others are in the names of folders."""
    return [name for name in columns if name not in keys]


@contextmanager
def partitioned(
    target: Path,
    kind: str,
    keys: Sequence[str],
    schema: pa.Schema,
    *,
    suffix: str,
    **options: Any,  # noqa: ANN401
) -> Iterator[Write]:
    """Write batches into files of a new folder, which appears complete or not at all.

    Args:
        target: The folder, which must not exist.
        kind: The format of the files.
        keys: The keys by which it is divided.
        schema: The schema of the batches.
        suffix: The suffix of the files.
        options: The options of :func:`kafkacomp._cli.writers.writer`.
    """
    hidden = target.with_name(f".{secrets.token_hex(8)}.tmp")
    hidden.mkdir()
    try:
        files = _Files(hidden, kind, suffix, schema, options)
        try:
            yield lambda batch: files.write(batch, keys)
        finally:
            files.close()
        hidden.rename(target)
    finally:
        if hidden.exists():
            shutil.rmtree(hidden)


class _Files:
    """The files of a folder, some of which are open."""

    def __init__(self, folder: Path, kind: str, suffix: str, schema: pa.Schema, options: dict[str, Any]) -> None:
        self._folder = folder
        self._kind = kind
        self._suffix = suffix
        self._schema = schema
        self._options = options
        self._open: dict[str, tuple[ExitStack, Write]] = {}
        self._counts: dict[str, int] = {}

    def write(self, batch: pa.RecordBatch, keys: Sequence[str]) -> None:
        """Write each row to the file of its keys."""
        for folder, rows in by_folder(_with_date(batch) if "date" in keys else batch, keys):
            self._writer(folder)(rows)

    def _writer(self, folder: str) -> Write:
        found = self._open.pop(folder, None) or self._begin(folder)
        self._open[folder] = found
        while len(self._open) > _MOST_OPEN:
            self._open.pop(next(iter(self._open)))[0].close()
        return found[1]

    def _begin(self, folder: str) -> tuple[ExitStack, Write]:
        path = self._folder / folder
        path.mkdir(parents=True, exist_ok=True)
        number = self._counts[folder] = self._counts.get(folder, -1) + 1
        values = "-".join(part.partition("=")[2] for part in folder.rstrip("/").split("/"))
        stack = ExitStack()
        sink = stack.enter_context((path / f"{values}-{number:05}{self._suffix}").open("xb"))
        return stack, stack.enter_context(writer(self._kind, sink, self._schema, **self._options))

    def close(self) -> None:
        """Complete all files."""
        while self._open:
            self._open.popitem()[1][0].close()


def _with_date(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add a column with the date of the timestamp in UTC."""
    column = batch.column("timestamp")
    times = column.cast(pa.int64()).cast(pa.timestamp(getattr(column.type, "unit", "ms")))
    return batch.append_column("date", pc.strftime(times, format="%Y-%m-%d"))
