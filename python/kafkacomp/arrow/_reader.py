"""What the readers of rows have in common: all rows as a table of pyarrow, pandas or polars."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Self

from kafkacomp import _kafkacomp
from kafkacomp._extras import pa, require
from kafkacomp._losses import unacknowledged
from kafkacomp._storage.losses import known_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    import polars as pl
    from typing_extensions import CapsuleType

    from kafkacomp._storage.loss_file import KnownLoss, LossFile
    from kafkacomp._storage.partition import BoundedPartition
    from kafkacomp.arrow._options import ScanSettings
    from kafkacomp.arrow._report import MissingRange, ScanReport

#: For what is missing at the end of a scan; commands show it themselves.
_LOSSES = logging.getLogger("kafkacomp.losses")
#: The most ranges of a partition in a warning.
_MOST_RANGES = 10


class Rows:
    """Record batches that can be read once, and the conversions that raise the exceptions of the scan.

    A consumer of ``__arrow_c_stream__``, such as ``pyarrow.table`` or DuckDB, raises an exception of its own, with the
    class, the error code and the text of the scan's exception as its text; ``reader.error`` has the exception.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[pa.RecordBatch]: ...
        def __arrow_c_schema__(self) -> CapsuleType: ...

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns, as a ``pyarrow.Schema``; reads no rows."""
        return pa.schema(self)

    def read_all(self) -> pa.Table:
        """Read all rows that are left as a ``pyarrow.Table``.

        Raises:
            CorruptRecordError, InvalidRecordError, OutputLimitError, OSError: as iterating does; the message has the
                file and the byte.
            ValueError: the reader was already read or closed.

        Example:
            >>> import kafkacomp as kc
            >>> kc.scan(example, columns=["offset"]).read_all().num_rows
            5
        """
        schema = self.schema
        return pa.Table.from_batches(list(self), schema=schema)

    def to_pandas(self) -> pd.DataFrame:
        """Read all rows that are left as a ``pandas.DataFrame``; raises the errors of :meth:`read_all`.

        Example:
            >>> import kafkacomp as kc
            >>> list(kc.scan(example, columns=["offset"]).to_pandas()["offset"])
            [0, 1, 2, 3, 4]
        """
        require("pandas")
        return self.read_all().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Read all rows that are left as a ``polars.DataFrame``; raises the errors of :meth:`read_all`.

        Example:
            >>> import kafkacomp as kc
            >>> kc.scan(example, columns=["offset"]).to_polars()["offset"].to_list()
            [0, 1, 2, 3, 4]
        """
        frame: pl.DataFrame = require("polars").from_arrow(self.read_all())
        return frame

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Refuse to become an array of numpy; ``pandas.DataFrame(reader)`` would have a cell for each batch."""
        raise TypeError(f"{type(self).__name__} is a stream of Arrow record batches, not an array: call to_pandas()")


class _LossFinder:
    """Adds to the reports of a scan which of the missing offsets are known losses.

    They are found again only if other offsets are missing than in the report before.
    """

    def __init__(self, sources: Iterable[BoundedPartition], loss_files: Sequence[LossFile]) -> None:
        self._partitions = [each.partition for each in sources]
        self._loss_files = loss_files
        self._last: tuple[tuple[MissingRange, ...], tuple[KnownLoss, ...]] = ((), ())

    def complete(self, report: ScanReport) -> ScanReport:
        """Add the known losses to a report."""
        missing, known = self._last
        if report.missing != missing:
            known = known_losses(self._partitions, report.missing, self._loss_files)
            self._last = report.missing, known
        return replace(report, known_losses=known) if known else report


class ScanReader(_kafkacomp.ScanReader, Rows):
    """A stream of Arrow record batches that can be read once: the result of :func:`kafkacomp.scan`.

    Iterate over it for the batches, or read all rows by :meth:`read_all`, :meth:`to_pandas` or :meth:`to_polars`. Any
    consumer of the Arrow PyCapsule interface takes it as a stream.
    """

    __slots__ = ("_known_losses", "has_control_records")
    _known_losses: _LossFinder
    #: Whether control records are rows.
    has_control_records: bool

    def __new__(
        cls,
        sources: list[BoundedPartition],
        settings: ScanSettings,
        total_bytes: int,
        progress: Callable[[int, int], object] | None,
        loss_files: Sequence[LossFile] = (),
        *,
        query: dict[str, object] | None = None,
    ) -> Self:
        """Start a scan; ``loss_files`` are those besides the ones in the folders of the partitions.

        With a ``query``, the rows are those of a table that is made of an internal topic.
        """
        finder = _LossFinder(sources, loss_files)

        def warn_of_losses(report: ScanReport) -> None:
            for line in unacknowledged(finder.complete(report)).lines(_MOST_RANGES):
                _LOSSES.warning("%s", line)

        reader = super().__new__(cls, sources, settings, total_bytes, progress, warn_of_losses, query)
        reader._known_losses = finder
        reader.has_control_records = settings.options.include_control
        return reader

    @property
    def report(self) -> ScanReport:
        """The counts and findings of the scan so far."""
        return self._known_losses.complete(super().report)
