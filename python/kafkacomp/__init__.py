"""Kafka's compression and record layer: every format, every codec, straight into Arrow and Spark.

================================================================ ===================================================
task                                                             start with
================================================================ ===================================================
list topics, partitions and segments; sizes and time spans       :meth:`LogDir.info`, :class:`LogDir`
read records as Arrow, by topic, partition, offset or time       :func:`scan`
find the records of a key, or with a header or value             :func:`kafkacomp.arrow.filter_rows`
show the index files of a segment                                :class:`LogSegment`, :mod:`kafkacomp.log`
find corrupt and missing data                                    :meth:`LogPartition.verify`
repair a corrupt log                                             :func:`kafkacomp.log.repair`
write a table as a log that a broker can load                    :func:`write`
read a captured fetch response                                   :func:`scan` of its bytes, :mod:`kafkacomp.record`
convert a log to another message format, or recompress it        :func:`kafkacomp.log.convert`
read committed offsets, groups, transactions, cluster metadata  :mod:`kafkacomp.internal`
show what a broker of a given version does with a record set     :class:`kafkacomp.broker.BrokerProfile`
decompress a column; read and write logs in Spark                :mod:`kafkacomp.spark`
compress and decompress bytes or files as Kafka does             :func:`compress`, :func:`decompress`, :func:`open`
recommend compression for topics                                 :func:`advise`
================================================================ ===================================================

In the examples of this package, ``example`` is the path of a log directory with the partition ``orders-3``, which has
five records, and ``target`` a path that does not exist yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkacomp import exceptions
from kafkacomp._codecs.one_shot import compress, decompress
from kafkacomp._extras import require
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, __version__
from kafkacomp._types import CompressionType
from kafkacomp.exceptions import *  # noqa: F403 - all of them

if TYPE_CHECKING:
    from kafkacomp import advice as advice
    from kafkacomp import arrow as arrow
    from kafkacomp import bench as bench
    from kafkacomp import broker as broker
    from kafkacomp import gzip as gzip
    from kafkacomp import internal as internal
    from kafkacomp import log as log
    from kafkacomp import lz4 as lz4
    from kafkacomp import message_set as message_set
    from kafkacomp import polars as polars
    from kafkacomp import record as record
    from kafkacomp import snappy as snappy
    from kafkacomp import spark as spark
    from kafkacomp import tiered as tiered
    from kafkacomp import zstd as zstd
    from kafkacomp._codecs.open import open  # noqa: A004 - the name of the standard library's
    from kafkacomp.advice import advise
    from kafkacomp.arrow import ScanOptions, ScanReport, SkippedRange, WriteReport, scan, write
    from kafkacomp.log import LogDir, LogPartition, LogSegment
    from kafkacomp.tiered import Tiered

__all__ = [
    "DEFAULT_MAX_OUTPUT_SIZE",
    "CompressionType",
    "LogDir",
    "LogPartition",
    "LogSegment",
    "ScanOptions",
    "ScanReport",
    "SkippedRange",
    "Tiered",
    "WriteReport",
    "__version__",
    "advise",
    "arrow",
    "compress",
    "decompress",
    "exceptions",
    "gzip",
    "internal",
    "lz4",
    "message_set",
    "open",
    "record",
    "scan",
    "snappy",
    "write",
    "zstd",
]
__all__ += exceptions.__all__

#: Submodules that are imported when they are first used: `import kafkacomp` stays quick, and extras stay optional.
_LAZY = frozenset({
    "advice", "arrow", "bench", "broker", "gzip", "internal", "log", "lz4", "message_set", "polars", "record",
    "snappy", "spark", "tiered", "typing", "zstd",
})  # fmt: skip
#: Names of these submodules that are here as well.
_LAZY_NAMES = {
    "LogDir": "log",
    "LogPartition": "log",
    "LogSegment": "log",
    "ScanOptions": "arrow",
    "ScanReport": "arrow",
    "SkippedRange": "arrow",
    "Tiered": "tiered",
    "WriteReport": "arrow",
    "advise": "advice",
    "open": "_codecs.open",
    "scan": "arrow",
    "write": "arrow",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - modules and classes
    """Import a submodule at its first use, as in ``kafkacomp.log.verify_segment``.

    A submodule that needs a package that is not installed is an AttributeError with the command that installs it, so
    that :func:`help` and :func:`hasattr` work with any set of extras; ``import`` raises ModuleNotFoundError.
    """
    if name not in _LAZY and name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = require(f"kafkacomp.{_LAZY_NAMES.get(name, name)}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"kafkacomp.{name}: {error}") from error
    if name in _LAZY_NAMES:
        found = globals()[name] = getattr(found, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})
