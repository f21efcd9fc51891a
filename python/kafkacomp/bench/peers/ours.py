"""kafkacomp itself."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import kafkacomp
from kafkacomp import record
from kafkacomp.bench.batches import build
from kafkacomp.bench.peers.base import NotComparableError, Peer
from kafkacomp.bench.stages import ARROW, Cell, Pass, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.batches import Row
    from kafkacomp.bench.peers.base import Bytes, Read


class Ours(Peer):
    """kafkacomp, called as a user calls it."""

    name = "kafkacomp"

    @property
    def version(self) -> str:
        """The version of the package."""
        return kafkacomp.__version__

    def compressor(self, codec: Codec) -> Bytes:
        """Return ``kafkacomp.compress``, which reuses contexts."""
        return partial(kafkacomp.compress, compression_type=codec.type, compression_level=codec.level)

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """``kafkacomp.decompress``."""
        del largest  # with the default limit, as users call it
        return partial(kafkacomp.decompress, compression_type=codec.type)

    def builder(self, codec: Codec) -> Callable[[Sequence[Row], int], bytes]:
        """``record.RecordBatchBuilder``."""
        return lambda rows, offset: build(rows, codec, offset)

    def iterate(self, log: bytes) -> None:
        """``record.read_batches``."""
        for batch in record.read_batches(log):
            for each in batch:
                _ = each.offset, each.timestamp, each.key, each.value, each.headers

    def records(self, cell: Cell) -> Read:
        """Read the records for the comparison."""
        for batch in record.read_batches(cell.log):
            for each in batch:
                yield each.offset, each.timestamp, each.key, each.value, each.headers

    def prepare(self, stage: str, cell: Cell) -> Pass:
        """Prepare a pass; Arrow requires pyarrow."""
        if stage != ARROW:
            return super().prepare(stage, cell)
        if find_spec("pyarrow") is None:
            raise NotComparableError("pyarrow is not installed: pip install 'kafkacomp[arrow]'")
        return timed(lambda: scan(cell.log, cell.threads))


def scan(log: bytes, threads: int) -> int:
    """Scan all default columns, and return the number of rows."""
    reader = kafkacomp.scan({("bench", 0): log}, options=kafkacomp.ScanOptions(threads=threads))
    return sum(batch.num_rows for batch in reader)
