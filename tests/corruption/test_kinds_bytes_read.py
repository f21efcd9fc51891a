"""What is read of logs with many injections of one kind is linear in the log, for every kind.

At most three bytes are read for one of a log, also for a committed reader, whose pass over the transactions is one of
them.
"""

from __future__ import annotations

import contextlib
import random
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from corruption.inject import KINDS, applies, inject
from corruption.logs import built
from grouped import grouped
from kafkacomp import log, record
from test_bytes_read import EXTRA, read_so_far

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts by /proc/self/io"),
]

TIMES = 30
MOST = 3


def _scan(folder: Path, **options: object) -> None:
    for _ in kc.scan(folder, columns=["offset"], **grouped(**options)):
        pass


USES: dict[str, Callable[[Path, Path], object]] = {
    "scan": lambda folder, _: _scan(folder, on_error="skip"),
    "strict scan": lambda folder, _: _scan(folder),
    "committed": lambda folder, _: _scan(folder, on_error="skip", isolation_level="read_committed"),
    "verify": lambda folder, _: log.verify_partition(folder),
    "repair": log.repair,
}


LOGS = {magic: partial(built, magic, "none", segments=4, batches=4_000) for magic in (1, 2)}


def check_uses(folder: Path, tmp_path: Path, *expected: type[Exception]) -> None:
    """What each use reads of a folder, which may also end with one of the expected errors."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    for name, use in USES.items():
        before = read_so_far()
        with contextlib.suppress(kc.CorruptRecordError, kc.InvalidRecordError, *expected):
            use(folder, tmp_path / "out" / folder.name)
        read = read_so_far() - before
        assert read <= MOST * size + EXTRA, f"{name}: {read / max(size, 1):.2f} bytes for each"


@pytest.mark.parametrize(
    ("kind", "magic"),
    [(kind, magic) for kind in KINDS for magic in (1, 2) if applies(kind, built(magic, "none"))],
)
def test_bytes_read(tmp_path: Path, kind: str, magic: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "kafkacomp")
    source = LOGS[magic]()
    rng = random.Random(kind)
    injected = inject(source, kind, rng)
    for _ in range(0 if "deleted" in kind else TIMES):
        with contextlib.suppress(IndexError, ValueError):  # nothing is left of that kind
            KINDS[kind](injected, rng)
    folder = injected.write(tmp_path)
    check_uses(folder, tmp_path, FileNotFoundError)


@pytest.mark.parametrize("times", [8, 64, 512])
@pytest.mark.parametrize("kind", ["two batches swapped", "batch repeated later", "batch overwritten by another"])
def test_bytes_read_do_not_depend_on_the_number_of_batches_out_of_place(
    tmp_path: Path, kind: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "kafkacomp")
    rng = random.Random(kind)
    injected = inject(LOGS[2](), kind, rng)
    for _ in range(times - 1):
        KINDS[kind](injected, rng)
    folder = injected.write(tmp_path)
    check_uses(folder, tmp_path)
    for path in folder.glob("*.log"):
        before = read_so_far()
        log.verify_segment(path)
        read = read_so_far() - before
        assert read <= MOST * path.stat().st_size + EXTRA, f"{path.name}: {read / path.stat().st_size:.2f}"


@pytest.mark.parametrize("times", [8, 64])
@pytest.mark.parametrize("kind", ["overlapping segments", "segment copied", "overlapping segments that disagree"])
@pytest.mark.parametrize("magic", [1, 2])
def test_bytes_read_do_not_depend_on_the_number_of_files_that_overlap(
    tmp_path: Path, kind: str, times: int, magic: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "kafkacomp")
    rng = random.Random(kind)
    injected = inject(built(magic, "none", segments=4, batches=1_000), kind, rng)
    for _ in range(times - 1):
        KINDS[kind](injected, rng)
    folder = injected.write(tmp_path)
    check_uses(folder, tmp_path, FileNotFoundError)


def _compacted(magic: int, batches: int) -> bytes:
    """Batches of about 200 bytes, with a gap after each: only the offset field differs, which no checksum covers."""
    builder = record.RecordBatchBuilder(magic, "none" if magic == 2 else "gzip", base_offset=0)
    for number in range(2):
        builder.append(random.Random(number).randbytes(60 if magic == 2 else 40), timestamp=1_700_000_000_000)
    batch = bytearray(builder.build())
    made = bytearray()
    for offset in range(0 if magic == 2 else 1, batches * 4, 4):
        batch[:8] = offset.to_bytes(8, "big")
        made += batch
    return bytes(made)


#: The passes of each use over an intact log.
PASSES = {"scan": 1, "strict scan": 1, "committed": 2, "verify": 1, "repair": 1}


@pytest.mark.parametrize("batches", [25_000, 50_000, 100_000, 200_000])
@pytest.mark.parametrize("magic", [1, 2])
def test_headers_that_are_read_ahead_are_read_once(
    tmp_path: Path, magic: int, batches: int, caplog: pytest.LogCaptureFixture
) -> None:
    """What a gap is judged by is not read again when its turn comes."""
    caplog.set_level("CRITICAL", "kafkacomp")
    folder = tmp_path / "t-0"
    folder.mkdir()
    data = _compacted(magic, batches)
    (folder / f"{0:020}.log").write_bytes(data)
    for name, use in USES.items():
        before = read_so_far()
        use(folder, tmp_path / "out-0")
        read = read_so_far() - before
        # The chunk that has the first gap is already in memory then, and its headers are read once more.
        assert read <= PASSES[name] * (1.05 * len(data) + EXTRA), f"{name}: {read / len(data):.3f} bytes for each"
