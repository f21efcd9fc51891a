"""``kafkacomp info``: summarize a log directory on one screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kafkacomp._arguments import checked_threads
from kafkacomp._cli.common import ALLOW_MISSING, LOG_FORMAT, MAX_OUTPUT_SIZE, complain, progress_bar, say, say_json
from kafkacomp._cli.filters import partition_options
from kafkacomp._cli.tables import Column, show_table, width_of_output
from kafkacomp._cli.tiered import partitions_of, tiered_options
from kafkacomp._exit_status import CORRUPT
from kafkacomp._losses import missing_lines, unacknowledged
from kafkacomp._storage.loss_file import known_loss_fields
from kafkacomp._storage.names import INTERNAL_TOPICS
from kafkacomp._storage.selection import ByName
from kafkacomp._text import camel_case, count_text, json_fields, printable, time_text
from kafkacomp.log._describe import describe
from kafkacomp.log._info import LogDirInfo, PartitionInfo, TopicInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp._log_format import LogFormat

#: The most missing ranges, transactions and files that are listed.
_SHOWN = 20
_COLUMNS = (
    Column("bytes"), Column("records"), Column("gaps", 1), Column("codecs", 2), Column("first time", 3),
    Column("last time", 3), Column("open txns", 4), Column("segments", 5), Column("ratio", 6), Column("magic", 7),
)  # fmt: skip
_BY_TOPIC = (Column("topic", is_name=True), *_COLUMNS, Column("partitions", 5))
_BY_PARTITION = (
    Column("partition", is_name=True), Column("first offset", 1), Column("last offset", 1), *_COLUMNS,
)  # fmt: skip
_ORDERS = ("bytes", "records", "name")


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--by", type=click.Choice(("topic", "partition")), default="topic", show_default=True,
              help="Show a row for each topic or for each partition.")  # fmt: skip
@partition_options
@click.option("--deep", is_flag=True, help="Verify every batch and count its records, instead of reading headers only.")
@click.option("--sort", type=click.Choice(_ORDERS), default="name", show_default=True,
              help="Sort order of topics and partitions.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), help="Partitions to read at a time; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@LOG_FORMAT
@tiered_options
@ALLOW_MISSING
@MAX_OUTPUT_SIZE
def info(  # noqa: PLR0917 - click hands everything over by name
    paths: tuple[str, ...], by: str, topics: list[str] | None, partitions: list[int] | None, deep: bool, sort: str,
    threads: int | None, as_json: bool, log_format: LogFormat, max_output_size: int, allow_missing: bool,
    **opening: Any,  # noqa: ANN401 - handed on
) -> int:  # fmt: skip
    """Summarize topics: sizes, records, time spans, gaps.

    Compression types, message formats, open transactions and corrupt data are shown, too.

    PATHS are log directories, partitions, segments or URLs of these. Only the headers of batches are read; batches
    smaller than 2 KiB are read completely. Without --deep no checksum is verified, so that corrupt batches may be
    counted, and the number of records is an estimate ("about") for compressed messages of magic 0 and 1, if segments
    overlap and if there are gaps, and a minimum ("at least") for compressed messages of Kafka 0.7. The first time is
    that of the first record of a batch, so that records may be earlier: --deep shows the least and the greatest
    timestamp of the records. Headers do not have the uncompressed size: without --deep the ratio is "n/a".

    The exit status is 1 if something is corrupt, missing or unreadable, as far as the headers show; with --deep as
    kafkacomp verify finds it.
    """
    chosen, unreadable = partitions_of(paths, ByName.of(topics, partitions), **opening)
    for path, reason in unreadable.items():
        complain(f"{path}: {reason}")
    total = sum(segment.size for each in chosen for segment in each.segments)
    with progress_bar("info", total) as advance:
        found = describe(
            chosen,
            checked_threads(threads),
            deep=deep,
            log_format=log_format,
            max_output_size=max_output_size,
            progress=advance,
        )
    if as_json:
        say_json(_as_dict(found))
    else:
        _show(found, by_partition=by == "partition", sort=sort)
    if found.is_corrupt or unreadable:
        return CORRUPT
    return unacknowledged(*found.partitions).status(allow_missing=allow_missing)


def _show(found: LogDirInfo, *, by_partition: bool, sort: str) -> None:
    width = width_of_output()
    rows: list[TopicInfo | PartitionInfo] = [*(found.partitions if by_partition else found.topics)]
    rows.sort(key=partial(_order, sort=sort))
    for heading, chosen in (
        ("", [each for each in rows if each.topic not in INTERNAL_TOPICS]),
        ("internal topics", [each for each in rows if each.topic in INTERNAL_TOPICS]),
    ):
        if not chosen:
            continue
        if heading:
            say("")
            say(f"{heading}:")
        show_table(_BY_PARTITION if by_partition else _BY_TOPIC, [_row(each) for each in chosen], width=width)
    say("")
    for line in _lines(found):
        say(line)


def _lines(found: LogDirInfo) -> Sequence[str]:
    """The sums of all topics, and the problems."""
    counted = (
        f"{count_text(len(found.topics), 'topic')}, {count_text(len(found.partitions), 'partition')}, "
        f"{count_text(found.segments_count, 'segment')}, {count_text(found.size, 'byte')}: "
        f"{_records(found)} records, {count_text(found.control_records, 'control record')}"
    )
    lines = [counted]
    if found.first_timestamp is not None:
        source = "" if found.is_verified else " (of batch headers: records may be earlier)"
        lines.append(f"time: {time_text(found.first_timestamp)} to {time_text(found.last_timestamp)}{source}")
    if found.size and all(each.report is None for each in found.partitions):
        # The search for the next intact batch reads bytes again.
        again = f"some of their {found.size:,} more than once" if found.bytes_read > found.size else None
        share = again or f"{found.bytes_read / found.size:.2%}"
        lines.append(
            f"read for this: {found.bytes_read:,} bytes of the segments ({share}), only headers: "
            "--deep verifies every batch"
        )
    lines += _listed([*unacknowledged(*found.partitions).lines(_SHOWN)])
    lines += _listed(
        [line for each in found.partitions for line in missing_lines(each.known_losses, _SHOWN, label="known loss")]
    )
    lines += _listed(
        [
            f"open transaction: {_name(each)}: producer {txn.producer_id}, epoch {txn.producer_epoch}, "
            f"offsets {txn.first_offset} to {txn.last_offset}, {count_text(txn.records, 'record')}"
            + (f", since {time_text(txn.first_timestamp)}" if txn.first_timestamp is not None else "")
            for each in found.partitions
            for txn in each.open_transactions
        ]
    )
    lines += _listed(
        [
            f"corrupt: {segment.path}: {count_text(summary.corrupt_bytes, 'byte')} without an intact batch"
            for each in found.partitions
            for segment in each.segments
            if (summary := segment.summary) is not None and summary.corrupt_bytes
        ]
    )
    lines += _listed([f"unreadable: {path}: {error.removeprefix(f'{path}: ')}" for path, error in found.errors])
    if any(each.report is not None for each in found.partitions):
        bad = sum(finding.is_error for each in found.partitions if each.report for finding in each.report.findings)
        lines.append(
            f"verified: every batch; {count_text(bad, 'error')}{' (kafkacomp verify lists them)' if bad else ''}"
        )
    return lines


def _listed(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"and {more:,} more such lines (--json has them)"] if more > 0 else lines


def _row(each: TopicInfo | PartitionInfo) -> list[str]:
    codecs = ", ".join(dict.fromkeys(counts.compression_type for counts in each.counts))
    formats = ", ".join(dict.fromkeys(counts.message_format for counts in each.counts))
    ratio = each.ratio
    cells = [
        f"{each.size:,}", _records(each), f"{each.gaps:,}" if each.gaps else "", codecs,
        *(time_text(time, to_the_second=True) for time in (each.first_timestamp, each.last_timestamp)),
        f"{each.transactions_count:,}" if each.transactions_count else "", f"{each.segments_count:,}",
        "n/a" if ratio is None else f"{ratio:.2f}", formats,
    ]  # fmt: skip
    if isinstance(each, TopicInfo):
        return [printable(_name(each)), *cells, f"{len(each.partitions):,}"]
    offsets = ["" if offset is None else f"{offset:,}" for offset in (each.first_offset, each.last_offset)]
    return [printable(_name(each)), *offsets, *cells]


def _records(each: LogDirInfo | TopicInfo | PartitionInfo) -> str:
    estimate = "" if each.is_exact else "at least " if each.is_minimum else "about "
    return f"{estimate}{each.records:,}"


def _name(each: TopicInfo | PartitionInfo) -> str:
    if isinstance(each, TopicInfo):
        return each.topic or "unknown"
    return f"{each.topic}-{each.partition}" if each.topic else each.segments[0].path


def _order(each: TopicInfo | PartitionInfo, sort: str) -> tuple[int, str, int]:
    greatest = {"bytes": each.size, "records": each.records, "name": 0}[sort]
    return -greatest, each.topic, each.partition if isinstance(each, PartitionInfo) else 0


def _as_dict(found: LogDirInfo) -> dict[str, Any]:
    return {
        **_sums(found),
        "bytesRead": found.bytes_read,
        "topics": [
            {
                "topic": topic.topic or None,
                "isInternal": topic.is_internal,
                **_sums(topic),
                "partitions": [_partition(each) for each in topic.partitions],
            }
            for topic in found.topics
        ],
    }


def _sums(each: LogDirInfo | TopicInfo | PartitionInfo) -> dict[str, Any]:
    names = (
        "records", "is_exact", "is_minimum", "is_verified", "control_records", "first_timestamp", "last_timestamp",
        "gaps", "corrupt_bytes",
    )  # fmt: skip
    return {
        "segments": each.segments_count,
        "bytes": each.size,
        **json_fields(each, *names),
        "openTransactionsCount": each.transactions_count,
        "counts": [camel_case(counts._asdict()) for counts in each.counts],
        "ratio": each.ratio,
    }


def _partition(each: PartitionInfo) -> dict[str, Any]:
    return {
        "partition": each.partition if each.topic else None,
        **_sums(each),
        **json_fields(each, "first_offset", "last_offset", "log_start_offset", "high_watermark"),
        "missing": [camel_case(range_._asdict()) for range_ in each.missing],
        "moreMissing": each.more_missing,
        "knownLosses": [known_loss_fields(loss) for loss in each.known_losses],
        "openTransactions": [camel_case(txn._asdict()) for txn in each.open_transactions],
        "files": [_segment(segment) for segment in each.segments],
    }


def _segment(segment: Any) -> dict[str, Any]:  # noqa: ANN401 - a SegmentInfo
    summary = segment.summary
    found: dict[str, Any] = {"file": segment.path, "baseOffset": segment.base_offset, "bytes": segment.size}
    if summary is None:
        return found | {"error": segment.error}
    names = (
        "first_offset", "last_offset", "first_timestamp", "last_timestamp", "corrupt_bytes", "is_truncated",
        "repeated_batches", "bytes_read",
    )  # fmt: skip
    return found | json_fields(summary, *names)
