"""The topics of the live test: what is in each and who writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from livekafka import clients
from livekafka.broker import LONGEST_TRANSACTION
from livekafka.payloads import payloads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livekafka.tools import Tools

    Step = dict[str, Any]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
RECORDS = 240

# Names with dots and dashes on purpose: a folder's partition follows the last dash.
JAVA = {f"live.java-{codec}": codec for codec in CODECS}
LIBRDKAFKA = {f"live.librdkafka-{codec}": codec for codec in CODECS}
AIOKAFKA = {f"live.aiokafka-{codec}": codec for codec in CODECS}
TRANSACTIONS = {f"transactions-{codec}": codec for codec in CODECS}
OPEN = {f"open-transaction-{codec}": codec for codec in ("none", "zstd")}
INTERLEAVED = "interleaved_transactions"
LOG_APPEND_TIME = "log-append-time"
RECOMPRESSED = {f"recompressed-{codec}": codec for codec in CODECS if codec != "none"}
SEGMENTS = "many.segments"
COMPACTED = "compacted"

ONE_CODEC = JAVA | LIBRDKAFKA | AIOKAFKA | TRANSACTIONS | OPEN | RECOMPRESSED
ALL = (*ONE_CODEC, INTERLEAVED, LOG_APPEND_TIME, SEGMENTS, COMPACTED)
WITH_ABORTED = (*AIOKAFKA, *TRANSACTIONS, *OPEN, INTERLEAVED)


def definitions() -> Iterator[Step]:
    """The topics for `Tools.create_topics`."""
    configs: dict[str, Step] = {name: {} for name in ALL}
    configs[LOG_APPEND_TIME] = {"message.timestamp.type": "LogAppendTime"}
    configs |= {name: {"compression.type": codec} for name, codec in RECOMPRESSED.items()}
    configs[SEGMENTS] = {"segment.bytes": 1 << 20, "index.interval.bytes": 1024}
    configs[COMPACTED] = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": 0.01,
        "segment.ms": 500,
        "delete.retention.ms": 86_400_000,
    }
    several = (*JAVA, *TRANSACTIONS)
    for name, config in configs.items():
        yield {"topic": name, "partitions": PARTITIONS if name in several else 1, "configs": config}


def fill(tools: Tools, bootstrap: str) -> None:
    """Writes all topics; the transactions left open are begun last, in processes that end without closing them."""
    tools.produce(_java_plan())
    for topic, codec in LIBRDKAFKA.items():
        clients.produce_librdkafka(bootstrap, topic, codec, payloads(topic, RECORDS))
    for topic, codec in AIOKAFKA.items():
        clients.produce_aiokafka(bootstrap, topic, codec, payloads(topic, RECORDS))
    clients.interleave_transactions(bootstrap, INTERLEAVED, "lz4", payloads(INTERLEAVED, RECORDS))
    for topic, codec in OPEN.items():
        tools.produce(_left_open(topic, codec))
        tools.produce(_after_open(topic, codec))


def _java_plan() -> Iterator[Step]:
    for topic, codec in JAVA.items():
        yield _open(codec)
        for partition in range(PARTITIONS):
            yield from _sent(topic, f"{topic}-{partition}", partition)
    for topic, codec in TRANSACTIONS.items():
        yield from _transactions(topic, codec)
    for codec in CODECS:
        yield _open(codec)
        yield from _sent(LOG_APPEND_TIME, f"{LOG_APPEND_TIME}-{codec}")
    for topic, codec in RECOMPRESSED.items():
        yield _open("none" if codec == "lz4" else "lz4")
        yield from _sent(topic, topic)
    for round_ in range(4):
        yield _open(("none", "zstd")[round_ % 2])
        yield from (payload.step(SEGMENTS) for payload in payloads(f"{SEGMENTS}-{round_}", 4_000))
    yield from _compacted()


def _sent(topic: str, seed: str, partition: int = 0) -> Iterator[Step]:
    for chunk in clients.chunks(payloads(seed, RECORDS)):
        yield from (payload.step(topic, partition) for payload in chunk)
        yield {"step": "flush"}


def _transactions(topic: str, codec: str) -> Iterator[Step]:
    """Plain records, then transactions over both partitions, every third aborted, two of them in several batches."""
    yield _open(codec)
    yield from (payload.step(topic, 1) for payload in payloads(f"{topic}-plain", 10))
    yield _open(codec, topic)
    for number, chunk in enumerate(clients.chunks(payloads(topic, RECORDS), 30)):
        yield {"step": "begin"}
        for position, payload in enumerate(chunk):
            yield payload.step(topic, position % 2 if number % 2 else 0)
            if number > 5 and position % 8 == 0:
                yield {"step": "flush"}
        yield {"step": "abort" if number % 3 == 1 else "commit"}


def _left_open(topic: str, codec: str) -> Iterator[Step]:
    """A committed, an aborted and an open transaction of one producer."""
    yield _open(codec, topic)
    first, second, third = clients.chunks(payloads(topic, 90), 30)
    for chunk, end in ((first, "commit"), (second, "abort"), (third, "leave-open")):
        yield {"step": "begin"}
        yield from (payload.step(topic) for payload in chunk)
        yield {"step": end}


def _after_open(topic: str, codec: str) -> Iterator[Step]:
    """What follows the open transaction, hidden from read_committed: plain records, a committed transaction."""
    yield _open(codec)
    yield from (payload.step(topic) for payload in payloads(f"{topic}-after", 20))
    yield _open(codec, f"{topic}-after")
    yield {"step": "begin"}
    yield from (payload.step(topic) for payload in payloads(f"{topic}-committed-after", 20))
    yield {"step": "commit"}


def _compacted() -> Iterator[Step]:
    """Rounds over the same keys, most of them overwritten or deleted later, each round in a segment of its own.

    The last record of all stays in the active segment, which is never compacted.
    """
    for round_, codec in enumerate(CODECS):
        # Transactional every second time: markers and aborted records go through the cleaner too.
        yield _open(codec, f"{COMPACTED}-{codec}" if round_ % 2 else None)
        if round_ % 2:
            yield {"step": "begin"}
        for number, payload in enumerate(payloads(f"{COMPACTED}-{round_}", 60)):
            value = None if number % 7 == round_ else payload.value
            key = b"key-%d" % (number // 2 + 10 * round_)
            # No time of its own: segments roll by the records' times.
            yield payload._replace(key=key, value=value).step(COMPACTED) | {"timestamp": None}
            if number % 4 == 0:
                yield {"step": "flush"}
        if round_ % 2:
            yield {"step": "abort" if round_ == 1 else "commit"}
        yield {"step": "flush"}
        yield {"step": "sleep", "ms": 800}
    yield _open("none")
    yield {"topic": COMPACTED, "key": b"end", "value": b"end"}


def _open(codec: str, transactional_id: str | None = None) -> Step:
    config = {"compression.type": codec, "linger.ms": 10, "max.request.size": 4 << 20}
    if transactional_id is not None:
        config |= {"transactional.id": transactional_id, "transaction.timeout.ms": LONGEST_TRANSACTION}
    return {"step": "open", "config": config}
