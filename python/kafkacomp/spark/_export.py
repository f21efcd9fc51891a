"""``kafkacomp.spark.export``: executors read segments and write Parquet, the driver commits.

The driver plans the tasks of a batch read. Spark gets a row for each of them, as packed bytes, and hands it to
``mapInArrow``; what comes back is a row a task that says which files it wrote. No record becomes a row of the JVM.
Several attempts of a task may write; only the files of the attempt whose row Spark returns are published
(:mod:`kafkacomp.spark._export_commit`).
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import pickle
import shutil
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody does
from pyspark.sql.types import BooleanType, ByteType, IntegerType, LongType, ShortType, StringType

from kafkacomp._arguments import one_of
from kafkacomp.arrow import scan
from kafkacomp.spark._errors import EXPECTED, plain
from kafkacomp.spark._export_commit import SaveMode, begin, check_target, commit, discard
from kafkacomp.spark._export_files import TaskFiles, write_empty
from kafkacomp.spark._options import parse
from kafkacomp.spark._plan import plan
from kafkacomp.spark._read import KafkaCompReader
from kafkacomp.spark._schema import TYPES
from kafkacomp.spark._serialize import Shipped
from kafkacomp.spark._write_options import local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kafkacomp.arrow import MissingRange, ScanReport, SkippedRange
    from kafkacomp.spark._options import IsolationLevel, ReadOptions
    from kafkacomp.spark._plan import SegmentPartition

__all__ = ["Compression", "Exported", "export"]

#: Compression of the pages of Parquet files; ``lz4`` is LZ4_RAW.
Compression = Literal["none", "snappy", "gzip", "lz4", "zstd"]
_FORMATS: Final = ("parquet",)
_SPLITS: Final = "id bigint, split binary"
_ATTEMPTS: Final = "id bigint, attempt binary"
#: Options of the data source that :func:`export` has as arguments, or that mean nothing here.
_ARGUMENTS: Final = {
    "path": "source",
    "paths": "source",
    "columns": "columns",
    "isolationlevel": "isolation_level",
    "kafka.isolation.level": "isolation_level",
}
_FOLDER_TYPES: Final = (BooleanType, ByteType, IntegerType, LongType, ShortType, StringType)


class Exported(NamedTuple):
    """What :func:`export` wrote, and what it left out."""

    #: Files in the target that are new.
    files: int
    #: Their size.
    bytes: int
    #: Their rows; with ``mode="PERMISSIVE"`` also those of corrupt ranges.
    rows: int
    #: Ranges of bytes that were left out, with a ``mode`` other than ``FAILFAST``.
    skipped: tuple[SkippedRange, ...]
    #: Ranges of offsets that the segments should have and that were not delivered.
    missing: tuple[MissingRange, ...]
    #: Further ranges for which the reports of tasks had no room.
    more_missing: int


@dataclass(frozen=True)
class Attempt:
    """What an attempt of a task has written."""

    name: str
    #: The sizes of its files, by their paths below its folder.
    files: dict[str, int]
    rows: int
    reports: tuple[ScanReport, ...]


def export(
    spark: SparkSession,
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    format: Literal["parquet"] = "parquet",  # noqa: A002 - Spark's word
    save_mode: SaveMode = "errorifexists",
    partition_by: str | Sequence[str] = (),
    columns: Iterable[str] | None = None,
    compression: Compression = "zstd",
    isolation_level: IsolationLevel = "read_uncommitted",
    options: Mapping[str, object] | None = None,
) -> Exported:
    """See :func:`kafkacomp.spark.export`."""
    one_of("format", format, _FORMATS)
    one_of("save_mode", save_mode, get_args(SaveMode))
    one_of("compression", compression, get_args(Compression))
    reading = _read_options(source, columns, isolation_level, options or {})
    folders = _checked_folders(partition_by, reading.columns)
    path = local_path({"path": os.fspath(target)}, "exports")
    check_target(path, save_mode, folders)
    tasks = plan(reading)
    staging = begin(path)
    try:
        job = _Job(reading, staging, folders, compression)
        attempts = _run(spark, tasks, job)
        if not folders and not any(attempt.files for attempt in attempts):
            attempts.append(job.empty())
        published = {attempt.name: attempt.files for attempt in attempts if attempt.files}
        commit(path, staging, published, save_mode, folders)
    except BaseException:
        discard(path, staging)
        raise
    return _summary(attempts)


def _read_options(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: Iterable[str] | None,
    isolation_level: str,
    options: Mapping[str, object],
) -> ReadOptions:
    """The options of the data source.

    Raises:
        ValueError: as :func:`kafkacomp.spark._options.parse`; an option that is an argument here.
        TypeError: columns are a string.
    """
    given: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() in _ARGUMENTS:
            raise ValueError(f"{name} is not an option of export: use the argument {_ARGUMENTS[name.lower()]}")
        if name.lower() == "filterpushdown":
            raise ValueError("filterPushdown is not an option of export, which has no filters of a query")
        given[name] = _text(value)
    if isinstance(source, str | os.PathLike):
        given["path"] = os.fspath(source)
    else:
        given["paths"] = json.dumps([os.fspath(each) for each in source])
    if isinstance(columns, str):
        raise TypeError(f"columns must be a collection of names, not the string {columns!r}")
    if columns is not None:
        given["columns"] = ",".join(columns)
    given["isolationLevel"] = isolation_level
    return parse(given)


def _text(value: object) -> str:
    """A value as Spark hands options over; a mapping becomes JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _checked_folders(partition_by: str | Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that become folders.

    Raises:
        ValueError: a column that is not exported, is named twice or has values that cannot name folders; all columns.
    """
    names = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    for name in names:
        if name not in columns:
            raise ValueError(f"partition_by: {name!r} is not one of the columns {', '.join(columns)}")
        if names.count(name) > 1:
            raise ValueError(f"partition_by: {name!r} is named twice")
        if not isinstance(TYPES.get(name), _FOLDER_TYPES):
            allowed = [each for each in columns if isinstance(TYPES.get(each), _FOLDER_TYPES)]
            raise ValueError(f"partition_by: {name!r} cannot name folders; {', '.join(allowed)} can")  # noqa: TRY004 - see the type
    if len(names) == len(columns):
        raise ValueError("partition_by cannot have all columns: files need at least one")
    return names


class _Job(Shipped):
    """What a task does, for ``mapInArrow``."""

    def __init__(self, options: ReadOptions, staging: Path, partition_by: tuple[str, ...], compression: str) -> None:
        self.options = options
        self.staging = staging
        self.partition_by = partition_by
        self.compression = compression
        self.stem = f"part-{uuid.uuid4().hex[:16]}"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Export the splits of a partition of the data frame."""
        for batch in batches:
            for number, packed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                try:
                    attempt = self.export(number, pickle.loads(packed))  # noqa: S301 - packed by the driver
                except EXPECTED as error:
                    raise plain(error) from None
                columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(attempt)], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["id", "attempt"])

    def export(self, number: int, split: SegmentPartition) -> Attempt:
        """Write the rows of a split; nothing is left if that fails.

        Raises:
            KafkaCompError, OSError: the split cannot be read, or the files cannot be written.
        """
        name = uuid.uuid4().hex
        folder = self.staging / name
        files = TaskFiles(folder, f"{self.stem}-{number:06}", self.partition_by, self.compression)
        reader = KafkaCompReader(self.options)
        reports: list[ScanReport] = []
        reader.tell = reports.append
        try:
            # The job's folder is the driver's: an attempt that outlives its job leaves nothing.
            folder.mkdir()
            for batch in reader.read(split):
                files.write(batch)
            files.close()
        except BaseException as error:
            files.abandon()
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, FileNotFoundError) and not self.staging.exists():
                reason = "the job's folder is gone: it has ended, or driver and executors do not share the target"
                raise OSError(errno.ENOENT, reason, str(self.staging)) from None
            raise
        return Attempt(name, files.sizes, files.rows, tuple(reports))

    def empty(self) -> Attempt:
        """Write a file without rows, from which readers learn the columns."""
        fields = [
            pa.field(name, pa.string())
            if name == self.options.corrupt_column
            else pa.schema(scan(b"", columns=[name], timestamp_unit="us")).field(name)
            for name in self.options.columns
        ]
        name = uuid.uuid4().hex
        (self.staging / name).mkdir()
        files = write_empty(self.staging / name, f"{self.stem}-{0:06}-000", pa.schema(fields), self.compression)
        return Attempt(name, files, 0, ())


