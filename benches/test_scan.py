"""kc.scan into Arrow, all default columns, CRC checked, on one thread: pytest-benchmark over codecs and batch sizes.

Run: pytest benches --benchmark-only (the segments come from Kafka's own builder, so Java and Maven are needed once).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import make_segments
import pyarrow as pa
import pytest

import kafkacomp as kc

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.parametrize("batch", make_segments.BATCHES)
@pytest.mark.parametrize("codec", make_segments.CODECS)
def test_scan(benchmark: BenchmarkFixture, codec: str, batch: str) -> None:
    """A whole segment in memory, drained by pyarrow."""
    segment = make_segments.make(codec, batch)
    data = segment.path.read_bytes()

    def scan() -> int:
        reader = kc.scan({("flights", 0): data}, options=kc.ScanOptions(threads=1))
        return sum(part.num_rows for part in pa.RecordBatchReader.from_stream(reader))

    benchmark.extra_info |= {"records": segment.records, "bytes": len(data)}
    assert benchmark(scan) == segment.records
