"""``kafkacomp.spark.export``: executors read segments and write Parquet files, and the driver commits them.

The driver plans the tasks of a batch read. Spark gets a row of bytes for each task and passes it to ``mapInArrow``,
which returns a row for each task with the files that it wrote. No record becomes a row of the JVM.
Several attempts of a task may write; only the files of the attempt whose row Spark returns are published
(:mod:`kafkacomp.spark._export_commit`).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody does
from pyspark.sql.types import BooleanType, ByteType, IntegerType, LongType, ShortType, StringType

from kafkacomp._arguments import check_names, one_of
from kafkacomp._losses import acknowledged
from kafkacomp.arrow import ScanOptions, scan
from kafkacomp.spark._errors import briefly
from kafkacomp.spark._export_commit import SaveMode, begin, check_target, commit, discard
from kafkacomp.spark._export_files import TaskFiles, write_empty
from kafkacomp.spark._map_tasks import ROWS, MapTasks, packed, unpacked
from kafkacomp.spark._options import parse
from kafkacomp.spark._plan import plan
from kafkacomp.spark._read import KafkaCompReader
from kafkacomp.spark._schema import TYPES
from kafkacomp.spark._write_options import local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kafkacomp._storage.loss_file import KnownLoss
    from kafkacomp.arrow import MissingRange, ScanReport, SkippedRange
    from kafkacomp.spark._options import IsolationLevel, ReadOptions
    from kafkacomp.spark._plan import SegmentPartition

#: Compression of the pages of Parquet files; ``lz4`` is LZ4_RAW.
Compression = Literal["none", "snappy", "gzip", "lz4", "zstd"]
_FORMATS: Final = ("parquet",)
#: Options of the data source that are arguments of :func:`export`.
_ARGUMENTS: Final = {
    "path": "source",
    "paths": "source",
    "columns": "columns",
    "isolationlevel": "isolation_level",
    "kafka.isolation.level": "isolation_level",
    "failondataloss": "allow_missing",
}
_FOLDER_TYPES: Final = (BooleanType, ByteType, IntegerType, LongType, ShortType, StringType)


class Exported(NamedTuple):
    """The result of :func:`export`: what it wrote and what it left out.

    Attributes:
        files: The number of new files in the target.
        bytes: Their size in bytes.
        rows: Their rows; with ``mode="PERMISSIVE"`` including the rows for corrupt ranges.
        skipped: Corrupt ranges of bytes that were left out; empty with the mode ``FAILFAST``, which raises instead.
        missing: Ranges of offsets that the segments should have and that were not exported.
        more_missing: The number of further ranges that the reports of tasks do not list.
        known_losses: Those of the missing offsets that the loss file in the partition's folder makes known.
    """

    files: int
    bytes: int
    rows: int
    skipped: tuple[SkippedRange, ...]
    missing: tuple[MissingRange, ...]
    more_missing: int
    known_losses: tuple[KnownLoss, ...]


@dataclass(frozen=True)
class Attempt:
    """The files that an attempt of a task has written."""

    name: str
    #: The sizes of its files by path, relative to the folder of the attempt.
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
    parquet_compression: Compression = "zstd",
    isolation_level: IsolationLevel = "read_uncommitted",
    allow_missing: bool = False,
    options: Mapping[str, object] | None = None,
) -> Exported:
    """Write segments as Parquet files; the executors read and write, and the driver commits all files or none.

    The rows are those of ``spark.read.format("kafkacomp")`` with the same options, but they do not pass through the
    JVM. Spark repeats a task that fails or whose executor is lost; the files of exactly one attempt are published. With
    Spark Connect the client plans and commits.

    Args:
        spark: The session, classic or Spark Connect.
        source: A path or URL as in ``load`` of the data source, or several.
        target: The folder for the Parquet files: a path that the driver and the executors share.
        format: The format of the files.
        save_mode: ``errorifexists`` refuses a target that has files, ``append`` keeps its files, ``overwrite`` replaces
            all of them. A folder that contains anything but Parquet files is refused.
        partition_by: Columns that become folders, as in ``DataFrameWriter.partitionBy``. Their types must be strings,
            integers or booleans.
        columns: The columns to read, as in the option ``columns``.
        parquet_compression: The compression of the Parquet pages.
        isolation_level: ``read_committed`` leaves out the records of aborted transactions, and all records from the
            first open transaction on.
        allow_missing: Whether to return the result if bytes were skipped, or if offsets are missing that compaction
            does not explain, instead of raising an error after the commit. It replaces the option ``failOnDataLoss``:
            unless it is given, bounds outside of the log are an error, too.
        options: Further options of the data source by name, see ``docs/spark.md``: ``{"subscribe": "orders",
            "startingTimestamp": 1767261600000, "mode": "DROPMALFORMED"}``. Values are strings, numbers or booleans; or
            mappings, for options that are JSON.

    Returns:
        ``files``, ``bytes`` and ``rows`` that were written; ``skipped`` and ``missing``, the ranges of bytes and of
        offsets that were left out, as in :class:`kafkacomp.ScanReport`.

    Raises:
        ValueError: an argument or option is unknown, or its value is not allowed.
        FileNotFoundError: a path of the source does not exist, or contains no segments.
        FileExistsError: ``save_mode`` is ``errorifexists`` and the target has files.
        KafkaCompError, OSError: the source cannot be read while the tasks are planned, or the target cannot be written.
        DataLossError: everything that could be read was published, but data of the source are missing; ``report`` is
            the result.
        PySparkException: a task failed; the message contains the error of the task.
        ImportError: PySpark 3.5.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> ks.export(spark, "/backup/kafka-logs", "/lake/orders", partition_by=["topic"])  # doctest: +SKIP
        Exported(files=2, bytes=7319, rows=2400, skipped=(), missing=(), more_missing=0, known_losses=())
    """
    one_of("format", format, _FORMATS)
    one_of("save_mode", save_mode, get_args(SaveMode))
    one_of("parquet_compression", parquet_compression, get_args(Compression))
    reading = _read_options(source, columns, isolation_level, options or {}, allow_missing=allow_missing)
    folders = _checked_folders(partition_by, reading.columns)
    path = local_path({"path": os.fspath(target)}, "exports")
    check_target(path, save_mode, folders)
    tasks = plan(reading)
    staging = begin(path)
    try:
        # Tasks report missing data; the driver decides about them once the export is complete.
        job = _Job(replace(reading, fail_on_data_loss=False), staging, folders, parquet_compression)
        attempts = _run(spark, tasks, job)
        if not folders and not any(attempt.files for attempt in attempts):
            attempts.append(job.empty())
        published = {attempt.name: attempt.files for attempt in attempts if attempt.files}
        commit(path, staging, published, save_mode, folders)
    except BaseException:
        discard(path, staging)
        raise
    return acknowledged(str(path), _summary(attempts), allow_missing=allow_missing)


def _read_options(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: Iterable[str] | None,
    isolation_level: str,
    options: Mapping[str, object],
    *,
    allow_missing: bool = False,
) -> ReadOptions:
    """Combine the arguments of :func:`export` and its ``options`` into options of the data source.

    Raises:
        ValueError: as in :func:`kafkacomp.spark._options.parse`; or an option is an argument of :func:`export`.
        TypeError: ``columns`` is a string.
    """
    given: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() in _ARGUMENTS:
            raise ValueError(f"{name} is not an option of export: use the argument {_ARGUMENTS[name.lower()]}")
        if name.lower() == "filterpushdown":
            raise ValueError("filterPushdown is not an option of export: there is no query with filters")
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
    given["failOnDataLoss"] = _text(not allow_missing)
    return parse(given)


def _text(value: object) -> str:
    """Convert a value to the text of an option; a mapping becomes JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _checked_folders(partition_by: str | Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Check the columns that become folders.

    Raises:
        ValueError: a column is not exported, is given twice or has values that cannot be names of folders; or no column
            is left for the files.
    """
    names = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    check_names("partition_by", names, columns)
    for name in names:
        if not isinstance(TYPES.get(name), _FOLDER_TYPES):
            allowed = [each for each in columns if isinstance(TYPES.get(each), _FOLDER_TYPES)]
            message = f"partition_by: column {name!r} cannot become folders: expected some of {', '.join(allowed)}"
            raise ValueError(message)  # noqa: TRY004 - the type of the column is wrong, not that of the argument
    if len(names) == len(columns):
        raise ValueError("partition_by has all columns: leave at least one for the files")
    return names


class _Job(MapTasks):
    """Exports splits."""

    def __init__(self, options: ReadOptions, staging: Path, partition_by: tuple[str, ...], compression: str) -> None:
        self.options = options
        self.staging = staging
        self.partition_by = partition_by
        self.compression = compression
        self.stem = f"part-{uuid.uuid4().hex[:16]}"

    @briefly
    def run(self, number: int, task: SegmentPartition) -> Attempt:
        """Write the rows of a split; if it fails, its files are removed.

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
            # Only the driver creates the job's folder: an attempt that outlives its job leaves no files behind.
            folder.mkdir()
            for batch in reader.read(task):
                files.write(batch)
            files.close()
        except BaseException as error:
            files.abandon()
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, FileNotFoundError) and not self.staging.exists():
                reason = "the job's folder is missing: it has ended, or driver and executors do not share the target"
                raise OSError(errno.ENOENT, reason, str(self.staging)) from None
            raise
        return Attempt(name, files.sizes, files.rows, tuple(reports))

    def empty(self) -> Attempt:
        """Write a file without rows, so that readers find the schema."""
        fields = [
            pa.field(name, pa.string())
            if name == self.options.corrupt_column
            else pa.schema(scan(b"", columns=[name], options=ScanOptions(timestamp_unit="us"))).field(name)
            for name in self.options.columns
        ]
        name = uuid.uuid4().hex
        (self.staging / name).mkdir()
        files = write_empty(self.staging / name, f"{self.stem}-{0:06}-000", pa.schema(fields), self.compression)
        return Attempt(name, files, 0, ())


