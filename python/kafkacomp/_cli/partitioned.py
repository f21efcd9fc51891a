"""``kafkacomp export --partition-by``: write a folder in Hive's layout, which Arrow, Spark and DuckDB read."""

from __future__ import annotations

import secrets
import shutil
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kafkacomp._cli.writers import writer
from kafkacomp._extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from kafkacomp._cli.writers import Write

#: The keys by which files can be divided, with the columns of their values.
KEYS = {"topic": "topic", "partition": "partition", "date": "timestamp"}
#: Hive's name for null.
_NULL = "__HIVE_DEFAULT_PARTITION__"
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
        compute = require("pyarrow.compute")
        texts = [_text(batch, key) for key in keys]
        joined = compute.binary_join_element_wise(*texts, "/")
        for value in joined.unique().to_pylist():
            self._writer(value)(batch.filter(compute.equal(joined, value)))

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
        values = "-".join(part.partition("=")[2] for part in folder.split("/"))
        stack = ExitStack()
        sink = stack.enter_context((path / f"{values}-{number:05}{self._suffix}").open("xb"))
        return stack, stack.enter_context(writer(self._kind, sink, self._schema, **self._options))

    def close(self) -> None:
        """Complete all files."""
        while self._open:
            self._open.popitem()[1][0].close()


def _text(batch: pa.RecordBatch, key: str) -> Any:  # noqa: ANN401 - an array of pyarrow
    """The name of the folder of each row."""
    pa, compute = require("pyarrow"), require("pyarrow.compute")
    column = batch.column(KEYS[key])
    if key == "date":
        times = (
            column.cast(pa.timestamp("ms"))
            if pa.types.is_integer(column.type)
            else column.cast(pa.timestamp(column.type.unit))
        )
        column = compute.strftime(times, format="%Y-%m-%d")
    values = {each: _NULL if each is None else quote(str(each), safe="") for each in column.unique().to_pylist()}
    return pa.array([f"{key}={values[each]}" for each in column.to_pylist()], pa.string())
