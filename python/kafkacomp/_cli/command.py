"""The commands with their options and exit statuses."""

from __future__ import annotations

import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import kafkacomp
from kafkacomp import arrow
from kafkacomp._arguments import checked_threads
from kafkacomp._cli import export as exporting
from kafkacomp._cli import rewrite, validate, writers
from kafkacomp._cli.advise import advise
from kafkacomp._cli.common import (
    ALLOW_MISSING,
    KNOWN_LOSSES,
    LOG_FORMAT,
    MAX_OUTPUT_SIZE,
    beside,
    complain,
    names_of,
    progress_bar,
    quiet_option,
    say,
    say_json,
    waiting,
)
from kafkacomp._cli.decoders import Decoder, decoder_options
from kafkacomp._cli.diff import diff
from kafkacomp._cli.dump import Dump, Selected
from kafkacomp._cli.filters import Bounds, bound_options, conditions_of, row_options
from kafkacomp._cli.groups import groups
from kafkacomp._cli.info import info
from kafkacomp._cli.internal import topics, transactions
from kafkacomp._cli.partitioned import KEYS, keys_of
from kafkacomp._cli.render import FORMATS, Table, renderer
from kafkacomp._cli.signals import TerminatedError, sigterm_raises
from kafkacomp._cli.tables import Column, show_table, width_of_output
from kafkacomp._cli.tiered import (
    ENCRYPTION_KEYS,
    STORAGE_OPTIONS,
    TIERED,
    files_of,
    opening_of,
    partitions_of,
    tiered,
    tiered_options,
)
from kafkacomp._click import Size, parsed
from kafkacomp._exit_status import CORRUPT, INTERRUPTED, TERMINATED, WRONG_USE
from kafkacomp._exit_status import run as ended
from kafkacomp._losses import missing_lines, unacknowledged
from kafkacomp._storage.discovery import warn_of_copies
from kafkacomp._storage.files import BATCHES
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.selection import ByName
from kafkacomp._text import count_text, printable, time_text
from kafkacomp.arrow._filter import Conditions
from kafkacomp.arrow._options import ScanArguments
from kafkacomp.log._directory import LogDirReport, verify_files
from kafkacomp.log._directory import verify as verify_partitions
from kafkacomp.log._verify import error_at

if TYPE_CHECKING:
    from kafkacomp._log_format import LogFormat

_PATHS = click.argument("paths", nargs=-1, required=True)


def run(arguments: list[str] | None) -> int:
    """Run the command and return the exit status."""
    logger, foreign, handler = (
        logging.getLogger("kafkacomp"),
        logging.getLogger("kafkacomp.foreign"),
        _ToStandardError(),
    )
    propagated, level = logger.propagate, foreign.level
    logger.addHandler(handler)
    foreign.setLevel(logging.INFO)
    logger.propagate = False
    try:
        with sigterm_raises():
            return ended(partial(_invoke, arguments), complain)
    except TerminatedError:
        return TERMINATED
    except KeyboardInterrupt:  # it came when the command had ended
        return INTERRUPTED
    finally:
        logger.propagate = propagated
        foreign.setLevel(level)
        logger.removeHandler(handler)


def _invoke(arguments: list[str] | None) -> object:
    completes = os.environ.get("_KAFKACOMP_COMPLETE", "").endswith("_complete")
    for name in ("COMP_WORDS", "COMP_CWORD"):
        if completes and name not in os.environ:
            raise ValueError(f"{name} is not set: only a shell's completion sets _KAFKACOMP_COMPLETE")
    try:
        return cli.main(arguments, prog_name="kafkacomp", standalone_mode=False)
    except click.UsageError as error:
        given = sys.argv[1:] if arguments is None else arguments
        for path in (each for each in given if each.startswith("-") and os.path.lexists(each)):
            raise click.UsageError(f"{error.message} (to give the path {path}, write ./{path})", error.ctx) from None
        raise


class _ToStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "kafkacomp.losses":  # the commands print what a scan lacks
            complain(f"warning: {record.getMessage()}")


