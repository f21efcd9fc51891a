"""The table of zstd's README, with measured figures next to the published ones.

The table and its source are in ``zstd-readme.toml``. Whole files of a corpus are compressed by Kafka's codecs, and by
other compressors that are installed.
"""

from __future__ import annotations

import tomllib
import zlib
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import kafkacomp
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.bench.peers.base import MissingPeerError, WrongResultError
from kafkacomp.bench.stages import in_threads
from kafkacomp.bench.timing import Samples, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp.bench.peers.base import Bytes
    from kafkacomp.bench.workload import Workload

NAME: Final = "zstd-readme"
_LZ4_LARGEST_BLOCK: Final = 4 << 20

Cell = str | float | int | bool | None


@dataclass
class Compared:
    """A published table with measured columns."""

    name: str
    title: str
    source: str
    columns: list[str]
    rows: list[dict[str, Cell]]
    notes: list[str]


def load_table() -> dict[str, Any]:
    """Read the published table."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{NAME}.toml").read_text(encoding="utf-8"))


def measured_rows(table: dict[str, Any]) -> int:
    """Return the rows that can be measured if all packages are installed."""
    return sum("by" in row for row in table["row"])


def compare(
    table: dict[str, Any], workload: Workload, *, rounds: int, least: float, advance: Callable[[int, str], object]
) -> Compared:
    """Measure every possible row, in turns, and put the figures next to the published ones."""
    whole = workload.size == table["corpus_bytes"]
    rows = [_Row(row, workload) for row in table["row"]]
    for turn in range(rounds + 1):
        for row in rows:
            if row.works:
                row.turn(least if turn else 0.0, keep=turn > 0)
            advance(1 if "by" in row.published else 0, row.published["name"])
    cells = [row.cells(whole=whole, tolerance=table["ratio_tolerance"]) for row in rows]
    corpus = f"the input has {workload.size:,} bytes, the corpus {table['corpus_bytes']:,}"
    notes = [] if whole else [f"{corpus}: ratios may differ from the published ones"]
    return Compared(NAME, table["title"], table["source"], list(cells[0]), cells, notes)


class _Row:
    """A row of the table."""

    def __init__(self, published: dict[str, Any], workload: Workload) -> None:
        self.published = published
        self._size = workload.size
        self._samples = (Samples(), Samples())
        self._note: str | None = published.get("note")
        self.works = False
        if "by" not in published:
            self._note = "as published"
            return
        try:
            there, back = _functions(published["by"], published["codec"])
        except ImportError as error:
            self._note = str(MissingPeerError(f"pip install {error.name}"))
            return
        plain = [block.data for block in workload.blocks]
        packed = [there(data) for data in plain]
        for data, less in zip(plain, packed, strict=True):
            if back(less) != data:
                raise WrongResultError(f"{published['name']}: the decompressed bytes differ from the input")
        self._packed_size = sum(map(len, packed))
        self._passes = (in_threads(lambda: there, plain, 1), in_threads(lambda: back, packed, 1))
        self.works = True

    def turn(self, least: float, *, keep: bool) -> None:
        """Take one sample of compression and one of decompression."""
        for one_pass, samples in zip(self._passes, self._samples, strict=True):
            timing, passes = sample(one_pass, least)
            if keep:
                samples.add(timing, passes)

    def cells(self, *, whole: bool, tolerance: float) -> dict[str, Cell]:
        """The line."""
        published = self.published
        ratio = agrees = None
        speeds: list[float | None] = [None, None]
        if self.works:
            ratio = self._size / self._packed_size
            speeds = [self._size / samples.median / 1e6 for samples in self._samples]
            if whole and "ratio" in published and published.get("same", True):
                agrees = abs(ratio / published["ratio"] - 1) <= tolerance
        return {
            "name": published["name"],
            "by": f"{published['by']} {published['codec']}" if "by" in published else None,
            "ratio published": published.get("ratio"),
            "ratio measured": ratio,
            "agrees": agrees,
            "compress MB/s published": published.get("compress"),
            "compress MB/s measured": speeds[0],
            "decompress MB/s published": published.get("decompress"),
            "decompress MB/s measured": speeds[1],
            "note": self._note,
        }


def _functions(by: str, codec: str) -> tuple[Bytes, Bytes]:
    """Return the functions that compress and decompress; ImportError if the package is missing."""
    if by == "zlib":
        return partial(zlib.compress, level=int(codec.partition(":")[2])), zlib.decompress
    if by == "brotli":
        import brotli  # noqa: PLC0415 - an optional peer

        return partial(brotli.compress, quality=int(codec.partition(":")[2])), brotli.decompress
    if by == "lzallright":
        import lzallright  # noqa: PLC0415 - an optional peer

        return lzallright.LZOCompressor().compress, lzallright.LZOCompressor.decompress
    if by == "cramjam":
        import cramjam  # noqa: PLC0415 - an optional peer

        raw = cramjam.snappy
        return lambda data: bytes(raw.compress_raw(data)), lambda data: bytes(raw.decompress_raw(data))
    if codec == "lz4 4 MB blocks":
        return partial(kafkacomp.lz4.compress, block_size=_LZ4_LARGEST_BLOCK), kafkacomp.lz4.decompress
    kind = parse_codecs(codec)[0]
    return (
        partial(kafkacomp.compress, compression_type=kind.type, compression_level=kind.level),
        partial(kafkacomp.decompress, compression_type=kind.type),
    )
