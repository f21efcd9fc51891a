"""Six kinds of records for the tests of ``kafkacomp advise``; each changes along the log, as real topics do."""

from __future__ import annotations

import base64
import itertools
import json
import random
import runpy
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BENCHES = Path(__file__).resolve().parent.parent.parent.parent / "benches"
WORDS = (
    "the", "of", "and", "to", "in", "for", "is", "on", "that", "by", "this", "with", "you", "it", "not", "or", "be",
    "are", "from", "at", "as", "your", "all", "have", "new", "more", "an", "was", "we", "will", "home", "can", "us",
    "about", "if", "page", "my", "has", "search", "free", "but", "our", "one", "other", "do", "no", "information",
    "time", "they", "site", "he", "up", "may", "what", "which", "their", "news", "out", "use", "any", "there", "see",
    "only", "so", "his", "when", "contact", "here", "business", "who", "web", "also", "now", "help", "get",
)  # fmt: skip


class Record(NamedTuple):
    """What a producer sends."""

    value: bytes
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def payload(self) -> int:
        """Bytes of key, value and headers."""
        return len(self.value) + len(self.key or b"") + sum(len(name) + len(value) for name, value in self.headers)


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


def _flights() -> Iterator[Record]:
    """JSON of about 265 bytes: a table's rows in its order."""
    for row in runpy.run_path(str(BENCHES / "flights.py"))["rows"]():
        yield Record(row)


def _xml() -> Iterator[Record]:
    """Documents whose elements, depth and share of free text change along the log."""
    rng = random.Random(1)
    for at in itertools.count():
        phase = at // 700 % 5
        items = "".join(
            f"<item{phase} sku='{rng.randrange(10**6):06}'><n>{rng.randrange(9) + 1}</n>"
            f"<note>{_words(rng, 2 + 6 * phase)}</note>"
            + (f"<sig>{rng.randbytes(8 * phase).hex()}</sig>" if phase > 1 else "")
            + f"</item{phase}>"
            for _ in range(rng.randrange(2, 9))
        )
        yield Record(f"<order id='{at}' phase='{phase}'>{items}</order>".encode(), b"order-%d" % rng.randrange(5000))


def _access_log() -> Iterator[Record]:
    """Lines of a web server: few agents, many paths, more robots later."""
    rng = random.Random(2)
    agents = [f"Mozilla/5.0 ({_words(rng, 4)}) Gecko/{rng.randrange(10**8)}" for _ in range(60)]
    for at in itertools.count():
        agent = agents[min(int(rng.expovariate(0.15 if at < 20_000 else 0.03)), 59)]
        path = "/".join(rng.choices(WORDS, k=rng.randrange(1, 5)))
        address = ".".join(str(rng.randrange(256)) for _ in range(4))
        yield Record(
            f"{address} - - [{at // 86400 % 28 + 1:02}/May/2026:{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02} "
            f'+0000] "GET /{path}?id={rng.randrange(10**5)} HTTP/1.1" {rng.choice((200, 200, 200, 304, 404))} '
            f'{rng.randrange(50_000)} "-" "{agent}"'.encode()
        )


def _metrics() -> Iterator[Record]:
    """Small binary values with keys: sensors that drift."""
    rng = random.Random(3)
    values = [rng.uniform(-40, 90) for _ in range(300)]
    for at in itertools.count():
        sensor = rng.randrange(300)
        values[sensor] += rng.gauss(0, 0.05 if at % 80_000 < 40_000 else 3)
        value = struct.pack(">IHdB", at // 10, sensor, round(values[sensor], 2), rng.random() < 0.01)
        yield Record(value, b"sensor-%03d" % sensor)


def _tokens() -> Iterator[Record]:
    """JSON around random text, which cannot be compressed below its alphabet."""
    rng = random.Random(4)
    for at in itertools.count():
        value = {
            "session": rng.randbytes(16).hex(),
            "token": base64.b64encode(rng.randbytes(90)).decode(),
            "user": rng.randrange(10**6),
            "event": rng.choice(("login", "logout", "refresh", "expired")),
            "sequence": at,
        }
        yield Record(json.dumps(value).encode())


def _mixed() -> Iterator[Record]:
    """Text of 20 bytes to 60 KB, some records larger than a batch, with keys and headers."""
    rng = random.Random(5)
    for at in itertools.count():
        size = min(int(rng.lognormvariate(5.5, 1.6)), 60_000)
        text = _words(rng, size // 5 + 1)[: size + 20]
        headers = (("trace", rng.randbytes(16)), ("type", b"text")) if at % 3 == 0 else ()
        yield Record(text.encode(), b"document-%d" % rng.randrange(1000), headers)


KINDS: dict[str, Callable[[], Iterator[Record]]] = {
    "flights": _flights,
    "xml": _xml,
    "access-log": _access_log,
    "metrics": _metrics,
    "tokens": _tokens,
    "mixed": _mixed,
}


def records(kind: str, size: int) -> list[Record]:
    """The first records of a kind, of so many bytes together."""
    found, done = [], 0
    for record in KINDS[kind]():
        found.append(record)
        done += record.payload
        if done >= size:
            break
    return found