#: The commands that are most often needed, in the order of their use.
_FIRST_STEPS = """\
kafkacomp info DIR            summarize a log directory
kafkacomp dump DIR --last 10  show the last records of each partition
kafkacomp verify DIR          find corrupt and missing data
kafkacomp export DIR -o FILE  write records to Parquet, Arrow, CSV or JSON lines
kafkacomp advise DIR          recommend compression for topics

kafkacomp --help lists all commands, kafkacomp COMMAND --help the options of one."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(kafkacomp.__version__, prog_name="kafkacomp")
@click.pass_context
def cli(context: click.Context) -> int:
    """Read, verify and rewrite Kafka's log segments and index files without a broker.

    Exit status: 0 success, 1 corrupt or missing data found, 2 wrong usage, 3 any other failure such as a full disk,
    130 interrupted, 141 broken pipe, 143 terminated.
    """
    if context.invoked_subcommand is None:
        click.echo(_FIRST_STEPS)
    return WRONG_USE


@cli.command()
@_PATHS
@click.option("--deep", is_flag=True, help="Also show records; control records are decoded.")
@click.option("--payload/--no-payload", default=True, show_default=True, help="Show keys, values and headers.")
@click.option(
    "--format", "form", type=click.Choice(tuple(FORMATS)), default="table", show_default=True,
    help="Output format; kafka prints the lines of kafka-dump-log --deep-iteration.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format jsonl.")
@click.option("--first", type=click.IntRange(0), metavar="N", help="Show only the first N records of each partition.")
@click.option("--last", type=click.IntRange(0), metavar="N", help="Show only the last N records of each partition.")
@decoder_options
@bound_options
@row_options
@LOG_FORMAT
@ENCRYPTION_KEYS
@STORAGE_OPTIONS
@ALLOW_MISSING
@MAX_OUTPUT_SIZE
def dump(  # noqa: PLR0917 - click hands everything over by name
    paths: tuple[str, ...],
    deep: bool,
    payload: bool,
    form: str,
    as_json: bool,
    decoder: str | None,
    show_secrets: bool,
    log_format: LogFormat,
    encryption_keys: dict[str, str] | None,
    storage_options: dict[str, object] | None,
    allow_missing: bool,
    max_output_size: int,
    first: int | None,
    last: int | None,
    limit: int | None,
    key: str | None,
    key_regex: str | None,
    value_contains: str | None,
    header: tuple[str, ...],
    **bounds: Any,  # noqa: ANN401 - handed on
) -> int:
    """Show the content of segments, index files and checkpoints.

    Snapshots of the metadata log and of producers are shown, too.

    PATHS are files, folders or URLs. Segments that Aiven's plugin has stored are decoded, and shown after their
    manifests. A file whose name is not one of Kafka's is read as a record set.

    With --first, --last, --limit or a condition on records, the chosen records are shown with their batches. With these
    and with bounds, files without batches are left out. The table truncates long texts; the other formats do not.

    With a decoder, keys and values of an internal topic are shown decoded. A record that cannot be decoded is shown
    with the reason. Secrets of the metadata log are hidden in all formats.

    The exit status is 1 if something is corrupt, or if the chosen batches lack offsets that compaction does not
    explain.
    """
    if first is not None and last is not None:
        raise click.UsageError("--first and --last cannot be given together")
    chosen = Bounds.of(conditions=conditions_of(key, key_regex, value_contains, header), **bounds)
    selected = Selected(bounds=chosen, first=first, last=last, limit=limit)
    found = files_of(paths, encryption_keys, storage_options, chosen.choice)
    found.warn()
    warn_of_copies(found.partitions)
    files = chosen.files(found)
    with progress_bar("dump", sum(file.size for file in files)) as advance:
        out = renderer("jsonl" if as_json else form, beside(advance))
        shown = Dump(
            out=out, complain=complain, deep=deep or decoder is not None, payload=payload,
            max_output_size=max_output_size, log_format=log_format, selected=selected, progress=advance,
            decoder=Decoder(decoder, show_secrets, form == "kafka" and not as_json) if decoder else None,
        )  # fmt: skip
        is_intact = shown.run(files)
        losses = shown.losses()
    for line in losses.lines():
        complain(line)
    if isinstance(out, Table) and out.has_truncated:
        say("texts that end with … are truncated: --json shows them completely")
    return losses.status(allow_missing=allow_missing) if is_intact else CORRUPT


@cli.command()
@_PATHS
@click.option("--threads", type=click.IntRange(1, 1024), help="Segments to check at a time; default: one per core.")
@KNOWN_LOSSES
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@LOG_FORMAT
@tiered_options
@ALLOW_MISSING
@MAX_OUTPUT_SIZE
def verify(
    paths: tuple[str, ...],
    *,
    threads: int | None,
    known_losses: tuple[str, ...],
    as_json: bool,
    log_format: LogFormat,
    max_output_size: int,
    allow_missing: bool,
    **opening: Any,  # noqa: ANN401 - the fields of SourceOptions
) -> int:
    """Check every checksum, every record and every index.

    Every record is decoded, and every index is compared with its segment.

    Corruption and missing offsets are errors, and the exit status is 1. Anomalies that Kafka accepts but other readers
    may not are warnings. Missing offsets are no error if compaction explains them, or if the folder's
    kafkacomp-repair.json, which repair, recompress and convert write, makes them known.

    PATHS are files, folders or URLs. With --remote-log-metadata or --local-log-dir only the valid segments and offsets
    are checked, which are those that kafkacomp export reads.
    """
    options: dict[str, Any] = {
        "max_output_size": max_output_size, "threads": checked_threads(threads), "log_format": log_format,
        "known_losses": loss_files_of(known_losses),
    }  # fmt: skip
    if not opening_of(**opening).shows_valid_segments:
        found = files_of(paths, opening["encryption_keys"], opening["storage_options"])
        with progress_bar("verify", sum(file.size for file in found.files if file.kind in BATCHES)) as advance:
            report = verify_files(found, progress=advance, **options)
    else:
        partitions, unreadable = partitions_of(paths, **opening)
        total = sum(segment.size for each in partitions for segment in each.segments)
        with progress_bar("verify", total) as advance:
            report = verify_partitions(partitions, progress=advance, **options)
        report.errors += [error_at(path, 0, reason) for path, reason in unreadable.items()]
    if as_json:
        say_json(report.to_dict())
    else:
        _show(report)
    return CORRUPT if report.is_corrupt else unacknowledged(report).status(allow_missing=allow_missing)


def _offsets_line(report: LogDirReport) -> str:
    """The sums of offsets."""
    covered, compacted = report.covered_offsets_count, report.compacted_offsets_count
    at_least = "at least " if report.more_missing else ""
    removed = f", {at_least}{compacted:,} removed by compaction" if compacted else ""
    return f"offsets: {covered:,} covered, {at_least}{report.missing_offsets_count:,} missing{removed}"


_COUNTS = (
    Column("topic", is_name=True), Column("codec", is_name=True), Column("batches", 3), Column("records"),
    Column("stored", 1), Column("records' bytes", 2), Column("ratio", 1),
)  # fmt: skip
_COVERAGE = (
    Column("segment", is_name=True), Column("first offset"), Column("last offset"), Column("missing", 1),
    Column("records", 2), Column("bytes", 5), Column("first time", 3), Column("last time", 4),
)  # fmt: skip
#: With more segments than this, only their sums are shown; --json has each of them.
_FILES_SHOWN = 40


def _show(report: LogDirReport) -> None:
    for label, findings in (("error", report.errors), ("warning", report.warnings)):
        for each in findings:
            say(f"{label}: {each.file}: {each.message}")
    if report.more:
        say(f"{count_text(report.more, 'more finding')} not shown")
    for line in report.missing_lines():
        say(line)
    width = width_of_output()
    rows = []
    for (topic, codec), (batches, records, stored, plain) in sorted(report.counts.items()):
        ratio = f"{plain / stored:.2f}" if stored else ""
        numbers = (f"{number:,}" for number in (batches, records, stored, plain))
        rows.append([printable(topic), codec, *numbers, ratio])
    if rows:
        show_table(_COUNTS, rows, width=width)
    files = [each for each in report.files if each.first_offset is not None]
    if files and len(report.files) <= _FILES_SHOWN:
        show_table(_COVERAGE, [each.cells() for each in files], width=width)
    if files:
        say(_offsets_line(report))
        first = [each.first_timestamp for each in files if each.first_timestamp is not None]
        last = [each.last_timestamp for each in files if each.last_timestamp is not None]
        if first and last:
            say(f"time: {time_text(min(first))} to {time_text(max(last))}")
    unreadable = f"{count_text(report.unreadable_bytes, 'byte')} unreadable"
    corrupt = f", {count_text(report.corrupt_batches, 'corrupt batch|es')}, {unreadable}"
    bad = corrupt if report.errors else ""
    say(
        f"{count_text(report.segments_count, 'segment')}, {count_text(report.side_files_count, 'other file')}: "
        f"{count_text(len(report.errors), 'error')}, {count_text(len(report.warnings), 'warning')}{bad}"
    )


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@click.option("-o", "--output", "target", required=True, type=click.Path(path_type=Path, allow_dash=True),
              help="The file to write, such as orders.parquet or orders.csv.gz; - for standard output.")  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(writers.FORMATS), help="File format; default: by the suffix of the file."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--partition-by", callback=parsed(keys_of), metavar="NAMES",
              help=f"Write a new folder in Hive's layout, divided by some of {', '.join(KEYS)}.")  # fmt: skip
@click.option("--parquet-compression", "compression", type=click.Choice(("none", "snappy", "gzip", "lz4", "zstd")),
              default="zstd", show_default=True,
              help="Compression of Parquet and Arrow files; for Arrow files none, lz4 or zstd.")  # fmt: skip
@click.option("--bytes", "encoding", type=click.Choice(writers.BYTES), default="utf8", show_default=True,
              help="Encoding of keys and values in CSV and JSON lines; utf8 fails at bytes that are not UTF-8."
              )  # fmt: skip
@click.option("--columns", callback=parsed(names_of), metavar="NAMES",
              help=f"Columns to write, separated by commas: some of {', '.join(arrow.COLUMNS)}.")  # fmt: skip
@click.option("--topic", help="Topic of segments whose folder name does not contain it; --topics is the filter.")
@click.option(
    "--partition",
    type=int,
    help="Partition of segments whose folder name does not contain it; --partitions is the filter.",
)
@bound_options
@row_options
@click.option("--isolation-level", type=click.Choice(("read_uncommitted", "read_committed")),
              default="read_uncommitted", show_default=True,
              help="read_committed leaves out aborted transactions, and all records from the first open transaction "
                   "on.")  # fmt: skip
@click.option("--on-error", type=click.Choice(("raise", "skip")), default="raise", show_default=True,
              help="At corrupt batches: raise writes no file; skip continues with the next intact batch.")  # fmt: skip
@click.option("--visible-only", is_flag=True,
              help="Leave out records that consumers do not see: below the log start offset, and from the high "
                   "watermark on.")  # fmt: skip
@click.option("--include-control", is_flag=True, help="Also write control records.")
@click.option(
    "--batch-rows", type=click.IntRange(1), default=65536, show_default=True, help="The most rows decoded at a time."
)
@click.option("--arrow-batch-bytes", type=Size(1), default="8m", show_default=True,
              help="The most bytes of column data decoded at a time.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), help="Decoding threads; default: one per core.")
@click.option("--timestamp-unit", type=click.Choice(("s", "ms", "us", "ns", "int64")), default="ms", show_default=True,
              help="Unit of timestamps; int64 writes milliseconds since the epoch as integers.")  # fmt: skip
@click.option("--verify-crc/--no-verify-crc", default=True, show_default=True, help="Verify the checksums of batches.")
@LOG_FORMAT
@tiered_options
@ALLOW_MISSING
@KNOWN_LOSSES
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@MAX_OUTPUT_SIZE
def export(  # noqa: PLR0917 - click hands everything over by name
    sources: tuple[str, ...], target: Path, form: str | None, force: bool, compression: str, encoding: str,
    columns: list[str] | None, allow_missing: bool, as_json: bool, key: str | None, key_regex: str | None,
    value_contains: str | None, header: tuple[str, ...], limit: int | None, partition_by: list[str] | None,
    **options: Any,  # noqa: ANN401 - handed on to scan
) -> int:  # fmt: skip
    """Write records to a Parquet, Arrow, CSV or JSON lines file.

    SOURCES are segments, partitions, log directories or URLs of these. The file appears complete or not at all. In CSV
    and JSON lines, timestamps are numbers in --timestamp-unit.

    The exit status is 1 if bytes were skipped, or if offsets are missing that compaction does not explain.
    """
    form = form or writers.format_of(target.name)[0]
    form = form or ("parquet" if partition_by else None)
    to_standard_output = exporting.is_standard_output(target)
    if partition_by and (to_standard_output or target.exists()):
        raise click.UsageError(f"{target}: --partition-by needs the name of a new folder")
    if form is None:
        raise click.UsageError(f"{target}: unknown suffix: expected {', '.join(writers.SUFFIXES)}; or give --format")
    if to_standard_output and as_json:
        raise click.UsageError("--json and -o - would both write to standard output: choose one")
    if form == "arrow" and compression not in {"none", "lz4", "zstd"}:
        raise click.UsageError("--parquet-compression: Arrow files support none, lz4 and zstd")
    columns = columns or list(arrow.DEFAULT_COLUMNS)
    bounds = [options[f"{end}_offset"] for end in ("start", "end")]
    if None not in bounds and bounds[0] > bounds[1]:
        raise click.UsageError(f"--start-offset {bounds[0]} is above --end-offset {bounds[1]}")
    opening = opening_of(**{name: options.pop(name) for name in TIERED})
    choice = ByName.of(options.pop("topics"), options.pop("partitions"))
    source = _placed(list(sources), options.pop("topic"), options.pop("partition"))
    with waiting("listing segments"):
        found = opening.resolve(source, choice=choice)
    if not to_standard_output:
        exporting.check_target(target, found, force=force)
    conditions = conditions_of(key, key_regex, value_contains, header)
    with progress_bar("export", None) as advance:
        needed = exporting.columns_to_read(columns, form, encoding, conditions, partition_by)
        scanned = kafkacomp.scan(found, columns=needed, progress=advance.at, **_grouped(options))
        reader = arrow.FilteredReader(scanned, conditions or Conditions(), limit)
        rows = exporting.export(
            scanned if conditions is None and limit is None else reader,
            target, form, columns=columns, compression=compression, encoding=encoding, force=force,
            partition_by=partition_by,
        )  # fmt: skip
        report = scanned.report
    losses = unacknowledged(report)
    for line in losses.lines():
        complain(line)
    for line in missing_lines(report.known_losses, label="known loss"):
        complain(line)
    if as_json:
        say_json(exporting.as_dict(report))
    else:
        (complain if to_standard_output else say)(f"{target}: {count_text(rows, 'record')}")
    return losses.status(allow_missing=allow_missing)


def _placed(sources: list[str], topic: str | None, partition: int | None) -> object:
    """The sources, in the partition that --topic and --partition name."""
    if (topic is None) != (partition is None):
        raise click.UsageError("--topic and --partition name the partition of SOURCES together: give both")
    return sources if topic is None else {(topic, partition): sources}


def _grouped(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a scan, of which some are fields of ScanOptions."""
    given = {name: options.pop(name) for name in options.keys() & ScanArguments.__annotations__}
    return {**given, "options": arrow.ScanOptions(**options)}


for _command in (
    rewrite.recompress,
    rewrite.convert,
    rewrite.repair,
    validate.validate,
    advise,
    tiered,
    info,
    diff,
    groups,
    transactions,
    topics,
):
    cli.add_command(_command)
for _command in cli.commands.values():
    _command.params.append(quiet_option())
