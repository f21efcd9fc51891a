"""Types of arguments, for annotations of your own functions.

=============================== =======================================================================================
type                            value
=============================== =======================================================================================
:data:`Source`                  what :func:`kafkacomp.scan` reads: a path, a URL, bytes, a file object, or several
:data:`CompressionTypeLike`     a :class:`kafkacomp.CompressionType` or its name
:data:`Headers`                 the headers of a record: pairs of key and value, or a mapping
:data:`ArrowRows`               rows to write: a table, a data frame, a scan, a record batch
:data:`ArrowColumn`             an Arrow array, or a stream of arrays such as a chunked array
:class:`ArrowArray`             an object with ``__arrow_c_array__``
:class:`ArrowStream`            an object with ``__arrow_c_stream__``
:data:`FileArgument`            a path, or an object with ``read`` or ``write``
:data:`StrPath`                 a local path
:data:`LogFormat`               ``auto``, ``0.7`` or ``0.8+``
:data:`IsolationLevel`          ``read_uncommitted`` or ``read_committed``
:data:`OnError`                 ``raise`` or ``skip``
:data:`TimestampUnit`           ``s``, ``ms``, ``us``, ``ns`` or ``int64``
:data:`BinaryType`              ``binary``, ``large_binary`` or ``binary_view``
:class:`ScanArguments`          the keyword arguments of :meth:`kafkacomp.LogDir.scan`
:class:`SourceArguments`        the keyword arguments of :func:`kafkacomp.scan`
=============================== =======================================================================================

>>> from kafkacomp.typing import CompressionTypeLike, Source
>>> def sizes(source: Source, compression_type: CompressionTypeLike) -> dict[str, int]: ...
"""

from __future__ import annotations

from kafkacomp._codecs.file import FileArgument
from kafkacomp._log_format import LogFormat
from kafkacomp._storage.partition import Source
from kafkacomp._types import ArrowArray, ArrowColumn, ArrowRows, ArrowStream, CompressionTypeLike, Headers, StrPath
from kafkacomp.arrow._options import (
    BinaryType,
    IsolationLevel,
    OnError,
    ScanArguments,
    SourceArguments,
    TimestampUnit,
)

__all__ = [
    "ArrowArray",
    "ArrowColumn",
    "ArrowRows",
    "ArrowStream",
    "BinaryType",
    "CompressionTypeLike",
    "FileArgument",
    "Headers",
    "IsolationLevel",
    "LogFormat",
    "OnError",
    "ScanArguments",
    "Source",
    "SourceArguments",
    "StrPath",
    "TimestampUnit",
]
