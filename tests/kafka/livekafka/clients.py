"""Producers other than Kafka's own: librdkafka (confluent-kafka) and aiokafka.

Both send in several batches: a flush ends a batch.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from livekafka.payloads import Payload

BATCH = 40
TIMEOUT = 30.0


def chunks(payloads: Sequence[Payload], size: int = BATCH) -> Iterator[Sequence[Payload]]:
    """The payloads in runs of `size`."""
    for start in range(0, len(payloads), size):
        yield payloads[start : start + size]


class LibrdkafkaProducer:
    """confluent-kafka's producer; with a transactional id it is ready for `begin_transaction`."""

    def __init__(self, bootstrap: str, codec: str, transactional_id: str | None = None) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415  (only these tests need it)

        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 20,
            "message.max.bytes": 4 << 20,
            "message.timeout.ms": int(TIMEOUT * 1000),
        }
        if transactional_id is not None:
            config["transactional.id"] = transactional_id
        self._errors: list[str] = []
        self.producer = Producer(config)
        if transactional_id is not None:
            self.producer.init_transactions(TIMEOUT)

    def send(self, topic: str, payloads: Sequence[Payload], partition: int = 0) -> None:
        """Sends the payloads as one batch or a few, and waits until the broker has them."""
        for payload in payloads:
            self.producer.produce(
                topic,
                value=payload.value,
                key=payload.key,
                partition=partition,
                timestamp=payload.timestamp,
                headers=list(payload.headers),
                on_delivery=self._delivered,
            )
        if self.producer.flush(TIMEOUT) or self._errors:
            raise RuntimeError(f"librdkafka did not deliver: {self._errors[:3]}")

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self._errors.append(str(error))


def produce_librdkafka(bootstrap: str, topic: str, codec: str, payloads: Sequence[Payload]) -> None:
    """Sends all payloads to partition 0 with confluent-kafka."""
    producer = LibrdkafkaProducer(bootstrap, codec)
    for chunk in chunks(payloads):
        producer.send(topic, chunk)


def interleave_transactions(bootstrap: str, topic: str, codec: str, payloads: Sequence[Payload]) -> None:
    """Two librdkafka producers whose transactions overlap in one partition and end in turn, committed or aborted."""
    ids = ("first", "second")
    first, second = (LibrdkafkaProducer(bootstrap, codec, f"{topic}-{name}") for name in ids)
    for number, chunk in enumerate(chunks(payloads)):
        half = len(chunk) // 2
        first.producer.begin_transaction()
        first.send(topic, chunk[:half])
        second.producer.begin_transaction()
        second.send(topic, chunk[half:-2])
        first.send(topic, chunk[-2:])
        # All four outcomes; the one that began first ends first in the even rounds.
        for producer in (first, second) if number % 2 == 0 else (second, first):
            if number & (2 if producer is first else 1):
                producer.producer.abort_transaction(TIMEOUT)
            else:
                producer.producer.commit_transaction(TIMEOUT)


def produce_aiokafka(bootstrap: str, topic: str, codec: str, payloads: Sequence[Payload]) -> None:
    """Sends all payloads to partition 0 with aiokafka; every second batch in a transaction, some of them aborted."""
    asyncio.run(asyncio.wait_for(_produce_aiokafka(bootstrap, topic, codec, payloads), TIMEOUT))


async def _produce_aiokafka(bootstrap: str, topic: str, codec: str, payloads: Sequence[Payload]) -> None:
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415  (only these tests need it)

    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "compression_type": None if codec == "none" else codec,
        "max_request_size": 4 << 20,
        "linger_ms": 20,
    }
    plain = AIOKafkaProducer(**settings)
    transactional = AIOKafkaProducer(**settings, transactional_id=f"{topic}-aiokafka")
    async with plain, transactional:
        for number, chunk in enumerate(chunks(payloads)):
            if number % 2 == 0:
                await _send_aiokafka(plain, topic, chunk)
                continue
            await transactional.begin_transaction()
            await _send_aiokafka(transactional, topic, chunk)
            if number % 4 == 1:
                await transactional.commit_transaction()
            else:
                await transactional.abort_transaction()


async def _send_aiokafka(producer: Any, topic: str, payloads: Sequence[Payload]) -> None:
    sent = [
        await producer.send(
            topic,
            value=payload.value,
            key=payload.key,
            partition=0,
            timestamp_ms=payload.timestamp,
            headers=list(payload.headers),
        )
        for payload in payloads
    ]
    await asyncio.gather(*sent)
