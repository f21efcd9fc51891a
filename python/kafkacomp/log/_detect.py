"""Find out whether a log is of Kafka 0.7 or of a later version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._log_format import check_format, undecided
from kafkacomp._storage.names import SWAP

if TYPE_CHECKING:
    from kafkacomp.log._side_files import PathOrBytes

__all__ = ["detect_format"]

#: The format that a file's suffix stands for if the content does not decide.
_FORMATS = {"kafka": "0.7", "log": "0.8+", "checkpoint": "0.8+"}


def detect_format(source: PathOrBytes, format: str = "auto") -> str:  # noqa: A002 - scan's name for it
    """Which family of formats a log's file is of: ``0.7`` or ``0.8+``, whose magics 0 and 1 are not the same.

    Args:
        source: A path or bytes.
        format: What is known of it; ``auto`` is to look for a right checksum under both layouts, and if none decides
            at the file's suffix (``.kafka``, ``.log``). No bytes at all are ``0.8+``.

    Raises:
        OSError: the file cannot be read.
        ValueError: another ``format``, or undecided.
    """
    check_format(format)
    if format != "auto":
        return format
    if not isinstance(source, str | os.PathLike):
        found, size, name = _kafkacomp.format_of_content(source), memoryview(source).nbytes, "these bytes"
    else:
        path = Path(source)
        found, size, name = _kafkacomp.format_of_content(str(path)), path.stat().st_size, str(path)
        found = found or _FORMATS.get(path.name.removesuffix(SWAP).rpartition(".")[2])
    if found is None and size:
        raise undecided(name)
    return found or "0.8+"
