"""The tables for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.table import Table

from kafkacomp._tables import plain_table
from kafkacomp.bench.stages import ARROW, BUILD, COMPRESS, DECOMPRESS, ITERATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkacomp.bench.preset import Compared
    from kafkacomp.bench.runner import Result


def tables(results: Iterable[Result]) -> Iterator[Table]:
    """Make a table for each input, batch size and number of threads."""

    def point(result: Result) -> tuple[str, int | str, int]:
        return result.workload.name, result.workload.batch_bytes, result.threads

    grouped: dict[tuple[str, int | str, int], list[Result]] = {}
    for result in results:
        grouped.setdefault(point(result), []).append(result)
    for (name, batch_bytes, threads), group in grouped.items():
        workload = group[0].workload
        records = "" if workload.records is None else f", {workload.records:,} records"
        size = f"{batch_bytes:,} B" if isinstance(batch_bytes, int) else batch_bytes
        many = f", {threads} threads" if threads > 1 else ""
        title = f"{name}: {workload.size:,} bytes in {len(workload.blocks):,} blocks ({size}){records}{many}"
        yield _table(title, group)


def _table(title: str, results: list[Result]) -> Table:
    stages = [
        stage for stage in (COMPRESS, DECOMPRESS, BUILD, ITERATE, ARROW) if any(each.stage == stage for each in results)
    ]
    speeds = (f"{stage}\n{'MB/s' if stage in {COMPRESS, DECOMPRESS} else 'ns/record'}" for stage in stages)
    durations = (f"{stage}\nµs/batch" for stage in stages)
    table = plain_table(title, ("codec", "by"), ("ratio", *speeds, *durations, "CPU s/GB"))
    for codec, of_codec in groupby(sorted(results, key=lambda each: _order(results, each)), lambda each: each.codec):
        for peer, of_peer in groupby(of_codec, lambda each: each.peer):
            table.add_row(str(codec), peer, *_cells(stages, {each.stage: each for each in of_peer}))
    return table


def _order(results: list[Result], result: Result) -> tuple[int, int]:
    """Sort by codec in the order of ``--codecs``, then by library in the order of their turns."""
    codecs = list(dict.fromkeys(each.codec for each in results))
    names = list(dict.fromkeys(each.peer for each in results))
    return codecs.index(result.codec), names.index(result.peer)


def _cells(stages: list[str], of_stage: dict[str, Result]) -> Iterator[str]:
    sized = of_stage.get(COMPRESS) or of_stage.get(BUILD)
    yield f"{sized.ratio:.3f}" if sized else ""
    for stage in stages:
        yield _figure(of_stage.get(stage))
    for stage in stages:
        yield f"{of_stage[stage].microseconds_per_batch:.1f}" if stage in of_stage else ""
    # Of both directions, or of the only measured one; rows with different directions are not comparable.
    ways = [of_stage.get(stage) for stage in stages if stage in {COMPRESS, DECOMPRESS}]
    cpus = [None if each is None else each.cpu_seconds_per_gigabyte for each in ways]
    known = [cpu for cpu in cpus if cpu is not None]
    yield f"{sum(known):.2f}" if known and len(known) == len(cpus) else ""


def _figure(result: Result | None) -> str:
    """Format the median, half the interquartile range in percent, and the duration of a peer relative to kafkacomp."""
    if result is None:
        return ""
    fast = result.stage in {COMPRESS, DECOMPRESS}
    per_record = result.nanoseconds_per_record
    figure = result.megabytes_per_second if fast or per_record is None else per_record
    first, third = result.samples.quartiles
    spread = (third - first) / 2 / result.samples.median * 100
    against = "" if result.against_ours is None else f" x{result.against_ours:.2f}"
    return f"{figure:,.0f} ±{spread:.0f}%{against}"


def preset_table(compared: Compared) -> Table:
    """Make a published table with its measured columns."""
    table = Table(title=compared.title, title_justify="left", box=None, pad_edge=False)
    for name in compared.columns:
        text = any(isinstance(row[name], str) for row in compared.rows)
        table.add_column(name.replace(" ", "\n"), justify="left" if text else "right", overflow="fold")
    for row in compared.rows:
        table.add_row(*(_text(row[name]) for name in compared.columns))
    return table


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a cell may hold
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) < 0.1 else f"{value:.3f}"  # noqa: PLR2004 - as the eye likes them
    return str(value)