def _run(spark: SparkSession, tasks: Sequence[SegmentPartition], job: _Job) -> list[Attempt]:
    """The attempts that count, one for each task, in the order of the tasks."""
    if not tasks:
        return []
    rows = [(number, bytearray(pickle.dumps(task))) for number, task in enumerate(tasks)]
    # One task a partition: a range has exactly one number in each, and a broadcast join moves none of them.
    numbers = spark.range(0, len(rows), 1, len(rows))
    splits = numbers.join(F.broadcast(spark.createDataFrame(rows, _SPLITS)), "id")
    found: list[Any] = splits.mapInArrow(job, _ATTEMPTS).collect()
    found.sort(key=lambda row: row.id)
    if [row.id for row in found] != list(range(len(rows))):
        raise RuntimeError(f"Spark returned {len(found)} results of {len(rows)} tasks: nothing was published")
    return [pickle.loads(row.attempt) for row in found]  # noqa: S301 - from our own executors


def _summary(attempts: Sequence[Attempt]) -> Exported:
    reports = [report for attempt in attempts for report in attempt.reports]
    return Exported(
        files=sum(len(attempt.files) for attempt in attempts),
        bytes=sum(sum(attempt.files.values()) for attempt in attempts),
        rows=sum(attempt.rows for attempt in attempts),
        skipped=tuple(itertools.chain.from_iterable(report.skipped for report in reports)),
        missing=tuple(itertools.chain.from_iterable(report.missing for report in reports)),
        more_missing=sum(report.more_missing for report in reports),
    )
