"""The golden partitions in tiered storage (``tests/vectors/MANIFEST.md``), with what the real consumer read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .expect import Expected, label, modern_records, read_json_lines, roots

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TieredCase", "cases", "clusters"]


@dataclass(frozen=True)
class TieredCase:
    """A partition of a cluster."""

    cluster: Path
    name: str

    @property
    def expect(self) -> Path:
        """The folder of expectations."""
        return self.cluster / "expect" / f"{self.name}.expect"

    @property
    def partition(self) -> dict[str, Any]:
        """Leader, offsets and epochs."""
        found: dict[str, Any] = json.loads((self.expect / "partition.json").read_text())
        return found

    @property
    def storage(self) -> Path:
        """The remote storage."""
        return self.cluster / "storage"

    @property
    def folder(self) -> Path:
        """The partition's folder in the remote storage: that of the current topic id."""
        about = self.partition
        for pattern in (f"{self.name}-{about['topicId']}", f"{about['topic']}-{about['topicId']}/{about['partition']}"):
            found = list(self.storage.rglob(pattern))
            if found:
                return found[0]
        raise AssertionError(self)

    @property
    def leader(self) -> Path:
        """The log directory of the partition's leader."""
        return self.cluster / f"broker-{self.partition['leader']}"

    @property
    def metadata(self) -> Path:
        """The log directory that has the remote log metadata."""
        (found,) = {path.parent for path in self.cluster.glob("broker-*/__remote_log_metadata-0")}
        return found

    @property
    def keys(self) -> dict[str, Path] | None:
        """The private keys by their ids."""
        found = {path.name.removesuffix("-private.pem"): path for path in self.cluster.glob("keys/*-private.pem")}
        return found or None

    @property
    def known(self) -> dict[str, Any]:
        """All arguments of ``kc.scan`` beside the source."""
        return {
            "remote_log_metadata": self.metadata,
            "local_log_dir": self.leader,
            "encryption_keys": self.keys,
        }

    def expected(self, isolation_level: str = "read_uncommitted") -> list[Expected]:
        """What the consumer got: where it fetched a batch at a time, if that differs."""
        names = ["expected_small_fetch.jsonl.gz", "expected.jsonl.gz"]
        if isolation_level == "read_committed":
            names.insert(0, "expected_read_committed.jsonl.gz")
        path = next(self.expect / name for name in names if (self.expect / name).exists())
        return modern_records(path)

    def remote_segments(self) -> list[dict[str, Any]]:
        """What the metadata manager lists."""
        return list(read_json_lines(self.expect / "remote-segments.jsonl"))

    def __str__(self) -> str:
        return f"{label(self.cluster)}-{self.name}"


@lru_cache
def clusters() -> list[Path]:
    """The clusters, of the small set and of the full one."""
    return sorted(path for root in roots("tiered") for path in root.iterdir() if path.is_dir())


@lru_cache
def cases() -> list[TieredCase]:
    """All partitions."""
    return [
        TieredCase(cluster, path.name.removesuffix(".expect"))
        for cluster in clusters()
        for path in sorted(cluster.glob("expect/*.expect"))
    ]
