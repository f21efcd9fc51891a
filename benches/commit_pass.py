"""One side of compare_commits.py: passes of one kind of work, by whatever kafkacomp is first on the path.

Uses only what users use, so it runs with the packages of older commits; work that a commit cannot do yet answers
`missing`.

Run: python benches/commit_pass.py SEGMENT          one pass for each line NAME of standard input; answers its seconds
     python benches/commit_pass.py SEGMENT NAME N   N passes, and the end: for counting instructions
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kafkacomp as kc
from kafkacomp import record

if TYPE_CHECKING:
    from collections.abc import Callable

# Where the records of a batch of magic 2 begin.
RECORDS = 61


class Work:
    """The kinds of work over one segment."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        batches = list(record.read_batches(self.data))
        self.kind = batches[0].compression_type
        self.packed = [bytes(batch)[RECORDS:] for batch in batches]
        self.plain = [kc.decompress(data, self.kind) for data in self.packed]
        self.rows = [(each.timestamp, each.key, each.value) for batch in batches[:20] for each in batch]

    def scan(self) -> None:
        """Into Arrow columns."""
        for _ in kc.scan({("flights", 0): self.data}, options=kc.ScanOptions(threads=1)):
            pass

    def iterate(self) -> None:
        """Record by record."""
        for batch in record.read_batches(self.data):
            batch.ensure_valid()
            for each in batch:
                _ = each.offset, each.timestamp, each.key, each.value

    def decompress(self) -> None:
        """Each batch's records."""
        for data in self.packed:
            kc.decompress(data, self.kind)

    def compress(self) -> None:
        """Each batch's records."""
        for data in self.plain:
            kc.compress(data, self.kind)

    def build(self) -> None:
        """One batch of the first records."""
        builder = record.RecordBatchBuilder(compression_type=self.kind)
        for timestamp, key, value in self.rows:
            builder.append(value, key=key, timestamp=timestamp)
        builder.build()


def main(arguments: list[str]) -> None:
    """Answers lines, or does N passes."""
    work = Work(Path(arguments[0]))
    if len(arguments) > 1:
        one_pass: Callable[[], None] = getattr(work, arguments[1])
        for _ in range(int(arguments[2])):
            one_pass()
        return
    print("ready", flush=True)
    for line in sys.stdin:
        print(_timed(getattr(work, line.strip())), flush=True)


def _timed(one_pass: Callable[[], None]) -> str:
    start = time.perf_counter()
    try:
        one_pass()
    except AttributeError:
        return "missing"
    return repr(time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
