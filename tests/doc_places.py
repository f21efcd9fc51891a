"""Log directories that the pages of docs/ and the programs in examples/ read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

import kafkacomp as kc

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["corrupt_disk", "orders"]

#: Record times of the topic `orders`: the first, and the step from one to the next.
FIRST, STEP = 1_767_225_600_000, 60_000


def orders(folder: Path) -> None:
    """The topic `orders`: three partitions of 1,000 records, each in several segments."""
    for partition in range(3):
        numbers = range(partition, 3000, 3)
        rows = {
            "key": [f"customer-{number % 40}" for number in numbers],
            "value": [json.dumps({"order": number, "amount": number * 7 % 500}) for number in numbers],
            "timestamp": [FIRST + number * STEP for number in numbers],
        }
        kc.write(
            pa.table(rows), folder, topic="orders", partition=partition, compression_type="none", segment_bytes=1 << 15
        )


def corrupt_disk(folder: Path) -> None:
    """A log directory in which one batch of orders-1 has a flipped byte and orders-2 has a truncated end."""
    orders(folder)
    first = min((folder / "orders-1").glob("*.log"))
    content = bytearray(first.read_bytes())
    content[200] ^= 0x10
    first.write_bytes(content)
    last = max((folder / "orders-2").glob("*.log"))
    last.write_bytes(last.read_bytes()[:-10])
