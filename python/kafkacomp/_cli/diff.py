"""``kafkacomp diff``: compare the records of two logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkacomp._cli.common import (
    ALLOW_MISSING,
    LOG_FORMAT,
    MAX_OUTPUT_SIZE,
    complain,
    progress_bar,
    say,
    say_json,
)
from kafkacomp._cli.filters import partition_options
from kafkacomp._cli.tiered import STORAGE_OPTIONS
from kafkacomp._exit_status import CORRUPT
from kafkacomp._losses import unacknowledged
from kafkacomp.arrow import ScanOptions
from kafkacomp.log._diff import diff as compare

if TYPE_CHECKING:
    from kafkacomp.log._diff import DiffReport


@click.command()
@click.argument("source")
@click.argument("other")
@partition_options
@click.option("--threads", type=click.IntRange(1, 1024), help="Decoding threads of each log; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as one JSON object.")
@LOG_FORMAT
@STORAGE_OPTIONS
@ALLOW_MISSING
@MAX_OUTPUT_SIZE
def diff(  # noqa: PLR0917 - click hands everything over by name
    source: str, other: str, topics: list[str] | None, partitions: list[int] | None, threads: int | None,
    as_json: bool, allow_missing: bool, storage_options: dict[str, object] | None, **reading: Any,  # noqa: ANN401 - the fields of ScanOptions
) -> int:  # fmt: skip
    """Compare the records of two logs.

    SOURCE and OTHER are log directories, partitions, segments or URLs of these. Partitions are compared if their
    folders have the same name, TOPIC-PARTITION. Equal records have the same offset, timestamp, key, value and headers;
    batches, segments and compression may differ. Records that are corrupt or missing in one log count as different. The
    first difference of each partition is shown.

    The exit status is 1 if a record differs, if bytes of a log cannot be read, or if both logs lack the same offsets
    and compaction does not explain that.
    """
    with progress_bar("diff", None) as bar:
        report = compare(
            source, other, topics=topics, partitions=partitions, storage_options=storage_options, progress=bar.at,
            options=ScanOptions(threads=threads, **reading),
        )  # fmt: skip
    for name, read in zip((source, other), report.scans, strict=True):
        for line in unacknowledged(*read).lines():
            complain(f"{name}: {line}")
    if as_json:
        say_json(report.to_dict())
    else:
        _show(report)
    losses = unacknowledged(*report.scans[0], *report.scans[1])
    return losses.status(allow_missing=allow_missing) if report.is_same else CORRUPT


def _show(report: DiffReport) -> None:
    for each in report.differences:
        name = "unknown partition" if each.topic is None else f"{each.topic}-{each.partition}"
        say(f"{name}: {each.message}")
    if report.is_same:
        say(f"{report.num_records:,} records are the same")
    else:
        say(f"different: {len(report.differences)} of {report.num_partitions} partitions")
