"""``kafkacomp.spark.advise``: executors measure the sample of ``kafkacomp advise``.

The driver finds the segments and chooses the windows of each topic's sample. A task reads and measures some of the
windows, and returns a few kilobytes of figures for each. The driver adds the figures up.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kafkacomp import broker
from kafkacomp.advice.measure import measure
from kafkacomp.advice.prices import load
from kafkacomp.advice.run import finish, plan
from kafkacomp.advice.settings import Settings
from kafkacomp.spark._serialize import SentToExecutors
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kafkacomp.advice.measure import Figures
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.report import Report, TopicReport

_TASKS: Final = "number bigint, task binary"
_FIGURES: Final = "number bigint, figures binary"
_OPTIONS: Final = (
    "topic string, messageFormat string, todaysType string, compressionType string, level int, batchSize bigint, "
    "stored boolean, records bigint, recordsPerBatch double, ratio double, bytesPerRecord double, saving double, "
    "savingLow double, savingHigh double, bytesOnDisk double, compressSecondsPerGB double, "
    "decompressSecondsPerGB double, msPerBatch double, moneyPerMonth double, verdict string, advised boolean"
)
#: Windows for each task; measuring one takes about a second.
_A_TASK: Final = 4


class Advised(NamedTuple):
    """The result of :func:`advise`."""

    #: A row for each topic, codec and batch size; ``stored`` is true in the row of the batches as they are stored.
    options: DataFrame
    #: The report that the command prints; it has ``to_dict()`` and ``to_html()``.
    report: Report


def advise(
    spark: SparkSession,
    path: str | Iterable[str],
    settings: Settings | None = None,
    *,
    prices: str | os.PathLike[str] | Prices | None = None,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
    filesystem: object = None,
    storage_options: Mapping[str, object] | None = None,
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None,
) -> Advised:
    """Measure a sample of each topic on the executors and recommend compression, as ``kafkacomp advise`` does.

    Args:
        spark: The session.
        path: A path or URL of log directories, partitions or segments, or several; the driver and all executors must
            reach the same files by it.
        settings: Codecs, batch sizes, and the size and seed of the sample. The command draws the same sample from the
            same seed.
        prices: The path of a price file on the driver, or the result of :func:`kafkacomp.advice.prices.parse`.
        max_latency_ms: The most milliseconds that a larger batch may add, including the time to fill it if known.
        compression_type: The current ``compression.type`` of the topics.
        assume_rate: Bytes per second that producers send to each topic whose timestamps do not show the rate.
        filesystem: The file system of the paths, for the driver and the executors: one of ``pyarrow.fs`` or fsspec, or
            a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL; not together with ``filesystem``.
        encryption_keys: Private keys by id, for segments that Aiven's tiered storage plugin has encrypted; as in
            :func:`kafkacomp.scan`.

    Returns:
        ``options``, a DataFrame with a row for each topic, codec and batch size, and ``report``, the report that the
        command prints.

    Raises:
        ValueError: an argument is out of range, or the paths contain no batches.
        ImportError: PySpark 3.5.
    """
    opening = SourceOptions(filesystem=filesystem, storage_options=storage_options, encryption_keys=encryption_keys)
    broker.target_compression_type(compression_type, "none")
    wrong: list[str] = []
    paid = load(prices, wrong.append)
    made = plan([path] if isinstance(path, str) else path, settings or Settings(), opening)
    measured: list[tuple[int, Figures]] = []
    if made.tasks:
        rows = [(number, bytearray(pickle.dumps(task))) for number, task in enumerate(made.tasks)]
        tasks = spark.createDataFrame(rows, _TASKS).repartition(-(-len(rows) // _A_TASK), "number")
        # toLocalIterator would run one job after another, one for each partition.
        found = tasks.mapInArrow(_Measure(), _FIGURES).collect()
        measured = [(row.number, pickle.loads(row.figures)) for row in found]  # noqa: S301 - from our own executors
    made.problems += wrong
    report = finish(
        made, measured, paid, max_latency_ms=max_latency_ms, compression_type=compression_type, assume_rate=assume_rate
    )
    options = [row for topic in report.topics for row in _rows(topic)]
    return Advised(spark.createDataFrame(options, _OPTIONS), report)


class _Measure(SentToExecutors):
    """The function of a task, for ``mapInArrow``."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Measure the windows of a partition, one after another."""
        for batch in batches:
            for number, packed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                figures = measure(pickle.loads(packed))  # noqa: S301 - packed by the driver
                columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(figures)], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "figures"])


def _rows(topic: TopicReport) -> Iterator[tuple[Any, ...]]:
    figures, advice = topic.figures, topic.advice
    for cell in [topic.today, *topic.cells]:
        own = cell is topic.today
        saving, spread = (0.0, None) if own else figures.saving(cell)
        yield (
            figures.name,
            figures.format.name,
            str(figures.type),
            str(cell.codec.type),
            cell.codec.level,
            cell.batch_size or None,
            own,
            cell.total.records,
            cell.batch_records,
            cell.ratio,
            cell.per_record,
            saving,
            None if spread is None else spread.low,
            None if spread is None else spread.high,
            topic.bytes_with(cell) * topic.about.traffic.replication_factor,
            cell.compress_seconds,
            cell.decompress_seconds,
            sum(cell.milliseconds),
            topic.options.bill(cell).total,
            advice.verdict,
            cell is advice.option,
        )
