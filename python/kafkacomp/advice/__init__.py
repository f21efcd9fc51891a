"""Advice on compression: should a topic be compressed, with what, and what does it save? Answered from its own bytes.

What is measured and how it is judged is in docs/advise.md. The modules, in the order in which a run goes through them:

- ``settings``, ``prices``: what is asked for, what the user pays
- ``sampling``, ``budget``: topics, the windows of their segments that are looked at, and how much of each
- ``segments``, ``content``, ``formats``: a window's batches and records, in any message format
- ``measure``, ``levels``, ``entropy``: codecs and batch sizes on one window, today's level, what the values are
- ``topic``, ``spread``: windows added up, and the bounds of what that says of the topic
- ``rate``, ``cost``: how much is sent; bytes, processor time and money for a month
- ``recommend``, ``configuration``: what to do and why, and the lines to set
- ``run``, ``report``, ``table``: a run as a whole, and what comes out
- ``page``, ``charts``: the same as HTML with pictures, for which the extra ``report`` is needed

:func:`advise` needs the extra ``arrow``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp.advice.prices import Prices, load
from kafkacomp.advice.report import Report, TopicReport
from kafkacomp.advice.settings import Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Prices", "Report", "Settings", "TopicReport", "advise"]


def advise(
    paths: str | os.PathLike[str] | bytes | Iterable[str | os.PathLike[str] | bytes],
    settings: Settings | None = None,
    *,
    prices: str | os.PathLike[str] | Prices | None = None,
    max_latency_ms: float | None = None,
    compression_type: str = "producer",
    assume_rate: float | None = None,
    threads: int | None = None,
    filesystem: object = None,
    storage_options: Mapping[str, object] | None = None,
    encryption_keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Measure a sample of topics and advise on their compression.

    Args:
        paths: Log folders, partitions, segments, URLs of these, record sets as bytes, files of records (``.jsonl``,
            ``.ndjson``, ``.parquet``).
        settings: Codecs, batch sizes, size and seed of the sample.
        prices: A price file's path, such as ``"prices.toml"``, or what :func:`kafkacomp.advice.prices.parse` made of
            one.
        max_latency_ms: The most that a batch may take longer, filling it included where that is known.
        compression_type: The topics' ``compression.type`` today.
        assume_rate: Bytes a second that producers send to each topic whose timestamps do not show it, as compressed
            as today.
        threads: How many measure at a time; default: one per core.
        filesystem: The file system that the paths are on: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: What fsspec opens the file systems of URLs with; not with ``filesystem``.
        encryption_keys: For segments that Aiven's tiered storage plugin has encrypted: private keys by id, as in
            :func:`kafkacomp.scan`.
        progress: Called as ``progress(bytes_done, bytes_total)``.

    Returns:
        The report: ``to_dict()``, ``to_html()``. What cannot be read, and wrong lines of a price file, are among its
        ``problems``; the rest goes on.

    Raises:
        ValueError: an argument is out of range; no batches at all, although everything was read.
        OSError: the price file cannot be read.

    Example:
        >>> report = advise(example, assume_rate=1_000_000)
        >>> [(topic.figures.name, topic.advice.verdict) for topic in report.topics]
        [('orders', 'change')]
        >>> report.to_dict()["topics"][0]["rate"]["bytesPerSecond"]
        1000000
    """
    import os  # noqa: PLC0415 - only here

    from kafkacomp import broker  # noqa: PLC0415 - `import kafkacomp.advice` loads no pyarrow
    from kafkacomp.advice.run import finish, in_threads, plan  # noqa: PLC0415
    from kafkacomp.tiered.source import SourceOptions  # noqa: PLC0415

    broker.target_compression_type(compression_type, "none")
    wrong: list[str] = []
    paid = load(prices, wrong.append)
    several = [paths] if isinstance(paths, str | bytes | os.PathLike) else paths
    opening = SourceOptions(filesystem=filesystem, storage_options=storage_options, encryption_keys=encryption_keys)
    made = plan(several, settings or Settings(), opening)
    total, done = made.size, 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    measured = in_threads(made.tasks, threads, step)
    made.problems += wrong
    return finish(
        made, measured, paid, max_latency_ms=max_latency_ms, compression_type=compression_type, assume_rate=assume_rate
    )
