"""``df.write`` and ``df.writeStream``: tasks stage batches, and the driver assembles logs from them.

A task writes its rows as batches of each topic-partition, to files in the job's folder inside the target. The driver
assigns offsets to the batches and assembles segments; see :mod:`kafkacomp.spark._commit`. The classes pickle by name,
so kafkacomp must be installed on the executors.
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
from kafkacomp.spark._commit import Staged, check_target, commit, discard, new_staging, partition_counts, recover
from kafkacomp.spark._errors import briefly
from kafkacomp.spark._serialize import SentToExecutors
from kafkacomp.spark._write_options import WriteOptions, check_columns, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql.types import StructType

#: Rows of an Arrow batch, if Spark passes rows one by one.
_ROWS = 4096


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """The files that a task has staged."""

    staged: tuple[Staged, ...]


@dataclass(frozen=True)
class Job:
    """The settings that the tasks of a job share."""

    options: WriteOptions
    #: The columns that are written.
    columns: tuple[str, ...]
    overwrite: bool
    staging: Path
    #: The number of existing partitions of each topic.
    known: dict[str, int]

    def stage(self, batches: Iterable[pa.RecordBatch]) -> TaskCommit:
        """Write a task's rows as Kafka batches; if it fails, its files are removed."""
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
            reason = "the job's folder is missing: it has ended, or driver and executors do not share the target"
            raise OSError(error.errno, reason, error.filename) from None
        except BaseException:
            for path in self.staging.glob(f"{name}.*"):
                with contextlib.suppress(OSError):
                    path.unlink()
            raise

    def publish(self, messages: Iterable[WriterCommitMessage | None], batch: tuple[str, int] | None = None) -> None:
        """Assemble logs from the files that tasks have staged."""
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
        """Remove the files that tasks have staged."""
        discard(self.options.path, self.staging)


@contextlib.contextmanager
def _located(partition: int) -> Iterator[None]:
    """Prefix errors, which name the row, with the partition of the DataFrame."""
    try:
        yield
    except (KafkaCompError, ValueError) as error:
        error.args = (f"partition {partition} of the DataFrame: {error}",)
        raise


def _job(options: WriteOptions, schema: StructType, overwrite: bool, owner: str | None = None) -> Job:
    """Check the options, the columns and the target, and finish the decided write of a killed job."""
    columns = tuple(check_columns(schema, options.topic))
    check_target(options.path)
    options.path.mkdir(parents=True, exist_ok=True)
    recover(options.path)
    known = {} if overwrite else partition_counts(options.path)
    # Tasks do not create this folder: a task that outlives its job leaves no files behind.
    staging = new_staging(options.path, owner)
    staging.mkdir()
    return Job(options, columns, overwrite, staging, known)


class KafkaCompWriter(SentToExecutors, DataSourceArrowWriter):
    """Writes a DataFrame."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @briefly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage a task's rows."""
        return self.job.stage(iterator)

    @briefly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the files that all tasks have staged."""
        self.job.publish(messages)

    @briefly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - the folder is known
        """Remove it."""
        self.job.discard()


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    """Convert a row's value for pyarrow; Spark passes times as local times without a zone."""
    if isinstance(value, Row):
        return value.asDict()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return [*value.items()]
    return value.astimezone(UTC) if isinstance(value, datetime) else value


class KafkaCompStreamWriter(SentToExecutors, DataSourceStreamWriter):
    """Writes the batches of a streaming query, each exactly once."""

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
        """Publish the files that all tasks have staged, unless this batch was published before."""
        self.job.publish(messages, (self.query, batchId))

    @briefly
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - as above
        """Remove it."""
        self.job.discard()


# PySpark 4.0 passes rows, later versions Arrow batches.
if hasattr(datasource, "DataSourceStreamArrowWriter"):

    class _ArrowStreamWriter(KafkaCompStreamWriter, datasource.DataSourceStreamArrowWriter):
        @briefly
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            return self.job.stage(iterator)

    _STREAM_WRITER: type[KafkaCompStreamWriter] = _ArrowStreamWriter
else:
    _STREAM_WRITER = KafkaCompStreamWriter


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> KafkaCompWriter:
    """Create a writer for these columns.

    Raises:
        ValueError: an option or a column is unknown, or its value or type is not allowed.
        OSError: the target cannot be written to.
    """
    return KafkaCompWriter(_job(parse(options), schema, overwrite))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> KafkaCompStreamWriter:
    """Create a writer for a streaming query.

    Raises:
        ValueError: as in :func:`writer`; or the query does not have its own option ``checkpointLocation``.
        OSError: the target cannot be written to.
    """
    checked = parse(options, streaming=True)
    query = _query_id(checked.checkpoint)
    return _STREAM_WRITER(_job(checked, schema, overwrite, query), schema, query)


def _query_id(checkpoint: str | None) -> str:
    """Read the id that Spark assigned to the query when it created its checkpoint."""
    if checkpoint is None:
        raise ValueError("no checkpointLocation: give the query this option, which identifies it")
    filesystem, path = open_filesystem(checkpoint if "://" in checkpoint else checkpoint.removeprefix("file:"))
    content = filesystem.read(f"{path.rstrip('/')}/metadata")
    try:
        return str(cast("dict[str, object]", json.loads(content or b""))["id"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"checkpointLocation {checkpoint}: its file metadata has no query id") from None
