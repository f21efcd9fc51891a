"""Types of arguments, for annotations of your own functions.

>>> from kafkacomp.typing import CompressionTypeLike, Source
>>> def sizes(source: Source, compression_type: CompressionTypeLike) -> dict[str, int]: ...
"""

from __future__ import annotations

from kafkacomp._codecs.file import FileArgument
from kafkacomp._log_format import LogFormat
from kafkacomp._storage.partition import Source
from kafkacomp._types import ArrowArray, ArrowColumn, ArrowRows, ArrowStream, CompressionTypeLike, Headers, StrPath
from kafkacomp.arrow._scan import BinaryType, IsolationLevel, OnError, TimestampUnit

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
    "Source",
    "StrPath",
    "TimestampUnit",
]
