"""What is read of logs with many injections of one kind is linear in the log, for every kind.

At most three bytes are read for one of a log with bytes that are not intact. Batches that are intact, but out of place,
are compared with those that belong there: at most 16 times for each segment.
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
from kafkacomp import log
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
#: Kinds with intact batches in the place of others, or with offsets that others have.
OUT_OF_PLACE = {
    "two batches swapped": 24,
    "batch repeated later": 10,
    "batch overwritten by another": 10,
    "overlapping segments": 10,
    "segment copied": 20,
    "overlapping segments that disagree": 10,
    "wrong base offset in the file name": 6,
    "wrong base offset in the file name, out of order": 6,
}


def _scan(folder: Path, **options: object) -> None:
    for _ in kc.scan(folder, columns=["offset"], on_error="skip", **options):  # type: ignore[arg-type]
        pass


USES: dict[str, Callable[[Path, Path], object]] = {
    "scan": lambda folder, _: _scan(folder),
    "committed": lambda folder, _: _scan(folder, isolation_level="read_committed"),
    "verify": lambda folder, _: log.verify_partition(folder),
    "repair": log.repair,
}


LOGS = {magic: partial(built, magic, "none", segments=4, batches=4_000) for magic in (1, 2)}


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
    size = sum(path.stat().st_size for path in folder.iterdir())
    for name, use in USES.items():
        before = read_so_far()
        with contextlib.suppress(kc.CorruptRecordError, kc.InvalidRecordError, FileNotFoundError):
            use(folder, tmp_path / "out" / folder.name)
        read = read_so_far() - before
        assert read <= OUT_OF_PLACE.get(kind, MOST) * size + EXTRA, f"{name}: {read / max(size, 1):.2f} bytes for each"
