"""What can be done with a log directory, a partition or a segment: the functions of the same names, as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

import kafkacomp
from kafkacomp.arrow import scan
from kafkacomp.log._diff import diff
from kafkacomp.log._rewrite import convert, recompress, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias, Unpack

    from kafkacomp._log_format import LogFormat
    from kafkacomp._storage.partition import Source
    from kafkacomp._types import CompressionTypeLike, StrPath
    from kafkacomp.advice.prices import Prices
    from kafkacomp.advice.report import Report
    from kafkacomp.advice.settings import Settings
    from kafkacomp.arrow._options import ScanArguments, ScanOptions
    from kafkacomp.arrow._reader import ScanReader
    from kafkacomp.log._diff import DiffReport
    from kafkacomp.log._rewrite import RepairReport, RewriteReport

    Progress: TypeAlias = Callable[[int, int], object] | None


class CopyArguments(TypedDict, total=False):
    """What the functions that write a copy have in common; see :func:`kafkacomp.log.recompress`."""

    segment_bytes: int | None
    known_losses: StrPath | Sequence[StrPath]
    max_output_size: int
    progress: Progress


class RecompressArguments(CopyArguments, total=False):
    """Keyword arguments of :func:`kafkacomp.log.recompress`."""

    compression_type: CompressionTypeLike
    compression_level: int | None
    merge: bool
    batch_bytes: int
    threads: int | None
    allow_missing: bool


class ConvertArguments(CopyArguments, total=False):
    """Keyword arguments of :func:`kafkacomp.log.convert`."""

    upgrade: bool
    log_format: LogFormat
    first_offset: int | None
    offset_map: StrPath | None
    batch_bytes: int
    allow_missing: bool


class RepairArguments(CopyArguments, total=False):
    """Keyword arguments of :func:`kafkacomp.log.repair`."""

    quarantine: bool


class DiffArguments(TypedDict, total=False):
    """Keyword arguments of :func:`kafkacomp.log.diff`."""

    topics: Iterable[str] | None
    partitions: Iterable[int] | None
    progress: Progress
    options: ScanOptions


class AdviseArguments(TypedDict, total=False):
    """Keyword arguments of :func:`kafkacomp.advise`."""

    prices: StrPath | Prices | None
    max_latency_ms: float | None
    compression_type: str
    assume_rate: float | None
    threads: int | None
    progress: Progress


class Verbs:
    """The methods of :class:`kafkacomp.LogDir`, :class:`kafkacomp.LogPartition` and :class:`kafkacomp.LogSegment`.

    Where the data are was said when the directory was opened, so that they take no such arguments.
    """

    def scan(self, **arguments: Unpack[ScanArguments]) -> ScanReader:
        """Read the records as Arrow; the arguments are those of :func:`kafkacomp.scan`.

        Example:
            >>> import kafkacomp as kc
            >>> reader = kc.LogDir(example)["orders", 3].scan(columns=["value"], start_offset=4)
            >>> [batch["value"].to_pylist() for batch in reader]
            [[b'order 4']]
        """
        return scan(cast("Source", self), **arguments)

    def diff(self, other: Source, **arguments: Unpack[DiffArguments]) -> DiffReport:
        """Compare the records with those of another log, as :func:`kafkacomp.log.diff` does.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).diff(kc.LogDir(example)).is_same
            True
        """
        return diff(cast("Source", self), other, **arguments)

    def recompress(self, target: StrPath, **arguments: Unpack[RecompressArguments]) -> RewriteReport:
        """Write a copy with another compression type, as :func:`kafkacomp.log.recompress` does.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).recompress(target, compression_type="gzip").missing
            ()
        """
        return recompress(cast("Any", self), target, **arguments)

    def convert(self, target: StrPath, to_magic: int, **arguments: Unpack[ConvertArguments]) -> RewriteReport:
        """Write a copy in another message format, as :func:`kafkacomp.log.convert` does.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).convert(target, 1).missing
            ()
        """
        return convert(cast("Any", self), target, to_magic, **arguments)

    def repair(self, target: StrPath, **arguments: Unpack[RepairArguments]) -> RepairReport:
        """Write a copy of the intact part, as :func:`kafkacomp.log.repair` does.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).repair(target).is_complete
            True
        """
        return repair(cast("Any", self), target, **arguments)

    def advise(self, settings: Settings | None = None, **arguments: Unpack[AdviseArguments]) -> Report:
        """Recommend compression for the topics, as :func:`kafkacomp.advise` does.

        Example:
            >>> import kafkacomp as kc
            >>> [topic.advice.verdict for topic in kc.LogDir(example).advise().topics]
            ['too little data']
        """
        return kafkacomp.advise(cast("Any", self), settings, **arguments)
