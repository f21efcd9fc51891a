"""Detect whether a log is of Kafka 0.7 or of a later version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._arguments import PATH_OR_BYTES, bytes_view
from kafkacomp._log_format import LogFormat, check_log_format, undecided
from kafkacomp._storage.names import SWAP

if TYPE_CHECKING:
    from kafkacomp.log._side_files import PathOrBytes

#: The log format by the suffix of the file, if the content does not decide.
_FORMATS: dict[str, LogFormat] = {"kafka": "0.7", "log": "0.8+"}


def detect_log_format(source: PathOrBytes, log_format: LogFormat = "auto") -> LogFormat:
    """Detect the log format of a file: ``0.7`` (message sets) or ``0.8+`` (batches).

    Args:
        source: The path of a file, or its content as bytes.
        log_format: ``0.7`` and ``0.8+`` are returned unchanged. ``auto`` chooses the layout in which a checksum is
            correct; if there is none, the log format of the file's suffix (``.kafka``, ``.log``). An empty file is
            ``0.8+``.

    Raises:
        OSError: the file cannot be read.
        ValueError: ``log_format`` is unknown, or the content is valid in both log formats.

    Example:
        >>> import kafkacomp as kc
        >>> kc.log.detect_log_format(kc.LogDir(example)["orders", 3].segments[0].path)
        '0.8+'
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return log_format_of(str(path), str(path), log_format)
    bytes_view("source", source, PATH_OR_BYTES)
    return log_format_of(source, None, log_format)


def log_format_of(source: object, name: str | None, log_format: LogFormat) -> LogFormat:
    """Detect the log format of a source of the core; ``name`` is the file's, ``None`` for bytes."""
    check_log_format(log_format)
    if name is not None and name.endswith(".checkpoint"):
        return "0.8+"  # KRaft's, which are younger
    if log_format != "auto":
        return log_format
    found: LogFormat | None = _kafkacomp.format_of_content(source)
    if found is None and name is not None:
        found = _FORMATS.get(name.removesuffix(SWAP).rpartition(".")[2])
    if found is None and not _is_empty(source):
        raise undecided(name or "these bytes")
    return found or "0.8+"


def _is_empty(source: Any) -> bool:  # noqa: ANN401 - any source of the core
    if isinstance(source, str):
        return Path(source).stat().st_size == 0
    if hasattr(source, "open_segment"):
        return bool(source.open_segment().size() == 0)
    return memoryview(source).nbytes == 0
