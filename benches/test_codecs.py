"""kc.compress and kc.decompress, batches built and iterated, through Python: pytest-benchmark over codecs and sizes.

Run: pytest benches --benchmark-only
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import flights
import make_segments
import pytest

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

SIZES = (265, 16 << 10, 1 << 20)


@pytest.fixture(name="rows", scope="module")
def _rows() -> bytes:
    with flights.payload(make_segments.BUILD).open("rb") as file:
        return file.read(max(SIZES))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("codec", make_segments.CODECS)
def test_compress(benchmark: BenchmarkFixture, rows: bytes, codec: str, size: int) -> None:
    """At Kafka's default level."""
    data = rows[:size]
    packed = benchmark(lambda: kc.compress(data, codec))
    benchmark.extra_info |= {"bytes": size, "ratio": size / len(packed)}
    assert kc.decompress(packed, codec) == data


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("codec", make_segments.CODECS)
def test_decompress(benchmark: BenchmarkFixture, rows: bytes, codec: str, size: int) -> None:
    """What compress wrote."""
    data = rows[:size]
    packed = kc.compress(data, codec)
    benchmark.extra_info |= {"bytes": size}
    assert benchmark(lambda: kc.decompress(packed, codec)) == data


@pytest.mark.parametrize("codec", make_segments.CODECS)
def test_build(benchmark: BenchmarkFixture, rows: bytes, codec: str) -> None:
    """A batch of 16 KB, record by record."""
    values = rows[: 16 << 10].splitlines()

    def build() -> bytes:
        builder = record.RecordBatchBuilder(compression_type=codec)
        for at, value in enumerate(values):
            builder.append(value, timestamp=at)
        return builder.build()

    benchmark.extra_info |= {"records": len(values)}
    built = benchmark(build)
    assert [each.value for batch in record.read_batches(built) for each in batch] == values


@pytest.mark.parametrize("codec", make_segments.CODECS)
def test_iterate(benchmark: BenchmarkFixture, codec: str) -> None:
    """A million bytes of a segment, every record's value."""
    segment = make_segments.make(codec, "16k")
    with segment.path.open("rb") as file:
        data = file.read(1_000_000)

    def iterate() -> int:
        count = 0
        for batch in record.read_batches(data):
            batch.ensure_valid()
            for each in batch:
                _ = each.offset, each.timestamp, each.value
                count += 1
        return count

    assert benchmark(iterate) > 0
