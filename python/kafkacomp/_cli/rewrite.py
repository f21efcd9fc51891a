"""The commands that rewrite logs: recompress, convert, repair."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkacomp import log
from kafkacomp._cli.common import (
    ALLOW_MISSING,
    KNOWN_LOSSES,
    LOG_FORMAT,
    MAX_OUTPUT_SIZE,
    complain,
    progress_bar,
    say,
    say_json,
)
from kafkacomp._cli.tiered import ENCRYPTION_KEYS, STORAGE_OPTIONS, opening_of
from kafkacomp._click import Size
from kafkacomp._losses import missing_lines, unacknowledged
from kafkacomp._storage.loss_file import known_loss_fields
from kafkacomp._text import camel_case, count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable

_SOURCE = click.argument("source")
_TARGET = click.argument("target")
_SEGMENT_BYTES = click.option(
    "--segment-bytes",
    type=Size(1, 2**31 - 1),
    help="The most bytes of a segment, such as 512m; default: segments begin at the same offsets as in the source.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")


@click.command()
@_SOURCE
@_TARGET
@click.option("-c", "--compression-type", type=click.Choice(("none", "gzip", "snappy", "lz4", "zstd")),
              default="zstd", show_default=True,
              help="Compression type of the new batches; formats 0 and 1 do not have zstd.")  # fmt: skip
@click.option("--compression-level", type=int,
              help="Level: gzip -1 or 1 to 9, lz4 1 to 17, zstd -131072 to 22; default: Kafka's.")  # fmt: skip
@click.option("--merge", is_flag=True, help="Join consecutive batches of one producer, transaction and leader epoch.")
@click.option("--batch-bytes", type=Size(1, 2**31 - 1), default="1m", show_default=True,
              help="With --merge: the bytes of records, before compression, at which a batch is closed.")  # fmt: skip
@_SEGMENT_BYTES
@KNOWN_LOSSES
@click.option("--threads", type=click.IntRange(1, 1024), help="Compressing threads; default: one per core.")
@ENCRYPTION_KEYS
@STORAGE_OPTIONS
@ALLOW_MISSING
@_JSON
@MAX_OUTPUT_SIZE
def recompress(source: str, target: str, allow_missing: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - handed on
    """Rewrite a log with another compression type.

    SOURCE is a segment, a partition's folder, a folder of such folders, or a URL of one. TARGET is the folder to
    create, which a broker can read; it appears complete or not at all. Offsets, timestamps, producers, sequences,
    transactions and control batches are kept and, without --merge, the division into batches. Logs of Kafka 0.7, whose
    offsets are byte positions, are refused: use convert. The exit status is 1 if the log lacks offsets that compaction
    does not explain.
    """
    report = _run("recompress", log.recompress, source, target, allow_missing=True, **options)
    return _show(target, report, as_json=as_json, allow_missing=allow_missing)


@click.command()
@_SOURCE
@_TARGET
@click.option("--to-magic", type=click.IntRange(0, 2), required=True,
              help="The message format to write: 0 (Kafka 0.8 and 0.9), 1 (0.10) or 2 (0.11 and later).")  # fmt: skip
@click.option("--upgrade/--no-upgrade", default=True, show_default=True,
              help="Also convert batches of older formats to --to-magic; otherwise they are copied.")  # fmt: skip
@click.option("--batch-bytes", type=Size(1, 2**31 - 1), default="16k", show_default=True,
              help="The most bytes of a batch that is made of uncompressed messages of older formats.")  # fmt: skip
@LOG_FORMAT
@click.option(
    "--first-offset",
    type=click.IntRange(0, 2**62 - 1),
    help="For logs of Kafka 0.7: the offset of the first message of each partition; default: 0.",
)
@click.option("--offset-map", type=click.Path(path_type=Path),
              help="For logs of 0.7: a .parquet or .csv file to write, which maps positions to offsets.")  # fmt: skip
@_SEGMENT_BYTES
@KNOWN_LOSSES
@ENCRYPTION_KEYS
@STORAGE_OPTIONS
@ALLOW_MISSING
@_JSON
@MAX_OUTPUT_SIZE
def convert(source: str, target: str, allow_missing: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - handed on
    """Rewrite a log in another message format.

    SOURCE is a segment, a partition's folder, a folder of such folders, or a URL of one. TARGET is the folder to
    create, which a broker can read; it appears complete or not at all. A conversion to an older format drops control
    batches, headers and producers and refuses zstd, as a broker does for old consumers. Logs of Kafka 0.7 get offsets
    from --first-offset on. The exit status is 1 if the log lacks offsets that compaction does not explain.
    """
    report = _run("convert", log.convert, source, target, allow_missing=True, **options)
    return _show(target, report, as_json=as_json, allow_missing=allow_missing)


@click.command()
@_SOURCE
@_TARGET
@click.option("--corrupt", type=click.Choice(("quarantine", "drop")), default="quarantine", show_default=True,
              help="Corrupt bytes: quarantine keeps them in a file of the new folder, drop discards them.")  # fmt: skip
@_SEGMENT_BYTES
@KNOWN_LOSSES
@ENCRYPTION_KEYS
@STORAGE_OPTIONS
@ALLOW_MISSING
@_JSON
@MAX_OUTPUT_SIZE
def repair(
    source: str, target: str, corrupt: str, allow_missing: bool, as_json: bool, **options: Any  # noqa: ANN401 - handed on
) -> int:  # fmt: skip
    """Rewrite the intact part of a log.

    SOURCE is a segment, a partition's folder, a folder of such folders, or a URL of one. TARGET is the folder to
    create, which a broker can read; it appears complete or not at all. LZ4 batches of formats 1 and 2 with a wrong
    header checksum are fixed, altered offset fields and leader epochs are restored if the adjacent batches determine
    them, corrupt and truncated batches are quarantined, repeated batches are written once, and indexes are rebuilt. The
    exit status is 1 if the new log lacks offsets that compaction does not explain. Logs of Kafka 0.7 are refused.
    """
    report = _run("repair", log.repair, source, target, quarantine=corrupt == "quarantine", **options)
    if not as_json:
        for each in report.repairs:
            say(f"{each.action}: {each.file}: {each.length} bytes at byte {each.position}: {each.reason}")
        if report.more_repairs:
            say(f"{count_text(report.more_repairs, 'more repair')} not shown")
        changed = f"{count_text(report.fixed_batches, 'batch|es')} fixed, {report.restored_batches} restored"
        repeated = f"{count_text(report.repeated_batches, 'repeated batch|es')} dropped"
        corrupt_bytes = count_text(report.corrupt_bytes, "byte")
        say(f"{changed}, {repeated}, {count_text(report.corrupt_ranges, 'corrupt range')} of {corrupt_bytes}")
    return _show(target, report, as_json=as_json, allow_missing=allow_missing)


def _run(what: str, function: Callable[..., Any], source: str, target: str, **options: Any) -> Any:  # noqa: ANN401
    tiered = opening_of(encryption_keys=options.pop("encryption_keys")).tiered
    with progress_bar(what, None) as bar:
        return function(source, target, tiered=tiered, progress=bar.at, **options)


def _span_text(lost: log.LostOffsets) -> str:
    """The time span of lost offsets, by the timestamps of the batches before and after them."""
    first, last = (time_text(time) for time in (lost.first_timestamp, lost.last_timestamp))
    parts = [f"{word} {text}" for word, text in (("after", first), ("before", last)) if text]
    return " and ".join(parts) or "at an unknown time"


def _show(target: str, report: log.RewriteReport, *, as_json: bool, allow_missing: bool) -> int:
    losses = unacknowledged(report)
    for warning in report.warnings:
        complain(f"warning: {warning}")
    if as_json:
        lists: dict[str, object] = {
            "missing": [camel_case(each._asdict()) for each in report.missing],
            "knownLosses": [known_loss_fields(each) for each in report.known_losses],
            "lost": [camel_case(each._asdict()) for each in report.lost],
        }
        if isinstance(report, log.RepairReport):
            lists["repairs"] = [camel_case(dataclasses.asdict(each)) for each in report.repairs]
        say_json(camel_case(dataclasses.asdict(report)) | lists)
    else:
        for line in losses.lines():
            say(line)
        for line in missing_lines(report.known_losses, label="known loss"):
            say(line)
        for lost in report.lost:
            say(f"lost: {lost.topic or 'unknown topic'}: {count_text(lost.offsets, 'offset')}, {_span_text(lost)}")
        say(
            f"{target}: {count_text(report.partitions, 'partition')}, {count_text(report.segments, 'segment')}, "
            f"{count_text(report.batches, 'batch|es')}, "
            f"{report.bytes_in:,} -> {report.bytes_out:,} bytes"
        )
    return losses.status(allow_missing=allow_missing)
