"""What is read of a corrupt file: at most three bytes for one of its own, whatever is wrong with it."""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import _kafkacomp, log, message_set
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts by /proc/self/io")

#: The bytes of a batch that is larger than what a reader keeps.
LARGEST = 9_000_000
#: Beside the file: headers that are looked at, and what a look at the file's end reads.
EXTRA = 1 << 20


def batch(length: int, *, is_bad: bool) -> bytes:
    noise = random.Random(length).randbytes(length)
    made = bytearray(kc.record.build_batches(pa.table({"offset": [0], "value": [noise]}), base_offset=0))
    made[-2] ^= is_bad
    return bytes(made)


def alternating(length: int, total: int) -> bytes:
    """Batches in order, every second one with a wrong checksum."""
    kinds = [bytearray(batch(length, is_bad=is_bad)) for is_bad in (False, True)]
    made = bytearray()
    offset = 0
    while len(made) < total:
        kind = kinds[offset % 2]
        kind[:8] = offset.to_bytes(8, "big")
        made += kind
        offset += 1
    return bytes(made)


def empty(size: int) -> bytes:
    """A header without records, whose checksum is wrong, of a batch of ``size`` bytes."""
    return bytes(8) + (size - 12).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(44)


def to_the_end(total: int) -> bytes:
    """Headers of batches that reach to the file's end."""
    made = bytearray(total)
    for at in range(0, total - 100, 64):
        header = empty(total - at)[:57] + (1).to_bytes(4, "big") + b"\x40\0\0"
        made[at : at + len(header)] = header
    return bytes(made)


FILES: dict[str, Callable[[], bytes]] = {
    "ones": lambda: b"\1" * 33_000_000,
    "sevens": lambda: b"\7" * 10_000_000,
    "headers": lambda: empty(61) * 160_000,
    "headers to the end": lambda: to_the_end(6_000_000),
    "small, every second": lambda: alternating(20, 500_000),
    "large, every second": lambda: alternating(3_000_000, 20_000_000),
    "larger than what is kept": lambda: alternating(LARGEST, 50_000_000),
    "a hole": lambda: batch(100, is_bad=False) + bytes(9_000_000) + batch(100, is_bad=False),
    "noise": lambda: random.Random(1).randbytes(9_000_000),
}


def _scan(folder: Path, **options: object) -> None:
    for _ in kc.scan(str(folder), columns=["offset"], on_error="skip", **grouped(**options)):
        pass


def _offset_for_time(folder: Path) -> None:
    (partition,) = resolve(str(folder))
    assert _kafkacomp.offset_for_time(partition, 1 << 60, "auto", True, 1 << 30) is None  # noqa: FBT003 - skips


USES: dict[str, Callable[[Path, Path], object]] = {
    "scan": lambda folder, _: _scan(folder, options=kc.ScanOptions(threads=1)),
    "scan on threads": lambda folder, _: _scan(folder, options=kc.ScanOptions(threads=3)),
    "committed": lambda folder, _: _scan(folder, isolation_level="read_committed"),
    "verify": lambda folder, _: log.verify_segment(next(folder.glob("*.log"))),
    "info": lambda folder, _: kc.LogDir(folder).info(deep=True),
    "repair": log.repair,
    "recompress": lambda folder, target: log.recompress(folder, target, compression_type="zstd"),
    "offset for time": lambda folder, _: _offset_for_time(folder),
}


def read_so_far() -> int:
    """The bytes that this process has asked the system for."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(counts["rchar"])


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", FILES)
def test_bytes_read(logs: Path, tmp_path: Path, name: str, use: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "kafkacomp")
    folder = logs / name.replace(" ", "_") / "t-0"
    path = folder / f"{0:020}.log"
    if not path.exists():
        shutil.rmtree(logs)
        folder.mkdir(parents=True)
        path.write_bytes(FILES[name]())
    before = read_so_far()
    with contextlib.suppress(kc.CorruptRecordError, kc.InvalidRecordError):  # a rewrite but a repair refuses
        USES[use](folder, tmp_path / "out-0")
    read = read_so_far() - before
    # After a repair, the batches next to what is missing are looked for, for the loss file. Transactions are found
    # before records are read.
    times = 4 if use in {"repair", "committed"} else 3
    # The first and the last batch are verified before they are believed, by each survey.
    beside = (times - 2) * 2 * LARGEST if name == "larger than what is kept" else 0
    assert read <= times * path.stat().st_size + beside + EXTRA, f"{read / path.stat().st_size:.2f} bytes for each"


def test_info_reads_an_intact_log_once(tmp_path: Path) -> None:
    (folder := tmp_path / "t-0").mkdir()
    path = folder / f"{0:020}.log"
    path.write_bytes(b"".join(offset.to_bytes(8, "big") + batch(2000, is_bad=False)[8:] for offset in range(5000)))
    before = read_so_far()
    assert kc.LogDir(folder).info(deep=True).records == 5000
    assert read_so_far() - before <= 1.1 * path.stat().st_size


@pytest.mark.parametrize("count", [2, 8, 30])
def test_bytes_read_of_overlapping_files_of_message_sets(
    tmp_path: Path, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Offsets are positions there: each file has the bytes of the log from its name on, and all overlap."""
    caplog.set_level("CRITICAL", "kafkacomp")
    messages, length, step = 20_000, 100, 500
    data = message_set.write_messages([b"%090d" % number for number in range(messages + count * step)])
    assert len(data) == (messages + count * step) * length
    folder = tmp_path / "t-0"
    folder.mkdir()
    for start in range(0, count * step * length, step * length):
        (folder / f"{start:020}.kafka").write_bytes(data[start : start + messages * length])
    size = count * messages * length
    for name, use in {
        "scan": lambda: _scan(folder),
        "strict scan": lambda: list(kc.scan(folder, columns=["offset"])),
        "verify": lambda: log.verify_partition(folder),
    }.items():
        before = read_so_far()
        use()  # type: ignore[no-untyped-call]
        assert read_so_far() - before <= 3 * size + EXTRA, f"{name}: {(read_so_far() - before) / size:.2f}"
