"""A run: every combination of the options, every library, in rounds.

For each combination the libraries take turns: each round has one sample of each, so that a disturbance of the machine
affects all of them, and ratios are computed within a round. The first round, which warms up memory and caches,
is discarded.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import kafkacomp
from kafkacomp import record
from kafkacomp.bench.batches import RECORDS_OFFSET, build
from kafkacomp.bench.peers.base import NotComparableError, Peer, WrongResultError
from kafkacomp.bench.peers.ours import Ours
from kafkacomp.bench.stages import ARROW, BUILD, COMPRESS, DECOMPRESS, ITERATE, THREADED, Cell, Pass
from kafkacomp.bench.timing import Samples, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.peers.base import Read
    from kafkacomp.bench.workload import Workload


@dataclass(frozen=True)
class Plan:
    """The combinations to measure."""

    workloads: Sequence[Workload]
    codecs: Sequence[Codec]
    threads: Sequence[int]
    stages: Sequence[str]
    rounds: int
    #: The least seconds of a sample.
    least: float
    peers: Sequence[Peer] = ()

    def steps(self) -> int:
        """The greatest possible number of samples, for the progress bar."""
        each = len(self.workloads) * len(self.codecs) * (self.rounds + 1) * (1 + len(self.peers))
        return each * len(self.threads) * len(self.stages)


@dataclass(frozen=True)
class Result:
    """The result of one stage of one library for one combination."""

    workload: Workload
    codec: Codec
    threads: int
    stage: str
    peer: str
    #: Bytes after compression, of all blocks (of ``build``, ``iterate`` and ``arrow``: of the batches).
    compressed: int
    samples: Samples
    #: The duration relative to kafkacomp's in the same round; None for kafkacomp itself.
    against_ours: float | None

    @property
    def ratio(self) -> float:
        """Bytes before compression divided by bytes after it."""
        return self.workload.size / self.compressed

    @property
    def megabytes_per_second(self) -> float:
        """Millions of bytes before compression per second."""
        return self.workload.size / self.samples.median / 1e6

    @property
    def microseconds_per_batch(self) -> float:
        """Microseconds for each block."""
        return self.samples.median / len(self.workload.blocks) * 1e6

    @property
    def nanoseconds_per_record(self) -> float | None:
        """Nanoseconds for each record; None for pieces of files."""
        return None if self.workload.records is None else self.samples.median / self.workload.records * 1e9

    @property
    def cpu_seconds_per_gigabyte(self) -> float | None:
        """Processor seconds of all threads for 10^9 bytes before compression."""
        return None if self.samples.cpu is None else self.samples.cpu / self.workload.size * 1e9


@dataclass
class Run:
    """The results of a run."""

    results: list[Result] = field(default_factory=list)
    #: What was not measured, with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Results that differ from ours; they make the exit status 1.
    wrong: dict[str, str] = field(default_factory=dict)


def run(plan: Plan, advance: Callable[[int, str], object]) -> Run:
    """Measure all combinations of a plan.

    Args:
        plan: The combinations to measure.
        advance: Called with the number of samples since the last call, and the name of the next one.
    """
    done = Run()
    contestants = [Ours(), *plan.peers]
    for workload, codec in itertools.product(plan.workloads, plan.codecs):
        compressed, log = _prepared(workload, codec)
        rows = [block.rows for block in workload.blocks if block.rows is not None]
        cells = [Cell(workload, codec, threads, compressed, log, rows) for threads in plan.threads]
        approved = {peer.name: _Checked(peer, cells[0], done) for peer in contestants}
        for cell, stage in itertools.product(cells, plan.stages):
            steps = (plan.rounds + 1) * len(contestants)
            if stage in {BUILD, ITERATE, ARROW} and not log:
                done.left_out.setdefault(
                    stage, "pieces of files contain no records: give a segment, or --records lines"
                )
            elif cell.threads > 1 and stage not in THREADED:
                done.left_out.setdefault(f"{stage} on several threads", "it holds the GIL")
            else:
                passes = dict(_passes(contestants, stage, cell, approved, done))
                samples = _measure(plan, cell, stage, passes, advance)
                done.results += _results(cell, stage, samples, approved)
                steps -= (plan.rounds + 1) * len(passes)
            advance(steps, "")
    return done


def _prepared(workload: Workload, codec: Codec) -> tuple[list[bytes], bytes]:
    """Compress each block with kafkacomp, and build the same records as consecutive batches."""
    blocks = workload.blocks
    compressed = [kafkacomp.compress(block.data, codec.type, compression_level=codec.level) for block in blocks]
    for block, packed in zip(blocks, compressed, strict=True):
        if kafkacomp.decompress(packed, codec.type) != block.data:
            raise WrongResultError(f"kafkacomp: {codec} decompresses to other bytes than the input")
    if workload.records is None:
        return compressed, b""
    batches = []
    offset = 0
    for block, packed in zip(blocks, compressed, strict=True):
        rows = block.rows or ()
        batch = build(rows, codec, offset)
        if batch[RECORDS_OFFSET:] != packed:
            raise WrongResultError(f"kafkacomp: {codec} compresses differently in a batch than on its own")
        batches.append(batch)
        offset += len(rows)
    return compressed, b"".join(batches)


class _Checked:
    """The checks of a library with a codec, and the sizes of its results."""

    def __init__(self, peer: Peer, cell: Cell, run: Run) -> None:
        self._peer, self._cell, self._run = peer, cell, run
        self._right: dict[str, bool] = {}
        self.sizes: dict[str, int] = {}

    def right(self, stage: str) -> bool:
        """Whether the result of the stage equals ours; checked once."""
        if stage not in self._right:
            self._right[stage] = self._check(stage)
        return self._right[stage]

    def _check(self, stage: str) -> bool:
        peer, cell = self._peer, self._cell
        label = f"{peer.name} {stage} {cell.codec}"
        self.sizes[stage] = len(cell.log) if stage in {ITERATE, ARROW, BUILD} else sum(map(len, cell.compressed))
        try:
            if stage == COMPRESS:
                packed = peer.compress_all(cell)
                self.sizes[stage] = sum(map(len, packed))
                back = [kafkacomp.decompress(block, cell.codec.type) for block in packed]
                same = back == cell.plain
            elif stage == DECOMPRESS:
                same = peer.decompress_all(cell) == cell.plain
            elif stage == BUILD:
                built = peer.build_all(cell)
                self.sizes[stage] = len(built)
                same = _same_rows(built, cell)
            elif stage == ITERATE:
                same = _same_records(peer.records(cell), cell)
            else:
                return True  # only kafkacomp has this stage; its tests compare it with the records
        except NotComparableError as error:
            self._run.left_out.setdefault(label, str(error))
            return False
        except WrongResultError as error:
            self._run.wrong[label] = str(error)
            return False
        except Exception as error:  # noqa: BLE001 - a peer may raise anything; name and message are reported
            self._run.wrong[label] = f"{type(error).__name__}: {error}"
            return False
        if not same:
            self._run.wrong[label] = "its result differs from kafkacomp's"
        return same


def _same_rows(built: bytes, cell: Cell) -> bool:
    """Whether the batches contain the rows; their offsets may begin anywhere."""
    made = []
    for batch in record.read_batches(built):
        batch.ensure_valid()
        made.append([(each.timestamp, each.key, each.value, each.headers) for each in batch])
    return made == [list(rows) for rows in cell.rows]


def _same_records(records: Read, cell: Cell) -> bool:
    expected = (row for rows in cell.rows for row in rows)
    for offset, (theirs, ours) in enumerate(itertools.zip_longest(records, expected)):
        if theirs is None or ours is None:
            return False
        at, timestamp, key, value, headers = theirs
        if (at, timestamp, key, value, tuple(headers)) != (offset, *ours[:3], tuple(ours[3])):
            return False
    return True


def _passes(
    contestants: Iterable[Peer], stage: str, cell: Cell, approved: dict[str, _Checked], done: Run
) -> Iterator[tuple[str, Pass]]:
    for peer in contestants:
        if stage == ARROW and not isinstance(peer, Ours):
            continue
        if not approved[peer.name].right(stage):
            continue
        try:
            yield peer.name, peer.prepare(stage, cell)
        except NotComparableError as error:
            label = f"{peer.name} {stage} {cell.codec}"
            done.left_out.setdefault(f"{label} x {cell.threads}" if cell.threads > 1 else label, str(error))


def _measure(
    plan: Plan, cell: Cell, stage: str, passes: dict[str, Pass], advance: Callable[[int, str], object]
) -> dict[str, Samples]:
    samples = {name: Samples() for name in passes}
    for turn, (name, one_pass) in itertools.product(range(plan.rounds + 1), passes.items()):
        advance(1, f"{cell.codec} {stage} {name}")
        timing, count = sample(one_pass, plan.least)
        if turn:
            samples[name].add(timing, count)
    return samples


def _results(cell: Cell, stage: str, samples: dict[str, Samples], approved: dict[str, _Checked]) -> Iterator[Result]:
    ours = samples.get(Ours.name)
    for name, taken in samples.items():
        against = None if ours is None or name == Ours.name else taken.ratio_to(ours)
        size = approved[name].sizes[stage]
        yield Result(cell.workload, cell.codec, cell.threads, stage, name, size, taken, against)
