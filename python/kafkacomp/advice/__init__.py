"""Recommend whether to compress topics, with what, and what that saves, from measurements of their own batches.

docs/advise.md explains what is measured and how the advice is found. The modules, in the order in which a run goes
through them:

- ``settings``, ``prices``: the options of a run, and the user's prices
- ``sampling``, ``budget``: topics, the windows of their segments to read, and the number of windows to measure
- ``segments``, ``content``, ``formats``: a window's batches and records, in any message format
- ``measure``, ``levels``, ``entropy``: codecs and batch sizes on one window, today's level, the kind of the values
- ``topic``, ``spread``: the sum of a topic's windows, and its uncertainty
- ``rate``, ``cost``: the rate of a topic; bytes, processor time and money of a month
- ``recommend``, ``configuration``: the recommendation with its reasons, and the configuration to set
- ``run``, ``report``, ``table``: a run, its report, and the report as a table
- ``page``, ``charts``: the report as HTML with charts, which needs the extra ``report``

:func:`advise` needs the extra ``arrow``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp._arguments import check_numbers, check_progress
from kafkacomp.advice.prices import Prices
from kafkacomp.advice.report import Report, TopicReport
from kafkacomp.advice.settings import Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from kafkacomp.advice.sampling import Given
    from kafkacomp.tiered.source import Tiered

__all__ = ["Prices", "Report", "Settings", "TopicReport", "advise"]


def advise(
    source: Given | Iterable[Given],
    settings: Settings | None = None,
    *,
    prices: str | os.PathLike[str] | Prices | None = None,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
    threads: int | None = None,
    store: object = None,
    storage_options: Mapping[str, object] | None = None,
    tiered: Tiered | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Recommend compression for topics, from a measurement of a sample of their bytes.

    Args:
        source: Log directories, partitions, segments, URLs of these, a :class:`kafkacomp.LogDir` or one of its parts,
            record sets as bytes, or files of sample records (``.jsonl``, ``.ndjson``, ``.parquet``).
        settings: The codecs and batch sizes to try, and the size and seed of the sample.
        prices: The path of a price file, such as ``"prices.toml"``, or the result of
            :func:`kafkacomp.advice.prices.parse`.
        max_latency_ms: The most milliseconds that a larger batch may add, including the time to fill it if the topic's
            rate is known. Default: no limit.
        compression_type: The current ``compression.type`` of the topics.
        assume_rate: Bytes per second that producers send to each topic whose timestamps do not show the rate,
            compressed as today.
        threads: Measuring threads; default: one per core that the process may use.
        store: The file system of the paths: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL; not together with ``store``.
        tiered: For tiered storage, as in :func:`kafkacomp.scan`.
        progress: Called as ``progress(bytes_done, bytes_total)``.

    Returns:
        The report, with ``to_dict()`` and ``to_html()``. Its ``problems`` list the files that could not be read and
        wrong lines of the price file; the recommendations are based on the rest.

    Raises:
        TypeError: ``settings`` is not a :class:`Settings`.
        ValueError: an argument is out of range, or all files could be read and none contains a batch.
        FileNotFoundError: none of the paths exists and contains segments.
        OSError: the price file cannot be read.

    Example:
        >>> import kafkacomp as kc
        >>> report = kc.advise(example, assume_rate=1_000_000)
        >>> [(topic.figures.name, topic.advice.verdict) for topic in report.topics]
        [('orders', 'too little data')]
        >>> report.to_dict()["topics"][0]["rate"]["bytesPerSecond"]
        1000000
    """
    check_progress(progress)
    check_numbers(max_latency_ms=max_latency_ms, assume_rate=assume_rate)
    from kafkacomp.advice.run import finish, in_threads, prepare  # noqa: PLC0415 - `import kafkacomp.advice` is quick
    from kafkacomp.tiered.source import SourceOptions  # noqa: PLC0415

    opening = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)
    made, paid = prepare(source, settings, prices, compression_type, opening)
    measured = in_threads(made, threads, progress)
    return finish(
        made, measured, paid, max_latency_ms=max_latency_ms, compression_type=compression_type, assume_rate=assume_rate
    )
