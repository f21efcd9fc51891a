"""Read and write Kafka's logs, and columns of record sets, as Arrow data.

:func:`scan` reads segments as Arrow record batches; :func:`write` writes Arrow columns as segments.
:func:`filter_rows` selects rows of a scan by key, value or header.
:func:`compress_cells`, :func:`decompress_cells` and :func:`parse_cells` convert columns of Arrow data.
"""

from __future__ import annotations

from kafkacomp._kafkacomp import ArrowArray
from kafkacomp.arrow._cells import RECORD_COLUMNS, compress_cells, decompress_cells, parse_cells
from kafkacomp.arrow._filter import FilteredReader, filter_rows
from kafkacomp.arrow._options import ScanOptions
from kafkacomp.arrow._reader import ScanReader
from kafkacomp.arrow._report import MissingRange, ScanReport, SkippedRange
from kafkacomp.arrow._scan import COLUMNS, DEFAULT_COLUMNS, scan
from kafkacomp.arrow._write import WriteReport, write

__all__ = [
    "COLUMNS",
    "DEFAULT_COLUMNS",
    "RECORD_COLUMNS",
    "ArrowArray",
    "FilteredReader",
    "MissingRange",
    "ScanOptions",
    "ScanReader",
    "ScanReport",
    "SkippedRange",
    "WriteReport",
    "compress_cells",
    "decompress_cells",
    "filter_rows",
    "parse_cells",
    "scan",
    "write",
]
