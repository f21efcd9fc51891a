"""``df.write`` and ``df.writeStream``: tasks stage batches, the driver makes logs of them.

A task's rows become batches of each topic-partition, in files of the job's folder inside the target. The driver gives
the batches their offsets and makes segments of them; see :mod:`kafkacomp.spark._commit`. The classes pickle by name, so
kafkacomp must be installed where the executors are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row, datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_type

from kafkacomp import _kafkacomp
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.spark._commit import (
    Staged,
    check_target,
    commit,
    discard,
    new_staging,
    partition_counts,
    recover,
)
from kafkacomp.spark._errors import briefly
from kafkacomp.spark._serialize import Shipped
from kafkacomp.spark._write_options import WriteOptions, check_columns, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql.types import StructType

__all__ = ["KafkaCompStreamWriter", "KafkaCompWriter", "TaskCommit", "stream_writer", "writer"]

#: Rows of a batch where Spark hands over one by one.
_ROWS = 4096


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """What a task has staged."""

    staged: tuple[Staged, ...]


@dataclass(frozen=True)
class Job:
    """What the tasks of a job share."""

    options: WriteOptions
    #: The columns that are written.
    columns: tuple[str, ...]
    overwrite: bool
    staging: Path
    #: Partitions that topics have already.
    known: dict[str, int]

    def stage(self, batches: Iterable[pa.RecordBatch]) -> TaskCommit:
        """Turn a task's rows into batches of Kafka's; nothing is left if it fails."""
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        name = f"{number}-{uuid.uuid4().hex}"
        options = self.options
        try:
            files = _kafkacomp.StagedBatches(
                options.settings(), self.staging / name, options.topic, options.partitions, self.known, number
            )
            for batch in batches:
                with _located(number):
                    files.push(batch.select(self.columns))
            return TaskCommit(tuple(map(Staged.of, files.finish())))
        except FileNotFoundError as error:
            reason = "the job's folder is gone: it has ended, or driver and executors do not share the target"
            raise OSError(error.errno, reason, error.filename) from None
        except BaseException:
            for path in self.staging.glob(f"{name}.*"):
                with contextlib.suppress(OSError):
                    path.unlink()
            raise

    def publish(self, messages: Iterable[WriterCommitMessage | None], batch: tuple[str, int] | None = None) -> None:
        """Make logs of what tasks have staged."""
        tasks = [message for message in messages if isinstance(message, TaskCommit)]
        commit(
            self.options.path,
            self.staging,
            itertools.chain.from_iterable(task.staged for task in tasks),
            overwrite=self.overwrite,
            segment_bytes=self.options.segment_bytes,
            topic_id=self.options.topic_id,
            batch=batch,
        )

    def discard(self) -> None:
        """Remove what tasks have staged."""
        discard(self.options.path, self.staging)


@contextlib.contextmanager
def _located(partition: int) -> Iterator[None]:
    """Errors, which name the row, with the DataFrame's partition in front."""
    try:
        yield
    except (KafkaCompError, ValueError) as error:
        error.args = (f"partition {partition} of the DataFrame: {error}",)
        raise


def _job(options: WriteOptions, schema: StructType, overwrite: bool, owner: str | None = None) -> Job:
    """Check all that can be checked before the work, and finish what another job had left undone."""
    columns = tuple(check_columns(schema, options.topic))
    check_target(options.path)
    options.path.mkdir(parents=True, exist_ok=True)
    recover(options.path)
    known = {} if overwrite else partition_counts(options.path)
    # Tasks do not make it: one that goes on after its job has ended leaves nothing.
    staging = new_staging(options.path, owner)
    staging.mkdir()
    return Job(options, columns, overwrite, staging, known)


class KafkaCompWriter(Shipped, DataSourceArrowWriter):
    """Writes a DataFrame."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @briefly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage a task's rows."""
        return self.job.stage(iterator)

    @briefly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what all tasks have staged."""
        self.job.publish(messages)

    @briefly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - where they are is known
        """Remove it."""
        self.job.discard()


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    """A row's value as pyarrow takes it; Spark's times are local ones without a zone."""
    if isinstance(value, Row):
        return value.asDict()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return [*value.items()]
    return value.astimezone(UTC) if isinstance(value, datetime) else value


class KafkaCompStreamWriter(Shipped, DataSourceStreamWriter):
    """Writes the batches of a streaming query, each one once."""

    def __init__(self, job: Job, schema: StructType, query: str) -> None:
        self.job = job
        self.schema = schema
        self.query = query

    @briefly
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Stage a task's rows."""
        fields = [(name, to_arrow_type(self.schema[name].dataType)) for name in self.job.columns]

        def batches() -> Iterator[pa.RecordBatch]:
            while rows := list(itertools.islice(iterator, _ROWS)):
                columns = [pa.array([_plain(row[name]) for row in rows], kind) for name, kind in fields]
                yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

        return self.job.stage(batches())

    @briefly
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - PySpark's name
        """Publish what all tasks have staged, unless this batch was published before."""
        self.job.publish(messages, (self.query, batchId))

    @briefly
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - as above
        """Remove it."""
        self.job.discard()


# PySpark 4.0 hands rows over, later versions Arrow.
if hasattr(datasource, "DataSourceStreamArrowWriter"):

    class _ArrowStreamWriter(KafkaCompStreamWriter, datasource.DataSourceStreamArrowWriter):
        @briefly
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            return self.job.stage(iterator)

    _STREAM_WRITER: type[KafkaCompStreamWriter] = _ArrowStreamWriter
else:
    _STREAM_WRITER = KafkaCompStreamWriter


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> KafkaCompWriter:
    """A writer for these columns.

    Raises:
        ValueError: an option or a column that is not known or not right.
        OSError: the target cannot be written to.
    """
    return KafkaCompWriter(_job(parse(options), schema, overwrite))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> KafkaCompStreamWriter:
    """A writer for a streaming query.

    Raises:
        ValueError: an option or a column that is not known or not right, a query without a checkpoint of its own.
        OSError: the target cannot be written to.
    """
    checked = parse(options, streaming=True)
    query = _query_id(checked.checkpoint)
    return _STREAM_WRITER(_job(checked, schema, overwrite, query), schema, query)


def _query_id(checkpoint: str | None) -> str:
    """The id that Spark gave the query when its checkpoint was made: a new checkpoint is a new query."""
    if checkpoint is None:
        raise ValueError("give the query the option checkpointLocation: its batches are told apart by what is there")
    filesystem, path = open_filesystem(checkpoint if "://" in checkpoint else checkpoint.removeprefix("file:"))
    content = filesystem.read(f"{path.rstrip('/')}/metadata")
    try:
        return str(cast("dict[str, object]", json.loads(content or b""))["id"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"checkpointLocation {checkpoint} has no query id in its file metadata") from None
