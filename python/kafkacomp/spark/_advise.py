"""``kafkacomp.spark.advise``: executors measure the sample of ``kafkacomp advise``.

The driver finds the segments and chooses the windows of each topic's sample. A task reads and measures some of the
windows, and returns a few kilobytes of figures for each. The driver adds the figures up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkacomp.advice.measure import measure
from kafkacomp.advice.run import finish, prepare
from kafkacomp.spark._map_tasks import ROWS, MapTasks, packed, unpacked
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kafkacomp.advice.measure import Figures, Task
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.report import Report, TopicReport
    from kafkacomp.advice.settings import Settings
    from kafkacomp.tiered.source import Tiered

_OPTIONS: Final = (
    "topic string, messageFormat string, todaysType string, compressionType string, level int, batchSize bigint, "
    "stored boolean, records bigint, recordsPerBatch double, ratio double, bytesPerRecord double, saving double, "
    "savingLow double, savingHigh double, bytesOnDisk double, compressSecondsPerGB double, "
    "decompressSecondsPerGB double, msPerBatch double, moneyPerMonth double, verdict string, advised boolean"
)
#: The columns from recordsPerBatch on, by their names in the report.
_FIGURES: Final = (
    "recordsPerBatch", "ratio", "bytesPerRecord", "saving", "savingLow", "savingHigh", "bytesOnDisk",
    "compressSecondsPerGB", "decompressSecondsPerGB",
)  # fmt: skip
#: Windows for each task; measuring one takes about a second.
_A_TASK: Final = 4


class Advised(NamedTuple):
    """The result of :func:`advise`.

    Attributes:
        options: A row for each topic, codec and batch size; ``stored`` is true in the row of the batches as they are
            stored.
        report: The report that the command prints; it has ``to_dict()`` and ``to_html()``.
    """

    options: DataFrame
    report: Report


def advise(
    spark: SparkSession,
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    settings: Settings | None = None,
    *,
    prices: str | os.PathLike[str] | Prices | None = None,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
) -> Advised:
    """Measure a sample of each topic on the executors and recommend compression, as ``kafkacomp advise`` does.

    Args:
        spark: The session.
        source: A path or URL of log directories, partitions or segments, or several; the driver and all executors must
            reach the same files by it.
        settings: The codecs and batch sizes to try, and the size and seed of the sample. The command draws the same
            sample with the same seed.
        prices: The path of a price file on the driver, or the result of :func:`kafkacomp.advice.prices.parse`.
        max_latency_ms: The most milliseconds that a larger batch may add, including the time to fill it if the topic's
            rate is known. Default: no limit.
        compression_type: The current ``compression.type`` of the topics.
        assume_rate: Bytes per second that producers send to each topic whose timestamps do not show the rate.
        store: The file system of the paths, for the driver and the executors: one of ``pyarrow.fs`` or fsspec, or a
            store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL; not together with ``store``.
        tiered: For tiered storage, as in :func:`kafkacomp.scan`.

    Returns:
        A named tuple: ``options``, a DataFrame with a row for each topic, codec and batch size, and ``report``, the
        report that the command prints.

    Raises:
        ValueError: an argument is out of range, or the paths contain no batches.
        ImportError: PySpark 3.5.

    Example:
        >>> import kafkacomp.spark as ks  # doctest: +SKIP
        >>> found = ks.advise(spark, "/backup/kafka-logs")  # doctest: +SKIP
        >>> found.options.where("advised").show()  # doctest: +SKIP
    """
    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    made, paid = prepare(source, settings, prices, compression_type, opening)
    measured: list[tuple[int, Figures]] = []
    if made.tasks:
        rows = packed(made.tasks)
        tasks = spark.createDataFrame(rows, ROWS).repartition(-(-len(rows) // _A_TASK), "id")
        # toLocalIterator would run one job after another, one for each partition.
        measured = unpacked(tasks.mapInArrow(_Measure(), ROWS).collect())
    report = finish(
        made, measured, paid, max_latency_ms=max_latency_ms, compression_type=compression_type, assume_rate=assume_rate
    )
    options = [row for topic in report.topics for row in _rows(topic)]
    return Advised(spark.createDataFrame(options, _OPTIONS), report)


class _Measure(MapTasks):
    """Measures windows."""

    def run(self, _number: int, task: Task) -> Figures:
        """Measure one window."""
        return measure(task)


def _rows(topic: TopicReport) -> Iterator[tuple[Any, ...]]:
    figures, advice = topic.figures, topic.advice
    for cell in [topic.today, *topic.cells]:
        found = topic.cell_dict(cell)
        yield (
            figures.name,
            figures.format.name,
            str(figures.type),
            *(found[name] for name in ("compressionType", "codecLevel", "batchSize")),
            cell is topic.today,
            cell.total.records,
            *(found[name] for name in _FIGURES),
            sum(cell.milliseconds),
            found["money"]["total"],
            advice.verdict,
            cell is advice.option,
        )
