"""What is asked, and the answer of each door in one form: rows and missing ranges."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import kafkacomp as kc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from missing_ranges import Range

__all__ = ["COLUMNS", "ERRORS", "Answer", "Row", "Source", "row_of", "rows_of"]

#: Without timestamps: the doors have several units, and Python has no datetime for some of the values.
COLUMNS = ["offset", "timestampType", "key", "value"]
#: What a door may raise at corrupt or missing data.
ERRORS = (kc.KafkaCompError, OSError, ValueError)

#: The offset, the timestamp type, and a digest of key and value.
Row = tuple[int, int, bytes]


@dataclass(frozen=True)
class Source:
    """The folder of a partition, or a directory of such folders."""

    path: Path
    #: Where copies are written.
    work: Path
    #: For tiered storage: further arguments of ``kc.scan``.
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Path]:
        """Private keys, which the doors need that read segments without their metadata."""
        return self.known.get("encryption_keys") or {}

    @property
    def arguments(self) -> list[str]:
        """The arguments of a command."""
        names = {"--remote-log-metadata": "remote_log_metadata", "--local-log-dir": "local_log_dir"}
        found = [f"{option}={self.known[name]}" for option, name in names.items() if name in self.known]
        return [*found, *(f"--encryption-key={key_id}={path}" for key_id, path in self.keys.items())]

    @property
    def options(self) -> dict[str, str]:
        """The options of Spark's data source."""
        names = {"remoteLogMetadata": "remote_log_metadata", "localLogDir": "local_log_dir"}
        found = {option: str(self.known[name]) for option, name in names.items() if name in self.known}
        if self.keys:
            found["encryptionKeys"] = json.dumps({key_id: str(path) for key_id, path in self.keys.items()})
        return found


@dataclass
class Answer:
    """The answer of a door; ``None`` where it has no such part."""

    rows: list[Row] | None = None
    missing: list[Range] | None = None
    error: Exception | None = None
    counts: dict[str, Any] = field(default_factory=dict)


def rows_of(batches: Iterable[Any]) -> list[Row]:
    """The rows of Arrow batches with :data:`COLUMNS`."""
    return [row_of(*(row[name] for name in COLUMNS)) for batch in batches for row in batch.to_pylist()]


def row_of(offset: int, timestamp_type: int, key: bytes | None, value: bytes | None) -> Row:
    """A row in the form of all doors."""
    return offset, timestamp_type, hashlib.md5(repr((key, value)).encode(), usedforsecurity=False).digest()
