"""The stages of a measurement and the passes in this process: our own and those of Python's libraries.

A pass processes all blocks once. Each thread has its own contexts and its own share of the blocks; the time is measured
from the common start of all threads to the end of the last one.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from kafkacomp.bench.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.batches import Row
    from kafkacomp.bench.workload import Workload

#: Compress the records of batches, and decompress them.
COMPRESS: Final = "compress"
DECOMPRESS: Final = "decompress"
#: Build compressed batches from records.
BUILD: Final = "build"
#: Read offset, timestamp, key, value and headers of each record of compressed batches; checksums are verified.
ITERATE: Final = "iterate"
#: Read compressed batches to Arrow columns; checksums are verified.
ARROW: Final = "arrow"
STAGES: Final = (COMPRESS, DECOMPRESS, BUILD, ITERATE, ARROW)
#: Stages that release the GIL; the others are measured on one thread.
THREADED: Final = frozenset({COMPRESS, DECOMPRESS, ARROW})

#: Measures one pass.
Pass: TypeAlias = "Callable[[], Timing]"  # noqa: S105 - no password


@dataclass(frozen=True)
class Cell:
    """One combination, with the input of every library."""

    workload: Workload
    codec: Codec
    threads: int
    #: Each block, compressed by kafkacomp in Kafka's framing.
    compressed: Sequence[bytes]
    #: The same records as consecutive batches; empty for pieces of files.
    log: bytes
    #: The records of the batches; empty for pieces of files.
    rows: Sequence[Sequence[Row]]

    @property
    def plain(self) -> Sequence[bytes]:
        """The blocks before compression."""
        return [block.data for block in self.workload.blocks]


def in_threads(make: Callable[[], Callable[[bytes], object]], data: Sequence[bytes], threads: int) -> Pass:
    """Make a pass that calls a function with every block.

    Args:
        make: Makes the function; called once for each thread.
        data: The blocks.
        threads: The number of threads; 1 runs on the calling thread.
    """
    if threads == 1:
        return timed(partial(_call_with_each, make(), data))
    # The pool outlives its calls, because the start of threads is not measured.
    pool = ThreadPoolExecutor(threads)
    gate = threading.Barrier(threads + 1)
    runs = [(make(), data[at::threads]) for at in range(threads)]

    def work(function: Callable[[bytes], object], blocks: Sequence[bytes]) -> None:
        gate.wait()
        _call_with_each(function, blocks)

    def together() -> Timing:
        waiting = [pool.submit(work, *run) for run in runs]
        gate.wait()
        return timed(lambda: [each.result() for each in waiting])()

    return together


def _call_with_each(function: Callable[[bytes], object], blocks: Sequence[bytes]) -> None:
    for block in blocks:
        function(block)


def timed(function: Callable[[], object]) -> Pass:
    """Make a pass of one call."""

    def once() -> Timing:
        start, cpu = time.perf_counter(), time.process_time()
        function()
        return Timing(time.perf_counter() - start, time.process_time() - cpu)

    return once
