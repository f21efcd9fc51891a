"""Logs that grow byte by byte, as a broker makes them, and a stream over them without Spark."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafkacomp.record import read_batches
from kafkacomp.spark import KafkaCompDataSource
from kafkacomp.spark._stream import HAS_LIMITS, KafkaCompStreamReader, RefusingStreamReader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["GrowingLog", "Stream"]


class GrowingLog:
    """A finished log of which another folder shows the first so many bytes."""

    def __init__(self, finished: Path, shown: Path, *, indexed: bool = True, reserved: int = 0) -> None:
        self.segments = [(path, path.read_bytes()) for path in sorted(finished.glob("*.log"))]
        self.shown = shown
        self.indexed = indexed
        #: Zeros behind the last segment, as `log.preallocate` makes them.
        self.reserved = reserved
        self.size = sum(len(data) for _, data in self.segments)
        self._gone: set[str] = set()
        shown.mkdir(parents=True, exist_ok=True)

    def show(self, size: int) -> None:
        """Show this many bytes in all; a segment appears when the one before is full, empty at first."""
        for path, data in self.segments:
            part = data[: max(size, 0)]
            self._write(path, part, is_full=size > len(data))
            size -= len(data)
            if size < 0:
                return

    def _write(self, path: Path, part: bytes, *, is_full: bool) -> None:
        target = self.shown / path.name
        if path.name in self._gone:
            return
        if not is_full:
            part += bytes(self.reserved)
        if not target.exists():
            target.touch()
        if target.stat().st_size == len(part) and is_full:
            return
        # In place, as a broker appends: the file is never gone nor empty in between.
        with target.open("r+b") as file:
            file.write(part)
            file.truncate()
        index = path.with_suffix(".index")
        if self.indexed and is_full and index.exists():
            shutil.copyfile(index, self.shown / index.name)

    def delete_first(self) -> int:
        """Delete the first segment that is shown, as retention does; the offset that the log begins with then."""
        first, second, *_ = sorted(self.shown.glob("*.log"))
        self._gone.add(first.name)
        first.unlink()
        first.with_suffix(".index").unlink(missing_ok=True)
        return int(second.stem)

    def offsets(self, size: int) -> list[int]:
        """The offsets whose batches are whole within this many bytes."""
        found: list[int] = []
        for _, data in self.segments:
            found += [record.offset for batch in read_batches(data[: max(size, 0)]) for record in batch]
            size -= len(data)
        return found


@dataclass
class Stream:
    """A query over a folder, as Spark runs one: all that lives on between two batches is JSON."""

    path: Path | str
    options: dict[str, str] = field(default_factory=dict)
    position: dict[str, Any] | None = None
    #: Topic, partition and offset of every row.
    rows: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew, at the checkpoint if there is one."""
        options = {"columns": "topic,partition,offset", "startingOffsets": "earliest", **self.options}
        source = KafkaCompDataSource({"path": str(self.path), **options})
        reader = source.streamReader(source.schema())
        if isinstance(reader, RefusingStreamReader):
            reader.initialOffset()
        assert isinstance(reader, KafkaCompStreamReader)
        self.reader = reader
        if self.position is None:
            self.position = json.loads(json.dumps(self.reader.initialOffset()))

    def latest(self, start: dict[str, Any], limit: int | None = None) -> dict[str, Any]:
        """Ask for the end of the next batch."""
        reader: Any = self.reader
        if not HAS_LIMITS:
            assert limit is None
            found = reader.latestOffset()
        else:
            from pyspark.sql.streaming.datasource import (  # noqa: PLC0415 - PySpark 4.2
                ReadAllAvailable,
                ReadMaxRows,
            )

            found = reader.latestOffset(start, ReadAllAvailable() if limit is None else ReadMaxRows(limit))
        return dict(json.loads(json.dumps(found)))

    def run(self, limit: int | None = None) -> list[tuple[str, int, int]]:
        """Run one batch; its rows."""
        assert self.position is not None
        end = self.latest(self.position, limit)
        found = self.read(self.position, end)
        self.reader.commit(end)
        self.position = end
        self.rows += found
        return found

    def read(self, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[str, int, int]]:
        """The rows of a batch; reader and tasks travel as Spark sends them."""
        return self.read_tasks(self.reader.partitions(start, end))

    def read_tasks(self, tasks: Iterable[Any]) -> list[tuple[str, int, int]]:
        """The rows of these tasks."""
        reader = pickle.loads(pickle.dumps(self.reader))  # noqa: S301 - our own
        return [
            (row["topic"], row["partition"], row["offset"])
            for task in pickle.loads(pickle.dumps(list(tasks)))  # noqa: S301 - our own
            for batch in reader.read(task)
            for row in batch.to_pylist()
        ]

    def offsets(self) -> list[int]:
        """The offsets of all rows so far."""
        return [offset for _, _, offset in self.rows]
