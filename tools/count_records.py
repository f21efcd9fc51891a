"""Count the records of every sound segment below a folder, with nothing but the wheel: a wheel's first sign of life."""

from __future__ import annotations

import sys
from pathlib import Path

import kafkacomp
from kafkacomp import record


def main(root: str) -> int:
    """Print what was counted; 1 if there was nothing to count."""
    records = segments = damaged = 0
    for path in sorted(Path(root).rglob("*.log")):
        try:
            records += sum(1 for batch in record.read_batches(path.read_bytes()) for _ in batch)
            segments += 1
        except kafkacomp.KafkaCompError:
            damaged += 1
    print(f"kafkacomp {kafkacomp.__version__}: {records} records in {segments} segments, {damaged} damaged ones")
    return 0 if records else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
