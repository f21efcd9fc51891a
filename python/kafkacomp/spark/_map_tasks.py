"""Run pickled tasks on the executors by ``mapInArrow``: a row for each task, and one for each result."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkacomp.spark._serialize import SentToExecutors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The columns of the rows.
ROWS: Final = "id bigint, packed binary"


class MapTasks(SentToExecutors, ABC):
    """The function for ``mapInArrow``, from rows of tasks to rows of their results."""

    @abstractmethod
    def run(self, number: int, task: Any) -> object:  # noqa: ANN401 - whatever was packed
        """Run one task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks in a partition of the DataFrame, one after another."""
        for batch in batches:
            for number, packed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                result = self.run(number, pickle.loads(packed))  # noqa: S301 - packed by the driver
                columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(result)], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["id", "packed"])


def packed(tasks: Iterable[object]) -> list[tuple[int, bytearray]]:
    """The rows of tasks."""
    return [(number, bytearray(pickle.dumps(task))) for number, task in enumerate(tasks)]


def unpacked(rows: Iterable[Any]) -> list[tuple[int, Any]]:
    """The tasks' numbers and results, in the order of the numbers."""
    found = [(row.id, pickle.loads(row.packed)) for row in rows]  # noqa: S301 - from our own executors
    return sorted(found, key=lambda each: each[0])
