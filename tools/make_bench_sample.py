"""Makes the sample that `python -m kafkacomp.bench` measures without arguments: orders of a shop that does not exist.

JSON lines of some 250 to 600 bytes with the variety of real ones: ids, names from short lists, prices, times that
rise, a nested list. Only `random.random` is asked, whose sequence is the same in every Python. The data are in the
public domain (CC0 1.0).

Run: python tools/make_bench_sample.py [OUT]
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLE = Path(__file__).resolve().parent.parent / "python/kafkacomp/bench/sample/orders.jsonl.gz"
SEED = 390
ORDERS = 1500
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
CITIES = (
    "Lisbon",
    "Utrecht",
    "Graz",
    "Lyon",
    "Bergen",
    "Brno",
    "Turku",
    "Porto",
    "Gdańsk",
    "Leipzig",
    "Aarhus",
    "Cork",
)
GOODS = (
    "lamp", "kettle", "notebook", "rain coat", "backpack", "headphones", "tent", "coffee beans", "bicycle light",
    "desk", "novel", "keyboard", "water bottle", "puzzle", "scarf", "tea pot", "running shoes", "camera strap",
)  # fmt: skip
STATES = ("created", "paid", "packed", "shipped", "delivered", "returned")
AGENTS = ("web/4.12.0", "ios/9.3.1", "android/9.3.0", "partner-api/2")

Item = TypeVar("Item")


class _Chance:
    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random  # noqa: S311 - test data, the same for everybody

    def below(self, end: int) -> int:
        """0 to end - 1, small numbers more often: real data are not even."""
        return int(end * self._next() ** 2)

    def even(self, end: int) -> int:
        """0 to end - 1."""
        return int(end * self._next())

    def one(self, of: Sequence[Item]) -> Item:
        """One of these, the first ones more often."""
        return of[self.below(len(of))]


def orders() -> bytes:
    """All lines."""
    chance = _Chance(SEED)
    time = START
    lines = []
    for number in range(ORDERS):
        time += dt.timedelta(milliseconds=chance.below(9000))
        items = [
            {"sku": f"{chance.even(1 << 20):05x}", "name": chance.one(GOODS), "quantity": 1 + chance.below(5),
             "price": chance.below(20_000) / 100}
            for _ in range(1 + chance.below(4))
        ]  # fmt: skip
        order = {
            "order_id": 7_300_000 + number,
            "event": chance.one(STATES),
            "time": time.isoformat(timespec="milliseconds"),
            "customer": {
                "id": f"c-{chance.even(1 << 32):08x}",
                "city": chance.one(CITIES),
                "since": 2010 + chance.even(14),
            },
            "agent": chance.one(AGENTS),
            "session": f"{chance.even(1 << 48):012x}",
            "items": items,
            "total": round(sum(item["price"] * item["quantity"] for item in items), 2),  # type: ignore[operator]
            "currency": "EUR",
            "gift": chance.even(20) == 0,
            "coupon": f"WINTER{chance.even(90)}" if chance.even(8) == 0 else None,
        }
        lines.append(json.dumps(order, separators=(",", ":"), ensure_ascii=False))
    return "\n".join(lines).encode() + b"\n"


def main(arguments: list[str]) -> None:
    """Write the sample."""
    out = Path(arguments[0]) if arguments else SAMPLE
    data = orders()
    out.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{out}: {len(data)} bytes in {ORDERS} lines, {out.stat().st_size} compressed")


if __name__ == "__main__":
    main(sys.argv[1:])
