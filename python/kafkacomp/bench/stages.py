"""The stages of a measurement and the passes in this process: our own and those of Python's libraries.

A pass works through all blocks once. On several threads each has its own contexts and its own run of blocks, and
the clock runs from when all may start until the last has ended.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from kafkacomp.bench.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp.bench.batches import Row
    from kafkacomp.bench.spec import Codec
    from kafkacomp.bench.workload import Workload

__all__ = ["ARROW", "BUILD", "COMPRESS", "DECOMPRESS", "ITERATE", "STAGES", "THREADED", "Cell", "Pass", "in_threads"]

#: Records' sections to compressed ones, and back.
COMPRESS: Final = "compress"
DECOMPRESS: Final = "decompress"
#: Records into batches, compressed.
BUILD: Final = "build"
#: Compressed batches to records, each looked at: offset, timestamp, key, value, headers; checksums checked.
ITERATE: Final = "iterate"
#: Compressed batches to Arrow columns; checksums checked.
ARROW: Final = "arrow"
STAGES: Final = (COMPRESS, DECOMPRESS, BUILD, ITERATE, ARROW)
#: Stages that leave the interpreter's lock alone; the others are measured on one thread.
THREADED: Final = frozenset({COMPRESS, DECOMPRESS, ARROW})

#: Measures one pass.
Pass: TypeAlias = "Callable[[], Timing]"  # noqa: S105 - no password


@dataclass(frozen=True)
class Cell:
    """One point of the axes, with what every contestant gets."""

    workload: Workload
    codec: Codec
    threads: int
    #: Each block as we compress it, in Kafka's framing.
    compressed: Sequence[bytes]
    #: The same as batches, one after another; empty for pieces of files.
    log: bytes
    #: The records of the batches; empty for pieces of files.
    rows: Sequence[Sequence[Row]]

    @property
    def plain(self) -> Sequence[bytes]:
        """The blocks before compression."""
        return [block.data for block in self.workload.blocks]


def in_threads(make: Callable[[], Callable[[bytes], object]], data: Sequence[bytes], threads: int) -> Pass:
    """A pass that gives every block to a function.

    Args:
        make: Makes the function, once for each thread.
        data: The blocks.
        threads: How many; 1 stays on the calling thread.
    """
    if threads == 1:
        function = make()

        def alone() -> Timing:
            start, cpu = time.perf_counter(), time.process_time()
            for block in data:
                function(block)
            return Timing(time.perf_counter() - start, time.process_time() - cpu)

        return alone
    # The pool lives as long as the pass: starting threads is not what is measured.
    pool = ThreadPoolExecutor(threads)
    gate = threading.Barrier(threads + 1)
    runs = [(make(), data[at::threads]) for at in range(threads)]

    def work(run: tuple[Callable[[bytes], object], Sequence[bytes]]) -> None:
        function, blocks = run
        gate.wait()
        for block in blocks:
            function(block)

    def together() -> Timing:
        waiting = [pool.submit(work, run) for run in runs]
        gate.wait()
        start, cpu = time.perf_counter(), time.process_time()
        for each in waiting:
            each.result()
        return Timing(time.perf_counter() - start, time.process_time() - cpu)

    return together


def timed(function: Callable[[], object]) -> Pass:
    """A pass that is one call."""

    def once() -> Timing:
        start, cpu = time.perf_counter(), time.process_time()
        function()
        return Timing(time.perf_counter() - start, time.process_time() - cpu)

    return once
