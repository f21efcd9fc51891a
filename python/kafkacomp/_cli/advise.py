"""``kafkacomp advise``: recommend compression for topics from a sample of their own bytes."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from kafkacomp import _environment, broker
from kafkacomp._arguments import parse_size
from kafkacomp._cli.common import MAX_OUTPUT_SIZE, complain, progress_bar, say_json
from kafkacomp._cli.tiered import ENCRYPTION_KEYS, STORAGE_OPTIONS, opening_of, without_credentials
from kafkacomp._click import Size, parsed
from kafkacomp._codecs.levels import parse_codecs, parse_sizes
from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._storage.new_file import new_file
from kafkacomp.advice import prices as price_files
from kafkacomp.advice.settings import (
    DEFAULT_BATCH_SIZES,
    DEFAULT_CODECS,
    DEFAULT_SAMPLE_BYTES,
    DEFAULT_TIME_BUDGET,
    Settings,
)

if TYPE_CHECKING:
    from kafkacomp.advice.report import Report

#: The width of tables if standard output is not a terminal.
_WIDTH = 200
#: If there are more topics, the terminal shows the advice without the figures of each topic.
_MOST_TABLES = 5


def _sizes(text: str) -> tuple[int, ...]:
    sizes = parse_sizes(text)
    words = [size for size in sizes if isinstance(size, str)]
    if words:
        raise ValueError(f"{words[0]!r} is not a size: expected bytes such as 16384 or 16k")
    return tuple(size for size in sizes if isinstance(size, int))


def _page(_: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """Accept only the suffix .html, so that an input given by mistake is not overwritten."""
    if value is not None and value.suffix != ".html":
        raise click.BadParameter(f"{value}: the name must end in .html", param=option)
    return value


def _example(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(price_files.example(), nl=False)
        context.exit(FINE)


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--codecs", callback=parsed(parse_codecs), default=DEFAULT_CODECS, show_default=True,
              help="Compression types and levels to try, such as lz4,zstd:1-6.")  # fmt: skip
@click.option("--batch-sizes", callback=parsed(_sizes), default=",".join(map(str, DEFAULT_BATCH_SIZES)),
              show_default=True, help="Values of batch.size to try; 1 is one record for each batch.")  # fmt: skip
@click.option("--sample-bytes", type=Size(1), default=f"{DEFAULT_SAMPLE_BYTES >> 20}m",
              show_default=True, help="Bytes on disk to sample of each topic.")  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the sample; the same seed draws the same sample."
)
@click.option("--time-budget", type=click.FloatRange(0, min_open=True), default=DEFAULT_TIME_BUDGET, show_default=True,
              help="Processor seconds for measuring other batch sizes, for all topics together.")  # fmt: skip
@click.option("--assume-rate", callback=parsed(parse_size), metavar="BYTES/S",
              help="Bytes per second of each topic whose timestamps do not show the rate, such as 500k.")  # fmt: skip
@click.option("--internal-topics", is_flag=True, help="Include Kafka's internal topics.")
@click.option("--prices", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="TOML file with prices and traffic, for costs; --example-prices prints one.")  # fmt: skip
@click.option("--example-prices", is_flag=True, is_eager=True, expose_value=False, callback=_example,
              help="Print an example of a price file, and exit.")  # fmt: skip
@click.option(
    "--replication-factor",
    type=click.IntRange(1, 1000),
    help="Replicas of each partition, for all topics; overrides the price file.  [default: 1]",
)
@click.option("--consumers", type=click.FloatRange(0),
              help="Consumers of each record, for all topics; overrides the price file.  [default: 1]")  # fmt: skip
@click.option("--max-latency-ms", type=click.FloatRange(0, min_open=True),
              help="The most milliseconds that a larger batch may add, including the time to fill it.")  # fmt: skip
@click.option("--compression-type", type=click.Choice([kind.value for kind in broker.BrokerCompressionType]),
              default="producer", show_default=True, help="Current compression.type of the topics.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), help="Measuring threads; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), callback=_page,
              help="Write the report with charts to this .html file, which needs no other files.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file of --html if it exists.")
@ENCRYPTION_KEYS
@STORAGE_OPTIONS
@MAX_OUTPUT_SIZE
def advise(  # noqa: PLR0917 - click hands everything over by name
    paths: tuple[str, ...], codecs: list[Any], batch_sizes: tuple[int, ...], sample_bytes: int, seed: int,
    time_budget: float, assume_rate: int | None, internal_topics: bool, prices: Path | None,
    replication_factor: int | None, consumers: float | None, max_latency_ms: float | None,
    compression_type: str, threads: int | None, as_json: bool, html: Path | None, force: bool, max_output_size: int,
    encryption_keys: dict[str, str] | None, storage_options: dict[str, object] | None,
) -> int:  # fmt: skip
    """Recommend compression for topics, based on samples.

    The report shows whether to compress each topic, with which codec, level and batch size, and what that saves,
    measured on a sample of its batches.

    PATHS are log directories, partitions, segments, URLs of these, or files of sample records: JSON lines or Parquet.
    The exit status is 1 if something could not be read or a line of the price file is wrong; the rest is evaluated.
    It is 2 if there are no batches.
    """
    from kafkacomp.advice import advise as run  # noqa: PLC0415 - needs pyarrow

    if html is not None:
        if html.exists() and not force:
            raise click.UsageError(f"{html} exists: use --force to replace it")
        from kafkacomp.advice import charts  # noqa: PLC0415 - an extra

        try:
            charts.check()
        except ModuleNotFoundError as error:
            raise click.UsageError(f"--html: {error}") from None
    settings = Settings(tuple(codecs), batch_sizes, sample_bytes, seed, time_budget, internal_topics, max_output_size)
    wrong: list[str] = []
    paid = price_files.Prices()
    if prices is not None:
        paid = price_files.load(prices, wrong.append)
    paid = _overridden(paid, replication_factor, consumers)
    with progress_bar("advise", None) as advance:
        report = run(
            paths, settings, prices=paid, max_latency_ms=max_latency_ms, compression_type=compression_type,
            assume_rate=assume_rate, threads=threads,
            tiered=opening_of(encryption_keys=encryption_keys).tiered, storage_options=storage_options,
            progress=advance.at,
        )  # fmt: skip
    report.problems += wrong
    report.environment = _environment.describe(shlex.join(["kafkacomp", *without_credentials(sys.argv[1:])]), {})
    if html is not None:
        try:
            with new_file(html, replace=force) as path:
                path.write_text(report.to_html(), encoding="utf-8")
        except FileExistsError:
            raise click.UsageError(f"{html} exists: use --force to replace it") from None
    _give(report, as_json=as_json)
    return FINE if report.complete else CORRUPT


def _overridden(
    paid: price_files.Prices, replication_factor: int | None, consumers: float | None
) -> price_files.Prices:
    given: dict[str, Any] = {"replication_factor": replication_factor, "consumers": consumers}
    given = {name: value for name, value in given.items() if value is not None}
    topics = {name: replace(each, **given) for name, each in paid.topics.items()}
    return replace(paid, traffic=replace(paid.traffic, **given), topics=topics)


def _give(report: Report, *, as_json: bool) -> None:
    for problem in report.problems:
        complain(problem)
    for topic in report.empty:
        complain(f"{topic}: no batches")
    if report.internal:
        complain(f"internal topics left out: {', '.join(report.internal)} (--internal-topics)")
    if as_json:
        say_json(report.to_dict())
        return
    if not report.topics:
        return
    from kafkacomp.advice.table import render  # noqa: PLC0415 - not for JSON

    console = Console(file=sys.stdout, highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)
    console.print(render(report, full=len(report.topics) <= _MOST_TABLES))
