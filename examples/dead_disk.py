"""Read what is intact on a dead broker's disk into polars, and list what is missing.

Run: python examples/dead_disk.py LOG_DIRECTORY TARGET.parquet
"""

from __future__ import annotations

import sys

import polars as pl

import kafkacomp as kc


def main(source: str, target: str) -> None:
    """Write the records to a Parquet file and print a line per partition and per missing range."""
    reader = kc.scan(source, on_error="skip")
    records = pl.DataFrame(reader)
    records.write_parquet(target)

    partitions = records.group_by("topic", "partition").agg(
        pl.len().alias("records"),
        pl.col("offset").min().alias("first"),
        pl.col("offset").max().alias("last"),
        pl.col("value").bin.size().sum().alias("bytes"),
    )
    for topic, partition, count, first, last, size in partitions.sort("topic", "partition").iter_rows():
        print(f"{topic}-{partition}: {count:,} records, offsets {first:,} to {last:,}, {size:,} bytes of values")
    for missing in reader.report.missing:
        offsets = f"{missing.first_offset:,} to {missing.last_offset:,}"
        print(f"missing: {missing.topic}-{missing.partition}, offsets {offsets} ({missing.reason})")
    for skipped in reader.report.skipped:
        print(f"left out: {skipped.length:,} bytes at byte {skipped.position:,} of {skipped.file}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
