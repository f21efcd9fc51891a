"""Find out whether a log is of Kafka 0.7 or of a later version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp
from kafkacomp._log_format import LogFormat, check_log_format, undecided
from kafkacomp._storage.names import SWAP

if TYPE_CHECKING:
    from kafkacomp.log._side_files import PathOrBytes

__all__ = ["detect_log_format"]

#: The format that a file's suffix stands for if the content does not decide.
_FORMATS = {"kafka": "0.7", "log": "0.8+", "checkpoint": "0.8+"}


def detect_log_format(source: PathOrBytes, log_format: LogFormat = "auto") -> LogFormat:
    """Detect the log format of a file: ``0.7`` (message sets) or ``0.8+`` (batches).

    Args:
        source: A path or bytes.
        log_format: ``0.7`` or ``0.8+`` is returned as it is. ``auto``: the layout under which a checksum is right; if
            neither is, the one that the file's suffix stands for (``.kafka``, ``.log``). An empty file is ``0.8+``.

    Raises:
        OSError: the file cannot be read.
        ValueError: an unknown ``log_format``, or content that both log formats could have.
    """
    check_log_format(log_format)
    if log_format != "auto":
        return log_format
    if not isinstance(source, str | os.PathLike):
        found, size, name = _kafkacomp.format_of_content(source), memoryview(source).nbytes, "these bytes"
    else:
        path = Path(source)
        found, size, name = _kafkacomp.format_of_content(str(path)), path.stat().st_size, str(path)
        found = found or _FORMATS.get(path.name.removesuffix(SWAP).rpartition(".")[2])
    if found is None and size:
        raise undecided(name)
    return "0.7" if found == "0.7" else "0.8+"
