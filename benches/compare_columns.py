"""The records of a batch in one call, against iterating over them.

``columns`` and ``to_arrow`` are methods of ``RecordBatch``; ``binary`` and ``views`` are scans of its bytes into Arrow,
with values copied and not copied.

Every side gets offset, timestamp, key and value of all records of a batch whose checksum was verified before. The sides
work in turn in one process, and what counts are the ratios of their medians.

Each pass decompresses the batch, which takes the same time on all sides. ``at most`` is the ratio of a side that did
nothing else. Where it is below 2, as it can be for compressed batches of large values, no way to return the records can
be twice as fast as iterating.

Usage: python benches/compare_columns.py [--rounds N] [--records N]
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from turns import in_turn

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable

CODECS = ("none", "lz4", "snappy", "gzip", "zstd")
COLUMNS = ("offset", "timestamp", "key", "value")


def batch(codec: str, records: int, size: int) -> record.RecordBatch:
    """A batch of records with values of so many bytes that compress about fourfold."""
    builder = record.RecordBatchBuilder(compression_type=codec)
    for index in range(records):
        value = b'{"id":%d,"state":"%s"}' % (index * 7919, (b"open", b"paid", b"shipped")[index % 3])
        builder.append(
            (value * (size // len(value) + 1))[:size], key=b"%d" % index, timestamp=1_700_000_000_000 + index
        )
    (built,) = record.read_batches(builder.build())
    return built


def sides(found: record.RecordBatch) -> dict[str, Callable[[], object]]:
    """Each way to get the four columns."""
    data = bytes(found)

    def iterate() -> object:
        rows = [(each.offset, each.timestamp, each.key, each.value) for each in found]
        return tuple(zip(*rows, strict=True))

    stored, kind = found.stored_records, found.compression_type
    return {
        "iterate": iterate,
        "decompress": lambda: kc.decompress(stored, kind),
        "columns": found.columns,
        "to_arrow": found.to_arrow,
        "binary": lambda: arrow(data, "binary"),
        "views": lambda: arrow(data, "binary_view"),
    }


def arrow(data: bytes, binary_type: Literal["binary", "binary_view"]) -> pa.Table:
    """The four columns of a batch as Arrow arrays."""
    return pa.table(
        kc.scan(data, columns=COLUMNS, options=kc.ScanOptions(threads=1, verify_crc=False, binary_type=binary_type))
    )


def seconds_of(function: Callable[[], object]) -> Callable[[], float]:
    """A pass that is timed."""

    def one_pass() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return one_pass


def main() -> None:
    """Print a line for each codec and size of value."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=1000)
    arguments = parser.parse_args()
    titles = {
        "columns": "columns",
        "to_arrow": "to_arrow",
        "binary": "binary",
        "views": "views",
        "decompress": "at most",
    }
    print(f"{'codec':8}{'value bytes':>12}{'iterate, us':>13}{''.join(f'{title:>9}' for title in titles.values())}")
    for codec in CODECS:
        for size in (20, 100, 1000):
            ways = sides(batch(codec, arguments.records, size))
            assert [list(each) for each in ways["iterate"]()] == list(map(list, ways["columns"]()))  # type: ignore[attr-defined, call-overload]
            timed = {name: (seconds_of(way), time.process_time) for name, way in ways.items()}
            passes, _ = in_turn(timed, arguments.rounds)
            own = {name: median(each) for name, each in passes.items()}
            ratios = [own["iterate"] / own[name] for name in titles]
            print(
                f"{codec:8}{size:12}{own['iterate'] * 1e6:13.0f}{''.join(f'{each:9.2f}' for each in ratios)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