def _run(spark: SparkSession, tasks: Sequence[SegmentPartition], job: _Job) -> list[Attempt]:
    """Run the job and return the attempts to publish, one for each task, in the order of the tasks."""
    if not tasks:
        return []
    rows = packed(tasks)
    # One task for each partition: spark.range puts one number in each, and a broadcast join does not move rows.
    numbers = spark.range(0, len(rows), 1, len(rows))
    splits = numbers.join(F.broadcast(spark.createDataFrame(rows, ROWS)), "id")
    found = unpacked(splits.mapInArrow(job, ROWS).collect())
    if [number for number, _ in found] != list(range(len(rows))):
        raise RuntimeError(f"Spark returned {len(found)} results for {len(rows)} tasks: no file was published")
    return [attempt for _, attempt in found]


def _summary(attempts: Sequence[Attempt]) -> Exported:
    reports = [report for attempt in attempts for report in attempt.reports]
    return Exported(
        files=sum(len(attempt.files) for attempt in attempts),
        bytes=sum(sum(attempt.files.values()) for attempt in attempts),
        rows=sum(attempt.rows for attempt in attempts),
        skipped=tuple(each for report in reports for each in report.skipped),
        missing=tuple(each for report in reports for each in report.missing),
        more_missing=sum(report.more_missing for report in reports),
        known_losses=tuple(each for report in reports for each in report.known_losses),
    )
