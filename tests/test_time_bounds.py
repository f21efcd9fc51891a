"""A time index that is not its segment's hides no record: headers decide, or the index must agree with them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp, record
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from pathlib import Path

NAME = "00000000000000000000"
COUNT = 380


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """380 batches of one record each, at 1,000,000 + 10 * offset ms."""
    table = pa.table(
        {
            "value": [b"v" * 50] * COUNT,
            "timestamp": pa.array([1_000_000 + 10 * n for n in range(COUNT)], pa.timestamp("ms", "UTC")),
        }
    )
    kc.write(table, tmp_path, topic="t", compression_type="none", batch_bytes=1)
    folder = tmp_path / "t-0"
    assert len(list(record.read_batches((folder / f"{NAME}.log").read_bytes()))) == COUNT
    return folder


def entries(*found: tuple[int, int]) -> bytes:
    """A time index."""
    return b"".join(struct.pack(">qi", *entry) for entry in found)


WRONG = {
    "of later offsets": entries((5, 110), (2_000_000, 379)),
    "of earlier times": entries((7, 10), (8, 370)),
    "of a time that another batch has": entries((1_000_000, 109), (1_000_010, 370)),
    "beyond the end": entries((3, 5_000)),
    "of nothing": b"",
}


@pytest.mark.parametrize("index", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("start", [0, 6, 1_000_000, 1_000_500, 1_003_790, 1_003_791])
@pytest.mark.parametrize("is_remote", [False, True])
def test_a_wrong_time_index_hides_nothing(partition: Path, index: bytes, start: int, is_remote: bool) -> None:
    (partition / f"{NAME}.timeindex").write_bytes(index)
    source = str(partition)
    if is_remote:
        memory = fsspec.filesystem("memory")
        memory.put(source, f"/{partition.parent.name}/t-0", recursive=True)
        source = f"memory://{partition.parent.name}/t-0"
    scan = kc.scan(source, columns=["offset"], start_time=start)
    wanted = [n for n in range(COUNT) if 1_000_000 + 10 * n >= start]
    assert pa.table(scan).column("offset").to_pylist() == wanted


@pytest.mark.parametrize("index", WRONG.values(), ids=WRONG.keys())
def test_an_offset_for_a_time(partition: Path, index: bytes) -> None:
    (partition / f"{NAME}.timeindex").write_bytes(index)
    for start in (0, 6, 1_000_000, 1_000_005, 1_003_790, 1_003_791):
        wanted = next((n for n in range(COUNT) if 1_000_000 + 10 * n >= start), None)
        (found,) = resolve(str(partition))
        source = found
        skip = False
        assert _kafkacomp.offset_for_time(source, start, "auto", skip, 1 << 30) == wanted


def test_a_late_batch_in_the_middle_of_a_segment(tmp_path: Path) -> None:
    """The time index in an object store has lost its entry, and the batches at the end are earlier."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    times = [1000, *[2000] * 4, 5000, *[2000] * 14]
    made = []
    for number, time in enumerate([*times, 9000]):
        rows = {"value": [b"v"], "timestamp": pa.array([time], pa.timestamp("ms", "UTC"))}
        made.append(record.build_batches(pa.table(rows), base_offset=number, compression_type="none"))
    (folder / f"{0:020}.log").write_bytes(b"".join(made[:-1]))
    (folder / f"{len(times):020}.log").write_bytes(made[-1])
    (folder / f"{0:020}.index").write_bytes(struct.pack(">ii", 18, sum(map(len, made[:18]))))
    (folder / f"{0:020}.timeindex").write_bytes(entries((1000, 0)))
    fsspec.filesystem("memory").put(str(folder), f"/{tmp_path.name}/t-0", recursive=True)
    (source,), skip = resolve(f"memory://{tmp_path.name}/t-0"), False
    for time, offset in ((1000, 0), (1500, 1), (2000, 1), (3000, 5), (6000, len(times))):
        assert _kafkacomp.offset_for_time(source, time, "auto", skip, 1 << 30) == offset


@pytest.mark.parametrize("position", [1, 50, 5_000])
def test_a_wrong_offset_index_hides_nothing(partition: Path, position: int) -> None:
    (partition / f"{NAME}.index").write_bytes(struct.pack(">ii", 10, position))
    scan = kc.scan(str(partition), columns=["offset"], start_offset=100)
    assert pa.table(scan).column("offset").to_pylist() == list(range(100, COUNT))
