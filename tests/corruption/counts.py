"""What ``info`` calls exact about a corrupt log, compared with what a reader gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import kafkacomp as kc

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["differences"]


def differences(folder: Path) -> list[str]:
    """What ``info`` calls exact although a scan gets something else."""
    rows = pa.table(kc.scan(folder, columns=["offset", "timestamp"], on_error="skip"))
    times = [each for each in rows.column("timestamp").cast(pa.int64()).to_pylist() if each not in {None, -1}]
    span = (min(times, default=None), max(times, default=None))
    plain, deep = kc.LogDir(folder).info(), kc.LogDir(folder).info(deep=True)
    found = []
    if deep.is_exact and (deep.records, deep.first_timestamp, deep.last_timestamp) != (rows.num_rows, *span):
        found.append(f"deep: {deep.records} records, {deep.first_timestamp} to {deep.last_timestamp}")
    # Headers do not show that the content of a batch is corrupt.
    reports = [report for each in deep.partitions if each.report for report in each.report.segments.values()]
    is_content_corrupt = any(each.corrupt_batches for each in reports)
    if plain.is_exact and plain.records != rows.num_rows and not is_content_corrupt:
        found.append(f"headers: {plain.records} records")
    return [f"{each}; read: {rows.num_rows}, {span}" for each in found]
