"""Records that exercise what a record can hold, the same in every run."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from livekafka.tools import Header

START = 1_704_067_200_000  # 2024-01-01T00:00:00Z
LARGE = 150_000  # several LZ4 blocks of 64 KB and snappy blocks of 32 KB
TIMESTAMPS = (0, 1, START - 1, 4_102_444_800_000, 253_402_300_799_999)  # 1970, the millisecond after, 2023, 2100, 9999
HEADERS: tuple[tuple[Header, ...], ...] = (
    (),
    (("source", b"test"),),
    (("null", None), ("empty", b"")),
    (("again", b"1"), ("other", None), ("again", b"2"), ("again", b"2")),
    (("schlüssel-ключ-鍵-🔑", "wért-значение".encode()),),
    (("", b"an empty key"),),
    (("binary", bytes(range(256))),),
    tuple((f"many-{i}", bytes(i)) for i in range(40)),
)


class Payload(NamedTuple):
    """What a producer is told to send."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp: int

    def step(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """The line of a plan for the Java producer."""
        return {"topic": topic, "partition": partition, **self._asdict()}


def payloads(seed: str, count: int) -> list[Payload]:
    """Keys, values and headers of every kind: null, empty, short, non-ASCII, repeated, large; times out of order."""
    source = random.Random(seed)
    made = [_payload(source, number) for number in range(count)]
    # One record of its own larger than any codec's block, and one that does not compress.
    made[count // 3] = made[count // 3]._replace(value=_text(source, LARGE))
    made[count // 2] = made[count // 2]._replace(value=source.randbytes(20_000))
    return made


def _payload(source: random.Random, number: int) -> Payload:
    key = source.choice((None, b"", b"key-%d" % (number % 17), f"ключ-{number}".encode(), source.randbytes(9)))
    kind = source.randrange(12)
    value: bytes | None
    if kind == 0:
        value = None
        key = key or b"tombstone-%d" % number
    elif kind == 1:
        value = b""
    elif kind == 2:
        value = source.randbytes(source.randrange(1, 200))
    else:
        value = _text(source, source.randrange(1, 900))
    jitter = source.randrange(-3_600_000, 3_600_000)
    timestamp = source.choice(TIMESTAMPS) if number % 29 == 7 else START + 1_000 * number + jitter
    return Payload(key, value, source.choice(HEADERS) if number % 3 == 0 else (), timestamp)


def _text(source: random.Random, size: int) -> bytes:
    rows = bytearray()
    while len(rows) < size:
        row = {"carrier": source.choice(("UA", "AA", "B6", "DL")), "flight": source.randrange(6000), "delay": None}
        rows += json.dumps(row).encode()
    return bytes(rows[:size])
